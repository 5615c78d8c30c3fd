import type { IncomingHttpHeaders } from 'node:http'
import type { RequestRecord } from '../pipeline/request/request-record.ts'

/** One HTTP request, whichever version of HTTP brought it. */
export interface HttpRequest {
  /** GET for a HEAD, too. */
  readonly method: string
  /** Only the headers of the reply are sent. */
  readonly isHead: boolean
  /** Path and query as sent, undecoded: `/iam/v2beta1/groups?page_size=2`. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** IP address that the request came from. */
  readonly address: string
  /** Names this request in the log; sent back as `x-request-id`. The client may have chosen it: it proves nothing. */
  readonly id: string
  /** What is recorded of the request; undefined if nothing is. */
  readonly record?: RequestRecord | undefined
  /**
   * Reads the body, at most `bytesMax` bytes. Rejects with an ApiError: code 3 when it is larger (HTTP 413), code 4 when it
   * does not arrive in time, code 8 when too many bytes of too many requests wait in memory (HTTP 503).
   */
  body(bytesMax: number): Promise<Uint8Array>
  /**
   * The body as it comes, no faster than it is taken, however long that lasts in all. Fails with an ApiError: code 4 when the client
   * sends next to nothing for a while, code 1 when it goes away. Instead of `body`, once.
   */
  stream(): AsyncIterable<Uint8Array>
}

/** A body that is there as a whole before it is sent. */
export type WholeBody = string | Uint8Array | undefined

/**
 * A body that is sent as it is produced, as fast as its client reads. It is not started for a HEAD. A client that disconnects ends it
 * (`return()`); when it fails, the client can tell that the rest is missing. A piece may change once the next one is asked for: by
 * then it has left.
 */
export type BodyStream = AsyncIterable<string | Uint8Array>

export interface HttpReply {
  readonly status: number
  /** Lower-case names. `content-length` (not of streams) and `x-request-id` are added by the server. */
  readonly headers: Readonly<Record<string, string>>
  /** Values of the header `warning`, each a line of its own as the specification of registries wants it. */
  readonly warnings?: readonly string[]
  readonly body: WholeBody | BodyStream
}

export interface WholeReply extends HttpReply {
  readonly body: WholeBody
}

export type HttpHandler = (request: HttpRequest) => HttpReply | Promise<HttpReply>
