import { randomBytes } from 'node:crypto'
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { limits as allLimits } from './core/limits.ts'
import { errorBody, httpStatusOfError } from './gateway/error-body.ts'
import { type TransportLog, toApiError } from './gateway/status.ts'
import type { AddressOf, HttpHandler, WholeBody, WholeReply } from './http.ts'

/** What the adapters of HTTP/1 and HTTP/2 share. */

/** The limits of core/limits.ts that the port enforces. */
export type PortLimits = Readonly<
  Record<
    keyof typeof allLimits &
      (
        | 'headerBytesMax'
        | 'apiBodyBytesMax'
        | 'headersTimeoutMs'
        | 'requestTimeoutMs'
        | 'protocolTimeoutMs'
        | 'idleConnectionMs'
        | 'concurrentStreamsMax'
        | 'stopGraceMs'
        | 'stalledReplyMs'
        | 'streamedBodyWindowMs'
        | 'streamedBodyWindowBytesMin'
      ),
    number
  >
>

/** Takes the HTTP/2 streams whose content type is one of gRPC's. */
export interface GrpcHandler {
  /** Answers one stream, whatever happens. `endOfStream`: the headers were the whole request. */
  handle(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    endOfStream: boolean,
    requestId: string,
  ): void
  /** Ends the calls that would never end by themselves; unary calls are left to finish. */
  stop(): void
}

export interface PortContext {
  readonly http: HttpHandler
  readonly grpc: GrpcHandler
  readonly errorDomain: string
  readonly log: TransportLog
  readonly addressOf: AddressOf
  readonly limits: PortLimits
  /** The id of the next request. */
  readonly nextRequestId: () => string
  /** Once true, replies ask their clients to close the connection. */
  stopping: boolean
}

/**
 * Request ids: a random prefix for this process and a counter, both in base 36. Cheap, unique over all nodes for any
 * practical purpose, and never taken from the client, who could forge another request's log lines with it.
 */
export function requestIds(): () => string {
  const prefix = BigInt(`0x${randomBytes(6).toString('hex')}`).toString(36)
  let count = 0
  return () => {
    count += 1
    return `${prefix}-${count.toString(36)}`
  }
}

/** The structured reply to whatever a handler threw; see `toApiError` for what is told and what is logged. */
export function failureReply(context: PortContext, requestId: string, failure: unknown): WholeReply {
  const error = toApiError(failure, requestId, context.log)
  return {
    status: httpStatusOfError(error),
    headers: { 'content-type': 'application/json' },
    body: errorBody(error, context.errorDomain),
  }
}

const scratch = Buffer.allocUnsafeSlow(256 * 1024)
const LONG_TEXT = 4096

/**
 * A body as it is best handed to a socket. Long text is put together from many pieces: writing it into a waiting buffer joins and
 * encodes them in one pass, where counting its bytes and sending it would take two.
 */
export function wireBody(body: WholeBody): WholeBody {
  // UTF-8 takes at most three bytes for a unit of text.
  if (typeof body !== 'string' || body.length < LONG_TEXT || body.length * 3 > scratch.length) return body
  return Buffer.from(scratch.subarray(0, scratch.write(body)))
}

/** Bytes of a body on the wire. */
export function bodyBytes(body: WholeBody): number {
  if (body === undefined) return 0
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

/** RFC 9110, section 8.6: such replies carry no content-length. */
export function hasNoContentLength(status: number): boolean {
  return status === 204 || status === 304
}

/**
 * RFC 9113, section 8.1: after a whole reply, NO_ERROR asks the client to send no more of its request. On a stream whose request has
 * ended this does nothing. A reset can overtake the reply that says why, so what the client still sends is swallowed for a moment.
 */
export function refuseRest(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.destroyed) return
  stream.resume()
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), allLimits.lingerMs)
  stream.once('close', () => clearTimeout(timer))
}
