import { errorBody, httpStatusOfError, retryAfter } from '../api/error-body.ts'
import { toApiError } from '../api/storage-faults.ts'
import type { limits as allLimits } from '../config/limits.ts'
import type { ClientAddressOf } from '../pipeline/limits/client-address.ts'
import type { RequestIdOf } from '../pipeline/request/request-ids.ts'
import type { RequestRecord } from '../pipeline/request/request-record.ts'
import type { BodyBudget } from './bodies/body-budget.ts'
import type { ReplyBatch } from './bodies/reply-batch.ts'
import type { UnreadReplies } from './bodies/unread-replies.ts'
import type { ConnectionLimits } from './connections.ts'
import type { HttpHandler, WholeBody, WholeReply } from './http.ts'
import type { RequestHeaders } from './http2/request-headers.ts'
import type { Http2Stream } from './http2/stream.ts'
import type { RequestObserver } from './request-observer.ts'
import type { TransportLog } from './transport-errors.ts'

/** What the adapters of HTTP/1 and HTTP/2 share. */

/** The limits of config/limits.ts that the port enforces. */
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
        | 'undecidedGraceMs'
        | 'stalledReplyMs'
        | 'streamedBodyWindowMs'
        | 'streamedBodyWindowBytesMin'
        | 'bufferedBytesPerConnectionMax'
        | 'bufferedBytesMax'
        | 'streamWindowBytes'
        | 'headerFieldsMax'
        | 'http2UnreadBytesMax'
        | 'http2ContinuationsMax'
        | 'http2SettingsMax'
        | 'http2MalformedRequestsMax'
        | 'http2RejectedStreamsMax'
        | 'http2ResetsBurst'
        | 'http2ResetsPerSecond'
        | 'http2ControlFramesMax'
        | 'http2ControlWindowMs'
        | 'pipelinedRequestsMax'
        | keyof ConnectionLimits
      ),
    number
  >
>

/** Takes the HTTP/2 streams whose content type is one of gRPC's. */
export interface GrpcHandler {
  /** Answers one stream, whatever happens. `endOfStream`: the headers were the whole request. */
  handle(
    stream: Http2Stream,
    headers: RequestHeaders,
    endOfStream: boolean,
    requestId: string,
    record?: RequestRecord,
  ): void
  /** Ends the calls that would never end by themselves; unary calls are left to finish. */
  stop(): void
  /** Fails all other calls with UNAVAILABLE. */
  abort(): void
}

/** What clients do on the port: requests that are being received or answered, and bytes on their connections since the start. */
export interface PortTraffic {
  readonly inFlight: { readonly http: number; readonly grpc: number }
  readonly bytes: { readonly received: number; readonly sent: number }
}

export interface PortContext {
  readonly http: HttpHandler
  readonly grpc: GrpcHandler
  readonly errorDomain: string
  readonly log: TransportLog
  readonly addressOf: ClientAddressOf
  readonly limits: PortLimits
  /** Counts the bodies that `HttpRequest.body` reads, until their requests are answered. */
  readonly bodyBudget: BodyBudget
  /** Counts whole replies until their clients have taken them. */
  readonly unreadReplies: UnreadReplies
  /** For HTTP/1.1: a session of HTTP/2 writes the replies of its connection together by itself. */
  readonly replyBatch: ReplyBatch
  /** The client at this address broke or flooded its protocol. */
  readonly reportAbuse: (address: string | undefined) => void
  readonly requestIdOf: RequestIdOf
  /** Records requests for the access log and traces; undefined if both are off. */
  readonly observer: RequestObserver | undefined
  readonly isTls: boolean
  readonly inFlight: { http: number; grpc: number }
  /** Once true, replies ask their clients to close the connection. */
  stopping: boolean
}

/** The structured reply to an error of a handler; see `toApiError` for what it contains and what is logged. */
export function portErrorReply(context: PortContext, requestId: string, failure: unknown): WholeReply {
  const error = toApiError(failure, requestId, context.log)
  return {
    status: httpStatusOfError(error),
    headers: { 'content-type': 'application/json', ...retryAfter(error) },
    body: errorBody(error, context.errorDomain),
  }
}

const scratch = Buffer.allocUnsafeSlow(256 * 1024)
const LONG_TEXT = 4096

/**
 * A body as it is best handed to a socket. Long text is put together from many pieces: writing it into a waiting buffer joins and
 * encodes them in one pass, where counting its bytes and sending it would take two.
 */
export function encodeLongText(body: WholeBody): WholeBody {
  if (typeof body !== 'string' || body.length < LONG_TEXT) return body
  // UTF-8 takes at most three bytes for a unit of text.
  if (body.length * 3 > scratch.length) return Buffer.from(body)
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
