import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { HpackDecoder } from '@berth/server/port/http2/hpack/decoder.ts'
import type { ObservedRequest } from '@berth/server/port/request-observer.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertClean,
  data,
  end,
  FRAME_BYTES,
  fields,
  get,
  grow,
  open,
  ping,
  post,
  release,
  request,
  reset,
  roundTrip,
  sendAndExpect,
  served,
  settings,
  start,
  whole,
} from '../support/http/http2-conformance.ts'
import {
  END_HEADERS,
  END_STREAM,
  errorCodes,
  frameTypes,
  type RawFrame,
  rawField,
  rawFrame,
  rawSettings,
  settingIds,
} from '../support/http/raw-http2.ts'

/** RFC 9113 on the wire: requests, their header fields, and replies. */

describe('8.1, 8.1.1: requests', () => {
  test(
    'trailers end a request',
    sendAndExpect([open(), data(1, 4), rawFrame('headers', whole, 1, rawField('x', 'y'))], served(1, '4')),
  )
  test(
    'trailers without DATA end a request',
    sendAndExpect([open(), rawFrame('headers', whole, 1, rawField('x', 'y'))], served(1, '0')),
  )
  test('empty trailers end a request', sendAndExpect([open(), rawFrame('headers', whole, 1)], served(1, '0')))
  test(
    'trailers without END_STREAM are malformed',
    sendAndExpect(
      [open(), data(1, 4), rawFrame('headers', END_HEADERS, 1, rawField('x', 'y'))],
      reset(1, 'PROTOCOL_ERROR'),
    ),
  )
  for (const [name, block] of [
    ['pseudo-header fields', rawField(':path', '/')],
    ['an upper-case name', rawField('X', 'y')],
    ['a line break', rawField('x', 'a\r\nb')],
    ['a connection-specific field', rawField('connection', 'close')],
    ['transfer-encoding', rawField('transfer-encoding', 'chunked')],
  ] as const)
    test(
      `trailers with ${name} are malformed`,
      sendAndExpect([open(), rawFrame('headers', whole, 1, block)], reset(1, 'PROTOCOL_ERROR')),
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
    test(
      `a content-length that ${name} is ${body === undefined ? 'malformed' : 'served'}`,
      sendAndExpect(
        [open(1, post(length)), ...frames],
        body === undefined ? reset(1, 'PROTOCOL_ERROR') : served(1, body),
      ),
    )
  test(
    'a content-length without a body is malformed',
    sendAndExpect([rawFrame('headers', whole, 1, post('1'))], reset(1, 'PROTOCOL_ERROR')),
  )
  test(
    'a content-length of 0 without a body is served',
    sendAndExpect([rawFrame('headers', whole, 1, post('0'))], served(1, '0')),
  )
  test(
    'a HEAD or GET with a body is served',
    sendAndExpect([open(1, request()), data(1, 3, END_STREAM)], served(1, '3')),
  )
  test(
    'a content-length that does not match while the reply waits resets the stream',
    sendAndExpect([open(1, post('2', '/held')), data(1, 3), roundTrip, release], reset(1, 'PROTOCOL_ERROR')),
  )
})

describe('8.2, 8.3: header fields', () => {
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
    test(
      `a request ${name} is malformed`,
      sendAndExpect([rawFrame('headers', whole, 1, block)], reset(1, 'PROTOCOL_ERROR')),
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
    test(`a request ${name} is served`, sendAndExpect([rawFrame('headers', whole, 1, block)], served(1, '0')))
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
