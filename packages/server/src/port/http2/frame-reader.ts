import { ByteCollector } from '../../runtime/byte-collector.ts'
import {
  FRAME_BYTES_DEFAULT,
  FRAME_HEAD_BYTES,
  frameFlags,
  frameTypes,
  preface,
  STREAM_ID_LARGEST,
} from './frames.ts'
import { frameSizeError, protocolError } from './violations.ts'

/** Returns whether to read on. */
export type OnFrame = (type: number, flags: number, streamId: number, payload: Buffer) => boolean

/**
 * Cuts what a client sends into frames: the preface first, then frames of at most `FRAME_BYTES_DEFAULT`. A long body is not copied: of DATA
 * without padding, the part that has arrived is a frame, and so is the rest.
 */
export class FrameReader {
  readonly #onFrame: OnFrame
  /** The start of a frame. */
  readonly #partial = new ByteCollector()
  /** Bytes without which there is nothing new to learn. */
  #needed = preface.length
  #hasPreface = false
  #isStopped = false
  /** Bytes of a DATA frame that are still to come, its flags and its stream. */
  #dataBytes = 0
  #dataFlags = 0
  #dataStreamId = 0

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame
  }

  /** Takes the next bytes. Throws ConnectionError, and what `onFrame` throws; it must not be used again then. */
  push(chunk: Buffer): void {
    let rest = chunk
    while (this.#partial.length > 0) {
      // Only the frame that has started is put together.
      const missing = this.#needed - this.#partial.length
      this.#partial.push(rest.subarray(0, missing))
      if (rest.length < missing) return
      rest = rest.subarray(missing)
      const started = this.#partial.take()
      const at = this.#readFrames(started)
      if (this.#isStopped) return
      if (at < started.length) this.#partial.push(started.subarray(at))
    }
    const at = this.#readFrames(rest)
    if (at < rest.length) this.#partial.push(rest.subarray(at))
  }

  /** Reads what is complete; returns where the first incomplete frame starts. */
  #readFrames(bytes: Buffer): number {
    let at = 0
    if (!this.#hasPreface) {
      if (bytes.length < preface.length) return 0
      if (bytes.compare(preface, 0, preface.length, 0, preface.length) !== 0)
        throw protocolError('the preface is not that of HTTP/2')
      this.#hasPreface = true
      at = preface.length
    }
    for (;;) {
      if (this.#dataBytes > 0) {
        const end = Math.min(at + this.#dataBytes, bytes.length)
        if (end === at) return at
        this.#readData(bytes.subarray(at, end))
        if (this.#isStopped) return bytes.length
        at = end
        continue
      }
      this.#needed = FRAME_HEAD_BYTES
      if (bytes.length - at < FRAME_HEAD_BYTES) return at
      const length = bytes.readUInt32BE(at) >>> 8
      if (length > FRAME_BYTES_DEFAULT)
        throw frameSizeError(`a frame has ${length} bytes, more than ${FRAME_BYTES_DEFAULT}`)
      const type = bytes[at + 3] as number
      const flags = bytes[at + 4] as number
      const streamId = bytes.readUInt32BE(at + 5) & STREAM_ID_LARGEST
      const start = at + FRAME_HEAD_BYTES
      if (type === frameTypes.data && (flags & frameFlags.padded) === 0 && length > 0) {
        this.#dataBytes = length
        this.#dataFlags = flags
        this.#dataStreamId = streamId
        at = start
        continue
      }
      this.#needed += length
      const end = start + length
      if (bytes.length < end) return at
      this.#isStopped = !this.#onFrame(type, flags, streamId, bytes.subarray(start, end))
      if (this.#isStopped) return bytes.length
      at = end
    }
  }

  #readData(part: Buffer): void {
    this.#dataBytes -= part.length
    const flags = this.#dataBytes === 0 ? this.#dataFlags : this.#dataFlags & ~frameFlags.endStream
    this.#isStopped = !this.#onFrame(frameTypes.data, flags, this.#dataStreamId, part)
  }
}
