import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { type Listener, type ListenOptions, listen } from '@berth/server/port/listen.ts'
import type { GrpcHandler } from '@berth/server/port/port-context.ts'

/** Log lines that a server wrote, for the tests that look at them. */
export interface LogLines {
  readonly errors: { readonly fields: object; readonly message: string }[]
}

const noGrpc: GrpcHandler = { handle: (stream) => stream.close(), stop() {}, abort() {} }

/** A server on a free port of 127.0.0.1 that stops when the test ends. */
export async function startPort(
  t: TestContext,
  options: Partial<ListenOptions> = {},
): Promise<Listener & { readonly log: LogLines }> {
  const log: LogLines = { errors: [] }
  const server = await listen({
    host: '127.0.0.1',
    port: 0,
    http: ({ method, url }) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ method, url }),
    }),
    grpc: noGrpc,
    errorDomain: 'test.example',
    ...options,
    log: { error: (fields, message) => log.errors.push({ fields, message }), debug() {} },
    limits: { stopGraceMs: 200, ...options.limits },
  })
  t.after(() => server.stop())
  return { ...server, log }
}

/** A TCP connection on which a test speaks by hand. */
export interface RawConnection {
  readonly socket: Socket
  /** Everything received until the server closed the connection. */
  readonly received: Promise<string>
  /** Resolves when what was received so far contains the text. */
  until(text: string): Promise<string>
}

export async function rawConnection(t: TestContext, port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  t.after(() => socket.destroy())
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => undefined)
  const received = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  await new Promise((resolve) => socket.once('connect', resolve))
  return {
    socket,
    received,
    until: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (text.includes(wanted)) resolve(text)
        }
        socket.on('data', look)
        socket.on('close', () => reject(new Error(`closed before ${wanted}; got ${text}`)))
        look()
      }),
  }
}

/** An HTTP/2 client session that is closed when the test ends. */
export function http2Session(t: TestContext, url: string, options: { ca?: string } = {}): ClientHttp2Session {
  const session = connectHttp2(url, options)
  session.on('error', () => undefined)
  t.after(() => session.destroy())
  return session
}

export interface Http2Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly trailers: Readonly<Record<string, unknown>>
  readonly body: Buffer
  readonly rstCode: number | undefined
}

/** The headers of a gRPC call. */
export const grpcHeaders = (path: string, more: Readonly<Record<string, string>> = {}) => ({
  ':method': 'POST',
  ':path': path,
  'content-type': 'application/grpc',
  te: 'trailers',
  ...more,
})

/** One request on a session. The body is sent in one piece; undefined ends the request with its headers. */
export function http2Request(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: string | Uint8Array,
): Promise<Http2Reply> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined })
    let head: Record<string, unknown> = {}
    let trailers: Record<string, unknown> = {}
    const chunks: Uint8Array[] = []
    stream.on('response', (received) => {
      head = received
    })
    stream.on('trailers', (received) => {
      trailers = received
    })
    stream.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    stream.on('close', () => {
      const status = Number(head[':status'] ?? 0)
      resolve({ status, headers: head, trailers, body: Buffer.concat(chunks), rstCode: stream.rstCode })
    })
    stream.on('error', reject)
    if (body !== undefined) stream.end(body)
  })
}
