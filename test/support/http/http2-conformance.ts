import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { HttpHandler } from '@berth/server/port/http.ts'
import { HpackDecoder } from '@berth/server/port/http2/hpack/decoder.ts'
import type { ListenOptions } from '@berth/server/port/listen.ts'
import { eventually } from '../eventually.ts'
import { startPort } from './port.ts'
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  errorCodes,
  frameTypes,
  postRoot,
  type RawFrame,
  type RawHttp2,
  rawField,
  rawFrame,
  rawHttp2,
  rawSettings,
  uint32,
} from './raw-http2.ts'

/** What the tests of RFC 9113 and RFC 7541 share: a client, frames that clients send, and outcomes. */

export const whole = END_STREAM | END_HEADERS
/** RFC 9113, section 6.5.2: frames that every peer accepts. */
export const FRAME_BYTES = 16_384
export const DEFAULT_WINDOW = 65_535
export const UNKNOWN_TYPE = 0x42

export type ErrorName = keyof typeof errorCodes

interface Reply {
  /** Fields of each header block: interim responses, the response, trailers. */
  readonly blocks: readonly (readonly string[])[]
  readonly status: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly hasEnded: boolean
}

/** A client that decodes replies and waits for frames. */
export class Client {
  readonly raw: RawHttp2
  #decoded = 0
  #decoder = new HpackDecoder({ headerBytesMax: 1_000_000, headerFieldsMax: 1000 })
  #blocks = new Map<RawFrame, string[]>()
  #pings = 0

  constructor(raw: RawHttp2) {
    this.raw = raw
  }

  send(...frames: readonly Buffer[]): void {
    this.raw.socket.write(Buffer.concat(frames))
  }

  ofType(type: keyof typeof frameTypes): RawFrame[] {
    return this.raw.frames.filter((frame) => frame.type === frameTypes[type])
  }

  framesOf(stream: number): RawFrame[] {
    return this.raw.frames.filter((frame) => frame.stream === stream)
  }

  /** Decodes all blocks in the order in which they came. */
  #decode(): void {
    const { frames } = this.raw
    for (; this.#decoded < frames.length; this.#decoded++) {
      const first = frames[this.#decoded] as RawFrame
      if (first.type !== frameTypes.headers) continue
      let last = this.#decoded
      while (((frames[last]?.flags ?? END_HEADERS) & END_HEADERS) === 0) last++
      if (last >= frames.length) return
      const parts = frames.slice(this.#decoded, last + 1)
      for (const part of parts.slice(1)) {
        assert.equal(part.type, frameTypes.continuation)
        assert.equal(part.stream, first.stream)
      }
      const block = Buffer.concat(parts.map(({ payload }) => payload))
      this.#blocks.set(first, this.#decoder.decode(block) ?? [])
      this.#decoded = last
    }
  }

  reply(stream: number): Reply {
    this.#decode()
    const frames = this.framesOf(stream)
    const blocks = frames.flatMap((frame) => {
      const block = this.#blocks.get(frame)
      return block === undefined ? [] : [block]
    })
    const headers: Record<string, string> = {}
    for (const fields of blocks)
      for (let at = 0; at < fields.length; at += 2) headers[fields[at] as string] = fields[at + 1] as string
    return {
      blocks,
      status: headers[':status'] ?? '',
      headers,
      body: Buffer.concat(
        frames.filter(({ type }) => type === frameTypes.data).map(({ payload }) => payload),
      ),
      hasEnded: frames.some(
        ({ type, flags }) =>
          (type === frameTypes.data || type === frameTypes.headers) && (flags & END_STREAM) !== 0,
      ),
    }
  }

  /** Waits until something is so; fails if the server has closed the connection before. */
  until<T>(read: () => T): Promise<NonNullable<T>> {
    return eventually(
      () => {
        const value = read()
        assert.ok(Boolean(value) || !this.raw.isClosed(), `closed: ${this.describe()}`)
        return value
      },
      Boolean,
      { pollMs: 1 },
    )
  }

  /** Waits for the whole reply of a stream. */
  async ended(stream: number): Promise<Reply> {
    await this.until(() => {
      const resets = this.framesOf(stream).filter(({ type }) => type === frameTypes.reset)
      assert.deepEqual(resets, [], 'the stream was reset')
      return this.reply(stream).hasEnded
    })
    return this.reply(stream)
  }

  /** Waits until the server has read everything that was sent before, and has sent what it has to say. */
  async roundTrip(): Promise<void> {
    const payload = Buffer.alloc(8, ++this.#pings)
    this.send(rawFrame('ping', 0, 0, payload))
    await this.until(() =>
      this.ofType('ping').some((frame) => frame.flags === ACK && frame.payload.equals(payload)),
    )
  }

  describe(): string {
    const names = Object.entries(frameTypes)
    return this.raw.frames
      .map(({ type, flags, stream, payload }) => {
        const name = names.find(([, value]) => value === type)?.[0]
        return `${name} ${flags} of ${stream} (${payload.length}) ${payload.toString('hex', 0, 16)}`
      })
      .join('; ')
  }
}

/** What a client sends, or waits for. The frames between two waits are sent in one write. */
type Step = Buffer | ((client: Client) => Promise<unknown>)
/** How the server takes what was sent. */
export type Outcome = (client: Client) => Promise<void>

/** The connection ends with this code. */
export const goaway =
  (name: ErrorName): Outcome =>
  async (client) => {
    await client.raw.closed
    const last = client.ofType('goaway').at(-1)
    assert.ok(last !== undefined, `no GOAWAY: ${client.describe()}`)
    assert.equal(last.payload.readUInt32BE(4), errorCodes[name], client.describe())
  }

/** The stream is reset with this code, and the connection continues. */
export const reset =
  (stream: number, name: ErrorName): Outcome =>
  async (client) => {
    const isReset = ({ type }: RawFrame) => type === frameTypes.reset
    await client.until(() => {
      assert.ok(!client.reply(stream).hasEnded, 'the stream was served')
      return client.framesOf(stream).some(isReset)
    })
    await client.roundTrip()
    const resets = client.framesOf(stream).filter(isReset)
    assert.deepEqual(
      resets.map(({ payload }) => payload.readUInt32BE(0)),
      [errorCodes[name]],
    )
    assert.deepEqual(client.ofType('goaway'), [])
  }

/** The stream gets its reply; `body` is what is in it. */
export const served =
  (stream: number, body?: string): Outcome =>
  async (client) => {
    const reply = await client.ended(stream)
    assert.equal(reply.status, '200')
    if (body !== undefined) assert.equal(reply.body.toString(), body)
    assert.deepEqual(client.ofType('goaway'), [])
  }

/** Neither the connection nor a stream ends. */
export const ignored: Outcome = async (client) => {
  await client.roundTrip()
  assert.deepEqual([...client.ofType('goaway'), ...client.ofType('reset')], [])
}

/** Both hold. */
export const both =
  (...outcomes: readonly Outcome[]): Outcome =>
  async (client) => {
    for (const outcome of outcomes) await outcome(client)
  }

/** Resolves on demand, so that a reply waits as long as a test needs. */
const held: { release(): void }[] = []

/** The path selects the reply: by default the length of the body. `/held` waits for `release`. */
export const http: HttpHandler = async (request) => {
  const [, what, size] = request.url.split('/')
  const reply = { status: 200, headers: {}, body: '' as string | Buffer | undefined }
  switch (what) {
    case 'large':
      return { ...reply, body: Buffer.alloc(Number(size), 'x') }
    case 'status':
      return { ...reply, status: Number(size), body: undefined }
    case 'head':
      return { ...reply, headers: { 'x-long': 'y'.repeat(Number(size)) }, body: 'body' }
    case 'held':
      await new Promise<void>((release) => held.push({ release }))
      return { ...reply, body: String((await request.body(1_000_000)).length) }
    case 'rejected':
      return { ...reply, status: 413, body: String((await request.body(10)).length) }
    default:
      return { ...reply, body: String((await request.body(1_000_000)).length) }
  }
}

/** Continues the requests to `/held`. */
export const release = async (): Promise<void> => {
  for (const one of held.splice(0)) one.release()
}

/** Starts a server, and connects a client that sends the preface and `settings`. */
export async function start(t: TestContext, options: Partial<ListenOptions> = {}, settings?: Buffer) {
  held.splice(0)
  const server = await startPort(t, { http, ...options })
  const client = new Client(await rawHttp2(t, server.port, settings))
  return { server, client }
}

type Server = Awaited<ReturnType<typeof startPort>>

/** The server has no defects, and holds nothing of the connection once it is closed. */
export async function assertClean(server: Server, client: Client): Promise<void> {
  client.raw.socket.destroy()
  await eventually(() => server.traffic().inFlight.http === 0, Boolean, { pollMs: 1 })
  assert.deepEqual(server.log.errors, [])
}

/** Returns a test that sends the steps to a new server, then asserts the outcome and that the server is clean. */
export function sendAndExpect(
  steps: readonly Step[],
  outcome: Outcome,
  options?: Partial<ListenOptions>,
): (t: TestContext) => Promise<void> {
  return async (t) => {
    const { server, client } = await start(t, options)
    let batch: Buffer[] = []
    const sendBatch = () => {
      if (batch.length > 0) client.send(...batch)
      batch = []
    }
    for (const step of steps) {
      if (Buffer.isBuffer(step)) batch.push(step)
      else {
        sendBatch()
        await step(client)
      }
    }
    sendBatch()
    await outcome(client)
    await assertClean(server, client)
  }
}

// What clients send.

export const fields = (...list: readonly (readonly [name: string, value: string])[]) =>
  Buffer.concat(list.map(([name, value]) => rawField(name, value)))

/** A request by literal fields; `changed` replaces pseudo-header fields, and undefined leaves one out. */
export function request(
  changed: Readonly<Record<string, string | undefined>> = {},
  ...more: readonly (readonly [string, string])[]
): Buffer {
  const pseudo = { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'a', ...changed }
  const list = Object.entries(pseudo).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  return fields(...list, ...more)
}

export const post = (length?: string, path = '/') =>
  request(
    { ':method': 'POST', ':path': path },
    ...(length === undefined ? [] : [['content-length', length] as const]),
  )
export const get = (stream = 1, path = '/') => rawFrame('headers', whole, stream, request({ ':path': path }))
export const open = (stream = 1, block: Buffer = postRoot) => rawFrame('headers', END_HEADERS, stream, block)
export const data = (stream: number, bytes: number | Buffer, flags = 0) =>
  rawFrame('data', flags, stream, typeof bytes === 'number' ? Buffer.alloc(bytes, 'd') : bytes)
export const end = (stream = 1) => data(stream, 0, END_STREAM)
export const resetFrame = (stream: number, code = errorCodes.CANCEL as number) =>
  rawFrame('reset', 0, stream, uint32(code))
export const grow = (stream: number, bytes: number) => rawFrame('windowUpdate', 0, stream, uint32(bytes))
export const settings = (...list: readonly (readonly [id: number, value: number])[]) =>
  rawFrame('settings', 0, 0, rawSettings(...list))
export const ack = rawFrame('settings', ACK, 0)
export const ping = (bytes = 8, stream = 0, flags = 0) => rawFrame('ping', flags, stream, Buffer.alloc(bytes))
export const priority = (stream: number, dependency = 0, bytes = 5) =>
  rawFrame('priority', 0, stream, Buffer.concat([uint32(dependency), Buffer.alloc(10)]).subarray(0, bytes))
export const ended =
  (stream: number): Step =>
  (client) =>
    client.ended(stream)
export const roundTrip: Step = (client) => client.roundTrip()
/** The server resets it, while the client can still send: the path is missing. */
export const malformed = (stream = 1) => open(stream, request({ ':path': undefined }))
export const isReset =
  (stream: number): Step =>
  (client) =>
    client.until(() => client.framesOf(stream).some(({ type }) => type === frameTypes.reset))
