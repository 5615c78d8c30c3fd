import { FRAME_BYTES_DEFAULT, FRAME_HEAD_BYTES, frameFlags, frameTypes, writeFrameHead } from './frames.ts'
import { headerBlockBytesMax, writeHeaderBlock } from './hpack/encoder.ts'

/** Longer payloads are sent as they are, next to their heads; shorter ones are copied, which is cheaper. */
const COPIED_BYTES_MAX = 4096
const SCRATCH_BYTES = 64 * 1024

/** Shared: frames are written and taken without interruption. */
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

interface HeaderOptions {
  /** What the client reads, at most. */
  readonly frameBytesMax: number
  /** Whether the block starts with the size of the dynamic table. */
  readonly mustSayTableSize: boolean
}

/** RFC 7541, section 6.3: an encoder that uses no dynamic table says so, first and after each change of the limit. */
const TABLE_SIZE_ZERO = 0x20

function writeBlock(fields: readonly string[], out: Buffer, at: number, mustSayTableSize: boolean): number {
  if (!mustSayTableSize) return writeHeaderBlock(fields, out, at)
  out[at] = TABLE_SIZE_ZERO
  return writeHeaderBlock(fields, out, at + 1)
}

/** Collects the frames that a connection sends together. Only one is in use at a time. */
export class FrameWriter {
  /** Of all frames. */
  bytes = 0
  #parts: Uint8Array[] = []
  /** Bytes of `scratch` in use. */
  #used = 0

  /** Adds a frame that is encoded already. */
  add(frame: Uint8Array): void {
    this.#makeRoom(frame.length)
    scratch.set(frame, this.#used)
    this.#advance(frame.length)
  }

  /** Adds a HEADERS frame, and CONTINUATION frames if the block is longer than a frame. */
  addHeaders(
    streamId: number,
    fields: readonly string[],
    endStream: boolean,
    { frameBytesMax, mustSayTableSize }: HeaderOptions,
  ): void {
    const flags = endStream ? frameFlags.endStream : 0
    const bytesMax = headerBlockBytesMax(fields) + 1
    if (bytesMax > FRAME_BYTES_DEFAULT) {
      const block = Buffer.allocUnsafe(bytesMax)
      const end = writeBlock(fields, block, 0, mustSayTableSize)
      this.#addLongBlock(streamId, block.subarray(0, end), flags, frameBytesMax)
      return
    }
    this.#makeRoom(FRAME_HEAD_BYTES + bytesMax)
    const start = this.#used
    const end = writeBlock(fields, scratch, start + FRAME_HEAD_BYTES, mustSayTableSize)
    const payloadBytes = end - start - FRAME_HEAD_BYTES
    writeFrameHead(scratch, start, payloadBytes, frameTypes.headers, flags | frameFlags.endHeaders, streamId)
    this.#advance(end - start)
  }

  /** Adds a DATA frame. */
  addData(streamId: number, payload: Uint8Array, endStream: boolean): void {
    const { length } = payload
    const isCopied = length <= COPIED_BYTES_MAX
    this.#makeRoom(FRAME_HEAD_BYTES + (isCopied ? length : 0))
    const flags = endStream ? frameFlags.endStream : 0
    const at = writeFrameHead(scratch, this.#used, length, frameTypes.data, flags, streamId)
    if (isCopied) {
      scratch.set(payload, at)
      this.#advance(FRAME_HEAD_BYTES + length)
      return
    }
    this.#advance(FRAME_HEAD_BYTES)
    this.#seal()
    this.#parts.push(payload)
    this.bytes += length
  }

  /** Returns everything that was added, and starts again. */
  take(): Uint8Array[] {
    this.#seal()
    const parts = this.#parts
    this.#parts = []
    this.bytes = 0
    return parts
  }

  #addLongBlock(streamId: number, block: Uint8Array, flags: number, frameBytesMax: number): void {
    for (let at = 0; at < block.length; at += frameBytesMax) {
      const payload = block.subarray(at, at + frameBytesMax)
      const isLast = at + payload.length === block.length
      const type = at === 0 ? frameTypes.headers : frameTypes.continuation
      const ownFlags = (at === 0 ? flags : 0) | (isLast ? frameFlags.endHeaders : 0)
      const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length)
      frame.set(payload, writeFrameHead(frame, 0, payload.length, type, ownFlags, streamId))
      this.#seal()
      this.#parts.push(frame)
      this.bytes += frame.length
    }
  }

  #makeRoom(bytes: number): void {
    if (this.#used + bytes > SCRATCH_BYTES) this.#seal()
  }

  #advance(bytes: number): void {
    this.#used += bytes
    this.bytes += bytes
  }

  /** Copies what is in `scratch`. */
  #seal(): void {
    if (this.#used === 0) return
    const part = Buffer.allocUnsafe(this.#used)
    scratch.copy(part, 0, 0, this.#used)
    this.#parts.push(part)
    this.#used = 0
  }
}
