import type { PackageOrigin } from '../contents.ts'
import { type FileContents, type FoundPackage, TOO_MANY_PACKAGES } from '../found-package.ts'
import { layerLimits } from '../limits.ts'
import { readParagraphs } from './control-fields.ts'

/** Databases of dpkg (deb-control(5)) and of opkg, which uses the same syntax. */

const fields = new Set(['package', 'version', 'status', 'architecture', 'source', 'license'])

/** Reads `status`, a part of `status.d`, or a `.control` file. Packages that are not installed are left out. */
export function readDpkgStatus(type: 'deb' | 'opkg', content: Buffer): FileContents {
  const packages: FoundPackage[] = []
  for (const paragraph of readParagraphs(content.toString(), fields)) {
    if (packages.length >= layerLimits.packagesMax) return { packages, problems: [TOO_MANY_PACKAGES] }
    const [name, version, status] = [
      paragraph.get('package') ?? '',
      paragraph.get('version') ?? '',
      paragraph.get('status'),
    ]
    // Distroless images have no Status; the last of its three words is the state.
    const isInstalled = status === undefined || status.split(/\s+/).at(-1) === 'installed'
    if (name === '' || version === '' || !isInstalled) continue
    const origin = originOf(paragraph.get('source') ?? '', name, version)
    packages.push({
      type,
      name,
      version,
      architecture: paragraph.get('architecture'),
      origin,
      license: paragraph.get('license'),
      qualifiers: { ...upstreamOf(origin, name, version) },
    })
  }
  return { packages, problems: [] }
}

/** `Source: name (version)`; without it, the source package has the name and version of the package. */
function originOf(source: string, name: string, version: string): PackageOrigin {
  const [, sourceName = name, sourceVersion = version] = /^(\S+)(?:\s+\(([^)]*)\))?/.exec(source) ?? []
  return { name: sourceName, version: sourceVersion }
}

function upstreamOf(origin: PackageOrigin, name: string, version: string) {
  if (origin.version !== version) return { upstream: `${origin.name}@${origin.version}` }
  return origin.name === name ? undefined : { upstream: origin.name }
}

const licenseLine = /^License:[ \t]*(\S[^\r\n]{0,200})/gim
const commonLicense = /\/usr\/share\/common-licenses\/([A-Za-z0-9.+-]{1,40}[A-Za-z0-9+])/g
const LICENSES_MAX = 20

/** Reads a copyright file (machine-readable format 1.0): the short names of its licences, or the common licences that it refers to. */
export function readCopyright(content: Buffer): FileContents {
  const text = content.toString()
  const stated = new Set([...text.matchAll(licenseLine)].map(([, name = '']) => name.trim()))
  const referred = new Set([...text.matchAll(commonLicense)].map(([, name = '']) => name))
  const names = [...(stated.size > 0 ? stated : referred)].sort().slice(0, LICENSES_MAX)
  return { packages: [], problems: [], license: names.map(grouped).join(' AND ') }
}

function grouped(name: string, _at: number, { length }: readonly string[]): string {
  return length > 1 && /\s(and|or)\s/i.test(name) ? `(${name})` : name
}
