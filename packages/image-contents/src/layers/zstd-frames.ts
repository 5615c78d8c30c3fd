const SKIPPABLE_MAGIC = 0x184d2a50
const FRAME_MAGIC = 0xfd2fb528
const CHECKSUM_BYTES = 4
const RLE_BLOCK = 1
const RESERVED_BLOCK = 3

type Part = 'magic' | 'skipped-size' | 'descriptor' | 'block'

const partBytes: Readonly<Record<Part, number>> = { magic: 4, 'skipped-size': 4, descriptor: 1, block: 3 }

/**
 * Cuts a stream of zstd (RFC 8878) so that no chunk has bytes of two frames. The decompressor of Node ignores what follows a frame in the
 * same chunk; `zstd:chunked` layers have a frame for each file. Bytes that are no frame are returned as they are.
 */
export async function* splitZstdFrames(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let part: Part = 'magic'
  /** The part so far, which may be in two chunks. */
  let value = 0
  let known = 0
  /** Bytes of the frame before the next part. */
  let left = 0
  let hasChecksum = false

  /** Reads a part that is complete, and returns whether the frame ends with the bytes that are left. */
  const next = (): boolean => {
    switch (part) {
      case 'magic':
        if (value >>> 4 === SKIPPABLE_MAGIC >>> 4) part = 'skipped-size'
        else if (value === FRAME_MAGIC) part = 'descriptor'
        else left = Number.POSITIVE_INFINITY
        return false
      case 'skipped-size':
        left = value
        part = 'magic'
        return true
      case 'descriptor': {
        const isSingleSegment = (value & 0x20) !== 0
        const contentSize = [isSingleSegment ? 1 : 0, 2, 4, 8][value >>> 6] ?? 0
        const dictionary = [0, 1, 2, 4][value & 3] ?? 0
        hasChecksum = (value & 4) !== 0
        left = (isSingleSegment ? 0 : 1) + dictionary + contentSize
        part = 'block'
        return false
      }
      case 'block': {
        const type = (value >>> 1) & 3
        const isLast = (value & 1) !== 0
        left = type === RLE_BLOCK ? 1 : value >>> 3
        if (type === RESERVED_BLOCK) left = Number.POSITIVE_INFINITY
        if (!isLast) return false
        if (hasChecksum) left += CHECKSUM_BYTES
        part = 'magic'
        return true
      }
    }
  }

  let isEnding = false
  for await (const chunk of packed) {
    let start = 0
    for (let at = 0; at < chunk.length; ) {
      if (left > 0) {
        const step = Math.min(left, chunk.length - at)
        at += step
        left -= step
      } else {
        value += (chunk[at] ?? 0) * 2 ** (8 * known)
        at++
        known++
        if (known < partBytes[part]) continue
        isEnding = next()
        value = 0
        known = 0
      }
      if (left > 0 || !isEnding) continue
      isEnding = false
      yield chunk.subarray(start, at)
      start = at
    }
    if (start < chunk.length) yield chunk.subarray(start)
  }
}
