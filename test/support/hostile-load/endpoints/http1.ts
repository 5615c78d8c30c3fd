import { KIB, MIB, repeatedBody, textBody } from '../bytes.ts'
import type { Body, HostileCase } from '../hostile-case.ts'
import { raw } from '../requests.ts'

/** HTTP/1, spoken by hand. */

const get = 'GET /healthz HTTP/1.1\r\nhost: a\r\n'
const post = ({ group }: { readonly group: string }) =>
  `POST /iam/v2beta1/groups/${group} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`
/** A request with the token of the pusher, whose body is read. */
const authorized =
  (rest: string): Body =>
  (target) =>
    Buffer.from(`${post(target)}authorization: ${target.bearer('pusher')}\r\n${rest}`)
const byte = Buffer.from('a')

export const http1Cases: readonly HostileCase[] = [
  raw('500 connections with half a header', textBody(`${get}x: `), {
    connections: 500,
    holdMs: 1500,
    quick: true,
  }),
  raw('200 connections with a header a byte at a time', textBody(get), {
    connections: 200,
    holdMs: 200,
    next: { bytes: () => byte, times: 15, everyMs: 100 },
  }),
  raw('500 silent connections', textBody(''), { connections: 500, holdMs: 1500 }),
  raw('a header of 10 MiB', textBody(get), {
    next: { bytes: () => Buffer.alloc(MIB, 97), times: 10 },
    holdMs: 300,
  }),
  raw('100,000 headers', repeatedBody('a: b\r\n', 100_000, get, '\r\n'), { quick: true }),
  raw('5,000 headers within the limit', repeatedBody('a: b\r\n', 5000, get, '\r\n'), { connections: 10 }),
  raw('a request line of 1 MiB', repeatedBody('a', MIB, 'GET /', ' HTTP/1.1\r\n\r\n')),
  raw('10,000 requests in a pipeline', repeatedBody(`${get}\r\n`, 10_000), { holdMs: 1000, quick: true }),
  raw('10,000 requests in a pipeline of which nothing is read', repeatedBody(`${get}\r\n`, 10_000), {
    neverReads: true,
    holdMs: 1500,
  }),
  raw(
    '1,000 API descriptions in a pipeline of which nothing is read',
    repeatedBody('GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n', 1000),
    { neverReads: true, holdMs: 1500, budgetMib: 32, quick: true },
  ),
  raw('chunks of one byte', authorized('transfer-encoding: chunked\r\n\r\n'), {
    next: { bytes: () => Buffer.from('1\r\na\r\n'.repeat(10_000)), times: 20 },
    holdMs: 500,
    quick: true,
  }),
  raw('chunk extensions of 10 MiB', authorized('transfer-encoding: chunked\r\n\r\n1;'), {
    next: { bytes: () => Buffer.alloc(MIB, 97), times: 10 },
    holdMs: 500,
    quick: true,
  }),
  raw('small chunks with extensions of 15 KiB', authorized('transfer-encoding: chunked\r\n\r\n'), {
    next: { bytes: () => Buffer.from(`1;${'a'.repeat(15 * KIB)}\r\na\r\n`.repeat(10)), times: 100 },
    holdMs: 500,
  }),
  raw('trailers of 10 MiB', authorized('transfer-encoding: chunked\r\n\r\n0\r\n'), {
    next: { bytes: () => Buffer.from('a: b\r\n'.repeat(100_000)), times: 15 },
    holdMs: 500,
  }),
  raw('a chunk of 16 exabytes', authorized('transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n'), {
    next: { bytes: () => Buffer.alloc(MIB), times: 5 },
    holdMs: 300,
  }),
  raw('a length of 1 TiB', authorized('content-length: 1099511627776\r\n\r\n'), {
    next: { bytes: () => Buffer.alloc(MIB), times: 20 },
    holdMs: 300,
  }),
  raw('100 bodies a byte at a time', authorized('content-length: 1000000\r\n\r\n'), {
    connections: 100,
    next: { bytes: () => byte, times: 15, everyMs: 100 },
    holdMs: 200,
  }),
  raw('two lengths', authorized('content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef')),
  raw('a length and chunks', authorized('content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n')),
  raw('an unknown transfer coding', authorized('transfer-encoding: gzip, x\r\n\r\n')),
  raw('line feeds only', repeatedBody('\n', MIB)),
  raw('zeros', () => Buffer.alloc(MIB)),
  raw(
    'a TLS handshake',
    () => Buffer.concat([Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]), Buffer.alloc(512)]),
    { connections: 50 },
  ),
  raw(
    '500 upgrades to HTTP/2',
    textBody(
      `${get}connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: ${'A'.repeat(1000)}\r\n\r\n`,
    ),
    { connections: 100, rounds: 5, holdMs: 100 },
  ),
  raw('500 expectations', authorized('content-length: 1000000\r\nexpect: 100-continue\r\n\r\n'), {
    connections: 100,
    rounds: 5,
    holdMs: 100,
  }),
  raw(
    'CONNECT and OPTIONS to anything',
    textBody(`CONNECT ${'a'.repeat(10_000)}:1 HTTP/1.1\r\nhost: a\r\n\r\n`),
    { connections: 50 },
  ),
]
