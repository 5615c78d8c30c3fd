import { validateHeaderValue } from 'node:http'
import {
  constants,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Duplex } from 'node:stream'
import { bodyTooLarge, clientWentAway, isGrpcContentType, requestTimedOut } from './gateway/status.ts'
import type { BodyStream, HttpReply, HttpRequest } from './http.ts'
import { bodyBytes, failureReply, hasNoContentLength, type PortContext, refuseRest } from './port.ts'
import { dropStream, isStream, sendStream } from './reply-stream.ts'
import { bodyStream } from './request-stream.ts'

/** The HTTP/2 half of the port. */
export interface Http2Side {
  /** Takes over a socket that speaks HTTP/2. */
  accept(socket: Duplex): void
  /** Tells all clients to go away; a session closes when its last stream has ended. */
  stop(): void
  /** Ends all sessions now. */
  destroy(): void
}

interface Use {
  readonly socket: Duplex | undefined
  streams: number
  /** When the last stream ended; milliseconds since the epoch. */
  idleSince: number
}

/** Every stream goes to the gRPC handler or to the HTTP handler, by its content type. */
export function http2Side(context: PortContext): Http2Side {
  const { limits } = context
  const sessions = new Map<Http2Session, Use>()
  let accepting: Duplex | undefined
  const server = createServer({
    settings: {
      maxConcurrentStreams: limits.concurrentStreamsMax,
      maxHeaderListSize: limits.headerBytesMax,
      enablePush: false,
    },
  })
  const ignore = (failure: Error) => context.log.debug({ err: failure }, 'HTTP/2 connection failed')
  server.on('sessionError', ignore)
  server.on('session', (session) => {
    sessions.set(session, { socket: accepting, streams: 0, idleSince: Date.now() })
    session.on('close', () => sessions.delete(session))
    if (context.stopping) session.close()
  })
  server.on('stream', (stream, headers, flags) => {
    stream.on('error', ignore)
    const { session } = stream
    const use = session === undefined ? undefined : sessions.get(session)
    if (session !== undefined && use !== undefined) {
      use.streams += 1
      stream.on('close', () => {
        use.streams -= 1
        if (use.streams > 0) return
        use.idleSince = Date.now()
        if (context.stopping && !session.destroyed) session.close()
      })
    }
    const endOfStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    const id = context.nextRequestId()
    if (isGrpcContentType(headers['content-type'])) context.grpc.handle(stream, headers, endOfStream, id)
    else serve(context, stream, headers, endOfStream, id)
  })

  // Pings keep an HTTP/2 connection alive for as long as the client likes; only streams count as use.
  const sweeper = setInterval(
    () => {
      const oldest = Date.now() - limits.idleConnectionMs
      for (const [session, { socket, streams, idleSince }] of sessions) {
        if (streams > 0 || idleSince > oldest) continue
        // The first visit says goodbye. A client that does not answer by closing its side is cut off by the next.
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
      for (const [session, use] of sessions) sayGoodbye(session, use)
    },
    destroy() {
      clearInterval(sweeper)
      for (const session of sessions.keys()) session.destroy()
    },
  }
}

const highestStreamId = 2 ** 31 - 1

/**
 * RFC 9113, section 6.8: first a GOAWAY that refuses nothing, then, one round trip later, the one that names the last
 * stream. Requests that were on their way when the server decided to stop are still answered. A session without
 * streams gets the second kind at once: after any GOAWAY node:http2 reads only while a stream is open.
 */
function sayGoodbye(session: Http2Session, { streams }: Use): void {
  const close = () => {
    if (!session.destroyed) session.close()
  }
  if (streams === 0) {
    close()
    return
  }
  session.goaway(constants.NGHTTP2_NO_ERROR, highestStreamId)
  if (!session.ping(close)) close()
}

interface Exchange {
  readonly stream: ServerHttp2Stream
  readonly id: string
  readonly head: boolean
  readonly endOfStream: boolean
}

/** A class, because an accessor in an object literal gives every object a hidden class of its own. */
class StreamRequest implements HttpRequest {
  readonly method: string
  readonly isHead: boolean
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly id: string
  readonly #context: PortContext
  readonly #exchange: Exchange
  #reading: Promise<Uint8Array> | undefined = undefined

  constructor(context: PortContext, exchange: Exchange, headers: IncomingHttpHeaders) {
    this.isHead = exchange.head
    this.method = exchange.head ? 'GET' : (headers[':method'] ?? '')
    this.url = headers[':path'] ?? '*'
    this.headers = headers
    this.id = exchange.id
    this.#context = context
    this.#exchange = exchange
  }

  get address(): string {
    const { session } = this.#exchange.stream
    return this.#context.addressOf(session?.socket.remoteAddress, this.headers['x-forwarded-for'])
  }

  body(bytesMax: number): Promise<Uint8Array> {
    this.#reading ??= readBody(this.#context, this.#exchange, this.headers, bytesMax)
    return this.#reading
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    const { stream, endOfStream } = this.#exchange
    if (endOfStream) return
    sayContinue(stream, this.headers)
    yield* bodyStream(stream, this.#context.limits)
  }
}

function serve(
  context: PortContext,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  endOfStream: boolean,
  id: string,
): void {
  const exchange: Exchange = { stream, id, head: headers[':method'] === 'HEAD', endOfStream }
  if (headers.host === undefined && headers[':authority'] !== undefined) headers.host = headers[':authority']
  const request = new StreamRequest(context, exchange, headers)
  let reply: HttpReply | Promise<HttpReply>
  try {
    reply = context.http(request)
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

function sayContinue(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  if (headers.expect === '100-continue') stream.additionalHeaders({ ':status': 100 })
}

function readBody(
  context: PortContext,
  { stream, endOfStream }: Exchange,
  headers: IncomingHttpHeaders,
  bytesMax: number,
): Promise<Uint8Array> {
  if (endOfStream) return Promise.resolve(new Uint8Array())
  if (Number(headers['content-length'] ?? 0) > bytesMax) return Promise.reject(bodyTooLarge(bytesMax))
  sayContinue(stream, headers)
  return new Promise((resolve, reject) => {
    let chunks: Uint8Array[] = []
    let size = 0
    const timer = setTimeout(() => reject(requestTimedOut()), context.limits.requestTimeoutMs)
    stream.on('data', (chunk: Uint8Array) => {
      size += chunk.length
      if (size <= bytesMax) {
        chunks.push(chunk)
        return
      }
      chunks = []
      clearTimeout(timer)
      reject(bodyTooLarge(bytesMax))
    })
    stream.on('end', () => {
      clearTimeout(timer)
      const [first] = chunks
      resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks))
    })
    stream.on('close', () => {
      clearTimeout(timer)
      reject(clientWentAway())
    })
  })
}

function send(context: PortContext, exchange: Exchange, reply: HttpReply): void {
  const { stream, id, head } = exchange
  if (stream.destroyed || stream.closed || stream.headersSent) {
    dropStream(reply.body)
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
    stream.respond(headers, { endStream })
  } catch (failure) {
    if (stream.destroyed || stream.closed || stream.headersSent) return
    // A handler's header that HTTP cannot carry. The replacement has only headers of ours.
    send(context, exchange, failureReply(context, id, failure))
    return
  }
  if (streamed && !endStream) {
    void streamBody(context, exchange, body)
    return
  }
  if (!endStream) stream.end(body)
  if (!exchange.endOfStream) refuseRest(stream)
}

async function streamBody(context: PortContext, exchange: Exchange, body: BodyStream): Promise<void> {
  const { stream, id } = exchange
  await sendStream(context, body, {
    out: stream,
    requestId: id,
    end: () => stream.end(),
    // With an error, so that its reset does not pass for a regular end.
    cut: () => stream.destroy(new Error('the reply was cut off')),
  })
  if (!exchange.endOfStream) refuseRest(stream)
}
