import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { limits } from '../config/limits.ts'
import { RequestContext, runInContext } from '../pipeline/request/request-context.ts'
import { bytesOutCounter, countBodyBytes, countStreamBytes } from './byte-counts.ts'
import type { HttpReply, HttpRequest, WholeReply } from './http.ts'
import { afterPendingReads, createStandstillMeter } from './peer-timeout.ts'
import {
  bodyBytes,
  encodeLongText,
  hasNoContentLength,
  type PortContext,
  portErrorReply,
} from './port-context.ts'
import { cancelStream, isStream, sendStream, sendWhole, writeWhole } from './reply-body.ts'
import { readBodyStream, readWholeBody } from './request-body.ts'
import type { ObservedRequest, RequestHead } from './request-observer.ts'
import {
  bodyTooLarge,
  clientDisconnected,
  grpcNeedsHttp2,
  headersTooLarge,
  isGrpcContentType,
  malformedRequest,
  requestTimedOut,
  tooManyHeaders,
  tooManyPipelined,
} from './transport-errors.ts'

/**
 * The HTTP/1.1 half of the port. The server never listens: it is given sockets through its 'connection' event. Close
 * it with `close()`, which ends idle connections immediately.
 */
export function createHttp1Server(context: PortContext): Server {
  const { limits } = context
  const slow: SocketStates = { timedOut: new WeakSet(), streaming: new WeakSet(), queues: new WeakMap() }
  const connectionsCheckingInterval = Math.max(20, Math.min(1000, limits.headersTimeoutMs / 4))
  const server = createServer({
    maxHeaderSize: limits.headerBytesMax,
    keepAliveTimeout: limits.idleConnectionMs,
    connectionsCheckingInterval,
  })
  limitSlowSenders(server, limits, connectionsCheckingInterval)
  // Without a listener, node:http closes an idle connection before it reads the request that arrived while this process stood still.
  server.on('timeout', (socket: Socket) => {
    const { bytesRead } = socket
    afterPendingReads(() => {
      if (socket.bytesRead === bytesRead) socket.destroy()
    })
  })
  // 0: all fields are read, so that none is missing where there are too many; see `serve`.
  server.maxHeadersCount = 0
  server.on('request', (req, res) => serve(context, slow, req, res, false))
  // Refusing a body by its declared length is worth most before the client has sent it.
  server.on('checkContinue', (req, res) => serve(context, slow, req, res, true))
  server.on('clientError', clientErrorHandler(context, slow))
  // node:http starts watching for slow senders when its server listens; this one never does.
  server.emit('listening')
  return server
}

/**
 * Sets the deadlines of headers and of whole requests. node:http reads them each time that it checks its connections, before it reads what
 * arrived while this process stood still. So they are longer by that time.
 */
function limitSlowSenders(
  server: Server,
  { headersTimeoutMs, requestTimeoutMs }: PortContext['limits'],
  intervalMs: number,
): void {
  const lostMs = createStandstillMeter(intervalMs, requestTimeoutMs)
  const headersMs = Math.min(headersTimeoutMs, requestTimeoutMs)
  Object.defineProperties(server, {
    headersTimeout: { get: () => headersMs + lostMs() },
    requestTimeout: { get: () => requestTimeoutMs + lostMs() },
  })
}

/** Sockets whose request takes longer than `requestTimeoutMs`. */
interface SocketStates {
  readonly timedOut: WeakSet<Duplex>
  /** Sockets whose body is streamed: its reader enforces progress, and the whole body may take long. */
  readonly streaming: WeakSet<Duplex>
  readonly queues: WeakMap<Duplex, RequestQueue>
}

/** The requests of a connection. */
interface RequestQueue {
  /** Whether one of them runs. */
  isRunning: boolean
  /** Those that came before the reply to the one ahead of them had left. */
  readonly waiting: Http1Request[]
}

/**
 * One request and its reply. A class, because an accessor in an object literal gives every object a hidden class of its
 * own, which costs more than all the rest of this adapter.
 */
class Http1Request implements HttpRequest {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly context: PortContext
  readonly slow: SocketStates
  readonly id: string
  readonly method: string
  readonly isHead: boolean
  readonly url: string
  /** The client waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean
  /** The rest of the body is not wanted, and too much to read only for the sake of the connection. */
  refused = false
  /** The connection sent more requests ahead of their replies than it may. */
  exceedsPipelineLimit = false
  reading: Promise<Uint8Array> | undefined = undefined
  readonly requestContext = new RequestContext()
  record: ObservedRequest | undefined = undefined

  constructor(
    context: PortContext,
    req: IncomingMessage,
    res: ServerResponse,
    slow: SocketStates,
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
    this.refused = true // anything left after reading has stopped
    slow.streaming.add(req.socket)
    sendContinue(this)
    try {
      yield* countStreamBytes(readBodyStream(req, this.context.limits), this.record)
      this.refused = false
    } finally {
      slow.streaming.delete(req.socket)
    }
  }
}

function serve(
  context: PortContext,
  slow: SocketStates,
  req: IncomingMessage,
  res: ServerResponse,
  awaitsContinue: boolean,
): void {
  context.replyBatch.sendIfOld()
  const queue = queueOf(slow, req.socket)
  const { pipelinedRequestsMax } = context.limits
  // Behind the reply that closes the connection.
  if (queue.waiting.length >= pipelinedRequestsMax) return
  const request = new Http1Request(
    context,
    req,
    res,
    slow,
    context.requestIdOf(req.headers['x-request-id']),
    awaitsContinue,
  )
  if (!queue.isRunning) {
    queue.isRunning = true
    startRequest(request, queue)
    return
  }
  queue.waiting.push(request)
  if (queue.waiting.length < pipelinedRequestsMax) return
  request.exceedsPipelineLimit = true
  stopParsing(req.socket)
}

function queueOf({ queues }: SocketStates, socket: Socket): RequestQueue {
  let queue = queues.get(socket)
  if (queue === undefined) {
    queue = { isRunning: false, waiting: [] }
    queues.set(socket, queue)
  }
  return queue
}

/**
 * Ends the reading of requests, also of those that have arrived with this one: one read may bring more than a thousand. What node:http
 * reports afterwards is an error with the code HPE_PAUSED.
 */
function stopParsing(socket: Socket): void {
  const parser = Reflect.get(socket, 'parser') as { pause?(): void } | null
  parser?.pause?.()
}

/**
 * Runs a request, and the next of its connection once its reply has left: no more than one reply of a connection waits in memory,
 * and other connections have their turn in between. While a request runs, its response knows when the connection closes.
 */
function startRequest(request: Http1Request, queue: RequestQueue): void {
  const { req, res, context, requestContext } = request
  const record = context.observer?.start(headOf(request))
  request.record = record
  context.inFlight.http++
  res.on('close', () => {
    context.inFlight.http--
    record?.end({
      status: res.headersSent ? res.statusCode : undefined,
      aborted: !res.writableFinished || req.errored !== null,
    })
    if (!res.writableFinished) requestContext.abort(clientDisconnected())
    const next = queue.waiting.shift()
    if (next === undefined) queue.isRunning = false
    else setImmediate(() => (req.socket.writable ? startRequest(next, queue) : recordAbandoned(next, queue)))
  })
  if (record === undefined) handle(request)
  else record.run(() => handle(request))
}

/** Records requests that their client left behind unanswered. */
function recordAbandoned(first: Http1Request, queue: RequestQueue): void {
  for (const request of [first, ...queue.waiting.splice(0)])
    request.context.observer?.start(headOf(request))?.end({ status: undefined, aborted: true })
  queue.isRunning = false
}

function headOf({ context, id, method, isHead, url, headers, address }: Http1Request): RequestHead {
  return {
    id,
    isGrpc: false,
    httpVersion: '1.1',
    isTls: context.isTls,
    method: isHead ? 'HEAD' : method,
    url,
    headers,
    address,
  }
}

function handle(request: Http1Request): void {
  const { context, req, id } = request
  if (req.rawHeaders.length > context.limits.headerFieldsMax * 2) {
    request.refused = true
    send(context, request, portErrorReply(context, id, tooManyHeaders(context.limits.headerFieldsMax)))
    return
  }
  if (request.exceedsPipelineLimit) {
    request.refused = true
    send(context, request, portErrorReply(context, id, tooManyPipelined(context.limits.pipelinedRequestsMax)))
    return
  }
  if (req.method === 'POST' && isGrpcContentType(req.headers['content-type'])) {
    send(context, request, portErrorReply(context, id, grpcNeedsHttp2()))
    return
  }
  let reply: HttpReply | Promise<HttpReply>
  try {
    reply = runInContext(request.requestContext, () => context.http(request))
  } catch (failure) {
    reply = portErrorReply(context, id, failure)
  }
  if (reply instanceof Promise) {
    reply.then(
      (late) => {
        if (isStream(late.body)) send(context, request, late)
        else context.replyBatch.add(() => send(context, request, late))
      },
      (failure: unknown) => send(context, request, portErrorReply(context, id, failure)),
    )
  } else {
    send(context, request, reply)
  }
}

/** RFC 9112, section 3.2.2: a server accepts the absolute form too. The host in it is ignored. */
function originForm(url: string): string {
  if (url.startsWith('/') || url === '*') return url
  const authority = url.indexOf('://')
  if (authority < 0) return url
  const path = url.indexOf('/', authority + 3)
  return path < 0 ? '/' : url.slice(path)
}

function sendContinue(request: Http1Request): void {
  if (!request.awaitsContinue) return
  request.awaitsContinue = false
  request.res.writeContinue()
}

function readBody(request: Http1Request, bytesMax: number): Promise<Uint8Array> {
  const { req, slow } = request
  const announced = Number(req.headers['content-length'] ?? 0)
  if (announced > bytesMax) {
    request.refused = true
    return Promise.reject(bodyTooLarge(bytesMax))
  }
  sendContinue(request)
  const buffered = countBodyBytes(
    request.context.bodyBudget.open(req.socket, request.address),
    request.record,
  )
  const reading = readWholeBody(req, { bytesMax, contentLength: announced, buffered })
  request.res.on('close', () => {
    buffered.release()
    reading.fail(clientDisconnected)
  })
  req.on('error', () => reading.fail(slow.timedOut.has(req.socket) ? requestTimedOut : clientDisconnected))
  const body = reading.body.catch((failure: unknown) => {
    request.refused = true
    throw failure
  })
  // A handler that has replied already may not wait for it.
  body.catch(() => undefined)
  return body
}

function send(context: PortContext, request: Http1Request, reply: HttpReply): void {
  const { req, res, id } = request
  if (res.destroyed || res.headersSent) {
    cancelStream(reply.body)
    return
  }
  const unread =
    !req.complete && (request.refused || request.awaitsContinue || isTooLongToDrain(context, req))
  const streamed = isStream(reply.body) ? reply.body : undefined
  const body = isStream(reply.body) ? undefined : encodeLongText(reply.body)
  const head: (string | number)[] = ['x-request-id', id]
  for (const name in reply.headers) head.push(name, reply.headers[name] ?? '')
  for (const warning of reply.warnings ?? []) head.push('warning', warning)
  const bodiless = hasNoContentLength(reply.status)
  if (!bodiless && streamed === undefined) head.push('content-length', bodyBytes(body))
  if (unread || request.refused || context.stopping) head.push('connection', 'close')
  try {
    res.writeHead(reply.status, head as string[])
  } catch (failure) {
    cancelStream(reply.body)
    // A handler's header that HTTP cannot carry. The replacement has only headers of ours.
    send(context, request, portErrorReply(context, id, failure))
    return
  }
  const lingers = unread && !request.awaitsContinue
  if (request.record !== undefined && !request.isHead) request.record.bytesOut = bodyBytes(body)
  if (streamed !== undefined && !bodiless && req.method !== 'HEAD') {
    res.flushHeaders() // the first piece may be long in coming
    void sendStream(context, streamed, {
      out: res,
      requestId: id,
      written: request.record && bytesOutCounter(request.record),
      end: () => (lingers ? linger(request) : res.end()),
      abort: () => reset(req.socket),
    })
  } else if (lingers && body !== undefined) {
    writeWhole(res, body, context, () => reset(req.socket))
    res.flushHeaders() // an empty body sends nothing
    linger(request)
  } else {
    sendWhole(res, body, context, () => reset(req.socket))
  }
}

/** To a client of HTTP/1.0 a connection that is closed is the end of a whole answer. */
function reset(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}

/** More body than is worth reading to keep the connection. */
function isTooLongToDrain(context: PortContext, req: IncomingMessage): boolean {
  const declared = req.headers['content-length']
  return declared !== undefined && Number(declared) > context.limits.apiBodyBytesMax
}

/** Ends the reply when the client has sent the rest of its request, or after a moment: see `lingerMs`. */
function linger({ req, res }: Http1Request): void {
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
function clientErrorHandler(context: PortContext, { timedOut, streaming }: SocketStates) {
  const handled = new WeakSet<Duplex>()
  return (failure: NodeJS.ErrnoException, socket: Duplex): void => {
    if (handled.has(socket)) return // what a refused client still sends
    if (failure.code === 'HPE_PAUSED') return // see stopParsing: the replies ahead are sent, and the last closes the connection
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
    handled.add(socket)
    const id = context.requestIdOf(undefined)
    context.log.debug({ requestId: id, err: failure }, 'request refused')
    const reply = portErrorReply(context, id, toClientError(context, failure))
    context.observer
      ?.start(unreadableHead(context, id, socket))
      ?.end({ status: reply.status, aborted: false })
    socket.end(rawReply(id, reply))
    const timer = setTimeout(() => socket.destroy(), limits.lingerMs)
    socket.once('end', () => socket.destroy())
    socket.once('close', () => clearTimeout(timer))
  }
}

/** What is known of a request that node:http could not read. */
function unreadableHead({ addressOf, isTls }: PortContext, id: string, socket: Duplex): RequestHead {
  const address = socket instanceof Socket ? addressOf(socket.remoteAddress, undefined) : ''
  return { id, isGrpc: false, httpVersion: '1.1', isTls, method: '', url: '', headers: {}, address }
}

function toClientError(context: PortContext, failure: NodeJS.ErrnoException) {
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
