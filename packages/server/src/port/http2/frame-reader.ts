import { ByteCollector } from '../../runtime/byte-collector.ts'
import { FRAME_BYTES_DEFAULT, FRAME_HEAD_BYTES, preface, STREAM_ID_LARGEST } from './frames.ts'
import { frameSizeError, protocolError } from './violations.ts'

/** Returns whether to read on. */
export type OnFrame = (type: number, flags: number, streamId: number, payload: Buffer) => boolean

/** Cuts what a client sends into frames: the preface first, then frames of at most `FRAME_BYTES_DEFAULT`. */
export class FrameReader {
  readonly #onFrame: OnFrame
  /** The start of a frame. */
  readonly #partial = new ByteCollector()
  /** Bytes without which there is nothing new to learn. */
  #needed = preface.length
  #hasPreface = false

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame
  }

  /** Takes the next bytes. Throws ConnectionError, and what `onFrame` throws; it must not be used again then. */
  push(chunk: Buffer): void {
    let bytes = chunk
    if (this.#partial.length > 0) {
      this.#partial.push(chunk)
      if (this.#partial.length < this.#needed) return
      bytes = this.#partial.take()
    }
    const at = this.#readFrames(bytes)
    if (at < bytes.length) this.#partial.push(bytes.subarray(at))
  }

  /** Reads whole frames; returns where the first incomplete one starts. */
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
      this.#needed = FRAME_HEAD_BYTES
      if (bytes.length - at < FRAME_HEAD_BYTES) return at
      const length = bytes.readUInt32BE(at) >>> 8
      if (length > FRAME_BYTES_DEFAULT)
        throw frameSizeError(`a frame has ${length} bytes, more than ${FRAME_BYTES_DEFAULT}`)
      this.#needed = FRAME_HEAD_BYTES + length
      const start = at + FRAME_HEAD_BYTES
      const end = start + length
      if (bytes.length < end) return at
      const streamId = bytes.readUInt32BE(at + 5) & STREAM_ID_LARGEST
      const readsOn = this.#onFrame(
        bytes[at + 3] as number,
        bytes[at + 4] as number,
        streamId,
        bytes.subarray(start, end),
      )
      if (!readsOn) return bytes.length
      at = end
    }
  }
}
