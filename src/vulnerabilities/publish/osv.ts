import { type JsonObject, toJson } from '@bufbuild/protobuf'
import {
  type Advisory,
  type AdvisoryEvent,
  AdvisorySchema,
  type Severity,
  Severity_Type as SeverityType,
} from '#gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { timestampMs } from '../../core/message.ts'
import { latestApproved } from '../facets.ts'
import { ecosystemOf, rangeTypeOf } from './ecosystems.ts'
import { bareUrl, productUrl } from './package-url.ts'
import { eventMs, fixedVersions, instantOfMs, type PublishedAdvisory } from './published-advisory.ts'
import type { Distribution } from './settings.ts'

/**
 * OSV records (https://ossf.github.io/osv-schema): one for each advisory id. What OSV has no field for is in the
 * `database_specific` of what is affected, as the API shows it: the record is all there is of the advisory.
 */

const SCHEMA_VERSION = '1.7.0'

/** `advisories`: all that have one id, at least one. */
export function osvRecord(advisories: readonly PublishedAdvisory[], distribution: Distribution): JsonObject {
  const affected = inOrder(advisories, distribution)
  const all = affected.map(({ advisory }) => advisory)
  const isOneSeverity = new Set(affected.map(({ severity }) => JSON.stringify(severity))).size === 1
  const shared = isOneSeverity ? (affected[0]?.severity ?? []) : []
  const aliases = [...new Set(all.flatMap((advisory) => advisory.aliases))]
  const artifacts = [...new Set(all.map(({ artifactName }) => artifactName))].sort()
  const id = all[0]?.advisoryId ?? ''
  const withdrawn = all.flatMap(({ deleteTime }) => (deleteTime === undefined ? [] : timestampMs(deleteTime)))
  return {
    schema_version: SCHEMA_VERSION,
    id,
    modified: instantOfMs(Math.max(...all.map(modifiedMs))),
    published: instantOfMs(
      Math.min(...all.map(({ createTime }) => (createTime ? timestampMs(createTime) : 0))),
    ),
    // While one of them counts the record does.
    ...(withdrawn.length === all.length && { withdrawn: instantOfMs(Math.max(...withdrawn)) }),
    ...(aliases.length > 0 && { aliases }),
    summary: `${aliases[0] ?? id} in ${artifacts.join(', ')}`,
    ...(shared.length > 0 && { severity: shared }),
    affected: affected.map(({ json, severity }) =>
      isOneSeverity || severity.length === 0 ? json : { ...json, severity },
    ),
  }
}

/** What is affected, in an order that does not depend on where it is kept. The same advisory of two groups is one. */
function inOrder(advisories: readonly PublishedAdvisory[], distribution: Distribution) {
  const affected = advisories.map((one) => {
    const json = affectedOf(one, distribution)
    const severity = severityOf(one.advisory)
    return { advisory: one.advisory, severity, json, text: JSON.stringify([json, severity]) }
  })
  const distinct = [...new Map(affected.map((one) => [one.text, one])).values()]
  return distinct.sort((one, other) => (one.text < other.text ? -1 : 1))
}

/** When a record last changed, which is what the list of records is ordered by. */
export function modifiedMs({ updateTime }: Advisory): number {
  return updateTime === undefined ? 0 : timestampMs(updateTime)
}

const severityTypes = new Map([
  [SeverityType.CVSS_V2, 'CVSS_V2'],
  [SeverityType.CVSS_V3, 'CVSS_V3'],
  [SeverityType.CVSS_V4, 'CVSS_V4'],
])

function severityOf({ severities }: Pick<Advisory, 'severities'>): JsonObject[] {
  const known = severities.flatMap(({ type, score }: Severity) => {
    const name = severityTypes.get(type)
    return name === undefined ? [] : [{ type: name, score }]
  })
  return known.sort((a, b) => (`${a.type} ${a.score}` < `${b.type} ${b.score}` ? -1 : 1))
}

function affectedOf(one: PublishedAdvisory, distribution: Distribution): JsonObject {
  const { advisory, origin, product, componentProduct } = one
  const ecosystem = ecosystemOf(advisory, distribution)
  const described = ecosystem !== undefined && {
    package: { ecosystem, name: advisory.artifactName, purl: purlOf(one, distribution) },
  }
  return {
    ...described,
    ranges: rangesOf(one, ecosystem),
    database_specific: {
      advisory: ownWords(advisory),
      ...(origin !== '' && { origin }),
      ...(product !== '' && { product }),
      ...(componentProduct !== '' && { componentProduct }),
    },
  }
}

function purlOf(one: PublishedAdvisory, distribution: Distribution): string {
  const url = productUrl(one, distribution)
  // A CPE or an address of the source's is no package URL.
  return bareUrl(url.startsWith('pkg:') ? url : productUrl({ ...one, product: '' }, distribution))
}

/** Without what is of this installation: uids, and who reviewed. */
function ownWords(advisory: Advisory): JsonObject {
  const events = advisory.events.map((event) => ({
    ...event,
    uid: '',
    reviewer: '',
    findings: new Uint8Array(0),
  }))
  return toJson(AdvisorySchema, { ...advisory, uid: '', severities: [], events }) as JsonObject
}

const EVER = { introduced: '0' }

/** The newest event decides: nothing is known of when a vulnerability came in. */
function rangesOf({ advisory, product }: PublishedAdvisory, ecosystem: string | undefined): JsonObject[] {
  const { artifactName, artifactType, events } = advisory
  const isRepository = ecosystem === undefined && artifactType === 'git'
  const range = isRepository
    ? { type: 'GIT', repo: product || `https://${artifactName}` }
    : { type: rangeTypeOf(ecosystem) }
  const latest = latestApproved(events)
  // A range that is over before anything is in it: of no range scanners take every version for affected.
  if (latest?.type.case === 'falsePositiveDetermination')
    return [{ ...range, events: [EVER, { fixed: '0' }] }]
  const fixes = latest === undefined ? [] : events.filter((event) => eventMs(event) === eventMs(latest))
  const versions = isFix(latest) ? [...new Set(fixes.flatMap(fixedVersions))] : []
  if (versions.length === 0) return [{ ...range, events: [EVER] }]
  return versions.map((fixed) => ({ ...range, events: [EVER, { fixed }] }))
}

function isFix(event: AdvisoryEvent | undefined): boolean {
  return event?.type.case === 'fixed' || event?.type.case === 'patched'
}

/** A line of the list of records, newest first as OSV.dev has it. */
export function modifiedLine(ms: number, id: string): string {
  return `${instantOfMs(ms)},${id}\n`
}
