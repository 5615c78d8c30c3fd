import { PackageURL } from 'packageurl-js'
import { isOneLine } from '../syntax/value-fields.ts'

/** What a package URL tells of an artifact or component. Texts are '' where it does not. */
export interface PackageName {
  readonly name: string
  readonly type: string
  readonly version: string
  readonly architecture: string
}

/** Types whose namespace is who distributes the package; of all others it is a part of the name. */
const distributorTypes = new Set(['alpm', 'apk', 'deb', 'oci', 'qpkg', 'rpm'])

/** Undefined for anything else than a package URL. */
export function parsePackageUrl(text: string): PackageName | undefined {
  if (!text.startsWith('pkg:')) return undefined
  const url = parseOrUndefined(text)
  if (url === undefined) return undefined
  const { namespace = '' } = url
  const isNamespaceInName = namespace !== '' && !distributorTypes.has(url.type)
  const name = isNamespaceInName ? `${namespace}${url.type === 'maven' ? ':' : '/'}${url.name}` : url.name
  const parts = {
    name,
    type: url.type,
    version: url.version ?? '',
    architecture: url.qualifiers?.['arch'] ?? '',
  }
  // What percent signs hide is a text like any other.
  return Object.values(parts).every(isOneLine) ? parts : undefined
}

function parseOrUndefined(text: string): PackageURL | undefined {
  try {
    return PackageURL.fromString(text)
  } catch {
    return undefined
  }
}
