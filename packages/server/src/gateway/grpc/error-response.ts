import { errorBody, httpStatusOfError, statusBytes } from '../../api/error-body.ts'
import { ApiError, withFieldNames } from '../../api/errors.ts'
import { errorCodes } from '../../port/http2/frames.ts'
import { discardRequestBody, type Http2Stream, type ReplyHeaders } from '../../port/http2/stream.ts'
import { sendWhole } from '../../port/reply-body.ts'
import { percentEncode, protoFieldPath } from './frame.ts'
import type { GrpcContext } from './handler.ts'

/** What a gRPC reply without a message looks like on an HTTP/2 stream. */

export const grpcContentType = 'application/grpc+proto'

/** Encodings that are understood in requests. */
const acceptedEncodings = 'identity,gzip'

/**
 * Some clients refuse header lists above 8 KiB (grpc-java's default), and then report a transport failure in place of
 * the error. Details that do not fit are left out, long messages are cut.
 */
const detailsCharsMax = 5 * 1024
const messageCharsMax = 1024

/** `grpc-status`, `grpc-message` and `grpc-status-details-bin` of an error. Fields are spelled as in the proto files. */
export function errorTrailers(error: ApiError, errorDomain: string): ReplyHeaders {
  const protoError = withFieldNames(error, protoFieldPath)
  let details = unpaddedBase64(statusBytes(protoError, errorDomain))
  if (details.length > detailsCharsMax) {
    const { code, message, reason } = protoError
    details = unpaddedBase64(
      statusBytes(new ApiError(code, truncate(message, messageCharsMax), { reason }), errorDomain),
    )
  }
  return {
    'grpc-status': error.code,
    'grpc-message': percentEncode(truncate(protoError.message, messageCharsMax)),
    'grpc-status-details-bin': details,
  }
}

/** The whole reply in one HEADERS frame ("Trailers-Only"). The rest of the request is refused. */
export function sendTrailersOnly(
  stream: Http2Stream,
  error: ApiError,
  errorDomain: string,
  requestId: string,
  replyHeaders?: ReplyHeaders,
): void {
  if (stream.closed || stream.headersSent) return
  stream.respond(
    {
      ':status': 200,
      'content-type': grpcContentType,
      'grpc-accept-encoding': acceptedEncodings,
      'x-request-id': requestId,
      ...replyHeaders,
      ...errorTrailers(error, errorDomain),
    },
    { endStream: true },
  )
  discardRequestBody(stream)
}

/** For requests that are not gRPC at all, whatever their content type says: a plain HTTP error. */
export function sendHttpError(
  context: Pick<GrpcContext, 'errorDomain' | 'limits' | 'unreadReplies'>,
  stream: Http2Stream,
  error: ApiError,
  requestId: string,
): void {
  const body = errorBody(error, context.errorDomain)
  const status = httpStatusOfError(error)
  stream.respond({
    ':status': status,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
    ...(status === 405 ? { allow: 'POST' } : {}),
  })
  sendWhole(stream, body, context, () => stream.close(errorCodes.cancel))
  discardRequestBody(stream)
}

function unpaddedBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64').replace(/=+$/, '')
}

function truncate(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 3)}...`
}
