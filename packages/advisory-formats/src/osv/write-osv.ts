import {
  type Advisory,
  type AdvisoryEvent,
  AdvisorySchema,
  type Severity,
  Severity_Type as SeverityType,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf'
import { basePackageUrl, productUrl } from '../package-url/write-package-url.ts'
import { latestApprovedEvent } from '../publishing/latest-event.ts'
import type { Distribution } from '../publishing/publication-settings.ts'
import { eventMs, fixedVersions, formatMs, type PublishedAdvisory } from '../publishing/published-advisory.ts'
import { ecosystemOf, rangeTypeOf } from './ecosystems.ts'
import { decompressOsvExtension, type OsvExtension } from './osv-extension.ts'

/**
 * Writes OSV records (https://ossf.github.io/osv-schema), one for each advisory id. Fields that came from OSV are written unchanged.
 * The complete advisory, as in the JSON of the API, is in the `database_specific` of each `affected` entry, so a record loses nothing.
 */

const SCHEMA_VERSION = '1.7.0'

/** `advisories`: all advisories of the record, at least one. `id`: of the record; by default, the one that they have in common. */
export function osvRecord(
  advisories: readonly PublishedAdvisory[],
  distribution: Distribution,
  id = advisories[0]?.advisory.advisoryId ?? '',
): JsonObject {
  const { affected, modified } = sortAffected(advisories, distribution)
  const allAdvisories = affected.map(({ advisory }) => advisory)
  const isOneSeverity = new Set(affected.map(({ severity }) => JSON.stringify(severity))).size === 1
  const shared = isOneSeverity ? (affected[0]?.severity ?? []) : []
  const own = newestRecord(affected.flatMap(({ carried }) => carried ?? []))
  const upstream = new Set(own['upstream'] as string[] | undefined)
  const aliases = [...new Set(allAdvisories.flatMap((advisory) => advisory.aliases))].filter(
    (alias) => !upstream.has(alias) && alias !== id,
  )
  const artifacts = [...new Set(allAdvisories.map(({ artifactName }) => artifactName))].sort()
  const withdrawn = allAdvisories.flatMap(({ deleteTime }) =>
    deleteTime === undefined ? [] : timestampMs(deleteTime),
  )
  return {
    schema_version: SCHEMA_VERSION,
    id,
    modified: formatMs(modified),
    published: formatMs(
      Math.min(...allAdvisories.map(({ createTime }) => (createTime ? timestampMs(createTime) : 0))),
    ),
    // A record is withdrawn only when all its advisories are.
    ...(withdrawn.length === allAdvisories.length && { withdrawn: formatMs(Math.max(...withdrawn)) }),
    ...(aliases.length > 0 && { aliases }),
    ...pickFields(own, 'upstream', 'related'),
    summary: own['summary'] ?? `${aliases[0] ?? id} in ${artifacts.join(', ')}`,
    ...pickFields(own, 'details'),
    ...(shared.length > 0 && { severity: shared }),
    affected: affected.flatMap(({ entries, severity }) =>
      isOneSeverity || severity.length === 0 ? entries : entries.map((entry) => ({ ...entry, severity })),
    ),
    ...pickFields(own, 'references', 'credits', 'database_specific'),
  }
}

/** Returns the affected packages in an order that does not depend on where they are stored. Equal advisories of two groups are one. */
function sortAffected(advisories: readonly PublishedAdvisory[], distribution: Distribution) {
  const affected = advisories.map((one) => {
    const carried = extensionOf(one)
    const entries = affectedEntries(one, carried, distribution)
    const severity = severityOf(one.advisory, carried)
    const text = JSON.stringify([entries, severity])
    return { advisory: one.advisory, carried, severity, entries, text, modifiedMs: modifiedMs(one, carried) }
  })
  const distinct = [...new Map(affected.map((one) => [one.text, one])).values()]
  return {
    affected: distinct.sort((one, other) => (one.text < other.text ? -1 : 1)),
    modified: Math.max(...affected.map((one) => one.modifiedMs)),
  }
}

function extensionOf({ osv }: PublishedAdvisory): OsvExtension | undefined {
  return osv === undefined ? undefined : decompressOsvExtension(osv)
}

/** Returns the record fields of the newest extension. */
function newestRecord(carried: readonly OsvExtension[]): JsonObject {
  const order = ({ record }: OsvExtension) => `${record['modified'] ?? ''} ${JSON.stringify(record)}`
  const [first] = carried.toSorted((one, other) => (order(one) > order(other) ? -1 : 1))
  return first?.record ?? {}
}

/** Returns the named fields that are set. */
function pickFields(fields: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
  )
}

/** Returns when a record last changed, its severity included: the sort key of the list of records. */
export function modifiedMs(one: PublishedAdvisory, extension = extensionOf(one)): number {
  const { updateTime } = one.advisory
  // A record that was published before may have had its severity from another source.
  const ownMs = Date.parse(String(extension?.record['modified'] ?? ''))
  return Math.max(updateTime === undefined ? 0 : timestampMs(updateTime), one.scoredMs ?? 0, ownMs || 0)
}

const severityTypes = new Map([
  [SeverityType.CVSS_V2, 'CVSS_V2'],
  [SeverityType.CVSS_V3, 'CVSS_V3'],
  [SeverityType.CVSS_V4, 'CVSS_V4'],
])

function severityOf(
  { severities }: Pick<Advisory, 'severities'>,
  extension: OsvExtension | undefined,
): JsonObject[] {
  const known = severities.flatMap(({ type, score }: Severity) => {
    const name = severityTypes.get(type)
    return name === undefined ? [] : [{ type: name, score }]
  })
  const own = [extension?.record ?? {}, ...(extension?.affected ?? [])].flatMap(
    ({ severity }) => (severity ?? []) as JsonObject[],
  )
  const order = ({ type, score }: JsonObject) => `${type} ${score}`
  const distinct = new Map([...known, ...own].map((one) => [order(one), pickFields(one, 'type', 'score')]))
  return [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}

/** Returns one entry for a package, with the advisory; further entries of its source about the same package follow. */
function affectedEntries(
  one: PublishedAdvisory,
  extension: OsvExtension | undefined,
  distribution: Distribution,
): JsonObject[] {
  const { advisory, origin, product, componentProduct } = one
  const ecosystem = ecosystemOf(advisory, distribution)
  const ownFields: JsonObject = {
    advisory: advisoryJson(advisory),
    ...(origin !== '' && { origin }),
    ...(product !== '' && { product }),
    ...(componentProduct !== '' && { componentProduct }),
  }
  return (extension?.affected ?? [{}]).map((own, at) => {
    const { purl, ranges, versions, ecosystem_specific, database_specific } = own
    const name = advisory.artifactName
    const described = { ecosystem: ecosystem ?? '', name, purl: purlOf(one, purl, distribution) }
    const specific = { ...(at === 0 && ownFields), ...(database_specific as JsonObject | undefined) }
    // Without ranges and versions, scanners treat every version as affected.
    const matched =
      (ranges ?? versions) ? pickFields(own, 'ranges', 'versions') : { ranges: rangesOf(one, ecosystem) }
    return {
      ...(ecosystem !== undefined && { package: described }),
      ...matched,
      ...(ecosystem_specific !== undefined && { ecosystem_specific }),
      ...(Object.keys(specific).length > 0 && { database_specific: specific }),
    }
  })
}

/** Returns the source's package URL, except for parts that the group's settings determine. */
function purlOf(one: PublishedAdvisory, own: JsonValue | undefined, distribution: Distribution): string {
  if (typeof own === 'string' && one.product !== '') return own
  const url = productUrl(one, distribution)
  // A CPE, or another URL of the source, is not a package URL.
  return basePackageUrl(url.startsWith('pkg:') ? url : productUrl({ ...one, product: '' }, distribution))
}

/** Returns the JSON without data of this installation: uids and reviewers. */
function advisoryJson(advisory: Advisory): JsonObject {
  const events = advisory.events.map((event) => ({
    ...event,
    uid: '',
    reviewer: '',
    findings: new Uint8Array(0),
  }))
  return toJson(AdvisorySchema, { ...advisory, uid: '', severities: [], events }) as JsonObject
}

const INTRODUCED_ALWAYS = { introduced: '0' }

/** Without ranges from a source, the newest event decides: it is unknown when the vulnerability was introduced. */
function rangesOf({ advisory, product }: PublishedAdvisory, ecosystem: string | undefined): JsonObject[] {
  const { artifactName, artifactType, events } = advisory
  const isRepository = ecosystem === undefined && artifactType === 'git'
  const range = isRepository
    ? { type: 'GIT', repo: product || `https://${artifactName}` }
    : { type: rangeTypeOf(ecosystem) }
  const latest = latestApprovedEvent(events)
  // An empty range: without any range, scanners treat every version as affected.
  if (latest?.type.case === 'falsePositiveDetermination')
    return [{ ...range, events: [INTRODUCED_ALWAYS, { fixed: '0' }] }]
  const fixes = latest === undefined ? [] : events.filter((event) => eventMs(event) === eventMs(latest))
  const versions = isFix(latest) ? [...new Set(fixes.flatMap(fixedVersions))] : []
  if (versions.length === 0) return [{ ...range, events: [INTRODUCED_ALWAYS] }]
  return versions.map((fixed) => ({ ...range, events: [INTRODUCED_ALWAYS, { fixed }] }))
}

function isFix(event: AdvisoryEvent | undefined): boolean {
  return event?.type.case === 'fixed' || event?.type.case === 'patched'
}

/** Returns a line of the list of records, in the format of OSV.dev. */
export function modifiedLine(ms: number, id: string): string {
  return `${formatMs(ms)},${id}\n`
}
