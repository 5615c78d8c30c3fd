import { documentLimits } from '../documents/document-limits.ts'
import { DocumentProblem } from '../documents/document-problem.ts'
import { timeIn } from '../documents/document-time.ts'
import {
  type JsonObject,
  looseObjectsIn,
  looseTextsIn,
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
  distinctTexts,
  requireId,
  scoreIn,
  severityOf,
  webAddresses,
} from './report-values.ts'
import type { ReportedCvss, ReportedFix, ScannerReport } from './scanner-report.ts'

const { reportFindingsMax, reportListMax, sbomNameCharsMax } = documentLimits

/** Reads the JSON of grype. Fails with a DocumentProblem. */
export function readGrype(root: JsonObject): ScannerReport {
  const descriptor = objectIn(root, 'descriptor')
  const database = objectIn(descriptor, 'db')
  const findings = createFindings()
  for (const match of objectsIn(root, 'matches', reportFindingsMax)) findings.add(readMatch(match))
  return {
    scanner: {
      name: 'grype',
      version: shownText(descriptor, 'version', sbomNameCharsMax),
      // Under `status` since database schema 6.
      databaseBuilt: timeIn(database, 'built') ?? timeIn(objectIn(database, 'status'), 'built'),
    },
    created: timeIn(descriptor, 'timestamp'),
    vulnerabilities: findings.found,
  }
}

function readMatch(match: JsonObject) {
  const vulnerability = objectIn(match, 'vulnerability')
  const artifact = objectIn(match, 'artifact')
  if (vulnerability === undefined) throw new DocumentProblem('a match has no vulnerability')
  const id = requireId(vulnerability, 'id')
  const related = looseObjectsIn(match, 'relatedVulnerabilities', reportListMax)
  const own = cvssIn(vulnerability)
  return {
    id,
    aliases: aliasesOf(
      id,
      related.map((each) => rawText(each, 'id')),
    ),
    purls: distinctTexts([rawText(artifact, 'purl')]),
    description:
      descriptionIn(vulnerability, 'description') ||
      (related.map((each) => descriptionIn(each, 'description')).find((text) => text !== '') ?? ''),
    details: '',
    severity: severityOf(rawText(vulnerability, 'severity')),
    // Records of distributions have no scores, those of the same id of NVD do.
    cvss: own.length > 0 ? own : related.flatMap(cvssIn).slice(0, reportListMax),
    fix: fixOf(objectIn(vulnerability, 'fix')),
    relatedUrls: webAddresses([
      rawText(vulnerability, 'dataSource'),
      ...looseTextsIn(vulnerability, 'urls', reportListMax),
    ]),
    locations: distinctTexts(
      looseObjectsIn(artifact, 'locations', reportListMax).map((each) => imagePath(rawText(each, 'path'))),
    ),
  }
}

function cvssIn(vulnerability: JsonObject): ReportedCvss[] {
  return looseObjectsIn(vulnerability, 'cvss', reportListMax).flatMap((each) => {
    const version = shownText(each, 'version', sbomNameCharsMax)
    const vector = cvssOf(rawText(each, 'vector'), version)
    const score = scoreIn(objectIn(each, 'metrics'), 'baseScore')
    return vector.length > 0 || score === undefined ? vector : [{ score: String(score), version }]
  })
}

const states: Readonly<Record<string, ReportedFix['state']>> = {
  fixed: 'FIXED',
  'not-fixed': 'NOT_FIXED',
  'wont-fix': 'WONT_FIX',
}

function fixOf(fix: JsonObject | undefined): ReportedFix {
  const state = rawText(fix, 'state')
  return {
    state: Object.hasOwn(states, state) ? (states[state] as ReportedFix['state']) : 'UNKNOWN',
    versions: distinctTexts(looseTextsIn(fix, 'versions', reportListMax)),
  }
}
