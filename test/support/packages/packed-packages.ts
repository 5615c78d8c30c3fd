import { join } from 'node:path'
import { after, before } from 'node:test'
import type { PackageDirectory } from '../../../scripts/packages/definitions.ts'
import { packPackages } from '../../../scripts/packages/pack.ts'
import { cleanups, temporaryDirectory } from '../server/process.ts'

/** Packs the published packages once for a suite, into a directory that the suite can use; the build is in `dist`. */
export function packedPackages() {
  const cleanup = cleanups()
  const directory = temporaryDirectory(cleanup)
  let tarballs: Record<PackageDirectory, string>
  before(() => {
    tarballs = packPackages(join(directory, 'dist/tarballs'), join(directory, 'dist'))
  })
  after(() => cleanup.run())
  return { directory, tarball: (name: PackageDirectory) => tarballs[name] }
}
