import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  GetGroupRequestSchema,
  type Group,
  GroupSchema,
  GroupsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { BadRequestSchema, ErrorInfoSchema } from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { StatusSchema } from '@berth/contract/gen/google/rpc/status_pb.js'
import { invalidArgument } from '@berth/server/api/errors.ts'
import { encodeFrame } from '@berth/server/gateway/grpc/frame.ts'
import { createGrpcHandler, type GrpcOptions } from '@berth/server/gateway/grpc/handler.ts'
import type { IncomingCall } from '@berth/server/pipeline/call.ts'
import { createUnreadReplies } from '@berth/server/port/bodies/unread-replies.ts'
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import {
  type CallOptions,
  Client,
  compressionAlgorithms,
  credentials,
  Metadata,
  type ServiceError,
  status as Status,
} from '@grpc/grpc-js'
import { allowAll } from './support/api/allow-all-pipeline.ts'
import { http2Request, http2Session, startPort } from './support/http/port.ts'

const path = '/chainguard.platform.iam.v2beta1.GroupsService/GetGroup'

type GroupInit = MessageInitShape<typeof GroupSchema>

/** What the handler of a test does with a uid. */
type Answer = (uid: string, incoming: IncomingCall) => Promise<GroupInit> | GroupInit

const echo: Answer = (uid) => ({ uid, name: 'echo' })

async function startGrpc(
  t: TestContext,
  answer: Answer = echo,
  options: Partial<GrpcOptions> = {},
  stopGraceMs = 200,
) {
  const errors: object[] = []
  const log = { error: (fields: object) => errors.push(fields), debug() {} }
  const grpc = createGrpcHandler({
    authorizeHeaders: allowAll(async (method, message, incoming) => {
      assert.equal(method.name, 'GetGroup')
      const { uid } = message as unknown as { uid: string }
      return create(GroupSchema, await answer(uid, incoming))
    }),
    services: [GroupsService],
    errorDomain: 'test.example',
    log,
    ...options,
  })
  const server = await startPort(t, { grpc, limits: { stopGraceMs, concurrentStreamsMax: 250 } })
  return { ...server, errors }
}

function grpcClient(t: TestContext, port: number, options: object = {}): Client {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': 64 * 1024 * 1024,
    ...options,
  })
  t.after(() => client.close())
  return client
}

interface Called {
  readonly group: Group
  readonly headers: Metadata
  readonly trailers: Metadata
}

function getGroup(
  client: Client,
  uid: string,
  options: CallOptions = {},
  metadata = new Metadata(),
  onCall: (call: { cancel(): void }) => void = () => {},
): Promise<Called> {
  return new Promise((resolve, reject) => {
    let group: Group | undefined
    let headers = new Metadata()
    const call = client.makeUnaryRequest(
      path,
      (request: { uid: string }) =>
        Buffer.from(toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, request))),
      (bytes) => fromBinary(GroupSchema, bytes),
      { uid },
      metadata,
      options,
      (error, reply) => {
        if (error !== null) reject(error)
        group = reply
      },
    )
    call.on('metadata', (received) => {
      headers = received
    })
    call.on('status', ({ metadata: trailers }) => {
      if (group !== undefined) resolve({ group, headers, trailers })
    })
    onCall(call)
  })
}

const failureOf = (call: Promise<unknown>): Promise<ServiceError> =>
  call.then(
    () => assert.fail('the call succeeded'),
    (error: ServiceError) => error,
  )

/** A call by hand: what grpc-js would never send. */
async function rawCall(t: TestContext, url: string, headers: object, body?: Uint8Array) {
  const reply = await http2Request(
    http2Session(t, url),
    { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', ...headers },
    body,
  )
  const fields = { ...reply.headers, ...reply.trailers } as Record<string, string | undefined>
  return { ...reply, fields, grpcStatus: Number(fields['grpc-status'] ?? -1) }
}

const requestBytes = (uid: string) => toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid }))
const requestFrame = (uid: string) => encodeFrame(requestBytes(uid), false)

describe('unary calls', () => {
  test('go to dispatch and come back', async (t) => {
    let seen: IncomingCall | undefined
    const server = await startGrpc(t, (uid, incoming) => {
      seen = incoming
      return { uid, name: 'é' }
    })
    const metadata = new Metadata()
    metadata.set('authorization', 'Bearer abc')
    const { group, headers } = await getGroup(grpcClient(t, server.port), 'u1', {}, metadata)
    assert.deepEqual([group.uid, group.name], ['u1', 'é'])
    assert.equal(seen?.protocol, 'grpc')
    assert.equal(seen?.authorizationHeader, 'Bearer abc')
    assert.deepEqual(headers.get('x-request-id'), [seen?.requestId])
  })

  test('are answered when many arrive together while their headers are being authorized', async (t) => {
    const authorize = allowAll(async (_method, message) =>
      create(GroupSchema, message as unknown as { uid: string }),
    )
    const server = await startGrpc(t, echo, {
      authorizeHeaders: async (method, incoming) => {
        await nextIteration()
        return authorize(method, incoming)
      },
    })
    const client = grpcClient(t, server.port)
    await getGroup(client, 'first')
    const uids = Array.from({ length: 100 }, (_, at) => `u${at}`)
    const called = await Promise.all(uids.map((uid) => getGroup(client, uid)))
    assert.deepEqual(
      called.map(({ group }) => group.uid),
      uids,
    )
    assert.deepEqual(server.log.errors, [])
  })

  test('share the port with REST', async (t) => {
    const server = await startGrpc(t)
    assert.equal((await getGroup(grpcClient(t, server.port), 'u')).group.uid, 'u')
    assert.equal((await fetch(server.url)).status, 200)
    assert.equal((await http2Request(http2Session(t, server.url), { ':path': '/' })).status, 200)
  })

  test('run a thousand concurrently on one connection', async (t) => {
    const server = await startGrpc(t, async (uid) => {
      await new Promise(setImmediate)
      return { uid }
    })
    const client = grpcClient(t, server.port)
    const uids = Array.from({ length: 1000 }, (_, index) => `u${index}`)
    const replies = await Promise.all(uids.map((uid) => getGroup(client, uid)))
    assert.deepEqual(
      replies.map(({ group }) => group.uid),
      uids,
    )
  })

  test('carry 900 KiB both ways, and reject more than 1 MiB', async (t) => {
    const server = await startGrpc(t)
    const client = grpcClient(t, server.port)
    const large = 'x'.repeat(900 * 1024)
    assert.equal((await getGroup(client, large)).group.uid, large)
    const error = await failureOf(getGroup(client, 'x'.repeat(1024 * 1024)))
    assert.equal(error.code, Status.INVALID_ARGUMENT)
    assert.equal((await getGroup(client, 'after')).group.uid, 'after')
  })

  test('reject a message by its announced length, before it arrives', async (t) => {
    const server = await startGrpc(t)
    const reply = await new Promise<number>((resolve) => {
      const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc' }
      const stream = http2Session(t, server.url).request(headers)
      stream.on('response', (head) => resolve(Number(head['grpc-status'])))
      stream.on('error', () => undefined)
      stream.write(Buffer.from([0, 0x7f, 0, 0, 0, 1, 2, 3]))
    })
    assert.equal(reply, Status.INVALID_ARGUMENT)
  })

  test('an alias of a service reaches the same methods', async (t) => {
    const namesOf = (service: { typeName: string }) => [
      service.typeName,
      service.typeName.replace('v2beta1', 'v2'),
    ]
    const server = await startGrpc(t, echo, { namesOf })
    const alias = path.replace('v2beta1', 'v2')
    const reply = await rawCall(t, server.url, { ':path': alias }, requestFrame('u'))
    assert.equal(reply.grpcStatus, Status.OK)
  })
})

describe('errors', () => {
  test('are trailers only, with code, message and details', async (t) => {
    const server = await startGrpc(t, () => {
      throw invalidArgument('claimMatch.audience["aB"].issuerUrl', 'should be 100 % “good”')
    })
    const error = await failureOf(getGroup(grpcClient(t, server.port), 'u'))
    assert.equal(error.code, Status.INVALID_ARGUMENT)
    assert.equal(
      error.details,
      'Invalid argument: claim_match.audience["aB"].issuer_url: should be 100 % “good”',
    )
    const [bytes] = error.metadata.get('grpc-status-details-bin')
    assert.ok(bytes instanceof Buffer)
    const decoded = fromBinary(StatusSchema, bytes)
    assert.equal(decoded.code, 3)
    assert.equal(decoded.message, error.details)
    const [info, bad] = decoded.details
    assert.ok(info !== undefined && bad !== undefined)
    assert.equal(info.typeUrl, 'type.googleapis.com/google.rpc.ErrorInfo')
    const { reason, domain } = fromBinary(ErrorInfoSchema, info.value)
    assert.deepEqual([reason, domain], ['INVALID_ARGUMENT', 'test.example'])
    const violation = fromBinary(BadRequestSchema, bad.value).fieldViolations[0]
    assert.equal(violation?.field, 'claim_match.audience["aB"].issuer_url')
    const raw = await rawCall(t, server.url, {}, requestFrame('u'))
    assert.equal(raw.headers['grpc-status'], '3')
    assert.deepEqual(raw.trailers, {})
    assert.match(String(raw.headers['grpc-message']), /100 %25 %E2%80%9Cgood%E2%80%9D$/)
    assert.doesNotMatch(String(raw.headers['grpc-status-details-bin']), /=/)
  })

  test('that are bugs tell the request id, and the cause goes to the log', async (t) => {
    const server = await startGrpc(t, () => {
      throw new Error('secret')
    })
    const error = await failureOf(getGroup(grpcClient(t, server.port), 'u'))
    assert.equal(error.code, Status.INTERNAL)
    assert.doesNotMatch(error.details, /secret/)
    const [line] = server.errors as { requestId: string; err: Error }[]
    assert.ok(line !== undefined && error.details.includes(line.requestId))
    assert.equal(line.err.message, 'secret')
  })

  test('with more details than a header list holds still arrive', async (t) => {
    const server = await startGrpc(t, () => {
      throw invalidArgument('a', 'x'.repeat(100_000))
    })
    const error = await failureOf(getGroup(grpcClient(t, server.port), 'u'))
    assert.equal(error.code, Status.INVALID_ARGUMENT)
    assert.ok(error.details.length <= 1024)
    assert.equal(error.metadata.get('grpc-status-details-bin').length, 1)
  })

  for (const unknown of [
    '/no.Such/Method',
    `${path}s`,
    '/',
    '/chainguard.platform.iam.v2beta1.GroupsService/getGroup',
  ]) {
    test(`${unknown} is unimplemented`, async (t) => {
      const server = await startGrpc(t)
      const reply = await rawCall(t, server.url, { ':path': unknown }, requestFrame('u'))
      assert.equal(reply.status, 200)
      assert.equal(reply.grpcStatus, Status.UNIMPLEMENTED)
    })
  }

  for (const [kind, expected, body] of [
    ['no message', Status.UNIMPLEMENTED, undefined],
    ['an empty body', Status.UNIMPLEMENTED, new Uint8Array()],
    ['two messages', Status.UNIMPLEMENTED, Buffer.concat([requestFrame('a'), requestFrame('b')])],
    ['a prefix cut off', Status.INTERNAL, Buffer.from([0, 0])],
    ['a message cut off', Status.INTERNAL, requestFrame('abc').subarray(0, 7)],
    [
      'a message and a half',
      Status.INTERNAL,
      Buffer.concat([requestFrame('a'), requestFrame('b').subarray(0, 6)]),
    ],
    ['bytes that are no message', Status.INTERNAL, encodeFrame(Buffer.from([0x0a, 0x7f, 1]), false)],
    ['a flag that does not exist', Status.INTERNAL, Buffer.from([2, 0, 0, 0, 0])],
    [
      'a compressed message without an encoding',
      Status.INTERNAL,
      encodeFrame(gzipSync(requestBytes('a')), true),
    ],
  ] as const) {
    test(`${kind} in a unary call has status ${expected}`, async (t) => {
      const server = await startGrpc(t)
      const reply = await rawCall(t, server.url, {}, body)
      assert.equal(reply.status, 200)
      assert.equal(reply.grpcStatus, expected)
      assert.ok(reply.fields['grpc-status-details-bin'])
      assert.equal(server.errors.length, 0)
    })
  }

  test('content types other than protobuf get 415, methods other than POST 405', async (t) => {
    const server = await startGrpc(t)
    for (const contentType of ['application/grpc+json', 'application/grpc-web', 'application/grpcx']) {
      const reply = await rawCall(t, server.url, { 'content-type': contentType }, requestFrame('u'))
      assert.equal(reply.status, 415)
      assert.equal(JSON.parse(reply.body.toString()).code, 3)
    }
    for (const contentType of ['application/grpc+proto', 'application/grpc; charset=utf-8']) {
      const reply = await rawCall(t, server.url, { 'content-type': contentType }, requestFrame('u'))
      assert.equal(reply.grpcStatus, Status.OK)
    }
    const got = await rawCall(t, server.url, { ':method': 'GET' })
    assert.equal(got.status, 405)
    const { allow } = got.headers
    assert.equal(allow, 'POST')
  })
})

describe('deadlines and cancellation', () => {
  /** A handler that never responds, and reports when its signal fires. */
  function hanging() {
    let report: (reason: unknown) => void = () => {}
    const reason = new Promise<unknown>((resolve) => {
      report = resolve
    })
    let begin = () => {}
    const began = new Promise<void>((resolve) => {
      begin = resolve
    })
    const answer: Answer = (_, { signal }) => {
      signal?.addEventListener('abort', () => report(signal.reason))
      begin()
      return new Promise<never>(() => {})
    }
    return { answer, reason, began }
  }

  test('a deadline that passes is reported to client and handler', async (t) => {
    const { answer, reason } = hanging()
    const server = await startGrpc(t, answer)
    // By hand: grpc-js gives up by itself and does not wait for the server's word.
    const reply = await rawCall(t, server.url, { 'grpc-timeout': '50m' }, requestFrame('u'))
    assert.equal(reply.grpcStatus, Status.DEADLINE_EXCEEDED)
    assert.equal(((await reason) as { code: number }).code, 4)
    const error = await failureOf(getGroup(grpcClient(t, server.port), 'u', { deadline: Date.now() + 50 }))
    assert.equal(error.code, Status.DEADLINE_EXCEEDED)
  })

  test('a deadline is understood in every unit', async (t) => {
    const server = await startGrpc(t)
    for (const timeout of ['1H', '1M', '10S', '10000m', '10000000u', '99999999n', '99999999H']) {
      const reply = await rawCall(t, server.url, { 'grpc-timeout': timeout }, requestFrame('u'))
      assert.notEqual(reply.grpcStatus, Status.INVALID_ARGUMENT)
      if (timeout !== '99999999n') assert.equal(reply.grpcStatus, Status.OK)
    }
    for (const timeout of ['1', 'S', '123456789S', '-1S', '1.5S', '1s']) {
      const reply = await rawCall(t, server.url, { 'grpc-timeout': timeout }, requestFrame('u'))
      assert.equal(reply.grpcStatus, Status.INVALID_ARGUMENT)
    }
    const past = await rawCall(t, server.url, { 'grpc-timeout': '0m' }, requestFrame('u'))
    assert.equal(past.grpcStatus, Status.DEADLINE_EXCEEDED)
  })

  test('a handler without a deadline is given up after the handler timeout', async (t) => {
    const { answer, reason } = hanging()
    const server = await startGrpc(t, answer, { limits: { handlerTimeoutMs: 50 } })
    const error = await failureOf(getGroup(grpcClient(t, server.port), 'u'))
    assert.equal(error.code, Status.DEADLINE_EXCEEDED)
    await reason
  })

  test('a request that does not arrive in time is given up', async (t) => {
    const server = await startGrpc(t, echo, { limits: { requestTimeoutMs: 50 } })
    const stream = http2Session(t, server.url).request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
    })
    stream.on('error', () => undefined)
    stream.write(Buffer.from([0, 0]))
    const status = await new Promise((resolve) =>
      stream.on('response', (head) => resolve(head['grpc-status'])),
    )
    assert.equal(Number(status), Status.DEADLINE_EXCEEDED)
  })

  test('a handler may take longer than the request may', async (t) => {
    const slow: Answer = async (uid) => {
      await new Promise((resolve) => setTimeout(resolve, 150))
      return { uid }
    }
    const server = await startGrpc(t, slow, { limits: { requestTimeoutMs: 50 } })
    assert.equal((await getGroup(grpcClient(t, server.port), 'u')).group.uid, 'u')
  })

  test('a client that cancels aborts the signal', async (t) => {
    const { answer, reason, began } = hanging()
    const server = await startGrpc(t, answer)
    const error = failureOf(
      getGroup(
        grpcClient(t, server.port),
        'u',
        {},
        new Metadata(),
        (call) => void began.then(() => call.cancel()),
      ),
    )
    assert.equal((await error).code, Status.CANCELLED)
    assert.equal(((await reason) as { code: number }).code, 1)
  })

  test('a stop that cuts off a call aborts the signal', async (t) => {
    const { answer, reason, began } = hanging()
    const server = await startGrpc(t, answer)
    const failed = failureOf(getGroup(grpcClient(t, server.port), 'u'))
    await began
    await server.stop()
    assert.equal((await failed).code, Status.UNAVAILABLE)
    const late = new Promise((resolve) => setTimeout(resolve, 1000, 'never'))
    assert.equal(((await Promise.race([reason, late])) as { code: number }).code, 14)
  })

  test('a client that disconnects aborts the signal', async (t) => {
    const { answer, reason, began } = hanging()
    const server = await startGrpc(t, answer)
    const session = http2Session(t, server.url)
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc' }
    const stream = session.request(headers)
    stream.on('error', () => undefined)
    stream.end(requestFrame('u'))
    await began
    session.destroy()
    assert.equal(((await reason) as { code: number }).code, 1)
  })

  test('a signal that is asked for too late is aborted already', async (t) => {
    let late: IncomingCall | undefined
    const server = await startGrpc(t, (_, incoming) => {
      late = incoming
      return new Promise<never>(() => {})
    })
    await rawCall(t, server.url, { 'grpc-timeout': '50m' }, requestFrame('u'))
    assert.equal(late?.signal?.aborted, true)
  })
})

describe('compression', () => {
  test('gzip requests and replies pass between grpc-js and the codec', async (t) => {
    // What arrives fits only if it was packed.
    const server = await startGrpc(t, echo, { limits: { apiBodyBytesMax: 10_000 } })
    const client = grpcClient(t, server.port, {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    })
    const text = 'abc'.repeat(20_000)
    assert.equal((await getGroup(client, text)).group.uid, text)
  })

  test('only replies above 32 KiB are packed, and only for clients that take gzip', async (t) => {
    const server = await startGrpc(t)
    const accept = { 'grpc-accept-encoding': 'identity,deflate,gzip' }
    const small = await rawCall(t, server.url, accept, requestFrame('x'.repeat(30_000)))
    assert.equal(small.headers['grpc-encoding'], undefined)
    assert.equal(small.body[0], 0)
    const large = await rawCall(t, server.url, accept, requestFrame('x'.repeat(40_000)))
    assert.equal(large.headers['grpc-encoding'], 'gzip')
    assert.equal(large.body[0], 1)
    assert.equal(fromBinary(GroupSchema, gunzipSync(large.body.subarray(5))).uid.length, 40_000)
    assert.equal(large.trailers['grpc-status'], '0')
    const plain = await rawCall(t, server.url, {}, requestFrame('x'.repeat(40_000)))
    assert.equal(plain.body[0], 0)
  })

  test('an unknown encoding is unimplemented and names those that are known', async (t) => {
    const server = await startGrpc(t)
    const reply = await rawCall(t, server.url, { 'grpc-encoding': 'snappy' }, requestFrame('u'))
    assert.equal(reply.grpcStatus, Status.UNIMPLEMENTED)
    assert.equal(reply.headers['grpc-accept-encoding'], 'identity,gzip')
  })

  test('an uncompressed message in a gzip call is fine', async (t) => {
    const server = await startGrpc(t)
    const reply = await rawCall(t, server.url, { 'grpc-encoding': 'gzip' }, requestFrame('u'))
    assert.equal(reply.grpcStatus, Status.OK)
  })

  test('what unpacks to more than the limit is rejected', async (t) => {
    const server = await startGrpc(t)
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024))
    const reply = await rawCall(t, server.url, { 'grpc-encoding': 'gzip' }, encodeFrame(bomb, true))
    assert.equal(reply.grpcStatus, Status.INVALID_ARGUMENT)
  })

  test('what is not gzip is a protocol error', async (t) => {
    const server = await startGrpc(t)
    const reply = await rawCall(
      t,
      server.url,
      { 'grpc-encoding': 'gzip' },
      encodeFrame(requestBytes('u'), true),
    )
    assert.equal(reply.grpcStatus, Status.INTERNAL)
    assert.equal(server.errors.length, 0)
  })
})

test('calls that run when the server stops are answered', async (t) => {
  let running = 0
  let release = () => {}
  const waiting = new Promise<void>((resolve) => {
    release = resolve
  })
  const server = await startGrpc(
    t,
    async (uid) => {
      running += 1
      await waiting
      return { uid }
    },
    {},
    10_000,
  )
  const client = grpcClient(t, server.port)
  const calls = Array.from({ length: 50 }, (_, index) => getGroup(client, `u${index}`))
  while (running < 50) await new Promise(setImmediate)
  const stopped = server.stop()
  setTimeout(release, 50)
  const replies = await Promise.all(calls)
  assert.equal(replies.at(-1)?.group.uid, 'u49')
  await stopped
})

test('R28: a client that takes nothing of its reply is cut off, and the reply is counted until then (stalledReplyMs)', async (t) => {
  const unread = createUnreadReplies()
  const { url } = await startGrpc(t, () => ({ name: 'a'.repeat(1000) }), {
    unread,
    limits: { stalledReplyMs: 200 },
  })
  const session = connect(url, { settings: { initialWindowSize: 0 } })
  t.after(() => session.destroy())
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' })
  stream.end(encodeFrame(toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid: 'a' })), false))
  stream.on('error', () => undefined)
  await once(stream, 'response')
  assert.ok(unread.bytes > 1000)
  await once(stream, 'close')
  assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL)
  assert.equal(unread.bytes, 0)
})
