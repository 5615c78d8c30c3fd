import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DebianPackage } from './debian.ts'

const DISTRIBUTION = 'debian-12'

interface InstalledPackage {
  readonly version: string
  readonly license?: string
}

/** Creates the software bill of materials of the image in CycloneDX: what npm installed, and the Debian packages. */
export function createBillOfMaterials(
  app: string,
  packages: readonly DebianPackage[],
  version: string,
): string {
  const lock = JSON.parse(readFileSync(join(app, 'node_modules/.package-lock.json'), 'utf8'))
  const npm = Object.entries(lock.packages as Record<string, InstalledPackage>).map(
    ([path, { version, license }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
      const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
      const licenses = license === undefined ? {} : { licenses: [{ expression: license }] }
      return { 'bom-ref': `${purl}#${path}`, type: 'library', name, version, purl, ...licenses }
    },
  )
  const debian = packages.map(({ name, version, architecture }) => {
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${DISTRIBUTION}`
    return { 'bom-ref': purl, type: 'library', name, version, purl }
  })
  const content = JSON.stringify({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'container', 'bom-ref': 'berth', name: 'berth', version } },
    components: [...npm, ...debian],
  })
  // The same content has the same serial number (a UUID of version 8).
  const hex = createHash('sha256').update(content).digest('hex')
  const serial = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  return JSON.stringify({ ...JSON.parse(content), serialNumber: `urn:uuid:${serial}` })
}
