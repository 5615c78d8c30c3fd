import {
  type AdvisoryEvent,
  AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositiveType,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { JsonObject } from '@bufbuild/protobuf'
import { componentUrl, productUrl, withVersion } from '../package-url/write-package-url.ts'
import type { Distribution } from '../publishing/publication-settings.ts'
import {
  eventMs,
  fixedVersions,
  formatTimestamp,
  type PublishedAdvisory,
} from '../publishing/published-advisory.ts'

/**
 * Writes OpenVEX documents, version 0.2.0 (https://github.com/openvex/spec): one for each artifact, with a statement for each event of
 * its advisories. The latest statement about a product and vulnerability applies, so the history can be included.
 */

export interface OpenVexDocument {
  /** URL of the document. */
  readonly id: string
  /** Author of documents whose advisories have none. */
  readonly publisher: string
  /** Increases with every change. */
  readonly version: number
  readonly distribution: Distribution
}

/** `advisories`: those of one artifact. Returns undefined if there is nothing to state. */
export function openVexDocument(
  advisories: readonly PublishedAdvisory[],
  { id, publisher, version, distribution }: OpenVexDocument,
): JsonObject | undefined {
  const statements = sortStatements(advisories.map((advisory) => statementsOf(advisory, distribution)))
  const first = statements[0]
  const last = statements.at(-1)
  if (first === undefined || last === undefined) return undefined
  const authors = advisories.map(({ advisory }) => advisory.author).filter((author) => author !== '')
  return {
    '@context': 'https://openvex.dev/ns/v0.2.0',
    '@id': id,
    author: [...new Set(authors)].sort().join(', ') || publisher,
    timestamp: first.timestamp,
    last_updated: last.timestamp,
    version,
    statements: statements.map(({ json }) => json),
  }
}

/** Whether these advisories have a document. */
export function hasStatements(advisories: readonly PublishedAdvisory[]): boolean {
  return advisories.some(({ advisory }) => advisory.events.some((event) => statusOf(event) !== undefined))
}

interface Statement {
  readonly timestamp: string
  readonly ms: number
  /** Vulnerability, product and component. Statements with the same subject and time keep the order of the events. */
  readonly subject: string
  readonly aliases: readonly string[]
  readonly json: JsonObject
}

/** Sorts by time. The order does not depend on where the advisories are stored. */
function sortStatements(histories: readonly (readonly Statement[])[]): Statement[] {
  const texts = new Map(histories.map((history) => [JSON.stringify(history), history]))
  const all = [...texts].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, history]) => history)
  const compare = (one: string, other: string) => (one === other ? 0 : one < other ? -1 : 1)
  const sorted = all.sort((a, b) => a.ms - b.ms || compare(a.subject, b.subject))
  const aliases = new Map(
    [...Map.groupBy(sorted, ({ subject: place }) => place)].map(([place, samePlace]) => [
      place,
      [...new Set(samePlace.flatMap((statement) => statement.aliases))],
    ]),
  )
  const named = sorted.map((statement) => withAliases(statement, aliases.get(statement.subject) ?? []))
  return [...new Map(named.map((statement) => [JSON.stringify(statement.json), statement])).values()]
}

/** Adds the aliases of all statements about one vulnerability and place. */
function withAliases(statement: Statement, aliases: readonly string[]): Statement {
  const { vulnerability, ...rest } = statement.json as { vulnerability: { readonly name: string } }
  const others = aliases.filter((alias) => alias !== vulnerability.name)
  const named = others.length === 0 ? vulnerability : { ...vulnerability, aliases: others }
  return { ...statement, json: { vulnerability: named, ...rest } }
}

function statementsOf(one: PublishedAdvisory, distribution: Distribution): Statement[] {
  const { advisory } = one
  const [name = advisory.legacyAdvisoryId ?? advisory.advisoryId, ...aliases] = advisory.aliases
  const product = productUrl(one, distribution)
  const component = componentUrl(one)
  const subcomponentFields = component === undefined ? {} : { subcomponents: [productReference(component)] }
  return advisory.events.flatMap((event) => {
    const status = statusOf(event)
    if (status === undefined) return []
    const timestamp = formatTimestamp(event.createTime)
    const versions = fixedVersions(event)
    const urls = versions.length === 0 ? [product] : versions.map((version) => withVersion(product, version))
    return [...new Set(urls)].map((url) => ({
      timestamp,
      ms: eventMs(event),
      subject: JSON.stringify([name, url, component ?? '']),
      aliases,
      json: {
        vulnerability: { name },
        timestamp,
        products: [{ ...productReference(url), ...subcomponentFields }],
        ...status,
      },
    }))
  })
}

function productReference(url: string): JsonObject {
  return { '@id': url, ...(url.startsWith('pkg:') && { identifiers: { purl: url } }) }
}

/** Maps the platform's seven reasons to the five justifications of VEX. */
const justifications = new Map([
  [FalsePositiveType.VULNERABILITY_RECORD_ANALYSIS_CONTESTED, 'vulnerable_code_not_present'],
  [FalsePositiveType.COMPONENT_VULNERABILITY_MISMATCH, 'component_not_present'],
  [FalsePositiveType.VULNERABLE_CODE_VERSION_NOT_USED, 'vulnerable_code_not_present'],
  [FalsePositiveType.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE, 'vulnerable_code_not_present'],
  [FalsePositiveType.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH, 'vulnerable_code_not_in_execute_path'],
  [
    FalsePositiveType.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY,
    'vulnerable_code_cannot_be_controlled_by_adversary',
  ],
  [FalsePositiveType.INLINE_MITIGATIONS_EXIST, 'inline_mitigations_already_exist'],
])

/** Required by the format if no reason or action is given. */
const NO_REASON = 'No reason is given.'
const NO_ACTION = 'No action is known.'

/** Maps an event to a status; undefined for none. */
function statusOf({ type }: AdvisoryEvent): JsonObject | undefined {
  switch (type.case) {
    case 'detection':
      return { status: 'under_investigation' }
    case 'truePositiveDetermination':
    // Without an analysis, the product must be treated as affected.
    case 'analysisNotPlanned':
    case 'fixNotPlanned':
    case 'pendingUpstreamFix':
      return { status: 'affected', action_statement: type.value.note || NO_ACTION }
    case 'fixed':
    case 'patched':
      return { status: 'fixed', ...statusNotes(type.value.note) }
    case 'falsePositiveDetermination': {
      const justification = justifications.get(type.value.type)
      // The format allows either a justification or free text.
      return justification === undefined
        ? { status: 'not_affected', impact_statement: type.value.note || NO_REASON }
        : { status: 'not_affected', ...statusNotes(type.value.note), justification }
    }
    case undefined:
      return undefined
    default:
      return type satisfies never
  }
}

function statusNotes(note: string): JsonObject {
  return note === '' ? {} : { status_notes: note }
}
