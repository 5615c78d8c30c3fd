import type { DescMethod, DescService, Message } from '@bufbuild/protobuf'
import { errorBody, httpStatusOfError, retryAfter } from '../../api/error-body.ts'
import { ApiError, Code, invalidPart, withFieldNames } from '../../api/errors.ts'
import { matchesEtag } from '../../api/etag.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { toApiError } from '../../api/storage-faults.ts'
import { limits } from '../../config/limits.ts'
import type { IncomingCall } from '../../pipeline/call.ts'
import { requestBytesMax } from '../../pipeline/limits/request-size.ts'
import type { AdmittedCall, AuthorizeHeaders } from '../../pipeline/methods.ts'
import { currentContext } from '../../pipeline/request/request-context.ts'
import { nextPart } from '../../pipeline/response-parts.ts'
import { warningHeader } from '../../pipeline/warnings.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../../port/http.ts'
import { type PeerTimeout, startPeerTimeout } from '../../port/peer-timeout.ts'
import { encodeLongText } from '../../port/port-context.ts'
import { RestCall } from '../../port/rest-call.ts'
import { deadlineExceeded } from '../../port/transport-errors.ts'
import { afterIteration } from '../../runtime/after-iteration.ts'
import { encodeOnce } from '../../runtime/caches/stored-encodings.ts'
import { entityTag } from '../entity-tag.ts'
import { fieldPathAsSent, type ParsedJson, parseInSlices } from '../json/reader.ts'
import { compileEndpoint, type DecodedRequest, type Endpoint, isForm } from './endpoint.ts'
import { createRouteLookup, type Route, routesOf } from './routes.ts'

export interface RestOptions {
  readonly authorizeHeaders: AuthorizeHeaders
  /** Where the request of a method has its scope, as names of fields; undefined for methods without one. */
  readonly scopePathOf?: (method: DescMethod) => readonly string[] | undefined
  /** Their google.api.http options are the routes. */
  readonly services: readonly DescService[]
  /** What every answer of a method has in its headers, an error too; lower-case names. */
  readonly headersOf?: HeadersOf | undefined
  /** Those of them that speak JSON and HTTP as version 1 of the API does. */
  readonly v1Services?: readonly DescService[]
  /** `domain` of the ErrorInfo in every error, and the realm of the challenge. */
  readonly errorDomain: string
  readonly log: { error(fields: object, message: string): void }
  /** How long a handler may take, in milliseconds; default `limits.handlerTimeoutMs`. Afterwards the answer is code 4. */
  readonly handlerTimeoutMs?: number
}

/** Lower-case names. */
export type HeadersOf = (method: DescMethod) => Readonly<Record<string, string>> | undefined

/** `/iam/v2/groups` is `/iam/v2beta1/groups`. */
const versionAliases = { v2beta1: 'v2' }

export const commonHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
const jsonHeaders = Object.freeze({ 'content-type': 'application/json', ...commonHeaders })
const emptyReply: HttpReply = Object.freeze({
  status: 200,
  headers: Object.freeze(commonHeaders),
  body: undefined,
})

/**
 * The REST API of the services: transcodes between HTTP and the request pipeline (google.api.http, AIP-127) and knows no resource.
 * Every answer, errors included, is a reply: the handler does not throw and its promise does not reject. A HEAD is answered
 * like the GET; leaving out the body is left to the server. Throws an Error here when the schemas' routes are ambiguous.
 */
export function createRestHandler(options: RestOptions): HttpHandler {
  const { authorizeHeaders, services, v1Services: versionOne = [] } = options
  const { handlerTimeoutMs = limits.handlerTimeoutMs } = options
  const routes = routesOf(services)
  const lookup = createRouteLookup(routes, versionAliases)
  const isV1Route = ({ method }: Route) => versionOne.includes(method.parent)
  const endpoints = new Map<Route, Endpoint>()
  /** Compiled at the first request: all of them together take 5 % of a start. */
  const endpointOf = (route: Route): Endpoint => {
    let endpoint = endpoints.get(route)
    if (endpoint === undefined) {
      const dialect = isV1Route(route) ? 'version 1' : 'current'
      endpoint = compileEndpoint(route, dialect, options.scopePathOf?.(route.method))
      endpoints.set(route, endpoint)
    }
    return endpoint
  }

  const handler: HttpHandler = (request) => {
    const { url } = request
    const queryStart = url.indexOf('?')
    const path = queryStart < 0 ? url : url.slice(0, queryStart)
    let found = lookup(request.method, path)
    if (found.kind === 'wrong-method' && isV1Route(found.route) && isPostedForm(request))
      found = lookup('GET', path)
    if (found.kind !== 'route') return routeErrorReply(found, request, options)

    const endpoint = endpointOf(found.route)
    if (request.record !== undefined) {
      request.record.method = fullMethodName(endpoint.method)
      request.record.route = found.route.template.text
    }
    const incoming = new RestCall(request)
    incoming.replyHeaders = options.headersOf?.(endpoint.method)
    let decoded: DecodedRequest | undefined
    const fail = (error: unknown): HttpReply =>
      withReplyHeaders(errorReply(withSentFieldNames(error, endpoint, decoded), request, options), incoming)
    const finish = (call: AdmittedCall, body: Uint8Array | ParsedJson | undefined): Promise<HttpReply> => {
      decoded = endpoint.decode({
        values: found.values,
        query: queryStart < 0 ? '' : url.slice(queryStart + 1),
        body,
      })
      return withDeadline(call(decoded.message), handlerTimeoutMs).then((message) =>
        withWarnings(
          withReplyHeaders(render(endpoint, message, request, handlerTimeoutMs), incoming),
          warningHeader(incoming, (field) => sentFieldName(field, endpoint, decoded?.json)),
        ),
      )
    }
    const readBody = async (call: AdmittedCall): Promise<HttpReply> => {
      const body = await request.body(requestBytesMax(endpoint.method, limits.apiBodyBytesMax))
      const isLong = body.length > limits.unslicedJsonBytesMax && endpoint.body !== undefined
      return finish(call, isLong ? await parseInSlices(body) : body)
    }
    const run = (call: AdmittedCall): Promise<HttpReply> =>
      endpoint.readsBody(request.headers['content-type']) ? readBody(call) : finish(call, undefined)

    // No `async`: a GET gets from here to its handler without waiting.
    try {
      const { scopeIndex } = endpoint
      const pathScope = scopeIndex === undefined ? undefined : found.values[scopeIndex]
      const call = authorizeHeaders(endpoint.method, incoming, pathScope)
      return (call instanceof Promise ? call.then(run) : run(call)).catch(fail)
    } catch (error) {
      return fail(error)
    }
  }
  return handler
}

/**
 * Calls `expire` if a call has not ended in time, counted from the end of this iteration of the event loop: most calls have ended by then, and
 * need no timer. Responses of the database may arrive while this process is suspended.
 */
class Deadline {
  /** Undefined once the call has ended: its response must not stay in memory until the iteration ends, too. */
  #expire: (() => void) | undefined
  #timeout: PeerTimeout | undefined

  constructor(ms: number, expire: () => void) {
    this.#expire = expire
    afterIteration(() => {
      if (this.#expire !== undefined) this.#timeout = startPeerTimeout(ms, this.#expire)
    })
  }

  end(): void {
    this.#expire = undefined
    this.#timeout?.clear()
  }
}

/** Returns the reply, or fails with code 4 when it takes too long, which cancels what the handler waits for. */
export function withDeadline<T>(reply: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const context = currentContext()
    const deadline = new Deadline(ms, () => {
      const exceeded = deadlineExceeded()
      deadline.end()
      reject(exceeded)
      context?.abort(exceeded)
    })
    reply.then(
      (message) => {
        deadline.end()
        resolve(message)
      },
      (error: unknown) => {
        deadline.end()
        reject(error)
      },
    )
  })
}

export function withReplyHeaders(reply: HttpReply, { replyHeaders }: IncomingCall): HttpReply {
  return replyHeaders === undefined ? reply : { ...reply, headers: { ...reply.headers, ...replyHeaders } }
}

function withWarnings(reply: HttpReply, header: ReturnType<typeof warningHeader>): HttpReply {
  return header === undefined ? reply : { ...reply, headers: { ...reply.headers, ...header } }
}

function render(
  endpoint: Endpoint,
  message: Message,
  request: HttpRequest,
  partTimeoutMs: number,
): HttpReply {
  const { method, write, writeParts, isGet, hasEtag } = endpoint
  if (write === undefined) return emptyReply
  if (writeParts !== undefined && nextPart(message) !== undefined) {
    // Each part has the time of a call; how long all of them take is up to the client.
    const body = writeParts(message, (next) => withDeadline(next(), partTimeoutMs))
    return { status: 200, headers: jsonHeaders, body }
  }
  const ifNoneMatch = hasEtag && isGet ? request.headers['if-none-match'] : undefined
  if (ifNoneMatch !== undefined) {
    const etag = entityTag(method.output, message)
    // An invalid list of tags matches nothing: the complete response is always correct.
    if (matchesEtag(ifNoneMatch, etag))
      return { status: 304, headers: { ...commonHeaders, etag }, body: undefined }
  }
  return encodeOnce(message, endpoint, () => ({
    status: 200,
    headers: hasEtag ? { ...jsonHeaders, etag: entityTag(method.output, message) } : jsonHeaders,
    body: encodeLongText(write(message)),
  }))
}

function routeErrorReply(
  found: Exclude<ReturnType<ReturnType<typeof createRouteLookup>>, { kind: 'route' }>,
  request: HttpRequest,
  options: RestOptions,
): HttpReply {
  switch (found.kind) {
    case 'malformed-path':
      return errorReply(invalidPart('path', 'has a malformed percent escape'), request, options)
    case 'unknown-path':
      return errorReply(new ApiError(Code.NOT_FOUND, 'Not found: no such path'), request, options)
    case 'wrong-method': {
      const { method } = found.route
      const allow = found.allow.join(', ')
      const status = options.v1Services?.includes(method.parent) ? {} : { httpStatus: 405 }
      const error = new ApiError(Code.UNIMPLEMENTED, `Unimplemented: this path supports ${allow}`, status)
      const reply = errorReply(error, request, options)
      return { ...reply, headers: { ...reply.headers, ...options.headersOf?.(method), allow } }
    }
  }
}

/** Version 1 reads what was asked for from a form, too, for requests that are too long for a URL. */
function isPostedForm({ method, headers }: HttpRequest): boolean {
  return method === 'POST' && isForm(headers['content-type'])
}

/** The reply to whatever a call failed with. */
export function errorReply(
  error: unknown,
  request: HttpRequest,
  options: Pick<RestOptions, 'errorDomain' | 'log'>,
): HttpReply {
  const apiError = toApiError(error, request.id, options.log)
  if (request.record !== undefined) request.record.code = apiError.code
  const headers: Record<string, string> = { ...jsonHeaders, ...retryAfter(apiError) }
  if (apiError.code === Code.UNAUTHENTICATED) {
    headers['www-authenticate'] = challenge(options.errorDomain, request.headers.authorization !== undefined)
  }
  return {
    status: httpStatusOfError(apiError),
    headers,
    body: errorBody(apiError, options.errorDomain),
  }
}

/** RFC 6750, section 3: the error is named only when a token was presented. */
function challenge(realm: string, presented: boolean): string {
  return `Bearer realm="${realm.replace(/["\\]/g, '\\$&')}"${presented ? ', error="invalid_token"' : ''}`
}

/** The same error with the fields of its violations as this caller spelled them. */
function withSentFieldNames(
  error: unknown,
  endpoint: Endpoint,
  decoded: DecodedRequest | undefined,
): unknown {
  if (!(error instanceof ApiError) || decoded === undefined) return error
  return withFieldNames(error, (field) => sentFieldName(field, endpoint, decoded.json))
}

function sentFieldName(field: string, endpoint: Endpoint, json: unknown): string {
  // The one query parameter that the specification writes in camelCase.
  if (field === 'update_mask') return 'updateMask'
  return endpoint.body === undefined || json === undefined
    ? field
    : fieldPathAsSent(endpoint.body, json, field)
}
