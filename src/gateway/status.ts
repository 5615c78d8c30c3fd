import { ApiError, Code, internal } from '../core/errors.ts'
import { httpStatusOf } from './error-body.ts'

/**
 * Errors of the transport: what goes wrong before a request is a request. Their RPC code alone does not say the HTTP
 * status, so each has a `reason` of its own, and `httpStatusOfError` knows the status that belongs to it.
 */

const statusOfReason: Readonly<Record<string, number | undefined>> = {
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  HEADERS_TOO_LARGE: 431,
  GRPC_NEEDS_HTTP2: 505,
}

/** The HTTP status of an error: that of its reason if the reason has one, else that of its code. */
export function httpStatusOfError(error: ApiError): number {
  return statusOfReason[error.reason] ?? httpStatusOf(error.code)
}

/** 413: the body is larger than the reader of it allows. */
export function bodyTooLarge(bytesMax: number): ApiError {
  return new ApiError(Code.INVALID_ARGUMENT, `Invalid argument: the body is larger than ${bytesMax} bytes`, {
    reason: 'BODY_TOO_LARGE',
  })
}

/** 431: all headers together are larger than the server reads. */
export function headersTooLarge(bytesMax: number): ApiError {
  return new ApiError(
    Code.INVALID_ARGUMENT,
    `Invalid argument: the headers are larger than ${bytesMax} bytes`,
    { reason: 'HEADERS_TOO_LARGE' },
  )
}

/** 408: the request did not arrive in time. */
export function requestTimedOut(): ApiError {
  return new ApiError(Code.DEADLINE_EXCEEDED, 'Deadline exceeded: the request did not arrive in time', {
    reason: 'REQUEST_TIMEOUT',
  })
}

/** 400: these bytes are no HTTP request. */
export function malformedRequest(cause: unknown): ApiError {
  return new ApiError(Code.INVALID_ARGUMENT, 'Invalid argument: the request is not well-formed HTTP', {
    reason: 'MALFORMED_REQUEST',
    cause,
  })
}

/** Nobody reads this one: the client closed the connection or reset the stream. */
export function clientWentAway(): ApiError {
  return new ApiError(Code.CANCELLED, 'Cancelled: the client went away')
}

/** 505: gRPC is defined over HTTP/2 only. */
export function grpcNeedsHttp2(): ApiError {
  return new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: gRPC needs HTTP/2', { reason: 'GRPC_NEEDS_HTTP2' })
}

/** 405: gRPC calls are POST requests. */
export function grpcNeedsPost(): ApiError {
  return new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: a gRPC call is a POST request', {
    reason: 'METHOD_NOT_ALLOWED',
  })
}

/** 415: a message format other than protobuf. */
export function unsupportedGrpcFormat(): ApiError {
  return new ApiError(
    Code.INVALID_ARGUMENT,
    'Invalid argument: the content types of gRPC here are application/grpc and application/grpc+proto',
    { reason: 'UNSUPPORTED_MEDIA_TYPE' },
  )
}

/** Whether a content type is one of gRPC's, supported or not. */
export function isGrpcContentType(contentType: string | undefined): boolean {
  return contentType?.startsWith('application/grpc') === true
}

/** Where a transport writes what callers must not see; a pino logger fits. */
export interface TransportLog {
  error(fields: object, message: string): void
  debug(fields: object, message: string): void
}

/**
 * What the caller learns of a failure: an ApiError as it is, anything else as code 13 with the request id. The cause
 * of a code 13 goes to the log.
 */
export function toApiError(failure: unknown, requestId: string, log: TransportLog): ApiError {
  const error = failure instanceof ApiError ? failure : internal(requestId, failure)
  if (error.code === Code.INTERNAL && error.cause !== undefined) {
    log.error({ requestId, err: error.cause }, 'request failed')
  }
  return error
}
