import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  both,
  DEFAULT_WINDOW,
  data,
  end,
  ended,
  FRAME_BYTES,
  get,
  goaway,
  grow,
  ignored,
  isReset,
  malformed,
  open,
  ping,
  post,
  priority,
  release,
  request,
  reset,
  resetFrame,
  roundTrip,
  sendAndExpect,
  served,
  settings,
  UNKNOWN_TYPE,
  whole,
} from '../support/http/http2-conformance.ts'
import {
  END_HEADERS,
  END_STREAM,
  getRoot,
  PADDED,
  PRIORITY,
  padded,
  postRoot,
  rawField,
  rawFrame,
  settingIds,
  uint32,
} from '../support/http/raw-http2.ts'

/** RFC 9113 and RFC 7541 on the wire: header blocks, the states of streams, and the frames of a stream. */

const LARGEST_STREAM = 2 ** 31 - 1

describe('4.3, RFC 7541: header blocks', () => {
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
    test(
      `${name} ends the connection`,
      sendAndExpect([rawFrame('headers', whole, 1, Buffer.from(bytes))], goaway('COMPRESSION_ERROR')),
    )
    test(
      `${name} in trailers ends the connection`,
      sendAndExpect([open(), rawFrame('headers', whole, 1, Buffer.from(bytes))], goaway('COMPRESSION_ERROR')),
    )
  }
  // 0x40: the field enters the table, where it is number 62, and number 63 once that of `getRoot` has entered it.
  const indexed = Buffer.concat([Buffer.from([0x40]), rawField('x', 'y').subarray(1)])
  const usesIndexed = Buffer.concat([getRoot, Buffer.from([0xbf])])
  test(
    'of a malformed request change the table',
    sendAndExpect(
      [
        rawFrame('headers', whole, 1, Buffer.concat([request({ ':path': '' }), indexed])),
        rawFrame('headers', whole, 3, usesIndexed),
      ],
      both(reset(1, 'PROTOCOL_ERROR'), served(3)),
    ),
  )
  test(
    'of a refused stream change the table',
    sendAndExpect(
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
    ),
  )
  test(
    'of late trailers change the table',
    sendAndExpect(
      [
        malformed(),
        isReset(1),
        rawFrame('headers', whole, 1, indexed),
        rawFrame('headers', whole, 3, usesIndexed),
      ],
      served(3),
    ),
  )
  test(
    'an empty one is a malformed request',
    sendAndExpect([rawFrame('headers', whole, 1)], reset(1, 'PROTOCOL_ERROR')),
  )
})

describe('5.1: states of streams', () => {
  test('idle: DATA ends the connection', sendAndExpect([data(1, 1)], goaway('PROTOCOL_ERROR')))
  test('idle: RST_STREAM ends the connection', sendAndExpect([resetFrame(1)], goaway('PROTOCOL_ERROR')))
  test('idle: WINDOW_UPDATE ends the connection', sendAndExpect([grow(1, 1)], goaway('PROTOCOL_ERROR')))
  test(
    'idle: CONTINUATION ends the connection',
    sendAndExpect([rawFrame('continuation', END_HEADERS, 1, getRoot)], goaway('PROTOCOL_ERROR')),
  )
  test('idle: PRIORITY is ignored', sendAndExpect([priority(1), get()], served(1)))
  test(
    'idle above an open one: DATA ends the connection',
    sendAndExpect([get(1, '/held'), data(3, 1)], goaway('PROTOCOL_ERROR')),
  )
  for (const [name, frame] of [
    ['DATA', data(2, 1)],
    ['RST_STREAM', resetFrame(2)],
    ['WINDOW_UPDATE', grow(2, 1)],
    ['HEADERS', get(2)],
  ] as const) {
    test(`${name} of an even stream ends the connection`, sendAndExpect([frame], goaway('PROTOCOL_ERROR')))
    test(
      `${name} of an even stream below another ends the connection`,
      sendAndExpect([get(5), ended(5), frame], goaway('PROTOCOL_ERROR')),
    )
  }
  test(
    'half-closed by the client: DATA ends the connection',
    sendAndExpect([get(1, '/held'), data(1, 1)], goaway('STREAM_CLOSED')),
  )
  test(
    'half-closed by the client: empty DATA ends the connection',
    sendAndExpect([get(1, '/held'), end(1)], goaway('STREAM_CLOSED')),
  )
  test(
    'half-closed by the client: HEADERS end the connection',
    sendAndExpect([get(1, '/held'), get(1)], goaway('STREAM_CLOSED')),
  )
  test(
    'half-closed by the client: WINDOW_UPDATE, PRIORITY are taken',
    sendAndExpect([get(1, '/held'), grow(1, 1), priority(1), roundTrip, release], served(1)),
  )
  test(
    'half-closed by the client: RST_STREAM closes it',
    sendAndExpect(
      [get(1, '/held'), resetFrame(1), roundTrip, release],
      both(ignored, async (client) => assert.deepEqual(client.framesOf(1), [])),
    ),
  )
  test(
    'closed: DATA ends the connection',
    sendAndExpect([get(), ended(1), data(1, 1)], goaway('STREAM_CLOSED')),
  )
  test('closed: HEADERS end the connection', sendAndExpect([get(), ended(1), get()], goaway('STREAM_CLOSED')))
  test(
    'closed: CONTINUATION ends the connection',
    sendAndExpect(
      [get(), ended(1), rawFrame('continuation', END_HEADERS, 1, getRoot)],
      goaway('PROTOCOL_ERROR'),
    ),
  )
  test(
    'closed: WINDOW_UPDATE, RST_STREAM, PRIORITY are ignored',
    sendAndExpect([get(), ended(1), grow(1, 1), resetFrame(1), priority(1)], ignored),
  )
  test(
    'reset by the client: DATA ends the connection',
    sendAndExpect([open(), resetFrame(1), data(1, 1)], goaway('STREAM_CLOSED')),
  )
  test(
    'reset by the client: HEADERS end the connection',
    sendAndExpect([open(), resetFrame(1), get()], goaway('STREAM_CLOSED')),
  )
  test(
    'reset by the client: RST_STREAM, WINDOW_UPDATE, PRIORITY are ignored',
    sendAndExpect([open(), resetFrame(1), resetFrame(1), grow(1, 1), priority(1)], ignored),
  )
  test(
    'reset by the server: what was on its way is ignored',
    sendAndExpect(
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
    ),
  )
  test(
    'reset by the server: what comes later is ignored',
    sendAndExpect(
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
    ),
  )
  test(
    'reset by the server: a broken frame still ends the connection',
    sendAndExpect(
      [malformed(), isReset(1), rawFrame('data', PADDED, 1, Buffer.from([9]))],
      goaway('PROTOCOL_ERROR'),
    ),
  )
  test(
    'reset by the server: its DATA counts for the window of the connection',
    sendAndExpect(
      [malformed(), ...Array.from({ length: 8 }, () => data(1, FRAME_BYTES)), roundTrip],
      async (client) => {
        const increments = client.ofType('windowUpdate').filter(({ stream }) => stream === 0)
        const bytes = increments.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
        assert.ok(bytes > 8 * FRAME_BYTES - DEFAULT_WINDOW / 2, `${bytes} bytes`)
      },
    ),
  )
  test(
    'refused: what was on its way is ignored',
    sendAndExpect(
      [get(1, '/held'), open(3), data(3, 5), end(3), roundTrip, release],
      both(reset(3, 'REFUSED_STREAM'), served(1)),
      { limits: { concurrentStreamsMax: 1 } },
    ),
  )
})

describe('5.1.1: stream ids', () => {
  test(
    'may leave some out',
    sendAndExpect([get(1), get(7), get(101)], both(served(1), served(7), served(101))),
  )
  test('that decrease end the connection', sendAndExpect([get(5), ended(5), get(3)], goaway('STREAM_CLOSED')))
  test('may be the largest', sendAndExpect([get(LARGEST_STREAM)], served(LARGEST_STREAM)))
  test('of HEADERS are not 0', sendAndExpect([get(0)], goaway('PROTOCOL_ERROR')))
  test('of DATA are not 0', sendAndExpect([data(0, 1)], goaway('PROTOCOL_ERROR')))
  test('of RST_STREAM are not 0', sendAndExpect([resetFrame(0)], goaway('PROTOCOL_ERROR')))
  test('of PRIORITY are not 0', sendAndExpect([priority(0)], goaway('PROTOCOL_ERROR')))
  test(
    'of CONTINUATION are not 0',
    sendAndExpect(
      [rawFrame('headers', END_STREAM, 1, getRoot), rawFrame('continuation', END_HEADERS, 0)],
      goaway('PROTOCOL_ERROR'),
    ),
  )
})

describe('5.1.2: concurrent streams', () => {
  const options = { limits: { concurrentStreamsMax: 2 } }
  test(
    'above the limit are refused',
    sendAndExpect(
      [get(1, '/held'), get(3, '/held'), get(5), roundTrip, release],
      both(reset(5, 'REFUSED_STREAM'), served(1), served(3)),
      options,
    ),
  )
  test(
    'that have ended do not count',
    sendAndExpect([get(1), get(3), ended(1), ended(3), get(5), get(7)], both(served(5), served(7)), options),
  )
  test(
    'that the client has reset do not count',
    sendAndExpect(
      [get(1, '/held'), get(3, '/held'), resetFrame(1), resetFrame(3), get(5), get(7)],
      both(served(5), served(7)),
      options,
    ),
  )
  test(
    'that the server has reset do not count',
    sendAndExpect([malformed(1), malformed(3), malformed(5), get(7)], served(7), options),
  )
  test(
    'whose replies wait for a window count',
    sendAndExpect(
      [settings([settingIds.initialWindowSize, 0]), get(1), get(3), get(5)],
      reset(5, 'REFUSED_STREAM'),
      { limits: { concurrentStreamsMax: 2 } },
    ),
  )
})

describe('6.1: DATA', () => {
  test(
    'of several frames is one body',
    sendAndExpect([open(), data(1, 5), data(1, 0), data(1, 7, END_STREAM)], served(1, '12')),
  )
  test('that is empty ends a request', sendAndExpect([open(), end()], served(1, '0')))
  for (const padding of [0, 1, 255])
    test(
      `has ${padding} bytes of padding`,
      sendAndExpect([open(), data(1, padded(Buffer.alloc(5), padding), PADDED | END_STREAM)], served(1, '5')),
    )
  test(
    'is only padding',
    sendAndExpect(
      [
        open(),
        data(1, padded(Buffer.alloc(0), 20), PADDED),
        data(1, padded(Buffer.alloc(0), 0), PADDED | END_STREAM),
      ],
      served(1, '0'),
    ),
  )
  test(
    'with as much padding as payload ends the connection',
    sendAndExpect([open(), data(1, Buffer.from([4, 1, 2, 3]), PADDED)], goaway('PROTOCOL_ERROR')),
  )
  test(
    'with padding and without payload ends the connection',
    sendAndExpect([open(), data(1, 0, PADDED)], goaway('FRAME_SIZE_ERROR')),
  )
  test(
    'padding does not count for the content-length',
    sendAndExpect(
      [open(1, post('5')), data(1, padded(Buffer.alloc(5), 100), PADDED | END_STREAM)],
      served(1, '5'),
    ),
  )
})

describe('6.2, 6.10: HEADERS and CONTINUATION', () => {
  const cut = (at: number) => [getRoot.subarray(0, at), getRoot.subarray(at)] as const
  const [head, tail] = cut(3)
  const start = rawFrame('headers', END_STREAM, 1, head)
  const rest = rawFrame('continuation', END_HEADERS, 1, tail)
  test('a block in two frames', sendAndExpect([start, rest], served(1, '0')))
  test(
    'a block in frames of one byte each',
    sendAndExpect(
      [
        rawFrame('headers', END_STREAM, 1),
        ...[...getRoot].map((byte, at) =>
          rawFrame('continuation', at === getRoot.length - 1 ? END_HEADERS : 0, 1, Buffer.from([byte])),
        ),
      ],
      served(1),
    ),
  )
  test('empty frames within a block', sendAndExpect([start, rawFrame('continuation', 0, 1), rest], served(1)))
  test(
    'trailers in two frames',
    sendAndExpect(
      [
        open(),
        data(1, 4),
        rawFrame('headers', END_STREAM, 1, rawField('x', 'y')),
        rawFrame('continuation', END_HEADERS, 1, rawField('z', 'y')),
      ],
      served(1, '4'),
    ),
  )
  test(
    'END_STREAM of CONTINUATION has no meaning',
    sendAndExpect(
      [
        rawFrame('headers', 0, 1, postRoot.subarray(0, 2)),
        rawFrame('continuation', whole, 1, postRoot.subarray(2)),
        data(1, 6, END_STREAM),
      ],
      served(1, '6'),
    ),
  )
  test(
    'padding in front of CONTINUATION',
    sendAndExpect([rawFrame('headers', END_STREAM | PADDED, 1, padded(head, 30)), rest], served(1)),
  )
  for (const padding of [0, 255])
    test(
      `${padding} bytes of padding`,
      sendAndExpect([rawFrame('headers', whole | PADDED, 1, padded(getRoot, padding))], served(1)),
    )
  const withPriority = (dependency: number) => Buffer.concat([uint32(dependency), Buffer.from([15]), getRoot])
  test('a priority', sendAndExpect([rawFrame('headers', whole | PRIORITY, 1, withPriority(0))], served(1)))
  test(
    'a priority and padding',
    sendAndExpect(
      [rawFrame('headers', whole | PRIORITY | PADDED, 1, padded(withPriority(2 ** 31 + 3), 7))],
      served(1),
    ),
  )
  test(
    'a stream that depends on itself ends the connection',
    sendAndExpect([rawFrame('headers', whole | PRIORITY, 1, withPriority(1))], goaway('PROTOCOL_ERROR')),
  )
  test(
    'a frame that is shorter than its priority ends the connection',
    sendAndExpect([rawFrame('headers', whole | PRIORITY, 1, Buffer.alloc(4))], goaway('FRAME_SIZE_ERROR')),
  )
  test(
    'padding that leaves no priority ends the connection',
    sendAndExpect(
      [rawFrame('headers', whole | PRIORITY | PADDED, 1, padded(Buffer.alloc(4), 5))],
      goaway('FRAME_SIZE_ERROR'),
    ),
  )
  test(
    'more padding than payload ends the connection',
    sendAndExpect(
      [rawFrame('headers', whole | PADDED, 1, Buffer.concat([Buffer.from([7]), getRoot]))],
      goaway('PROTOCOL_ERROR'),
    ),
  )
  test(
    'padding without payload ends the connection',
    sendAndExpect([rawFrame('headers', whole | PADDED, 1)], goaway('FRAME_SIZE_ERROR')),
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
    test(
      `${name} within a block ends the connection`,
      sendAndExpect([start, frame, rest], goaway('PROTOCOL_ERROR')),
    )
  test(
    'CONTINUATION after a whole block ends the connection',
    sendAndExpect([open(), rawFrame('continuation', END_HEADERS, 1, tail)], goaway('PROTOCOL_ERROR')),
  )
  test(
    'CONTINUATION after the end of a block ends the connection',
    sendAndExpect([rawFrame('headers', 0, 1, head), rest, rest], goaway('PROTOCOL_ERROR')),
  )
  test(
    'CONTINUATION after DATA ends the connection',
    sendAndExpect(
      [open(), data(1, 1), rawFrame('continuation', END_HEADERS, 1, tail)],
      goaway('PROTOCOL_ERROR'),
    ),
  )
  test(
    'CONTINUATION first ends the connection',
    sendAndExpect([rawFrame('continuation', END_HEADERS, 1, getRoot)], goaway('PROTOCOL_ERROR')),
  )
})

describe('6.3, 6.4: PRIORITY and RST_STREAM', () => {
  for (const bytes of [0, 4, 6])
    test(
      `PRIORITY of ${bytes} bytes ends the connection`,
      sendAndExpect([open(), priority(1, 0, bytes)], goaway('FRAME_SIZE_ERROR')),
    )
  test(
    'PRIORITY of a stream on itself ends the connection',
    sendAndExpect([priority(3, 3)], goaway('PROTOCOL_ERROR')),
  )
  test(
    'PRIORITY is taken in every state',
    sendAndExpect(
      [priority(1), priority(2), get(3), priority(3, 2 ** 31 + 1), ended(3), priority(3), priority(101)],
      ignored,
    ),
  )
  for (const bytes of [0, 3, 5])
    test(
      `RST_STREAM of ${bytes} bytes ends the connection`,
      sendAndExpect([open(), rawFrame('reset', 0, 1, Buffer.alloc(bytes))], goaway('FRAME_SIZE_ERROR')),
    )
  test(
    'RST_STREAM with an unknown code closes the stream',
    sendAndExpect([open(), resetFrame(1, 0xffff_ffff), get(3)], served(3)),
  )
  test(
    'RST_STREAM with NO_ERROR closes the stream',
    sendAndExpect([get(1, '/held'), resetFrame(1, 0), roundTrip, release, roundTrip], async (client) =>
      assert.deepEqual(client.framesOf(1), []),
    ),
  )
})
