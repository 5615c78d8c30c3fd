import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { connect as connectTcp, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { HttpHandler } from '@berth/server/port/http.ts'
import fc from 'fast-check'
import { eventually } from '../support/eventually.ts'
import { http2Request, http2Session, startPort } from '../support/http/port.ts'
import {
  clientPreface,
  END_HEADERS,
  END_STREAM,
  getRoot,
  postRoot,
  rawField,
  rawFrame,
  rawSettings,
  uint32,
} from '../support/http/raw-http2.ts'

/**
 * Random frames, and what a client of Node sends with errors in it. The server continues, has no defect, and holds nothing of a connection
 * that is closed. fast-check prints the seed and the smallest failing case.
 */

const RUNS = 150
/** Connections at the same time. */
const VOLLEY = 8

const http: HttpHandler = async (request) => {
  const { url } = request
  if (url === '/large') return { status: 200, headers: {}, body: Buffer.alloc(300_000) }
  if (url === '/parts')
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        for await (const chunk of request.stream()) yield chunk
        yield Buffer.alloc(100_000)
      })(),
    }
  return {
    status: 200,
    headers: { x: 'y'.repeat(30_000) },
    body: String((await request.body(1_000_000)).length),
  }
}

/** Bytes in the pieces in which they are written. */
type Writes = readonly Buffer[]

const streamId = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(1, 3, 5, 7, 9) },
  { weight: 1, arbitrary: fc.constantFrom(0, 2, 2 ** 31 - 1, 2 ** 31 + 1) },
)
const path = fc.constantFrom('/', '/large', '/parts', '/other')
const request = fc
  .record({
    path,
    isPost: fc.boolean(),
    length: fc.option(fc.constantFrom('0', '5', '100', 'x'), { nil: undefined }),
  })
  .map(({ path, isPost, length }) =>
    Buffer.concat([
      rawField(':method', isPost ? 'POST' : 'GET'),
      rawField(':scheme', 'http'),
      rawField(':authority', 'a'),
      rawField(':path', path),
      ...(length === undefined ? [] : [rawField('content-length', length)]),
      ...(isPost ? [rawField('expect', '100-continue')] : []),
    ]),
  )
const block = fc.oneof(
  { weight: 4, arbitrary: request },
  { weight: 2, arbitrary: fc.constantFrom(getRoot, postRoot) },
  { weight: 1, arbitrary: fc.constantFrom(rawField('x', 'y'), Buffer.alloc(0)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
)
const headFlags = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(END_HEADERS, END_HEADERS | END_STREAM) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 255 }) },
)
const dataFlags = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 0, END_STREAM) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 255 }) },
)
const number32 = fc.oneof(fc.constantFrom(0, 1, 10, 65_535, 2 ** 31 - 1, 2 ** 32 - 1), fc.nat(100_000))
const setting = fc.tuple(
  fc.integer({ min: 0, max: 8 }),
  fc.oneof(fc.constantFrom(0, 1, 3, 16_384, 65_535, 1_000_000), number32),
)

const validFrame = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(headFlags, streamId, block).map((parts) => rawFrame('headers', ...parts)),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(dataFlags, streamId, fc.oneof(fc.nat(20), fc.nat(16_384)))
      .map(([flags, stream, bytes]) => rawFrame('data', flags, stream, Buffer.alloc(bytes, 7))),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(headFlags, streamId, block).map((parts) => rawFrame('continuation', ...parts)),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(streamId, number32)
      .map(([stream, bytes]) => rawFrame('windowUpdate', 0, stream, uint32(bytes))),
  },
  {
    weight: 2,
    arbitrary: fc
      .array(setting, { maxLength: 4 })
      .map((settings) => rawFrame('settings', 0, 0, rawSettings(...settings))),
  },
  { weight: 1, arbitrary: fc.constant(rawFrame('settings', 1, 0)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(streamId, number32)
      .map(([stream, code]) => rawFrame('reset', 0, stream, uint32(code))),
  },
  { weight: 1, arbitrary: fc.constantFrom(0, 1).map((flags) => rawFrame('ping', flags, 0, Buffer.alloc(8))) },
  {
    weight: 1,
    arbitrary: streamId.map((stream) => rawFrame('priority', 0, stream, Buffer.from([0, 0, 0, 11, 1]))),
  },
  { weight: 1, arbitrary: fc.constant(rawFrame('goaway', 0, 0, Buffer.alloc(8))) },
)
const anyFrame = fc
  .tuple(
    fc.nat(12),
    fc.integer({ min: 0, max: 255 }),
    streamId,
    fc.uint8Array({ maxLength: 30 }),
    fc.option(fc.nat(20_000)),
  )
  .map(([type, flags, stream, payload, length]) =>
    rawFrame(type, flags, stream, payload, length ?? payload.length),
  )
const frames = fc.array(fc.oneof({ weight: 20, arbitrary: validFrame }, { weight: 1, arbitrary: anyFrame }), {
  maxLength: 40,
})

/** Cuts bytes at up to five places. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 })
function cut(bytes: Buffer, at: readonly number[]): Writes {
  const places = [0, ...at.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

const frameWrites = fc
  .tuple(fc.array(setting, { maxLength: 3 }), frames, cuts)
  .map(([settings, list, at]) =>
    cut(Buffer.concat([clientPreface, rawFrame('settings', 0, 0, rawSettings(...settings)), ...list]), at),
  )

interface Change {
  readonly at: number
  readonly kind: 'flip' | 'insert' | 'delete' | 'truncate' | 'repeat'
  readonly bytes: Uint8Array
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  kind: fc.constantFrom('flip', 'flip', 'flip', 'insert', 'delete', 'truncate', 'repeat'),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }),
})

/** The preface stays: without it another protocol is spoken. */
function mutate(traffic: Buffer, changes: readonly Change[]): Buffer {
  let mutated = Buffer.from(traffic)
  for (const { at, kind, bytes } of changes) {
    const start = clientPreface.length
    const place = start + Math.floor(at * (mutated.length - start))
    const [before, after] = [mutated.subarray(0, place), mutated.subarray(place)]
    if (kind === 'flip' && after.length > 0)
      mutated[place] = (mutated[place] as number) ^ (1 << ((bytes[0] as number) % 8))
    else if (kind === 'insert') mutated = Buffer.concat([before, bytes, after])
    else if (kind === 'delete') mutated = Buffer.concat([before, after.subarray(bytes.length)])
    else if (kind === 'truncate') mutated = Buffer.from(before)
    else if (kind === 'repeat') mutated = Buffer.concat([before, after.subarray(0, 200), after])
  }
  return mutated
}

/** What a client of node:http2 sends for requests of several kinds. */
async function recordTraffic(t: TestContext, port: number): Promise<Buffer> {
  const sent: Buffer[] = []
  const proxy = createServer((client) => {
    const server = connectTcp(port, '127.0.0.1')
    client.on('data', (chunk) => {
      sent.push(chunk)
      server.write(chunk)
    })
    server.pipe(client)
    for (const socket of [client, server]) socket.on('error', () => undefined)
    client.on('close', () => server.destroy())
  })
  t.after(() => proxy.close())
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const session = connectHttp2(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  const post = { ':method': 'POST', 'x-custom': 'value', cookie: 'a=b' }
  await Promise.all([
    http2Request(session, { ':path': '/' }),
    http2Request(session, { ':path': '/large' }),
    http2Request(session, { ...post, ':path': '/parts' }, Buffer.alloc(20_000)),
    http2Request(session, { ...post, ':path': '/' }, 'body'),
    http2Request(session, { ':path': '/', long: 'z'.repeat(20_000) }),
  ])
  session.ping(() => undefined)
  session.settings({ initialWindowSize: 100 })
  const canceled = session.request({ ...post, ':path': '/' }, { endStream: false })
  canceled.on('error', () => undefined)
  canceled.write('start')
  await http2Request(session, { ':path': '/' })
  canceled.close(8)
  await http2Request(session, { ':path': '/' })
  session.destroy()
  return Buffer.concat(sent)
}

/** Writes, and closes the connection, unless the server does it first. Returns what the server has sent. */
function play(port: number, writes: Writes): Promise<number> {
  const socket = connectTcp({ port, host: '127.0.0.1', noDelay: true })
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
  })
  socket.on('error', () => undefined)
  const send = async () => {
    for (const part of writes) {
      if (socket.destroyed) return
      socket.write(part)
      // So that the parts arrive apart, and replies meet what comes later.
      for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
    }
    socket.end()
  }
  void send()
  return new Promise((resolve) => socket.on('close', () => resolve(bytes)))
}

async function assertSurvives(
  t: TestContext,
  writes: (port: number) => Promise<fc.Arbitrary<Writes>>,
): Promise<void> {
  const server = await startPort(t, {
    http,
    limits: {
      abusiveConnectionsPerAddressMax: 1e9,
      stalledReplyMs: 2000,
      streamedBodyWindowMs: 2000,
      idleConnectionMs: 2000,
    },
  })
  const other = http2Session(t, server.url)
  const arbitrary = await writes(server.port)
  let received = 0
  await fc.assert(
    fc.asyncProperty(fc.array(arbitrary, { minLength: VOLLEY, maxLength: VOLLEY }), async (volley) => {
      const sizes = await Promise.all(volley.map((parts) => play(server.port, parts)))
      for (const bytes of sizes) received += bytes
      const reply = await http2Request(other, { ':path': '/', ':method': 'POST' }, 'other')
      assert.equal(reply.body.toString(), '5')
      await eventually(() => server.traffic().inFlight.http === 0, Boolean, { pollMs: 1 })
      assert.deepEqual(server.log.errors, [])
    }),
    { numRuns: RUNS },
  )
  assert.ok(received > 0)
}

test('random sequences of frames neither stop the server nor leave anything behind', (t) =>
  assertSurvives(t, async () => frameWrites))

test('the traffic of a client with errors in it neither stops the server nor leaves anything behind', (t) =>
  assertSurvives(t, async (port) => {
    const traffic = await recordTraffic(t, port)
    return fc
      .tuple(fc.array(change, { maxLength: 4 }), cuts)
      .map(([changes, at]) => cut(mutate(traffic, changes), at))
  }))
