import { PackageURL } from 'packageurl-js'
import type { Distribution, ImagePackage, PackageOrigin } from '../contents.ts'
import { documentLimits } from '../documents/document-limits.ts'
import { isPrintable } from '../documents/document-problem.ts'

/** Returns undefined for text that is not a package URL, is too long, or has unprintable characters, also if they are encoded. */
export function parsePurl(text: string): PackageURL | undefined {
  if (text.length > documentLimits.sbomPurlCharsMax || !text.startsWith('pkg:')) return undefined
  try {
    const url = fromString(text)
    const parts = [url.namespace, url.name, url.version, ...Object.values(url.qualifiers ?? {})]
    if (!parts.every((part) => part === undefined || isPrintable(String(part)))) return undefined
    return url.type === 'alpine' ? renamedAlpine(url) : url
  } catch {
    return undefined
  }
}

/**
 * The library requires that versions of Go that start with `v` are semantic. Those of programs are what their build states, such as
 * `v1` or a branch.
 */
function fromString(text: string): PackageURL {
  if (!text.startsWith('pkg:golang/')) return PackageURL.fromString(text)
  const [type, namespace, name, version, qualifiers, subpath] = PackageURL.parseString(text)
  const url = new PackageURL(type as string, namespace, name as string, undefined, qualifiers, subpath)
  url.version = version ?? undefined
  return url
}

/** Syft before 0.60 wrote `pkg:alpine/NAME` for packages of Alpine. */
function renamedAlpine({ namespace, name, version, qualifiers }: PackageURL): PackageURL {
  return new PackageURL('apk', namespace ?? 'alpine', name as string, version, qualifiers, undefined)
}

/** Images, which are no packages of an image. */
export function isImagePurl(url: PackageURL): boolean {
  return url.type === 'oci' || url.type === 'docker'
}

/** The version as the package database has it: package URLs of rpm have the epoch as a qualifier. */
export function versionOf(url: PackageURL): string {
  const version = url.version ?? ''
  const epoch = url.qualifiers?.['epoch'] ?? ''
  return url.type === 'rpm' && version !== '' && /^[1-9]\d*$/.test(epoch) ? `${epoch}:${version}` : version
}

/** Adds a version, or returns undefined if the type does not allow it. */
export function withVersion(url: PackageURL, version: string): PackageURL | undefined {
  const plain = url.type === 'rpm' ? version.replace(/^\d+:/, '') : version
  return createPurl({ ...partsOf(url), version: plain })
}

export interface PurlParts {
  readonly type: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly version?: string | undefined
  readonly qualifiers?: Record<string, string> | undefined
  readonly subpath?: string | undefined
}

function partsOf({ type, namespace, name, qualifiers, subpath }: PackageURL): PurlParts {
  return { type: type as string, namespace, name: name as string, qualifiers, subpath }
}

/** Returns undefined for what the type does not allow. */
export function createPurl({
  type,
  namespace,
  name,
  version,
  qualifiers,
  subpath,
}: PurlParts): PackageURL | undefined {
  try {
    const isGo = type === 'golang'
    const url = new PackageURL(
      type,
      namespace || undefined,
      name,
      isGo ? undefined : version || undefined,
      qualifiers === undefined || Object.keys(qualifiers).length === 0 ? undefined : qualifiers,
      subpath || undefined,
    )
    if (isGo) url.version = version || undefined
    return url
  } catch {
    return undefined
  }
}

/**
 * The source package of a package URL: qualifier `upstream` as syft writes it (`gcc-12`, `gcc-12@12.2.0-14`, `bash-5.1-2.el9.src.rpm`),
 * or `origin`. Source packages of apk and deb without a version have that of the package.
 */
export function originOf(url: PackageURL): PackageOrigin | undefined {
  const text = url.qualifiers?.['upstream'] ?? url.qualifiers?.['origin'] ?? ''
  if (text === '' || !['apk', 'deb', 'rpm', 'alpm'].includes(url.type as string)) return undefined
  const sourceRpm = /^(.+)-([^-]+-[^-]+)\.(?:no)?src\.rpm$/.exec(text)
  if (sourceRpm !== null) return { name: sourceRpm[1] as string, version: sourceRpm[2] as string }
  const at = text.indexOf('@')
  if (at > 0) return { name: text.slice(0, at), version: text.slice(at + 1) }
  return { name: text, version: url.type === 'rpm' ? '' : versionOf(url) }
}

/** IDs of distributions that differ from the names that scanners use for them. */
const distributionIds = new Map(
  Object.entries({
    amazon: 'amzn',
    'cbl-mariner': 'mariner',
    opensuse: 'opensuse-leap',
    'opensuse.leap': 'opensuse-leap',
    'opensuse.tumbleweed': 'opensuse-tumbleweed',
    oracle: 'ol',
    redhat: 'rhel',
    'red hat enterprise linux': 'rhel',
    'suse linux enterprise server': 'sles',
    'suse.linux.enterprise.server': 'sles',
  }),
)

/** Names of scanners and SBOMs to the `ID` of os-release. */
export function distributionId(name: string): string {
  const id = name.trim().toLowerCase()
  return distributionIds.get(id) ?? id
}

/** Apko and trivy write these in place of the name. */
export function isKnownDistribution(id: string): boolean {
  return id !== '' && id !== 'unknown' && id !== 'none'
}

/**
 * The distribution that a package URL names: qualifier `distro` as syft writes it (`debian-12`, `opensuse-leap-15.4`) or as trivy
 * writes it for apk (`3.16.0`, with the distribution as the namespace).
 */
export function distributionOf({ type, namespace, qualifiers }: PackageURL): Distribution | undefined {
  const distro = qualifiers?.['distro'] ?? ''
  if (distro === '' || !['apk', 'deb', 'rpm', 'alpm'].includes(type as string)) return undefined
  if (/^\d/.test(distro)) {
    return namespace === undefined
      ? undefined
      : { id: distributionId(namespace), versionId: distro, name: '' }
  }
  const [, id = distro, versionId = ''] = /^(.+?)-(\d.*)$/.exec(distro) ?? []
  return { id: distributionId(id), versionId, name: '' }
}

/** The parts of a package that its URL gives. */
export function packageParts(
  url: PackageURL,
): Pick<ImagePackage, 'purl' | 'type' | 'namespace' | 'name' | 'version' | 'architecture'> {
  return {
    purl: url.toString(),
    type: url.type as string,
    namespace: url.namespace ?? '',
    name: url.name as string,
    version: versionOf(url),
    architecture: url.qualifiers?.['arch'] ?? '',
  }
}
