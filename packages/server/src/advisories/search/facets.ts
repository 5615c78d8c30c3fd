import { hash } from 'node:crypto'
import { latestApprovedEvent } from '@berth/advisory-formats/publishing/latest-event.ts'
import {
  type Advisory,
  type AdvisoryEvent,
  EventTypeFilter,
  EventTypeFilterSchema,
  ReviewStateSchema,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { DescEnum } from '@bufbuild/protobuf'
import { limits } from '../../config/limits.ts'

/** The properties that advisories are indexed by. The numbers are part of stored keys and must never be reused. */

export const facets = {
  advisoryId: 1,
  legacyAdvisoryId: 2,
  artifactName: 3,
  artifactType: 4,
  artifactArchitecture: 5,
  componentName: 6,
  componentType: 7,
  componentLocation: 8,
  alias: 9,
  origin: 10,
  reviewState: 11,
  eventAuthor: 12,
  eventReviewer: 13,
  eventType: 14,
  latestEventType: 15,
  /** All review states or types of an advisory's events together: for counts only, not for search. */
  reviewStates: 16,
  eventTypes: 17,
} as const

const HASH_BYTES = 15

/**
 * Returns the index key of a value: short, whatever the value. The property comes last, so that the entries of a name that occurs in
 * several properties are adjacent and fewer pages are written.
 */
export function indexKey(facet: number, value: string): Buffer {
  const digest = hash('sha256', value, 'buffer')
  return Buffer.concat([digest.subarray(0, HASH_BYTES), Buffer.of(facet)])
}

/** Returns all index keys of an advisory, each once. */
export function indexKeysOf(advisory: Advisory, origin: string): Buffer[] {
  const latest = latestApprovedEvent(advisory.events)
  const values: readonly (readonly [number, readonly string[]])[] = [
    [facets.advisoryId, [advisory.advisoryId]],
    [facets.legacyAdvisoryId, [advisory.legacyAdvisoryId ?? '']],
    [facets.artifactName, [advisory.artifactName]],
    [facets.artifactType, [advisory.artifactType]],
    [facets.artifactArchitecture, [advisory.artifactArchitecture]],
    [facets.componentName, [advisory.componentName]],
    [facets.componentType, [advisory.componentType]],
    [facets.componentLocation, [advisory.componentLocation]],
    [facets.alias, advisory.aliases],
    // An artifact without an origin is its own origin.
    [facets.origin, [origin || advisory.artifactName]],
    [facets.reviewState, advisory.events.map(({ reviewState }) => String(reviewState))],
    [facets.eventAuthor, advisory.events.map(({ author }) => author)],
    [facets.eventReviewer, advisory.events.map(({ reviewer }) => reviewer)],
    [facets.eventType, advisory.events.map((event) => String(eventTypeOf(event)))],
    [facets.latestEventType, latest === undefined ? [] : [String(eventTypeOf(latest))]],
  ]
  return values.flatMap(([facet, texts]) =>
    [...new Set(texts)].filter((text) => text !== '').map((text) => indexKey(facet, text)),
  )
}

/** Properties with values that many advisories have in common. Their counts are stored. */
const countedFacets: ReadonlySet<number> = new Set([
  facets.artifactName,
  facets.artifactType,
  facets.artifactArchitecture,
  facets.componentName,
  facets.componentType,
  facets.origin,
  facets.reviewState,
  facets.eventAuthor,
  facets.eventReviewer,
  facets.eventType,
  facets.latestEventType,
])

/** Those of them that can have several values per advisory. */
const multiValuedFacets: ReadonlySet<number> = new Set([
  facets.reviewState,
  facets.eventAuthor,
  facets.eventReviewer,
  facets.eventType,
])

/** Returns the index keys of an advisory whose counts are stored. */
export function countedIndexKeysOf(advisory: Advisory, origin: string): Buffer[] {
  const { events } = advisory
  const states = events.map(({ reviewState }) => reviewState)
  return [
    ...indexKeysOf(advisory, origin).filter((value) => countedFacets.has(value[HASH_BYTES] ?? 0)),
    setKey(facets.reviewStates, states),
    setKey(facets.eventTypes, events.map(eventTypeOf)),
  ]
}

function setKey(facet: number, members: readonly number[]): Buffer {
  return indexKey(facet, [...new Set(members)].sort((a, b) => a - b).join(' '))
}

/**
 * Returns the keys whose counts add up to the number of advisories with one of some values of a property. Undefined if the stored counts
 * do not suffice: an advisory with two of the values would count twice.
 */
export function countedKeys(facet: number, values: readonly string[]): Buffer[] | undefined {
  if (!countedFacets.has(facet)) return undefined
  if (values.length === 1 || !multiValuedFacets.has(facet))
    return values.map((value) => indexKey(facet, value))
  if (facet === facets.reviewState) return subsetsWith(facets.reviewStates, ReviewStateSchema, values)
  if (facet === facets.eventType) return subsetsWith(facets.eventTypes, EventTypeFilterSchema, values)
  return undefined
}

interface EnumSubset {
  readonly members: readonly string[]
  readonly key: Buffer
}

/** All subsets of an enumeration's members; some hundreds. */
const enumSubsets = new Map<number, readonly EnumSubset[]>()

/** Returns the subsets that contain one of some members. */
function subsetsWith(facet: number, { values: all }: DescEnum, wanted: readonly string[]): Buffer[] {
  let subsets = enumSubsets.get(facet)
  if (subsets === undefined) {
    const found: number[][] = [[]]
    for (const { number } of all) found.push(...found.map((set) => [...set, number]))
    subsets = found.map((set) => ({ members: set.map(String), key: setKey(facet, set) }))
    enumSubsets.set(facet, subsets)
  }
  return subsets
    .filter(({ members }) => members.some((member) => wanted.includes(member)))
    .map(({ key }) => key)
}

/** A searchable text, in lower case, with its index key. */
export interface SearchableText {
  readonly text: string
  readonly value: Buffer
}

type SearchableFields = Pick<Advisory, 'artifactName' | 'componentName' | 'aliases'>

export function searchableTexts({
  artifactName,
  componentName,
  aliases,
}: SearchableFields): SearchableText[] {
  const texts: readonly (readonly [number, string])[] = [
    [facets.artifactName, artifactName],
    [facets.componentName, componentName],
    ...aliases.map((alias) => [facets.alias, alias] as const),
  ]
  return texts
    .filter(([, text]) => text !== '')
    .map(([facet, text]) => ({ text: text.toLowerCase(), value: indexKey(facet, text) }))
}

/** Returns every suffix of a text, the text itself first: each part of the text is the prefix of a suffix. */
export function suffixesOf(text: string): string[] {
  const characters = Array.from(text)
  return [
    ...new Set(characters.map((_, at) => characters.slice(at, at + limits.advisorySuffixCharsMax).join(''))),
  ]
}

/** Separates the texts. No query contains it, since names and ids have no control characters. */
const SEPARATOR = '\u001f'

/** Returns the text that a free-text query scans advisory by advisory. */
export function searchText({ artifactName, componentName, aliases }: SearchableFields): string {
  return [artifactName, componentName, ...aliases].join(SEPARATOR).toLowerCase()
}

const eventTypeFilters: Readonly<Record<NonNullable<AdvisoryEvent['type']['case']>, EventTypeFilter>> = {
  detection: EventTypeFilter.DETECTION,
  truePositiveDetermination: EventTypeFilter.TRUE_POSITIVE_DETERMINATION,
  fixed: EventTypeFilter.FIXED,
  falsePositiveDetermination: EventTypeFilter.FALSE_POSITIVE_DETERMINATION,
  analysisNotPlanned: EventTypeFilter.ANALYSIS_NOT_PLANNED,
  fixNotPlanned: EventTypeFilter.FIX_NOT_PLANNED,
  pendingUpstreamFix: EventTypeFilter.PENDING_UPSTREAM_FIX,
  patched: EventTypeFilter.PATCHED,
}

function eventTypeOf({ type }: Pick<AdvisoryEvent, 'type'>): EventTypeFilter {
  return type.case === undefined ? EventTypeFilter.UNSPECIFIED : eventTypeFilters[type.case]
}
