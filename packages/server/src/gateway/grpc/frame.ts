/**
 * The wire format of gRPC over HTTP/2, as far as it is pure: length-prefixed messages, deadlines, percent-encoding.
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

import { ByteCollector, detach } from '../../runtime/byte-collector.ts'

const prefixBytes = 5

export interface Frame {
  readonly compressed: boolean
  readonly payload: Uint8Array
}

/** Why a frame was refused: longer than allowed, or a first byte other than 0 or 1. */
export type FrameFault = 'too-large' | 'bad-flag'

export interface FrameReader {
  /** Takes the next bytes; returns the frames they complete, or the fault, after which it must not be used again. */
  push(chunk: Buffer): readonly Frame[] | FrameFault
  /** Returns whether a frame has started and not ended. */
  isMidFrame(): boolean
}

/**
 * Cuts a stream of bytes into frames of at most `payloadBytesMax`. A frame that says it is longer is refused as soon
 * as its prefix is there; nothing of it is kept.
 */
export function createFrameReader(payloadBytesMax: number): FrameReader {
  const pending = new ByteCollector()
  /** Bytes without which there is nothing new to learn. */
  let wanted = prefixBytes
  return {
    push(chunk) {
      // Nearly every message arrives whole, in one piece.
      let rest = chunk
      if (pending.length > 0 || chunk.length < prefixBytes) {
        pending.push(chunk)
        if (pending.length < wanted) return []
        rest = pending.take()
      }
      const frames: Frame[] = []
      wanted = prefixBytes
      while (rest.length >= prefixBytes) {
        const flag = rest[0]
        if (flag !== 0 && flag !== 1) return 'bad-flag'
        const length = rest.readUInt32BE(1)
        if (length > payloadBytesMax) return 'too-large'
        const end = prefixBytes + length
        if (rest.length < end) {
          wanted = end
          break
        }
        frames.push({ compressed: flag === 1, payload: detach(rest.subarray(prefixBytes, end)) })
        rest = rest.subarray(end)
      }
      if (rest.length > 0) pending.push(rest)
      return frames
    },
    isMidFrame: () => pending.length > 0,
  }
}

/** One length-prefixed message, ready to be written. */
export function encodeFrame(payload: Uint8Array, compressed: boolean): Buffer {
  const bytes = Buffer.allocUnsafe(prefixBytes + payload.length)
  bytes[0] = compressed ? 1 : 0
  bytes.writeUInt32BE(payload.length, 1)
  bytes.set(payload, prefixBytes)
  return bytes
}

const unitMs: Readonly<Record<string, number | undefined>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
}

/** `grpc-timeout` in milliseconds, possibly a fraction; undefined when it is not well-formed. */
export function parseTimeoutMs(header: string): number | undefined {
  const unit = unitMs[header.slice(-1)]
  const digits = header.slice(0, -1)
  if (unit === undefined || !/^[0-9]{1,8}$/.test(digits)) return undefined
  return Number(digits) * unit
}

/** `grpc-message`: every byte of the UTF-8 text outside of printable ASCII, and `%`, becomes `%XX`. */
export function percentEncode(text: string): string {
  if (/^[ -$&-~]*$/.test(text)) return text
  let encoded = ''
  for (const byte of Buffer.from(text)) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    encoded += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return encoded
}

/**
 * The proto spelling of a JSON field path: `claimMatch.issuer` becomes `claim_match.issuer`. What stands in brackets,
 * an index or the key of a map, stays as it is.
 */
export function protoFieldPath(path: string): string {
  return path.replace(/\[[^\]]*\]|[A-Z]/g, (part) => (part.startsWith('[') ? part : `_${part.toLowerCase()}`))
}
