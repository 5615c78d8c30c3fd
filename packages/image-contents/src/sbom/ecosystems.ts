import type { PackageURL } from 'packageurl-js'
import type { Distribution } from '../contents.ts'
import { createPurl } from './package-urls.ts'

/** Types of package URLs by the names that scanners have for ecosystems: `syft:package:type`, and `PkgType` and `Type` of trivy. */
const purlTypes = new Map(
  Object.entries({
    alpm: 'alpm',
    bundler: 'gem',
    bun: 'npm',
    cargo: 'cargo',
    composer: 'composer',
    'composer-vendor': 'composer',
    'dart-pub': 'pub',
    dotnet: 'nuget',
    'dotnet-core': 'nuget',
    gem: 'gem',
    gemspec: 'gem',
    'go-module': 'golang',
    gobinary: 'golang',
    gomod: 'golang',
    hackage: 'hackage',
    hex: 'hex',
    mix: 'hex',
    'node-pkg': 'npm',
    npm: 'npm',
    nuget: 'nuget',
    'php-composer': 'composer',
    pip: 'pypi',
    pipenv: 'pypi',
    pnpm: 'npm',
    poetry: 'pypi',
    pub: 'pub',
    python: 'pypi',
    'python-pkg': 'pypi',
    rubygems: 'gem',
    'rust-crate': 'cargo',
    rustbinary: 'cargo',
    uv: 'pypi',
    yarn: 'npm',
  }),
)

/** Types whose namespace is the distribution, by the names of scanners. */
const distributionTypes = new Map(
  Object.entries({
    alma: 'rpm',
    alpine: 'apk',
    amazon: 'rpm',
    apk: 'apk',
    'cbl-mariner': 'rpm',
    centos: 'rpm',
    chainguard: 'apk',
    deb: 'deb',
    debian: 'deb',
    fedora: 'rpm',
    oracle: 'rpm',
    photon: 'rpm',
    redhat: 'rpm',
    rocky: 'rpm',
    rpm: 'rpm',
    ubuntu: 'deb',
    wolfi: 'apk',
  }),
)

export interface NamedPackage {
  /** Name of the ecosystem as a scanner writes it; '' if unknown. */
  readonly ecosystem: string
  /** Group of Maven, scope of npm; '' if it has none. */
  readonly group: string
  readonly name: string
  readonly version: string
}

/**
 * Derives the package URL of a package that has none. Only if the ecosystem is stated: names alone do not identify packages. Packages
 * of a distribution need the distribution, and those of Maven their group. All others become `generic`, which no advisory matches.
 * Returns undefined for a name that no package URL can have.
 */
export function derivePurl(
  { ecosystem, group, name, version }: NamedPackage,
  distribution: Distribution | undefined,
): PackageURL | undefined {
  const generic = () => createPurl({ type: 'generic', name, version })
  const system = distributionTypes.get(ecosystem)
  if (system !== undefined) {
    if (distribution === undefined) return generic()
    const { id, versionId } = distribution
    const distro = versionId === '' ? id : `${id}-${versionId}`
    const plain = system === 'rpm' ? version.replace(/^\d+:/, '') : version
    return (
      createPurl({ type: system, namespace: id, name, version: plain, qualifiers: { distro } }) ?? generic()
    )
  }
  if (ecosystem === 'java-archive' || ecosystem === 'jar' || ecosystem === 'pom') {
    const [, namespace = group, artifact = name] = /^([^:]+):([^:]+)$/.exec(name) ?? []
    return namespace === ''
      ? generic()
      : (createPurl({ type: 'maven', namespace, name: artifact, version }) ?? generic())
  }
  const type = purlTypes.get(ecosystem)
  if (type === undefined) return generic()
  const whole = group === '' ? name : `${group}/${name}`
  const at = whole.lastIndexOf('/')
  return (
    createPurl({ type, namespace: whole.slice(0, Math.max(at, 0)), name: whole.slice(at + 1), version }) ??
    generic()
  )
}
