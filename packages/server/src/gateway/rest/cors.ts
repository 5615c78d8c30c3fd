import type { HttpHandler, HttpReply, HttpRequest } from '../../port/http.ts'
import { whenReady } from '../../runtime/when-ready.ts'

const PREFLIGHT_SECONDS = 600
/** Headers of a response that a page may read. */
const EXPOSED_HEADERS =
  'deprecation, etag, link, ratelimit-limit, ratelimit-remaining, ratelimit-reset, retry-after, sunset, warning, www-authenticate, x-request-id'

/**
 * Lets pages of the listed origins call a handler from a browser (the Fetch standard, "CORS protocol"). Origins are compared
 * exactly; other pages get answers without the headers, which browsers keep from them. Credentials are not allowed: a
 * page of another origin is known by its bearer token, never by a cookie.
 */
export function withCors(handler: HttpHandler, origins: readonly string[]): HttpHandler {
  const listed = new Set(origins)
  return (request) => {
    const { origin } = request.headers
    const allowed = origin !== undefined && listed.has(origin) ? origin : undefined
    if (allowed !== undefined && isPreflight(request)) return preflightReply(allowed)
    return whenReady(handler(request), (reply) => withCorsHeaders(reply, allowed))
  }
}

function isPreflight(request: HttpRequest): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
}

function preflightReply(origin: string): HttpReply {
  return {
    status: 204,
    headers: {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'authorization, content-type, idempotency-key, if-match, if-none-match, traceparent, tracestate, x-request-id',
      'access-control-max-age': String(PREFLIGHT_SECONDS),
      vary: 'origin',
    },
    body: undefined,
  }
}

function withCorsHeaders(reply: HttpReply, origin: string | undefined): HttpReply {
  // A cache must not return the response for one origin to another.
  const { vary } = reply.headers
  const headers: Record<string, string> = {
    ...reply.headers,
    vary: vary === undefined ? 'origin' : `${vary}, origin`,
  }
  if (origin !== undefined) {
    headers['access-control-allow-origin'] = origin
    headers['access-control-expose-headers'] = EXPOSED_HEADERS
  }
  return { ...reply, headers }
}
