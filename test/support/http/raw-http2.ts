import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A frame that arrived. */
export interface RawFrame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** An HTTP/2 client whose frames are made by hand (RFC 9113, section 4.1). */
export interface RawHttp2 {
  readonly socket: Socket
  /** Frames that arrived. */
  readonly frames: RawFrame[]
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
export const PADDED = 8
export const PRIORITY = 0x20
/** Of SETTINGS and PING. */
export const ACK = 1

/** RFC 9113, section 7. */
export const errorCodes = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  SETTINGS_TIMEOUT: 4,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  CONNECT_ERROR: 10,
  ENHANCE_YOUR_CALM: 11,
} as const

/** RFC 9113, section 6.5.2. */
export const settingIds = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const

export const clientPreface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** `length`: what the frame claims to have. */
export function rawFrame(
  type: keyof typeof frameTypes | number,
  flags: number,
  stream: number,
  payload: Uint8Array = new Uint8Array(),
  length = payload.length,
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(length, 0, 3)
  head[3] = typeof type === 'number' ? type : frameTypes[type]
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

/** The payload of a SETTINGS frame, from ids and values. */
export function rawSettings(...settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length)
  for (const [at, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * at)
    payload.writeUInt32BE(value, 6 * at + 2)
  }
  return payload
}

/** A payload for the flag PADDED. */
export function padded(payload: Uint8Array, padding: number): Buffer {
  return Buffer.concat([Buffer.from([padding]), payload, Buffer.alloc(padding)])
}

/** Connects, and sends the preface and `settings`. */
export async function rawHttp2(
  t: TestContext,
  port: number,
  settings: Uint8Array = new Uint8Array(),
): Promise<RawHttp2> {
  const client = await rawHttp2Connection(t, port)
  client.socket.write(Buffer.concat([clientPreface, rawFrame('settings', 0, 0, settings)]))
  return client
}

/** Connects, and sends nothing. */
export async function rawHttp2Connection(t: TestContext, port: number): Promise<RawHttp2> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  t.after(() => socket.destroy())
  socket.on('error', () => undefined)
  const frames: RawFrame[] = []
  let isOver = false
  socket.on('data', createFrameReader(frames))
  const closed = new Promise<void>((resolve) =>
    socket.on('close', () => {
      isOver = true
      resolve()
    }),
  )
  await new Promise((resolve) => socket.once('connect', resolve))
  return { socket, frames, closed, isClosed: () => isOver }
}

/** Returns a function that adds the frames of the bytes that it receives to a list. */
function createFrameReader(frames: RawFrame[]): (chunk: Buffer) => void {
  let chunks: Buffer[] = []
  let bytes = 0
  let needed = 9
  return (chunk) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes < needed) return
    let rest = Buffer.concat(chunks)
    for (needed = 9; rest.length >= needed; needed = 9) {
      needed += rest.readUIntBE(0, 3)
      if (rest.length < needed) break
      const payload = rest.subarray(9, needed)
      frames.push({
        type: rest[3] as number,
        flags: rest[4] as number,
        stream: rest.readUInt32BE(5),
        payload,
      })
      rest = rest.subarray(needed)
    }
    chunks = [rest]
    bytes = rest.length
  }
}
