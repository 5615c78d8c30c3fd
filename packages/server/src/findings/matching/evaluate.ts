import { latestApprovedEvent } from '@berth/advisory-formats/publishing/latest-event.ts'
import { falsePositiveLabel } from '@berth/advisory-formats/vex/false-positive-label.ts'
import {
  type AdvisoryEvent,
  ReviewState,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import {
  compareVersions,
  type VersionScheme,
  versionSchemes,
} from '@berth/package-versions/compare-versions.ts'
import { evaluateAffected } from '@berth/package-versions/osv/affected-versions.ts'
import {
  comparableName,
  ecosystemOfPackage,
  ecosystemRules,
  isEcosystemOf,
  osvNameOf,
} from '@berth/package-versions/osv/ecosystems.ts'
import { ecosystemOfAdvisory, parseProduct } from '../../advisories/packages/package-names.ts'
import type { Candidate, MatchedPackage } from './candidate.ts'

/** What one advisory states about one package. */

export const findingStates = [
  'not-affected',
  'fixed',
  'affected',
  'pending-upstream',
  'under-investigation',
  'unknown',
] as const
export type FindingState = (typeof findingStates)[number]

export interface Statement {
  readonly state: FindingState
  /** For `affected`: the first version with a fix; '' if there is none. */
  readonly fixedVersion: string
  /** Why it is not affected, or is not fixed; '' if the advisory does not say. */
  readonly justification: string
  /** Stated by an analysis of this package, not derived from ranges of versions. */
  readonly isExplicit: boolean
}

/** Returns undefined if the advisory is not about the package, or not about its version. */
export function evaluate(candidate: Candidate, pkg: MatchedPackage): Statement | undefined {
  const version = concernedVersion(candidate, pkg)
  if (version === undefined) return undefined
  const ecosystem = ecosystemOfAdvisory(candidate)
  return ecosystem === undefined
    ? evaluateEvents(candidate, version, schemeOfType(pkg.type))
    : evaluateRecord(candidate, version, ecosystem)
}

/**
 * Returns the version that an advisory about a package is compared with: of the package, or of its source package. Undefined if the
 * advisory is not about the package in any version.
 */
export function concernedVersion(candidate: Candidate, pkg: MatchedPackage): string | undefined {
  const ecosystem = ecosystemOfAdvisory(candidate)
  if (ecosystem !== undefined) return versionOfRecord(candidate, pkg, ecosystem)
  return isFromDistributionOf(candidate, pkg) ? versionOfSubject(candidate, pkg) : undefined
}

function versionOfRecord(candidate: Candidate, pkg: MatchedPackage, ecosystem: string): string | undefined {
  const rules = ecosystemRules(ecosystem)
  if (rules === undefined || !isEcosystemOf(ecosystem, pkg)) return undefined
  const { names, type } = rules
  const isNamed = (name: string) =>
    comparableName(type, name) === comparableName(type, candidate.artifactName)
  const isSource = pkg.originName !== '' ? isNamed(pkg.originName) : isNamed(osvNameOf(pkg))
  const isBinary = isNamed(osvNameOf(pkg))
  if (names !== 'source' && isBinary) return pkg.version
  return names !== 'binary' && isSource ? pkg.originVersion || pkg.version : undefined
}

/** Evaluates a record of OSV. */
function evaluateRecord({ osv }: Candidate, version: string, ecosystem: string): Statement | undefined {
  const rules = ecosystemRules(ecosystem)
  if (rules === undefined) return undefined
  const result = evaluateAffected(osv?.affected ?? [], rules.scheme, version)
  switch (result.state) {
    case 'affected':
      return { state: 'affected', fixedVersion: result.fixedVersion, justification: '', isExplicit: false }
    case 'not affected':
      return undefined
    case 'unknown':
      return {
        state: 'unknown',
        fixedVersion: '',
        justification: 'the affected versions cannot be compared',
        isExplicit: false,
      }
  }
}

/** Returns the version that an advisory by name is about: of the package, or of the package that it is built from. */
function versionOfSubject({ artifactName, origin }: Candidate, pkg: MatchedPackage): string | undefined {
  const { type, originName, originVersion, version } = pkg
  const isNamed = (name: string, known: string) =>
    known !== '' && comparableName(type, name) === comparableName(type, known)
  if (isNamed(artifactName, osvNameOf(pkg)) || isNamed(origin, osvNameOf(pkg))) return version
  if (isNamed(artifactName, originName) || isNamed(origin, originName)) return originVersion || version
  return undefined
}

/** Whether an advisory without an ecosystem is about packages of the distribution of a package. */
function isFromDistributionOf({ key, artifactType, product }: Candidate, pkg: MatchedPackage): boolean {
  if (artifactType !== pkg.type) return false
  const ecosystem = ecosystemOfPackage(pkg)
  const parsed = parseProduct(product)
  if (parsed !== undefined) {
    if (schemeOfType(pkg.type) === undefined) return false
    if (!['apk', 'deb', 'rpm'].includes(pkg.type) || parsed.namespace === '') return true
    return ecosystemOfNamespace(pkg.type, parsed.namespace) === ecosystem
      ? isDistribution(parsed.distribution, pkg)
      : parsed.namespace === (pkg.namespace || pkg.distributionId)
  }
  if (pkg.type !== 'apk') return true
  // The name of a security database is its address: `https://dl-cdn.alpinelinux.org/alpine/v3.19/main`.
  const release = /^secdb:.*\/alpine\/(v\d+\.\d+|edge)(?:\/|:)/.exec(key)?.[1]
  if (release !== undefined) return isEcosystemOf(`Alpine:${release}`, pkg)
  // Documents of Wolfi, and security databases without a release, are about rolling distributions.
  return ecosystem === undefined || ecosystem === 'Wolfi' || ecosystem === 'Chainguard'
}

function ecosystemOfNamespace(type: string, namespace: string): string | undefined {
  return ecosystemOfPackage({ type, namespace, distributionId: '', distributionVersion: '' })
}

/** `distro` of a package URL is the ID and version of os-release, as `alpine-3.19.1`. */
function isDistribution(
  distribution: string,
  { distributionId, distributionVersion }: MatchedPackage,
): boolean {
  if (distribution === '' || distributionVersion === '') return true
  const version = /-(\d[\w.]*)$/.exec(distribution)?.[1]
  return (
    version === undefined ||
    distributionId === '' ||
    distributionVersion === version ||
    distributionVersion.startsWith(`${version}.`) ||
    version.startsWith(`${distributionVersion}.`)
  )
}

/** Evaluates the history of an advisory: the latest approved event applies. */
function evaluateEvents(
  { advisory, key, product }: Candidate,
  version: string,
  scheme: VersionScheme | undefined,
): Statement | undefined {
  const event = latestApprovedEvent(advisory.events)
  if (event === undefined) return undefined
  const statement = (state: FindingState, rest: Partial<Statement> = {}): Statement => ({
    state,
    fixedVersion: '',
    justification: '',
    isExplicit: true,
    ...rest,
  })
  if (event.type.case === 'fixed') {
    // A security database lists an ID under each version that fixes it: the last one applies.
    const fixed = key.startsWith('secdb:')
      ? lastFixed(advisory.events, scheme)
      : event.type.value.fixedVersion
    if (fixed === '') return statement('fixed')
    const order = scheme === undefined ? undefined : compareVersions(scheme, version, fixed)
    if (order === undefined)
      return statement('unknown', {
        justification: 'the fixed version cannot be compared',
        isExplicit: false,
      })
    return order < 0 ? statement('affected', { fixedVersion: fixed }) : statement('fixed')
  }
  // A product with a version is that version only.
  const statedVersion = parseProduct(product)?.version ?? ''
  if (statedVersion !== '' && statedVersion !== version) return undefined
  switch (event.type.case) {
    case 'falsePositiveDetermination':
      return statement('not-affected', {
        justification: falsePositiveLabel(event.type.value.type) || event.type.value.note,
      })
    case 'pendingUpstreamFix':
      return statement('pending-upstream', { justification: event.type.value.note })
    case 'truePositiveDetermination':
    case 'fixNotPlanned':
      return statement('affected', { justification: event.type.value.note })
    case 'analysisNotPlanned':
      return statement('under-investigation', { justification: event.type.value.note })
    case 'detection':
      return statement('under-investigation')
    case 'patched':
      return evaluatePatched(event.type.value.patchedVersions, version, scheme, statement)
    default:
      return undefined
  }
}

function evaluatePatched(
  patched: readonly string[],
  version: string,
  scheme: VersionScheme | undefined,
  statement: (state: FindingState, rest?: Partial<Statement>) => Statement,
): Statement {
  if (patched.includes(version)) return statement('fixed')
  const later =
    scheme === undefined ? [] : patched.filter((fixed) => (compareVersions(scheme, version, fixed) ?? 0) < 0)
  const fixedVersion = later.reduce(
    (first, fixed) =>
      first === '' || (compareVersions(scheme ?? 'semver', fixed, first) ?? 0) < 0 ? fixed : first,
    '',
  )
  return statement('affected', { fixedVersion })
}

function lastFixed(events: readonly AdvisoryEvent[], scheme: VersionScheme | undefined): string {
  return events
    .flatMap(({ type, reviewState }) =>
      type.case === 'fixed' && reviewState === ReviewState.APPROVED ? [type.value.fixedVersion] : [],
    )
    .reduce((last, fixed) =>
      scheme !== undefined && (compareVersions(scheme, fixed, last) ?? 0) > 0 ? fixed : last,
    )
}

function schemeOfType(type: string): VersionScheme | undefined {
  return versionSchemes.find((scheme) => scheme === type)
}
