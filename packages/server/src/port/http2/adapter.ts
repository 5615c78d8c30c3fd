import type { Socket } from 'node:net'
import { RequestContext, runInContext } from '../../pipeline/request/request-context.ts'
import { bytesOutCounter, countBodyBytes, countStreamBytes } from '../byte-counts.ts'
import type { BodyStream, HttpReply, HttpRequest } from '../http.ts'
import { afterPendingReads, createStandstillMeter, startPeerTimeout } from '../peer-timeout.ts'
import { bodyBytes, hasNoContentLength, type PortContext, portErrorReply } from '../port-context.ts'
import { cancelStream, isStream, sendStream, sendWhole } from '../reply-body.ts'
import { readBodyStream, readWholeBody } from '../request-body.ts'
import type { ObservedRequest } from '../request-observer.ts'
import { bodyTooLarge, clientDisconnected, isGrpcContentType, requestTimedOut } from '../transport-errors.ts'
import { errorCodes } from './frames.ts'
import type { RequestHeaders } from './request-headers.ts'
import { Http2Session } from './session.ts'
import { discardRequestBody, type Http2Stream, type ReplyHeaders } from './stream.ts'

/** The HTTP/2 half of the port. */
export interface Http2Adapter {
  /** Takes over a socket that speaks HTTP/2. */
  accept(socket: Socket): void
  /** Tells all clients to go away; a session closes when its last stream has ended. */
  stop(): void
  /** Resets all streams with an error. */
  abort(): void
  /** Ends all sessions now. */
  destroy(): void
}

/** Interval in which standstills are measured, and time after one in which clients may send the frames of its time. */
const STANDSTILL_MS = 1000

/** Every stream goes to the gRPC handler or to the HTTP handler, by its content type. */
export function createHttp2Adapter(context: PortContext): Http2Adapter {
  const { limits } = context
  const sessions = new Set<Http2Session>()
  let isStopped = false

  const onStream = (stream: Http2Stream, headers: RequestHeaders, endOfStream: boolean) => {
    const protocol = isGrpcContentType(headers['content-type']) ? 'grpc' : 'http'
    context.inFlight[protocol]++
    stream.on('close', () => {
      context.inFlight[protocol]--
    })
    const id = context.requestIdOf(headers['x-request-id'])
    const record = startRecord(context, stream, headers, id)
    const handle = () =>
      protocol === 'grpc'
        ? context.grpc.handle(stream, headers, endOfStream, id, record)
        : serve(context, stream, headers, endOfStream, id, record)
    if (record === undefined) handle()
    else record.run(handle)
  }
  const handler = {
    onStream,
    onViolation(session: Http2Session, failure: Error) {
      context.log.debug({ err: failure }, 'HTTP/2 connection failed')
      context.reportAbuse(session.remoteAddress)
    },
    onFault: (_: Http2Session, failure: unknown) =>
      context.log.error({ err: failure }, 'an HTTP/2 connection was ended by a defect of the server'),
    onClosed: (session: Http2Session) => void sessions.delete(session),
  }

  // Pings keep an HTTP/2 connection alive for as long as the client likes; only streams count as use.
  const endIdle = () => {
    const oldest = Date.now() - limits.idleConnectionMs
    for (const session of sessions) {
      if (session.hasStreams || session.idleSince > oldest) continue
      // The first check sends GOAWAY. A client that does not close its side is disconnected by the next.
      if (session.isEnding) session.destroy()
      else session.end()
    }
  }
  const sweepMs = Math.max(20, limits.idleConnectionMs / 8)
  const sweeper = setInterval(() => afterPendingReads(endIdle), sweepMs).unref()
  const standstillMs = createStandstillMeter(STANDSTILL_MS, STANDSTILL_MS)
  const meter = setInterval(standstillMs, STANDSTILL_MS).unref()

  return {
    accept(socket) {
      const session = new Http2Session(socket, limits, handler, standstillMs)
      sessions.add(session)
      // One that begins after the others were asked to leave serves the request that it was opened for.
      if (isStopped) session.leaveAfterNext()
    },
    stop() {
      isStopped = true
      for (const session of sessions) session.leave()
    },
    abort() {
      for (const { streams } of sessions)
        for (const stream of streams)
          if (!stream.closed && !stream.writableEnded) stream.close(errorCodes.cancel)
    },
    destroy() {
      clearInterval(sweeper)
      clearInterval(meter)
      for (const session of sessions) session.destroy()
    },
  }
}

/** Starts the record of a stream, which ends when the stream closes. */
function startRecord(
  { observer, addressOf, isTls }: PortContext,
  stream: Http2Stream,
  headers: RequestHeaders,
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
    address: addressOf(stream.connection.remoteAddress, headers['x-forwarded-for']),
  })
  if (record === undefined) return undefined
  stream.on('close', () => {
    const { status, grpcStatus, rstCode, aborted, writableFinished } = stream
    record.end({
      status,
      grpcStatus,
      aborted: !writableFinished || (aborted && rstCode !== errorCodes.noError),
    })
  })
  return record
}

interface StreamContext {
  readonly stream: Http2Stream
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
  readonly headers: RequestHeaders
  readonly id: string
  readonly record: ObservedRequest | undefined
  readonly #context: PortContext
  readonly #exchange: StreamContext
  #reading: Promise<Uint8Array> | undefined = undefined

  constructor(context: PortContext, exchange: StreamContext, headers: RequestHeaders) {
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
    const { remoteAddress } = this.#exchange.stream.connection
    return this.#context.addressOf(remoteAddress, this.headers['x-forwarded-for'])
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
  stream: Http2Stream,
  headers: RequestHeaders,
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
  const request = new StreamRequest(context, streamContext, headers)
  const requestContext = new RequestContext()
  stream.on('close', () => {
    if (!stream.headersSent || stream.rstCode !== errorCodes.noError)
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

function sendContinue(stream: Http2Stream, headers: RequestHeaders): void {
  if (headers.expect === '100-continue') stream.sendContinue()
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
  const buffered = countBodyBytes(context.bodyBudget.open(stream.connection, address), record)
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
  if (stream.closed || stream.headersSent) {
    cancelStream(reply.body)
    return
  }
  const headers: Record<string, ReplyHeaders[string]> = { ':status': reply.status, 'x-request-id': id }
  for (const name in reply.headers) headers[name] = reply.headers[name] ?? ''
  if (reply.warnings !== undefined) headers['warning'] = reply.warnings
  const { body } = reply
  const bodiless = hasNoContentLength(reply.status)
  const streamed = isStream(body)
  if (!bodiless && !streamed) headers['content-length'] = bodyBytes(body)
  const endStream = head || bodiless || (!streamed && (body === undefined || body.length === 0))
  try {
    stream.respond(headers, { endStream })
  } catch (failure) {
    cancelStream(body)
    if (stream.closed || stream.headersSent) return
    // A handler's header that HTTP cannot carry. The replacement has only headers of ours.
    send(context, streamContext, portErrorReply(context, id, failure))
    return
  }
  if (streamContext.record !== undefined && !endStream && !streamed)
    streamContext.record.bytesOut = bodyBytes(body)
  if (endStream) cancelStream(body)
  else if (streamed) {
    void streamBody(context, streamContext, body)
    return
  } else sendWhole(stream, body, context, () => stream.close(errorCodes.cancel))
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
    abort: () => stream.destroy(),
  })
  if (!streamContext.endOfStream) discardRequestBody(stream)
}
