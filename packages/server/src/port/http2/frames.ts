/** Frames of HTTP/2 and their constants (RFC 9113, sections 4, 6 and 7). */

export const FRAME_HEAD_BYTES = 9

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const frameFlags = {
  endStream: 0x1,
  /** Of SETTINGS and PING. */
  ack: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const

export const errorCodes = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const

export const settingIds = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const

/** The payload of a frame, at most, unless SETTINGS say otherwise. */
export const FRAME_BYTES_DEFAULT = 16_384
/** What SETTINGS can allow, at most. */
export const FRAME_BYTES_LARGEST = 2 ** 24 - 1
/** A window for each new stream and for the connection, unless SETTINGS say otherwise. */
export const WINDOW_BYTES_DEFAULT = 65_535
/** No window may be larger. */
export const WINDOW_BYTES_LARGEST = 2 ** 31 - 1
export const STREAM_ID_LARGEST = 2 ** 31 - 1

/** What a client sends first (section 3.4). */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
export const preface = Buffer.from(PREFACE)

/** Writes the head of a frame at `at`; returns where it ends. */
export function writeFrameHead(
  out: Buffer,
  at: number,
  payloadBytes: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  out[at] = payloadBytes >>> 16
  out[at + 1] = payloadBytes >>> 8
  out[at + 2] = payloadBytes
  out[at + 3] = type
  out[at + 4] = flags
  return writeUint32(out, at + 5, streamId)
}

/** Writes an unsigned number of 32 bits at `at`; returns where it ends. */
export function writeUint32(out: Buffer, at: number, value: number): number {
  out[at] = value >>> 24
  out[at + 1] = value >>> 16
  out[at + 2] = value >>> 8
  out[at + 3] = value
  return at + 4
}

/** A frame with a short payload. */
export function encodeControlFrame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length)
  payload.copy(frame, writeFrameHead(frame, 0, payload.length, type, flags, streamId))
  return frame
}

/** A frame whose payload is one number: WINDOW_UPDATE, RST_STREAM. */
export function encodeNumberFrame(type: number, streamId: number, value: number): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + 4)
  writeUint32(frame, writeFrameHead(frame, 0, 4, type, 0, streamId), value)
  return frame
}
