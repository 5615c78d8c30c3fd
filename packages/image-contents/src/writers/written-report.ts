import type { ContentsProblem, ImageContents } from '../contents.ts'
import type { ReportedCvss } from '../reports/scanner-report.ts'
import type { WrittenImage } from './written-image.ts'

/** The vulnerabilities of an image, as reports of them are written. The same values give the same bytes. */
export interface WrittenReport {
  /** `created`: time of the report. */
  readonly image: Omit<WrittenImage, 'namespace'>
  readonly contents: ImageContents
  readonly findings: readonly WrittenFinding[]
  /** When the advisories last changed; undefined if there are none. */
  readonly databaseBuilt: Date | undefined
  /** Ecosystems without advisories: vulnerabilities of their packages are unknown. */
  readonly uncovered: readonly UncoveredPackages[]
  /** Whether all findings are those of the current advisories. */
  readonly isCurrent: boolean
}

export interface UncoveredPackages {
  /** For example `Debian:12`. */
  readonly ecosystem: string
  readonly packages: number
}

/** A vulnerability of a package. */
export interface WrittenFinding {
  readonly id: string
  readonly aliases: readonly string[]
  readonly purl: string
  readonly version: string
  readonly state: FindingState
  readonly severity: FindingSeverity
  /** Base score of CVSS; undefined if none is known. */
  readonly score: number | undefined
  readonly cvss: readonly ReportedCvss[]
  /** Kinds of weaknesses, such as `CWE-79`. */
  readonly cwes: readonly string[]
  readonly isKnownExploited: boolean
  /** Probability of exploitation (EPSS), from 0 to 1; undefined if none is known. */
  readonly epss: number | undefined
  /** First version with a fix; '' if none is known. */
  readonly fixedVersion: string
  /** No fix is planned. */
  readonly willNotFix: boolean
  /** Why the package is not affected, not fixed, or why this is unknown. */
  readonly justification: string
  /** One line; '' if unknown. */
  readonly description: string
  readonly details: string
  readonly relatedUrls: readonly string[]
}

export type FindingState =
  | 'affected'
  | 'not-affected'
  | 'pending-upstream'
  | 'under-investigation'
  /** The advisory has no versions that can be compared. */
  | 'unknown'

export type FindingSeverity = 'critical' | 'high' | 'medium' | 'low' | 'none' | 'unknown'

/** A sentence about packages whose vulnerabilities are unknown. */
export function uncoveredSentence({ ecosystem, packages }: UncoveredPackages): string {
  const count = packages === 1 ? '1 package' : `${packages} packages`
  return `Vulnerabilities of ${count} of ${ecosystem} are unknown: the organization has no advisories of ${ecosystem}.`
}

/** A sentence about what could not be read: vulnerabilities of packages in it are unknown. */
export function problemSentence({ path, reason }: ContentsProblem): string {
  return `${path === '' ? 'The image' : path} could not be read, because ${reason}.`
}

/** A sentence about findings of earlier advisories. */
export const outdatedSentence =
  'Advisories have changed and are not matched with the packages of the image yet: findings may be missing or outdated.'

/** Paths of packages in the image, by package URL. */
export function pathsByPurl({ packages }: ImageContents): ReadonlyMap<string, readonly string[]> {
  const paths = new Map<string, string[]>()
  for (const { purl, path } of packages) {
    if (path === '') continue
    const known = paths.get(purl)
    if (known === undefined) paths.set(purl, [path])
    else if (!known.includes(path)) known.push(path)
  }
  return paths
}
