import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { HealthCheckResponseSchema } from '@berth/contract/gen/grpc/health/v1/health_pb.js'
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from '@berth/contract/gen/grpc/reflection/v1/reflection_pb.js'
import { contractFiles } from '@berth/contract/schema-files.ts'
import { limits } from '@berth/server/config/limits.ts'
import { createFrameReader, encodeFrame } from '@berth/server/gateway/grpc/frame.ts'
import { createGrpcHandler, type GrpcOptions } from '@berth/server/gateway/grpc/handler.ts'
import { createHealthService } from '@berth/server/gateway/grpc/health.ts'
import { createReflectionMethods } from '@berth/server/gateway/grpc/reflection.ts'
import {
  clientAddressResolver,
  createTrustedProxyTest,
} from '@berth/server/pipeline/limits/client-address.ts'
import { createBodyBudget } from '@berth/server/port/bodies/body-budget.ts'
import { createUnreadReplies } from '@berth/server/port/bodies/unread-replies.ts'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { eventually } from './support/eventually.ts'
import { Client, data, grow, open, request } from './support/http/http2-conformance.ts'
import { grpcHeaders, type Http2Reply, http2Request, http2Session, startPort } from './support/http/port.ts'
import { END_STREAM, rawHttp2, rawSettings, settingIds } from './support/http/raw-http2.ts'

const [OK, INVALID_ARGUMENT, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED] = ['0', '3', '4', '8']

async function start(t: TestContext, options: Partial<GrpcOptions> = {}) {
  const health = createHealthService([])
  health.setServing(true)
  const grpc = createGrpcHandler({
    authorizeHeaders: () => Promise.reject(new Error('no unary calls here')),
    services: [],
    streaming: [...health.methods, ...createReflectionMethods(contractFiles, ['a.Service'])],
    errorDomain: 'test.example',
    log: { error: () => assert.fail('nothing to log'), debug() {} },
    ...options,
  })
  return startPort(t, { grpc })
}

const CHECK = '/grpc.health.v1.Health/Check'
const LIST = '/grpc.health.v1.Health/List'
const WATCH = '/grpc.health.v1.Health/Watch'
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
const empty = encodeFrame(new Uint8Array(), false)

async function check(session: ClientHttp2Session): Promise<Http2Reply> {
  return http2Request(session, grpcHeaders(CHECK), empty)
}

async function assertServing(session: ClientHttp2Session): Promise<void> {
  const { body, trailers } = await check(session)
  assert.equal(trailers['grpc-status'], OK)
  assert.equal(fromBinary(HealthCheckResponseSchema, body.subarray(5)).status, 1)
}

/** Opens a call that stays open. Resolves with its status if it is refused, or with '' once it has its first reply. */
function openCall(session: ClientHttp2Session, path: string, headers = {}): Promise<string> {
  const stream = session.request(grpcHeaders(path, headers))
  stream.on('error', () => undefined)
  if (path === WATCH) stream.end(empty)
  else stream.write(encodeFrame(listing, false))
  return new Promise((resolve) => {
    stream.on('response', (head) => head['grpc-status'] !== undefined && resolve(String(head['grpc-status'])))
    stream.on('data', () => resolve(''))
  })
}

const listing = toBinary(
  ServerReflectionRequestSchema,
  create(ServerReflectionRequestSchema, { messageRequest: { case: 'listServices', value: '' } }),
)
const asking = (symbol: string) =>
  toBinary(
    ServerReflectionRequestSchema,
    create(ServerReflectionRequestSchema, {
      messageRequest: { case: 'fileContainingSymbol', value: symbol },
    }),
  )

async function openMany(session: ClientHttp2Session, path: string, count: number, headers = {}) {
  const statuses = await Promise.all(Array.from({ length: count }, () => openCall(session, path, headers)))
  return {
    open: statuses.filter((status) => status === '').length,
    refused: statuses.filter((status) => status === RESOURCE_EXHAUSTED).length,
  }
}

describe('calls that stay open', () => {
  for (const path of [WATCH, REFLECTION]) {
    const name = path.slice(path.lastIndexOf('/') + 1)

    test(`${name}: beyond the limit of a connection are rejected, and Check still works (streamingCallsPerConnectionMax)`, async (t) => {
      const server = await start(t)
      const session = http2Session(t, server.url)
      const { open, refused } = await openMany(session, path, 60)
      assert.equal(open, limits.streamingCallsPerConnectionMax)
      assert.equal(refused, 60 - open)
      for (let at = 0; at < 50; at++) await assertServing(session)
    })

    test(`${name}: beyond the limit of an address are rejected, and Check still works (streamingCallsPerAddressMax)`, async (t) => {
      const server = await start(t)
      let all = 0
      for (let at = 0; at < 8; at++) all += (await openMany(http2Session(t, server.url), path, 20)).open
      assert.equal(all, limits.streamingCallsPerAddressMax)
      await assertServing(http2Session(t, server.url))
    })
  }

  test('Watch and reflection share the limit of the server, which Check does not count for (streamingCallsMax)', async (t) => {
    const server = await start(t, { limits: { streamingCallsMax: 30 } })
    const session = http2Session(t, server.url)
    assert.equal((await openMany(session, WATCH, 20)).open, 20)
    const other = http2Session(t, server.url)
    assert.equal((await openMany(other, REFLECTION, 20)).open, 10)
    await assertServing(other)
    session.destroy()
    for (;;) {
      const again = http2Session(t, server.url)
      if ((await openMany(again, WATCH, 20)).open === 20) break
      again.destroy()
      await pause(20)
    }
  })

  test('are rejected with the time after which to try again', async (t) => {
    const server = await start(t, { limits: { streamingCallsMax: 0 } })
    const { headers } = await http2Request(http2Session(t, server.url), grpcHeaders(WATCH), empty)
    assert.equal(headers['grpc-status'], RESOURCE_EXHAUSTED)
    assert.match(decodeURIComponent(String(headers['grpc-message'])), /the server has 0 of them/)
  })

  test('of clients behind a trusted proxy are counted for each of them', async (t) => {
    const trusted = ['127.0.0.0/8']
    const server = await start(t, {
      addressOf: clientAddressResolver(trusted),
      isTrustedProxy: createTrustedProxyTest(trusted),
      limits: { streamingCallsPerConnectionMax: 1, streamingCallsPerAddressMax: 5 },
    })
    const proxy = http2Session(t, server.url)
    for (const client of ['192.0.2.1', '192.0.2.2']) {
      assert.deepEqual(await openMany(proxy, WATCH, 7, { 'x-forwarded-for': client }), {
        open: 5,
        refused: 2,
      })
    }
    assert.deepEqual(await openMany(proxy, WATCH, 7), { open: 7, refused: 0 })
  })

  test('Check is answered when the budget of buffered bytes is used up, and takes small messages only (healthMessageBytesMax)', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 0, totalMax: 0 })
    const server = await start(t, { budget })
    const session = http2Session(t, server.url)
    await assertServing(session)
    const large = encodeFrame(Buffer.alloc(limits.healthMessageBytesMax + 1), false)
    const { headers } = await http2Request(session, grpcHeaders(CHECK), large)
    assert.equal(headers['grpc-status'], INVALID_ARGUMENT)
  })

  test('Check that does not send its request in time ends', async (t) => {
    const server = await start(t, { limits: { requestTimeoutMs: 50 } })
    const stream = http2Session(t, server.url).request(grpcHeaders(CHECK))
    stream.write(empty.subarray(0, 3))
    const status = await new Promise((resolve) =>
      stream.on('response', (head) => resolve(head['grpc-status'])),
    )
    assert.equal(status, DEADLINE_EXCEEDED)
  })
})

/** Counts the replies of a reflection stream without keeping them. */
function repliesOf(stream: ClientHttp2Stream) {
  const seen = { replies: 0, bytes: 0, files: [] as number[] }
  const reader = createFrameReader(64 * 1024 * 1024)
  stream.on('data', (chunk: Buffer) => {
    const frames = reader.push(chunk)
    assert.ok(typeof frames !== 'string')
    for (const { payload } of frames) {
      seen.replies += 1
      seen.bytes += payload.length
      const { messageResponse } = fromBinary(ServerReflectionResponseSchema, payload)
      if (messageResponse.case === 'fileDescriptorResponse')
        seen.files.push(messageResponse.value.fileDescriptorProto.length)
    }
  })
  return seen
}

describe('reflection', () => {
  const symbol = 'chainguard.platform.iam.v2beta1.GroupsService'

  test('R28: sends imports once for each stream, however often they are asked for', async (t) => {
    const server = await start(t)
    const stream = http2Session(t, server.url).request(grpcHeaders(REFLECTION))
    const seen = repliesOf(stream)
    stream.end(Buffer.concat(Array.from({ length: 20 }, () => encodeFrame(asking(symbol), false))))
    await new Promise((resolve) => stream.on('close', resolve))
    assert.equal(seen.replies, 20)
    assert.ok((seen.files[0] ?? 0) > 5)
    assert.deepEqual(new Set(seen.files.slice(1)), new Set([1]))
  })

  test('takes a limited number of requests on one stream (reflectionRequestsMax)', async (t) => {
    const server = await start(t)
    const stream = http2Session(t, server.url).request(grpcHeaders(REFLECTION))
    const seen = repliesOf(stream)
    const status = new Promise((resolve) => stream.on('trailers', (all) => resolve(all['grpc-status'])))
    const count = limits.reflectionRequestsMax + 10
    stream.end(Buffer.concat(Array.from({ length: count }, () => encodeFrame(listing, false))))
    assert.equal(await status, RESOURCE_EXHAUSTED)
    assert.equal(seen.replies, limits.reflectionRequestsMax)
  })

  test('takes small messages only (streamingMessageBytesMax)', async (t) => {
    const server = await start(t)
    const session = http2Session(t, server.url)
    const { headers } = await http2Request(
      session,
      grpcHeaders(REFLECTION),
      encodeFrame(Buffer.alloc(17 * 1024), false),
    )
    assert.equal(headers['grpc-status'], INVALID_ARGUMENT)
    await assertServing(session)
  })

  test('R28: does not answer ahead of a client that reads nothing', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 1_000_000, totalMax: 10_000_000 })
    const server = await start(t, { budget })
    const session = http2Session(t, server.url)
    const stream = session.request(grpcHeaders(REFLECTION))
    stream.end(Buffer.concat(Array.from({ length: 500 }, () => encodeFrame(asking(symbol), false))))
    await eventually(() => budget.buffered > 0)
    // A server that answered ahead would be through with all of them by now.
    for (let at = 0; at < 20; at++) await assertServing(session)
    assert.ok(budget.buffered > 0)
    const seen = repliesOf(stream)
    await new Promise((resolve) => stream.on('close', resolve))
    assert.equal(seen.replies, 500)
    assert.equal(budget.buffered, 0)
  })

  test('a client that sends requests and reads no response is cut off (stalledReplyMs)', async (t) => {
    const server = await start(t, { limits: { stalledReplyMs: 50 } })
    const stream = http2Session(t, server.url).request(grpcHeaders(REFLECTION))
    stream.write(Buffer.concat(Array.from({ length: 500 }, () => encodeFrame(asking(symbol), false))))
    stream.on('error', () => undefined)
    await new Promise((resolve) => stream.on('aborted', resolve))
  })

  test('a client that reads slowly gets responses that take it longer than stalledReplyMs', async (t) => {
    const stalledReplyMs = 200
    const server = await start(t, { limits: { stalledReplyMs } })
    const client = new Client(await rawHttp2(t, server.port, rawSettings([settingIds.initialWindowSize, 0])))
    const headers = request(
      { ':method': 'POST', ':path': REFLECTION },
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
    )
    const requests = Array.from({ length: 40 }, () => encodeFrame(asking(symbol), false))
    client.send(open(1, headers), data(1, Buffer.concat(requests), END_STREAM))
    while (!client.reply(1).hasEnded) {
      assert.deepEqual(client.ofType('reset'), [])
      await pause(stalledReplyMs / 10)
      client.send(grow(0, 4096), grow(1, 4096))
    }
    assert.equal(client.reply(1).headers['grpc-status'], OK)
  })
})

/** A client that gets the headers of its replies, and nothing of their bodies. */
function sessionWithoutWindow(t: TestContext, url: string): ClientHttp2Session {
  const session = connect(url, { settings: { initialWindowSize: 0 } })
  session.on('error', () => undefined)
  t.after(() => session.destroy())
  return session
}

describe('a client that takes nothing of its reply is cut off, and the reply is counted until then (stalledReplyMs)', () => {
  const cases: readonly (readonly [
    string,
    OutgoingHttpHeaders,
    Uint8Array,
    { readonly endStream: boolean },
  ])[] = [
    ['Check', grpcHeaders(CHECK), empty, { endStream: true }],
    ['List', grpcHeaders(LIST), empty, { endStream: true }],
    ['Watch', grpcHeaders(WATCH), empty, { endStream: true }],
    ['reflection', grpcHeaders(REFLECTION), encodeFrame(listing, false), { endStream: false }],
    [
      'reflection that the client has ended',
      grpcHeaders(REFLECTION),
      encodeFrame(listing, false),
      { endStream: true },
    ],
    [
      'an unsupported content type',
      grpcHeaders(CHECK, { 'content-type': 'application/grpc+json' }),
      empty,
      { endStream: true },
    ],
  ]
  for (const [name, headers, body, { endStream }] of cases)
    test(`R28: ${name}`, async (t) => {
      const unread = createUnreadReplies()
      const server = await start(t, { unread, limits: { stalledReplyMs: 200 } })
      const session = sessionWithoutWindow(t, server.url)
      const stream = session.request(headers)
      stream.on('error', () => undefined)
      const closed = once(stream, 'close')
      stream.write(body)
      if (endStream) stream.end()
      await once(stream, 'response')
      await eventually(() => unread.bytes > 0)
      await closed
      assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL)
      await eventually(() => unread.bytes === 0)
      await eventually(() => server.traffic().inFlight.grpc === 0)
      await assertServing(http2Session(t, server.url))
    })
})
