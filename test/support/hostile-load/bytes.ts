import { gzipSync } from 'node:zlib'
import { type frameTypes, rawFrame } from '../http/raw-http2.ts'
import type { Body } from './hostile-case.ts'

/** Bodies that cost a careless server much more than their length. */

export const KIB = 1024
export const MIB = 1024 * KIB

export const textBody =
  (value: string): Body =>
  () =>
    Buffer.from(value)

/** `count` times the same text between two others. */
export const repeatedBody =
  (part: string, count: number, before = '', after = ''): Body =>
  () =>
    Buffer.from(before + part.repeat(count) + after)

/** `item(0)<separator>item(1)…` between two texts. */
export const jsonListBody =
  (count: number, item: (at: number) => string, before = '', after = '', separator = ','): Body =>
  () =>
    Buffer.from(before + Array.from({ length: count }, (_, at) => item(at)).join(separator) + after)

/** `open` and `close` nested around a middle. */
export const nestedBody =
  (open: string, depth: number, close = '', before = '', after = ''): Body =>
  () =>
    Buffer.from(before + open.repeat(depth) + close.repeat(depth) + after)

export const gzippedBody =
  (body: Body): Body =>
  (target) =>
    gzipSync(body(target))

export const concatBodies =
  (...bodies: readonly Body[]): Body =>
  (target) =>
    Buffer.concat(bodies.map((body) => body(target)))

/** The same bytes again and again, up to a length. */
export const filledBody =
  (bytes: readonly number[], length: number): Body =>
  () =>
    Buffer.alloc(length, Buffer.from(bytes))

// Protobuf on the wire (https://protobuf.dev/programming-guides/encoding/).

export function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest > 127) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...bytes, rest])
}

/** A field of bytes, text or a message. */
export const field =
  (number: number, content: Body): Body =>
  (target) => {
    const bytes = content(target)
    return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
  }

export const times =
  (count: number, part: Body): Body =>
  (target) => {
    const bytes = part(target)
    return Buffer.alloc(bytes.length * count, bytes)
  }

/** A message in a message in a message, each in the same field. */
export const nestedFields =
  (number: number, depth: number): Body =>
  () => {
    let bytes: Buffer = Buffer.alloc(0)
    const parts: Buffer[] = []
    let length = 0
    for (let at = 0; at < depth; at++) {
      bytes = Buffer.concat([varint(number * 8 + 2), varint(length)])
      parts.push(bytes)
      length += bytes.length
    }
    return Buffer.concat(parts.reverse())
  }

/** A message with the length prefix of gRPC. `length`: the length that the prefix claims. */
export const grpcFrame =
  (message: Body, { compressed = false, length }: { compressed?: boolean; length?: number } = {}): Body =>
  (target) => {
    const bytes = message(target)
    const prefix = Buffer.alloc(5)
    prefix[0] = compressed ? 1 : 0
    prefix.writeUInt32BE(length ?? bytes.length, 1)
    return Buffer.concat([prefix, bytes])
  }

/** JSON Web Token with any header and claims, and a signature of zeros. */
export function jwt(header: string, claims: string): string {
  return [header, claims, '\0'.repeat(64)].map((part) => Buffer.from(part).toString('base64url')).join('.')
}

// HTTP/2 frames (RFC 9113), and headers without compression (RFC 7541, section 6.2.2).

export const flags = { endStream: 1, endHeaders: 4, padded: 8 } as const

/** A frame; `length` is what it claims to have. */
export function h2Frame(
  type: keyof typeof frameTypes,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
  flag = 0,
  length = payload.length,
): Buffer {
  return rawFrame(type, flag, stream, payload, length)
}

export function hpack(
  headers: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
): Buffer {
  const entries = Array.isArray(headers) ? headers : Object.entries(headers)
  return Buffer.concat(
    entries.flatMap(([name, value]) => [Buffer.from([0]), hpackText(name), hpackText(value)]),
  )
}

function hpackText(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  const length =
    bytes.length < 127
      ? Buffer.from([bytes.length])
      : Buffer.concat([Buffer.from([127]), varint(bytes.length - 127)])
  return Buffer.concat([length, bytes])
}

/** The preface of a client and its settings. */
export function h2Preface(settings: readonly (readonly [id: number, value: number])[] = []): Buffer {
  const payload = Buffer.alloc(settings.length * 6)
  settings.forEach(([id, value], at) => {
    payload.writeUInt16BE(id, at * 6)
    payload.writeUInt32BE(value, at * 6 + 2)
  })
  return Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), h2Frame('settings', 0, payload)])
}
