import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ack,
  assertClean,
  both,
  Client,
  data,
  type ErrorName,
  end,
  ended,
  FRAME_BYTES,
  get,
  goaway,
  http,
  ignored,
  type Outcome,
  open,
  ping,
  release,
  roundTrip,
  sendAndExpect,
  served,
  settings,
  start,
  UNKNOWN_TYPE,
  whole,
} from '../support/http/http2-conformance.ts'
import { startPort } from '../support/http/port.ts'
import {
  ACK,
  clientPreface,
  END_HEADERS,
  END_STREAM,
  frameTypes,
  getRoot,
  PADDED,
  padded,
  postRoot,
  rawFrame,
  rawHttp2Connection,
  settingIds,
  uint32,
} from '../support/http/raw-http2.ts'

/** RFC 9113 on the wire: the connection preface, frames, SETTINGS, PING and GOAWAY. */

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

describe('4.1, 4.2: frames', () => {
  test(
    'of the largest size are served',
    sendAndExpect([open(), data(1, FRAME_BYTES), end()], served(1, '16384')),
  )
  for (const type of ['data', 'headers', 'ping', 'settings', UNKNOWN_TYPE] as const) {
    const frame = rawFrame(type, END_HEADERS, 1, Buffer.alloc(FRAME_BYTES + 1))
    test(
      `above the largest size end the connection (type ${type})`,
      sendAndExpect([open(), frame], goaway('FRAME_SIZE_ERROR')),
    )
  }
  test(
    'that claim 16 MiB end the connection before they come',
    sendAndExpect([rawFrame('data', 0, 1, undefined, 2 ** 24 - 1)], goaway('FRAME_SIZE_ERROR')),
  )
  test(
    'the reserved bit of a stream id is ignored',
    sendAndExpect([rawFrame('headers', whole, 2 ** 31 + 1, getRoot)], served(1)),
  )
  test(
    'flags without a meaning are ignored',
    sendAndExpect([rawFrame('headers', whole | 0x52, 1, getRoot), ping(8, 0, 0xfe), settings()], served(1)),
  )
  for (const [stream, frame] of [
    ['the connection', rawFrame(UNKNOWN_TYPE, 0xff, 0, Buffer.alloc(10))],
    ['an idle stream', rawFrame(UNKNOWN_TYPE, 0xff, 7, Buffer.alloc(10))],
    ['an even stream', rawFrame(UNKNOWN_TYPE, 0xff, 2)],
    ['an open stream', rawFrame(UNKNOWN_TYPE, 0xff, 1, Buffer.alloc(FRAME_BYTES))],
  ] as const)
    test(
      `of an unknown type are ignored on ${stream}`,
      sendAndExpect([open(), frame, data(1, 3, END_STREAM)], served(1, '3')),
    )
  test(
    'of an unknown type are ignored on a closed stream',
    sendAndExpect([get(), ended(1), rawFrame(UNKNOWN_TYPE, 0, 1)], ignored),
  )
})

describe('6.5: SETTINGS', () => {
  const acks =
    (count: number): Outcome =>
    async (client) => {
      await ignored(client)
      assert.equal(client.ofType('settings').filter(({ flags }) => flags === ACK).length, count)
    }
  test(
    'each is acknowledged',
    sendAndExpect([settings(), settings(), settings([settingIds.enablePush, 0])], acks(4)),
  )
  test('an acknowledgement is not', sendAndExpect([ack, ack, ack], acks(1)))
  test(
    'an acknowledgement with a payload ends the connection',
    sendAndExpect([rawFrame('settings', ACK, 0, Buffer.alloc(6))], goaway('FRAME_SIZE_ERROR')),
  )
  test(
    'of a stream end the connection',
    sendAndExpect([rawFrame('settings', 0, 1)], goaway('PROTOCOL_ERROR')),
  )
  test(
    'an acknowledgement of a stream ends the connection',
    sendAndExpect([rawFrame('settings', ACK, 1)], goaway('PROTOCOL_ERROR')),
  )
  for (const bytes of [1, 5, 7])
    test(
      `of ${bytes} bytes end the connection`,
      sendAndExpect([rawFrame('settings', 0, 0, Buffer.alloc(bytes))], goaway('FRAME_SIZE_ERROR')),
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
    test(
      `${name} ${error === undefined ? 'is taken' : `ends the connection`}`,
      sendAndExpect([settings([id, value]), get()], error === undefined ? served(1) : goaway(error)),
    )
  test(
    'a bad value after good ones ends the connection',
    sendAndExpect(
      [settings([maxFrameSize, FRAME_BYTES], [enablePush, 1], [enablePush, 3])],
      goaway('PROTOCOL_ERROR'),
    ),
  )
  test(
    'the last of several values counts',
    sendAndExpect(
      [
        settings([initialWindowSize, 0], [initialWindowSize, 1], [initialWindowSize, 3]),
        get(1, '/large/5'),
        roundTrip,
      ],
      async (client) => assert.equal(client.reply(1).body.length, 3),
    ),
  )
})

describe('6.6, 6.7, 6.8: PUSH_PROMISE, PING and GOAWAY', () => {
  test(
    'PUSH_PROMISE ends the connection',
    sendAndExpect(
      [open(), rawFrame('pushPromise', END_HEADERS, 1, Buffer.concat([uint32(2), getRoot]))],
      goaway('PROTOCOL_ERROR'),
    ),
  )
  test(
    'PING is returned with its payload',
    sendAndExpect([rawFrame('ping', 0, 0, Buffer.from('12345678'))], async (client) => {
      await client.until(() => client.ofType('ping').length > 0)
      assert.deepEqual(
        client.ofType('ping').map(({ flags, payload }) => [flags, payload.toString()]),
        [[ACK, '12345678']],
      )
    }),
  )
  test(
    'PING is returned while a reply waits',
    sendAndExpect([get(1, '/held'), roundTrip, release], served(1)),
  )
  test(
    'an acknowledgement of PING is ignored',
    sendAndExpect([ping(8, 0, ACK), roundTrip], async (client) =>
      assert.equal(client.ofType('ping').length, 1),
    ),
  )
  for (const bytes of [0, 7, 9])
    test(
      `PING of ${bytes} bytes ends the connection`,
      sendAndExpect([ping(bytes)], goaway('FRAME_SIZE_ERROR')),
    )
  test('PING of a stream ends the connection', sendAndExpect([ping(8, 1)], goaway('PROTOCOL_ERROR')))
  const goawayFrame = (stream: number, bytes: Buffer) => rawFrame('goaway', 0, stream, bytes)
  test(
    'GOAWAY of a stream ends the connection',
    sendAndExpect([goawayFrame(1, Buffer.alloc(8))], goaway('PROTOCOL_ERROR')),
  )
  test(
    'GOAWAY of 7 bytes ends the connection',
    sendAndExpect([goawayFrame(0, Buffer.alloc(7))], goaway('FRAME_SIZE_ERROR')),
  )
  test(
    'GOAWAY lets running streams end',
    sendAndExpect([get(1, '/held'), goawayFrame(0, Buffer.alloc(8)), roundTrip, release], served(1)),
  )
  test(
    'GOAWAY with an unknown code and debug data is taken',
    sendAndExpect(
      [
        get(1, '/held'),
        goawayFrame(0, Buffer.concat([uint32(0), uint32(0xffff), Buffer.from('debug')])),
        roundTrip,
        release,
      ],
      served(1),
    ),
  )
})
