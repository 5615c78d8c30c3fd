import { Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { ReadBudget } from './read-budget.ts'
import { splitZstdFrames } from './zstd-frames.ts'

/** Unpacks a layer by what its content says: media types are sometimes wrong, and gzip is used where `tar` is declared. */
export async function* unpackLayer(
  packed: AsyncIterable<Uint8Array>,
  budget: ReadBudget,
): AsyncGenerator<Uint8Array> {
  const { head, all } = await peek(packed[Symbol.asyncIterator]())
  for await (const chunk of decompressed(head, all)) {
    budget.addUnpacked(chunk.byteLength)
    yield chunk
  }
}

const HEAD_BYTES = 4
const GZIP_MAGIC = '1f8b'
/** Of a frame with data, or of one to skip, with which parallel compressors start. */
const ZSTD_MAGIC = /^(?:28b52ffd|5[0-9a-f]2a4d18)$/

function decompressed(head: Buffer, all: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const magic = head.toString('hex')
  if (magic.startsWith(GZIP_MAGIC)) return throughStream(all, createGunzip())
  return ZSTD_MAGIC.test(magic) ? throughStream(splitZstdFrames(all), createZstdDecompress()) : all
}

async function* throughStream(
  packed: AsyncIterable<Uint8Array>,
  transform: ReturnType<typeof createGunzip | typeof createZstdDecompress>,
): AsyncGenerator<Uint8Array> {
  const source = Readable.from(packed, { objectMode: false })
  source.on('error', (error) => transform.destroy(error))
  try {
    yield* source.pipe(transform) as AsyncIterable<Uint8Array>
  } finally {
    source.destroy()
    transform.destroy()
  }
}

async function peek(iterator: AsyncIterator<Uint8Array>) {
  let head = Buffer.alloc(0)
  while (head.length < HEAD_BYTES) {
    const { done, value } = await iterator.next()
    if (done === true) break
    head = Buffer.concat([head, value])
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (head.length > 0) yield head
      for (;;) {
        const { done, value } = await iterator.next()
        if (done === true) return
        yield value
      }
    } finally {
      await iterator.return?.()
    }
  }
  return { head: head.subarray(0, HEAD_BYTES), all: all() }
}
