import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { PackageDirectory } from '../packages/definitions.ts'
import { packPackages } from '../packages/pack.ts'
import { run } from './run.ts'

/** Writes what a release consists of into a directory. */

const BUILD = 'dist'
const IMAGE_SCRIPT = 'scripts/image.ts'
const CHECKSUMS = 'SHA256SUMS'

export interface ArtifactOptions {
  readonly directory: string
  /** Text of the release notes. */
  readonly notes: string
  /** Architectures of the container image; none for a release without images. */
  readonly imageArchitectures: readonly string[]
}

export function writeArtifacts({ directory, notes, imageArchitectures }: ArtifactOptions): void {
  mkdirSync(directory, { recursive: true })
  run(process.execPath, ['scripts/build-console.ts', '--if-changed'])
  const tarballs = packPackages(directory, BUILD)
  for (const name of Object.keys(tarballs) as PackageDirectory[])
    writeFileSync(`${tarballs[name].replace(/\.tgz$/, '')}.cdx.json`, billOfMaterials(join(BUILD, name)))
  for (const arch of imageArchitectures) {
    if (!existsSync(IMAGE_SCRIPT)) throw new Error(`${IMAGE_SCRIPT} does not exist; use --no-image`)
    const output = join(directory, `berth-image-${arch}`)
    run(process.execPath, [IMAGE_SCRIPT, '--out', output, '--tarball', tarballs.berth, '--arch', arch])
  }
  writeFileSync(join(directory, 'RELEASE_NOTES.md'), `${notes}\n`)
  writeFileSync(join(directory, CHECKSUMS), checksums(directory))
}

/** Returns a software bill of materials (CycloneDX) of what an installation of the package contains at this time. */
function billOfMaterials(source: string): string {
  const place = resolve(BUILD, '.sbom', basename(source))
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  copyFileSync(join(source, 'package.json'), join(place, 'package.json'))
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts']
  run('npm', ['install', '--package-lock-only', ...quiet], place)
  return run(
    'npm',
    ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'],
    place,
  )
}

/** Returns the checksums of all files, as `sha256sum --check` reads them. */
function checksums(directory: string): string {
  const files = globSync('**/*', { cwd: directory }).filter((file) =>
    statSync(join(directory, file)).isFile(),
  )
  return files
    .sort()
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(directory, file)))
          .digest('hex')}  ${file}\n`,
    )
    .join('')
}
