import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import type { ImageLayer } from '@berth/image-contents/layers/image-layer.ts'
import { descriptor, digest, types } from '../registry/registry.ts'
import { layerOfBytes } from './layers.ts'

/** Writes OCI layouts from folders: what a tool that reads images from disk gets, and the same layers for `readLayers`. */

const compressions = {
  gzip: { compress: (tar: Buffer) => gzipSync(tar, { level: 1 }), mediaType: `${types.layer}` },
  zstd: {
    compress: (tar: Buffer) => zstdCompressSync(tar),
    mediaType: 'application/vnd.oci.image.layer.v1.tar+zstd',
  },
}

/** Returns a tar archive of everything below a folder. */
export function tarOfFolder(folder: string): Buffer {
  const archive = `${folder}.tar`
  run('tar', ['--numeric-owner', '--owner=0', '--group=0', '-C', folder, '-cf', archive, '.'])
  return readFileSync(archive)
}

export function writeLayout(
  directory: string,
  tars: readonly Buffer[],
  compression: keyof typeof compressions = 'gzip',
): ImageLayer[] {
  const { compress, mediaType } = compressions[compression]
  const layers = tars.map(compress)
  const config = Buffer.from(
    JSON.stringify({
      architecture: 'amd64',
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: tars.map((tar) => digest(tar)) },
    }),
  )
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: types.image,
      config: descriptor(types.config, config),
      layers: layers.map((layer) => descriptor(mediaType, layer)),
    }),
  )
  const blobs = join(directory, 'blobs', 'sha256')
  mkdirSync(blobs, { recursive: true })
  for (const blob of [...layers, config, manifest])
    writeFileSync(join(blobs, digest(blob).slice('sha256:'.length)), blob)
  const index = {
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [descriptor(types.image, manifest)],
  }
  writeFileSync(join(directory, 'index.json'), JSON.stringify(index))
  writeFileSync(join(directory, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  return layers.map((layer) => layerOfBytes(layer, mediaType))
}

/** Runs a program; fails with what it printed. Returns its standard output. */
export function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1024 ** 3,
    ...options,
    env: { ...process.env, ...options.env },
  })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr.slice(-2000)}`)
  return stdout
}
