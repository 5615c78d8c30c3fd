import type { Hash } from 'node:crypto'
import type { OciContext } from '../context.ts'
import { ociError } from '../errors.ts'

/** The bytes of a request that writes an upload: their declared range and length, and transformations of their stream. */

/** Returns the range of a chunk, if declared. Throws BLOB_UPLOAD_INVALID for a malformed range. */
export function parseChunkRange({
  request,
}: OciContext): { readonly start: number; readonly length: number } | undefined {
  const range = request.headers['content-range']
  if (range === undefined) return undefined
  const [, from, to] = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/\S*)?$/.exec(range) ?? []
  if (from === undefined || Number(to) < Number(from))
    throw ociError('BLOB_UPLOAD_INVALID', 'Content-Range must be <first byte>-<last byte>')
  return { start: Number(from), length: Number(to) - Number(from) + 1 }
}

/** Ends the stream when it fails, and remembers the error: the bytes that arrived before are kept. */
export function captureFailure(bytes: AsyncIterable<Uint8Array>): {
  readonly bytes: AsyncIterable<Uint8Array>
  failure(): unknown
} {
  let failure: unknown
  async function* read() {
    try {
      yield* bytes
    } catch (error) {
      failure = error
    }
  }
  return { bytes: read(), failure: () => failure }
}

export async function* hashBytes(bytes: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
}

/** Throws SIZE_INVALID if the request had more or fewer bytes than declared. */
export function requireLength(context: OciContext, bytes: number): void {
  for (const declared of [context.request.headers['content-length'], parseChunkRange(context)?.length])
    if (declared !== undefined && Number(declared) !== bytes)
      throw ociError('SIZE_INVALID', `received ${bytes} bytes instead of ${declared}`)
}

export async function* countBytes(
  bytes: AsyncIterable<Uint8Array>,
  count: { bytes: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    count.bytes += chunk.length
    yield chunk
  }
}

/** Skips bytes that are already stored; the digest of the whole shows whether they were the same. */
export async function* skipBytes(bytes: AsyncIterable<Uint8Array>, skip: number): AsyncGenerator<Uint8Array> {
  let left = skip
  for await (const chunk of bytes) {
    const rest = chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
    if (rest.length > 0) yield rest
  }
}
