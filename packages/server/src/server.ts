import { PUBLISHED_FEEDS_PATH } from './advisories/publish/published-feed-handler.ts'
import { AUDIT_EXPORT_PATH } from './audit/export.ts'
import { OSV_PATH } from './osv/osv-handler.ts'
import type { HttpHandler, HttpRequest } from './port/http.ts'
import type { GrpcHandler } from './port/port-context.ts'
import { isReferencePath } from './reference/handler.ts'
import { createAdapters } from './serve/adapters.ts'
import type { ServerDependencies } from './serve/services.ts'
import { isSignInRequest, withErrorPages } from './signin/handler.ts'
import { pathOf } from './telemetry/health-and-metrics.ts'

/**
 * Where a request comes in: the path, or the content type of gRPC, selects the adapter that puts it in the request pipeline
 * (pipeline/pipeline.ts). serve/adapters.ts creates the adapters.
 */

export interface BerthServer {
  readonly http: HttpHandler
  /** Health and all metrics, for the operator's own listener. */
  readonly operator: HttpHandler
  readonly grpc: GrpcHandler
  /** Initially false. Health checks and load balancers see it. */
  setServing(serving: boolean): void
}

export function createServer(deps: ServerDependencies): BerthServer {
  const adapters = createAdapters(deps)
  const { documents, reference, signIn, registry, auditExport, feeds, osv, rest } = adapters

  /** The first match serves a request. */
  const handlerOf = (path: string, request: HttpRequest): HttpHandler => {
    // Health, metrics, OpenID Connect discovery and keys.
    const document = documents.get(path)
    if (document !== undefined) return document
    // The description of the API.
    if (isReferencePath(path)) return reference
    // Pages for users, and OAuth endpoints for clients.
    if (isSignInRequest(path, request)) return signIn
    // /v2/ of the distribution protocol, and /token.
    const registryHandler = registry(path)
    if (registryHandler !== undefined) return registryHandler
    if (path === AUDIT_EXPORT_PATH) return auditExport
    if (path.startsWith(PUBLISHED_FEEDS_PATH)) return feeds
    if (path.startsWith(OSV_PATH)) return osv
    // All methods of the API, by the paths of the schema.
    return rest
  }

  /** The route of paths that are not templates of the contract; adapters replace it for the others. */
  const fixedRoute = (path: string): string | undefined => {
    if (documents.has(path) || path === AUDIT_EXPORT_PATH || path === '/token') return path
    if (isReferencePath(path)) return path.startsWith('/docs') ? '/docs/*' : path
    if (path.startsWith(OSV_PATH)) return `${OSV_PATH}*`
    return path.startsWith(PUBLISHED_FEEDS_PATH) ? `${PUBLISHED_FEEDS_PATH}*` : undefined
  }

  return {
    http: withErrorPages((request) => {
      const path = pathOf(request.url)
      if (request.record !== undefined) request.record.route = fixedRoute(path)
      return handlerOf(path, request)(request)
    }),
    grpc: adapters.grpc,
    operator: adapters.operator,
    setServing: adapters.setServing,
  }
}
