/** Vulnerabilities that a scanner found in an image. The fields are those of `VulnReport` in version 1 of the API. */
export interface ScannerReport {
  readonly scanner: Scanner
  /** When the report was written. */
  readonly created: Date | undefined
  readonly vulnerabilities: readonly ReportedVulnerability[]
}

export interface Scanner {
  /** In lower case, for example `grype`, `trivy`; '' if the report does not name it. */
  readonly name: string
  readonly version: string
  /** Of the vulnerability database. */
  readonly databaseBuilt: Date | undefined
}

export interface ReportedVulnerability {
  readonly id: string
  readonly aliases: readonly string[]
  readonly purls: readonly string[]
  /** One line; '' if unknown. */
  readonly description: string
  readonly details: string
  readonly severity: ReportedSeverity
  readonly cvss: readonly ReportedCvss[]
  readonly fix: ReportedFix
  readonly relatedUrls: readonly string[]
  /** Paths in the image. */
  readonly locations: readonly string[]
}

export type ReportedSeverity = 'UNKNOWN' | 'NEGLIGIBLE' | 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL'

export interface ReportedCvss {
  /** Vector; a decimal score if the report has no vector. */
  readonly score: string
  /** Of CVSS, for example `3.1`. */
  readonly version: string
}

export interface ReportedFix {
  readonly state: 'UNKNOWN' | 'FIXED' | 'NOT_FIXED' | 'WONT_FIX'
  readonly versions: readonly string[]
}
