import { DocumentProblem } from '../documents/document-problem.ts'
import { type JsonObject, member, rawText } from '../documents/json-values.ts'
import { parseJson } from '../documents/parse-json.ts'
import { isCycloneDx } from '../sbom/read-sbom.ts'
import { hasVulnerabilities, readCycloneDxReport } from './read-cyclonedx-report.ts'
import { readGrype } from './read-grype.ts'
import { readSarif } from './read-sarif.ts'
import { readTrivy } from './read-trivy.ts'
import { isVulnerabilityPredicate, readVulnerabilityPredicate } from './read-vulnerability-predicate.ts'
import type { ScannerReport } from './scanner-report.ts'

/**
 * Reads the report of a vulnerability scanner: JSON of grype and trivy, SARIF 2.1.0, CycloneDX with vulnerabilities, and the predicates
 * of cosign and in-toto about vulnerabilities.
 *
 * Fails with a DocumentProblem, whose message continues "could not be read, because", for other formats, findings without an id,
 * malformed text, and documents beyond the limits.
 */
export function readScannerReport(bytes: Uint8Array): ScannerReport {
  return readReportObject(parseJson(bytes))
}

/** As readScannerReport, of a parsed document. */
export function readReportObject(root: JsonObject): ScannerReport {
  const format = reportFormatOf(root)
  if (format !== undefined) return readers[format](root)
  throw new DocumentProblem(
    'the document is not a report of grype, trivy, SARIF, CycloneDX or an attestation of vulnerabilities',
  )
}

/** Whether a parsed document is a report of a scanner. */
export function isScannerReport(root: JsonObject): boolean {
  return reportFormatOf(root) !== undefined
}

const readers = {
  'vuln-predicate': (root) => readVulnerabilityPredicate(root, readReportObject),
  sarif: readSarif,
  grype: readGrype,
  trivy: readTrivy,
  cyclonedx: readCycloneDxReport,
} as const satisfies Readonly<Record<string, (root: JsonObject) => ScannerReport>>

export type ScannerReportFormat = keyof typeof readers

/** Detects the format of a parsed report; undefined for other documents. */
export function reportFormatOf(root: JsonObject): ScannerReportFormat | undefined {
  if (isVulnerabilityPredicate(root)) return 'vuln-predicate'
  if (isSarif(root)) return 'sarif'
  if (isGrype(root)) return 'grype'
  if (isTrivy(root)) return 'trivy'
  return isCycloneDx(root) && hasVulnerabilities(root) ? 'cyclonedx' : undefined
}

function isSarif(root: JsonObject): boolean {
  return Array.isArray(member(root, 'runs')) && rawText(root, 'version').startsWith('2.1')
}

function isGrype(root: JsonObject): boolean {
  return Array.isArray(member(root, 'matches')) && member(root, 'descriptor') !== undefined
}

/** Without findings, the results are absent. */
function isTrivy(root: JsonObject): boolean {
  return typeof member(root, 'SchemaVersion') === 'number' && rawText(root, 'ArtifactName') !== ''
}
