import { PackageURL } from 'packageurl-js'
import { purlTypeOf } from '../osv/ecosystems.ts'
import type { Distribution } from '../publishing/publication-settings.ts'
import type { PublishedAdvisory } from '../publishing/published-advisory.ts'

/** Writes the names of artifacts and components as package URLs. */

interface Package {
  readonly type: string
  readonly name: string
  readonly namespace?: string
  readonly version?: string
  readonly architecture?: string
}

/** Types whose namespace is the distributor. For all others, it is part of the name. */
const distributorTypes = new Set(['alpm', 'apk', 'deb', 'oci', 'rpm'])

/** Component types with a different name in package URLs. */
const componentTypes: Readonly<Record<string, string>> = {
  'go-module': 'golang',
  python: 'pypi',
  'java-archive': 'maven',
  'jenkins-plugin': 'maven',
  'rust-crate': 'cargo',
  dotnet: 'nuget',
}

/** Always returns a package URL: a package that is invalid for its type becomes a generic one. */
function packageUrl({ type, name, namespace = '', version = '', architecture = '' }: Package): string {
  const [packageNamespace, packageName] = distributorTypes.has(type)
    ? [namespace, name]
    : splitNamespace(type, name)
  const qualifiers = architecture === '' ? undefined : { arch: architecture }
  const format = (as: string, space: string, text: string) =>
    new PackageURL(as, space || undefined, text, version || undefined, qualifiers, undefined).toString()
  try {
    return format(type, packageNamespace, packageName)
  } catch {
    return format('generic', ...splitNamespace('generic', name))
  }
}

function splitNamespace(type: string, name: string): readonly [string, string] {
  const at = name.lastIndexOf(type === 'maven' ? ':' : '/')
  const [namespace, rest] = [name.slice(0, Math.max(at, 0)), name.slice(at + 1)]
  // Package URLs drop empty path segments.
  return rest === '' || namespace.split('/').includes('') ? ['', name] : [namespace, rest]
}

/** Returns the product as its source names it, or as its artifact does. Never empty, always a URI. */
export function productUrl({ advisory, product }: PublishedAdvisory, distribution: Distribution): string {
  const { artifactName, artifactType, artifactArchitecture } = advisory
  // The URL of a repository has no versions; the type and name of the artifact can have one.
  const isRepository = artifactType === 'git' && artifactName !== ''
  const uri = isRepository ? undefined : toUri(product || artifactName)
  if (uri !== undefined) return uri
  if (product !== '' && !isRepository) return packageUrl({ type: 'generic', name: product })
  return packageUrl({
    type: purlTypeOf(artifactType),
    name: artifactName || 'unknown',
    namespace: artifactType === 'apk' ? distribution.namespace : '',
    architecture: artifactArchitecture,
  })
}

const NON_URI_CHARACTERS = /[^\w\-.~:/?#@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})/gu

/** Returns the text as a URI, encoding what needs it; encoded parts are not encoded again. */
function toUri(text: string): string | undefined {
  if (!/^(pkg|cpe|urn|https?):\S+$/i.test(text)) return undefined
  return text.replaceAll(NON_URI_CHARACTERS, (character) => encodeURIComponent(character.toWellFormed()))
}

/** Returns the component, if it is not the artifact itself. */
export function componentUrl({ advisory, componentProduct }: PublishedAdvisory): string | undefined {
  const { artifactName, componentName: name, componentType } = advisory
  const uri = toUri(componentProduct || name)
  if (uri !== undefined) return uri
  if (componentProduct !== '') return packageUrl({ type: 'generic', name: componentProduct })
  if (name === '' || name === artifactName) return undefined
  return packageUrl({ type: componentTypes[componentType] ?? purlTypeOf(componentType), name })
}

/** Adds a version to a package URL. A URL that already has one, or is not a package URL, is returned unchanged. */
export function withVersion(url: string, version: string): string {
  if (version === '' || !url.startsWith('pkg:') || url !== withoutVersion(url)) return url
  const end = url.search(/[?#]/)
  const head = end < 0 ? url : url.slice(0, end)
  return `${head}@${encodeURIComponent(version).replaceAll('%3A', ':')}${end < 0 ? '' : url.slice(end)}`
}

/** Removes the version from a package URL. */
function withoutVersion(url: string): string {
  if (!url.startsWith('pkg:')) return url
  const end = url.search(/[?#]/)
  const head = end < 0 ? url : url.slice(0, end)
  const at = head.lastIndexOf('@')
  // An @ at the start of a path segment is an npm scope that was not encoded.
  const isVersion = at > 0 && head[at - 1] !== '/'
  return isVersion ? head.slice(0, at) + (end < 0 ? '' : url.slice(end)) : url
}

/** Removes version and qualifiers from a package URL. */
export function basePackageUrl(url: string): string {
  const whole = withoutVersion(url)
  const end = whole.search(/[?#]/)
  return url.startsWith('pkg:') && end >= 0 ? whole.slice(0, end) : whole
}
