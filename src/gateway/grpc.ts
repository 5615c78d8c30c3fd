import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { DescMethod, DescService } from '@bufbuild/protobuf'
import type { Dispatch } from '../core/call.ts'
import { unimplemented } from '../core/errors.ts'
import { limits as productLimits } from '../core/limits.ts'
import type { AddressOf } from '../http.ts'
import type { GrpcHandler } from '../port.ts'
import { sendHttpError, sendTrailersOnly } from './grpc-reply.ts'
import { type StreamingMethod, streamingCalls } from './grpc-streaming.ts'
import { serveUnary } from './grpc-unary.ts'
import type { HeadersOf } from './rest.ts'
import { grpcNeedsPost, type TransportLog, unsupportedGrpcFormat } from './status.ts'

const GZIP_ABOVE_BYTES = 32 * 1024

/** The limits of core/limits.ts that the codec enforces. */
export type GrpcLimits = Readonly<
  Record<'apiBodyBytesMax' | 'grpcMessageBytesMax' | 'requestTimeoutMs' | 'handlerTimeoutMs', number>
>

export interface GrpcOptions {
  readonly dispatch: Dispatch
  /** Services whose unary methods go to `dispatch`. */
  readonly services: readonly DescService[]
  /** All names under which a service is called; default: its own. Aliases are routing only. */
  readonly namesOf?: ((service: DescService) => readonly string[]) | undefined
  /** Methods that are answered here, without authentication: health and reflection. */
  readonly streaming?: readonly StreamingMethod[] | undefined
  readonly errorDomain: string
  readonly log: TransportLog
  /** Default: the socket's address as it is. */
  readonly addressOf?: AddressOf | undefined
  /**
   * Replies longer than this are packed for clients that take gzip; default 32 KiB. Packing a few KiB costs more CPU
   * than the rest of the call.
   */
  readonly gzipAboveBytes?: number | undefined
  /** What every answer of a method has in its initial metadata, or an error in its trailers. */
  readonly headersOf?: HeadersOf | undefined
  /** Replaces single limits of core/limits.ts. */
  readonly limits?: Partial<GrpcLimits> | undefined
}

/** What every call needs to know of the handler it belongs to. */
export interface GrpcContext {
  readonly dispatch: Dispatch
  readonly errorDomain: string
  readonly log: TransportLog
  readonly addressOf: AddressOf
  readonly gzipAboveBytes: number
  readonly limits: GrpcLimits
  readonly headersOf: HeadersOf
}

/**
 * The gRPC codec: puts HTTP/2 streams in front of `dispatch`. Errors arrive as `grpc-status`, `grpc-message` and
 * `grpc-status-details-bin`; a path that names no method is UNIMPLEMENTED. A content type other than
 * `application/grpc` and `application/grpc+proto` gets 415, a method other than POST 405.
 */
export function grpcHandler(options: GrpcOptions): GrpcHandler {
  const context: GrpcContext = {
    dispatch: options.dispatch,
    errorDomain: options.errorDomain,
    log: options.log,
    addressOf: options.addressOf ?? ((socketAddress = '') => socketAddress),
    gzipAboveBytes: options.gzipAboveBytes ?? GZIP_ABOVE_BYTES,
    limits: { ...productLimits, ...options.limits },
    headersOf: options.headersOf ?? (() => undefined),
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
  const calls = streamingCalls(context)

  return {
    handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, endOfStream: boolean, requestId: string) {
      if (!isProtobuf(headers['content-type'] ?? '')) {
        sendHttpError(stream, unsupportedGrpcFormat(), options.errorDomain, requestId)
        return
      }
      if (headers[':method'] !== 'POST') {
        sendHttpError(stream, grpcNeedsPost(), options.errorDomain, requestId)
        return
      }
      const path = headers[':path'] ?? ''
      const method = unary.get(path)
      if (method !== undefined) {
        serveUnary(context, method, stream, headers, endOfStream, requestId)
        return
      }
      const streamed = streaming.get(path)
      if (streamed !== undefined) {
        calls.serve(streamed, stream, headers, endOfStream, requestId)
        return
      }
      sendTrailersOnly(stream, unimplemented('there is no such method'), options.errorDomain, requestId)
    },
    stop: () => calls.stop(),
  }
}

function isProtobuf(contentType: string): boolean {
  if (contentType === 'application/grpc' || contentType === 'application/grpc+proto') return true
  return /^application\/grpc(\+proto)?\s*;/.test(contentType)
}
