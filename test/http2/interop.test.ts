import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
} from 'node:http2'
import { describe, type TestContext, test } from 'node:test'
import type { HttpHandler } from '@berth/server/port/http.ts'
import { eventually } from '../support/eventually.ts'
import { selfSignedCertificate } from '../support/http/certificate.ts'
import { http2Request, http2Session, startPort } from '../support/http/port.ts'
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  errorCodes,
  frameTypes,
  getRoot,
  type RawHttp2,
  rawFrame,
  rawHttp2,
  rawSettings,
  settingIds,
  uint32,
} from '../support/http/raw-http2.ts'

/** The HTTP/2 client of Node against the port. */

const MIB = 1024 * 1024

/** Bytes that differ everywhere, so that a lost or doubled part shows. */
function pattern(length: number, seed = 0): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; at++) bytes[at] = (at * 31 + (at >> 8) * 17 + seed) & 0xff
  return bytes
}

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** `/echo` returns the body, `/echo-stream` does so while it comes, `/digest` returns its digest, `/large/N` N bytes. */
const http: HttpHandler = async (request) => {
  const [, what, size] = request.url.split('/')
  if (what === 'large') return { status: 200, headers: {}, body: pattern(Number(size)) }
  if (what === 'stream') {
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        const bytes = pattern(Number(size))
        for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
      })(),
    }
  }
  if (what === 'echo-stream') return { status: 200, headers: {}, body: request.stream() }
  if (what === 'digest') {
    const hash = createHash('sha256')
    for await (const chunk of request.stream()) hash.update(chunk)
    return { status: 200, headers: {}, body: hash.digest('hex') }
  }
  return { status: 200, headers: {}, body: await request.body(4 * MIB) }
}

function connect(
  t: TestContext,
  url: string,
  options: Parameters<typeof connectHttp2>[1],
): ClientHttp2Session {
  // The client of Node ends itself when its own bodies take more.
  const session = connectHttp2(url, { ...options, maxSessionMemory: 1000 })
  session.on('error', () => undefined)
  t.after(() => session.destroy())
  return session
}

const tls = selfSignedCertificate()

for (const [name, options] of [
  ['without TLS', {}],
  ['with TLS', { tls }],
] as const) {
  describe(name, () => {
    test('many streams at the same time carry bodies of sizes around frames and windows both ways', async (t) => {
      const server = await startPort(t, { http, ...options })
      const session = http2Session(t, server.url, { ca: tls.cert })
      const sizes = [
        0, 1, 4096, 4097, 16_383, 16_384, 16_385, 32_768, 65_534, 65_535, 65_536, 65_537, 131_071, 300_000,
      ]
      const bodies = sizes.flatMap((size) => [1, 2, 3].map((seed) => pattern(size, seed)))
      for (const path of ['/echo', '/echo-stream']) {
        const replies = await Promise.all(
          bodies.map((body) => http2Request(session, { ':path': path, ':method': 'POST' }, body)),
        )
        for (const [at, body] of bodies.entries()) {
          const reply = replies[at]
          assert.equal(reply?.status, 200)
          assert.equal(digest(reply.body), digest(body), `${body.length} bytes of ${path}`)
          assert.equal(reply.rstCode, constants.NGHTTP2_NO_ERROR)
        }
      }
      await eventually(() => server.traffic().inFlight.http === 0)
      assert.deepEqual(server.log.errors, [])
    })

    test('thousands of requests follow each other on one connection', async (t) => {
      const server = await startPort(t, { http, ...options })
      const session = http2Session(t, server.url, { ca: tls.cert })
      for (let round = 0; round < 20; round++) {
        const replies = await Promise.all(
          Array.from({ length: 100 }, (_, at) =>
            http2Request(
              session,
              { ':path': '/echo', ':method': 'POST', 'x-round': String(round) },
              `${round}-${at}`,
            ),
          ),
        )
        assert.deepEqual(
          replies.map(({ body }) => body.toString()),
          replies.map((_, at) => `${round}-${at}`),
        )
      }
      await eventually(() => server.traffic().inFlight.http === 0)
    })

    test('20 MB go both ways through small windows', async (t) => {
      const server = await startPort(t, { http, ...options, limits: { streamWindowBytes: 20_000 } })
      const session = connect(t, server.url, { ca: tls.cert, settings: { initialWindowSize: 10_000 } })
      const body = pattern(20_000_000)
      const [whole, streamed, uploaded] = await Promise.all([
        http2Request(session, { ':path': '/large/20000000' }),
        http2Request(session, { ':path': '/stream/20000000' }),
        http2Request(session, { ':path': '/digest', ':method': 'POST' }, body),
      ])
      assert.equal(digest(whole.body), digest(body))
      assert.equal(digest(streamed.body), digest(body))
      assert.equal(uploaded.body.toString(), digest(body))
      assert.deepEqual(server.log.errors, [])
    })

    test('20 MB go both ways through large windows and frames', async (t) => {
      const server = await startPort(t, { http, ...options })
      const settings = { initialWindowSize: 8 * MIB, maxFrameSize: MIB }
      const session = connect(t, server.url, { ca: tls.cert, settings })
      session.on('connect', () => session.setLocalWindowSize(8 * MIB))
      const body = pattern(20_000_000)
      const [whole, uploaded] = await Promise.all([
        http2Request(session, { ':path': '/large/20000000' }),
        http2Request(session, { ':path': '/digest', ':method': 'POST' }, body),
      ])
      assert.equal(digest(whole.body), digest(body))
      assert.equal(uploaded.body.toString(), digest(body))
    })

    test('a client that stops reading one reply gets others, and the rest of it when it continues', async (t) => {
      const server = await startPort(t, { http, ...options })
      const session = connect(t, server.url, { ca: tls.cert, settings: { initialWindowSize: 30_000 } })
      for (const path of ['/large/500000', '/stream/500000']) {
        const slow = session.request({ ':path': path })
        const chunks: Buffer[] = []
        await new Promise((resolve) => slow.once('response', resolve))
        for (let round = 0; round < 5; round++) {
          const other = await http2Request(session, { ':path': '/large/20000' })
          assert.equal(other.body.length, 20_000)
        }
        assert.equal(server.traffic().inFlight.http, 1)
        slow.on('data', (chunk: Buffer) => chunks.push(chunk))
        await new Promise((resolve) => slow.on('close', resolve))
        assert.equal(digest(Buffer.concat(chunks)), digest(pattern(500_000)))
      }
    })

    test('clients that reset streams in the middle of both directions leave nothing behind', async (t) => {
      const server = await startPort(t, { http, ...options })
      const session = connect(t, server.url, { ca: tls.cert })
      // What is not read of some streams holds up no others.
      session.on('connect', () => session.setLocalWindowSize(8 * MIB))
      const streams: ClientHttp2Stream[] = []
      for (let at = 0; at < 60; at++) {
        const stream = session.request({ ':path': '/echo-stream', ':method': 'POST' })
        stream.on('error', () => undefined)
        stream.write(pattern(200_000))
        streams.push(stream)
      }
      // Half of them have replies on their way, the others only requests.
      await Promise.all(
        streams.slice(0, 30).map((stream) => new Promise((resolve) => stream.once('data', resolve))),
      )
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
      await eventually(() => server.traffic().inFlight.http === 0)
      const reply = await http2Request(session, { ':path': '/echo', ':method': 'POST' }, 'after')
      assert.equal(reply.body.toString(), 'after')
      assert.deepEqual(server.log.errors, [])
    })
  })
}

describe('a server that stops', () => {
  const whole = END_STREAM | END_HEADERS
  const goaways = ({ frames }: RawHttp2) =>
    frames
      .filter(({ type }) => type === frameTypes.goaway)
      .map(({ payload }) => [payload.readUInt32BE(0), payload.readUInt32BE(4)])
  const statusFrames = ({ frames }: RawHttp2, id: number) =>
    frames.filter(({ type, stream }) => type === frameTypes.headers && stream === id)
  const LARGEST_STREAM = 2 ** 31 - 1

  async function stopping(t: TestContext) {
    const waiting: (() => void)[] = []
    const server = await startPort(t, {
      http: async () => {
        await new Promise<void>((resolve) => waiting.push(resolve))
        return { status: 200, headers: {}, body: 'done' }
      },
      limits: { stopGraceMs: 20_000 },
    })
    const client = await rawHttp2(t, server.port)
    client.socket.write(rawFrame('headers', whole, 1, getRoot))
    await eventually(() => waiting.length === 1)
    const stopped = server.stop()
    await eventually(() => goaways(client).length === 1)
    assert.deepEqual(goaways(client), [[LARGEST_STREAM, errorCodes.NO_ERROR]])
    await eventually(() => client.frames.some(({ type }) => type === frameTypes.ping))
    const acknowledge = () => client.socket.write(rawFrame('ping', 1, 0, Buffer.alloc(8)))
    return { client, waiting, stopped, acknowledge }
  }

  test('serves requests that cross its first GOAWAY', async (t) => {
    const { client, waiting, stopped, acknowledge } = await stopping(t)
    client.socket.write(rawFrame('headers', whole, 3, getRoot))
    await eventually(() => waiting.length === 2)
    acknowledge()
    await eventually(() => goaways(client).length === 2)
    assert.deepEqual(goaways(client)[1], [3, errorCodes.NO_ERROR])
    for (const finish of waiting) finish()
    await stopped
    await client.closed
    for (const id of [1, 3]) assert.equal(statusFrames(client, id).length, 1)
  })

  test('does not serve requests after its last GOAWAY, and never names a later stream', async (t) => {
    const { client, waiting, stopped, acknowledge } = await stopping(t)
    acknowledge()
    await eventually(() => goaways(client).length === 2)
    assert.deepEqual(goaways(client)[1], [1, errorCodes.NO_ERROR])
    client.socket.write(
      Buffer.concat([
        rawFrame('headers', END_HEADERS, 3, getRoot),
        rawFrame('data', END_STREAM, 3, Buffer.alloc(10)),
        rawFrame('ping', 0, 0, Buffer.from('readtill')),
      ]),
    )
    await eventually(() => client.frames.some(({ payload }) => payload.toString() === 'readtill'))
    assert.equal(waiting.length, 1)
    for (const finish of waiting) finish()
    await stopped
    await client.closed
    assert.equal(statusFrames(client, 1).length, 1)
    assert.equal(statusFrames(client, 3).length, 0)
    for (const [last] of goaways(client).slice(1)) assert.equal(last, 1)
  })

  test('lets a client read what the system has of its last reply', async (t) => {
    const body = Buffer.alloc(1024 * 1024, 'x')
    const server = await startPort(t, {
      http: () => ({ status: 200, headers: {}, body }),
      limits: { stopGraceMs: 20_000 },
    })
    const client = await rawHttp2(
      t,
      server.port,
      rawSettings([settingIds.initialWindowSize, 2 * body.length]),
    )
    client.socket.write(rawFrame('windowUpdate', 0, 0, uint32(2 * body.length)))
    await eventually(() =>
      client.frames.some(({ type, flags }) => type === frameTypes.settings && flags === ACK),
    )
    client.socket.pause()
    client.socket.write(rawFrame('headers', whole, 1, getRoot))
    await eventually(() => server.traffic().inFlight.http === 1 || server.traffic().bytes.sent > body.length)
    // The system has all of it.
    await eventually(() => server.traffic().inFlight.http === 0)
    const stopped = server.stop()
    // Longer than a connection that broke the protocol stays.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    client.socket.write(rawFrame('ping', 0, 0, Buffer.alloc(8)))
    client.socket.resume()
    await stopped
    const received = client.frames
      .filter(({ type }) => type === frameTypes.data)
      .map(({ payload }) => payload)
    assert.equal(Buffer.concat(received).length, body.length)
  })
})
