import { distinctCwes } from '@berth/advisory-formats/reading/cwe-ids.ts'
import { severityRater } from '@berth/advisory-formats/severity/severity-rater.ts'
import { type SeverityLabel, severityLabels } from '@berth/advisory-formats/severity/severity-ratings.ts'
import { statedSeverity } from '@berth/advisory-formats/severity/stated-severity.ts'
import {
  compareVersions,
  type VersionScheme,
  versionSchemes,
} from '@berth/package-versions/compare-versions.ts'
import type { Candidate, MatchedPackage } from './candidate.ts'
import { evaluate, type FindingState, type Statement } from './evaluate.ts'

/** Matches a package with the advisories of its name. No I/O. */

/** Raised when the same packages and advisories have other findings than before: stored packages are matched again. */
export const MATCHER_VERSION = 2

/** What is known of one vulnerability in one package. */
export interface Finding {
  /** The ID of the vulnerability: a CVE ID if it has one. */
  readonly vulnerability: string
  /** All other IDs, sorted. */
  readonly aliases: readonly string[]
  readonly state: Exclude<FindingState, 'fixed'>
  readonly severity: FindingSeverity
  /** Highest base score of the newest version of CVSS; undefined if it has none. */
  readonly score: number | undefined
  /** Kinds of weaknesses, such as `CWE-79`, in the order of their numbers. */
  readonly cwes: readonly string[]
  readonly fixedVersion: string
  readonly justification: string
  /** UID of the advisory that decides. */
  readonly advisory: string
}

export const findingSeverities = [...severityLabels, 'unknown'] as const
export type FindingSeverity = SeverityLabel | 'unknown'

/** Scores and weaknesses of vulnerabilities by ID, besides the scores of the advisories. */
export type KnownScores = ReadonlyMap<
  string,
  {
    readonly severities: readonly { readonly type: string | number; readonly score: string }[]
    readonly cwes: readonly string[]
  }
>

/** What an advisory states about a package. */
export interface Stated<C extends NamedVulnerability = Candidate> {
  readonly candidate: C
  readonly statement: Statement
}

/** The IDs of an advisory. */
export interface NamedVulnerability {
  readonly advisoryId: string
  readonly advisory: Pick<Candidate['advisory'], 'aliases'>
}

/** Returns the findings of a package, sorted by vulnerability. What is fixed in its version is no finding. */
export function matchPackage(
  pkg: MatchedPackage,
  candidates: readonly Candidate[],
  scores: KnownScores,
): Finding[] {
  const stated = candidates.flatMap((candidate): Stated[] => {
    const statement = evaluate(candidate, pkg)
    return statement === undefined ? [] : [{ candidate, statement }]
  })
  return [...rankByVulnerability(stated)]
    .flatMap(([vulnerability, its]) => findingOf(vulnerability, its, pkg, scores) ?? [])
    .sort((a, b) => (a.vulnerability < b.vulnerability ? -1 : 1))
}

/** Returns what is stated about each vulnerability of a package, the statement that decides first. */
export function rankByVulnerability<C extends NamedVulnerability>(
  stated: readonly Stated<C>[],
): ReadonlyMap<string, readonly Stated<C>[]> {
  const groups = groupByVulnerability(stated)
  return new Map([...groups].map(([name, its]) => [name, its.toSorted((a, b) => weightOf(a) - weightOf(b))]))
}

function idsOf({ advisory: { aliases }, advisoryId }: NamedVulnerability): readonly string[] {
  return aliases.length > 0 ? aliases : [advisoryId]
}

const isCve = (id: string) => id.startsWith('CVE-')

/** The rank of an ID as the name of a vulnerability; the lowest is chosen. */
function rankOf(id: string): number {
  const at = ['CVE-', 'GHSA-', 'GO-', 'RUSTSEC-', 'PYSEC-'].findIndex((start) => id.startsWith(start))
  return at < 0 ? 99 : at
}

/**
 * Groups by vulnerability. Each CVE is one: an advisory of a distribution may be about several. An advisory without a CVE belongs to the
 * one CVE of another advisory with one of its IDs, or else to the advisories with which it shares an ID.
 */
function groupByVulnerability<C extends NamedVulnerability>(
  stated: readonly Stated<C>[],
): ReadonlyMap<string, readonly Stated<C>[]> {
  const nameOf = new Map<string, string>()
  for (const { candidate } of stated) {
    const ids = idsOf(candidate)
    const cves = ids.filter(isCve)
    const [only] = cves
    if (only !== undefined && cves.length === 1) for (const id of ids) if (!isCve(id)) nameOf.set(id, only)
  }
  const unnamed = stated.filter(
    ({ candidate }) => !idsOf(candidate).some((id) => isCve(id) || nameOf.has(id)),
  )
  joinSharedIds(
    unnamed.map(({ candidate }) => idsOf(candidate)),
    nameOf,
  )
  const groups = new Map<string, Stated<C>[]>()
  for (const each of stated) {
    const ids = idsOf(each.candidate)
    const cves = ids.filter(isCve)
    const named = ids.map((id) => nameOf.get(id)).find((name) => name !== undefined)
    for (const name of new Set(cves.length > 0 ? cves : named === undefined ? [] : [named])) {
      const group = groups.get(name)
      if (group === undefined) groups.set(name, [each])
      else group.push(each)
    }
  }
  return groups
}

/** Names each ID by the best ID that it is connected with. */
function joinSharedIds(lists: readonly (readonly string[])[], nameOf: Map<string, string>): void {
  const linked = new Map<string, Set<string>>()
  for (const ids of lists) for (const id of ids) linked.set(id, new Set([...(linked.get(id) ?? []), ...ids]))
  for (const start of linked.keys()) {
    if (nameOf.has(start)) continue
    const reached = new Set([start])
    for (const id of reached) for (const next of linked.get(id) ?? []) reached.add(next)
    const name = [...reached].reduce((best, id) => (compareIds(id, best) < 0 ? id : best))
    for (const id of reached) nameOf.set(id, name)
  }
}

function compareIds(a: string, b: string): number {
  return rankOf(a) - rankOf(b) || (a < b ? -1 : 1)
}

/** Statements in the order in which they decide: an analysis of the package before ranges of versions. */
function weightOf({ statement }: Pick<Stated, 'statement'>): number {
  const order: readonly FindingState[] = [
    'not-affected',
    'fixed',
    'affected',
    'pending-upstream',
    'under-investigation',
    'unknown',
  ]
  const { isExplicit, state } = statement
  // An open investigation decides nothing.
  const isDecided = isExplicit && state !== 'under-investigation'
  return (isDecided ? 0 : 10) + order.indexOf(state)
}

function findingOf(
  vulnerability: string,
  stated: readonly Stated[],
  pkg: MatchedPackage,
  scores: KnownScores,
): Finding | undefined {
  const [decisive] = stated
  if (decisive === undefined) return undefined
  const { statement, candidate } = decisive
  if (statement.state === 'fixed') return undefined
  const ids = new Set(stated.flatMap(({ candidate: { advisory } }) => advisory.aliases))
  const aliases = [...ids].filter((id) => id !== vulnerability && (!isCve(id) || !isCve(vulnerability)))
  const known = [vulnerability, ...aliases].flatMap((id) => scores.get(id) ?? [])
  const all = [
    ...stated.flatMap(({ candidate: { advisory } }) => advisory.severities),
    ...known.flatMap(({ severities }) => severities),
  ]
  const rating = severityRater.worstRating(all)
  return {
    vulnerability,
    aliases: aliases.sort(),
    state: statement.state,
    severity: rating?.label ?? highestStatedSeverity(stated),
    score: rating?.score,
    cwes: distinctCwes(known.flatMap(({ cwes }) => cwes)).sort((a, b) => numberOf(a) - numberOf(b)),
    fixedVersion: statement.state === 'affected' ? fixedVersionOf(stated, pkg.type) : '',
    justification: statement.justification,
    advisory: candidate.uid,
  }
}

/** The number of `CWE-79`. */
const numberOf = (cwe: string): number => Number(cwe.slice(4))

/** The last of the fixed versions, which fixes it by all advisories. */
function fixedVersionOf(stated: readonly Stated[], type: string): string {
  const scheme = versionSchemes.find((known): known is VersionScheme => known === type) ?? 'semver'
  return stated
    .flatMap(({ statement: { state, fixedVersion } }) =>
      state === 'affected' && fixedVersion !== '' ? [fixedVersion] : [],
    )
    .reduce(
      (last, fixed) => (last === '' || (compareVersions(scheme, fixed, last) ?? 0) > 0 ? fixed : last),
      '',
    )
}

/** The highest severity in words, for a vulnerability without a vector. */
function highestStatedSeverity(stated: readonly Stated[]): FindingSeverity {
  const found = stated.map(({ candidate: { osv } }) => osv && statedSeverity(osv))
  return severityLabels.find((severity) => found.includes(severity)) ?? 'unknown'
}
