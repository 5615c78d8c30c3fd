import { createHash } from 'node:crypto'
import { type ReadLayersOptions, readLayers } from '@berth/image-contents/layers/read-layers.ts'
import { type Header, pack } from 'tar-stream'

/** Layers of images for tests. */

export interface TestEntry extends Partial<Header> {
  readonly name: string
  readonly content?: Buffer | string
}

export async function tarOf(entries: Iterable<TestEntry>): Promise<Buffer> {
  const archive = pack()
  const chunks: Buffer[] = []
  const read = (async () => {
    for await (const chunk of archive) chunks.push(chunk as Buffer)
  })()
  for (const { content = '', ...header } of entries)
    await new Promise<void>((resolve, reject) => {
      archive.entry(header, content, (error) => (error ? reject(error) : resolve()))
    })
  archive.finalize()
  await read
  return Buffer.concat(chunks)
}

/** Files by their paths. */
export function filesOf(files: Readonly<Record<string, Buffer | string>>): TestEntry[] {
  return Object.entries(files).map(([name, content]) => ({ name, content }))
}

const CHUNK_BYTES = 64 * 1024

export function layerOfBytes(bytes: Buffer, mediaType = 'application/vnd.oci.image.layer.v1.tar') {
  return {
    digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    mediaType,
    async *open() {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
    },
  }
}

/** Reads an image whose layers have these entries, from the base up. */
export async function readImage(layers: readonly (readonly TestEntry[])[], options?: ReadLayersOptions) {
  return readLayers(
    await Promise.all(layers.map(async (entries) => layerOfBytes(await tarOf(entries)))),
    options,
  )
}
