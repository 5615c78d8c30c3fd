import { errorCodes, frameFlags, STREAM_ID_LARGEST } from './frames.ts'

/** What a client may not do, and how the server calls it (RFC 9113, section 7). */

/** The client broke the protocol in a way that ends the connection (section 5.4.1). */
export class ConnectionError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export function protocolError(message: string): ConnectionError {
  return new ConnectionError(errorCodes.protocolError, message)
}

export function frameSizeError(message: string): ConnectionError {
  return new ConnectionError(errorCodes.frameSizeError, message)
}

export function flowControlError(): ConnectionError {
  return new ConnectionError(errorCodes.flowControlError, 'a window was exceeded')
}

/** Beyond a limit of the server. */
export function tooMuch(message: string): ConnectionError {
  return new ConnectionError(errorCodes.enhanceYourCalm, message)
}

export function requireStream(streamId: number): void {
  if (streamId === 0) throw protocolError('a frame of a stream names no stream')
}

export function requireConnection(streamId: number): void {
  if (streamId !== 0) throw protocolError('a frame of the connection names a stream')
}

export function requireLength(payload: Buffer, length: number): void {
  if (payload.length !== length)
    throw frameSizeError(`a frame has ${payload.length} bytes instead of ${length}`)
}

/** RFC 7540, section 5.3.1: no stream depends on itself. */
export function requireOtherStream(streamId: number, priority: Buffer): void {
  if ((priority.readUInt32BE(0) & STREAM_ID_LARGEST) === streamId)
    throw protocolError('a stream depends on itself')
}

/** The payload of DATA or HEADERS without its padding. */
export function withoutPadding(flags: number, payload: Buffer): Buffer {
  if ((flags & frameFlags.padded) === 0) return payload
  if (payload.length === 0) throw frameSizeError('a padded frame is empty')
  const padding = payload[0] as number
  if (padding >= payload.length) throw protocolError('a frame has more padding than bytes')
  return payload.subarray(1, payload.length - padding)
}
