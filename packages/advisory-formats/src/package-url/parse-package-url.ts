import { PackageURL } from 'packageurl-js'
import { isOneLine } from '../syntax/value-fields.ts'

/** The parts of a package URL that advisories use. Missing parts are ''. */
export interface PackageName {
  readonly name: string
  readonly type: string
  readonly version: string
  readonly architecture: string
}

/** Types whose namespace is the distributor. For all others, it is part of the name. */
const distributorTypes = new Set(['alpm', 'apk', 'deb', 'oci', 'qpkg', 'rpm'])

/** Returns undefined for text that is not a package URL. */
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
  // Percent-encoded parts follow the same rules as other text.
  return Object.values(parts).every(isOneLine) ? parts : undefined
}

function parseOrUndefined(text: string): PackageURL | undefined {
  try {
    return PackageURL.fromString(text)
  } catch {
    return undefined
  }
}
