import { documentLimits } from '../documents/document-limits.ts'
import { timeIn } from '../documents/document-time.ts'
import {
  type JsonObject,
  looseObjectsIn,
  member,
  objectIn,
  objectsIn,
  rawText,
  shownText,
} from '../documents/json-values.ts'
import { propertiesOf, reportProperties } from '../sbom/cyclonedx/cyclonedx-properties.ts'
import { allComponents } from '../sbom/cyclonedx/read-cyclonedx.ts'
import { imagePath } from '../sbom/package-collector.ts'
import {
  aliasesOf,
  createFindings,
  cvssOf,
  descriptionIn,
  detailsIn,
  distinctTexts,
  requireId,
  scoreIn,
  severityOf,
  severityOfScore,
  webAddresses,
} from './report-values.ts'
import type {
  ReportedCvss,
  ReportedFix,
  ReportedSeverity,
  ReportedVulnerability,
  ScannerReport,
} from './scanner-report.ts'

const { reportFindingsMax, reportListMax, sbomNameCharsMax } = documentLimits

/** Reads the vulnerabilities of CycloneDX (a VDR), except those whose analysis states that the image is not affected. */
export function readCycloneDxReport(root: JsonObject): ScannerReport {
  const metadata = objectIn(root, 'metadata')
  const subject = objectIn(metadata, 'component')
  const byReference = new Map(
    [...(subject === undefined ? [] : [subject]), ...allComponents(root)].map((component) => [
      rawText(component, 'bom-ref'),
      readComponent(component),
    ]),
  )
  const findings = createFindings()
  for (const vulnerability of objectsIn(root, 'vulnerabilities', reportFindingsMax)) {
    if (isAffected(vulnerability)) findings.add(readVulnerability(vulnerability, byReference))
  }
  const [tool] = [
    ...looseObjectsIn(objectIn(metadata, 'tools'), 'components', 1),
    ...looseObjectsIn(metadata, 'tools', 1),
  ]
  return {
    scanner: {
      name: shownText(tool, 'name', sbomNameCharsMax).toLowerCase(),
      version: shownText(tool, 'version', sbomNameCharsMax),
      databaseBuilt: databaseTimeIn(metadata),
    },
    created: timeIn(metadata, 'timestamp'),
    vulnerabilities: findings.found,
  }
}

function databaseTimeIn(metadata: JsonObject | undefined): Date | undefined {
  return timeIn(looseObjectsIn(metadata, 'properties', reportListMax).find(isDatabaseTime), 'value')
}

function isDatabaseTime(property: JsonObject): boolean {
  return rawText(property, 'name') === reportProperties.databaseTime
}

/**
 * Whether CycloneDX has findings. Trivy writes an empty list also if it only lists components: this is no statement, unless the document
 * says that it is a report.
 */
export function hasVulnerabilities(root: JsonObject): boolean {
  const list = member(root, 'vulnerabilities')
  if (list === undefined) return false
  return (
    !(Array.isArray(list) && list.length === 0) ||
    looseObjectsIn(objectIn(root, 'metadata'), 'properties', reportListMax).some(isDatabaseTime)
  )
}

function isAffected(vulnerability: JsonObject): boolean {
  const state = rawText(objectIn(vulnerability, 'analysis'), 'state')
  return !['not_affected', 'false_positive', 'resolved', 'resolved_with_pedigree'].includes(state)
}

function readVulnerability(
  vulnerability: JsonObject,
  byReference: ReadonlyMap<string, ReadComponent>,
): ReportedVulnerability {
  const id = requireId(vulnerability, 'id')
  const affects = looseObjectsIn(vulnerability, 'affects', reportListMax)
  const ratings = looseObjectsIn(vulnerability, 'ratings', reportListMax)
  const components = affects.map((each) => byReference.get(referenceIn(each)))
  return {
    id,
    aliases: aliasesOf(
      id,
      looseObjectsIn(vulnerability, 'references', reportListMax).map((each) => rawText(each, 'id')),
    ),
    purls: distinctTexts(
      affects.map((each, index) => rawText(components[index]?.object, 'purl') || purlIn(referenceIn(each))),
    ),
    description: descriptionIn(vulnerability, 'description'),
    details: detailsIn(vulnerability, 'detail'),
    severity: severityIn(ratings),
    cvss: ratings.flatMap(cvssIn),
    fix: fixOf(vulnerability, affects),
    relatedUrls: webAddresses([
      rawText(objectIn(vulnerability, 'source'), 'url'),
      ...looseObjectsIn(vulnerability, 'advisories', reportListMax).map((each) => rawText(each, 'url')),
    ]),
    locations: locationsOf(new Set(components)),
  }
}

/** Few components have many occurrences, and many findings have few components: only as many are looked at as are returned. */
function locationsOf(components: ReadonlySet<ReadComponent | undefined>): string[] {
  const paths: string[] = []
  for (const component of components) {
    if (paths.length >= reportListMax) break
    if (component === undefined) continue
    const occurrences = looseObjectsIn(objectIn(component.object, 'evidence'), 'occurrences', reportListMax)
    for (const each of occurrences) paths.push(imagePath(rawText(each, 'location')))
    if (occurrences.length === 0) paths.push(component.path())
  }
  return distinctTexts(paths)
}

interface ReadComponent {
  readonly object: JsonObject
  /** The path in its properties, read once. */
  path(): string
}

function readComponent(object: JsonObject): ReadComponent {
  let path: string | undefined
  return {
    object,
    path() {
      path ??= imagePath(propertiesOf(object).path)
      return path
    },
  }
}

/** A reference within the document, or into another one: `urn:cdx:SERIAL/VERSION#REFERENCE`. */
function referenceIn(affected: JsonObject): string {
  return rawText(affected, 'ref').replace(/^urn:cdx:[^#]*#/, '')
}

function purlIn(reference: string): string {
  return reference.startsWith('pkg:') ? reference : ''
}

function severityIn(ratings: readonly JsonObject[]): ReportedSeverity {
  const stated = ratings
    .map((rating) => severityOf(rawText(rating, 'severity')))
    .find((each) => each !== 'UNKNOWN')
  if (stated !== undefined) return stated
  const score = ratings.map((rating) => scoreIn(rating, 'score')).find((each) => each !== undefined)
  return score === undefined ? 'UNKNOWN' : severityOfScore(score)
}

const versions: Readonly<Record<string, string>> = {
  CVSSv2: '2.0',
  CVSSv3: '3.0',
  CVSSv31: '3.1',
  CVSSv4: '4.0',
}

function cvssIn(rating: JsonObject): ReportedCvss[] {
  const method = rawText(rating, 'method')
  const version = Object.hasOwn(versions, method) ? (versions[method] as string) : ''
  const vector = rawText(rating, 'vector')
  // Some tools leave out the prefix of version 3.
  const prefixed = /^AV:[NALP]\/AC:[LH]\/PR:/.test(vector) ? `CVSS:${version || '3.1'}/${vector}` : vector
  const found = cvssOf(prefixed, version)
  const score = scoreIn(rating, 'score')
  return found.length > 0 || score === undefined || version === ''
    ? found
    : [{ score: String(score), version }]
}

/** Versions with the status `unaffected`; of trivy, the words of the recommendation. */
function fixOf(vulnerability: JsonObject, affects: readonly JsonObject[]): ReportedFix {
  const unaffected = affects.flatMap((each) =>
    looseObjectsIn(each, 'versions', reportListMax)
      .filter((version) => rawText(version, 'status') === 'unaffected')
      .map((version) => rawText(version, 'version')),
  )
  const recommended = /^Upgrade \S+ to version (.+)$/m.exec(
    descriptionIn(vulnerability, 'recommendation'),
  )?.[1]
  const fixed = distinctTexts([...unaffected, ...(recommended ?? '').split(',').map((each) => each.trim())])
  const responses = objectIn(vulnerability, 'analysis')?.['response']
  if (fixed.length > 0) return { state: 'FIXED', versions: fixed }
  return {
    state: Array.isArray(responses) && responses.includes('will_not_fix') ? 'WONT_FIX' : 'UNKNOWN',
    versions: [],
  }
}
