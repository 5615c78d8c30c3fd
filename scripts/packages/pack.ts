import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildPackages } from './build.ts'
import type { PackageDirectory } from './definitions.ts'

/**
 * Builds the packages and writes their tarballs into a directory. Equal sources produce equal bytes. `output` is the
 * directory of the build. Returns the paths of the tarballs.
 */
export function packPackages(directory: string, output?: string): Record<PackageDirectory, string> {
  const built = buildPackages(output)
  // After the build, which deletes its own directory: the tarballs may be in it.
  mkdirSync(directory, { recursive: true })
  const pack = (name: PackageDirectory) => packPackage(built[name], directory)
  return { berth: pack('berth'), cli: pack('cli'), client: pack('client') }
}

function packPackage(source: string, directory: string): string {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', resolve(directory)]
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: source, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm pack failed in ${source}:\n${stderr}`)
  const [packed] = JSON.parse(stdout) as { filename: string }[]
  if (packed === undefined) throw new Error(`npm pack reports no file for ${source}`)
  return join(directory, packed.filename)
}
