import type { RequestRecord } from '../pipeline/request/request-record.ts'

/** Records every request that the port serves, in the access log and in traces. The port gets none where both are off. */
export interface RequestObserver {
  /** Undefined for requests that are not recorded: those of probes. */
  start(head: RequestHead): ObservedRequest | undefined
}

export interface RequestHead {
  readonly id: string
  readonly isGrpc: boolean
  readonly httpVersion: '1.1' | '2'
  readonly isTls: boolean
  /** '' where the request could not be read. */
  readonly method: string
  /** Path and query as sent. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly address: string
}

/** How a request ended. */
export interface RequestEnd {
  /** HTTP status that was sent; undefined for none. */
  readonly status: number | undefined
  /** `grpc-status` that was sent. */
  readonly grpcStatus?: number | undefined
  /** The request or its response was cut off. */
  readonly aborted: boolean
}

export interface ObservedRequest extends RequestRecord {
  /** Once, when nothing more is read or sent. */
  end(how: RequestEnd): void
}
