import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import type { HttpHandler } from '@berth/server/port/http.ts'
import { HpackDecoder } from '@berth/server/port/http2/hpack/decoder.ts'
import type { ListenOptions } from '@berth/server/port/listen.ts'
import type { ObservedRequest } from '@berth/server/port/request-observer.ts'
import { eventually } from './support/eventually.ts'
import { startPort } from './support/http/port.ts'
import {
  ACK,
  clientPreface,
  END_HEADERS,
  END_STREAM,
  errorCodes,
  frameTypes,
  getRoot,
  PADDED,
  PRIORITY,
  padded,
  postRoot,
  type RawFrame,
  type RawHttp2,
  rawField,
  rawFrame,
  rawHttp2,
  rawHttp2Connection,
  rawSettings,
  settingIds,
  uint32,
} from './support/http/raw-http2.ts'

/** RFC 9113 and RFC 7541 on the wire: what a client sends, and how the server takes it. */

const whole = END_STREAM | END_HEADERS
const LARGEST_WINDOW = 2 ** 31 - 1
const LARGEST_STREAM = 2 ** 31 - 1
/** RFC 9113, section 6.5.2: frames that every peer accepts. */
const FRAME_BYTES = 16_384
const DEFAULT_WINDOW = 65_535
const UNKNOWN_TYPE = 0x42

type ErrorName = keyof typeof errorCodes

interface Reply {
  /** Fields of each header block: interim responses, the response, trailers. */
  readonly blocks: readonly (readonly string[])[]
  readonly status: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly hasEnded: boolean
}

/** A client of a server that these tests share. */
class Client {
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

type Step = Buffer | ((client: Client) => Promise<unknown>)
/** How the server takes what was sent. */
type Outcome = (client: Client) => Promise<void>

/** The connection ends with this code. */
const goaway =
  (name: ErrorName): Outcome =>
  async (client) => {
    await client.raw.closed
    const last = client.ofType('goaway').at(-1)
    assert.ok(last !== undefined, `no GOAWAY: ${client.describe()}`)
    assert.equal(last.payload.readUInt32BE(4), errorCodes[name], client.describe())
  }

/** The stream is reset with this code, and the connection continues. */
const reset =
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
const served =
  (stream: number, body?: string): Outcome =>
  async (client) => {
    const reply = await client.ended(stream)
    assert.equal(reply.status, '200')
    if (body !== undefined) assert.equal(reply.body.toString(), body)
    assert.deepEqual(client.ofType('goaway'), [])
  }

/** Neither the connection nor a stream ends. */
const ignored: Outcome = async (client) => {
  await client.roundTrip()
  assert.deepEqual([...client.ofType('goaway'), ...client.ofType('reset')], [])
}

/** Both hold. */
const both =
  (...outcomes: readonly Outcome[]): Outcome =>
  async (client) => {
    for (const outcome of outcomes) await outcome(client)
  }

/** Resolves on demand, so that a reply waits as long as a test needs. */
const held: { release(): void }[] = []

const http: HttpHandler = async (request) => {
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

const release = async (): Promise<void> => {
  for (const one of held.splice(0)) one.release()
}

async function start(t: TestContext, options: Partial<ListenOptions> = {}, settings?: Buffer) {
  held.splice(0)
  const server = await startPort(t, { http, ...options })
  const client = new Client(await rawHttp2(t, server.port, settings))
  return { server, client }
}

type Server = Awaited<ReturnType<typeof startPort>>

/** The server has no defects, and holds nothing of the connection once it is closed. */
async function assertClean(server: Server, client: Client): Promise<void> {
  client.raw.socket.destroy()
  await eventually(() => server.traffic().inFlight.http === 0, Boolean, { pollMs: 1 })
  assert.deepEqual(server.log.errors, [])
}

interface Case {
  readonly name: string
  readonly steps: readonly Step[]
  readonly outcome: Outcome
  readonly options?: Partial<ListenOptions>
}

const cases: Record<string, Case[]> = {}

function rule(section: string, name: string, steps: readonly Step[], outcome: Outcome, options = {}): void {
  cases[section] ??= []
  cases[section].push({ name, steps, outcome, options })
}

// What clients send.

const fields = (...list: readonly (readonly [name: string, value: string])[]) =>
  Buffer.concat(list.map(([name, value]) => rawField(name, value)))

/** A request by literal fields; `changed` replaces pseudo-header fields, and undefined leaves one out. */
function request(
  changed: Readonly<Record<string, string | undefined>> = {},
  ...more: readonly (readonly [string, string])[]
): Buffer {
  const pseudo = { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'a', ...changed }
  const list = Object.entries(pseudo).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  return fields(...list, ...more)
}

const post = (length?: string, path = '/') =>
  request(
    { ':method': 'POST', ':path': path },
    ...(length === undefined ? [] : [['content-length', length] as const]),
  )
const get = (stream = 1, path = '/') => rawFrame('headers', whole, stream, request({ ':path': path }))
const open = (stream = 1, block: Buffer = postRoot) => rawFrame('headers', END_HEADERS, stream, block)
const data = (stream: number, bytes: number | Buffer, flags = 0) =>
  rawFrame('data', flags, stream, typeof bytes === 'number' ? Buffer.alloc(bytes, 'd') : bytes)
const end = (stream = 1) => data(stream, 0, END_STREAM)
const resetFrame = (stream: number, code = errorCodes.CANCEL as number) =>
  rawFrame('reset', 0, stream, uint32(code))
const grow = (stream: number, bytes: number) => rawFrame('windowUpdate', 0, stream, uint32(bytes))
const settings = (...list: readonly (readonly [id: number, value: number])[]) =>
  rawFrame('settings', 0, 0, rawSettings(...list))
const ack = rawFrame('settings', ACK, 0)
const ping = (bytes = 8, stream = 0, flags = 0) => rawFrame('ping', flags, stream, Buffer.alloc(bytes))
const priority = (stream: number, dependency = 0, bytes = 5) =>
  rawFrame('priority', 0, stream, Buffer.concat([uint32(dependency), Buffer.alloc(10)]).subarray(0, bytes))
const ended =
  (stream: number): Step =>
  (client) =>
    client.ended(stream)
const roundTrip: Step = (client) => client.roundTrip()
/** The server resets it, while the client can still send: the path is missing. */
const malformed = (stream = 1) => open(stream, request({ ':path': undefined }))
const isReset =
  (stream: number): Step =>
  (client) =>
    client.until(() => client.framesOf(stream).some(({ type }) => type === frameTypes.reset))

{
  const section = '4.1, 4.2: frames'
  rule(section, 'of the largest size are served', [open(), data(1, FRAME_BYTES), end()], served(1, '16384'))
  for (const type of ['data', 'headers', 'ping', 'settings', UNKNOWN_TYPE] as const) {
    const frame = rawFrame(type, END_HEADERS, 1, Buffer.alloc(FRAME_BYTES + 1))
    rule(
      section,
      `above the largest size end the connection (type ${type})`,
      [open(), frame],
      goaway('FRAME_SIZE_ERROR'),
    )
  }
  rule(
    section,
    'that claim 16 MiB end the connection before they come',
    [rawFrame('data', 0, 1, undefined, 2 ** 24 - 1)],
    goaway('FRAME_SIZE_ERROR'),
  )
  rule(
    section,
    'the reserved bit of a stream id is ignored',
    [rawFrame('headers', whole, 2 ** 31 + 1, getRoot)],
    served(1),
  )
  rule(
    section,
    'flags without a meaning are ignored',
    [rawFrame('headers', whole | 0x52, 1, getRoot), ping(8, 0, 0xfe), settings()],
    served(1),
  )
  for (const [stream, frame] of [
    ['the connection', rawFrame(UNKNOWN_TYPE, 0xff, 0, Buffer.alloc(10))],
    ['an idle stream', rawFrame(UNKNOWN_TYPE, 0xff, 7, Buffer.alloc(10))],
    ['an even stream', rawFrame(UNKNOWN_TYPE, 0xff, 2)],
    ['an open stream', rawFrame(UNKNOWN_TYPE, 0xff, 1, Buffer.alloc(FRAME_BYTES))],
  ] as const)
    rule(
      section,
      `of an unknown type are ignored on ${stream}`,
      [open(), frame, data(1, 3, END_STREAM)],
      served(1, '3'),
    )
  rule(
    section,
    'of an unknown type are ignored on a closed stream',
    [get(), ended(1), rawFrame(UNKNOWN_TYPE, 0, 1)],
    ignored,
  )
}

{
  const section = '4.3, RFC 7541: header blocks'
  const broken: [string, number[]][] = [
    ['index 0', [0x80]],
    ['an index above the tables', [0xff, 0x20]],
    ['an index without an end', [0xff]],
    ['a text that is longer than the block', [0x00, 0x05, 0x61]],
    ['a table size after a field', [0x82, 0x20]],
    ['a table size above the setting', [0x3f, 0xe2, 0x1f]],
    ['Huffman padding of zeros', [0x00, 0x01, 0x61, 0x81, 0x00]],
    ['Huffman padding of a byte', [0x00, 0x01, 0x61, 0x82, 0x1f, 0xff]],
    ['the end-of-string symbol', [0x00, 0x01, 0x61, 0x84, 0xff, 0xff, 0xff, 0xff]],
  ]
  for (const [name, bytes] of broken) {
    rule(
      section,
      `${name} ends the connection`,
      [rawFrame('headers', whole, 1, Buffer.from(bytes))],
      goaway('COMPRESSION_ERROR'),
    )
    rule(
      section,
      `${name} in trailers ends the connection`,
      [open(), rawFrame('headers', whole, 1, Buffer.from(bytes))],
      goaway('COMPRESSION_ERROR'),
    )
  }
  // 0x40: the field enters the table, where it is number 62, and number 63 once that of `getRoot` has entered it.
  const indexed = Buffer.concat([Buffer.from([0x40]), rawField('x', 'y').subarray(1)])
  const usesIndexed = Buffer.concat([getRoot, Buffer.from([0xbf])])
  rule(
    section,
    'of a malformed request change the table',
    [
      rawFrame('headers', whole, 1, Buffer.concat([request({ ':path': '' }), indexed])),
      rawFrame('headers', whole, 3, usesIndexed),
    ],
    both(reset(1, 'PROTOCOL_ERROR'), served(3)),
  )
  rule(
    section,
    'of a refused stream change the table',
    [
      get(1, '/held'),
      rawFrame('headers', whole, 3, Buffer.concat([getRoot, indexed])),
      roundTrip,
      release,
      ended(1),
      rawFrame('headers', whole, 5, usesIndexed),
    ],
    both(reset(3, 'REFUSED_STREAM'), served(5)),
    { limits: { concurrentStreamsMax: 1 } },
  )
  rule(
    section,
    'of late trailers change the table',
    [
      malformed(),
      isReset(1),
      rawFrame('headers', whole, 1, indexed),
      rawFrame('headers', whole, 3, usesIndexed),
    ],
    served(3),
  )
  rule(
    section,
    'an empty one is a malformed request',
    [rawFrame('headers', whole, 1)],
    reset(1, 'PROTOCOL_ERROR'),
  )
}

{
  const section = '5.1: states of streams'
  rule(section, 'idle: DATA ends the connection', [data(1, 1)], goaway('PROTOCOL_ERROR'))
  rule(section, 'idle: RST_STREAM ends the connection', [resetFrame(1)], goaway('PROTOCOL_ERROR'))
  rule(section, 'idle: WINDOW_UPDATE ends the connection', [grow(1, 1)], goaway('PROTOCOL_ERROR'))
  rule(
    section,
    'idle: CONTINUATION ends the connection',
    [rawFrame('continuation', END_HEADERS, 1, getRoot)],
    goaway('PROTOCOL_ERROR'),
  )
  rule(section, 'idle: PRIORITY is ignored', [priority(1), get()], served(1))
  rule(
    section,
    'idle above an open one: DATA ends the connection',
    [get(1, '/held'), data(3, 1)],
    goaway('PROTOCOL_ERROR'),
  )
  for (const [name, frame] of [
    ['DATA', data(2, 1)],
    ['RST_STREAM', resetFrame(2)],
    ['WINDOW_UPDATE', grow(2, 1)],
    ['HEADERS', get(2)],
  ] as const) {
    rule(section, `${name} of an even stream ends the connection`, [frame], goaway('PROTOCOL_ERROR'))
    rule(
      section,
      `${name} of an even stream below another ends the connection`,
      [get(5), ended(5), frame],
      goaway('PROTOCOL_ERROR'),
    )
  }
  rule(
    section,
    'half-closed by the client: DATA ends the connection',
    [get(1, '/held'), data(1, 1)],
    goaway('STREAM_CLOSED'),
  )
  rule(
    section,
    'half-closed by the client: empty DATA ends the connection',
    [get(1, '/held'), end(1)],
    goaway('STREAM_CLOSED'),
  )
  rule(
    section,
    'half-closed by the client: HEADERS end the connection',
    [get(1, '/held'), get(1)],
    goaway('STREAM_CLOSED'),
  )
  rule(
    section,
    'half-closed by the client: WINDOW_UPDATE, PRIORITY are taken',
    [get(1, '/held'), grow(1, 1), priority(1), roundTrip, release],
    served(1),
  )
  rule(
    section,
    'half-closed by the client: RST_STREAM closes it',
    [get(1, '/held'), resetFrame(1), roundTrip, release],
    both(ignored, async (client) => assert.deepEqual(client.framesOf(1), [])),
  )
  rule(section, 'closed: DATA ends the connection', [get(), ended(1), data(1, 1)], goaway('STREAM_CLOSED'))
  rule(section, 'closed: HEADERS end the connection', [get(), ended(1), get()], goaway('STREAM_CLOSED'))
  rule(
    section,
    'closed: CONTINUATION ends the connection',
    [get(), ended(1), rawFrame('continuation', END_HEADERS, 1, getRoot)],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'closed: WINDOW_UPDATE, RST_STREAM, PRIORITY are ignored',
    [get(), ended(1), grow(1, 1), resetFrame(1), priority(1)],
    ignored,
  )
  rule(
    section,
    'reset by the client: DATA ends the connection',
    [open(), resetFrame(1), data(1, 1)],
    goaway('STREAM_CLOSED'),
  )
  rule(
    section,
    'reset by the client: HEADERS end the connection',
    [open(), resetFrame(1), get()],
    goaway('STREAM_CLOSED'),
  )
  rule(
    section,
    'reset by the client: RST_STREAM, WINDOW_UPDATE, PRIORITY are ignored',
    [open(), resetFrame(1), resetFrame(1), grow(1, 1), priority(1)],
    ignored,
  )
  rule(
    section,
    'reset by the server: what was on its way is ignored',
    [
      malformed(),
      data(1, 100),
      grow(1, 1),
      priority(1),
      data(1, 0),
      rawFrame('headers', whole, 1, rawField('x', 'y')),
      resetFrame(1),
    ],
    reset(1, 'PROTOCOL_ERROR'),
  )
  rule(
    section,
    'reset by the server: what comes later is ignored',
    [
      malformed(),
      isReset(1),
      data(1, 100),
      grow(1, 1),
      rawFrame('headers', whole, 1, rawField('x', 'y')),
      resetFrame(1),
      resetFrame(1),
    ],
    reset(1, 'PROTOCOL_ERROR'),
  )
  rule(
    section,
    'reset by the server: a broken frame still ends the connection',
    [malformed(), isReset(1), rawFrame('data', PADDED, 1, Buffer.from([9]))],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'reset by the server: its DATA counts for the window of the connection',
    [malformed(), ...Array.from({ length: 8 }, () => data(1, FRAME_BYTES)), roundTrip],
    async (client) => {
      const increments = client.ofType('windowUpdate').filter(({ stream }) => stream === 0)
      const bytes = increments.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
      assert.ok(bytes > 8 * FRAME_BYTES - DEFAULT_WINDOW / 2, `${bytes} bytes`)
    },
  )
  rule(
    section,
    'refused: what was on its way is ignored',
    [get(1, '/held'), open(3), data(3, 5), end(3), roundTrip, release],
    both(reset(3, 'REFUSED_STREAM'), served(1)),
    { limits: { concurrentStreamsMax: 1 } },
  )
}

{
  const section = '5.1.1: stream ids'
  rule(section, 'may leave some out', [get(1), get(7), get(101)], both(served(1), served(7), served(101)))
  rule(section, 'that decrease end the connection', [get(5), ended(5), get(3)], goaway('STREAM_CLOSED'))
  rule(section, 'may be the largest', [get(LARGEST_STREAM)], served(LARGEST_STREAM))
  rule(section, 'of HEADERS are not 0', [get(0)], goaway('PROTOCOL_ERROR'))
  rule(section, 'of DATA are not 0', [data(0, 1)], goaway('PROTOCOL_ERROR'))
  rule(section, 'of RST_STREAM are not 0', [resetFrame(0)], goaway('PROTOCOL_ERROR'))
  rule(section, 'of PRIORITY are not 0', [priority(0)], goaway('PROTOCOL_ERROR'))
  rule(
    section,
    'of CONTINUATION are not 0',
    [rawFrame('headers', END_STREAM, 1, getRoot), rawFrame('continuation', END_HEADERS, 0)],
    goaway('PROTOCOL_ERROR'),
  )
}

{
  const section = '5.1.2: concurrent streams'
  const options = { limits: { concurrentStreamsMax: 2 } }
  rule(
    section,
    'above the limit are refused',
    [get(1, '/held'), get(3, '/held'), get(5), roundTrip, release],
    both(reset(5, 'REFUSED_STREAM'), served(1), served(3)),
    options,
  )
  rule(
    section,
    'that have ended do not count',
    [get(1), get(3), ended(1), ended(3), get(5), get(7)],
    both(served(5), served(7)),
    options,
  )
  rule(
    section,
    'that the client has reset do not count',
    [get(1, '/held'), get(3, '/held'), resetFrame(1), resetFrame(3), get(5), get(7)],
    both(served(5), served(7)),
    options,
  )
  rule(
    section,
    'that the server has reset do not count',
    [malformed(1), malformed(3), malformed(5), get(7)],
    served(7),
    options,
  )
  rule(
    section,
    'whose replies wait for a window count',
    [settings([settingIds.initialWindowSize, 0]), get(1), get(3), get(5)],
    reset(5, 'REFUSED_STREAM'),
    { limits: { concurrentStreamsMax: 2 } },
  )
}

{
  const section = '6.1: DATA'
  rule(
    section,
    'of several frames is one body',
    [open(), data(1, 5), data(1, 0), data(1, 7, END_STREAM)],
    served(1, '12'),
  )
  rule(section, 'that is empty ends a request', [open(), end()], served(1, '0'))
  for (const padding of [0, 1, 255])
    rule(
      section,
      `has ${padding} bytes of padding`,
      [open(), data(1, padded(Buffer.alloc(5), padding), PADDED | END_STREAM)],
      served(1, '5'),
    )
  rule(
    section,
    'is only padding',
    [
      open(),
      data(1, padded(Buffer.alloc(0), 20), PADDED),
      data(1, padded(Buffer.alloc(0), 0), PADDED | END_STREAM),
    ],
    served(1, '0'),
  )
  rule(
    section,
    'with as much padding as payload ends the connection',
    [open(), data(1, Buffer.from([4, 1, 2, 3]), PADDED)],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'with padding and without payload ends the connection',
    [open(), data(1, 0, PADDED)],
    goaway('FRAME_SIZE_ERROR'),
  )
  rule(
    section,
    'padding does not count for the content-length',
    [open(1, post('5')), data(1, padded(Buffer.alloc(5), 100), PADDED | END_STREAM)],
    served(1, '5'),
  )
}

{
  const section = '6.2, 6.10: HEADERS and CONTINUATION'
  const cut = (at: number) => [getRoot.subarray(0, at), getRoot.subarray(at)] as const
  const [head, tail] = cut(3)
  const start = rawFrame('headers', END_STREAM, 1, head)
  const rest = rawFrame('continuation', END_HEADERS, 1, tail)
  rule(section, 'a block in two frames', [start, rest], served(1, '0'))
  rule(
    section,
    'a block in frames of one byte each',
    [
      rawFrame('headers', END_STREAM, 1),
      ...[...getRoot].map((byte, at) =>
        rawFrame('continuation', at === getRoot.length - 1 ? END_HEADERS : 0, 1, Buffer.from([byte])),
      ),
    ],
    served(1),
  )
  rule(section, 'empty frames within a block', [start, rawFrame('continuation', 0, 1), rest], served(1))
  rule(
    section,
    'trailers in two frames',
    [
      open(),
      data(1, 4),
      rawFrame('headers', END_STREAM, 1, rawField('x', 'y')),
      rawFrame('continuation', END_HEADERS, 1, rawField('z', 'y')),
    ],
    served(1, '4'),
  )
  rule(
    section,
    'END_STREAM of CONTINUATION has no meaning',
    [
      rawFrame('headers', 0, 1, postRoot.subarray(0, 2)),
      rawFrame('continuation', whole, 1, postRoot.subarray(2)),
      data(1, 6, END_STREAM),
    ],
    served(1, '6'),
  )
  rule(
    section,
    'padding in front of CONTINUATION',
    [rawFrame('headers', END_STREAM | PADDED, 1, padded(head, 30)), rest],
    served(1),
  )
  for (const padding of [0, 255])
    rule(
      section,
      `${padding} bytes of padding`,
      [rawFrame('headers', whole | PADDED, 1, padded(getRoot, padding))],
      served(1),
    )
  const withPriority = (dependency: number) => Buffer.concat([uint32(dependency), Buffer.from([15]), getRoot])
  rule(section, 'a priority', [rawFrame('headers', whole | PRIORITY, 1, withPriority(0))], served(1))
  rule(
    section,
    'a priority and padding',
    [rawFrame('headers', whole | PRIORITY | PADDED, 1, padded(withPriority(2 ** 31 + 3), 7))],
    served(1),
  )
  rule(
    section,
    'a stream that depends on itself ends the connection',
    [rawFrame('headers', whole | PRIORITY, 1, withPriority(1))],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'a frame that is shorter than its priority ends the connection',
    [rawFrame('headers', whole | PRIORITY, 1, Buffer.alloc(4))],
    goaway('FRAME_SIZE_ERROR'),
  )
  rule(
    section,
    'padding that leaves no priority ends the connection',
    [rawFrame('headers', whole | PRIORITY | PADDED, 1, padded(Buffer.alloc(4), 5))],
    goaway('FRAME_SIZE_ERROR'),
  )
  rule(
    section,
    'more padding than payload ends the connection',
    [rawFrame('headers', whole | PADDED, 1, Buffer.concat([Buffer.from([7]), getRoot]))],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'padding without payload ends the connection',
    [rawFrame('headers', whole | PADDED, 1)],
    goaway('FRAME_SIZE_ERROR'),
  )
  for (const [name, frame] of [
    ['DATA', data(1, 1)],
    ['HEADERS', get(1)],
    ['HEADERS of another stream', get(3)],
    ['CONTINUATION of another stream', rawFrame('continuation', END_HEADERS, 3, tail)],
    ['PRIORITY', priority(1)],
    ['RST_STREAM', resetFrame(1)],
    ['SETTINGS', settings()],
    ['PING', ping()],
    ['GOAWAY', rawFrame('goaway', 0, 0, Buffer.alloc(8))],
    ['WINDOW_UPDATE', grow(0, 1)],
    ['an unknown frame', rawFrame(UNKNOWN_TYPE, 0, 0)],
  ] as const)
    rule(
      section,
      `${name} within a block ends the connection`,
      [start, frame, rest],
      goaway('PROTOCOL_ERROR'),
    )
  rule(
    section,
    'CONTINUATION after a whole block ends the connection',
    [open(), rawFrame('continuation', END_HEADERS, 1, tail)],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'CONTINUATION after the end of a block ends the connection',
    [rawFrame('headers', 0, 1, head), rest, rest],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'CONTINUATION after DATA ends the connection',
    [open(), data(1, 1), rawFrame('continuation', END_HEADERS, 1, tail)],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'CONTINUATION first ends the connection',
    [rawFrame('continuation', END_HEADERS, 1, getRoot)],
    goaway('PROTOCOL_ERROR'),
  )
}

{
  const section = '6.3, 6.4: PRIORITY and RST_STREAM'
  for (const bytes of [0, 4, 6])
    rule(
      section,
      `PRIORITY of ${bytes} bytes ends the connection`,
      [open(), priority(1, 0, bytes)],
      goaway('FRAME_SIZE_ERROR'),
    )
  rule(
    section,
    'PRIORITY of a stream on itself ends the connection',
    [priority(3, 3)],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'PRIORITY is taken in every state',
    [priority(1), priority(2), get(3), priority(3, 2 ** 31 + 1), ended(3), priority(3), priority(101)],
    ignored,
  )
  for (const bytes of [0, 3, 5])
    rule(
      section,
      `RST_STREAM of ${bytes} bytes ends the connection`,
      [open(), rawFrame('reset', 0, 1, Buffer.alloc(bytes))],
      goaway('FRAME_SIZE_ERROR'),
    )
  rule(
    section,
    'RST_STREAM with an unknown code closes the stream',
    [open(), resetFrame(1, 0xffff_ffff), get(3)],
    served(3),
  )
  rule(
    section,
    'RST_STREAM with NO_ERROR closes the stream',
    [get(1, '/held'), resetFrame(1, 0), roundTrip, release, roundTrip],
    async (client) => assert.deepEqual(client.framesOf(1), []),
  )
}

{
  const section = '6.5: SETTINGS'
  const acks =
    (count: number): Outcome =>
    async (client) => {
      await ignored(client)
      assert.equal(client.ofType('settings').filter(({ flags }) => flags === ACK).length, count)
    }
  rule(
    section,
    'each is acknowledged',
    [settings(), settings(), settings([settingIds.enablePush, 0])],
    acks(4),
  )
  rule(section, 'an acknowledgement is not', [ack, ack, ack], acks(1))
  rule(
    section,
    'an acknowledgement with a payload ends the connection',
    [rawFrame('settings', ACK, 0, Buffer.alloc(6))],
    goaway('FRAME_SIZE_ERROR'),
  )
  rule(section, 'of a stream end the connection', [rawFrame('settings', 0, 1)], goaway('PROTOCOL_ERROR'))
  rule(
    section,
    'an acknowledgement of a stream ends the connection',
    [rawFrame('settings', ACK, 1)],
    goaway('PROTOCOL_ERROR'),
  )
  for (const bytes of [1, 5, 7])
    rule(
      section,
      `of ${bytes} bytes end the connection`,
      [rawFrame('settings', 0, 0, Buffer.alloc(bytes))],
      goaway('FRAME_SIZE_ERROR'),
    )
  const {
    enablePush,
    initialWindowSize,
    maxFrameSize,
    headerTableSize,
    maxConcurrentStreams,
    maxHeaderListSize,
  } = settingIds
  const values: [name: string, id: number, value: number, error?: ErrorName][] = [
    ['ENABLE_PUSH 0', enablePush, 0],
    ['ENABLE_PUSH 1', enablePush, 1],
    ['ENABLE_PUSH 2', enablePush, 2, 'PROTOCOL_ERROR'],
    ['INITIAL_WINDOW_SIZE 2^31-1', initialWindowSize, 2 ** 31 - 1],
    ['INITIAL_WINDOW_SIZE 2^31', initialWindowSize, 2 ** 31, 'FLOW_CONTROL_ERROR'],
    ['INITIAL_WINDOW_SIZE 2^32-1', initialWindowSize, 2 ** 32 - 1, 'FLOW_CONTROL_ERROR'],
    ['MAX_FRAME_SIZE 2^14-1', maxFrameSize, FRAME_BYTES - 1, 'PROTOCOL_ERROR'],
    ['MAX_FRAME_SIZE 2^14', maxFrameSize, FRAME_BYTES],
    ['MAX_FRAME_SIZE 2^24-1', maxFrameSize, 2 ** 24 - 1],
    ['MAX_FRAME_SIZE 2^24', maxFrameSize, 2 ** 24, 'PROTOCOL_ERROR'],
    ['HEADER_TABLE_SIZE 0', headerTableSize, 0],
    ['HEADER_TABLE_SIZE 2^32-1', headerTableSize, 2 ** 32 - 1],
    ['MAX_CONCURRENT_STREAMS 0', maxConcurrentStreams, 0],
    ['MAX_HEADER_LIST_SIZE 1', maxHeaderListSize, 1],
    ['an unknown setting', 0x4242, 2 ** 32 - 1],
    ['setting 0', 0, 1],
  ]
  for (const [name, id, value, error] of values)
    rule(
      section,
      `${name} ${error === undefined ? 'is taken' : `ends the connection`}`,
      [settings([id, value]), get()],
      error === undefined ? served(1) : goaway(error),
    )
  rule(
    section,
    'a bad value after good ones ends the connection',
    [settings([maxFrameSize, FRAME_BYTES], [enablePush, 1], [enablePush, 3])],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'the last of several values counts',
    [
      settings([initialWindowSize, 0], [initialWindowSize, 1], [initialWindowSize, 3]),
      get(1, '/large/5'),
      roundTrip,
    ],
    async (client) => assert.equal(client.reply(1).body.length, 3),
  )
}

{
  const section = '6.6, 6.7, 6.8: PUSH_PROMISE, PING and GOAWAY'
  rule(
    section,
    'PUSH_PROMISE ends the connection',
    [open(), rawFrame('pushPromise', END_HEADERS, 1, Buffer.concat([uint32(2), getRoot]))],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'PING is returned with its payload',
    [rawFrame('ping', 0, 0, Buffer.from('12345678'))],
    async (client) => {
      await client.until(() => client.ofType('ping').length > 0)
      assert.deepEqual(
        client.ofType('ping').map(({ flags, payload }) => [flags, payload.toString()]),
        [[ACK, '12345678']],
      )
    },
  )
  rule(section, 'PING is returned while a reply waits', [get(1, '/held'), roundTrip, release], served(1))
  rule(section, 'an acknowledgement of PING is ignored', [ping(8, 0, ACK), roundTrip], async (client) =>
    assert.equal(client.ofType('ping').length, 1),
  )
  for (const bytes of [0, 7, 9])
    rule(section, `PING of ${bytes} bytes ends the connection`, [ping(bytes)], goaway('FRAME_SIZE_ERROR'))
  rule(section, 'PING of a stream ends the connection', [ping(8, 1)], goaway('PROTOCOL_ERROR'))
  const goawayFrame = (stream: number, bytes: Buffer) => rawFrame('goaway', 0, stream, bytes)
  rule(
    section,
    'GOAWAY of a stream ends the connection',
    [goawayFrame(1, Buffer.alloc(8))],
    goaway('PROTOCOL_ERROR'),
  )
  rule(
    section,
    'GOAWAY of 7 bytes ends the connection',
    [goawayFrame(0, Buffer.alloc(7))],
    goaway('FRAME_SIZE_ERROR'),
  )
  rule(
    section,
    'GOAWAY lets running streams end',
    [get(1, '/held'), goawayFrame(0, Buffer.alloc(8)), roundTrip, release],
    served(1),
  )
  rule(
    section,
    'GOAWAY with an unknown code and debug data is taken',
    [
      get(1, '/held'),
      goawayFrame(0, Buffer.concat([uint32(0), uint32(0xffff), Buffer.from('debug')])),
      roundTrip,
      release,
    ],
    served(1),
  )
}

{
  const section = '6.9: WINDOW_UPDATE'
  for (const stream of [0, 1]) {
    rule(
      section,
      `of 0 bytes ends the connection (stream ${stream})`,
      [open(), grow(stream, 0)],
      goaway('PROTOCOL_ERROR'),
    )
    for (const bytes of [0, 3, 5])
      rule(
        section,
        `with ${bytes} bytes ends the connection (stream ${stream})`,
        [open(), rawFrame('windowUpdate', 0, stream, Buffer.alloc(bytes, 1))],
        goaway('FRAME_SIZE_ERROR'),
      )
    rule(
      section,
      `the reserved bit is ignored (stream ${stream})`,
      [open(), rawFrame('windowUpdate', 0, stream, uint32(2 ** 31 + 1)), end()],
      served(1),
    )
  }
  rule(
    section,
    'above 2^31-1 ends the connection',
    [grow(0, LARGEST_WINDOW - DEFAULT_WINDOW), roundTrip, grow(0, 1)],
    goaway('FLOW_CONTROL_ERROR'),
  )
  rule(
    section,
    'above 2^31-1 resets the stream',
    [open(), grow(1, LARGEST_WINDOW - DEFAULT_WINDOW), roundTrip, grow(1, 1)],
    reset(1, 'FLOW_CONTROL_ERROR'),
  )
  rule(
    section,
    'above 2^31-1 by SETTINGS ends the connection',
    [open(), grow(1, 1), settings([settingIds.initialWindowSize, LARGEST_WINDOW])],
    goaway('FLOW_CONTROL_ERROR'),
  )
}

{
  const section = '8.1, 8.1.1: requests'
  rule(
    section,
    'trailers end a request',
    [open(), data(1, 4), rawFrame('headers', whole, 1, rawField('x', 'y'))],
    served(1, '4'),
  )
  rule(
    section,
    'trailers without DATA end a request',
    [open(), rawFrame('headers', whole, 1, rawField('x', 'y'))],
    served(1, '0'),
  )
  rule(section, 'empty trailers end a request', [open(), rawFrame('headers', whole, 1)], served(1, '0'))
  rule(
    section,
    'trailers without END_STREAM are malformed',
    [open(), data(1, 4), rawFrame('headers', END_HEADERS, 1, rawField('x', 'y'))],
    reset(1, 'PROTOCOL_ERROR'),
  )
  for (const [name, block] of [
    ['pseudo-header fields', rawField(':path', '/')],
    ['an upper-case name', rawField('X', 'y')],
    ['a line break', rawField('x', 'a\r\nb')],
    ['a connection-specific field', rawField('connection', 'close')],
    ['transfer-encoding', rawField('transfer-encoding', 'chunked')],
  ] as const)
    rule(
      section,
      `trailers with ${name} are malformed`,
      [open(), rawFrame('headers', whole, 1, block)],
      reset(1, 'PROTOCOL_ERROR'),
    )
  const lengths: [name: string, length: string, frames: Buffer[], body?: string][] = [
    ['matches one frame', '5', [data(1, 5, END_STREAM)], '5'],
    ['matches several frames', '9', [data(1, 5), data(1, 4), end()], '9'],
    ['matches before trailers', '5', [data(1, 5), rawFrame('headers', whole, 1, rawField('x', 'y'))], '5'],
    ['is 0 and the body empty', '0', [end()], '0'],
    ['is above one frame', '6', [data(1, 5, END_STREAM)]],
    ['is above several frames', '6', [data(1, 3), data(1, 2), end()]],
    ['is below one frame', '4', [data(1, 5, END_STREAM)]],
    ['is below several frames', '4', [data(1, 3), data(1, 2)]],
    ['is 0 and the body not empty', '0', [data(1, 1)]],
    ['is above an empty body', '1', [end()]],
    [
      'is above a body that ends with trailers',
      '6',
      [data(1, 5), rawFrame('headers', whole, 1, rawField('x', 'y'))],
    ],
  ]
  for (const [name, length, frames, body] of lengths)
    rule(
      section,
      `a content-length that ${name} is ${body === undefined ? 'malformed' : 'served'}`,
      [open(1, post(length)), ...frames],
      body === undefined ? reset(1, 'PROTOCOL_ERROR') : served(1, body),
    )
  rule(
    section,
    'a content-length without a body is malformed',
    [rawFrame('headers', whole, 1, post('1'))],
    reset(1, 'PROTOCOL_ERROR'),
  )
  rule(
    section,
    'a content-length of 0 without a body is served',
    [rawFrame('headers', whole, 1, post('0'))],
    served(1, '0'),
  )
  rule(
    section,
    'a HEAD or GET with a body is served',
    [open(1, request()), data(1, 3, END_STREAM)],
    served(1, '3'),
  )
  rule(
    section,
    'a content-length that does not match while the reply waits resets the stream',
    [open(1, post('2', '/held')), data(1, 3), roundTrip, release],
    reset(1, 'PROTOCOL_ERROR'),
  )
}

{
  const section = '8.2, 8.3: header fields'
  const bad: [name: string, block: Buffer][] = [
    ...[':method', ':scheme', ':path', ':authority'].flatMap((name): [string, Buffer][] => [
      [`without ${name}`, request({ [name]: undefined })],
      [`with an empty ${name}`, request({ [name]: '' })],
      [`with ${name} twice`, Buffer.concat([request(), rawField(name, '/')])],
      [
        `with ${name} after a field`,
        Buffer.concat([request({ [name]: undefined }), rawField('x', 'y'), rawField(name, '/')]),
      ],
    ]),
    ['with :status', Buffer.concat([rawField(':status', '200'), request()])],
    ['with an unknown pseudo-header field', Buffer.concat([rawField(':x', 'y'), request()])],
    ['with :protocol, which no setting allows', request({ ':method': 'CONNECT', ':protocol': 'websocket' })],
    ['with a path that does not start with a slash', request({ ':path': 'a' })],
    ['GET *', request({ ':path': '*' })],
    ['CONNECT without an authority', fields([':method', 'CONNECT'])],
    ['CONNECT with a path', request({ ':method': 'CONNECT', ':scheme': undefined })],
    ['CONNECT with a scheme', request({ ':method': 'CONNECT', ':path': undefined })],
    ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map(
      (name): [string, Buffer] => [`with ${name}`, request({}, [name, 'x'])],
    ),
    ['with te: gzip', request({}, ['te', 'gzip'])],
    ...['X', '', 'a b', 'a:', 'a\n', '\xe4'].map((name): [string, Buffer] => [
      `with the name ${JSON.stringify(name)}`,
      Buffer.concat([
        request(),
        Buffer.from([0, name.length]),
        Buffer.from(name, 'latin1'),
        Buffer.from([1, 0x61]),
      ]),
    ]),
    ...['a\0', 'a\r', 'a\n'].map((value): [string, Buffer] => [
      `with the value ${JSON.stringify(value)}`,
      request({}, ['x', value]),
    ]),
    ...['', '-1', 'a', '1, 1'].map((value): [string, Buffer] => [
      `with content-length: ${value}`,
      request({}, ['content-length', value]),
    ]),
    ['with two lengths', request({}, ['content-length', '0'], ['content-length', '1'])],
  ]
  for (const [name, block] of bad)
    rule(
      section,
      `a request ${name} is malformed`,
      [rawFrame('headers', whole, 1, block)],
      reset(1, 'PROTOCOL_ERROR'),
    )
  const good: [name: string, block: Buffer][] = [
    ['with a host and no authority', request({ ':authority': undefined }, ['host', 'a'])],
    ['with te: trailers', request({}, ['te', 'trailers'])],
    [
      'with pseudo-header fields in another order',
      fields([':path', '/'], [':authority', 'a'], [':scheme', 'http'], [':method', 'GET']),
    ],
    ['with an empty field', request({}, ['x', ''])],
    ['with whitespace around a value', request({}, ['content-length', ' 0\t'])],
    ['OPTIONS *', request({ ':method': 'OPTIONS', ':path': '*' })],
    ['CONNECT', fields([':method', 'CONNECT'], [':authority', 'a:443'])],
    ['with cookies in several fields', request({}, ['cookie', 'a=b'], ['cookie', 'c=d'])],
  ]
  for (const [name, block] of good)
    rule(section, `a request ${name} is served`, [rawFrame('headers', whole, 1, block)], served(1, '0'))
}

for (const [section, list] of Object.entries(cases)) {
  describe(section, () => {
    for (const { name, steps, outcome, options } of list) {
      test(name, async (t) => {
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
      })
    }
  })
}

describe('3.4: the preface', () => {
  const request = get()
  for (const [name, bytes, outcome] of [
    ['with a request in one write is served', [clientPreface, settings(), request], served(1)],
    ['without SETTINGS ends the connection', [clientPreface, request], goaway('PROTOCOL_ERROR')],
    ['with PING first ends the connection', [clientPreface, ping(), settings()], goaway('PROTOCOL_ERROR')],
    ['with an acknowledgement first ends the connection', [clientPreface, ack], goaway('PROTOCOL_ERROR')],
    [
      'with an unknown frame first ends the connection',
      [clientPreface, rawFrame(UNKNOWN_TYPE, 0, 0)],
      goaway('PROTOCOL_ERROR'),
    ],
    [
      'that is not that of HTTP/2 ends the connection',
      [Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n')],
      goaway('PROTOCOL_ERROR'),
    ],
    [
      'of HTTP/3 ends the connection',
      [Buffer.from('PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n'), settings()],
      goaway('PROTOCOL_ERROR'),
    ],
  ] as const) {
    test(name, async (t) => {
      const server = await startPort(t, { http })
      const client = new Client(await rawHttp2Connection(t, server.port))
      client.send(...bytes)
      await outcome(client)
      assert.equal(client.raw.frames[0]?.type, frameTypes.settings)
      await assertClean(server, client)
    })
  }

  test('of the server has its settings', async (t) => {
    const { client } = await start(t, {
      limits: { concurrentStreamsMax: 7, streamWindowBytes: 1000, headerBytesMax: 20_000 },
    })
    await client.until(() => client.ofType('settings')[0])
    const [first] = client.raw.frames
    assert.deepEqual([first?.type, first?.flags, first?.stream], [frameTypes.settings, 0, 0])
    const values = new Map<number, number>()
    const payload = first?.payload ?? Buffer.alloc(0)
    for (let at = 0; at < payload.length; at += 6)
      values.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2))
    assert.equal(values.get(settingIds.maxConcurrentStreams), 7)
    assert.equal(values.get(settingIds.initialWindowSize), 1000)
    assert.equal(values.get(settingIds.maxHeaderListSize), 20_000)
  })

  test('and requests may come byte by byte', async (t) => {
    const server = await startPort(t, { http })
    const client = new Client(await rawHttp2Connection(t, server.port))
    const [start, end] = [postRoot.subarray(0, 3), postRoot.subarray(3)]
    const frames = [
      clientPreface,
      settings([settingIds.initialWindowSize, 3]),
      ping(),
      rawFrame('headers', PADDED, 1, padded(start, 2)),
      rawFrame('continuation', END_HEADERS, 1, end),
      data(1, 3),
      data(1, padded(Buffer.alloc(4), 3), PADDED | END_STREAM),
      get(3),
    ]
    for (const byte of Buffer.concat(frames)) {
      client.raw.socket.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    await both(served(1, '7'), served(3, '0'))(client)
    await assertClean(server, client)
  })

  test('and hundreds of requests may come in one write', async (t) => {
    const { server, client } = await start(t)
    const streams = Array.from({ length: 200 }, (_, at) => 2 * at + 1)
    client.send(...streams.flatMap((id) => [open(id), data(id, id % 50), ping(), end(id)]))
    for (const id of streams) await served(id, String(id % 50))(client)
    assert.equal(client.ofType('ping').length, 200)
    await assertClean(server, client)
  })
})

describe('6.9: windows of the client', () => {
  const { initialWindowSize, maxFrameSize } = settingIds
  const bodyOf = (client: Client, stream = 1) => client.reply(stream).body.length

  test('a stream sends as much as its window allows', async (t) => {
    const { server, client } = await start(t, {}, rawSettings([initialWindowSize, 3]))
    client.send(get(1, '/large/10'))
    await client.until(() => bodyOf(client) === 3)
    await client.roundTrip()
    for (const bytes of [1, 2, 1]) {
      const before = bodyOf(client)
      client.send(grow(1, bytes))
      await client.until(() => bodyOf(client) > before)
      await client.roundTrip()
      assert.equal(bodyOf(client), before + bytes)
    }
    assert.equal(client.reply(1).hasEnded, false)
    client.send(grow(1, 1000))
    assert.equal((await client.ended(1)).body.length, 10)
    await assertClean(server, client)
  })

  test('a window of exactly the body is enough, and an empty body needs none', async (t) => {
    const { client } = await start(t, {}, rawSettings([initialWindowSize, 10]))
    client.send(get(1, '/large/10'))
    assert.equal((await client.ended(1)).body.length, 10)
    client.send(settings([initialWindowSize, 0]), get(3, '/large/0'), get(5, '/status/204'))
    assert.equal((await client.ended(3)).status, '200')
    assert.equal((await client.ended(5)).status, '204')
  })

  test('the connection sends as much as its window allows, of all streams together', async (t) => {
    const { server, client } = await start(t, {}, rawSettings([initialWindowSize, 1_000_000]))
    client.send(get(1, '/large/60000'), get(3, '/large/60000'), get(5))
    const sent = () => bodyOf(client, 1) + bodyOf(client, 3) + bodyOf(client, 5)
    await client.until(() => sent() === DEFAULT_WINDOW)
    await client.roundTrip()
    assert.equal(sent(), DEFAULT_WINDOW)
    client.send(grow(0, 1))
    await client.until(() => sent() === DEFAULT_WINDOW + 1)
    await client.roundTrip()
    assert.equal(sent(), DEFAULT_WINDOW + 1)
    client.send(grow(0, 60_000))
    for (const id of [1, 3]) assert.equal((await client.ended(id)).body.length, 60_000)
    await served(5, '0')(client)
    await assertClean(server, client)
  })

  test('a stream without a window does not hold up others', async (t) => {
    const { client } = await start(t, {}, rawSettings([initialWindowSize, 0]))
    client.send(get(1, '/large/10'), get(3, '/large/10'), grow(3, 10))
    assert.equal((await client.ended(3)).body.length, 10)
    assert.equal(bodyOf(client, 1), 0)
    client.send(grow(1, 10))
    assert.equal((await client.ended(1)).body.length, 10)
  })

  test('streams that wait for the window of the connection are closed by a reset', async (t) => {
    const { server, client } = await start(t, {}, rawSettings([initialWindowSize, 1_000_000]))
    client.send(get(1, '/large/200000'), get(3, '/large/70000'))
    const sent = () => bodyOf(client, 1) + bodyOf(client, 3)
    await client.until(() => sent() === DEFAULT_WINDOW)
    client.send(resetFrame(1))
    await eventually(() => server.traffic().inFlight.http === 1, Boolean, { pollMs: 1 })
    client.send(grow(0, 70_000))
    assert.equal((await client.ended(3)).body.length, 70_000)
    await assertClean(server, client)
  })

  test('INITIAL_WINDOW_SIZE changes the windows of replies that wait', async (t) => {
    const { client } = await start(t, {}, rawSettings([initialWindowSize, 4]))
    client.send(get(1, '/large/20'), get(3, '/large/20'))
    await client.until(() => bodyOf(client, 1) === 4 && bodyOf(client, 3) === 4)
    client.send(settings([initialWindowSize, 6]))
    await client.until(() => bodyOf(client, 1) === 6 && bodyOf(client, 3) === 6)
    await client.roundTrip()
    assert.equal(bodyOf(client), 6)
    client.send(settings([initialWindowSize, 1000]))
    for (const id of [1, 3]) assert.equal((await client.ended(id)).body.length, 20)
  })

  test('INITIAL_WINDOW_SIZE makes windows negative', async (t) => {
    const { server, client } = await start(t, {}, rawSettings([initialWindowSize, 10]))
    client.send(get(1, '/large/30'))
    await client.until(() => bodyOf(client) === 10)
    // 10 were sent: the window is -7, then 0, then 2.
    client.send(settings([initialWindowSize, 3]))
    await client.roundTrip()
    client.send(grow(1, 7))
    await client.roundTrip()
    assert.equal(bodyOf(client), 10)
    client.send(grow(1, 2))
    await client.until(() => bodyOf(client) === 12)
    client.send(settings([initialWindowSize, 100]))
    assert.equal((await client.ended(1)).body.length, 30)
    await assertClean(server, client)
  })

  test('an empty piece of a reply does not change a negative window', async (t) => {
    const waiting = Promise.withResolvers<{ write(text: string): void; end(text: string): void }>()
    const { client } = await start(
      t,
      {
        grpc: {
          handle(stream) {
            stream.respond({ ':status': 200 })
            stream.write('0123456789')
            waiting.resolve(stream)
          },
          stop() {},
          abort() {},
        },
      },
      rawSettings([initialWindowSize, 10]),
    )
    client.send(rawFrame('headers', whole, 1, request({}, ['content-type', 'application/grpc'])))
    await client.until(() => bodyOf(client) === 10)
    client.send(settings([initialWindowSize, 5]))
    await client.roundTrip()
    const stream = await waiting.promise
    stream.write('')
    stream.end('abcdefghij')
    await client.roundTrip()
    client.send(grow(1, 5))
    await client.roundTrip()
    assert.equal(bodyOf(client), 10, 'the window is 0')
    client.send(grow(1, 10))
    assert.equal((await client.ended(1)).body.toString(), '0123456789abcdefghij')
  })

  test('MAX_FRAME_SIZE limits frames, and longer ones than 16 KiB need it', async (t) => {
    const { client } = await start(t, {}, rawSettings([initialWindowSize, 1_000_000]))
    client.send(grow(0, 1_000_000), get(1, '/large/200000'))
    assert.equal((await client.ended(1)).body.length, 200_000)
    const longest = (stream: number) =>
      Math.max(...client.framesOf(stream).map(({ payload }) => payload.length))
    assert.equal(longest(1), FRAME_BYTES)
    client.send(settings([maxFrameSize, 20_000]), get(3, '/large/200000'), get(5, '/head/30000'))
    assert.equal((await client.ended(3)).body.length, 200_000)
    assert.equal(longest(3), 20_000)
    assert.equal((await client.ended(5)).headers['x-long']?.length, 30_000)
    assert.equal(longest(5), 20_000)
    client.send(settings([maxFrameSize, 2 ** 24 - 1]), get(7, '/large/200000'))
    assert.equal((await client.ended(7)).body.length, 200_000)
    assert.ok(longest(7) > 20_000)
    client.send(settings([maxFrameSize, FRAME_BYTES]), get(9, '/large/200000'))
    await client.ended(9)
    assert.equal(longest(9), FRAME_BYTES)
  })
})

describe('6.9: windows of the server', () => {
  const limits = { streamWindowBytes: 1000 }
  const granted = (client: Client, stream: number) =>
    client
      .ofType('windowUpdate')
      .filter((frame) => frame.stream === stream)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)

  test('a body that is not read fits into the window of its stream, and no byte more', async (t) => {
    const { server, client } = await start(t, { limits })
    client.send(ack, open(1, post(undefined, '/held')), data(1, 999), data(1, 1), data(1, 0))
    await ignored(client)
    assert.equal(granted(client, 1), 0)
    client.send(data(1, 1))
    await goaway('FLOW_CONTROL_ERROR')(client)
    await release()
    await assertClean(server, client)
  })

  test('padding counts', async (t) => {
    const { client } = await start(t, { limits })
    client.send(ack, open(1, post(undefined, '/held')), data(1, padded(Buffer.alloc(800), 199), PADDED))
    await ignored(client)
    client.send(data(1, padded(Buffer.alloc(200), 199), PADDED), data(1, 800))
    await goaway('FLOW_CONTROL_ERROR')(client)
  })

  test('padding is given back', async (t) => {
    const { client } = await start(t, { limits })
    client.send(ack, open())
    for (let at = 1; at <= 10; at++) {
      client.send(
        data(1, padded(Buffer.alloc(1), 255), PADDED),
        data(1, padded(Buffer.alloc(0), 255), PADDED),
      )
      await client.until(() => granted(client, 1) >= at * 513 - 500)
    }
    client.send(end())
    await served(1, '10')(client)
  })

  test('a body that is read gets its window back, many times', async (t) => {
    const { server, client } = await start(t, { limits })
    client.send(ack, open(1, post('50000')))
    for (let sent = 0; sent < 50_000; ) {
      const window = () => 1000 + granted(client, 1) - sent
      await client.until(() => window() > 0)
      const bytes = Math.min(window(), 50_000 - sent)
      sent += bytes
      client.send(data(1, bytes))
    }
    client.send(end())
    await served(1, '50000')(client)
    await assertClean(server, client)
  })

  test('a body that is read late gets its window back then', async (t) => {
    const { client } = await start(t, { limits })
    client.send(ack, open(1, post(undefined, '/held')), data(1, 1000))
    await client.roundTrip()
    assert.equal(granted(client, 1), 0)
    await release()
    await client.until(() => granted(client, 1) === 1000)
    client.send(data(1, 1000, END_STREAM))
    await served(1, '2000')(client)
  })

  test('until its SETTINGS are acknowledged, streams have the default window', async (t) => {
    const { client } = await start(t, { limits })
    client.send(open(1, post(undefined, '/held')), data(1, FRAME_BYTES), data(1, FRAME_BYTES), ack)
    await ignored(client)
    // What the client may send is negative now, and the server reads what it has.
    await release()
    await client.until(() => granted(client, 1) >= 2 * FRAME_BYTES + DEFAULT_WINDOW - 1000 - DEFAULT_WINDOW)
    client.send(data(1, 10, END_STREAM))
    await served(1, String(2 * FRAME_BYTES + 10))(client)
  })

  test('what was read before SETTINGS are acknowledged is given back after it', async (t) => {
    const { client } = await start(t, { limits })
    // Less than half of the default window, and more than the new one: the client may send nothing until it learns of it.
    client.send(open(), data(1, FRAME_BYTES), data(1, 1000))
    await client.roundTrip()
    client.send(ack)
    await client.until(() => granted(client, 1) === FRAME_BYTES + 1000)
    client.send(data(1, 1000, END_STREAM))
    await served(1, String(FRAME_BYTES + 2000))(client)
  })

  test('the connection gets its window back whether bodies are read or not', async (t) => {
    const { client } = await start(t)
    let sent = 0
    for (let id = 1; id < 20; id += 2) {
      client.send(open(id, post(undefined, '/held')))
      for (let at = 0; at < 3; at++) {
        await client.until(() => DEFAULT_WINDOW + granted(client, 0) - sent >= FRAME_BYTES)
        client.send(data(id, FRAME_BYTES))
        sent += FRAME_BYTES
      }
    }
    await ignored(client)
    client.send(...Array.from({ length: 10 }, (_, at) => end(2 * at + 1)))
    await client.roundTrip()
    await release()
    for (let id = 1; id < 20; id += 2) await served(id, String(3 * FRAME_BYTES))(client)
  })
})

describe('8.1: replies', () => {
  test('have a date', async (t) => {
    const { client } = await start(t)
    client.send(get())
    const { date = '' } = (await client.ended(1)).headers
    assert.equal(new Date(date).toUTCString(), date)
  })

  test('a request that ends while its early reply waits for the client is over once', async (t) => {
    const ends: unknown[] = []
    const record = { run: (work: () => void) => work(), end: (how: unknown) => ends.push(how) }
    const { server, client } = await start(
      t,
      {
        http: () => ({ status: 200, headers: {}, body: 'early' }),
        observer: { start: () => record as unknown as ObservedRequest },
      },
      rawSettings([settingIds.initialWindowSize, 0]),
    )
    client.send(open())
    await eventually(() => client.ofType('headers').length === 1)
    client.send(end())
    // The server waits so long before it asks a client to send no more.
    await new Promise((resolve) => setTimeout(resolve, limits.lingerMs * 1.2))
    client.send(grow(1, 100))
    assert.equal((await client.ended(1)).body.toString(), 'early')
    await client.roundTrip()
    assert.deepEqual(client.ofType('reset'), [])
    assert.deepEqual(ends, [{ status: 200, grpcStatus: undefined, aborted: false }])
    assert.deepEqual(server.traffic().inFlight, { http: 0, grpc: 0 })
  })

  test('a header block that is longer than a frame continues, and no other frame comes between', async (t) => {
    const { server, client } = await start(t)
    client.send(get(1, '/head/40000'), get(3), get(5, '/head/100000'), get(7), ping())
    for (const id of [3, 7]) await served(id)(client)
    for (const [id, length] of [
      [1, 40_000],
      [5, 100_000],
    ] as const) {
      const reply = await client.ended(id)
      assert.equal(reply.headers['x-long']?.length, length)
      assert.equal(reply.body.toString(), 'body')
      const at = client.raw.frames.findIndex(
        ({ type, stream }) => type === frameTypes.headers && stream === id,
      )
      const parts = client.raw.frames.slice(at, at + Math.ceil(length / FRAME_BYTES))
      assert.deepEqual(
        parts.map(({ type, flags, stream }) => [type, flags, stream]),
        parts.map((_, part) => [
          part === 0 ? frameTypes.headers : frameTypes.continuation,
          part === parts.length - 1 ? END_HEADERS : 0,
          id,
        ]),
      )
    }
    await assertClean(server, client)
  })

  test('a reply of a long header block alone ends with HEADERS', async (t) => {
    const { client } = await start(t)
    client.send(rawFrame('headers', whole, 1, request({ ':method': 'HEAD', ':path': '/head/40000' })))
    const reply = await client.ended(1)
    assert.equal(reply.headers['x-long']?.length, 40_000)
    assert.equal(reply.headers['content-length'], '4')
    assert.deepEqual(
      client.framesOf(1).map(({ type, flags }) => [type, flags]),
      [
        [frameTypes.headers, END_STREAM],
        [frameTypes.continuation, 0],
        [frameTypes.continuation, END_HEADERS],
      ],
    )
  })

  test('the table size is 0 from the first block on, and named again after HEADER_TABLE_SIZE', async (t) => {
    const { client } = await start(t, {}, rawSettings([settingIds.headerTableSize, 0]))
    const firstByte = async (stream: number) => {
      client.send(get(stream))
      await client.ended(stream)
      return client.framesOf(stream)[0]?.payload[0]
    }
    assert.equal(await firstByte(1), 0x20)
    assert.notEqual(await firstByte(3), 0x20)
    client.send(settings([settingIds.headerTableSize, 8192]))
    assert.equal(await firstByte(5), 0x20)
    assert.notEqual(await firstByte(7), 0x20)
  })

  test('no block adds to the table', async (t) => {
    const { client } = await start(t)
    for (const [stream, path] of [
      [1, '/'],
      [3, '/status/404'],
      [5, '/head/100'],
      [7, '/status/500'],
    ] as const) {
      client.send(get(stream, path))
      await client.ended(stream)
      const { payload } = client.framesOf(stream)[0] as RawFrame
      const decoder = new HpackDecoder({ headerBytesMax: 100_000, headerFieldsMax: 100 })
      assert.deepEqual(decoder.decode(payload), client.reply(stream).blocks[0])
    }
  })

  for (const [name, method, path, status, length] of [
    ['HEAD', 'HEAD', '/large/1000', '200', '1000'],
    ['204', 'GET', '/status/204', '204', undefined],
    ['304', 'GET', '/status/304', '304', undefined],
    ['an empty body', 'GET', '/large/0', '200', '0'],
  ] as const) {
    test(`${name}: one frame is the whole reply`, async (t) => {
      const { client } = await start(t)
      client.send(rawFrame('headers', whole, 1, request({ ':method': method, ':path': path })))
      const reply = await client.ended(1)
      assert.equal(reply.status, status)
      assert.equal(reply.headers['content-length'], length)
      await client.roundTrip()
      assert.deepEqual(
        client.framesOf(1).map(({ type, flags }) => [type, flags]),
        [[frameTypes.headers, whole]],
      )
    })
  }

  test('a client that expects it gets 100 when the body is wanted, and then the response', async (t) => {
    const { server, client } = await start(t)
    const expecting = (stream: number, path: string, length: string) =>
      open(
        stream,
        request({ ':method': 'POST', ':path': path }, ['expect', '100-continue'], ['content-length', length]),
      )
    client.send(expecting(1, '/', '5'))
    await client.until(() => client.reply(1).blocks.length === 1)
    assert.deepEqual(client.reply(1).blocks, [[':status', '100']])
    assert.equal(client.reply(1).hasEnded, false)
    client.send(data(1, 5, END_STREAM))
    await served(1, '5')(client)
    assert.equal(client.reply(1).blocks.length, 2)
    client.send(expecting(3, '/rejected', '500'))
    const rejected = await client.ended(3)
    assert.equal(rejected.status, '413')
    assert.equal(rejected.blocks.length, 1)
    await assertClean(server, client)
  })

  test('a whole reply to a request that has not ended is followed by RST_STREAM with NO_ERROR', async (t) => {
    const { server, client } = await start(t)
    client.send(open(1, post(undefined, '/large/10')))
    assert.equal((await client.ended(1)).status, '200')
    const reset = await client.until(() => client.framesOf(1).find(({ type }) => type === frameTypes.reset))
    assert.equal(reset.payload.readUInt32BE(0), errorCodes.NO_ERROR)
    client.send(data(1, 10), rawFrame('headers', whole, 1, rawField('x', 'y')), get(3))
    await served(3)(client)
    await assertClean(server, client)
  })

  test('trailers come after the body, also when it waits for a window', async (t) => {
    const { client } = await start(
      t,
      {
        grpc: {
          handle(stream) {
            stream.respond({ ':status': 200 })
            stream.setTrailers({ 'grpc-status': '0' })
            stream.end('0123456789')
          },
          stop() {},
          abort() {},
        },
      },
      rawSettings([settingIds.initialWindowSize, 4]),
    )
    client.send(rawFrame('headers', whole, 1, request({}, ['content-type', 'application/grpc'])))
    await client.until(() => client.reply(1).body.length === 4)
    await client.roundTrip()
    assert.equal(client.reply(1).blocks.length, 1)
    client.send(grow(1, 6))
    const reply = await client.ended(1)
    assert.equal(reply.body.toString(), '0123456789')
    assert.deepEqual(reply.blocks[1], ['grpc-status', '0'])
    const last = client.framesOf(1).at(-1)
    assert.deepEqual([last?.type, last?.flags], [frameTypes.headers, whole])
  })
})
