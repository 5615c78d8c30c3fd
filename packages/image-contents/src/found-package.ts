import { PackageURL } from 'packageurl-js'
import type { Distribution, ImagePackage, PackageOrigin } from './contents.ts'
import { distributionTypes } from './end-of-life.ts'
import { type LayerLimits, layerLimits } from './limits.ts'
import { packageTimes } from './package-times.ts'

/** A package as a file of the image lists it, before the distribution of the image is known. */
export interface FoundPackage {
  /** Type of the package URL. Packages of `apk`, `deb`, `opkg` and `rpm` belong to the distribution, which is their namespace. */
  readonly type: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly version: string
  readonly architecture?: string | undefined
  readonly origin?: PackageOrigin | undefined
  readonly license?: string | undefined
  readonly qualifiers?: Readonly<Record<string, string>> | undefined
  /** When it was built, in milliseconds since 1970. */
  readonly builtMs?: number | undefined
}

/** What one file contains. */
export interface FileContents {
  readonly packages: readonly FoundPackage[]
  /** Each continues "could not be read, because". */
  readonly problems: readonly string[]
  readonly distribution?: Distribution | undefined
  /** Licence of the Debian package with the copyright file. */
  readonly license?: string
  readonly embeddedSbom?: Uint8Array
}

/** What a reader reports that stops at the limit: a hostile list would fill the memory before the image as a whole is checked. */
export const TOO_MANY_PACKAGES = `it lists more than ${layerLimits.packagesMax} packages`

/** Namespaces of package URLs that differ from the `ID` of os-release. */
const rpmNamespaces: Readonly<Record<string, string>> = { rhel: 'redhat' }

/** `path`, `layer`: of the file that lists the package. Throws if the type does not allow the name. */
export function imagePackage(
  found: FoundPackage,
  distribution: Distribution | undefined,
  { path, layer }: Pick<ImagePackage, 'path' | 'layer'>,
): ImagePackage {
  const { type, name, version, architecture = '', origin, license = '' } = found
  const isOfDistribution = distributionTypes.has(type)
  const namespace = isOfDistribution ? namespaceOf(type, distribution) : found.namespace
  const qualifiers = {
    ...found.qualifiers,
    ...(isOfDistribution && architecture !== '' ? { arch: architecture } : {}),
    ...(isOfDistribution && distribution !== undefined ? { distro: distroOf(distribution) } : {}),
  }
  const url = new PackageURL(
    type,
    namespace === '' ? undefined : namespace,
    name,
    (type === 'rpm' ? withoutEpoch(version) : version) || undefined,
    Object.keys(qualifiers).length === 0 ? undefined : qualifiers,
    undefined,
  )
  return {
    purl: url.toString(),
    type: url.type ?? type,
    namespace: url.namespace ?? '',
    name: url.name ?? name,
    version,
    architecture,
    origin,
    license,
    path,
    layer,
    ...packageTimes(found.builtMs, undefined),
  }
}

function namespaceOf(type: string, distribution: Distribution | undefined): string | undefined {
  const id = distribution?.id
  if (id === undefined || type !== 'rpm') return id
  return id.startsWith('opensuse') ? 'opensuse' : (rpmNamespaces[id] ?? id)
}

function distroOf({ id, versionId }: Distribution): string {
  return versionId === '' ? id : `${id}-${versionId}`
}

/** Package URLs of rpm have the epoch as a qualifier. */
function withoutEpoch(version: string): string {
  return version.replace(/^\d+:/, '')
}

/** Returns why a package cannot be listed, or undefined. */
export function packageProblem({ name, version }: FoundPackage, limits: LayerLimits): string | undefined {
  const { packageNameCharsMax: max } = limits
  if (name === '') return 'a package has no name'
  if (name.length > max) return `the name of a package has more than ${max} characters`
  if (version.length > max) return `the version of a package has more than ${max} characters`
  // Control characters, and directions of text that disguise a name.
  return /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(name + version)
    ? 'the name or version of a package has invalid characters'
    : undefined
}
