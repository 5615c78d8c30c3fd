import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { areTrailers, requestHeaders } from './request-headers.ts'

type Field = readonly [name: string, value: string]

const get: readonly Field[] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/a'],
  [':authority', 'a.example'],
]

/** The pseudo-header fields of a GET, some replaced; undefined leaves one out. */
function pseudo(replaced: Readonly<Record<string, string | undefined>>): Field[] {
  const all = { ...Object.fromEntries(get), ...replaced }
  return Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

const read = (fields: readonly Field[]) => requestHeaders(fields.flat())

/** Without the null prototype. */
const plain = (headers: IncomingHttpHeaders | undefined) => headers && { ...headers }

describe('fields that come more than once', () => {
  const cases: [name: string, fields: readonly Field[], joined: IncomingHttpHeaders][] = [
    [
      'are joined with commas',
      [
        ['x-a', '1'],
        ['x-a', '2'],
        ['x-a', '3'],
      ],
      { 'x-a': '1, 2, 3' },
    ],
    [
      'are joined if one is empty',
      [
        ['x-a', ''],
        ['x-a', '2'],
      ],
      { 'x-a': ', 2' },
    ],
    [
      'keep others in between',
      [
        ['accept', 'a'],
        ['x-b', 'b'],
        ['accept', 'c'],
      ],
      { accept: 'a, c', 'x-b': 'b' },
    ],
    [
      'cookies are joined with semicolons',
      [
        ['cookie', 'a=1'],
        ['cookie', 'b=2'],
      ],
      { cookie: 'a=1; b=2' },
    ],
    [
      'set-cookie is a list',
      [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
      { 'set-cookie': ['a=1', 'b=2'] },
    ],
    ['set-cookie is a list of one', [['set-cookie', 'a=1']], { 'set-cookie': ['a=1'] }],
    [
      'of x-forwarded-for are joined, so that no proxy is skipped',
      [
        ['x-forwarded-for', '1.1.1.1'],
        ['x-forwarded-for', '2.2.2.2'],
      ],
      { 'x-forwarded-for': '1.1.1.1, 2.2.2.2' },
    ],
    ...[
      'access-control-request-method',
      'authorization',
      'content-encoding',
      'content-type',
      'date',
      'from',
      'if-match',
      'if-modified-since',
      'if-none-match',
      'if-range',
      'if-unmodified-since',
      'max-forwards',
      'proxy-authorization',
      'range',
      'referer',
      'user-agent',
    ].map((name): [string, Field[], IncomingHttpHeaders] => [
      `of ${name}: the first one counts`,
      [
        [name, 'first'],
        [name, 'second'],
      ],
      { [name]: 'first' },
    ]),
    [
      'named like members of objects are plain fields',
      [
        ['__proto__', 'a'],
        ['constructor', 'b'],
        ['__proto__', 'c'],
      ],
      JSON.parse('{"__proto__":"a, c","constructor":"b"}'),
    ],
  ]
  for (const [name, fields, joined] of cases) {
    test(name, async (t) => {
      const headers = read([...get, ...fields])
      const expected = Object.assign(Object.create(null), Object.fromEntries(get))
      for (const [key, value] of Object.entries(joined)) expected[key] = value
      assert.deepEqual(headers, { __proto__: null, host: 'a.example', ...expected })
      assert.deepEqual(await headersOfNode(t, [...get, ...fields]), expected, 'node:http2')
    })
  }
})

describe('host', () => {
  const withoutAuthority = pseudo({ ':authority': undefined })
  for (const [name, fields, host] of [
    ['is the authority if there is none', get, 'a.example'],
    ['is what the request says', [...withoutAuthority, ['host', 'b.example']], 'b.example'],
    [
      'of CONNECT is the authority',
      [
        [':method', 'CONNECT'],
        [':authority', 'a:443'],
      ],
      'a:443',
    ],
  ] as const) {
    test(name, () => assert.equal(read(fields)?.host, host))
  }
})

describe('well-formed requests', () => {
  const cases: [name: string, fields: readonly Field[]][] = [
    ['with an authority and no host', get],
    ['with a host and no authority', [...pseudo({ ':authority': undefined }), ['host', 'a']]],
    ['with an authority and the same host', [...get, ['host', 'a.example']]],
    ['OPTIONS *', pseudo({ ':method': 'OPTIONS', ':path': '*' })],
    ['OPTIONS of a path', pseudo({ ':method': 'OPTIONS' })],
    [
      'CONNECT',
      [
        [':method', 'CONNECT'],
        [':authority', 'a:443'],
      ],
    ],
    ['with a method of its own', pseudo({ ':method': 'M-SEARCH' })],
    ['with a lower-case method', pseudo({ ':method': 'get' })],
    ['with a scheme of its own', pseudo({ ':scheme': 'coap+tcp' })],
    ['with a query', pseudo({ ':path': '/?a=b&c' })],
    ['with a path of two slashes', pseudo({ ':path': '//a' })],
    ['with raw bytes above ASCII in the path', pseudo({ ':path': '/\xe4' })],
    ['with an empty value', [...get, ['x', '']]],
    ['with bytes above ASCII in a value', [...get, ['x', '\x80\xff']]],
    ['with spaces and tabs within a value', [...get, ['x', 'a \t b']]],
    ['with a value of one character', [...get, ['x', '!']]],
    ['with a name of every allowed character', [...get, ["!#$%&'*+-.^_`|~09az", 'x']]],
    ['with te: trailers', [...get, ['te', 'trailers']]],
    ['with te: Trailers', [...get, ['te', 'Trailers']]],
    ['with an empty body', [...get, ['content-length', '0']]],
    ['with a content-length of 15 digits', [...get, ['content-length', '999999999999999']]],
    ['with a content-length of leading zeros', [...get, ['content-length', '007']]],
  ]
  for (const [name, fields] of cases) {
    test(name, () => {
      const expected: Record<string, string> = {}
      for (const [key, value] of fields) expected[key] = value
      expected['host'] ??= expected[':authority'] ?? ''
      assert.deepEqual(plain(read(fields)), expected)
    })
  }
})

describe('whitespace around a value is dropped', () => {
  for (const [value, trimmed] of [
    [' a', 'a'],
    ['a\t', 'a'],
    ['\t a b \t', 'a b'],
    [' ', ''],
    ['\t', ''],
  ] as const)
    test(JSON.stringify(value), () => assert.equal(read([...get, ['x', value]])?.['x'], trimmed))
})

describe('malformed requests', () => {
  const cases: [name: string, fields: readonly Field[]][] = [
    ['without any field', []],
    ...['method', 'scheme', 'path', 'authority'].map((name): [string, Field[]] => [
      `without :${name}`,
      pseudo({ [`:${name}`]: undefined }),
    ]),
    ...get.map((field): [string, Field[]] => [`with ${field[0]} twice`, [...get, field]]),
    ...get.map((field): [string, Field[]] => [
      `with ${field[0]} after a field`,
      [...get.filter((other) => other !== field), ['x', 'y'], field],
    ]),
    ['with :status', [...get, [':status', '200']]],
    ['with :protocol', [...get, [':protocol', 'websocket']]],
    ['with an unknown pseudo-header field', [...get, [':x', 'y']]],
    [
      'with the name of a pseudo-header field in upper case',
      [...pseudo({ ':path': undefined }), [':Path', '/']],
    ],
    ['with a name of only a colon', [...get, [':', 'y']]],
    ['with an empty method', pseudo({ ':method': '' })],
    ['with a space in the method', pseudo({ ':method': 'GET /' })],
    ['with a colon in the method', pseudo({ ':method': 'GE:T' })],
    ['with an empty scheme', pseudo({ ':scheme': '' })],
    ['with a scheme that starts with a digit', pseudo({ ':scheme': '1http' })],
    ['with a scheme that has a slash', pseudo({ ':scheme': 'http://a/' })],
    ['with an empty path', pseudo({ ':path': '' })],
    ['with a path without a slash', pseudo({ ':path': 'a' })],
    ['with a whole URL as the path', pseudo({ ':path': 'http://a/' })],
    ['with a space in the path', pseudo({ ':path': '/a b' })],
    ['with a line break in the path', pseudo({ ':path': '/a\r\nx: y' })],
    ['with a NUL in the path', pseudo({ ':path': '/\0' })],
    ['with a DEL in the path', pseudo({ ':path': '/\x7f' })],
    ['GET *', pseudo({ ':path': '*' })],
    ['with a path of two stars', pseudo({ ':method': 'OPTIONS', ':path': '**' })],
    ['with a space in the authority', pseudo({ ':authority': 'a b' })],
    ['with a line break in the authority', pseudo({ ':authority': 'a\n' })],
    ['with an empty authority and no host', pseudo({ ':authority': '' })],
    ['with an empty host and no authority', [...pseudo({ ':authority': undefined }), ['host', '']]],
    ['CONNECT without an authority', [[':method', 'CONNECT']]],
    [
      'CONNECT with a path',
      [
        [':method', 'CONNECT'],
        [':authority', 'a'],
        [':path', '/'],
      ],
    ],
    [
      'CONNECT with a scheme',
      [
        [':method', 'CONNECT'],
        [':authority', 'a'],
        [':scheme', 'https'],
      ],
    ],
    ...['', 'A', 'a b', 'a:', 'a(b', 'a"', 'a\0', 'a\r', 'a\n', '\xe4', 'a\x7f', '\ta'].map(
      (name): [string, Field[]] => [`with the name ${JSON.stringify(name)}`, [...get, [name, 'x']]],
    ),
    ...['a\0', 'a\rb', 'a\nb', '\r\n', 'a\x1fb', 'a\x7f', ' \n'].map((value): [string, Field[]] => [
      `with the value ${JSON.stringify(value)}`,
      [...get, ['x', value]],
    ]),
    ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map(
      (name): [string, Field[]] => [`with ${name}`, [...get, [name, 'close']]],
    ),
    ...['', 'gzip', 'trailers, deflate', 'trailers;q=0.5'].map((value): [string, Field[]] => [
      `with te: ${value}`,
      [...get, ['te', value]],
    ]),
    ['with te: trailers twice, once with more', [...get, ['te', 'trailers'], ['te', 'gzip']]],
    ...['', '-1', '+1', '1.0', '1e3', '0x10', '1 1', '1,1', 'one', '9'.repeat(16)].map(
      (value): [string, Field[]] => [`with content-length: ${value}`, [...get, ['content-length', value]]],
    ),
    ['with two hosts', [...pseudo({ ':authority': undefined }), ['host', 'a'], ['host', 'b']]],
    ['with the same length twice', [...get, ['content-length', '1'], ['content-length', '1']]],
    ['with two lengths', [...get, ['content-length', '1'], ['content-length', '2']]],
    [
      'with a length that is malformed the second time',
      [...get, ['content-length', '1'], ['content-length', 'x']],
    ],
    ['with a malformed field among many', [...get, ['a', 'b'], ['c', 'd\n'], ['e', 'f']]],
  ]
  for (const [name, fields] of cases) test(name, () => assert.equal(plain(read(fields)), undefined))
})

describe('trailers', () => {
  for (const [name, fields, isValid] of [
    ['no field', [], true],
    ['fields', ['x', 'y', 'grpc-status', '0'], true],
    ['an empty value', ['x', ''], true],
    ['a pseudo-header field', [':path', '/'], false],
    ['an upper-case name', ['X', 'y'], false],
    ['an empty name', ['', 'y'], false],
    ['a line break in a value', ['x', 'a\nb'], false],
    ['a NUL in the second value', ['x', 'y', 'z', '\0'], false],
    ['a connection-specific field', ['connection', 'close'], false],
    ['transfer-encoding', ['transfer-encoding', 'chunked'], false],
  ] as const) {
    test(`${name}: ${isValid ? 'well-formed' : 'malformed'}`, () =>
      assert.equal(areTrailers(fields), isValid))
  }
})

/** What a server of node:http2 makes of the fields. */
async function headersOfNode(t: TestContext, fields: readonly Field[]): Promise<IncomingHttpHeaders> {
  const server = createServer()
  t.after(() => server.close())
  const received = new Promise<IncomingHttpHeaders>((resolve) =>
    server.on('stream', (stream, headers) => {
      stream.close()
      resolve(headers)
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => undefined)
  const block = Buffer.concat(
    fields.flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name, 'latin1'),
      Buffer.from([value.length]),
      Buffer.from(value, 'latin1'),
    ]),
  )
  const head = Buffer.from([0, block.length >> 8, block.length, 1, 5, 0, 0, 0, 1])
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings, head, block]))
  const headers = { ...(await received) } as Record<string | symbol, unknown>
  for (const key of Object.getOwnPropertySymbols(headers)) delete headers[key]
  return Object.assign(Object.create(null), headers) as IncomingHttpHeaders
}
