import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, type OutgoingHttpHeaders } from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import {
  GetGroupRequestSchema,
  GroupsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { encodeFrame } from '@berth/server/gateway/grpc/frame.ts'
import { create, toBinary } from '@bufbuild/protobuf'
import { eventually } from './support/eventually.ts'
import { grpcHeaders, http2Request, http2Session } from './support/http/port.ts'
import { RESETS_PER_SECOND, type StandstillServerUrls } from './support/http/standstill-limits.ts'

/** The process of a server is stopped for longer than its limits (SIGSTOP), while its clients continue to send. */

const LIMIT_MS = 4000
/** node:http adds a second to the time of an idle connection. */
const STANDSTILL_MS = LIMIT_MS + 2000
/** In the last part of the limit: see `startPeerTimeout`. */
const LATE_MS = LIMIT_MS * 0.85
const GET_GROUP = `/${GroupsService.typeName}/GetGroup`
const CHECK = '/grpc.health.v1.Health/Check'
const [OK, DEADLINE_EXCEEDED] = ['0', '4']
const GROUPS = '/iam/v2beta1/groups/parent'
const groupBody = Buffer.from(JSON.stringify({ name: 'group' }))
const groupRequest = (uid: string) =>
  encodeFrame(toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid })), false)

interface Client {
  readonly name: string
  /** What the client receives. */
  readonly expected: string
  /** Whether the server waits for the rest of a request or handshake when it is stopped. */
  readonly isPending: boolean
  /** Starts the request. The returned function is called while the server is stopped. */
  readonly prepare: (t: TestContext, server: RunningServer) => Promise<() => Promise<string>>
}

interface RunningServer extends StandstillServerUrls {
  /** Connections of the server to its backend. */
  readonly backendSockets: Set<Socket>
}

async function startServer(t: TestContext) {
  const backendSockets = new Set<Socket>()
  const backend = createServer((socket) => {
    backendSockets.add(socket)
    socket.on('error', () => undefined)
  })
  await once(backend.listen(0, '127.0.0.1'), 'listening')
  const { port } = backend.address() as { port: number }
  const script = fileURLToPath(new URL('./support/http/standstill-server.ts', import.meta.url))
  const child = fork(script, [String(LIMIT_MS), String(port)], { stdio: 'inherit' })
  t.after(() => {
    child.kill('SIGKILL')
    for (const socket of backendSockets) socket.destroy()
    backend.close()
  })
  const [urls] = (await once(child, 'message')) as [StandstillServerUrls]
  return { child, server: { ...urls, backendSockets } }
}

/** Sends an HTTP/2 request in two parts: one before the standstill, and the rest during it. Resolves with its (gRPC) status. */
async function sendInParts(t: TestContext, url: string, headers: OutgoingHttpHeaders, body: Buffer) {
  const session = http2Session(t, url)
  await once(session, 'remoteSettings')
  const stream = session.request(headers)
  const status = new Promise<string>((resolve) => {
    let known = ''
    const onHeaders = (fields: Record<string, unknown>) => {
      known = String(fields['grpc-status'] ?? fields[':status'])
    }
    stream.on('response', onHeaders)
    stream.on('trailers', onHeaders)
    stream.on('error', (error) => resolve(error.message))
    stream.on('close', () => resolve(known))
    stream.resume()
  })
  stream.write(body.subarray(0, 3))
  await new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())))
  return () => {
    stream.end(body.subarray(3))
    return status
  }
}

/** Sends a request whose handler waits for the backend, which responds during the standstill. */
async function sendThroughBackend(
  { backendSockets }: RunningServer,
  send: () => Promise<string>,
): Promise<() => Promise<string>> {
  const before = backendSockets.size
  const received = send()
  await eventually(() => backendSockets.size > before)
  const [socket] = [...backendSockets].slice(-1)
  return () => {
    socket?.write('x')
    return received
  }
}

async function restGet({ plain }: RunningServer, uid: string): Promise<string> {
  const { status } = await fetch(`${plain}/iam/v2beta1/groups/${uid}`)
  return String(status)
}

/** Sends one request over HTTP/1.1 before the standstill, and another one during it. Resolves with the status of both. */
async function sendTwice(t: TestContext, socket: Socket): Promise<() => Promise<string>> {
  t.after(() => socket.destroy())
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk
  })
  const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve))
  const send = (more = '') => socket.write(`GET /iam/v2beta1/groups/group HTTP/1.1\r\nhost: a\r\n${more}\r\n`)
  send()
  await eventually(() => received.includes('"uid"'))
  return async () => {
    send('connection: close\r\n')
    await closed
    return [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status).join(' ')
  }
}

/** Sends a REST request over HTTP/1.1 in two parts, as `sendInParts` does. */
async function sendHttp1InParts(t: TestContext, { plain }: RunningServer, body: Buffer) {
  const socket = connect({ port: portOf(plain), host: '127.0.0.1', noDelay: true })
  t.after(() => socket.destroy())
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk
  })
  const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve))
  const head = ['content-type: application/json', `content-length: ${body.length}`, 'expect: 100-continue']
  socket.write([`POST ${GROUPS} HTTP/1.1`, 'host: a', 'connection: close', ...head, '', ''].join('\r\n'))
  await eventually(() => received.includes('HTTP/1.1 100 '))
  socket.write(body.subarray(0, 3))
  return async () => {
    socket.write(body.subarray(3))
    await closed
    return received.match(/HTTP\/1\.1 ([2-5]\d+)/)?.[1] ?? 'closed'
  }
}

const portOf = (url: string) => Number(new URL(url).port)

async function grpcGet(t: TestContext, server: RunningServer, uid: string): Promise<string> {
  const { headers, trailers } = await http2Request(
    http2Session(t, server.plain),
    grpcHeaders(GET_GROUP),
    groupRequest(uid),
  )
  return String(trailers['grpc-status'] ?? headers['grpc-status'])
}

const clients: readonly Client[] = [
  {
    name: 'a REST call whose handler waits (handlerTimeoutMs)',
    expected: '200',
    isPending: true,
    prepare: (_, server) => sendThroughBackend(server, () => restGet(server, 'waiting')),
  },
  {
    name: 'a gRPC call whose handler waits (handlerTimeoutMs)',
    expected: OK,
    isPending: true,
    prepare: (t, server) => sendThroughBackend(server, () => grpcGet(t, server, 'waiting')),
  },
  {
    name: 'a REST call over HTTP/1.1 whose body is incomplete (requestTimeoutMs)',
    expected: '200',
    isPending: true,
    prepare: (t, server) => sendHttp1InParts(t, server, groupBody),
  },
  {
    name: 'a REST call over HTTP/2 whose body is incomplete (requestTimeoutMs)',
    expected: '200',
    isPending: true,
    prepare: (t, { plain }) =>
      sendInParts(
        t,
        plain,
        { ':method': 'POST', ':path': GROUPS, 'content-type': 'application/json' },
        groupBody,
      ),
  },
  {
    name: 'a gRPC call whose request is incomplete (requestTimeoutMs)',
    expected: OK,
    isPending: true,
    prepare: (t, { plain }) => sendInParts(t, plain, grpcHeaders(GET_GROUP), groupRequest('group')),
  },
  {
    name: 'a gRPC call whose own deadline passes',
    expected: DEADLINE_EXCEEDED,
    isPending: true,
    prepare: (t, { plain }) =>
      sendInParts(
        t,
        plain,
        grpcHeaders(GET_GROUP, { 'grpc-timeout': `${LIMIT_MS}m` }),
        groupRequest('group'),
      ),
  },
  {
    name: 'a health check whose request is incomplete (requestTimeoutMs)',
    expected: OK,
    isPending: true,
    prepare: (t, { plain }) =>
      sendInParts(t, plain, grpcHeaders(CHECK), encodeFrame(new Uint8Array(), false)),
  },
  {
    name: 'a connection in its TLS handshake (protocolTimeoutMs)',
    expected: 'h2',
    isPending: true,
    async prepare(t, { tls }) {
      const port = portOf(tls)
      const socket = connect(port, '127.0.0.1')
      t.after(() => socket.destroy())
      await once(socket, 'connect')
      // The server accepts connections in their order.
      const later = connectTls({ port, rejectUnauthorized: false })
      await once(later, 'secureConnect')
      later.destroy()
      return () =>
        new Promise((resolve) => {
          const secure = connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ['h2'] })
          secure.on('error', (error) => resolve(error.message))
          secure.on('close', () => resolve('closed'))
          secure.on('secureConnect', () => resolve(String(secure.alpnProtocol)))
        })
    },
  },
  {
    name: 'a request on an idle connection of HTTP/1.1 (idleConnectionMs)',
    expected: '200 200',
    isPending: false,
    prepare: (t, { plain }) => sendTwice(t, connect(portOf(plain), '127.0.0.1')),
  },
  {
    name: 'a request on an idle connection of HTTP/1.1 with TLS (idleConnectionMs)',
    expected: '200 200',
    isPending: false,
    prepare: (t, { tls }) => sendTwice(t, connectTls({ port: portOf(tls), rejectUnauthorized: false })),
  },
  {
    name: 'a request on an idle connection of HTTP/2 (idleConnectionMs)',
    expected: '200',
    isPending: false,
    async prepare(t, { plain }) {
      const session = http2Session(t, plain)
      const send = () =>
        http2Request(session, { ':path': '/iam/v2beta1/groups/group' }).then(
          ({ status }) => String(status),
          (error: Error) => error.message,
        )
      assert.equal(await send(), '200')
      return send
    },
  },
  {
    name: 'calls that the client cancels at the allowed rate (http2ResetsPerSecond)',
    expected: '200',
    isPending: false,
    async prepare(t, { plain }) {
      const session = http2Session(t, plain)
      await once(session, 'remoteSettings')
      return async () => {
        const calls = (STANDSTILL_MS / 1000 - 1) * RESETS_PER_SECOND
        for (let count = 0; count < calls; count++) {
          const stream = session.request(grpcHeaders(CHECK))
          stream.on('error', () => undefined)
          await pause(1000 / RESETS_PER_SECOND / 2)
          stream.close(constants.NGHTTP2_CANCEL)
        }
        return http2Request(session, { ':path': '/iam/v2beta1/groups/group' }).then(
          ({ status }) => String(status),
          (error: Error) => error.message,
        )
      }
    },
  },
]

/** Stops the server `afterMs` after the first client has started its request, and asserts what each client receives. */
async function assertReceived(t: TestContext, all: readonly Client[], afterMs: number): Promise<void> {
  const { child, server } = await startServer(t)
  const startMs = performance.now()
  const started: (() => Promise<string>)[] = []
  // One after the other: each request finds its own connection of the backend.
  for (const { prepare } of all) started.push(await prepare(t, server))
  await pause(Math.max(0, afterMs - (performance.now() - startMs)))
  child.kill('SIGSTOP')
  // It takes the system a moment.
  await pause(100)
  const received = started.map((act) => act())
  await pause(STANDSTILL_MS)
  child.kill('SIGCONT')
  for (const [at, { name, expected }] of all.entries())
    await t.test(name, async () => assert.equal(await received[at], expected))
}

describe('requests succeed that their clients continue while the process of the server is stopped', {
  concurrency: true,
}, () => {
  test('at the start of a limit', (t) => assertReceived(t, clients, 0))

  test('shortly before the end of a limit', (t) =>
    assertReceived(
      t,
      clients.filter(({ isPending }) => isPending),
      LATE_MS,
    ))
})
