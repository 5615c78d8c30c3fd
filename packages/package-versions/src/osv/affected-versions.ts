import { compareVersions, type VersionScheme } from '../compare-versions.ts'

/**
 * The evaluation of OSV records (https://ossf.github.io/osv-schema/, "Evaluation"): whether a version of a package is in the affected
 * versions of a record.
 */

/** The part of an entry of `affected` that decides, as it is in the JSON of records. Values of other types are ignored. */
export interface AffectedEntry {
  readonly versions?: unknown
  readonly ranges?: unknown
}

export type AffectedResult =
  | {
      readonly state: 'affected'
      /** The first fixed version after the version; '' if there is none. */
      readonly fixedVersion: string
    }
  | { readonly state: 'not affected' }
  /** The entry has only commits, or a version has no order in the scheme. */
  | { readonly state: 'unknown' }

const NOT_AFFECTED: AffectedResult = { state: 'not affected' }
const UNKNOWN: AffectedResult = { state: 'unknown' }

/** Evaluates all entries of a record about one package. One that is affected counts more than one that is unknown. */
export function evaluateAffected(
  entries: readonly AffectedEntry[],
  scheme: VersionScheme,
  version: string,
): AffectedResult {
  const results = entries.map((entry) => evaluateEntry(entry, scheme, version))
  const affected = results.filter((result) => result.state === 'affected')
  const fixed = affected.filter(({ fixedVersion }) => fixedVersion !== '')
  // Several branches: the version that fixes the last of them fixes all.
  const last = fixed.reduce(
    (latest, { fixedVersion }) =>
      latest === '' || (compareVersions(scheme, fixedVersion, latest) ?? 0) > 0 ? fixedVersion : latest,
    '',
  )
  if (affected.length > 0) return { state: 'affected', fixedVersion: last }
  return results.find((result) => result === UNKNOWN) ?? NOT_AFFECTED
}

function evaluateEntry(
  { versions, ranges }: AffectedEntry,
  scheme: VersionScheme,
  version: string,
): AffectedResult {
  const listed = textsOf(versions)
  const all = rangesOf(ranges)
  const comparable = all.filter(({ type }) => type !== 'GIT')
  const results = comparable.map((range) =>
    evaluateRange(range.events, range.type === 'SEMVER' ? semverSchemeOf(scheme) : scheme, version),
  )
  const affected = results.find((result) => result.state === 'affected')
  if (affected !== undefined) return affected
  if (listed.includes(version))
    return { state: 'affected', fixedVersion: nextFix(comparable, scheme, version) }
  if (results.includes(UNKNOWN)) return UNKNOWN
  // Entries without any version list what is affected in a form that has no order: commits, or nothing.
  return comparable.length === 0 && listed.length === 0 ? UNKNOWN : NOT_AFFECTED
}

/** Ranges of the type SEMVER have the order of SemVer. The ecosystems with an order of their own that extends it keep theirs. */
function semverSchemeOf(scheme: VersionScheme): VersionScheme {
  return scheme === 'pub' ? 'pub' : 'semver'
}

type EventName = 'introduced' | 'fixed' | 'last_affected' | 'limit'

interface RangeEvent {
  readonly name: EventName
  readonly version: string
}

interface Range {
  readonly type: string
  readonly events: readonly RangeEvent[]
}

function evaluateRange(
  events: readonly RangeEvent[],
  scheme: VersionScheme,
  version: string,
): AffectedResult {
  if (compareVersions(scheme, version, version) === undefined) return UNKNOWN
  const placed: { readonly event: RangeEvent; readonly order: number }[] = []
  for (const event of events) {
    const order = compareWithEvent(scheme, version, event)
    if (order === undefined) return UNKNOWN
    placed.push({ event, order })
  }
  const limits = placed.filter(({ event }) => event.name === 'limit')
  if (limits.length > 0 && limits.every(({ order }) => order >= 0)) return NOT_AFFECTED
  // Of the events up to the version, the last one decides: nothing after it can change the state.
  const passed = placed
    .filter(({ event, order }) =>
      event.name === 'last_affected' ? order > 0 : event.name !== 'limit' && order >= 0,
    )
    .map(({ event }) => event)
  const last = passed.reduce<RangeEvent | undefined>(
    (latest, event) => (latest === undefined || compareEvents(scheme, event, latest) > 0 ? event : latest),
    undefined,
  )
  if (last?.name !== 'introduced') return NOT_AFFECTED
  return { state: 'affected', fixedVersion: firstFix(placed, scheme) }
}

/** `0` is before every version, and `*` as a limit is after every version. */
function compareWithEvent(scheme: VersionScheme, version: string, event: RangeEvent): number | undefined {
  if (event.version === '0' && event.name === 'introduced') return 1
  if (event.version === '*' && event.name === 'limit') return -1
  return compareVersions(scheme, version, event.version)
}

/** At the same version, the end of a range counts more than its start. */
function compareEvents(scheme: VersionScheme, a: RangeEvent, b: RangeEvent): number {
  const isStart = (event: RangeEvent) => event.name === 'introduced' && event.version === '0'
  if (isStart(a) || isStart(b)) return Number(isStart(b)) - Number(isStart(a))
  const order = compareVersions(scheme, a.version, b.version) ?? 0
  return order || Number(a.name !== 'introduced') - Number(b.name !== 'introduced')
}

/** The first fixed version among the events after the version. */
function firstFix(
  placed: readonly { readonly event: RangeEvent; readonly order: number }[],
  scheme: VersionScheme,
): string {
  return placed
    .filter(({ event, order }) => event.name === 'fixed' && order < 0)
    .map(({ event }) => event.version)
    .reduce(
      (first, fixed) => (first === '' || (compareVersions(scheme, fixed, first) ?? 0) < 0 ? fixed : first),
      '',
    )
}

function nextFix(ranges: readonly Range[], scheme: VersionScheme, version: string): string {
  const placed = ranges.flatMap(({ events }) =>
    events.map((event) => ({ event, order: compareWithEvent(scheme, version, event) ?? 0 })),
  )
  return firstFix(placed, scheme)
}

const eventNames: readonly EventName[] = ['introduced', 'fixed', 'last_affected', 'limit']

function rangesOf(value: unknown): Range[] {
  return listOf(value).map((range) => ({
    type: textOf(range, 'type'),
    events: listOf(fieldOf(range, 'events')).flatMap((event) =>
      eventNames.flatMap((name) => {
        const version = textOf(event, name)
        return version === '' ? [] : [{ name, version }]
      }),
    ),
  }))
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textsOf(value: unknown): string[] {
  return listOf(value).filter((text) => typeof text === 'string')
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}

function textOf(value: unknown, name: string): string {
  const text = fieldOf(value, name)
  return typeof text === 'string' ? text : ''
}
