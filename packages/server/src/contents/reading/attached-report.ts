import { parseJson } from '@berth/image-contents/documents/parse-json.ts'
import {
  readReportObject,
  reportFormatOf,
  type ScannerReportFormat,
} from '@berth/image-contents/reports/read-scanner-report.ts'
import type { ReportedSeverity, ReportedVulnerability } from '@berth/image-contents/reports/scanner-report.ts'
import { limits } from '../../config/limits.ts'
import type { FoundReport } from './reading.ts'

/** Reports of scanners that are attached to images, within the limits of what is stored. */

/** The most severe first. */
const severities: readonly ReportedSeverity[] = ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'NEGLIGIBLE', 'UNKNOWN']

/** Texts and lists of one finding that are stored. */
const TEXT_CHARS_MAX = 2000
const LIST_MAX = 20

export type ReadReport = Omit<FoundReport, 'document'>

/** Whether a document is a report of a scanner; false if it is no JSON. */
export function isReport(bytes: Uint8Array): boolean {
  if (bytes.length > limits.contentsReportBytesMax) return false
  try {
    return reportFormatOf(parseJson(bytes)) !== undefined
  } catch {
    return false
  }
}

/** Reads a report. Throws a DocumentProblem, or an error, whose message continues "is invalid:". */
export function readReport(bytes: Uint8Array): ReadReport {
  const { contentsReportBytesMax: max } = limits
  if (bytes.length > max) throw new Error(`it has more than ${max} bytes (contentsReportBytesMax)`)
  const root = parseJson(bytes)
  const { scanner, created, vulnerabilities } = readReportObject(root)
  const counts = { CRITICAL: 0, HIGH: 0, MEDIUM: 0, LOW: 0, NEGLIGIBLE: 0, UNKNOWN: 0 }
  for (const { severity } of vulnerabilities) counts[severity]++
  const format = reportFormatOf(root) as ScannerReportFormat
  return {
    scanner: scanner.name.slice(0, limits.contentsFieldCharsMax) || 'unknown',
    version: scanner.version.slice(0, limits.contentsFieldCharsMax),
    format,
    createdMs: created?.getTime() ?? 0,
    databaseMs: scanner.databaseBuilt?.getTime() ?? 0,
    counts,
    ...storedFindings(vulnerabilities),
  }
}

export function countOf({ counts }: Pick<FoundReport, 'counts'>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function storedFindings(
  vulnerabilities: readonly ReportedVulnerability[],
): Pick<FoundReport, 'stored' | 'findings'> {
  const { contentsReportFindingsMax: countMax, contentsReportStoredBytesMax: bytesMax } = limits
  const texts: string[] = []
  let bytes = 2
  const bySeverity = Map.groupBy(vulnerabilities, ({ severity }) => severity)
  for (const finding of severities.flatMap((severity) => bySeverity.get(severity) ?? [])) {
    const text = JSON.stringify(shortened(finding))
    bytes += Buffer.byteLength(text) + 1
    if (texts.length === countMax || bytes > bytesMax) break
    texts.push(text)
  }
  return { stored: texts.length, findings: Buffer.from(`[${texts.join(',')}]`) }
}

function shortened(finding: ReportedVulnerability): ReportedVulnerability {
  const { aliases, purls, description, details, cvss, fix, relatedUrls, locations } = finding
  const list = <T>(values: readonly T[]) => values.slice(0, LIST_MAX)
  return {
    ...finding,
    aliases: list(aliases),
    purls: list(purls),
    description: description.slice(0, TEXT_CHARS_MAX).toWellFormed(),
    details: details.slice(0, TEXT_CHARS_MAX).toWellFormed(),
    cvss: list(cvss),
    fix: { ...fix, versions: list(fix.versions) },
    relatedUrls: list(relatedUrls),
    locations: list(locations),
  }
}
