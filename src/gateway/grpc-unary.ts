import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { type DescMethod, type Message, toBinary } from '@bufbuild/protobuf'
import type { Incoming } from '../core/call.ts'
import { type ApiError, invalidArgument, unimplemented } from '../core/errors.ts'
import { etagOf } from '../core/etag.ts'
import { requestBytesMax } from '../core/request-size.ts'
import { answersVersion } from '../core/standard-method.ts'
import type { AddressOf } from '../http.ts'
import type { GrpcContext } from './grpc.ts'
import { type Frame, frame, frameReader, timeoutMsOf } from './grpc-frame.ts'
import {
  acceptsGzip,
  decode,
  decodeCompressed,
  faultError,
  gzipFrame,
  protocolError,
  requestEncoding,
} from './grpc-message.ts'
import { grpcContentType, sendTrailersOnly } from './grpc-reply.ts'
import { clientWentAway, deadlineExceeded, toApiError } from './status.ts'

/** How far a call has come. */
type Phase = 'reading' | 'running' | 'answered'

/**
 * What `dispatch` learns of a call. The signal is made when a handler asks for it: a controller costs as much as the
 * rest of a small call's bookkeeping. A class, because an accessor in an object literal gives every object a hidden
 * class of its own; spreading the object does not copy the signal.
 */
class UnaryCall implements Incoming {
  readonly protocol = 'grpc'
  readonly requestId: string
  readonly authorization: string | undefined
  replyHeaders: Incoming['replyHeaders'] = undefined
  readonly #addressOf: AddressOf
  readonly #stream: ServerHttp2Stream
  readonly #headers: IncomingHttpHeaders
  #controller: AbortController | undefined = undefined
  #aborted: ApiError | undefined = undefined

  constructor(
    requestId: string,
    addressOf: AddressOf,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
  ) {
    this.requestId = requestId
    this.authorization = headers.authorization
    this.#addressOf = addressOf
    this.#stream = stream
    this.#headers = headers
  }

  get address(): string {
    return this.#addressOf(this.#stream.session?.socket.remoteAddress, this.#headers['x-forwarded-for'])
  }

  get ifMatch(): string | undefined {
    return this.#headers['if-match']
  }

  get idempotencyKey(): string | undefined {
    return textOf(this.#headers['idempotency-key'])
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  abort(reason: ApiError): void {
    this.#aborted = reason
    this.#controller?.abort(reason)
  }
}

/** Answers one unary call: one frame in, `dispatch`, one frame and trailers out, or an error as trailers only. */
export function serveUnary(
  context: GrpcContext,
  method: DescMethod,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  endOfStream: boolean,
  requestId: string,
): void {
  const { limits } = context
  const incoming = new UnaryCall(requestId, context.addressOf, stream, headers)
  incoming.replyHeaders = context.headersOf(method)
  let phase: Phase = 'reading'
  let timer: NodeJS.Timeout | undefined

  const fail = (failure: unknown) => {
    if (phase === 'answered') return
    phase = 'answered'
    clearTimeout(timer)
    const error = toApiError(failure, requestId, context.log)
    sendTrailersOnly(stream, error, context.errorDomain, requestId, incoming.replyHeaders)
  }
  const expire = () => {
    const exceeded = deadlineExceeded()
    fail(exceeded)
    incoming.abort(exceeded)
  }
  stream.on('close', () => {
    if (phase === 'answered') return
    phase = 'answered'
    clearTimeout(timer)
    incoming.abort(clientWentAway())
  })

  let encoding: 'identity' | 'gzip'
  let totalMs: number
  try {
    encoding = requestEncoding(headers['grpc-encoding'])
    totalMs = Math.min(deadlineOf(headers), limits.handlerTimeoutMs)
  } catch (failure) {
    fail(failure)
    return
  }
  if (totalMs <= 0) {
    expire()
    return
  }
  const started = performance.now()
  // One timer for two limits: a request that has arrived by then may run on for what is left of its deadline.
  timer = setTimeout(
    () => {
      const leftMs = totalMs - (performance.now() - started)
      if (phase === 'reading' || leftMs <= 1) expire()
      else timer = setTimeout(expire, leftMs)
    },
    Math.min(totalMs, limits.requestTimeoutMs),
  )

  const succeed = (reply: Message) => {
    if (phase === 'answered') return
    try {
      const bytes = toBinary(method.output, reply)
      if (bytes.length <= context.gzipAboveBytes || !acceptsGzip(headers['grpc-accept-encoding'])) {
        phase = 'answered'
        clearTimeout(timer)
        sendReply(stream, frame(bytes, false), replyHeaders(method, reply, incoming))
        return
      }
      gzipFrame(bytes).then((packed) => {
        if (phase === 'answered') return
        phase = 'answered'
        clearTimeout(timer)
        sendReply(stream, packed, { ...replyHeaders(method, reply, incoming), 'grpc-encoding': 'gzip' })
      }, fail)
    } catch (failure) {
      fail(failure)
    }
  }
  const run = (message: Message) => {
    if (phase === 'answered') return
    phase = 'running'
    try {
      context.dispatch(method, message, incoming).then(succeed, fail)
    } catch (failure) {
      fail(failure)
    }
  }

  let received: Frame | undefined
  const bytesMax = requestBytesMax(method, limits.apiBodyBytesMax)
  const reader = frameReader(bytesMax)
  const finish = () => {
    if (phase === 'answered') return
    if (reader.isMidFrame()) return fail(protocolError('the message is cut off'))
    if (received === undefined) return fail(notOneMessage())
    if (received.compressed) {
      decodeCompressed(method, received, encoding, requestBytesMax(method, limits.grpcMessageBytesMax)).then(
        run,
        fail,
      )
      return
    }
    let message: Message
    try {
      message = decode(method, received.payload)
    } catch (failure) {
      return fail(failure)
    }
    run(message)
  }
  if (endOfStream) {
    finish()
    return
  }
  stream.on('data', (chunk: Buffer) => {
    if (phase === 'answered') return
    const frames = reader.push(chunk)
    if (typeof frames === 'string') return fail(faultError(frames, bytesMax))
    for (const one of frames) {
      if (received !== undefined) return fail(notOneMessage())
      received = one
    }
  })
  stream.on('end', finish)
}

function sendReply(stream: ServerHttp2Stream, packed: Buffer, headers: OutgoingHttpHeaders): void {
  if (stream.destroyed || stream.closed) return
  stream.respond(headers, { waitForTrailers: true })
  stream.on('wantTrailers', sendOk)
  stream.end(packed)
}

function replyHeaders(method: DescMethod, reply: Message, incoming: Incoming): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    ':status': 200,
    'content-type': grpcContentType,
    'x-request-id': incoming.requestId,
  }
  if (incoming.replyHeaders !== undefined) Object.assign(headers, incoming.replyHeaders)
  if (answersVersion(method)) headers['etag'] = etagOf(method.output, reply)
  return headers
}

function sendOk(this: ServerHttp2Stream): void {
  if (!this.destroyed && !this.closed) this.sendTrailers({ 'grpc-status': '0' })
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

/** Milliseconds that the client gave the call. */
export function deadlineOf(headers: IncomingHttpHeaders): number {
  const header = headers['grpc-timeout']
  if (header === undefined) return Number.POSITIVE_INFINITY
  const timeoutMs = typeof header === 'string' ? timeoutMsOf(header) : undefined
  if (timeoutMs === undefined) {
    throw invalidArgument('', 'grpc-timeout is not well-formed')
  }
  return timeoutMs
}

/** https://github.com/grpc/grpc/blob/master/doc/statuscodes.md: UNIMPLEMENTED for a cardinality violation. */
function notOneMessage(): ApiError {
  return unimplemented('a unary call carries exactly one message')
}
