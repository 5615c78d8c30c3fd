import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import {
  ack,
  assertClean,
  type Client,
  DEFAULT_WINDOW,
  data,
  end,
  FRAME_BYTES,
  get,
  goaway,
  grow,
  ignored,
  open,
  post,
  release,
  request,
  reset,
  resetFrame,
  roundTrip,
  sendAndExpect,
  served,
  settings,
  start,
  whole,
} from '../support/http/http2-conformance.ts'
import {
  END_STREAM,
  PADDED,
  padded,
  rawFrame,
  rawSettings,
  settingIds,
  uint32,
} from '../support/http/raw-http2.ts'

/** RFC 9113 on the wire: WINDOW_UPDATE, and the windows of the client and of the server. */

const LARGEST_WINDOW = 2 ** 31 - 1

describe('6.9: WINDOW_UPDATE', () => {
  for (const stream of [0, 1]) {
    test(
      `of 0 bytes ends the connection (stream ${stream})`,
      sendAndExpect([open(), grow(stream, 0)], goaway('PROTOCOL_ERROR')),
    )
    for (const bytes of [0, 3, 5])
      test(
        `with ${bytes} bytes ends the connection (stream ${stream})`,
        sendAndExpect(
          [open(), rawFrame('windowUpdate', 0, stream, Buffer.alloc(bytes, 1))],
          goaway('FRAME_SIZE_ERROR'),
        ),
      )
    test(
      `the reserved bit is ignored (stream ${stream})`,
      sendAndExpect([open(), rawFrame('windowUpdate', 0, stream, uint32(2 ** 31 + 1)), end()], served(1)),
    )
  }
  test(
    'above 2^31-1 ends the connection',
    sendAndExpect(
      [grow(0, LARGEST_WINDOW - DEFAULT_WINDOW), roundTrip, grow(0, 1)],
      goaway('FLOW_CONTROL_ERROR'),
    ),
  )
  test(
    'above 2^31-1 resets the stream',
    sendAndExpect(
      [open(), grow(1, LARGEST_WINDOW - DEFAULT_WINDOW), roundTrip, grow(1, 1)],
      reset(1, 'FLOW_CONTROL_ERROR'),
    ),
  )
  test(
    'above 2^31-1 by SETTINGS ends the connection',
    sendAndExpect(
      [open(), grow(1, 1), settings([settingIds.initialWindowSize, LARGEST_WINDOW])],
      goaway('FLOW_CONTROL_ERROR'),
    ),
  )
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
