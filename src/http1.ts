import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { limits } from './core/limits.ts'
import {
  bodyTooLarge,
  clientWentAway,
  grpcNeedsHttp2,
  headersTooLarge,
  isGrpcContentType,
  malformedRequest,
  requestTimedOut,
} from './gateway/status.ts'
import type { HttpReply, HttpRequest, WholeBody, WholeReply } from './http.ts'
import { bodyBytes, failureReply, hasNoContentLength, type PortContext, wireBody } from './port.ts'
import { dropStream, isStream, sendStream } from './reply-stream.ts'
import { bodyStream } from './request-stream.ts'

/**
 * The HTTP/1.1 half of the port. The server never listens: it is given sockets through its 'connection' event. Close
 * it with `close()`, which ends idle connections at once.
 */
export function http1Server(context: PortContext): Server {
  const { limits } = context
  const slow: SlowSockets = { timedOut: new WeakSet(), streaming: new WeakSet() }
  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.idleConnectionMs,
    connectionsCheckingInterval: Math.max(20, Math.min(1000, limits.headersTimeoutMs / 4)),
  })
  server.on('request', (req, res) => serve(context, slow, req, res, false))
  // Refusing a body by its declared length is worth most before the client has sent it.
  server.on('checkContinue', (req, res) => serve(context, slow, req, res, true))
  server.on('clientError', refuser(context, slow))
  // node:http starts watching for slow senders when its server listens; this one never does.
  server.emit('listening')
  return server
}

/** Sockets whose request takes longer than `requestTimeoutMs`. */
interface SlowSockets {
  readonly timedOut: WeakSet<Duplex>
  /** Those whose body is streamed: whoever reads it sees to its progress, and the whole may take long. */
  readonly streaming: WeakSet<Duplex>
}

/**
 * One request and its reply. A class, because an accessor in an object literal gives every object a hidden class of its
 * own, which costs more than all the rest of this adapter.
 */
class Exchange implements HttpRequest {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly context: PortContext
  readonly slow: SlowSockets
  readonly id: string
  readonly method: string
  readonly isHead: boolean
  readonly url: string
  /** The client waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean
  /** The rest of the body is not wanted, and too much to read only for the sake of the connection. */
  refused = false
  reading: Promise<Uint8Array> | undefined = undefined

  constructor(
    context: PortContext,
    req: IncomingMessage,
    res: ServerResponse,
    slow: SlowSockets,
    id: string,
    awaitsContinue: boolean,
  ) {
    this.context = context
    this.req = req
    this.res = res
    this.slow = slow
    this.id = id
    this.isHead = req.method === 'HEAD'
    this.method = this.isHead ? 'GET' : (req.method ?? '')
    this.url = originForm(req.url ?? '/')
    this.awaitsContinue = awaitsContinue
  }

  /** node:http parses the header list when it is first asked for; not every request needs it. */
  get headers() {
    return this.req.headers
  }

  get address() {
    return this.context.addressOf(this.req.socket.remoteAddress, this.req.headers['x-forwarded-for'])
  }

  body(bytesMax: number): Promise<Uint8Array> {
    this.reading ??= readBody(this, bytesMax)
    return this.reading
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    const { req, slow } = this
    this.refused = true // what is left when nobody reads on
    slow.streaming.add(req.socket)
    sayContinue(this)
    try {
      yield* bodyStream(req, this.context.limits)
    } finally {
      slow.streaming.delete(req.socket)
    }
  }
}

function serve(
  context: PortContext,
  slow: SlowSockets,
  req: IncomingMessage,
  res: ServerResponse,
  awaitsContinue: boolean,
): void {
  const exchange = new Exchange(context, req, res, slow, context.nextRequestId(), awaitsContinue)
  const { id } = exchange
  if (req.method === 'POST' && isGrpcContentType(req.headers['content-type'])) {
    send(context, exchange, failureReply(context, id, grpcNeedsHttp2()))
    return
  }
  let reply: HttpReply | Promise<HttpReply>
  try {
    reply = context.http(exchange)
  } catch (failure) {
    reply = failureReply(context, id, failure)
  }
  if (reply instanceof Promise) {
    reply.then(
      (late) => send(context, exchange, late),
      (failure: unknown) => send(context, exchange, failureReply(context, id, failure)),
    )
  } else {
    send(context, exchange, reply)
  }
}

/** RFC 9112, section 3.2.2: a server accepts the absolute form too. What it says about the host is not looked at. */
function originForm(url: string): string {
  if (url.startsWith('/') || url === '*') return url
  const authority = url.indexOf('://')
  if (authority < 0) return url
  const path = url.indexOf('/', authority + 3)
  return path < 0 ? '/' : url.slice(path)
}

function sayContinue(exchange: Exchange): void {
  if (!exchange.awaitsContinue) return
  exchange.awaitsContinue = false
  exchange.res.writeContinue()
}

function readBody(exchange: Exchange, bytesMax: number): Promise<Uint8Array> {
  const { req, slow } = exchange
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) {
    exchange.refused = true
    return Promise.reject(bodyTooLarge(bytesMax))
  }
  sayContinue(exchange)
  return new Promise((resolve, reject) => {
    let chunks: Uint8Array[] = []
    let size = 0
    req.on('data', (chunk: Uint8Array) => {
      size += chunk.length
      if (size <= bytesMax) {
        chunks.push(chunk)
        return
      }
      chunks = []
      exchange.refused = true
      reject(bodyTooLarge(bytesMax))
    })
    req.on('end', () => {
      const [first] = chunks
      resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks))
    })
    req.on('error', () => reject(slow.timedOut.has(req.socket) ? requestTimedOut() : clientWentAway()))
  })
}

function send(context: PortContext, exchange: Exchange, reply: HttpReply): void {
  const { req, res, id } = exchange
  if (res.destroyed || res.headersSent) {
    dropStream(reply.body)
    return
  }
  const unread = !req.complete && (exchange.refused || exchange.awaitsContinue || isLong(context, req))
  const streamed = isStream(reply.body) ? reply.body : undefined
  const body = isStream(reply.body) ? undefined : wireBody(reply.body)
  const head: (string | number)[] = ['x-request-id', id]
  for (const name in reply.headers) head.push(name, reply.headers[name] ?? '')
  for (const warning of reply.warnings ?? []) head.push('warning', warning)
  const bodiless = hasNoContentLength(reply.status)
  if (!bodiless && streamed === undefined) head.push('content-length', bodyBytes(body))
  if (unread || context.stopping) head.push('connection', 'close')
  try {
    res.writeHead(reply.status, head as string[])
  } catch (failure) {
    // A handler's header that HTTP cannot carry. The replacement has only headers of ours.
    send(context, exchange, failureReply(context, id, failure))
    return
  }
  const lingers = unread && !exchange.awaitsContinue
  if (streamed !== undefined && !bodiless && req.method !== 'HEAD') {
    res.flushHeaders() // the first piece may be long in coming
    void sendStream(context, streamed, {
      out: res,
      requestId: id,
      end: () => (lingers ? linger(exchange) : res.end()),
      cut: () => reset(req.socket),
    })
  } else if (lingers && body !== undefined) {
    linger(exchange, body)
  } else {
    res.end(body)
  }
}

/** To a client of HTTP/1.0 a connection that is closed is the end of a whole answer. */
function reset(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}

/** More body than is worth reading to keep the connection. */
function isLong(context: PortContext, req: IncomingMessage): boolean {
  const declared = req.headers['content-length']
  return declared !== undefined && Number(declared) > context.limits.apiBodyBytesMax
}

function linger({ req, res }: Exchange, body?: NonNullable<WholeBody>): void {
  if (body !== undefined) res.write(body)
  req.resume()
  const finish = () => {
    clearTimeout(timer)
    res.end()
  }
  const timer = setTimeout(finish, limits.lingerMs)
  req.once('end', finish)
  req.once('close', finish)
}

/** Answers what node:http could not read as a request, then closes the connection. */
function refuser(context: PortContext, { timedOut, streaming }: SlowSockets) {
  const answered = new WeakSet<Duplex>()
  return (failure: NodeJS.ErrnoException, socket: Duplex): void => {
    if (answered.has(socket)) return // what a refused client still sends
    if (failure.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      if (streaming.has(socket)) return
      timedOut.add(socket)
    }
    const unfinished: unknown = Reflect.get(socket, '_httpMessage')
    const replied =
      typeof unfinished === 'object' && unfinished !== null && Reflect.get(unfinished, 'headersSent')
    if (failure.code === 'ECONNRESET' || failure.code === 'EPIPE' || !socket.writable || replied === true) {
      socket.destroy()
      return
    }
    answered.add(socket)
    const id = context.nextRequestId()
    context.log.debug({ requestId: id, err: failure }, 'request refused')
    socket.end(rawReply(id, failureReply(context, id, refusal(context, failure))))
    const timer = setTimeout(() => socket.destroy(), limits.lingerMs)
    socket.once('end', () => socket.destroy())
    socket.once('close', () => clearTimeout(timer))
  }
}

function refusal(context: PortContext, failure: NodeJS.ErrnoException) {
  if (failure.code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimedOut()
  if (failure.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(context.limits.headerBytesMax)
  return malformedRequest(failure)
}

const reasonPhrase: Readonly<Record<number, string | undefined>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function rawReply(id: string, { status, headers, body }: WholeReply): string {
  const lines = [`HTTP/1.1 ${status} ${reasonPhrase[status] ?? 'Error'}`, `x-request-id: ${id}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  lines.push(`content-length: ${bodyBytes(body)}`, 'connection: close', '', String(body ?? ''))
  return lines.join('\r\n')
}
