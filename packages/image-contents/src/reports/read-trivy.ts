import { documentLimits } from '../documents/document-limits.ts'
import { timeIn } from '../documents/document-time.ts'
import {
  isObject,
  type JsonObject,
  looseTextsIn,
  member,
  objectIn,
  objectsIn,
  rawText,
  shownText,
} from '../documents/json-values.ts'
import { imagePath } from '../sbom/package-collector.ts'
import {
  aliasesOf,
  createFindings,
  cvssOf,
  descriptionIn,
  detailsIn,
  distinctTexts,
  requireId,
  severityOf,
  webAddresses,
} from './report-values.ts'
import type { ReportedCvss, ReportedFix, ReportedVulnerability, ScannerReport } from './scanner-report.ts'

const { reportFindingsMax, reportListMax, sbomNameCharsMax } = documentLimits

/** Reads the JSON of trivy. The date of the database is not in it. Fails with a DocumentProblem. */
export function readTrivy(root: JsonObject): ScannerReport {
  const findings = createFindings()
  for (const result of objectsIn(root, 'Results', reportFindingsMax)) {
    for (const each of objectsIn(result, 'Vulnerabilities', reportFindingsMax)) {
      findings.add(readVulnerability(each, result))
    }
  }
  return {
    scanner: {
      name: 'trivy',
      version: shownText(objectIn(root, 'Trivy'), 'Version', sbomNameCharsMax),
      databaseBuilt: undefined,
    },
    created: timeIn(root, 'CreatedAt'),
    vulnerabilities: findings.found,
  }
}

function readVulnerability(vulnerability: JsonObject, result: JsonObject): ReportedVulnerability {
  const id = requireId(vulnerability, 'VulnerabilityID')
  // The target of packages of the distribution is the image.
  const target = rawText(result, 'Class') === 'os-pkgs' ? '' : rawText(result, 'Target')
  return {
    id,
    aliases: aliasesOf(id, looseTextsIn(vulnerability, 'VendorIDs', reportListMax)),
    purls: distinctTexts([rawText(objectIn(vulnerability, 'PkgIdentifier'), 'PURL')]),
    description: descriptionIn(vulnerability, 'Title'),
    details: detailsIn(vulnerability, 'Description'),
    severity: severityOf(rawText(vulnerability, 'Severity')),
    cvss: cvssIn(objectIn(vulnerability, 'CVSS')),
    fix: fixOf(vulnerability),
    relatedUrls: webAddresses([
      rawText(vulnerability, 'PrimaryURL'),
      ...looseTextsIn(vulnerability, 'References', reportListMax),
    ]),
    locations: distinctTexts([imagePath(rawText(vulnerability, 'PkgPath') || target)]),
  }
}

/** Vectors by source, such as `nvd`. */
function cvssIn(sources: JsonObject | undefined): ReportedCvss[] {
  const scores = Object.keys(sources ?? {})
    .slice(0, reportListMax)
    .flatMap((name) => {
      const source = member(sources, name)
      if (!isObject(source)) return []
      return ['V40Vector', 'V3Vector', 'V2Vector'].flatMap((field) => cvssOf(rawText(source, field)))
    })
  return [...new Map(scores.map((each) => [each.score, each])).values()]
}

function fixOf(vulnerability: JsonObject): ReportedFix {
  const versions = distinctTexts(
    rawText(vulnerability, 'FixedVersion')
      .split(',')
      .map((each) => each.trim()),
  )
  return { state: versions.length > 0 ? 'FIXED' : stateOf(rawText(vulnerability, 'Status')), versions }
}

function stateOf(status: string): ReportedFix['state'] {
  switch (status) {
    case 'fixed':
      return 'FIXED'
    case 'affected':
    case 'fix_deferred':
      return 'NOT_FIXED'
    case 'will_not_fix':
    case 'end_of_life':
      return 'WONT_FIX'
    default:
      return 'UNKNOWN'
  }
}
