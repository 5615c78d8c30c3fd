import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
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
import { http2Request, http2Session } from './support/http/port.ts'
import { RESETS_PER_SECOND, type StandstillServerUrls } from './support/http/standstill-limits.ts'

/** The process of a server stands still for longer than its limits (SIGSTOP), while its clients do their part. */

const LIMIT_MS = 3000
/** With what node:http adds to the time of an idle connection. */
const STANDSTILL_MS = LIMIT_MS + 2000
const GET_GROUP = `/${GroupsService.typeName}/GetGroup`
const CHECK = '/grpc.health.v1.Health/Check'
const [OK, DEADLINE_EXCEEDED] = ['0', '4']
const groupRequest = (uid: string) =>
  encodeFrame(toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid })), false)
const call = (path: string, more = {}) => ({
  ':method': 'POST',
  ':path': path,
  'content-type': 'application/grpc',
  te: 'trailers',
  ...more,
})

interface Client {
  readonly name: string
  /** What the client receives. */
  readonly expected: string
  /** Prepares the client. The returned function is called while the server stands still. */
  readonly prepare: (t: TestContext, server: RunningServer) => Promise<() => Promise<string>>
}

interface RunningServer extends StandstillServerUrls {
  /** Requests of the server that wait for what another one sends. */
  readonly waiting: Set<Socket>
}

async function startServer(t: TestContext) {
  const waiting = new Set<Socket>()
  const other = createServer((socket) => {
    waiting.add(socket)
    socket.on('error', () => undefined)
  })
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const { port } = other.address() as { port: number }
  const script = fileURLToPath(new URL('./support/http/standstill-server.ts', import.meta.url))
  const child = fork(script, [String(LIMIT_MS), String(port)], { stdio: 'inherit' })
  t.after(() => {
    child.kill('SIGKILL')
    for (const socket of waiting) socket.destroy()
    other.close()
  })
  const [urls] = (await once(child, 'message')) as [StandstillServerUrls]
  return { child, server: { ...urls, waiting } }
}

/** Sends a gRPC call in two parts: one before the standstill, and the rest during it. Resolves with its status. */
async function sendCallInParts(t: TestContext, url: string, path: string, message: Buffer, headers = {}) {
  const session = http2Session(t, url)
  await once(session, 'remoteSettings')
  const stream = session.request(call(path, headers))
  const status = new Promise<string>((resolve) => {
    let known = ''
    const onHeaders = (fields: Record<string, unknown>) => {
      if (fields['grpc-status'] !== undefined) known = String(fields['grpc-status'])
    }
    stream.on('response', onHeaders)
    stream.on('trailers', onHeaders)
    stream.on('error', (error) => resolve(error.message))
    stream.on('close', () => resolve(known))
    stream.resume()
  })
  stream.write(message.subarray(0, 3))
  await new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())))
  return () => {
    stream.end(message.subarray(3))
    return status
  }
}

/** Sends a request for which the server waits for another one, which responds during the standstill. */
async function waitForOther(
  server: RunningServer,
  send: () => Promise<string>,
): Promise<() => Promise<string>> {
  const before = server.waiting.size
  const received = send()
  await eventually(() => server.waiting.size > before)
  const [socket] = [...server.waiting].slice(-1)
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

const portOf = (url: string) => Number(new URL(url).port)

async function grpcGet(t: TestContext, server: RunningServer, uid: string): Promise<string> {
  const { headers, trailers } = await http2Request(
    http2Session(t, server.plain),
    call(GET_GROUP),
    groupRequest(uid),
  )
  return String(trailers['grpc-status'] ?? headers['grpc-status'])
}

// One that is waiting is prepared after the one before, so that each finds its own.
const clients: readonly Client[] = [
  {
    name: 'a REST call whose handler waits (handlerTimeoutMs)',
    expected: '200',
    prepare: (_, server) => waitForOther(server, () => restGet(server, 'waiting')),
  },
  {
    name: 'a gRPC call whose handler waits (handlerTimeoutMs)',
    expected: OK,
    prepare: (t, server) => waitForOther(server, () => grpcGet(t, server, 'waiting')),
  },
  {
    name: 'a gRPC call whose request is on its way (requestTimeoutMs)',
    expected: OK,
    prepare: (t, { plain }) => sendCallInParts(t, plain, GET_GROUP, groupRequest('group')),
  },
  {
    name: 'a gRPC call whose own deadline passes',
    expected: DEADLINE_EXCEEDED,
    prepare: (t, { plain }) =>
      sendCallInParts(t, plain, GET_GROUP, groupRequest('group'), { 'grpc-timeout': `${LIMIT_MS}m` }),
  },
  {
    name: 'a health check whose request is on its way (requestTimeoutMs)',
    expected: OK,
    prepare: (t, { plain }) => sendCallInParts(t, plain, CHECK, encodeFrame(new Uint8Array(), false)),
  },
  {
    name: 'a connection in its TLS handshake (protocolTimeoutMs)',
    expected: 'h2',
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
    prepare: (t, { plain }) => sendTwice(t, connect(portOf(plain), '127.0.0.1')),
  },
  {
    name: 'a request on an idle connection of HTTP/1.1 with TLS (idleConnectionMs)',
    expected: '200 200',
    prepare: (t, { tls }) => sendTwice(t, connectTls({ port: portOf(tls), rejectUnauthorized: false })),
  },
  {
    name: 'a request on an idle connection of HTTP/2 (idleConnectionMs)',
    expected: '200',
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
    name: 'calls that the client cancels, no more than it may in that time (http2ResetsPerSecond)',
    expected: '200',
    async prepare(t, { plain }) {
      const session = http2Session(t, plain)
      await once(session, 'remoteSettings')
      return async () => {
        const calls = (STANDSTILL_MS / 1000 - 1) * RESETS_PER_SECOND
        for (let count = 0; count < calls; count++) {
          const stream = session.request(call(CHECK))
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

test('clients get what they did their part for, after the process of the server stood still', async (t) => {
  const { child, server } = await startServer(t)
  const prepared: (() => Promise<string>)[] = []
  for (const { prepare } of clients) prepared.push(await prepare(t, server))
  child.kill('SIGSTOP')
  // It takes the system a moment.
  await pause(100)
  const received = prepared.map((act) => act())
  await pause(STANDSTILL_MS)
  child.kill('SIGCONT')
  for (const [at, { name, expected }] of clients.entries())
    await t.test(name, async () => assert.equal(await received[at], expected))
})
