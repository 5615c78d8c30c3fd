import { type Code, codeName, Code as codes } from '../api/errors.ts'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { ObservedRequest, RequestEnd, RequestHead, RequestObserver } from '../port/request-observer.ts'
import type { AccessLog } from './access-log.ts'
import type { RequestSpan, Tracing } from './tracing.ts'

export interface RequestObserverOptions {
  readonly tracing: Pick<Tracing, 'startRequestSpan'> | undefined
  readonly accessLog: Pick<AccessLog, 'write'> | undefined
  /** Whether the access log has requests for health and metrics. Traces never have them. */
  readonly probes: boolean
}

const probePath = /^\/(?:healthz|readyz|metrics|grpc\.health\.v1\.Health\/\w+)(?:\?|$)/
const SERVER_ERROR = 500
/** Of RFC 9110, RFC 5789; others are not span names or attributes, since clients make them up. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])
const CLIENT_GONE = 499
/** Errors of the server, in the semantic conventions of RPCs. */
const failedCodes: ReadonlySet<number> = new Set([
  codes.UNKNOWN,
  codes.DEADLINE_EXCEEDED,
  codes.UNIMPLEMENTED,
  codes.INTERNAL,
  codes.UNAVAILABLE,
  codes.DATA_LOSS,
])

export function createRequestObserver(options: RequestObserverOptions): RequestObserver | undefined {
  const { tracing, accessLog, probes } = options
  if (tracing === undefined && accessLog === undefined) return undefined
  return {
    start(head) {
      const isProbe = probePath.test(head.url)
      const logged = accessLog !== undefined && (probes || !isProbe) ? accessLog : undefined
      const span = isProbe ? undefined : tracing?.startRequestSpan(methodOf(head), head.headers)
      return logged === undefined && span === undefined ? undefined : new RecordedRequest(head, logged, span)
    },
  }
}

class RecordedRequest implements ObservedRequest {
  method: string | undefined = undefined
  route: string | undefined = undefined
  identity: string | undefined = undefined
  code: Code | undefined = undefined
  bytesIn = 0
  bytesOut = 0
  readonly #head: RequestHead
  readonly #log: Pick<AccessLog, 'write'> | undefined
  readonly #span: RequestSpan | undefined
  readonly #timeMs = Date.now()
  readonly #startMs = performance.now()
  #ended = false

  constructor(head: RequestHead, log: Pick<AccessLog, 'write'> | undefined, span: RequestSpan | undefined) {
    this.#head = head
    this.#log = log
    this.#span = span
  }

  run<T>(work: () => T): T {
    return this.#span === undefined ? work() : this.#span.run(work)
  }

  end(how: RequestEnd): void {
    if (this.#ended) return
    this.#ended = true
    if (how.grpcStatus !== undefined) this.code = how.grpcStatus as Code
    else if (how.aborted && how.status === undefined) this.code = codes.CANCELLED
    this.#endSpan(how)
    this.#writeLine(how)
  }

  #endSpan({ status, aborted }: RequestEnd): void {
    const { isGrpc, httpVersion, isTls, id } = this.#head
    const { code, method, route } = this
    const httpMethod = methodOf(this.#head)
    const codeText = code === undefined ? undefined : (codeName[code] ?? String(code))
    const failed = isGrpc
      ? code === undefined || failedCodes.has(code)
      : status !== undefined && status >= SERVER_ERROR
    const cut = aborted ? 'cancelled' : undefined
    this.#span?.end(
      isGrpc ? (method ?? 'grpc') : route === undefined ? httpMethod : `${httpMethod} ${route}`,
      {
        failed,
        attributes: {
          ...(isGrpc
            ? { 'rpc.system.name': 'grpc', 'rpc.method': method, 'rpc.response.status_code': codeText }
            : {
                'http.request.method': httpMethod,
                'http.route': route,
                'http.response.status_code': status,
                'url.scheme': isTls ? 'https' : 'http',
                'berth.method': method,
                'berth.code': codeText,
              }),
          'network.protocol.name': 'http',
          'network.protocol.version': httpVersion,
          'http.request.body.size': this.bytesIn,
          'http.response.body.size': this.bytesOut,
          'user.id': this.identity,
          'berth.request_id': id,
          'error.type': failed ? (isGrpc ? codeText : String(status)) : cut,
        },
      },
    )
  }

  #writeLine({ status = CLIENT_GONE, aborted }: RequestEnd): void {
    if (this.#log === undefined) return
    const { id, isGrpc, headers, address } = this.#head
    const { code, identity, method } = this
    const agent = headers['user-agent']
    this.#log.write({
      time: new Date(this.#timeMs).toISOString(),
      request_id: id,
      trace_id: this.#span?.traceId,
      protocol: isGrpc ? 'grpc' : method?.startsWith(DISTRIBUTION) ? 'oci' : 'rest',
      http_method: methodOf(this.#head),
      method,
      route: this.route,
      identity,
      organization: identity?.includes('/') ? rootOf(identity) : undefined,
      status,
      code: code === undefined ? undefined : (codeName[code] ?? String(code)),
      aborted: aborted || undefined,
      bytes_in: this.bytesIn,
      bytes_out: this.bytesOut,
      duration_ms: Math.round((performance.now() - this.#startMs) * 1000) / 1000,
      client: address,
      user_agent: typeof agent === 'string' ? agent.slice(0, limits.loggedUserAgentCharsMax) : undefined,
    })
  }
}

const DISTRIBUTION = 'berth.registry.v1.Distribution/'

function methodOf({ method }: RequestHead): string {
  return knownMethods.has(method) ? method : '_OTHER'
}
