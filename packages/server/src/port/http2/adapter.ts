import { validateHeaderValue } from 'node:http'
import {
  constants,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Duplex } from 'node:stream'
import { RequestContext, runInContext } from '../../pipeline/request/request-context.ts'
import { bytesOutCounter, countBodyBytes, countStreamBytes } from '../byte-counts.ts'
import type { BodyStream, HttpReply, HttpRequest } from '../http.ts'
import { startPeerTimeout } from '../peer-timeout.ts'
import { bodyBytes, hasNoContentLength, type PortContext, portErrorReply } from '../port-context.ts'
import { cancelStream, isStream, sendStream, sendWhole } from '../reply-body.ts'
import { readBodyStream, readWholeBody } from '../request-body.ts'
import type { ObservedRequest } from '../request-observer.ts'
import { bodyTooLarge, clientDisconnected, isGrpcContentType, requestTimedOut } from '../transport-errors.ts'
import { discardRequestBody, sendHead } from './stream.ts'

/** The HTTP/2 half of the port. */
export interface Http2Adapter {
  /** Takes over a socket that speaks HTTP/2. */
  accept(socket: Duplex): void
  /** Tells all clients to go away; a session closes when its last stream has ended. */
  stop(): void
  /** Resets all streams with an error. */
  abort(): void
  /** Ends all sessions now. */
  destroy(): void
}

interface SessionState {
  readonly socket: Duplex | undefined
  readonly address: string | undefined
  /** Open streams. */
  readonly streams: Set<ServerHttp2Stream>
  /** Whether the client was asked to open no more streams. */
  isLeaving: boolean
  /** When the last stream ended; milliseconds since the epoch. */
  idleSince: number
}

/** Every stream goes to the gRPC handler or to the HTTP handler, by its content type. */
export function createHttp2Adapter(context: PortContext): Http2Adapter {
  const { limits } = context
  const sessions = new Map<Http2Session, SessionState>()
  let accepting: Duplex | undefined
  let isStopped = false
  const server = createServer({
    settings: {
      maxConcurrentStreams: limits.concurrentStreamsMax,
      maxHeaderListSize: limits.headerBytesMax,
      initialWindowSize: limits.streamWindowBytes,
      enablePush: false,
    },
    maxHeaderListPairs: limits.headerFieldsMax,
    maxSessionMemory: limits.http2SessionMib,
    maxSettings: limits.http2SettingsMax,
    maxSessionInvalidFrames: limits.http2InvalidFramesMax,
    maxSessionRejectedStreams: limits.http2RejectedStreamsMax,
    streamResetBurst: limits.http2ResetsBurst,
    streamResetRate: limits.http2ResetsPerSecond,
  })
  const ignore = (failure: Error) => context.log.debug({ err: failure }, 'HTTP/2 connection failed')
  server.on('sessionError', (failure, session) => {
    ignore(failure)
    // What the library ends a connection for; a client that goes away is another error.
    if (/^ERR_HTTP2_/.test((failure as NodeJS.ErrnoException).code ?? ''))
      context.reportAbuse(sessions.get(session)?.address)
  })
  server.on('session', (session) => {
    sessions.set(session, {
      socket: accepting,
      address: addressOf(session),
      streams: new Set(),
      isLeaving: false,
      idleSince: Date.now(),
    })
    limitControlFrames(session, context)
    session.on('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, headers, flags) => {
    stream.on('error', ignore)
    const { session } = stream
    const use = session === undefined ? undefined : sessions.get(session)
    const protocol = isGrpcContentType(headers['content-type']) ? 'grpc' : 'http'
    context.inFlight[protocol]++
    use?.streams.add(stream)
    stream.on('close', () => {
      context.inFlight[protocol]--
      if (session === undefined || use === undefined) return
      use.streams.delete(stream)
      if (use.streams.size > 0) return
      use.idleSince = Date.now()
      if (use.isLeaving && !session.destroyed) session.close()
    })
    // A session that began after the others were asked to leave serves the request that it was opened for.
    if (isStopped && session !== undefined && use !== undefined) sendGoaway(session, use)
    const endOfStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    const id = context.requestIdOf(headers['x-request-id'])
    const record = startRecord(context, stream, headers, id)
    const handle = () =>
      protocol === 'grpc'
        ? context.grpc.handle(stream, headers, endOfStream, id, record)
        : serve(context, stream, headers, endOfStream, id, record)
    if (record === undefined) handle()
    else record.run(handle)
  })

  // Pings keep an HTTP/2 connection alive for as long as the client likes; only streams count as use.
  const sweeper = setInterval(
    () => {
      const oldest = Date.now() - limits.idleConnectionMs
      for (const [session, { socket, streams, idleSince }] of sessions) {
        if (streams.size > 0 || idleSince > oldest) continue
        // The first check sends GOAWAY. A client that does not close its side is disconnected by the next.
        if (session.closed || session.destroyed) socket?.destroy()
        else session.close()
      }
    },
    Math.max(20, limits.idleConnectionMs / 8),
  ).unref()

  return {
    accept(socket) {
      accepting = socket
      server.emit('connection', socket)
      accepting = undefined
    },
    stop() {
      isStopped = true
      for (const [session, use] of sessions) sendGoaway(session, use)
    },
    abort() {
      for (const { streams } of sessions.values())
        for (const stream of streams)
          if (!stream.closed && !stream.writableEnded) stream.close(constants.NGHTTP2_CANCEL)
    },
    destroy() {
      clearInterval(sweeper)
      for (const session of sessions.keys()) session.destroy()
    },
  }
}

/** Starts the record of a stream, which ends when the stream closes. */
function startRecord(
  { observer, addressOf, isTls }: PortContext,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  id: string,
): ObservedRequest | undefined {
  const record = observer?.start({
    id,
    isGrpc: isGrpcContentType(headers['content-type']),
    httpVersion: '2',
    isTls,
    method: headers[':method'] ?? '',
    url: headers[':path'] ?? '',
    headers,
    address: addressOf(stream.session?.socket.remoteAddress, headers['x-forwarded-for']),
  })
  if (record === undefined) return undefined
  stream.on('close', () => {
    const { sentHeaders, sentTrailers, rstCode, aborted } = stream
    const status = sentHeaders?.[':status']
    const grpcStatus = sentTrailers?.['grpc-status'] ?? sentHeaders?.['grpc-status']
    record.end({
      status: status === undefined ? undefined : Number(status),
      grpcStatus: grpcStatus === undefined ? undefined : Number(grpcStatus),
      aborted: !stream.writableFinished || (aborted && rstCode !== constants.NGHTTP2_NO_ERROR),
    })
  })
  return record
}

function addressOf({ socket }: Http2Session): string | undefined {
  return socket.remoteAddress
}

/** The library answers PING and SETTINGS without an end. */
function limitControlFrames(
  session: Http2Session,
  { limits: { http2ControlFramesMax, http2ControlWindowMs }, reportAbuse }: PortContext,
): void {
  let frames = 0
  let windowEndMs = 0
  const count = () => {
    const nowMs = performance.now()
    if (nowMs >= windowEndMs) {
      frames = 0
      windowEndMs = nowMs + http2ControlWindowMs
    }
    frames += 1
    if (frames <= http2ControlFramesMax || session.destroyed) return
    reportAbuse(addressOf(session))
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
  session.on('ping', count)
  session.on('remoteSettings', count)
}

const highestStreamId = 2 ** 31 - 1

/**
 * RFC 9113, section 6.8: first a GOAWAY that refuses nothing, then, one round trip later, the one that names the last
 * stream. Requests that were on their way when the server decided to stop are still answered. A session without
 * streams gets the second kind immediately: after any GOAWAY node:http2 reads only while a stream is open.
 */
function sendGoaway(session: Http2Session, sessionState: SessionState): void {
  if (sessionState.isLeaving) return
  sessionState.isLeaving = true
  const close = () => {
    if (!session.destroyed) session.close()
  }
  if (sessionState.streams.size === 0) {
    close()
    return
  }
  session.goaway(constants.NGHTTP2_NO_ERROR, highestStreamId)
  if (!session.ping(close)) close()
}

interface StreamContext {
  readonly stream: ServerHttp2Stream
  readonly id: string
  readonly head: boolean
  readonly endOfStream: boolean
  readonly record: ObservedRequest | undefined
}

/** A class, because an accessor in an object literal gives every object a hidden class of its own. */
class StreamRequest implements HttpRequest {
  readonly method: string
  readonly isHead: boolean
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly id: string
  readonly record: ObservedRequest | undefined
  readonly #context: PortContext
  readonly #exchange: StreamContext
  #reading: Promise<Uint8Array> | undefined = undefined

  constructor(context: PortContext, exchange: StreamContext, headers: IncomingHttpHeaders) {
    this.isHead = exchange.head
    this.method = exchange.head ? 'GET' : (headers[':method'] ?? '')
    this.url = headers[':path'] ?? '*'
    this.headers = headers
    this.id = exchange.id
    this.record = exchange.record
    this.#context = context
    this.#exchange = exchange
  }

  get address(): string {
    const { session } = this.#exchange.stream
    return this.#context.addressOf(session?.socket.remoteAddress, this.headers['x-forwarded-for'])
  }

  body(bytesMax: number): Promise<Uint8Array> {
    this.#reading ??= readBody(this.#context, this.#exchange, this, bytesMax)
    return this.#reading
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    const { stream, endOfStream } = this.#exchange
    if (endOfStream) return
    sendContinue(stream, this.headers)
    yield* countStreamBytes(readBodyStream(stream, this.#context.limits), this.record)
  }
}

function serve(
  context: PortContext,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  endOfStream: boolean,
  id: string,
  record: ObservedRequest | undefined,
): void {
  const streamContext: StreamContext = {
    stream,
    id,
    head: headers[':method'] === 'HEAD',
    endOfStream,
    record,
  }
  if (headers.host === undefined && headers[':authority'] !== undefined) headers.host = headers[':authority']
  const request = new StreamRequest(context, streamContext, headers)
  const requestContext = new RequestContext()
  stream.on('close', () => {
    if (!stream.headersSent || stream.rstCode !== constants.NGHTTP2_NO_ERROR)
      requestContext.abort(clientDisconnected())
  })
  let reply: HttpReply | Promise<HttpReply>
  try {
    reply = runInContext(requestContext, () => context.http(request))
  } catch (failure) {
    reply = portErrorReply(context, id, failure)
  }
  if (reply instanceof Promise) {
    reply.then(
      (late) => send(context, streamContext, late),
      (failure: unknown) => send(context, streamContext, portErrorReply(context, id, failure)),
    )
  } else {
    send(context, streamContext, reply)
  }
}

function sendContinue(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  if (headers.expect === '100-continue') stream.additionalHeaders({ ':status': 100 })
}

function readBody(
  context: PortContext,
  { stream, endOfStream }: StreamContext,
  { headers, address, record }: HttpRequest,
  bytesMax: number,
): Promise<Uint8Array> {
  if (endOfStream) return Promise.resolve(new Uint8Array())
  const contentLength = Number(headers['content-length'] ?? 0)
  if (contentLength > bytesMax) return Promise.reject(bodyTooLarge(bytesMax))
  if (stream.destroyed) return Promise.reject(clientDisconnected())
  sendContinue(stream, headers)
  const buffered = countBodyBytes(context.bodyBudget.open(stream.session ?? stream, address), record)
  const reading = readWholeBody(stream, { bytesMax, contentLength, buffered })
  const timeout = startPeerTimeout(context.limits.requestTimeoutMs, () => reading.fail(requestTimedOut))
  stream.on('end', () => timeout.clear())
  stream.on('close', () => {
    timeout.clear()
    buffered.release()
    reading.fail(clientDisconnected)
  })
  return reading.body
}

function send(context: PortContext, streamContext: StreamContext, reply: HttpReply): void {
  const { stream, id, head } = streamContext
  if (stream.destroyed || stream.closed || stream.headersSent) {
    cancelStream(reply.body)
    return
  }
  const headers: Record<string, string | number | string[]> = { ':status': reply.status, 'x-request-id': id }
  for (const name in reply.headers) headers[name] = reply.headers[name] ?? ''
  if (reply.warnings !== undefined) headers['warning'] = [...reply.warnings]
  const { body } = reply
  const bodiless = hasNoContentLength(reply.status)
  const streamed = isStream(body)
  if (!bodiless && !streamed) headers['content-length'] = bodyBytes(body)
  const endStream = head || (streamed ? bodiless : body === undefined || body.length === 0)
  try {
    // node:http2 sends any value; a proxy that speaks HTTP/1 behind us would read line breaks as new headers.
    for (const name in reply.headers) validateHeaderValue(name, reply.headers[name] ?? '')
    sendHead(stream, headers, { endStream })
  } catch (failure) {
    cancelStream(body)
    if (stream.destroyed || stream.closed || stream.headersSent) return
    // A handler's header that HTTP cannot carry. The replacement has only headers of ours.
    send(context, streamContext, portErrorReply(context, id, failure))
    return
  }
  if (streamContext.record !== undefined && !endStream && !streamed)
    streamContext.record.bytesOut = bodyBytes(body)
  if (streamed && !endStream) {
    void streamBody(context, streamContext, body)
    return
  }
  if (!endStream)
    sendWhole(stream, streamed ? undefined : body, context, () => stream.close(constants.NGHTTP2_CANCEL))
  if (!streamContext.endOfStream) discardRequestBody(stream)
}

async function streamBody(
  context: PortContext,
  streamContext: StreamContext,
  body: BodyStream,
): Promise<void> {
  const { stream, id } = streamContext
  await sendStream(context, body, {
    out: stream,
    requestId: id,
    written: streamContext.record && bytesOutCounter(streamContext.record),
    end: () => stream.end(),
    // With an error, so that its reset does not pass for a regular end.
    abort: () => stream.destroy(new Error('the reply was cut off')),
  })
  if (!streamContext.endOfStream) discardRequestBody(stream)
}
