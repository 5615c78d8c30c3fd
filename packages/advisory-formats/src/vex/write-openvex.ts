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
 * OpenVEX documents, version 0.2.0 (https://github.com/openvex/spec): one for each artifact, with a statement for each event of
 * its advisories. Of the statements about one product and vulnerability the latest counts, so the history stays.
 */

export interface OpenVexDocument {
  /** Its address. */
  readonly id: string
  /** Whose word it is where no advisory says. */
  readonly publisher: string
  /** Grows whenever something changes. */
  readonly version: number
  readonly distribution: Distribution
}

/** `advisories`: of one artifact. Undefined when there is nothing to state. */
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

/** Whether there is a document about these advisories. */
export function hasStatements(advisories: readonly PublishedAdvisory[]): boolean {
  return advisories.some(({ advisory }) => advisory.events.some((event) => statusOf(event) !== undefined))
}

interface Statement {
  readonly timestamp: string
  readonly ms: number
  /** The vulnerability's name, the product and the component: of two about one place and time the order of the events counts. */
  readonly subject: string
  readonly aliases: readonly string[]
  readonly json: JsonObject
}

/** By time. The order never depends on where the advisories are kept. */
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

/** What is said in one place of one vulnerability has all the names that anybody there gives it. */
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

/** The five labels that VEX has for the seven reasons of the platform. */
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

/** What the format demands where nobody gave a reason or a way out. */
const NO_REASON = 'No reason is given.'
const NO_ACTION = 'No action is known.'

/** What an event says; undefined for nothing. */
function statusOf({ type }: AdvisoryEvent): JsonObject | undefined {
  switch (type.case) {
    case 'detection':
      return { status: 'under_investigation' }
    case 'truePositiveDetermination':
    // Nobody looks, so whoever has it has to take it for affected.
    case 'analysisNotPlanned':
    case 'fixNotPlanned':
    case 'pendingUpstreamFix':
      return { status: 'affected', action_statement: type.value.note || NO_ACTION }
    case 'fixed':
    case 'patched':
      return { status: 'fixed', ...statusNotes(type.value.note) }
    case 'falsePositiveDetermination': {
      const justification = justifications.get(type.value.type)
      // The format has either a label or words of one's own.
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
