import type { Advisory } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { Distribution } from '../publishing/publication-settings.ts'

/** The ecosystems of OSV and the types of their packages in package URLs ('generic' for those without a type). */
const purlTypes: Readonly<Record<string, string>> = {
  AlmaLinux: 'rpm',
  Alpaquita: 'apk',
  Alpine: 'apk',
  Android: 'generic',
  'Azure Linux': 'rpm',
  'BellSoft Hardened Containers': 'apk',
  Bioconductor: 'bioconductor',
  Bitnami: 'bitnami',
  Chainguard: 'apk',
  CleanStart: 'apk',
  ConanCenter: 'conan',
  CRAN: 'cran',
  'crates.io': 'cargo',
  Debian: 'deb',
  'Docker Hardened Images': 'generic',
  Echo: 'deb',
  FreeBSD: 'generic',
  GHC: 'generic',
  'GitHub Actions': 'github',
  Go: 'golang',
  Hackage: 'hackage',
  Hex: 'hex',
  Homebrew: 'brew',
  Julia: 'julia',
  Kubernetes: 'golang',
  Linux: 'generic',
  Mageia: 'rpm',
  Maven: 'maven',
  MinimOS: 'apk',
  npm: 'npm',
  NuGet: 'nuget',
  opam: 'opam',
  openEuler: 'rpm',
  openSUSE: 'rpm',
  'OSS-Fuzz': 'generic',
  Packagist: 'composer',
  'Photon OS': 'rpm',
  Pub: 'pub',
  PyPI: 'pypi',
  'Red Hat': 'rpm',
  'Rocky Linux': 'rpm',
  Root: 'generic',
  RubyGems: 'gem',
  SUSE: 'rpm',
  SwiftURL: 'swift',
  TuxCare: 'generic',
  Ubuntu: 'deb',
  VSCode: 'vscode-extension',
  vcpkg: 'vcpkg',
  WordPress: 'generic',
  Wolfi: 'apk',
}

/** Ecosystems with SemVer 2.0 versions. */
const semverEcosystems = new Set([
  'Bitnami',
  'crates.io',
  'GitHub Actions',
  'Go',
  'Hex',
  'Julia',
  'npm',
  'Pub',
  'SwiftURL',
])

/** Types that occur in one ecosystem only. */
const ecosystemByPurlType = new Map(
  [...Map.groupBy(Object.entries(purlTypes), ([, type]) => type)].flatMap(([type, its]) => {
    const [only] = its
    return only === undefined || its.length > 1 || type === 'generic' ? [] : [[type, only[0]] as const]
  }),
).set('golang', 'Go')

function baseEcosystem(ecosystem: string): string {
  const colon = ecosystem.indexOf(':')
  return colon < 0 ? ecosystem : ecosystem.slice(0, colon)
}

export function isEcosystem(text: string): boolean {
  return Object.hasOwn(purlTypes, baseEcosystem(text))
}

/** Returns the package URL type of an OSV ecosystem, or the type itself; 'generic' for an empty name. */
export function purlTypeOf(type: string): string {
  const base = baseEcosystem(type)
  return Object.hasOwn(purlTypes, base) ? (purlTypes[base] as string) : type || 'generic'
}

/** Returns the ecosystem of an artifact's package; undefined if OSV has none for it. */
export function ecosystemOf(
  { artifactName, artifactType, componentName, componentType }: Advisory,
  distribution: Distribution,
): string | undefined {
  if (isEcosystem(artifactType)) return artifactType
  // The package itself is the component. Scanners have their own types for the components of an apk; some have the same names as ecosystems.
  if (componentName === artifactName && isEcosystem(componentType)) {
    if (artifactType !== 'apk' || purlTypeOf(componentType) === 'apk') return componentType
  }
  return artifactType === 'apk' ? distribution.ecosystem : ecosystemByPurlType.get(artifactType)
}

/** Returns the OSV range type that matches how an ecosystem compares versions. */
export function rangeTypeOf(ecosystem: string | undefined): 'SEMVER' | 'ECOSYSTEM' {
  return ecosystem !== undefined && semverEcosystems.has(baseEcosystem(ecosystem)) ? 'SEMVER' : 'ECOSYSTEM'
}
