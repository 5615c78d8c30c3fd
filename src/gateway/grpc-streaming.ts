import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { DescMethod, Message } from '@bufbuild/protobuf'
import { ApiError, Code, unavailable } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { refuseRest } from '../port.ts'
import type { GrpcContext } from './grpc.ts'
import { type Frame, frameReader } from './grpc-frame.ts'
import {
  decode,
  decodeCompressed,
  encode,
  faultError,
  protocolError,
  requestEncoding,
} from './grpc-message.ts'
import { errorTrailers, grpcContentType, sendTrailersOnly } from './grpc-reply.ts'
import { deadlineOf } from './grpc-unary.ts'
import { deadlineExceeded, toApiError } from './status.ts'

/** A call of a method that is answered in the codec. Whatever is sent after its end is dropped. */
export interface StreamingCall {
  send(message: Message): void
  /** Ends the call with status OK. */
  end(): void
  fail(error: ApiError): void
}

/** What the method does with the client's side of the call; none of these may block. */
export interface StreamingReceiver {
  message(request: Message): void
  /** The client has sent its last message. */
  halfClosed?(): void
  /** The call is over, for whatever reason. */
  closed?(): void
}

export interface StreamingMethod {
  readonly method: DescMethod
  readonly open: (call: StreamingCall) => StreamingReceiver
}

export interface StreamingCalls {
  serve(
    entry: StreamingMethod,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    endOfStream: boolean,
    requestId: string,
  ): void
  /** Fails all open calls with UNAVAILABLE, and refuses new ones. */
  stop(): void
}

/** Open calls of all streaming methods of one server. */
export function streamingCalls(context: GrpcContext): StreamingCalls {
  const open = new Set<(failure: unknown) => void>()
  let stopped = false
  return {
    serve(entry, stream, headers, endOfStream, requestId) {
      if (stopped || open.size >= limits.streamingCallsMax) {
        const error = stopped ? stopping() : tooMany()
        sendTrailersOnly(stream, error, context.errorDomain, requestId)
        return
      }
      serveStreaming(context, open, entry, stream, headers, endOfStream, requestId)
    },
    stop() {
      stopped = true
      for (const fail of open) fail(stopping())
    },
  }
}

function serveStreaming(
  context: GrpcContext,
  open: Set<(failure: unknown) => void>,
  { method, open: openReceiver }: StreamingMethod,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  endOfStream: boolean,
  requestId: string,
): void {
  const { errorDomain } = context
  let over = false
  let timer: NodeJS.Timeout | undefined
  let receiver: StreamingReceiver | undefined

  const close = () => {
    if (over) return
    over = true
    clearTimeout(timer)
    open.delete(fail)
    receiver?.closed?.()
  }
  const finish = (error: ApiError | undefined) => {
    if (over) return
    close()
    if (!stream.headersSent && error !== undefined) {
      sendTrailersOnly(stream, error, errorDomain, requestId)
      return
    }
    respond(stream, requestId)
    const trailers = error === undefined ? { 'grpc-status': '0' } : errorTrailers(error, errorDomain)
    stream.on('wantTrailers', () => {
      if (stream.destroyed || stream.closed) return
      stream.sendTrailers(trailers)
      // The trailers leave in a later turn; closing the stream before would lose them.
      setImmediate(() => setImmediate(() => refuseRest(stream)))
    })
    stream.end()
  }
  const fail = (failure: unknown) => {
    if (!over) finish(toApiError(failure, requestId, context.log))
  }
  const call: StreamingCall = {
    send(message) {
      if (over || stream.destroyed || stream.closed) return
      respond(stream, requestId)
      if (stream.write(encode(method.output, message))) return
      // A client that asks without reading the answers has to wait.
      stream.pause()
      stream.once('drain', () => stream.resume())
    },
    end: () => finish(undefined),
    fail,
  }

  open.add(fail)
  stream.on('close', close)
  try {
    const encoding = requestEncoding(headers['grpc-encoding'])
    const deadlineMs = deadlineOf(headers)
    // setTimeout cannot wait longer than this; such a deadline is as good as none.
    if (deadlineMs < 2 ** 31) timer = setTimeout(() => fail(deadlineExceeded()), deadlineMs)
    receiver = openReceiver(call)
    if (endOfStream) receiver.halfClosed?.()
    else receive(context, method, stream, encoding, receiver, fail)
  } catch (failure) {
    fail(failure)
  }
}

function respond(stream: ServerHttp2Stream, requestId: string): void {
  if (stream.headersSent || stream.destroyed || stream.closed) return
  stream.respond(
    { ':status': 200, 'content-type': grpcContentType, 'x-request-id': requestId },
    { waitForTrailers: true },
  )
}

function receive(
  { limits }: GrpcContext,
  method: DescMethod,
  stream: ServerHttp2Stream,
  encoding: 'identity' | 'gzip',
  receiver: StreamingReceiver,
  fail: (failure: unknown) => void,
): void {
  const reader = frameReader(limits.apiBodyBytesMax)
  // Unpacking takes a while; what comes after has to wait its turn.
  let turn: Promise<void> | undefined
  const inTurn = (work: () => void | Promise<void>) => {
    if (turn !== undefined) {
      turn = turn.then(work).catch(fail)
      return
    }
    try {
      const later = work()
      if (later !== undefined) turn = later.catch(fail)
    } catch (failure) {
      fail(failure)
    }
  }
  const take = (one: Frame): void | Promise<void> => {
    if (!one.compressed) return receiver.message(decode(method, one.payload))
    return decodeCompressed(method, one, encoding, limits.grpcMessageBytesMax).then((message) =>
      receiver.message(message),
    )
  }
  stream.on('data', (chunk: Buffer) => {
    const frames = reader.push(chunk)
    if (typeof frames === 'string') {
      stream.removeAllListeners('data')
      fail(faultError(frames, limits.apiBodyBytesMax))
      return
    }
    for (const one of frames) inTurn(() => take(one))
  })
  stream.on('end', () => {
    if (reader.isMidFrame()) fail(protocolError('the message is cut off'))
    else inTurn(() => receiver.halfClosed?.())
  })
}

function stopping(): ApiError {
  return unavailable('the server is stopping', 1000)
}

function tooMany(): ApiError {
  return new ApiError(Code.RESOURCE_EXHAUSTED, 'Resource exhausted: too many open streams')
}
