import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { createUnreadReplies } from '@berth/server/port/bodies/unread-replies.ts'
import type { HttpHandler } from '@berth/server/port/http.ts'
import type { ListenOptions } from '@berth/server/port/listen.ts'
import { eventually } from '../support/eventually.ts'
import { http2Request, http2Session, rawConnection, startPort } from '../support/http/port.ts'
import {
  END_HEADERS,
  END_STREAM,
  errorCodes,
  frameTypes,
  getRoot,
  PADDED,
  padded,
  postRoot,
  type RawHttp2,
  rawField,
  rawFrame,
  rawHttp2,
  uint32,
} from '../support/http/raw-http2.ts'

const whole = END_STREAM | END_HEADERS
const CANCEL = uint32(8)

/** A server that counts its requests, and another client of it. */
async function start(t: TestContext, options: Partial<ListenOptions> = {}) {
  let requests = 0
  const http: HttpHandler = ({ url }) => {
    if (url === '/') requests += 1
    return { status: 200, headers: {}, body: 'served' }
  }
  const server = await startPort(t, { http, ...options })
  const other = http2Session(t, server.url)
  const assertOtherServed = async () => {
    const reply = await http2Request(other, { ':path': '/other' })
    assert.equal(reply.body.toString(), 'served')
  }
  await assertOtherServed()
  return { server, assertOtherServed, requests: () => requests }
}

/** Sends frames until there are `count`, or the server ends the connection. Returns how many were sent. */
async function flood({ socket, closed, isClosed }: RawHttp2, make: (index: number) => Buffer, count: number) {
  let sent = 0
  while (sent < count && !isClosed()) {
    const batch: Buffer[] = []
    while (batch.length < 100 && sent < count) batch.push(make(sent++))
    if (!socket.write(Buffer.concat(batch)))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
    await new Promise(setImmediate)
  }
  return sent
}

const streamOf = (index: number) => 2 * index + 1

/** Streams that the server has reset, and with which codes. */
const resetsOf = ({ frames }: RawHttp2) =>
  frames
    .filter(({ type }) => type === frameTypes.reset)
    .map(({ stream, payload }) => [stream, payload.readUInt32BE(0)])

/** Codes of the GOAWAY frames of the server. */
const goawaysOf = ({ frames }: RawHttp2) =>
  frames.filter(({ type }) => type === frameTypes.goaway).map(({ payload }) => payload.readUInt32BE(4))

describe('HTTP/2 floods end the connection, and another client is served', () => {
  const cases: [name: string, make: (index: number) => Buffer, requestsMax: number][] = [
    [
      'streams that are reset (http2ResetsBurst, http2ResetsPerSecond)',
      (at) =>
        Buffer.concat([
          rawFrame('headers', whole, streamOf(at), getRoot),
          rawFrame('reset', 0, streamOf(at), CANCEL),
        ]),
      limits.http2ResetsBurst + 10 * limits.http2ResetsPerSecond,
    ],
    [
      'streams that the client makes the server reset',
      (at) =>
        Buffer.concat([
          rawFrame('headers', whole, streamOf(at), getRoot),
          rawFrame('windowUpdate', 0, streamOf(at), uint32(0)),
        ]),
      10,
    ],
    [
      'streams beyond those that may be open (concurrentStreamsMax, http2RejectedStreamsMax)',
      (at) => rawFrame('headers', END_HEADERS, streamOf(at), postRoot),
      limits.concurrentStreamsMax,
    ],
    [
      'CONTINUATION frames',
      (at) =>
        at === 0
          ? rawFrame('headers', END_STREAM, 1, getRoot)
          : rawFrame('continuation', 0, 1, rawField(`x${at}`, 'y')),
      0,
    ],
    [
      'requests that are malformed (http2MalformedRequestsMax)',
      (at) => rawFrame('headers', whole, streamOf(at), rawField('x', 'y')),
      0,
    ],
    [
      'requests whose content-length is wrong (http2MalformedRequestsMax)',
      (at) =>
        Buffer.concat([
          rawFrame(
            'headers',
            END_HEADERS,
            streamOf(at),
            Buffer.concat([postRoot, rawField('content-length', '1')]),
          ),
          rawFrame('data', 0, streamOf(at), Buffer.alloc(2)),
        ]),
      limits.http2MalformedRequestsMax + 1,
    ],
    [
      'empty CONTINUATION frames',
      (at) => (at === 0 ? rawFrame('headers', END_STREAM, 1, getRoot) : rawFrame('continuation', 0, 1)),
      0,
    ],
    [
      'PING frames (http2ControlFramesMax, http2ControlWindowMs)',
      () => rawFrame('ping', 0, 0, Buffer.alloc(8)),
      0,
    ],
    ['SETTINGS frames', () => rawFrame('settings', 0, 0), 0],
    [
      'SETTINGS frames of many entries (http2SettingsMax)',
      () => rawFrame('settings', 0, 0, Buffer.alloc(6 * (limits.http2SettingsMax + 1))),
      0,
    ],
    [
      'empty DATA frames',
      (at) => (at === 0 ? rawFrame('headers', END_HEADERS, 1, postRoot) : rawFrame('data', 0, 1)),
      1,
    ],
    [
      'DATA frames of padding alone',
      (at) =>
        at === 0
          ? rawFrame('headers', END_HEADERS, 1, postRoot)
          : rawFrame('data', PADDED, 1, padded(Buffer.alloc(0), 0)),
      1,
    ],
    ['frames of unknown types', () => rawFrame(0x42, 0, 0), 0],
    ['PRIORITY frames', (at) => rawFrame('priority', 0, streamOf(at), Buffer.from([0, 0, 0, 0, 1])), 0],
    ['resets of streams that were never opened', (at) => rawFrame('reset', 0, streamOf(at), CANCEL), 0],
  ]
  for (const [name, make, requestsMax] of cases) {
    test(name, async (t) => {
      const { server, assertOtherServed, requests } = await start(t)
      const attacker = await rawHttp2(t, server.port)
      await flood(attacker, make, 100_000)
      await attacker.closed
      assert.ok(requests() <= requestsMax, `${requests()} requests`)
      await assertOtherServed()
    })
  }
})

describe('HTTP/2 clients that are hostile otherwise', () => {
  test('WINDOW_UPDATE frames without an end cost no memory, and another client is served', async (t) => {
    const { server, assertOtherServed } = await start(t)
    const attacker = await rawHttp2(t, server.port)
    const flooding = flood(attacker, () => rawFrame('windowUpdate', 0, 0, uint32(1)), 50_000)
    for (let at = 0; at < 10; at++) await assertOtherServed()
    await flooding
    await assertOtherServed()
  })

  test('a header block may have so many CONTINUATION frames, and one more ends the connection (http2ContinuationsMax)', async (t) => {
    for (const excess of [0, 1]) {
      const { server, requests } = await start(t)
      const client = await rawHttp2(t, server.port)
      const count = limits.http2ContinuationsMax + excess
      const parts = Array.from({ length: count }, (_, at) =>
        rawFrame('continuation', at === count - 1 ? END_HEADERS : 0, 1, rawField('x', 'y')),
      )
      client.socket.write(Buffer.concat([rawFrame('headers', END_STREAM, 1, getRoot), ...parts]))
      if (excess === 0) await eventually(() => client.frames.some(({ stream }) => stream === 1))
      else await client.closed
      assert.equal(requests(), 1 - excess)
      assert.deepEqual(goawaysOf(client), excess === 0 ? [] : [errorCodes.ENHANCE_YOUR_CALM])
    }
  })

  test('so many requests may be malformed, and one more ends the connection (http2MalformedRequestsMax)', async (t) => {
    const { server, assertOtherServed } = await start(t, { limits: { http2MalformedRequestsMax: 5 } })
    const client = await rawHttp2(t, server.port)
    const bad = (at: number) => rawFrame('headers', whole, streamOf(at), rawField('x', 'y'))
    client.socket.write(Buffer.concat([0, 1, 2, 3, 4].map(bad)))
    client.socket.write(rawFrame('headers', whole, streamOf(5), getRoot))
    await eventually(() =>
      client.frames.some(({ stream, type }) => stream === streamOf(5) && type === frameTypes.headers),
    )
    assert.deepEqual(
      resetsOf(client),
      [0, 1, 2, 3, 4].map((at) => [streamOf(at), errorCodes.PROTOCOL_ERROR]),
    )
    client.socket.write(bad(6))
    await client.closed
    assert.deepEqual(goawaysOf(client), [errorCodes.ENHANCE_YOUR_CALM])
    await assertOtherServed()
  })

  test('R28: a connection with much that is not read gets no new streams until it is read (http2UnreadBytesMax)', async (t) => {
    const { promise: mayRead, resolve: read } = Promise.withResolvers<void>()
    const http: HttpHandler = async (request) => {
      if (request.url === '/other') return { status: 200, headers: {}, body: 'served' }
      await mayRead
      return { status: 200, headers: {}, body: String((await request.body(1_000_000)).length) }
    }
    const { server, assertOtherServed } = await start(t, { http, limits: { http2UnreadBytesMax: 30_000 } })
    const client = await rawHttp2(t, server.port)
    const part = Buffer.alloc(10_000)
    const hasFrame = (id: number, wanted: number) =>
      client.frames.some(({ stream, type }) => stream === id && type === wanted)
    const send = (id: number) =>
      client.socket.write(
        Buffer.concat([
          rawFrame('headers', END_HEADERS, id, postRoot),
          rawFrame('data', END_STREAM, id, part),
        ]),
      )
    // Four make it more than the limit; the fifth and sixth are refused.
    for (const id of [1, 3, 5, 7, 9, 11]) send(id)
    await eventually(() => hasFrame(11, frameTypes.reset))
    assert.deepEqual(resetsOf(client), [
      [9, errorCodes.REFUSED_STREAM],
      [11, errorCodes.REFUSED_STREAM],
    ])
    await assertOtherServed()
    read()
    for (const id of [1, 3, 5, 7]) await eventually(() => hasFrame(id, frameTypes.data))
    send(13)
    await eventually(() => hasFrame(13, frameTypes.data))
    assert.equal(
      client.frames.find(({ stream, type }) => stream === 13 && type === frameTypes.data)?.payload.toString(),
      '10000',
    )
    assert.deepEqual(goawaysOf(client), [])
  })

  test('R28: what is reset before it is read does not count any more (http2UnreadBytesMax)', async (t) => {
    const http: HttpHandler = ({ url }) =>
      url === '/' ? new Promise<never>(() => undefined) : { status: 200, headers: {}, body: 'served' }
    const { server } = await start(t, { http, limits: { http2UnreadBytesMax: 10_000 } })
    const client = await rawHttp2(t, server.port)
    for (let at = 0; at < 100; at++)
      client.socket.write(
        Buffer.concat([
          rawFrame('headers', END_HEADERS, streamOf(at), postRoot),
          rawFrame('data', 0, streamOf(at), Buffer.alloc(10_001)),
          rawFrame('reset', 0, streamOf(at), CANCEL),
        ]),
      )
    client.socket.write(rawFrame('ping', 0, 0, Buffer.alloc(8)))
    await eventually(() => client.frames.some(({ type }) => type === frameTypes.ping))
    assert.deepEqual(resetsOf(client), [])
    assert.deepEqual(goawaysOf(client), [])
  })

  test('R28: a client that reads none of the replies to its control frames is not read, and cut off (stalledReplyMs)', async (t) => {
    const { server, assertOtherServed } = await start(t, {
      // Only what is not read ends it.
      limits: { http2ControlFramesMax: 1e9, http2ControlWindowMs: 1, stalledReplyMs: 200 },
    })
    const client = await rawHttp2(t, server.port)
    client.socket.pause()
    const before = server.traffic().bytes.received
    await flood(client, () => rawFrame('ping', 0, 0, Buffer.alloc(8)), 10_000_000)
    // What the system buffers between the two, and what is read before the server notices.
    assert.ok(server.traffic().bytes.received - before < 64 * 1024 * 1024)
    await assertOtherServed()
    client.socket.resume()
    await client.closed
    await assertOtherServed()
  })

  test('R28: header lists with too many fields, or that unpack to too much, are never requests (headerFieldsMax, headerBytesMax)', async (t) => {
    const { server, assertOtherServed, requests } = await start(t)
    const attacker = await rawHttp2(t, server.port)
    const many = Array.from({ length: limits.headerFieldsMax }, (_, at) => rawField(`x${at}`, 'y'))
    // One field of 3 KB enters the table, and 5,000 bytes name it as often (RFC 7541, section 6.1).
    const long = 3000
    const entry = [0x40, 1, 0x62, 0x7f, 0x80 + ((long - 127) % 128), Math.floor((long - 127) / 128)]
    const bomb = [Buffer.from(entry), Buffer.alloc(long, 'z'), Buffer.alloc(5000, 0x80 | 62)]
    const lists = [many, bomb].map((fields) => Buffer.concat([getRoot, ...fields]))
    const make = (at: number) => rawFrame('headers', whole, streamOf(at), lists[at % 2])
    await flood(attacker, make, 100)
    await eventually(() => attacker.frames.filter(({ type }) => type === frameTypes.reset).length === 100)
    assert.equal(requests(), 0)
    await assertOtherServed()
    assert.equal((await http2Request(http2Session(t, server.url), { ':path': '/' })).status, 200)
  })

  test('R28: replies that clients do not read are cut off for new ones, the oldest first (unreadReplyBytesMax)', async (t) => {
    const unread = createUnreadReplies(16 * 1024 * 1024)
    const http: HttpHandler = ({ url }) => ({
      status: 200,
      headers: {},
      body: url === '/other' ? 'served' : Buffer.alloc(1024 * 1024),
    })
    const { server, assertOtherServed } = await start(t, { http, unread })
    const attacker = await rawHttp2(t, server.port, Buffer.from([0, 4, 0, 0, 0, 0]))
    await flood(attacker, (at) => rawFrame('headers', whole, streamOf(at), getRoot), 40)
    const resets = () => attacker.frames.filter(({ type }) => type === frameTypes.reset)
    await eventually(() => resets().length === 24)
    assert.deepEqual(
      resets().map(({ stream }) => stream),
      Array.from({ length: 24 }, (_, at) => streamOf(at)),
    )
    await assertOtherServed()
    assert.ok(unread.bytes <= 16 * 1024 * 1024)
    attacker.socket.destroy()
    await eventually(() => unread.bytes === 0)
  })

  test('a client that takes nothing of its replies is cut off (stalledReplyMs), on HTTP/1.1, too', async (t) => {
    const body = Buffer.alloc(8 * 1024 * 1024)
    const http: HttpHandler = ({ url }) => ({
      status: 200,
      headers: {},
      body: url === '/other' ? 'served' : body,
    })
    const unread = createUnreadReplies()
    const { server, assertOtherServed } = await start(t, { http, unread, limits: { stalledReplyMs: 100 } })
    const noWindow = Buffer.from([0, 4, 0, 0, 0, 0])
    const attacker = await rawHttp2(t, server.port, noWindow)
    await flood(attacker, (at) => rawFrame('headers', whole, streamOf(at), getRoot), 10)
    await eventually(() => attacker.frames.filter(({ type }) => type === frameTypes.reset).length === 10)
    const one = await rawConnection(t, server.port)
    one.socket.pause()
    one.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await eventually(() => unread.bytes > 0, Boolean, { pollMs: 1 })
    await assertOtherServed()
    await eventually(() => unread.bytes === 0)
    one.socket.resume()
    assert.ok((await one.received).length < body.length)
  })

  test('an address whose connections are ended for abuse gets no new ones, and one behind a trusted proxy does (abusiveConnectionsPerAddressMax)', async (t) => {
    for (const isProxy of [false, true]) {
      const { server, assertOtherServed } = await start(t, {
        isTrustedProxy: () => isProxy,
        limits: { abusiveConnectionsPerAddressMax: 3, abuseWindowMs: 60_000 },
      })
      for (let at = 0; at < 3; at++) {
        const attacker = await rawHttp2(t, server.port)
        await flood(attacker, () => rawFrame('ping', 0, 0, Buffer.alloc(8)), 100_000)
        await attacker.closed
      }
      const again = await fetch(`${server.url}/other`).then(
        ({ status }) => status,
        () => 'refused',
      )
      assert.equal(again, isProxy ? 200 : 'refused')
      await assertOtherServed()
    }
  })

  test('rapid resets count as abuse, and a client that goes away does not', async (t) => {
    const { server } = await start(t, {
      limits: { abusiveConnectionsPerAddressMax: 1, abuseWindowMs: 60_000 },
    })
    for (let at = 0; at < 5; at++) {
      const client = await rawHttp2(t, server.port)
      client.socket.write(rawFrame('headers', END_HEADERS, 1, postRoot))
      await eventually(() => client.frames.length > 1)
      client.socket.resetAndDestroy()
    }
    assert.equal((await fetch(server.url)).status, 200)
    const attacker = await rawHttp2(t, server.port)
    const make = (at: number) =>
      Buffer.concat([
        rawFrame('headers', whole, streamOf(at), getRoot),
        rawFrame('reset', 0, streamOf(at), CANCEL),
      ])
    await flood(attacker, make, 100_000)
    await attacker.closed
    // The connection of a fetch before may still be open; a new one is refused.
    const late = await rawConnection(t, server.port)
    assert.equal(await late.received, '')
  })
})

describe('connections', () => {
  test('that send nothing are closed for new ones, the oldest first (undecidedConnectionsMax)', async (t) => {
    const { server, assertOtherServed } = await start(t, { limits: { undecidedConnectionsMax: 5 } })
    const silent = []
    for (let at = 0; at < 10; at++) silent.push(await rawConnection(t, server.port))
    await Promise.all(silent.slice(0, 5).map(({ received }) => received))
    assert.equal(await (await fetch(server.url)).text(), 'served')
    await assertOtherServed()
  })

  test('of one address are limited (connectionsPerAddressMax)', async (t) => {
    const { server, assertOtherServed } = await start(t, { limits: { connectionsPerAddressMax: 5 } })
    const open = []
    for (let at = 0; at < 10; at++) {
      const one = await rawConnection(t, server.port)
      one.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
      open.push(one)
    }
    assert.deepEqual(await Promise.all(open.slice(4).map(({ received }) => received)), Array(6).fill(''))
    for (const one of open.slice(0, 4)) await one.until('served')
    await assertOtherServed()
  })
})

describe('HTTP/1.1 clients that are hostile', () => {
  test('requests ahead of their replies are limited (pipelinedRequestsMax)', async (t) => {
    let running = 0
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const http: HttpHandler = async ({ url }) => {
      if (url === '/') {
        running += 1
        await released
      }
      return { status: 200, headers: {}, body: 'served' }
    }
    const { server, assertOtherServed } = await start(t, { http })
    const attacker = await rawConnection(t, server.port)
    attacker.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(10_000))
    await eventually(() => running >= 1)
    await assertOtherServed()
    assert.equal(running, 1, 'one at a time')
    release()
    const text = await attacker.received
    assert.equal(text.split('HTTP/1.1 200').length - 1, limits.pipelinedRequestsMax)
    assert.match(text, /HTTP\/1\.1 503 .*TOO_MANY_REQUESTS_AHEAD/s)
    assert.equal(running, limits.pipelinedRequestsMax)
  })

  test('many header fields get 431 (headerFieldsMax)', async (t) => {
    const { server, assertOtherServed, requests } = await start(t)
    const attacker = await rawConnection(t, server.port)
    attacker.socket.write(`GET / HTTP/1.1\r\nhost: a\r\n${'x: y\r\n'.repeat(limits.headerFieldsMax)}\r\n`)
    assert.match(await attacker.received, /^HTTP\/1\.1 431 /)
    assert.equal(requests(), 0)
    await assertOtherServed()
  })

  test('extensions of chunks are not read without an end', async (t) => {
    const http: HttpHandler = async (request) => {
      if (request.url !== '/other') await request.body(1000)
      return { status: 200, headers: {}, body: 'served' }
    }
    const { server, assertOtherServed } = await start(t, { http })
    const attacker = await rawConnection(t, server.port)
    attacker.socket.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
    attacker.socket.write(`1;${'x'.repeat(100_000)}`)
    assert.match(await attacker.received, /^HTTP\/1\.1 4/)
    await assertOtherServed()
  })
})
