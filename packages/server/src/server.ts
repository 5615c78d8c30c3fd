import {
  ExchangeRequestSchema,
  type RawToken,
  SecurityTokenService,
} from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { contractFiles, grpcStandardFiles, isV1, v1Files } from '@berth/contract/schema-files.ts'
import { create, type DescMethod, type DescService } from '@bufbuild/protobuf'
import { PUBLISHED_FEEDS_PATH, publishedFeedHandler } from './advisories/publish/published-feed-handler.ts'
import { AUDIT_EXPORT_PATH, createAuditExportHandler } from './audit/export.ts'
import { createGrpcHandler } from './gateway/grpc/handler.ts'
import { createHealthService } from './gateway/grpc/health.ts'
import { createReflectionMethods } from './gateway/grpc/reflection.ts'
import { withCors } from './gateway/rest/cors.ts'
import { createRestHandler } from './gateway/rest/handler.ts'
import { createGrantsReader } from './iam/grants-reader.ts'
import { createAuthenticator } from './pipeline/authenticate.ts'
import { accessRuleOf } from './pipeline/authorize.ts'
import type { Dispatch } from './pipeline/call.ts'
import { createMethodPipeline } from './pipeline/methods.ts'
import { createPipeline } from './pipeline/pipeline.ts'
import type { HttpHandler, HttpRequest } from './port/http.ts'
import type { GrpcHandler } from './port/port-context.ts'
import { createReferenceHandler, isReferencePath } from './reference/handler.ts'
import { registryHandlers } from './registry/oci/registry.ts'
import { createServices, createTranslations, type ServerDependencies } from './serve/services.ts'
import { isSignInRequest, type SignInOptions, signInHandler, withErrorPages } from './signin/handler.ts'
import { oauthClients } from './signin/oauth/clients.ts'
import { signInProviders } from './signin/providers/providers.ts'
import { upstream } from './signin/providers/upstream.ts'
import { allowGetOnly, healthAndMetricsHandlers, pathOf } from './telemetry/health-and-metrics.ts'
import { createReadiness, databaseCheck } from './telemetry/readiness.ts'
import { discoveryHandler, discoveryPaths } from './tokens/discovery.ts'
import { audienceForms } from './tokens/exchange/assume-method.ts'
import { deprecationHeaders } from './v1/deprecation.ts'

/** Where a request comes in: the path, or the content type of gRPC, selects the adapter that puts it in the request pipeline. */

export interface BerthServer {
  readonly http: HttpHandler
  /** Health and all metrics, for the operator's own listener. */
  readonly operator: HttpHandler
  readonly grpc: GrpcHandler
  /** Initially false. Health checks and load balancers see it. */
  setServing(serving: boolean): void
}

/** v2 is an alias of v2beta1 (decision 22). */
const serviceNamesOf = ({ typeName }: DescService) => [typeName, typeName.replace('.v2beta1.', '.v2.')]

export function createServer(deps: ServerDependencies): BerthServer {
  const { store, addresses, keys, tokens, metrics, log } = deps
  const { errorDomain } = addresses
  const services = contractFiles.flatMap((file) => file.services)
  const methods = services.flatMap((service) => service.methods)
  const readGrants = createGrantsReader(store)
  const providers = signInProviders(store, deps.operatorProviders, addresses.authUrl)
  const issuerForms = audienceForms(addresses.authUrl)

  const pipeline = createPipeline({
    limits: deps.rateLimits,
    readGrants,
    recordDenial({ operation, identity, uid, incoming, error: { code, message } }) {
      const { requestId, address } = incoming
      const event = { timeMs: store.clock(), actor: identity, method: operation, uid, requestId, address }
      deps.audit.recordDenial(event, { code, reason: message })
    },
    onEnd({ operation, name, incoming, code, ms, identity }) {
      metrics.recordCall(name, incoming.protocol, code, ms)
      if (identity !== undefined && operation.isV1) metrics.recordV1Call(name, identity)
    },
    tracer: deps.tracer,
  })
  const { limitIdentity } = pipeline
  const methodPipeline = createMethodPipeline(pipeline, {
    methods,
    services: createServices(deps, { readGrants, providers, issuerForms, limitIdentity, methods }),
    translations: createTranslations(store),
    authenticate: createAuthenticator({ ...tokens, clock: store.clock }, addresses.baseUrl),
  })
  const exchange = exchangeWith(methodPipeline.dispatch)
  const deprecated = deps.deprecation && deprecationHeaders(deps.deprecation)
  const headersOf = ({ parent }: DescMethod) => (isV1(parent) ? deprecated : undefined)

  const readiness = createReadiness([databaseCheck(store.db), ...(deps.readinessChecks ?? [])])
  const health = createHealthService(
    services.map((service) => service.typeName),
    async () => (await readiness()).ready,
  )
  let serving = false
  const operations = healthAndMetricsHandlers({ readiness, metrics, errorDomain, isServing: () => serving })

  const withConfiguredCors = (handler: HttpHandler) =>
    deps.corsOrigins.length === 0 ? handler : withCors(handler, deps.corsOrigins)
  const getOnly = (handler: HttpHandler) => allowGetOnly(handler, errorDomain)

  // The adapters.
  const rest = withConfiguredCors(
    createRestHandler({
      ...methodPipeline,
      scopePathOf,
      services,
      v1Services: v1Files.flatMap((file) => file.services),
      headersOf,
      errorDomain,
      log,
    }),
  )
  const auditExport = withConfiguredCors(
    getOnly(createAuditExportHandler({ ...methodPipeline, errorDomain, log })),
  )
  const feeds = withConfiguredCors(
    getOnly(publishedFeedHandler({ ...deps, ...addresses, ...methodPipeline, pipeline })),
  )
  const registry = registryHandlers({
    ...deps,
    ...addresses,
    pipeline,
    issuerForms,
    exchange: (subjectToken, identity, { id: requestId, address }) =>
      exchange(
        subjectToken,
        { identity, audiences: [addresses.registryHost], scopes: [] },
        { requestId, address },
      ),
  })
  const signIn = signInHandler({
    ...deps,
    clients: oauthClients(deps.oauthClients),
    providers,
    upstream: upstream({ outbound: deps.signInOutbound, authUrl: addresses.authUrl }),
    exchange,
    readGrants,
    authUrl: addresses.authUrl,
    audiences: [addresses.baseUrl, addresses.registryHost],
  })
  const reference = getOnly(createReferenceHandler({ ...addresses, ...deps, files: contractFiles }))
  const documents = publicDocuments()

  return {
    http: withErrorPages((request) => {
      const path = pathOf(request.url)
      if (request.record !== undefined) request.record.route = fixedRoute(path, documents)
      return handlerOf(path, request)(request)
    }),
    operator: operations.operator,
    grpc: createGrpcHandler({
      ...methodPipeline,
      ...deps,
      services,
      namesOf: serviceNamesOf,
      headersOf,
      streaming: [...health.methods, ...reflectionMethods(services)],
      errorDomain,
    }),
    setServing(value) {
      serving = value
      health.setServing(value)
    },
  }

  /** The first match. */
  function handlerOf(path: string, request: HttpRequest): HttpHandler {
    const document = documents.get(path)
    if (document !== undefined) return document
    if (isReferencePath(path)) return reference
    if (isSignInRequest(path, request)) return signIn
    const registryHandler = registry(path)
    if (registryHandler !== undefined) return registryHandler
    if (path === AUDIT_EXPORT_PATH) return auditExport
    return path.startsWith(PUBLISHED_FEEDS_PATH) ? feeds : rest
  }

  /** Documents that need no token, by path. */
  function publicDocuments(): ReadonlyMap<string, HttpHandler> {
    const discovery = discoveryHandler({ issuer: addresses.authUrl, keys })
    const found = new Map(Object.entries(operations.health))
    if (deps.publicMetrics) found.set('/metrics', operations.aggregateMetrics)
    for (const path of discoveryPaths) found.set(path, discovery)
    return new Map([...found].map(([path, handler]) => [path, getOnly(handler)]))
  }
}

/** The exchange, for adapters whose requests bring a token of another issuer: a call of the method like any other. */
function exchangeWith(dispatch: Dispatch): SignInOptions['exchange'] {
  return async (subjectToken, { identity, audiences, scopes }, from) => {
    const request = create(ExchangeRequestSchema, { aud: [...audiences], identity, scopes: [...scopes] })
    const response = await dispatch(SecurityTokenService.method.exchange, request, {
      ...from,
      protocol: 'rest',
      authorizationHeader: `Bearer ${subjectToken}`,
      ifMatch: undefined,
      idempotencyKey: undefined,
    })
    return (response as RawToken).token
  }
}

function reflectionMethods(services: readonly DescService[]) {
  const all = [...services, ...grpcStandardFiles.flatMap((file) => file.services)]
  return createReflectionMethods(
    [...contractFiles, ...grpcStandardFiles],
    all.map((service) => service.typeName),
  )
}

/** The route of paths that are not templates of the contract; adapters replace it for the others. */
function fixedRoute(path: string, documents: ReadonlyMap<string, HttpHandler>): string | undefined {
  if (documents.has(path) || path === AUDIT_EXPORT_PATH || path === '/token') return path
  if (isReferencePath(path)) return path.startsWith('/docs') ? '/docs/*' : path
  return path.startsWith(PUBLISHED_FEEDS_PATH) ? `${PUBLISHED_FEEDS_PATH}*` : undefined
}

/** Returns the field names from the request of a method to its scope; undefined for methods without one. */
function scopePathOf(method: DescMethod): readonly string[] | undefined {
  const rule = accessRuleOf(method)
  return rule.kind === 'scoped' ? rule.path : undefined
}
