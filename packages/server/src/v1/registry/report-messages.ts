import {
  Vulnerability_Fix_State as FixState,
  type Scanner,
  Scanner_Name,
  ScannerSchema,
  Vulnerability_Severity as Severity,
  type Vulnerability,
  VulnerabilitySchema,
  type VulnReport,
  VulnReportSchema,
} from '@berth/contract/gen/chainguard/platform/registry/vuln_reports_pb.js'
import {
  Fix_State,
  type VulnReport as TenantReport,
  VulnReportSchema as TenantReportSchema,
  VulnerabilityRecord_Severity,
} from '@berth/contract/gen/chainguard/platform/tenant/reports_pb.js'
import type { ReportedSeverity, ReportedVulnerability } from '@berth/image-contents/reports/scanner-report.ts'
import { writeCycloneDxReport } from '@berth/image-contents/writers/write-cyclonedx-report.ts'
import {
  type FindingSeverity,
  pathsByPurl,
  type WrittenFinding,
  type WrittenReport,
} from '@berth/image-contents/writers/written-report.ts'
import { create } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import type { ReportSummaryRow } from '../../findings/storage/scanner-reports.ts'

/** Reports of vulnerabilities in the messages of version 1. */

export const severityOf: Readonly<Record<FindingSeverity, Severity>> = {
  critical: Severity.CRITICAL,
  high: Severity.HIGH,
  medium: Severity.MEDIUM,
  low: Severity.LOW,
  none: Severity.NEGLIGIBLE,
  unknown: Severity.UNKNOWN,
}

const reportedSeverities: Readonly<Record<ReportedSeverity, Severity>> = {
  CRITICAL: Severity.CRITICAL,
  HIGH: Severity.HIGH,
  MEDIUM: Severity.MEDIUM,
  LOW: Severity.LOW,
  NEGLIGIBLE: Severity.NEGLIGIBLE,
  UNKNOWN: Severity.UNKNOWN,
}

/** Any other scanner, also one that calls itself as this server, is OTHER. */
export function scannerName(name: string): Scanner_Name {
  if (/\bgrype\b/.test(name)) return Scanner_Name.GRYPE
  return /\btrivy\b/.test(name) ? Scanner_Name.TRIVY : Scanner_Name.OTHER
}

export function toScanner({ scanner, version, database_ms }: ReportSummaryRow): Scanner {
  const databaseMs = Number(database_ms)
  return create(ScannerSchema, {
    name: scannerName(scanner),
    version,
    ...(databaseMs > 0 && { dbBuildTime: timestampOf(databaseMs) }),
  })
}

/** A report that was attached, with its stored findings. */
export function toAttachedReport(
  digest: string,
  row: ReportSummaryRow,
  found: readonly ReportedVulnerability[],
): VulnReport {
  return create(VulnReportSchema, {
    digest,
    scanner: toScanner(row),
    createdAt: timestampOf(Number(row.created_ms)),
    vulnerabilities: found.map(toReported),
  })
}

function toReported(one: ReportedVulnerability): Vulnerability {
  return create(VulnerabilitySchema, {
    id: one.id,
    aliases: [...one.aliases],
    purls: [...one.purls],
    description: one.description,
    details: one.details,
    severity: reportedSeverities[one.severity],
    cvss: one.cvss.map(({ score, version }) => ({ score, version })),
    fix: { state: FixState[one.fix.state], versions: [...one.fix.versions] },
    relatedUrls: [...one.relatedUrls],
    locations: [...one.locations],
  })
}

/** The scanner is this server. */
export function toOwnScanner({ image, databaseBuilt }: WrittenReport): Scanner {
  return create(ScannerSchema, {
    name: Scanner_Name.BERTH,
    version: image.tool.version,
    ...(databaseBuilt && { dbBuildTime: timestampOf(databaseBuilt.getTime()) }),
  })
}

/** The report of this server, with one vulnerability for each fix of its packages. */
export function toOwnReport(report: WrittenReport, createdMs: number): VulnReport {
  const paths = pathsByPurl(report.contents)
  const byFix = Map.groupBy(report.findings.filter(isRelevant), ({ id, severity, fixedVersion }) =>
    JSON.stringify([id, severity, fixedVersion]),
  )
  return create(VulnReportSchema, {
    digest: report.image.digest,
    scanner: toOwnScanner(report),
    createdAt: timestampOf(createdMs),
    vulnerabilities: [...byFix.values()].flatMap((findings) => {
      const [first] = findings
      if (first === undefined) return []
      const purls = [...new Set(findings.map(({ purl }) => purl))]
      return {
        id: first.id,
        aliases: [...first.aliases],
        purls,
        description: first.description,
        details: first.details,
        severity: severityOf[first.severity],
        cvss: first.cvss.map(({ score, version }) => ({ score, version })),
        fix: {
          state: FixState[fixStateOf(first)],
          versions: first.fixedVersion === '' ? [] : [first.fixedVersion],
        },
        relatedUrls: [...first.relatedUrls],
        locations: [...new Set(purls.flatMap((purl) => paths.get(purl) ?? []))],
      }
    }),
  })
}

const isRelevant = ({ state }: WrittenFinding) => state !== 'not-affected'

function fixStateOf({ state, fixedVersion, willNotFix }: WrittenFinding) {
  if (fixedVersion !== '') return 'FIXED'
  if (willNotFix) return 'WONT_FIX'
  return state === 'unknown' ? 'UNKNOWN' : 'NOT_FIXED'
}

const tenantSeverities: Readonly<Record<FindingSeverity, VulnerabilityRecord_Severity>> = {
  critical: VulnerabilityRecord_Severity.CRITICAL,
  high: VulnerabilityRecord_Severity.HIGH,
  medium: VulnerabilityRecord_Severity.MEDIUM,
  low: VulnerabilityRecord_Severity.LOW,
  none: VulnerabilityRecord_Severity.UNKNOWN,
  unknown: VulnerabilityRecord_Severity.UNKNOWN,
}

/** The report of this server as GetVulnReport returns it. */
export function toTenantReport(report: WrittenReport, readMs: number): TenantReport {
  const { image, contents, findings, databaseBuilt } = report
  const packages = new Map(contents.packages.map((found) => [found.purl, found]))
  return create(TenantReportSchema, {
    id: image.digest,
    ...(databaseBuilt && { vulnerabilityDbLastBuildTime: timestampOf(databaseBuilt.getTime()) }),
    scanner: { name: image.tool.name, version: image.tool.version },
    reportGeneration: timestampOf(image.created.getTime()),
    rawVulnReport: Buffer.from(writeCycloneDxReport(report)),
    lastSeen: timestampOf(readMs),
    vulnerabilityMatches: findings.filter(isRelevant).map((finding) => {
      const { name = '', license = '' } = packages.get(finding.purl) ?? {}
      return {
        vulnerability: {
          id: finding.id,
          displayId: finding.id,
          description: finding.description,
          severity: tenantSeverities[finding.severity],
          cvss: finding.cvss.map(({ score, version }) => ({ score, version })),
          relatedUrls: [...finding.relatedUrls],
          relatedVulnerabilities: finding.aliases.map((id) => ({ id })),
        },
        pkg: { id: finding.purl, purl: finding.purl, name, version: finding.version, license },
        fix: {
          state: Fix_State[fixStateOf(finding)],
          versions: finding.fixedVersion === '' ? [] : [finding.fixedVersion],
        },
      }
    }),
  })
}
