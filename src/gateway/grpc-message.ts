import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import {
  type DescMessage,
  type DescMethod,
  fromBinary,
  getOption,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import { http } from '#gen/google/api/annotations_pb.js'
import { ApiError, Code, invalidArgument, unimplemented } from '../core/errors.ts'
import { NUL_REFUSAL, nulIn } from '../core/nul.ts'
import { type Frame, type FrameFault, frame } from './grpc-frame.ts'

/** From frames to messages and back, with what can be wrong about them. */

const unzip = promisify(gunzip)
const zip = promisify(gzip)

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
export function faultError(fault: FrameFault, bytesMax: number): ApiError {
  if (fault === 'too-large') return tooLarge(bytesMax)
  return protocolError('a message begins with neither 0 nor 1')
}

/** INTERNAL, as gRPC has it for bytes that break its protocol; there is nothing to log. */
export function protocolError(description: string): ApiError {
  return new ApiError(Code.INTERNAL, `Protocol error: ${description}`, { reason: 'PROTOCOL_ERROR' })
}

function tooLarge(bytesMax: number): ApiError {
  return new ApiError(
    Code.RESOURCE_EXHAUSTED,
    `Resource exhausted: the message is larger than ${bytesMax} bytes`,
    {
      reason: 'MESSAGE_TOO_LARGE',
    },
  )
}

/**
 * The message in a frame that is not compressed. Throws INTERNAL when it cannot be decoded, and code 3 when a text in it has
 * U+0000.
 */
export function decode(method: DescMethod, bytes: Uint8Array): Message {
  const message = decodeAny(method.input, bytes)
  // Numbers and lengths have such bytes as well, but few messages have any.
  if (bytes.includes(0)) refuseNul(method, message)
  return message
}

function decodeAny(desc: DescMessage, bytes: Uint8Array): Message {
  try {
    return fromBinary(desc, bytes)
  } catch {
    throw protocolError(`the message is no ${desc.typeName}`)
  }
}

/** What is wrong with a resource is named from the resource on, as handlers do; it is the body of REST. */
function refuseNul(method: DescMethod, message: Message): void {
  const path = nulIn(method.input, message)
  if (path === undefined) return
  const resource = `${getOption(method, http).body}.`
  throw invalidArgument(path.startsWith(resource) ? path.slice(resource.length) : path, NUL_REFUSAL)
}

/**
 * The message in a compressed frame, as above. Rejects also with INTERNAL when the call did not name an encoding or the bytes are not
 * gzip, and with RESOURCE_EXHAUSTED when they unpack to more than `bytesMax`.
 */
export async function decodeCompressed(
  method: DescMethod,
  { payload }: Frame,
  encoding: 'identity' | 'gzip',
  bytesMax: number,
): Promise<Message> {
  if (encoding === 'identity') throw protocolError('a compressed message without grpc-encoding')
  const bytes = await unzip(payload, { maxOutputLength: bytesMax }).catch(
    (failure: NodeJS.ErrnoException) => {
      throw failure.code === 'ERR_BUFFER_TOO_LARGE'
        ? tooLarge(bytesMax)
        : protocolError('the message is not gzip')
    },
  )
  return decode(method, bytes)
}

/** A frame that is not compressed. */
export function encode(desc: DescMessage, message: Message): Buffer {
  return frame(toBinary(desc, message), false)
}

/** A frame packed with gzip; `bytes` is the encoded message. The fastest level: the wire is rarely the bottleneck. */
export async function gzipFrame(bytes: Uint8Array): Promise<Buffer> {
  return frame(await zip(bytes, { level: 1 }), true)
}
