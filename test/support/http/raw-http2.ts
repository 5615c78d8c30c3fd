import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** An HTTP/2 client whose frames are made by hand (RFC 9113, section 4.1). */
export interface RawHttp2 {
  readonly socket: Socket
  /** Frames that arrived, by type, without their headers. */
  readonly frames: { readonly type: number; readonly flags: number; readonly stream: number }[]
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>
  readonly isClosed: () => boolean
}

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const END_STREAM = 1
export const END_HEADERS = 4

/** `length`: what the frame claims to have. */
export function rawFrame(
  type: keyof typeof frameTypes,
  flags: number,
  stream: number,
  payload: Uint8Array = new Uint8Array(),
  length = payload.length,
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(length, 0, 3)
  head[3] = frameTypes[type]
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A field that is neither indexed nor packed (RFC 7541, section 6.2.2); name and value of up to 126 bytes. */
export function rawField(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ])
}

/** `GET / http://a`, by the static table. */
export const getRoot = Buffer.from([0x82, 0x86, 0x84, 0x41, 1, 0x61])
/** `POST / http://a`. */
export const postRoot = Buffer.from([0x83, 0x86, 0x84, 0x41, 1, 0x61])

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Connects, and sends the preface and `settings`. */
export async function rawHttp2(
  t: TestContext,
  port: number,
  settings: Uint8Array = new Uint8Array(),
): Promise<RawHttp2> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  t.after(() => socket.destroy())
  socket.on('error', () => undefined)
  const frames: { type: number; flags: number; stream: number }[] = []
  let rest = Buffer.alloc(0)
  let over = false
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      frames.push({ type: rest[3] as number, flags: rest[4] as number, stream: rest.readUInt32BE(5) })
      rest = rest.subarray(9 + rest.readUIntBE(0, 3))
    }
  })
  const closed = new Promise<void>((resolve) =>
    socket.on('close', () => {
      over = true
      resolve()
    }),
  )
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), rawFrame('settings', 0, 0, settings)]),
  )
  return { socket, frames, closed, isClosed: () => over }
}
