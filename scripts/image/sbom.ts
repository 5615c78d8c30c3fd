import type { DebianPackage } from './debian.ts'
import { run } from './run.ts'

const DISTRIBUTION = 'debian-12'

/** The software bill of materials of the image in CycloneDX: npm's, with the Debian packages. */
export function createBillOfMaterials(
  app: string,
  packages: readonly DebianPackage[],
  version: string,
): string {
  const bill = JSON.parse(run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'], { cwd: app }))
  const debian = packages.map(({ name, version, architecture }) => {
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${DISTRIBUTION}`
    return { 'bom-ref': purl, type: 'library', name, version, purl }
  })
  bill.metadata.component = { ...bill.metadata.component, type: 'container', name: 'berth', version }
  bill.components.push(...debian)
  // The same image has the same bill.
  delete bill.serialNumber
  delete bill.metadata.timestamp
  return JSON.stringify(bill)
}
