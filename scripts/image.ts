import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildImage, type ImageArchitecture, imageArchitectures } from './image/build.ts'

/**
 * `node scripts/image.ts --out <directory> [--tarball <berth-x.y.z.tgz>] [--arch amd64|arm64]`: builds the container image without a Docker
 * engine, with buildah as root on Debian, and writes it to a directory in the OCI layout, with its software bill of materials.
 */

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist/image' },
    tarball: { type: 'string' },
    arch: { type: 'string', default: 'amd64' },
  },
})
const { arch } = values
if (!imageArchitectures.includes(arch as ImageArchitecture))
  throw new Error(`--arch must be one of ${imageArchitectures}`)
const directory = mkdtempSync(join(tmpdir(), 'berth-image-'))
try {
  const image = buildImage({
    directory,
    output: resolve(values.out),
    architecture: arch as ImageArchitecture,
    ...(values.tarball !== undefined && { tarball: resolve(values.tarball) }),
  })
  process.stdout.write(
    `${values.out}  ${image.tag}  ${image.digest}  ${image.compressedMib.toFixed(1)} MiB compressed\n`,
  )
} finally {
  rmSync(directory, { recursive: true, force: true })
}
