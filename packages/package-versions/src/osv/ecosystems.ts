import type { VersionScheme } from '../compare-versions.ts'

/** How OSV's ecosystems name packages and compare their versions. */

interface Ecosystem {
  /** Type of its package URLs. */
  readonly type: string
  readonly scheme: VersionScheme
  /**
   * What its records name: `binary` packages as they are installed, `source` packages that they are built from, or `both`. For ecosystems
   * without source packages, `binary`.
   */
  readonly names: 'binary' | 'source' | 'both'
}

const language = (type: string, scheme: VersionScheme): Ecosystem => ({ type, scheme, names: 'binary' })
const apk = (names: Ecosystem['names']): Ecosystem => ({ type: 'apk', scheme: 'apk', names })
const deb: Ecosystem = { type: 'deb', scheme: 'deb', names: 'source' }
const rpm = (names: Ecosystem['names']): Ecosystem => ({ type: 'rpm', scheme: 'rpm', names })

const ecosystems: ReadonlyMap<string, Ecosystem> = new Map(
  Object.entries({
    AlmaLinux: rpm('binary'),
    Alpaquita: apk('both'),
    Alpine: apk('source'),
    'Azure Linux': rpm('both'),
    'BellSoft Hardened Containers': apk('both'),
    Bitnami: language('bitnami', 'semver'),
    Chainguard: apk('both'),
    CleanStart: apk('both'),
    CRAN: language('cran', 'cran'),
    'crates.io': language('cargo', 'cargo'),
    Debian: deb,
    Echo: deb,
    'GitHub Actions': language('github', 'semver'),
    Go: language('golang', 'golang'),
    Hackage: language('hackage', 'hackage'),
    Hex: language('hex', 'hex'),
    Julia: language('julia', 'semver'),
    Mageia: rpm('source'),
    Maven: language('maven', 'maven'),
    MinimOS: apk('both'),
    npm: language('npm', 'npm'),
    NuGet: language('nuget', 'nuget'),
    openEuler: rpm('source'),
    openSUSE: rpm('source'),
    Packagist: language('composer', 'composer'),
    'Photon OS': rpm('both'),
    Pub: language('pub', 'pub'),
    PyPI: language('pypi', 'pypi'),
    'Red Hat': rpm('binary'),
    'Rocky Linux': rpm('binary'),
    RubyGems: language('gem', 'gem'),
    SUSE: rpm('source'),
    SwiftURL: language('swift', 'semver'),
    Ubuntu: deb,
    Wolfi: apk('both'),
  }),
)

/** Returns the rules of an ecosystem such as `npm` or `Debian:12`; undefined if it is unknown or its versions have no known order. */
export function ecosystemRules(ecosystem: string): Ecosystem | undefined {
  return ecosystems.get(baseOf(ecosystem))
}

/** Types whose packages belong to a distribution: the ecosystem depends on it. */
const distributionTypes = new Set(['apk', 'deb', 'rpm'])

const ecosystemByType = new Map(
  [...ecosystems]
    .filter(([, { type }]) => !distributionTypes.has(type))
    .map(([name, { type }]) => [type, name]),
)

/** Ecosystems by `ID` of os-release and by the namespace of package URLs. */
const ecosystemByDistribution: Readonly<Record<string, string>> = {
  almalinux: 'AlmaLinux',
  alpaquita: 'Alpaquita',
  alpine: 'Alpine',
  azurelinux: 'Azure Linux',
  'bellsoft-hardened-containers': 'BellSoft Hardened Containers',
  chainguard: 'Chainguard',
  cleanstart: 'CleanStart',
  debian: 'Debian',
  echo: 'Echo',
  mageia: 'Mageia',
  mariner: 'Azure Linux',
  minimos: 'MinimOS',
  openeuler: 'openEuler',
  opensuse: 'openSUSE',
  'opensuse-leap': 'openSUSE',
  'opensuse-tumbleweed': 'openSUSE',
  photon: 'Photon OS',
  redhat: 'Red Hat',
  rhel: 'Red Hat',
  rocky: 'Rocky Linux',
  sled: 'SUSE',
  sles: 'SUSE',
  suse: 'SUSE',
  ubuntu: 'Ubuntu',
  wolfi: 'Wolfi',
}

/** A package of an image, as the look-up of advisories needs it. */
export interface LocatedPackage {
  /** Type of its package URL. */
  readonly type: string
  /** Namespace of its package URL; '' for none. */
  readonly namespace: string
  /** `ID` of os-release of its image; '' if unknown. */
  readonly distributionId: string
  /** `VERSION_ID` of os-release; '' if unknown or for rolling releases. */
  readonly distributionVersion: string
  /** The ecosystem as a caller of OSV names it, instead of a distribution: `Debian:12`, or `Debian` for all releases. */
  readonly ecosystem?: string | undefined
}

/** Returns the name of the package's ecosystem without a release, for example `Debian`; undefined if OSV has none. */
export function ecosystemOfPackage(pkg: LocatedPackage): string | undefined {
  const { type, namespace, distributionId, ecosystem } = pkg
  if (ecosystem !== undefined) return baseOf(ecosystem)
  if (!distributionTypes.has(type)) return ecosystemByType.get(type)
  for (const name of [distributionId, namespace]) {
    const id = name.toLowerCase()
    const found = Object.hasOwn(ecosystemByDistribution, id) ? ecosystemByDistribution[id] : undefined
    if (found !== undefined && ecosystems.get(found)?.type === type) return found
  }
  return undefined
}

/**
 * Whether records of an ecosystem are about a package: the ecosystem is the package's, and it has no release or the release of the
 * package's distribution. Releases with paid support (`Ubuntu:Pro`) are about other packages.
 */
export function isEcosystemOf(ecosystem: string, pkg: LocatedPackage): boolean {
  const base = baseOf(ecosystem)
  if (base !== ecosystemOfPackage(pkg)) return false
  // Further parts name variants of a release: `Ubuntu:22.04:LTS`.
  if (pkg.ecosystem !== undefined)
    return ecosystem === base || ecosystem === pkg.ecosystem || ecosystem.startsWith(`${pkg.ecosystem}:`)
  const release = ecosystem.slice(base.length + 1)
  if (release === '' || !distributionTypes.has(pkg.type)) return true
  return isRelease(base, release, pkg.distributionVersion)
}

function isRelease(base: string, release: string, version: string): boolean {
  // Releases with a name instead of a version: the rolling one has no version.
  if (version === '') return /^(tumbleweed|edge|rolling|stable)$/i.test(release)
  const [major = '', minor = ''] = version.split('.')
  switch (base) {
    case 'Alpine':
      return release === `v${major}.${minor}`
    case 'Ubuntu':
      return release.split(':')[0] === version
    case 'Red Hat':
      // `enterprise_linux:9::baseos`, the parts of a CPE.
      return new RegExp(`^(enterprise_linux|rhel_[a-z_]+):${major}(\\.${minor})?(:|$)`).test(release)
    case 'SUSE':
      // `Linux Enterprise Server 15 SP5` is 15.5.
      return new RegExp(` ${major}${minor === '' || minor === '0' ? '' : `[ -]SP${minor}`}$`).test(release)
    case 'openSUSE':
      return release === `Leap ${version}`
    case 'openEuler':
      return release === version || release.startsWith(`${version}-LTS`)
    default:
      return release === version || release === major
  }
}

function baseOf(ecosystem: string): string {
  const colon = ecosystem.indexOf(':')
  return colon < 0 ? ecosystem : ecosystem.slice(0, colon)
}

/** Types whose names are the same in any case. */
const caseless = new Set(['bitnami', 'composer', 'github', 'hex', 'nuget', 'pub', 'pypi'])

/**
 * Returns the name by which packages and advisories of a type are compared. `name` is as in OSV: with the namespace of the package URL for
 * languages (`@scope/name`, `group:artifact`), without it for distributions.
 */
export function comparableName(type: string, name: string): string {
  const cased = caseless.has(type) ? name.toLowerCase() : name
  return type === 'pypi' ? cased.replace(/[-_.]+/g, '-') : cased
}

/** Returns the name of a package in OSV from the parts of its package URL. */
export function osvNameOf({
  type,
  namespace,
  name,
}: {
  readonly type: string
  readonly namespace: string
  readonly name: string
}): string {
  if (namespace === '' || distributionTypes.has(type)) return name
  return `${namespace}${type === 'maven' ? ':' : '/'}${name}`
}
