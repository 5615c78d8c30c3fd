import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import { findNul } from '@berth/contract/find-nul.ts'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { NUL_VIOLATION } from '@berth/contract/nul.ts'
import { getOption } from '@berth/contract/options.ts'
import { type DescMessage, type DescMethod, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import { ApiError, Code, invalidArgument, unimplemented } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import type { BufferedBody } from '../../port/bodies/body-budget.ts'
import { messageTooLarge } from '../../port/transport-errors.ts'
import { encodeFrame, type Frame, type FrameFault } from './frame.ts'
import { scanWire } from './wire-scan.ts'

/** From frames to messages and back, with what can be wrong about them. */

const gzipAsync = promisify(gzip)

/** How the messages of one request are encoded. Throws UNIMPLEMENTED for an encoding that is not understood. */
export function requestEncoding(header: string | string[] | undefined): 'identity' | 'gzip' {
  if (header === undefined || header === 'identity') return 'identity'
  if (header === 'gzip') return 'gzip'
  throw unimplemented(`the encoding ${String(header)} is not understood`)
}

/** Whether the client takes gzip in reply. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  return typeof header === 'string' && header.split(',').some((encoding) => encoding.trim() === 'gzip')
}

/** The error for a frame that was refused. */
export function frameError(fault: FrameFault, bytesMax: number): ApiError {
  if (fault === 'too-large') return tooLarge(bytesMax)
  return protocolError('a message starts with neither 0 nor 1')
}

/** INTERNAL, as gRPC has it for bytes that break its protocol; there is nothing to log. */
export function protocolError(description: string): ApiError {
  return new ApiError(Code.INTERNAL, `Protocol error: ${description}`, { reason: 'PROTOCOL_ERROR' })
}

function tooLarge(bytesMax: number): ApiError {
  return messageTooLarge(`the message is larger than ${bytesMax} bytes`)
}

/**
 * Decodes the message in a frame that is not compressed. Throws INTERNAL if it is malformed, and code 3 if it has too many levels or
 * values, or a text with U+0000.
 */
export function decodeMessage(method: DescMethod, bytes: Uint8Array): Message {
  const message = decodeChecked(method.input, bytes)
  // Numbers and lengths have such bytes as well, but few messages have any.
  if (bytes.includes(0)) rejectNul(method, message)
  return message
}

const wireLimits = { depthMax: limits.protobufDepthMax, elementsMax: limits.protobufElementsMax }

function decodeChecked(desc: DescMessage, bytes: Uint8Array): Message {
  switch (scanWire(desc, bytes, wireLimits)) {
    case 'depthMax':
      throw messageTooLarge(`the message is nested more than ${wireLimits.depthMax} levels deep`)
    case 'elementsMax':
      throw messageTooLarge(`the message has more than ${wireLimits.elementsMax} fields and values`)
    case 'malformed':
      throw malformed(desc)
  }
  try {
    return fromBinary(desc, bytes)
  } catch {
    // Texts that are not UTF-8.
    throw malformed(desc)
  }
}

function malformed({ typeName }: DescMessage): ApiError {
  return protocolError(`the message is no ${typeName}`)
}

/** What is wrong with a resource is named from the resource on, as handlers do; it is the body of REST. */
function rejectNul(method: DescMethod, message: Message): void {
  const path = findNul(method.input, message)
  if (path === undefined) return
  const resource = `${getOption(method, http).body}.`
  throw invalidArgument(path.startsWith(resource) ? path.slice(resource.length) : path, NUL_VIOLATION)
}

/**
 * Decodes the message in a compressed frame, as above. Unpacking stops at `bytesMax`. Rejects also with INTERNAL if the call did not name
 * an encoding or the bytes are not gzip, with code 3 if they unpack to more, and as `buffered.grow`, which counts what they unpack to.
 */
export async function decodeCompressed(
  method: DescMethod,
  { payload }: Frame,
  encoding: 'identity' | 'gzip',
  bytesMax: number,
  buffered?: BufferedBody,
): Promise<Message> {
  if (encoding === 'identity') throw protocolError('a compressed message without grpc-encoding')
  const bytes = await decompress(payload, bytesMax, buffered)
  return decodeMessage(method, bytes)
}

async function decompress(payload: Uint8Array, bytesMax: number, buffered: BufferedBody | undefined) {
  const unpacking = createGunzip()
  const pieces: Buffer[] = []
  let size = 0
  try {
    unpacking.end(payload)
    for await (const piece of unpacking as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > bytesMax) throw tooLarge(bytesMax)
      buffered?.grow(piece.length)
      pieces.push(piece)
    }
  } catch (failure) {
    throw failure instanceof ApiError ? failure : protocolError('the message is not gzip')
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

/** A frame that is not compressed. */
export function encodeMessage(desc: DescMessage, message: Message): Buffer {
  return encodeFrame(toBinary(desc, message), false)
}

/** A frame packed with gzip; `bytes` is the encoded message. The fastest level: the wire is rarely the bottleneck. */
export async function gzipFrame(bytes: Uint8Array): Promise<Buffer> {
  return encodeFrame(await gzipAsync(bytes, { level: 1 }), true)
}
