import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { descriptor, digest, types } from './registry.ts'

/** Writes an OCI layout with an image that can be unpacked. */
export async function layoutWithImage(directory: string, tag: string) {
  const tar = pack()
  tar.entry({ name: 'hello.txt' }, `hello from ${directory}\n`)
  tar.finalize()
  const parts: Buffer[] = []
  for await (const part of tar) parts.push(part as Buffer)
  const unpacked = Buffer.concat(parts)
  const layer = gzipSync(unpacked)
  const config = Buffer.from(
    JSON.stringify({
      ...{ architecture: 'amd64', os: 'linux', created: '2026-01-01T00:00:00Z' },
      config: { Cmd: ['/hello'] },
      rootfs: { type: 'layers', diff_ids: [digest(unpacked)] },
    }),
  )
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: types.image,
      config: descriptor(types.config, config),
      layers: [descriptor(types.layer, layer)],
    }),
  )
  const blobs = join(directory, 'blobs', 'sha256')
  mkdirSync(blobs, { recursive: true })
  for (const blob of [layer, config, manifest])
    writeFileSync(join(blobs, digest(blob).slice('sha256:'.length)), blob)
  const annotations = { 'org.opencontainers.image.ref.name': tag }
  const index = {
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [descriptor(types.image, manifest, { annotations })],
  }
  writeFileSync(join(directory, 'index.json'), JSON.stringify(index))
  writeFileSync(join(directory, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  return { directory, digest: digest(manifest) }
}
