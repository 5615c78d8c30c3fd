import type { DescMethod, Message } from '@bufbuild/protobuf'
import { ApiError, Code, unavailable } from '../../api/errors.ts'
import { toApiError } from '../../api/storage-faults.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'
import { OpenCounts } from '../../pipeline/limits/open-counts.ts'
import type { BufferedBody } from '../../port/bodies/body-budget.ts'
import { errorCodes } from '../../port/http2/frames.ts'
import type { RequestHeaders } from '../../port/http2/request-headers.ts'
import { discardRequestBody, type Http2Stream } from '../../port/http2/stream.ts'
import { type PeerTimeout, startPeerTimeout } from '../../port/peer-timeout.ts'
import { createMessageSender } from '../../port/reply-body.ts'
import { deadlineExceeded } from '../../port/transport-errors.ts'
import { errorTrailers, grpcContentType, sendTrailersOnly } from './error-response.ts'
import { createFrameReader, type Frame } from './frame.ts'
import type { GrpcContext } from './handler.ts'
import {
  decodeCompressed,
  decodeMessage,
  encodeMessage,
  frameError,
  protocolError,
  requestEncoding,
} from './message.ts'
import { deadlineOf } from './unary.ts'

const RETRY_DELAY_MS = 5000

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
  /** The call has ended, for any reason. */
  closed?(): void
}

export interface StreamingMethod {
  readonly method: DescMethod
  /**
   * Whether a call may stay open as long as its client likes. Such calls are limited in number; the others must send their request in
   * time, and are never refused: a balancer that gets no answer to `Health/Check` restarts the server.
   */
  readonly longLived: boolean
  readonly open: (call: StreamingCall) => StreamingReceiver
}

export interface StreamingCalls {
  serve(
    entry: StreamingMethod,
    stream: Http2Stream,
    headers: RequestHeaders,
    endOfStream: boolean,
    requestId: string,
  ): void
  /** Fails all open calls with UNAVAILABLE, and refuses new ones. */
  stop(): void
}

/** Open calls of all streaming methods of one server. */
export function createStreamingCalls(context: GrpcContext): StreamingCalls {
  const open = new Set<(failure: unknown) => void>()
  const admission = longLivedCalls(context)
  let stopped = false
  return {
    serve(entry, stream, headers, endOfStream, requestId) {
      try {
        if (stopped) throw serverStopping()
        if (entry.longLived) admission.admit(stream, headers)
      } catch (refusal) {
        const error = toApiError(refusal, requestId, context.log)
        sendTrailersOnly(stream, error, context.errorDomain, requestId)
        return
      }
      serveStreaming(context, open, entry, stream, headers, endOfStream, requestId)
    },
    stop() {
      stopped = true
      for (const fail of open) fail(serverStopping())
    },
  }
}

/** Counts the endless calls of the server, of each client address and of each connection, except that of a trusted proxy. */
function longLivedCalls({ limits, addressOf, isTrustedProxy }: GrpcContext) {
  const all = new OpenCounts<'all'>(limits.streamingCallsMax)
  const addresses = new OpenCounts<string>(limits.streamingCallsPerAddressMax)
  const connections = new OpenCounts<object>(limits.streamingCallsPerConnectionMax)
  return {
    /** Counts a call until its stream closes. Fails with RESOURCE_EXHAUSTED if there are too many. */
    admit(stream: Http2Stream, headers: RequestHeaders): void {
      const { connection } = stream
      const peer = connection.remoteAddress
      const address = addressOf(peer, headers['x-forwarded-for'])
      const counted: (() => void)[] = []
      const add = <Key>(counts: OpenCounts<Key>, key: Key) => {
        if (!counts.add(key)) return false
        counted.push(() => counts.remove(key))
        return true
      }
      const remove = () => {
        for (const undo of counted.splice(0)) undo()
      }
      const refusal =
        !isTrustedProxy(peer) && !add(connections, connection)
          ? tooManyStreams(`one connection may have ${limits.streamingCallsPerConnectionMax} of them`)
          : !isTrustedProxy(address) && !add(addresses, clientAddressKey(address))
            ? tooManyStreams(`one address may have ${limits.streamingCallsPerAddressMax} of them`)
            : !add(all, 'all')
              ? tooManyStreams(`the server has ${limits.streamingCallsMax} of them`)
              : undefined
      if (refusal !== undefined) {
        remove()
        throw refusal
      }
      stream.on('close', remove)
    },
  }
}

function serveStreaming(
  context: GrpcContext,
  open: Set<(failure: unknown) => void>,
  { method, longLived: endless, open: openReceiver }: StreamingMethod,
  stream: Http2Stream,
  headers: RequestHeaders,
  endOfStream: boolean,
  requestId: string,
): void {
  const { errorDomain } = context
  let ended = false
  let timer: NodeJS.Timeout | undefined
  let requestTimeout: PeerTimeout | undefined
  let receiver: StreamingReceiver | undefined

  const close = () => {
    if (ended) return
    ended = true
    clearTimeout(timer)
    requestTimeout?.clear()
    open.delete(fail)
    receiver?.closed?.()
  }
  const finish = (error: ApiError | undefined) => {
    if (ended) return
    close()
    if (!stream.headersSent && error !== undefined) {
      sendTrailersOnly(stream, error, errorDomain, requestId)
      return
    }
    respond(stream, requestId)
    const trailers = error === undefined ? { 'grpc-status': '0' } : errorTrailers(error, errorDomain)
    stream.setTrailers(trailers)
    stream.end()
    discardRequestBody(stream)
  }
  const fail = (failure: unknown) => {
    if (!ended) finish(toApiError(failure, requestId, context.log))
  }
  const sendMessage = createMessageSender(stream, context, () => stream.close(errorCodes.cancel))
  const call: StreamingCall = {
    send(message) {
      if (ended || stream.closed) return
      respond(stream, requestId)
      sendMessage(encodeMessage(method.output, message))
    },
    end: () => finish(undefined),
    fail,
  }

  open.add(fail)
  stream.on('close', close)
  try {
    const encoding = requestEncoding(headers['grpc-encoding'])
    const deadlineMs = deadlineOf(headers)
    const expire = () => fail(deadlineExceeded())
    // setTimeout cannot wait longer than this; such a deadline is ignored.
    if (deadlineMs < 2 ** 31) timer = setTimeout(expire, deadlineMs)
    if (!endless) requestTimeout = startPeerTimeout(context.limits.requestTimeoutMs, expire)
    receiver = openReceiver(call)
    if (endOfStream) receiver.halfClosed?.()
    else {
      const bounds = endless
        ? {
            bytesMax: context.limits.streamingMessageBytesMax,
            buffered: bufferedBody(context, stream, headers),
          }
        : { bytesMax: context.limits.healthMessageBytesMax, buffered: undefined }
      receive(method, stream, encoding, receiver, { ...bounds, fail, hasEnded: () => ended })
    }
  } catch (failure) {
    fail(failure)
  }
}

function respond(stream: Http2Stream, requestId: string): void {
  if (stream.headersSent || stream.closed) return
  stream.respond({ ':status': 200, 'content-type': grpcContentType, 'x-request-id': requestId })
}

/** Counts the messages of an endless call. The others are never refused, and so small that nothing needs to count them. */
function bufferedBody(
  { addressOf, budget }: GrpcContext,
  stream: Http2Stream,
  headers: RequestHeaders,
): BufferedBody {
  const { connection } = stream
  const address = addressOf(connection.remoteAddress, headers['x-forwarded-for'])
  const buffered = budget.open(connection, address)
  stream.on('close', () => buffered.release())
  return buffered
}

interface ReceiveOptions {
  /** Of one message. */
  readonly bytesMax: number
  readonly buffered: BufferedBody | undefined
  readonly fail: (failure: unknown) => void
  readonly hasEnded: () => boolean
}

function receive(
  method: DescMethod,
  stream: Http2Stream,
  encoding: 'identity' | 'gzip',
  receiver: StreamingReceiver,
  { bytesMax, buffered, fail, hasEnded: isOver }: ReceiveOptions,
): void {
  const reader = createFrameReader(bytesMax)
  let working = Promise.resolve()
  const take = async (frames: readonly Frame[]) => {
    for (const [index, one] of frames.entries()) {
      // One message of a chunk at a time, and none before its client has read the replies to those before.
      if (index > 0) await new Promise((resolve) => setImmediate(resolve))
      if (stream.writableNeedDrain) await drained(stream)
      if (isOver()) return
      const message = one.compressed
        ? await decodeCompressed(method, one, encoding, bytesMax)
        : decodeMessage(method, one.payload)
      receiver.message(message)
    }
  }
  stream.on('data', (chunk: Buffer) => {
    if (isOver()) return
    try {
      const frames = reader.push(chunk)
      if (typeof frames === 'string') throw frameError(frames, bytesMax)
      buffered?.grow(chunk.length)
      if (frames.length === 0) return
      stream.pause()
      working = take(frames).then(() => {
        // What is left is the start of a message that is shorter than the limit.
        buffered?.release()
        stream.resume()
      }, fail)
    } catch (failure) {
      fail(failure)
    }
  })
  // The end of an HTTP/2 stream is reported while the stream is paused, too.
  stream.on('end', () =>
    working.then(() => {
      if (reader.isMidFrame()) fail(protocolError('the message is cut off'))
      else if (!isOver()) receiver.halfClosed?.()
    }),
  )
}

/** Resolves when the client has taken what was written, or the stream is closed: its sender cuts off a client that takes nothing. */
function drained(stream: Http2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}

export function serverStopping(): ApiError {
  return unavailable('the server is stopping', 1000)
}

function tooManyStreams(description: string): ApiError {
  return new ApiError(
    Code.RESOURCE_EXHAUSTED,
    `Resource exhausted: too many open streams: ${description}; close some, or try again later`,
    { reason: 'TOO_MANY_STREAMS', details: [{ kind: 'RetryInfo', retryDelayMs: RETRY_DELAY_MS }] },
  )
}
