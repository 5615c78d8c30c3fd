import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { type ApiError, unimplemented } from '../../api/errors.ts'
import { limits as productLimits } from '../../config/limits.ts'
import type { ClientAddressOf } from '../../pipeline/limits/client-address.ts'
import type { AuthorizeHeaders } from '../../pipeline/methods.ts'
import type { RequestRecord } from '../../pipeline/request/request-record.ts'
import { type BodyBudget, createServerBodyBudget } from '../../port/bodies/body-budget.ts'
import { createUnreadReplies, type UnreadReplies } from '../../port/bodies/unread-replies.ts'
import type { RequestHeaders } from '../../port/http2/request-headers.ts'
import type { Http2Stream } from '../../port/http2/stream.ts'
import type { GrpcHandler } from '../../port/port-context.ts'
import { grpcNeedsPost, type TransportLog, unsupportedGrpcFormat } from '../../port/transport-errors.ts'
import type { HeadersOf } from '../rest/handler.ts'
import { sendHttpError, sendTrailersOnly } from './error-response.ts'
import { createStreamingCalls, type StreamingMethod, serverStopping } from './streaming.ts'
import { serveUnary } from './unary.ts'

const GZIP_ABOVE_BYTES = 32 * 1024

/** The limits of config/limits.ts that the codec enforces. */
export type GrpcLimits = Readonly<
  Record<
    | 'apiBodyBytesMax'
    | 'grpcMessageBytesMax'
    | 'requestTimeoutMs'
    | 'handlerTimeoutMs'
    | 'stalledReplyMs'
    | 'streamingCallsMax'
    | 'streamingCallsPerAddressMax'
    | 'streamingCallsPerConnectionMax'
    | 'streamingMessageBytesMax'
    | 'healthMessageBytesMax',
    number
  >
>

export interface GrpcOptions {
  readonly authorizeHeaders: AuthorizeHeaders
  /** Services whose unary methods go through the request pipeline. */
  readonly services: readonly DescService[]
  /** All names under which a service is called; default: its own. Aliases are routing only. */
  readonly namesOf?: ((service: DescService) => readonly string[]) | undefined
  /** Methods that are answered here, without authentication: health and reflection. */
  readonly streaming?: readonly StreamingMethod[] | undefined
  readonly errorDomain: string
  readonly log: TransportLog
  /** Counts buffered messages; default: a budget of its own. */
  readonly budget?: BodyBudget | undefined
  /** Counts replies until their clients have taken them; default: a count of its own. */
  readonly unread?: UnreadReplies | undefined
  /** Default: the socket's address as it is. */
  readonly addressOf?: ClientAddressOf | undefined
  /** Whether an address stands for many clients; default: none does. */
  readonly isTrustedProxy?: ((address: string | undefined) => boolean) | undefined
  /**
   * Replies longer than this are packed for clients that take gzip; default 32 KiB. Packing a few KiB costs more CPU
   * than the rest of the call.
   */
  readonly gzipAboveBytes?: number | undefined
  /** What every answer of a method has in its initial metadata, or an error in its trailers. */
  readonly headersOf?: HeadersOf | undefined
  /** Replaces single limits of config/limits.ts. */
  readonly limits?: Partial<GrpcLimits> | undefined
}

/** What every call needs to know of the handler it belongs to. */
export interface GrpcContext {
  readonly authorizeHeaders: AuthorizeHeaders
  readonly errorDomain: string
  readonly log: TransportLog
  readonly addressOf: ClientAddressOf
  readonly isTrustedProxy: (address: string | undefined) => boolean
  readonly gzipAboveBytes: number
  readonly budget: BodyBudget
  readonly unreadReplies: UnreadReplies
  readonly limits: GrpcLimits
  readonly headersOf: HeadersOf
  /** Fail the unary calls that are open. */
  readonly openCalls: Set<(failure: ApiError) => void>
}

/**
 * The gRPC codec: puts HTTP/2 streams in front of the request pipeline. Errors arrive as `grpc-status`, `grpc-message` and
 * `grpc-status-details-bin`; a path that names no method is UNIMPLEMENTED. A content type other than
 * `application/grpc` and `application/grpc+proto` gets 415, a method other than POST 405.
 */
export function createGrpcHandler(options: GrpcOptions): GrpcHandler {
  const context: GrpcContext = {
    authorizeHeaders: options.authorizeHeaders,
    errorDomain: options.errorDomain,
    log: options.log,
    addressOf: options.addressOf ?? ((socketAddress = '') => socketAddress),
    isTrustedProxy: options.isTrustedProxy ?? (() => false),
    gzipAboveBytes: options.gzipAboveBytes ?? GZIP_ABOVE_BYTES,
    budget: options.budget ?? createServerBodyBudget(),
    unreadReplies: options.unread ?? createUnreadReplies(),
    limits: { ...productLimits, ...options.limits },
    headersOf: options.headersOf ?? (() => undefined),
    openCalls: new Set(),
  }
  const unary = new Map<string, DescMethod>()
  for (const service of options.services) {
    for (const name of options.namesOf?.(service) ?? [service.typeName]) {
      for (const method of service.methods) {
        if (method.methodKind === 'unary') unary.set(`/${name}/${method.name}`, method)
      }
    }
  }
  const streaming = new Map(
    options.streaming?.map((entry) => [`/${entry.method.parent.typeName}/${entry.method.name}`, entry]),
  )
  const calls = createStreamingCalls(context)

  return {
    handle(
      stream: Http2Stream,
      headers: RequestHeaders,
      endOfStream: boolean,
      requestId: string,
      record?: RequestRecord,
    ) {
      if (!isProtobuf(headers['content-type'] ?? '')) {
        sendHttpError(context, stream, unsupportedGrpcFormat(), requestId)
        return
      }
      if (headers[':method'] !== 'POST') {
        sendHttpError(context, stream, grpcNeedsPost(), requestId)
        return
      }
      const path = headers[':path'] ?? ''
      const method = unary.get(path)
      if (method !== undefined) {
        serveUnary(context, method, stream, headers, endOfStream, requestId, record)
        return
      }
      const streamed = streaming.get(path)
      if (streamed !== undefined) {
        if (record !== undefined) record.method = path.slice(1)
        calls.serve(streamed, stream, headers, endOfStream, requestId)
        return
      }
      sendTrailersOnly(stream, unimplemented('unknown method'), options.errorDomain, requestId)
    },
    stop: () => calls.stop(),
    abort() {
      for (const fail of context.openCalls) fail(serverStopping())
    },
  }
}

function isProtobuf(contentType: string): boolean {
  if (contentType === 'application/grpc' || contentType === 'application/grpc+proto') return true
  return /^application\/grpc(\+proto)?\s*;/.test(contentType)
}
