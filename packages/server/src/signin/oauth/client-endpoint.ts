import type { Context } from 'hono'
import { Code } from '../../api/errors.ts'
import { toApiError } from '../../api/storage-faults.ts'
import { limits } from '../../config/limits.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { readFields } from '../pages/form.ts'
import { anyClient, type ClientOperation } from '../pages/page-operation.ts'
import { setRetryAfter } from '../pages/retry-after.ts'
import { type OAuthParameters, readParameters } from './parameters.ts'

/** Endpoints that clients call directly, with JSON responses that must not be stored (RFC 6749 section 5). */

/** Errors of RFC 6749 section 5.2, RFC 8628 section 3.5, RFC 7009 section 2.2.1 and RFC 8707 section 2. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'server_error'
  | 'temporarily_unavailable'

type ClientRequestHandler = (parameters: OAuthParameters, c: Context<SignInEnv>) => Promise<Response>

/** The operation of such an endpoint. */
export function clientOperation({ log }: SignInContext, name: string): ClientOperation {
  return anyClient(name, (c, failure) => {
    c.header('pragma', 'no-cache')
    const error = toApiError(failure, c.env.requestId, log)
    const { code, message } = error
    if (code === Code.INVALID_ARGUMENT) return oauthError(c, 'invalid_request', message)
    if (code === Code.INTERNAL) return oauthError(c, 'server_error', message, 500)
    setRetryAfter(c, error)
    const status = code === Code.RESOURCE_EXHAUSTED ? 429 : 503
    return oauthError(c, 'temporarily_unavailable', message, status)
  })
}

/** Creates the handler of such an endpoint. */
export function clientEndpoint(
  repeatable: readonly string[],
  handler: ClientRequestHandler,
): (c: Context<SignInEnv>) => Promise<Response> {
  return async (c) => {
    c.header('pragma', 'no-cache')
    // All clients are public, so they have no credentials to send in a header.
    if (c.req.header('authorization') !== undefined) {
      c.header('www-authenticate', 'Basic realm="berth"')
      return oauthError(c, 'invalid_client', 'clients have no secret; send client_id in the form', 401)
    }
    const parameters = readParameters(await readFields(c), {
      repeatable,
      // Values can be tokens.
      charsMax: limits.formFieldCharsMax,
    })
    if (parameters.problem !== undefined) return oauthError(c, 'invalid_request', parameters.problem)
    return handler(parameters, c)
  }
}

/** `description` is ASCII without quotes and backslashes (RFC 6749 section 5.2), and repeats nothing of the request. */
export function oauthError(
  c: Context,
  error: OAuthErrorCode,
  description: string,
  status: 400 | 401 | 429 | 500 | 503 = 400,
): Response {
  const text = description.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'")
  return c.json({ error, error_description: text }, status)
}
