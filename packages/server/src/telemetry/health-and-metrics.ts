import { errorBody, httpStatusOf, retryAfter } from '../api/error-body.ts'
import { ApiError, Code, unavailable } from '../api/errors.ts'
import type { HttpHandler, HttpReply } from '../port/http.ts'
import type { Metrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'

/** Health and metrics. None of it needs a token; only the operator's own listener names tenants. */

const RETRY_MS = 1000
const plain = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }

const ok: HttpReply = { status: 200, headers: plain, body: 'ok\n' }

export interface HealthAndMetricsOptions {
  readonly readiness: () => Promise<Readiness>
  readonly metrics: Metrics
  readonly errorDomain: string
  /** False once the server is stopping: a balancer should send nothing more. */
  readonly isServing: () => boolean
}

/** The handlers of health and metrics. */
export interface HealthAndMetricsHandlers {
  /** By path, for the public port: /healthz (the process responds), /readyz (its checks pass; 200 with warnings, a line each). */
  readonly health: Readonly<Record<string, HttpHandler>>
  /** /metrics without anything that names a tenant. */
  readonly aggregateMetrics: HttpHandler
  /** Everything, for the operator's own listener: health and all metrics; 404 for other paths, 405 for other methods. */
  readonly operator: HttpHandler
}

export function healthAndMetricsHandlers({
  readiness,
  metrics,
  errorDomain,
  isServing: serving,
}: HealthAndMetricsOptions): HealthAndMetricsHandlers {
  const metricsHandler =
    (tenants: boolean): HttpHandler =>
    async () => {
      const { contentType, body } = await metrics.render({ tenants })
      return { status: 200, headers: { 'content-type': contentType, 'cache-control': 'no-store' }, body }
    }
  const health: HealthAndMetricsHandlers['health'] = {
    '/healthz': () => ok,
    '/readyz': async () => {
      const notReady = (why: string, cause?: unknown): HttpReply => {
        const error = unavailable(why, RETRY_MS, cause)
        return {
          status: httpStatusOf(error.code),
          headers: {
            'content-type': 'application/json',
            'cache-control': 'no-store',
            ...retryAfter(error),
          },
          body: errorBody(error, errorDomain),
        }
      }
      if (!serving()) return notReady('the server is stopping')
      const { ready, failed, warnings: remarks } = await readiness()
      const lines = (findings: typeof failed) => findings.map(({ name, message }) => `${name}: ${message}`)
      if (!ready) return notReady(lines(failed).join('; '), failed[0]?.cause)
      return { ...ok, body: ['ok', ...lines(remarks), ''].join('\n') }
    },
  }
  const operator = new Map<string, HttpHandler>([
    ...Object.entries(health),
    ['/metrics', metricsHandler(true)],
  ])
  return {
    health,
    aggregateMetrics: metricsHandler(false),
    operator: (request) => {
      const document = operator.get(pathOf(request.url))
      if (document !== undefined) return allowGetOnly(document, errorDomain)(request)
      return {
        status: 404,
        headers: { 'content-type': 'application/json' },
        body: errorBody(
          new ApiError(Code.NOT_FOUND, `Not found: this port serves ${[...operator.keys()].join(', ')}`),
          errorDomain,
        ),
      }
    },
  }
}

/** Answers 405 for every method but GET and HEAD. */
export function allowGetOnly(document: HttpHandler, errorDomain: string): HttpHandler {
  return (request) =>
    request.method === 'GET' || request.method === 'HEAD' ? document(request) : methodNotAllowed(errorDomain)
}

function methodNotAllowed(errorDomain: string): HttpReply {
  const error = new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: this path supports GET, HEAD')
  return {
    status: 405,
    headers: { 'content-type': 'application/json', allow: 'GET, HEAD' },
    body: errorBody(error, errorDomain),
  }
}

/** The path of a request's URL, without its query. */
export function pathOf(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}
