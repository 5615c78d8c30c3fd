import { ApiError, Code } from '../api/errors.ts'

/**
 * Errors of the transport: what goes wrong before a request is a request. Their RPC code alone does not say the HTTP status, so
 * each brings its own.
 */

function invalidRequest(
  field: string,
  description: string,
  reason: string,
  httpStatus: number,
  cause?: unknown,
): ApiError {
  return new ApiError(Code.INVALID_ARGUMENT, `Invalid argument: ${description}`, {
    reason,
    httpStatus,
    cause,
    details: [{ kind: 'BadRequest', fieldViolations: [{ field, description }] }],
  })
}

/** 413: the body is larger than the reader of it allows. */
export function bodyTooLarge(bytesMax: number): ApiError {
  return invalidRequest('body', `the body is larger than ${bytesMax} bytes`, 'BODY_TOO_LARGE', 413)
}

/** A gRPC message that passes a limit. Not RESOURCE_EXHAUSTED, which asks clients to try the same again later. */
export function messageTooLarge(description: string): ApiError {
  return invalidRequest('message', description, 'MESSAGE_TOO_LARGE', 413)
}

/** 431: all headers together are larger than the server reads. */
export function headersTooLarge(bytesMax: number): ApiError {
  return invalidRequest('headers', `the headers are larger than ${bytesMax} bytes`, 'HEADERS_TOO_LARGE', 431)
}

/** 431: the request has more header fields than the server reads. */
export function tooManyHeaders(fieldsMax: number): ApiError {
  return invalidRequest(
    'headers',
    `the request has more than ${fieldsMax} header fields`,
    'HEADERS_TOO_LARGE',
    431,
  )
}

/** 503: the client sends requests faster than it takes their replies. */
export function tooManyPipelined(requestsMax: number): ApiError {
  return new ApiError(
    Code.RESOURCE_EXHAUSTED,
    `Resource exhausted: more than ${requestsMax} requests of this connection wait for their replies; send fewer at a time`,
    {
      reason: 'TOO_MANY_REQUESTS_AHEAD',
      httpStatus: 503,
      details: [{ kind: 'RetryInfo', retryDelayMs: 1000 }],
    },
  )
}

/** 408: the request did not arrive in time. */
export function requestTimedOut(): ApiError {
  return new ApiError(Code.DEADLINE_EXCEEDED, 'Deadline exceeded: the request did not arrive in time', {
    reason: 'REQUEST_TIMEOUT',
    httpStatus: 408,
  })
}

/** 400: these bytes are no HTTP request. */
export function malformedRequest(cause: unknown): ApiError {
  return invalidRequest('request', 'the request is not well-formed HTTP', 'MALFORMED_REQUEST', 400, cause)
}

/** The call took longer than its caller, or the server, waits for an answer. */
export function deadlineExceeded(): ApiError {
  return new ApiError(Code.DEADLINE_EXCEEDED, 'Deadline exceeded: the call took too long')
}

/** This one is not sent: the client closed the connection or reset the stream. */
export function clientDisconnected(): ApiError {
  return new ApiError(Code.CANCELLED, 'Cancelled: the client went away')
}

/** 505: gRPC is defined over HTTP/2 only. */
export function grpcNeedsHttp2(): ApiError {
  return new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: gRPC needs HTTP/2', {
    reason: 'GRPC_NEEDS_HTTP2',
    httpStatus: 505,
  })
}

/** 405: gRPC calls are POST requests. */
export function grpcNeedsPost(): ApiError {
  return new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: a gRPC call is a POST request', {
    httpStatus: 405,
  })
}

/** 415: a message format other than protobuf. */
export function unsupportedGrpcFormat(): ApiError {
  return invalidRequest(
    'content-type',
    'the content types of gRPC here are application/grpc and application/grpc+proto',
    'UNSUPPORTED_MEDIA_TYPE',
    415,
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
