import { Finding_Severity as Severity } from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'
import {
  ScannerFinding_FixState as FixState,
  ListImageScannerReportsResponseSchema,
  ListScannerReportFindingsResponseSchema,
  type ScannerFinding,
  ScannerFindingSchema,
  type ScannerReport,
  ScannerReportComparisonSchema,
  ScannerReportSchema,
  ScannerReportsService,
} from '@berth/contract/gen/berth/vulnerabilities/v1/scanner_reports_pb.js'
import type {
  ReportedFix,
  ReportedSeverity,
  ReportedVulnerability,
} from '@berth/image-contents/reports/scanner-report.ts'
import { create } from '@bufbuild/protobuf'
import { invalidArgument, notFound, quotaExceeded } from '../../api/errors.ts'
import { checkLine, requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { effectivePageSize, requirePageSize } from '../../api/page-tokens.ts'
import { limits } from '../../config/limits.ts'
import type { ContentsReader } from '../../contents/services/contents-reader.ts'
import type { ImageReference } from '../../contents/services/image-reference.ts'
import { readReportedVulnerabilities } from '../../contents/storing/stored-contents.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import type { ManifestContentsRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { readFindings, toContentsIds } from '../storage/image-findings.ts'
import { areFindingsCurrent } from '../storage/pending-work.ts'
import { type ReportSummaryRow, readLatestReport, readReportSummaries } from '../storage/scanner-reports.ts'
import { idsOf } from '../vulnerability-ids.ts'
import type { FindingRow } from './finding-messages.ts'

/** Reports of other scanners that are attached to images. */

const REPORT_TYPE = 'vulnerabilities.berth.dev/ScannerReport'

export function scannerReportsService(
  { db, pageTokens }: Pick<Store, 'db' | 'pageTokens'>,
  reader: Pick<ContentsReader, 'requireImage'>,
) {
  async function requireReport(reference: ImageReference, scanner: string) {
    if (scanner === '') throw invalidArgument('scanner', 'must be set')
    requireValid(checkLine(scanner, 'scanner'))
    const image = await reader.requireImage(reference)
    const report = await readLatestReport(db, image, scanner.toLowerCase())
    if (report === undefined)
      throw notFound(REPORT_TYPE, scanner, `no report of ${scanner} is attached to ${image.digest}`)
    return { image, report, found: await readReportedVulnerabilities(report) }
  }

  async function readOwn({ root, id }: ManifestContentsRow): Promise<readonly FindingRow[]> {
    const { findingsComparedMax: max } = limits
    const rows = await readFindings(db, root, [Number(id)], {}, { size: max + 1 })
    if (rows.length > max) throw quotaExceeded(root, `the image has more than ${max} findings`)
    return rows
  }

  return implement(ScannerReportsService, {
    async listImageScannerReports({ reference, platform }, call) {
      const { scope: repo } = requireScope(call)
      const image = await reader.requireImage({ repo, reference, platform })
      const rows = await readReportSummaries(db, image)
      return create(ListImageScannerReportsResponseSchema, {
        scannerReports: rows.map(toReport),
        digest: image.digest,
      })
    },

    async listScannerReportFindings({ reference, platform, scanner, pageSize, pageToken }, call) {
      const { scope: repo } = requireScope(call)
      requirePageSize(pageSize)
      const { image, report, found } = await requireReport({ repo, reference, platform }, scanner)
      // A newer report has other findings at the same places.
      const listKey = JSON.stringify([
        ...callerBinding(call),
        ...[repo, image.digest, scanner, report.manifest, Number(report.created_ms)],
      ])
      const [start = 0] = (readCursor(pageTokens, pageToken, listKey)?.after ?? []) as readonly number[]
      const size = effectivePageSize(pageSize)
      const end = start + size
      const own = new Set((await readOwn(image)).flatMap(idsOf))
      return create(ListScannerReportFindingsResponseSchema, {
        findings: found.slice(start, end).map((one) => toFinding(one, own)),
        nextPageToken:
          end < found.length ? pageTokens.issue({ after: [end], skip: 0, skipped: 0 }, listKey) : '',
        totalCount: BigInt(found.length),
        scannerReport: toReport(report),
      })
    },

    async compareScannerReport({ reference, platform, scanner }, call) {
      const { scope: repo } = requireScope(call)
      const { image, report, found } = await requireReport({ repo, reference, platform }, scanner)
      // Before the findings: what is matched now has its findings in every later read.
      const matched = await areFindingsCurrent(db, image.root, toContentsIds(image))
      return create(ScannerReportComparisonSchema, {
        scannerReport: toReport(report),
        ...compareReport(found, await readOwn(image)),
        matched,
      })
    },
  })
}

interface Difference {
  readonly onlyInReport: string[]
  readonly onlyInServer: string[]
  readonly notAffected: string[]
  readonly commonCount: bigint
}

/** Compares by vulnerability: scanners name packages differently. The same one has an ID in common. */
export function compareReport(
  found: readonly ReportedVulnerability[],
  own: readonly FindingRow[],
): Difference {
  const affecting = own.filter(({ state }) => state !== 'not-affected')
  const affectingIds = new Set(affecting.flatMap(idsOf))
  const ownIds = new Set(own.flatMap(idsOf))
  const reportedIds = new Set(found.flatMap(({ id, aliases }) => [id, ...aliases]))
  const onlyInReport = new Set<string>()
  const notAffected = new Set<string>()
  const common = new Set<string>()
  for (const { id, aliases } of found) {
    const ids = [id, ...aliases]
    if (ids.some((one) => affectingIds.has(one))) common.add(id)
    else if (ids.some((one) => ownIds.has(one))) notAffected.add(id)
    else onlyInReport.add(id)
  }
  const onlyInServer = new Set(
    affecting.filter((row) => !idsOf(row).some((id) => reportedIds.has(id))).map((row) => row.vulnerability),
  )
  return {
    onlyInReport: [...onlyInReport].sort(),
    onlyInServer: [...onlyInServer].sort(),
    notAffected: [...notAffected].sort(),
    commonCount: BigInt(common.size),
  }
}

const severities: Readonly<Record<ReportedSeverity, Severity>> = {
  CRITICAL: Severity.CRITICAL,
  HIGH: Severity.HIGH,
  MEDIUM: Severity.MEDIUM,
  LOW: Severity.LOW,
  NEGLIGIBLE: Severity.NONE,
  UNKNOWN: Severity.UNKNOWN,
}

const fixStates: Readonly<Record<ReportedFix['state'], FixState>> = {
  UNKNOWN: FixState.UNKNOWN,
  FIXED: FixState.FIXED,
  NOT_FIXED: FixState.NOT_FIXED,
  WONT_FIX: FixState.WONT_FIX,
}

const countColumns = {
  critical: Severity.CRITICAL,
  high: Severity.HIGH,
  medium: Severity.MEDIUM,
  low: Severity.LOW,
  negligible: Severity.NONE,
  unknown: Severity.UNKNOWN,
} as const

function toReport(row: ReportSummaryRow): ScannerReport {
  const databaseMs = Number(row.database_ms)
  const columns = Object.keys(countColumns) as (keyof typeof countColumns)[]
  return create(ScannerReportSchema, {
    scanner: row.scanner,
    scannerVersion: row.version,
    format: row.format,
    createTime: timestampOf(Number(row.created_ms)),
    ...(databaseMs > 0 && { databaseTime: timestampOf(databaseMs) }),
    manifestDigest: row.manifest,
    findingCount: BigInt(row.findings),
    storedFindingCount: BigInt(row.stored),
    counts: columns
      .filter((column) => Number(row[column]) > 0)
      .map((column) => ({ severity: countColumns[column], count: BigInt(row[column]) })),
  })
}

function toFinding(found: ReportedVulnerability, own: ReadonlySet<string>): ScannerFinding {
  const { id, aliases, purls, severity, fix, description, locations } = found
  return create(ScannerFindingSchema, {
    vulnerability: id,
    aliases: [...aliases],
    purls: [...purls],
    severity: severities[severity],
    fixState: fixStates[fix.state],
    fixedVersions: [...fix.versions],
    description,
    locations: [...locations],
    known: [id, ...aliases].some((one) => own.has(one)),
  })
}
