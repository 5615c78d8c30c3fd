import {
  ExchangeRequestSchema,
  type RawToken,
  SecurityTokenService,
} from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { contractFiles, grpcStandardFiles, isV1, v1Files } from '@berth/contract/schema-files.ts'
import { create, type DescMethod, type DescService } from '@bufbuild/protobuf'
import { publishedFeedHandler } from '../advisories/publish/published-feed-handler.ts'
import { createAuditExportHandler } from '../audit/export.ts'
import { createGrpcHandler } from '../gateway/grpc/handler.ts'
import { createHealthService } from '../gateway/grpc/health.ts'
import { createReflectionMethods } from '../gateway/grpc/reflection.ts'
import { withCors } from '../gateway/rest/cors.ts'
import { createRestHandler } from '../gateway/rest/handler.ts'
import { createGrantsReader } from '../iam/grants-reader.ts'
import { osvHandler } from '../osv/osv-handler.ts'
import { createAuthenticator } from '../pipeline/authenticate.ts'
import type { ReadGrants } from '../pipeline/authorization.ts'
import { accessRuleOf } from '../pipeline/authorize.ts'
import type { Dispatch } from '../pipeline/call.ts'
import { createMethodPipeline } from '../pipeline/methods.ts'
import { createPipeline, type Pipeline } from '../pipeline/pipeline.ts'
import type { HttpHandler } from '../port/http.ts'
import type { GrpcHandler } from '../port/port-context.ts'
import { createReferenceHandler } from '../reference/handler.ts'
import { registryHandlers } from '../registry/oci/registry.ts'
import { type SignInOptions, signInHandler } from '../signin/handler.ts'
import { oauthClients } from '../signin/oauth/clients.ts'
import { signInProviders } from '../signin/providers/providers.ts'
import { upstream } from '../signin/providers/upstream.ts'
import { acceptSessions } from '../signin/sessions/session-credential.ts'
import { allowGetOnly, healthAndMetricsHandlers } from '../telemetry/health-and-metrics.ts'
import { coordinatorCheck, createReadiness, databaseCheck } from '../telemetry/readiness.ts'
import { discoveryHandler, discoveryPaths } from '../tokens/discovery.ts'
import { audienceForms } from '../tokens/exchange/assume-method.ts'
import { deprecationHeaders } from '../v1/deprecation.ts'
import {
  createServices,
  createTranslations,
  readingFromReplica,
  type ServerDependencies,
} from './services.ts'

/** The adapters between protocols and the request pipeline, and the pipeline itself. server.ts routes requests to them. */
export interface Adapters {
  /** Documents that need no token, by path: health, metrics, discovery. */
  readonly documents: ReadonlyMap<string, HttpHandler>
  readonly reference: HttpHandler
  readonly signIn: HttpHandler
  /** Returns undefined for a path that is not the registry's. */
  readonly registry: (path: string) => HttpHandler | undefined
  readonly auditExport: HttpHandler
  readonly feeds: HttpHandler
  readonly osv: HttpHandler
  readonly rest: HttpHandler
  readonly grpc: GrpcHandler
  /** Health and all metrics, for the operator's own listener. */
  readonly operator: HttpHandler
  setServing(serving: boolean): void
}

/** v2 is an alias of v2beta1 (decision 22). */
const serviceNamesOf = ({ typeName }: DescService) => [typeName, typeName.replace('.v2beta1.', '.v2.')]

export function createAdapters(deps: ServerDependencies): Adapters {
  const { store, addresses, keys, tokens, metrics, log } = deps
  const { errorDomain } = addresses
  const services = contractFiles.flatMap((file) => file.services)
  const methods = services.flatMap((service) => service.methods)
  const readGrants = createGrantsReader(store, deps)
  const providers = signInProviders(store, deps.operatorProviders, addresses.authUrl)
  const issuerForms = audienceForms(addresses.authUrl)

  const pipeline = createObservedPipeline(deps, readGrants)
  const { limitVerifiedIdentity } = pipeline
  const authenticateBearer = createAuthenticator({ ...tokens, clock: store.clock }, [addresses.baseUrl])
  const methodPipeline = createMethodPipeline(pipeline, {
    methods,
    services: createServices(deps, { readGrants, providers, issuerForms, limitVerifiedIdentity, methods }),
    translations: createTranslations(store),
    authenticate: acceptSessions({ store, authUrl: addresses.authUrl }, authenticateBearer),
  })
  const exchange = exchangeWith(methodPipeline.dispatch)
  const deprecated = deps.deprecation && deprecationHeaders(deps.deprecation)
  const headersOf = ({ parent }: DescMethod) => (isV1(parent) ? deprecated : undefined)

  const readiness = createReadiness([
    databaseCheck(store.db),
    coordinatorCheck(store.db),
    ...(deps.readinessChecks ?? []),
  ])
  const health = createHealthService(
    services.map((service) => service.typeName),
    async () => (await readiness()).ready,
  )
  let serving = false
  const operations = healthAndMetricsHandlers({ readiness, metrics, errorDomain, isServing: () => serving })

  const withConfiguredCors = (handler: HttpHandler) =>
    deps.corsOrigins.length === 0 ? handler : withCors(handler, deps.corsOrigins)
  const getOnly = (handler: HttpHandler) => allowGetOnly(handler, errorDomain)
  const documents = new Map(Object.entries(operations.health))
  if (deps.publicMetrics) documents.set('/metrics', operations.aggregateMetrics)
  const discovery = discoveryHandler({ issuer: addresses.authUrl, keys })
  for (const path of discoveryPaths) documents.set(path, discovery)

  return {
    documents: new Map([...documents].map(([path, handler]) => [path, getOnly(handler)])),
    reference: getOnly(createReferenceHandler({ ...addresses, ...deps, files: contractFiles })),
    signIn: signInHandler({
      ...deps,
      pipeline,
      clients: oauthClients(deps.oauthClients),
      providers,
      upstream: upstream({ outbound: deps.signInOutbound, authUrl: addresses.authUrl }),
      exchange,
      readGrants,
      authUrl: addresses.authUrl,
      audiences: [addresses.baseUrl, addresses.registryHost],
    }),
    registry: registryHandlers({
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
    }),
    auditExport: withConfiguredCors(
      getOnly(createAuditExportHandler({ ...methodPipeline, errorDomain, log })),
    ),
    feeds: withConfiguredCors(
      getOnly(publishedFeedHandler({ ...deps, ...addresses, ...methodPipeline, pipeline })),
    ),
    osv: withConfiguredCors(
      osvHandler({
        ...deps,
        ...addresses,
        ...methodPipeline,
        pipeline,
        reads: readingFromReplica(store),
      }),
    ),
    rest: withConfiguredCors(
      createRestHandler({
        ...methodPipeline,
        scopePathOf,
        services,
        v1Services: v1Files.flatMap((file) => file.services),
        headersOf,
        errorDomain,
        log,
      }),
    ),
    grpc: createGrpcHandler({
      ...methodPipeline,
      ...deps,
      services,
      namesOf: serviceNamesOf,
      headersOf,
      streaming: [...health.methods, ...reflectionMethods(services)],
      errorDomain,
    }),
    operator: operations.operator,
    setServing(value) {
      serving = value
      health.setServing(value)
    },
  }
}

/** The pipeline, with denials in the audit log and the ends of calls in the metrics. */
function createObservedPipeline(
  { store, audit, metrics, rateLimits, tracer }: ServerDependencies,
  readGrants: ReadGrants,
): Pipeline {
  return createPipeline({
    limits: rateLimits,
    readGrants,
    recordDenial({ operation, identity, uid, incoming, error: { code, message } }) {
      const { requestId, address } = incoming
      const event = { timeMs: store.clock(), actor: identity, method: operation, uid, requestId, address }
      audit.recordDenial(event, { code, reason: message })
    },
    onEnd({ operation: { name, isV1 }, incoming, code, ms, identity }) {
      metrics.recordCall(name, incoming.protocol, code, ms)
      if (identity !== undefined && isV1) metrics.recordV1Call(name, identity)
    },
    tracer,
  })
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

/** Returns the field names from the request of a method to its scope; undefined for methods without one. */
function scopePathOf(method: DescMethod): readonly string[] | undefined {
  const rule = accessRuleOf(method)
  return rule.kind === 'scoped' ? rule.path : undefined
}
