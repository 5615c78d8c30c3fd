import { type DescMethod, type Message, toBinary } from '@bufbuild/protobuf'
import { type ApiError, invalidArgument, unimplemented } from '../../api/errors.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { returnsEtag } from '../../api/standard-methods.ts'
import { toApiError } from '../../api/storage-faults.ts'
import type { IncomingCall } from '../../pipeline/call.ts'
import type { ClientAddressOf } from '../../pipeline/limits/client-address.ts'
import { requestBytesMax } from '../../pipeline/limits/request-size.ts'
import type { AdmittedCall } from '../../pipeline/methods.ts'
import { RequestContext, runInContext } from '../../pipeline/request/request-context.ts'
import type { RequestRecord } from '../../pipeline/request/request-record.ts'
import { warningHeader } from '../../pipeline/warnings.ts'
import { countBodyBytes } from '../../port/byte-counts.ts'
import { errorCodes } from '../../port/http2/frames.ts'
import type { RequestHeaders } from '../../port/http2/request-headers.ts'
import type { Http2Stream, ReplyHeaders } from '../../port/http2/stream.ts'
import { afterPendingReads, PEER_TIMEOUT_PARTS } from '../../port/peer-timeout.ts'
import { sendWhole } from '../../port/reply-body.ts'
import { clientDisconnected, deadlineExceeded } from '../../port/transport-errors.ts'
import { encodeOnce } from '../../runtime/caches/stored-encodings.ts'
import { entityTag } from '../entity-tag.ts'
import { grpcContentType, sendTrailersOnly } from './error-response.ts'
import { createFrameReader, encodeFrame, type Frame, parseTimeoutMs, protoFieldPath } from './frame.ts'
import type { GrpcContext } from './handler.ts'
import {
  acceptsGzip,
  decodeCompressed,
  decodeMessage,
  frameError,
  gzipFrame,
  protocolError,
  requestEncoding,
} from './message.ts'

/** How far a call has come. */
type Phase = 'reading' | 'running' | 'answered'

/**
 * What the pipeline reads of a call. A class, because an accessor in an object literal gives every object a hidden
 * class of its own; spreading the object does not copy the signal.
 */
class UnaryCall implements IncomingCall {
  readonly protocol = 'grpc'
  readonly requestId: string
  readonly authorizationHeader: string | undefined
  readonly record: RequestRecord | undefined
  replyHeaders: IncomingCall['replyHeaders'] = undefined
  warnings: IncomingCall['warnings'] = undefined
  readonly #addressOf: ClientAddressOf
  readonly #stream: Http2Stream
  readonly #headers: RequestHeaders
  readonly context = new RequestContext()

  constructor(
    requestId: string,
    addressOf: ClientAddressOf,
    stream: Http2Stream,
    headers: RequestHeaders,
    record: RequestRecord | undefined,
  ) {
    this.requestId = requestId
    this.record = record
    this.authorizationHeader = headers.authorization
    this.#addressOf = addressOf
    this.#stream = stream
    this.#headers = headers
  }

  get address(): string {
    return this.#addressOf(this.#stream.connection.remoteAddress, this.#headers['x-forwarded-for'])
  }

  get ifMatch(): string | undefined {
    return this.#headers['if-match']
  }

  get idempotencyKey(): string | undefined {
    return textOf(this.#headers['idempotency-key'])
  }

  get signal(): AbortSignal {
    return this.context.signal
  }
}

/**
 * Answers one unary call: the headers are authorized, then one frame is read and decoded, then one frame and trailers are sent, or an
 * error as trailers only.
 */
export function serveUnary(
  context: GrpcContext,
  method: DescMethod,
  stream: Http2Stream,
  headers: RequestHeaders,
  endOfStream: boolean,
  requestId: string,
  record?: RequestRecord,
): void {
  const { limits } = context
  if (record !== undefined) record.method = fullMethodName(method)
  const incoming = new UnaryCall(requestId, context.addressOf, stream, headers, record)
  incoming.replyHeaders = context.headersOf(method)
  const buffered = countBodyBytes(context.budget.open(stream.connection, incoming.address), record)
  let phase: Phase = 'reading'
  let timer: NodeJS.Timeout | undefined

  const fail = (failure: unknown) => {
    // Unpacking continues, and counts, for a moment after the call has ended.
    buffered.release()
    if (phase === 'answered') return
    phase = 'answered'
    clearTimeout(timer)
    const error = toApiError(failure, requestId, context.log)
    sendTrailersOnly(stream, error, context.errorDomain, requestId, incoming.replyHeaders)
  }
  /** Fails the call, and cancels what its handler waits for. */
  const cancel = (reason: ApiError) => {
    fail(reason)
    incoming.context.abort(reason)
  }
  const expire = () => cancel(deadlineExceeded())
  context.openCalls.add(cancel)
  stream.on('close', () => {
    context.openCalls.delete(cancel)
    if (phase === 'answered') return
    phase = 'answered'
    clearTimeout(timer)
    buffered.release()
    incoming.context.abort(clientDisconnected())
  })

  let encoding: 'identity' | 'gzip'
  let deadlineMs: number
  try {
    encoding = requestEncoding(headers['grpc-encoding'])
    deadlineMs = deadlineOf(headers)
  } catch (failure) {
    fail(failure)
    return
  }
  if (deadlineMs <= 0) {
    expire()
    return
  }
  const started = performance.now()
  const readLimitMs = Math.min(limits.requestTimeoutMs, limits.handlerTimeoutMs)
  const partMs = readLimitMs / PEER_TIMEOUT_PARTS
  let elapsedMs = 0
  /**
   * One timer for the deadline of the client, `requestTimeoutMs` and `handlerTimeoutMs`: both limits start with the call. Time counts for the
   * limits in parts, as in `startPeerTimeout`. A part whose timer is late by more than a part does not count: this process stood still.
   */
  const startTimer = () => {
    const nowMs = performance.now()
    const deadlineLeftMs = deadlineMs - (nowMs - started)
    const leftMs = (phase === 'reading' ? readLimitMs : limits.handlerTimeoutMs) - elapsedMs
    if (deadlineLeftMs <= 0 || leftMs <= 0) return expire()
    const waitMs = Math.min(deadlineLeftMs, leftMs, partMs)
    const onPart = () => {
      if (phase === 'answered') return
      const lateMs = performance.now() - nowMs - waitMs
      if (lateMs <= partMs) elapsedMs += waitMs
      startTimer()
    }
    timer = setTimeout(() => afterPendingReads(onPart), waitMs)
  }
  startTimer()

  const answer = (packed: Buffer, headers: ReplyHeaders) => {
    if (phase === 'answered') return
    sendReply(context, stream, packed, headers, record)
    phase = 'answered'
    clearTimeout(timer)
  }
  const succeed = (reply: Message) => {
    if (phase === 'answered') return
    try {
      const bytes = encodeOnce(reply, method, () => toBinary(method.output, reply))
      if (bytes.length <= context.gzipAboveBytes || !acceptsGzip(headers['grpc-accept-encoding'])) {
        answer(encodeFrame(bytes, false), replyHeaders(method, reply, incoming))
        return
      }
      gzipFrame(bytes)
        .then((packed) =>
          answer(packed, { ...replyHeaders(method, reply, incoming), 'grpc-encoding': 'gzip' }),
        )
        .catch(fail)
    } catch (failure) {
      fail(failure)
    }
  }
  const run = (call: AdmittedCall, message: Message) => {
    buffered.release()
    if (phase === 'answered') return
    // The timer is late when the event loop was busy.
    if (performance.now() - started >= deadlineMs) return expire()
    phase = 'running'
    // Events of the stream are not part of the trace.
    const start = () => void runInContext(incoming.context, () => call(message)).then(succeed, fail)
    if (record === undefined) start()
    else record.run(start)
  }

  let received: Frame | undefined
  const bytesMax = requestBytesMax(method, limits.apiBodyBytesMax)
  const reader = createFrameReader(bytesMax)
  const finish = (call: AdmittedCall) => {
    if (phase === 'answered') return
    if (reader.isMidFrame()) return fail(protocolError('the message is cut off'))
    if (received === undefined) return fail(notOneMessage())
    if (received.compressed) {
      const unpackedMax = requestBytesMax(method, limits.grpcMessageBytesMax)
      decodeCompressed(method, received, encoding, unpackedMax, buffered).then(
        (message) => run(call, message),
        fail,
      )
      return
    }
    let message: Message
    try {
      message = decodeMessage(method, received.payload)
    } catch (failure) {
      return fail(failure)
    }
    run(call, message)
  }
  const take = (chunk: Buffer) => {
    if (phase === 'answered') return
    try {
      buffered.grow(chunk.length)
    } catch (failure) {
      return fail(failure)
    }
    const frames = reader.push(chunk)
    if (typeof frames === 'string') return fail(frameError(frames, bytesMax))
    for (const one of frames) {
      if (received !== undefined) return fail(notOneMessage())
      received = one
    }
  }
  const read = (call: AdmittedCall) => {
    if (phase === 'answered') return
    if (endOfStream) return finish(call)
    stream.on('data', take)
    stream.on('end', () => finish(call))
  }
  // Until the headers are authorized, what the client sends stays in the flow-control window of its stream.
  try {
    const call = runInContext(incoming.context, () => context.authorizeHeaders(method, incoming))
    if (call instanceof Promise) call.then(read, fail)
    else read(call)
  } catch (failure) {
    fail(failure)
  }
}

function sendReply(
  context: GrpcContext,
  stream: Http2Stream,
  packed: Buffer,
  headers: ReplyHeaders,
  record: RequestRecord | undefined,
): void {
  if (stream.closed) return
  if (record !== undefined) record.bytesOut = packed.length
  stream.respond(headers)
  stream.setTrailers(okTrailers)
  sendWhole(stream, packed, context, () => stream.close(errorCodes.cancel))
}

const okTrailers: ReplyHeaders = { 'grpc-status': '0' }

function replyHeaders(method: DescMethod, reply: Message, incoming: IncomingCall): ReplyHeaders {
  const headers: Record<string, ReplyHeaders[string]> = {
    ':status': 200,
    'content-type': grpcContentType,
    'x-request-id': incoming.requestId,
  }
  if (incoming.replyHeaders !== undefined) Object.assign(headers, incoming.replyHeaders)
  Object.assign(headers, warningHeader(incoming, protoFieldPath))
  if (returnsEtag(method)) headers['etag'] = entityTag(method.output, reply)
  return headers
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

/** Milliseconds that the client gave the call. */
export function deadlineOf(headers: RequestHeaders): number {
  const header = headers['grpc-timeout']
  if (header === undefined) return Number.POSITIVE_INFINITY
  const timeoutMs = typeof header === 'string' ? parseTimeoutMs(header) : undefined
  if (timeoutMs === undefined) {
    throw invalidArgument('grpc-timeout', 'is not well-formed')
  }
  return timeoutMs
}

/** https://github.com/grpc/grpc/blob/master/doc/statuscodes.md: UNIMPLEMENTED for a cardinality violation. */
function notOneMessage(): ApiError {
  return unimplemented('a unary call carries exactly one message')
}
