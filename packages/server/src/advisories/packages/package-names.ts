import {
  comparableName,
  ecosystemOfPackage,
  ecosystemRules,
  type LocatedPackage,
  osvNameOf,
} from '@berth/package-versions/osv/ecosystems.ts'
import { PackageURL } from 'packageurl-js'

/** The names by which advisories and packages find each other: the type of the package URL and the name, as `apk/openssl`. */

/** The fields of an advisory that name packages. */
export interface NamedAdvisory {
  /** Starts with the format of its document. */
  readonly key: string
  readonly artifactName: string
  readonly artifactType: string
  /** The ecosystem, in records of OSV. */
  readonly componentType: string
  readonly origin: string
  /** A package URL or other identifier; '' if it is the name. */
  readonly product: string
}

/** Returns the ecosystem of a record of OSV, such as `Debian:12`; undefined for other formats, and if its versions have no known order. */
export function ecosystemOfAdvisory({ key, componentType }: NamedAdvisory): string | undefined {
  return key.startsWith('osv:') && ecosystemRules(componentType) !== undefined ? componentType : undefined
}

/** Returns the names of the packages that an advisory is about; none if it is about something else, such as an image. */
export function packageNamesOf(advisory: NamedAdvisory): string[] {
  const { artifactName, artifactType, origin } = advisory
  const ecosystem = ecosystemOfAdvisory(advisory)
  const type = ecosystem === undefined ? artifactType : (ecosystemRules(ecosystem)?.type ?? artifactType)
  if (type === '' || type === 'oci' || type === 'git') return []
  return [...new Set([artifactName, origin])]
    .filter((name) => name !== '')
    .map((name) => joinName(type, name))
}

/** A package with the source package that it is built from. */
export interface NamedPackage extends LocatedPackage {
  readonly name: string
  readonly originName: string
}

/** Returns the names under which advisories about a package may be. */
export function lookupNamesOf(pkg: NamedPackage): string[] {
  const names = [joinName(pkg.type, osvNameOf(pkg))]
  if (pkg.originName !== '' && pkg.originName !== pkg.name) names.push(joinName(pkg.type, pkg.originName))
  return names
}

/** Returns the ecosystem whose data decides whether a package is covered; its type if OSV has no ecosystem for it. */
export function coverageOf(pkg: LocatedPackage): string {
  return ecosystemOfPackage(pkg) ?? pkg.type
}

function joinName(type: string, name: string): string {
  return `${type}/${comparableName(type, name)}`
}

/** Returns the parts of a product that is a package URL. */
export function parseProduct(
  product: string,
): { readonly namespace: string; readonly version: string; readonly distribution: string } | undefined {
  if (!product.startsWith('pkg:')) return undefined
  try {
    const { namespace, version, qualifiers } = PackageURL.fromString(product)
    return { namespace: namespace ?? '', version: version ?? '', distribution: qualifiers?.['distro'] ?? '' }
  } catch {
    return undefined
  }
}
