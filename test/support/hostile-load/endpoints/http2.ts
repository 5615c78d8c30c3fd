import { flags, h2Frame, h2Preface, hpack, KIB, MIB } from '../bytes.ts'
import type { Body, HostileCase, Target } from '../hostile-case.ts'
import { raw } from '../requests.ts'

/** HTTP/2, spoken by hand. */

const END = flags.endHeaders | flags.endStream
const path = (target: Target, method: string, path: string, more: Readonly<Record<string, string>> = {}) =>
  hpack({ ':method': method, ':scheme': 'http', ':path': path, ':authority': target.host, ...more })
const get = (target: Target) => path(target, 'GET', '/healthz')
const call = (target: Target) =>
  path(target, 'POST', '/chainguard.platform.ping.v2beta1.PingService/Ping', {
    'content-type': 'application/grpc',
    te: 'trailers',
  })

/** The preface, and the frames of a script. */
const session =
  (script: (target: Target) => readonly Uint8Array[], settings?: Parameters<typeof h2Preface>[0]): Body =>
  (target) =>
    Buffer.concat([h2Preface(settings), ...script(target)])

const many = (count: number, frame: (at: number) => Uint8Array): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => frame(at)))
const streamOf = (at: number) => 2 * at + 1
const start = session(() => [])

const floods: readonly HostileCase[] = [
  raw(
    '20,000 streams that are reset immediately',
    session((target) => [
      many(20_000, (at) =>
        Buffer.concat([
          h2Frame('headers', streamOf(at), get(target), END),
          h2Frame('reset', streamOf(at), Buffer.from([0, 0, 0, 8])),
        ]),
      ),
    ]),
    { holdMs: 500 },
  ),
  raw(
    '20 times 2,000 streams that are reset, with reconnects',
    session((target) => [
      many(2000, (at) =>
        Buffer.concat([
          h2Frame('headers', streamOf(at), get(target), END),
          h2Frame('reset', streamOf(at), Buffer.from([0, 0, 0, 8])),
        ]),
      ),
    ]),
    { rounds: 20, holdMs: 100, quick: true },
  ),
  raw(
    '10 times 2,000 calls that are reset, on 10 connections',
    session((target) => [
      many(2000, (at) =>
        Buffer.concat([
          h2Frame('headers', streamOf(at), call(target), flags.endHeaders),
          h2Frame('reset', streamOf(at), Buffer.from([0, 0, 0, 8])),
        ]),
      ),
    ]),
    { connections: 10, rounds: 10, holdMs: 100 },
  ),
  raw(
    'streams that the server must reset',
    session((target) => [
      many(5000, (at) =>
        Buffer.concat([
          h2Frame('headers', streamOf(at), get(target), flags.endHeaders),
          h2Frame('windowUpdate', streamOf(at), Buffer.alloc(4)),
        ]),
      ),
    ]),
    { holdMs: 500 },
  ),
  raw(
    '10,000 streams at a time',
    session((target) => [many(10_000, (at) => h2Frame('headers', streamOf(at), get(target), END))]),
    { holdMs: 500, quick: true },
  ),
  raw(
    '10,000 streams at a time, of which nothing is read',
    session((target) => [many(10_000, (at) => h2Frame('headers', streamOf(at), get(target), END))]),
    { holdMs: 500, neverReads: true },
  ),
  raw(
    '100,000 pings',
    session(() => [many(100_000, () => h2Frame('ping', 0, Buffer.alloc(8)))]),
    { holdMs: 500, quick: true },
  ),
  raw('pings of which no reply is read', start, {
    neverReads: true,
    holdMs: 500,
    next: { bytes: () => many(5000, () => h2Frame('ping', 0, Buffer.alloc(8))), times: 100 },
  }),
  raw(
    '100,000 settings',
    session(() => [many(100_000, () => h2Frame('settings', 0, Buffer.from([0, 3, 0, 0, 0, 100])))]),
    { holdMs: 500 },
  ),
  raw('settings of which no reply is read', start, {
    neverReads: true,
    holdMs: 500,
    next: { bytes: () => many(5000, () => h2Frame('settings', 0)), times: 100 },
  }),
  raw(
    'settings of 16 KiB',
    session(() => [
      many(100, () => h2Frame('settings', 0, Buffer.alloc(16_380, Buffer.from([0, 3, 0, 0, 0, 100])))),
    ]),
    { holdMs: 500 },
  ),
  raw(
    '100,000 empty frames of data',
    session((target) => [
      h2Frame('headers', 1, call(target), flags.endHeaders),
      many(100_000, () => h2Frame('data', 1)),
    ]),
    { holdMs: 500 },
  ),
  raw(
    'data of padding only',
    session((target) => [
      h2Frame('headers', 1, call(target), flags.endHeaders),
      many(3000, () =>
        h2Frame('data', 1, Buffer.concat([Buffer.from([255]), Buffer.alloc(255)]), flags.padded),
      ),
    ]),
    { holdMs: 500 },
  ),
  raw(
    '100,000 updates of windows',
    session((target) => [
      h2Frame('headers', 1, call(target), flags.endHeaders),
      many(100_000, () => h2Frame('windowUpdate', 1, Buffer.from([0, 0, 0, 1]))),
    ]),
    { holdMs: 500 },
  ),
  raw(
    'a window that overflows',
    session(() => [many(3, () => h2Frame('windowUpdate', 0, Buffer.from([127, 255, 255, 255])))]),
  ),
  raw(
    '50,000 priorities',
    session(() => [
      many(50_000, (at) => h2Frame('priority', streamOf(at % 1000), Buffer.from([0, 0, 0, 0, 1]))),
    ]),
    { holdMs: 500 },
  ),
  raw(
    '100,000 frames of an unknown type',
    session(() => [many(100_000, () => Buffer.concat([Buffer.from([0, 0, 0, 99, 0]), Buffer.alloc(4)]))]),
    { holdMs: 500 },
  ),
]

const bomb = Buffer.concat([
  // A header of 4 KiB goes into the table once, and each byte after it repeats it.
  Buffer.from([0x40, 1, 0x78, 127, 0xa1, 0x1e]),
  Buffer.alloc(4000, 97),
])
const headers: readonly HostileCase[] = [
  raw(
    'a block of headers without an end',
    session((target) => [
      h2Frame('headers', 1, get(target), flags.endStream),
      many(2000, () => h2Frame('continuation', 1, hpack({ a: 'b'.repeat(1000) }))),
    ]),
    { holdMs: 500, quick: true },
  ),
  raw(
    '100,000 empty continuations',
    session((target) => [
      h2Frame('headers', 1, get(target), flags.endStream),
      many(100_000, () => h2Frame('continuation', 1)),
    ]),
    { holdMs: 500, quick: true },
  ),
  raw(
    'a block without an end on 50 connections',
    session((target) => [
      h2Frame('headers', 1, get(target), flags.endStream),
      many(20, () => h2Frame('continuation', 1, hpack({ a: 'b'.repeat(1000) }))),
    ]),
    { connections: 50, holdMs: 1500 },
  ),
  raw(
    '200 header bombs',
    session((target) => [
      h2Frame('headers', 1, Buffer.concat([get(target), bomb]), END),
      many(200, (at) =>
        h2Frame('headers', streamOf(at + 1), Buffer.concat([get(target), Buffer.alloc(10_000, 0xbe)]), END),
      ),
    ]),
    { holdMs: 500, quick: true },
  ),
  raw(
    '100 requests with 3,000 headers',
    session((target) => [
      many(100, (at) =>
        h2Frame(
          'headers',
          streamOf(at),
          Buffer.concat([get(target), many(2000, () => hpack({ a: 'b' }))]),
          END,
        ),
      ),
    ]),
    { holdMs: 500 },
  ),
  raw(
    'a table of headers of 4 GiB',
    session(
      (target) => [
        h2Frame(
          'headers',
          1,
          Buffer.concat([Buffer.from([0x3f, 0xff, 0xff, 0xff, 0xff, 0x07]), get(target)]),
          END,
        ),
      ],
      [[1, 0xffffffff]],
    ),
  ),
  raw(
    '50 requests with headers of 16 KiB',
    session((target) => [
      many(50, (at) =>
        h2Frame('headers', streamOf(at), Buffer.concat([get(target), hpack({ a: 'b'.repeat(15_000) })]), END),
      ),
    ]),
    { holdMs: 500 },
  ),
]

const waiting: readonly HostileCase[] = [
  raw(
    '250 streams with a window of zero that ask for much',
    session(
      (target) => [
        many(250, (at) => h2Frame('headers', streamOf(at), path(target, 'GET', '/openapi.json'), END)),
      ],
      [[4, 0]],
    ),
    { holdMs: 2000, budgetMib: 32, quick: true },
  ),
  raw(
    '20 connections of 100 streams with a window of one byte',
    session(
      (target) => [many(100, (at) => h2Frame('headers', streamOf(at), path(target, 'GET', '/docs'), END))],
      [[4, 1]],
    ),
    { connections: 20, holdMs: 2000, budgetMib: 64 },
  ),
  raw(
    '100 bodies a byte at a time',
    session((target) => [
      many(100, (at) => h2Frame('headers', streamOf(at), call(target), flags.endHeaders)),
    ]),
    {
      next: {
        bytes: () => many(100, (at) => h2Frame('data', streamOf(at), Buffer.from([0]))),
        times: 20,
        everyMs: 100,
      },
      holdMs: 500,
    },
  ),
  raw('500 connections that only say hello', start, { connections: 500, holdMs: 1500 }),
  raw('500 connections with half a preface', () => Buffer.from('PRI * HTTP/2.0\r\n'), {
    connections: 500,
    holdMs: 1500,
  }),
  raw(
    '200 connections with half a frame',
    session(() => [h2Frame('headers', 1, Buffer.alloc(100), END, 16_000)]),
    { connections: 200, holdMs: 1500 },
  ),
  raw(
    'a frame that is too long',
    session(() => [h2Frame('data', 1, Buffer.alloc(MIB), 0)]),
  ),
  raw(
    'data for streams that are not there',
    session(() => [many(1000, (at) => h2Frame('data', streamOf(at), Buffer.alloc(KIB)))]),
  ),
  raw(
    'promises of a client',
    session((target) => [many(1000, (at) => h2Frame('pushPromise', streamOf(at), get(target), END))]),
  ),
  raw(
    'even streams',
    session((target) => [h2Frame('headers', 2, get(target), END)]),
  ),
  raw(
    '1 MiB of bodies for a health check',
    session((target) => [
      h2Frame('headers', 1, path(target, 'POST', '/healthz'), flags.endHeaders),
      many(60, () => h2Frame('data', 1, Buffer.alloc(16 * KIB))),
    ]),
    { holdMs: 500 },
  ),
]

export const http2Cases: readonly HostileCase[] = [...floods, ...headers, ...waiting]
