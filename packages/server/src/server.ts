import {
  ExchangeRequestSchema,
  type RawToken,
  SecurityTokenService,
} from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { PingService } from '@berth/contract/gen/chainguard/platform/ping/v2beta1/ping_pb.js'
import { contractFiles, grpcStandardFiles, isV1, v1Files } from '@berth/contract/schema-files.ts'
import { create, type DescMethod, type DescService } from '@bufbuild/protobuf'
import type { DocumentReader } from './advisories/documents/document-reader.ts'
import { PUBLISHED_FEEDS_PATH, publishedFeedHandler } from './advisories/publish/published-feed-handler.ts'
import type { PublishedFeeds } from './advisories/publish/published-feeds.ts'
import { advisoriesService } from './advisories/services/advisories.ts'
import { advisoryDocumentsService } from './advisories/services/advisory-documents.ts'
import { advisoryFeedsService } from './advisories/services/advisory-feeds.ts'
import { advisoryPublicationsService } from './advisories/services/advisory-publications.ts'
import type { ApiError } from './api/errors.ts'
import { fullMethodName } from './api/method-name.ts'
import { isWithin, parseUid } from './api/uid.ts'
import { auditService } from './audit/events.ts'
import { AUDIT_EXPORT_PATH, createAuditExportHandler } from './audit/export.ts'
import type { AuditRecorder } from './audit/recorder.ts'
import type { Addresses } from './config/addresses.ts'
import { createGrpcHandler } from './gateway/grpc/handler.ts'
import { createHealthService } from './gateway/grpc/health.ts'
import { createReflectionMethods } from './gateway/grpc/reflection.ts'
import { withCors } from './gateway/rest/cors.ts'
import { createRestHandler } from './gateway/rest/handler.ts'
import { accountAssociationsService } from './iam/account-associations.ts'
import type { CloudProbes } from './iam/cloud/probe.ts'
import { externalGroupRoleMappingsService } from './iam/external-group-role-mappings.ts'
import { createGrantsReader } from './iam/grants-reader.ts'
import { groupInvitesService } from './iam/group-invites.ts'
import { groupsService } from './iam/groups.ts'
import type { LastSeen } from './iam/identities/last-seen.ts'
import { lookupUser } from './iam/identities/user-lookup.ts'
import { identitiesService } from './iam/identities.ts'
import type { IssSupport } from './iam/identity-providers/callback.ts'
import { identityProvidersService, type PkceSupport } from './iam/identity-providers.ts'
import { invitationsService } from './iam/invitations.ts'
import { roleBindingsService } from './iam/role-bindings.ts'
import { rolesService } from './iam/roles.ts'
import { createAuthenticator } from './pipeline/authenticate.ts'
import {
  type AccessRule,
  accessRuleOf,
  authorize,
  authorizeHeaders,
  requestedScope,
} from './pipeline/authorize.ts'
import { type Call, type IncomingCall, implement } from './pipeline/call.ts'
import { createRequestPipeline } from './pipeline/dispatch.ts'
import type { RateLimits } from './pipeline/limits/rate-limits.ts'
import { assignShare } from './pipeline/request-context.ts'
import type { BodyBudget } from './port/bodies/body-budget.ts'
import type { UnreadReplies } from './port/bodies/unread-replies.ts'
import type { ClientAddressOf, HttpHandler } from './port/http.ts'
import type { GrpcHandler } from './port/port-context.ts'
import { createReferenceHandler, isReferencePath } from './reference/handler.ts'
import type { BlobStore } from './registry/blobs/blob-store.ts'
import type { ManifestReader } from './registry/manifests/manifest-reader.ts'
import { registryHandlers } from './registry/oci/registry.ts'
import { imageConfigurationReader, imagesService } from './registry/resources/images.ts'
import { repoPoliciesService } from './registry/resources/repo-policies.ts'
import { reposService } from './registry/resources/repos.ts'
import { tagsService } from './registry/resources/tags.ts'
import type { Log } from './runtime/log.ts'
import type { Outbound } from './runtime/outbound/outbound.ts'
import type { Tracer } from './runtime/tracer.ts'
import { authService } from './signin/auth-service/auth-service.ts'
import { isSignInPath, type SignInOptions, signInHandler } from './signin/handler.ts'
import { type ClientSetting, oauthClients } from './signin/oauth/clients.ts'
import type { OperatorProvider } from './signin/providers/operator-providers.ts'
import { readOrganizationProvider, signInProviders } from './signin/providers/providers.ts'
import { upstream } from './signin/providers/upstream.ts'
import type { AuditEvent } from './storage/changes/audit-events.ts'
import type { DiskSpace } from './storage/disk-space.ts'
import type { Store } from './storage/store.ts'
import { allowGetOnly, healthAndMetricsHandlers, pathOf } from './telemetry/health-and-metrics.ts'
import type { Metrics } from './telemetry/metrics.ts'
import { createReadiness, databaseCheck, type ReadinessCheck } from './telemetry/readiness.ts'
import type { AccessTokens } from './tokens/access-token.ts'
import { discoveryHandler, discoveryPaths } from './tokens/discovery.ts'
import type { AssumeOptions } from './tokens/exchange/assume.ts'
import { audienceForms } from './tokens/exchange/assume-method.ts'
import type { AwsSts } from './tokens/exchange/aws/aws-caller.ts'
import { securityTokenService } from './tokens/exchange/exchange.ts'
import { explainService } from './tokens/exchange/explain.ts'
import type { IssuerKeys } from './tokens/issuers/issuer-keys.ts'
import type { SigningKeys } from './tokens/keys/signing-keys.ts'
import { refreshTokenService } from './tokens/refresh/exchange-refresh-token.ts'
import { type Deprecation, deprecationHeaders } from './v1/deprecation.ts'
import { roleBindingsService as versionOneRoleBindings } from './v1/iam/role-bindings.ts'
import { registryService, registryTranslation } from './v1/registry/registry.ts'
import { v1Translations } from './v1/services.ts'
import { subscriptionsService } from './v1/subscriptions.ts'

/** The table of contents of the server: every service, and the way of a request to it. */

export interface ServerDependencies {
  readonly store: Store
  readonly addresses: Addresses
  readonly keys: SigningKeys
  readonly tokens: AccessTokens
  readonly issuerKeysFor: IssuerKeys['keysFor']
  readonly pkceSupport: PkceSupport
  readonly issSupport: (issuer: string, organization: string) => Promise<IssSupport>
  readonly cloudProbes: CloudProbes
  /** Says who signed a request with credentials of AWS. */
  readonly aws: AwsSts
  readonly lastSeen: LastSeen
  /** Reads what advisories come from. */
  readonly documentReader: DocumentReader
  /** What is published of advisories. */
  readonly feeds: PublishedFeeds
  /** The bytes of images. */
  readonly blobs: BlobStore
  /** The free space of the disks that this node writes to. */
  readonly disk: DiskSpace
  /** Reads manifests and image configurations. */
  readonly manifests: ManifestReader
  readonly audit: AuditRecorder
  readonly openOrganizations: boolean
  readonly blockedEmailDomains: readonly string[]
  readonly plainHttpIssuers: boolean
  readonly patternIssuers: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly oauthClients: readonly ClientSetting[]
  /** Returns the OpenID providers that everybody may sign in with, as they are at this moment. */
  readonly operatorProviders: () => readonly OperatorProvider[]
  /** Asks the providers that people sign in with. */
  readonly signInOutbound: Pick<Outbound, 'share'>
  /** Undefined: nobody is limited. */
  readonly rateLimits: RateLimits | undefined
  readonly addressOf: ClientAddressOf
  /** Whether an address stands for many clients. */
  readonly isTrustedProxy: (address: string | undefined) => boolean
  /** Counts buffered gRPC messages, with the bodies that the port reads. */
  readonly budget: BodyBudget
  /** Counts whole replies of gRPC, with those of the port. */
  readonly unread: UnreadReplies
  /** Undefined: nobody says that version 1 will end. */
  readonly deprecation: Deprecation | undefined
  readonly metrics: Metrics
  /** What /readyz and gRPC health check besides the database. */
  readonly readinessChecks?: readonly ReadinessCheck[]
  readonly tracer: Tracer | undefined
  /** Whether the public port serves /metrics: without a listener for the operator alone. */
  readonly publicMetrics: boolean
  readonly log: Log
}

export interface BerthServer {
  readonly http: HttpHandler
  /** Health and all metrics, for the operator's own listener. */
  readonly operator: HttpHandler
  readonly grpc: GrpcHandler
  /** Begins as false; health checks and balancers see it. */
  setServing(serving: boolean): void
}

/** The versions that are names for v2beta1 (decision 22). */
const serviceNamesOf = ({ typeName }: DescService) => [typeName, typeName.replace('.v2beta1.', '.v2.')]

export function createServer(deps: ServerDependencies): BerthServer {
  const { store, addresses, keys, tokens, lastSeen, audit, metrics, log } = deps
  const { errorDomain } = addresses
  const auditEventOf = (
    { requestId, address }: IncomingCall,
    method: DescMethod,
    actor: string,
    uid: string,
  ): AuditEvent => ({
    timeMs: store.clock(),
    actor,
    method: fullMethodName(method),
    uid,
    requestId,
    address,
  })

  const services = contractFiles.flatMap((file) => file.services)
  const methods = services.flatMap((service) => service.methods)
  const deprecated = deps.deprecation && deprecationHeaders(deps.deprecation)
  const headersOf = ({ parent }: DescMethod) => (isV1(parent) ? deprecated : undefined)
  const onAuthenticated = (identity: string, call: Call) => {
    assignShare(identity)
    if (call.record !== undefined) call.record.identity = identity
    return deps.rateLimits?.countByIdentity(call.method, call, identity)
  }
  const auditDenied = (identity: string, { code, message }: ApiError, call: Call) =>
    audit.recordDenial(auditEventOf(call, call.requestedMethod, identity, identity), {
      code,
      reason: message,
    })
  const readGrants = createGrantsReader(store)
  const providers = signInProviders(store, deps.operatorProviders, addresses.authUrl)
  const issuerForms = audienceForms(addresses.authUrl)
  const assumeOptions: AssumeOptions = {
    ...store,
    keysFor: deps.issuerKeysFor,
    issuer: addresses.authUrl,
    issuerForms,
    audiences: [addresses.baseUrl, addresses.registryHost],
    patternIssuers: deps.patternIssuers,
    platform: {
      keys,
      readGrants,
      audiences: [...new Set([...issuerForms, addresses.baseUrl])],
    },
    people: {
      get operatorProviders() {
        return providers.offered
      },
      organizationProvider: (uid) => readOrganizationProvider(providers, uid),
      uidOf: (issuer, subject) => lookupUser(store.db.kysely, issuer, subject),
    },
    aws: deps.aws,
  }
  const implementations = [
    groupsService(store, deps),
    identitiesService(store, lastSeen, { ...deps, ownIssuer: addresses.authUrl }),
    rolesService(store),
    roleBindingsService(store),
    versionOneRoleBindings(store),
    identityProvidersService(store, { ...deps, authUrl: addresses.authUrl }),
    externalGroupRoleMappingsService(store, addresses.authUrl),
    groupInvitesService(store),
    invitationsService(store),
    accountAssociationsService(store, deps.cloudProbes),
    reposService(store, addresses),
    tagsService(store),
    registryService(store, addresses, imageConfigurationReader(store, deps.blobs, deps.manifests)),
    subscriptionsService,
    imagesService(store, deps.blobs, deps.manifests),
    repoPoliciesService(store),
    advisoriesService(store),
    advisoryDocumentsService(store, deps.documentReader),
    advisoryFeedsService(store, { plainHttp: deps.plainHttpIssuers }),
    advisoryPublicationsService(store),
    explainService(assumeOptions),
    securityTokenService({
      ...assumeOptions,
      store,
      tokens,
      log,
      markSeen: lastSeen.touch,
      beforeIssue: onAuthenticated,
      audit: {
        exchanged: (identity, claims, call) =>
          audit.recordExchange(auditEventOf(call, call.requestedMethod, identity, identity), claims),
        auditDenied: (identity, { claims, ...refusal }, call) =>
          audit.recordDenial(auditEventOf(call, call.requestedMethod, identity, identity), {
            ...refusal,
            token: claims,
          }),
      },
    }),
    refreshTokenService({
      store,
      tokens,
      authUrl: addresses.authUrl,
      markSeen: lastSeen.touch,
      beforeIssue: onAuthenticated,
      auditRefused: auditDenied,
    }),
    authService({
      store,
      authUrl: addresses.authUrl,
      verify: tokens.verifyAccessOrIdToken,
      readGrants,
      keysFor: deps.issuerKeysFor,
      providers,
      onIdentityVerified: onAuthenticated,
      onRefused: auditDenied,
    }),
    auditService(store, methods),
    implement(PingService, {
      ping: async () => ({
        $typeName: 'chainguard.platform.ping.v2beta1.PingResponse' as const,
        response: 'pong',
      }),
    }),
  ]

  const pipeline = createRequestPipeline<AccessRule>({
    methods,
    services: implementations,
    translations: [...v1Translations(store), registryTranslation(store)],
    ruleOf: accessRuleOf,
    isOpen: (rule) => rule.kind === 'open',
    authenticate: createAuthenticator({ ...tokens, clock: store.clock }, addresses.baseUrl),
    readGrants,
    authorizeHeaders,
    authorize,
    scopeOf: requestedScope,
    limits: deps.rateLimits,
    onDenied: (
      { requestedMethod: called, scope, incoming, caller: { identity } },
      { code, message, auditUid: about },
    ) => {
      const uid = deniedUid(scope && parseUid(scope), about) || identity
      audit.recordDenial(auditEventOf(incoming, called, identity, uid), { code, reason: message })
    },
    tracer: deps.tracer,
    observe: (method: DescMethod, { protocol, record }, code, ms, identity) => {
      const name = fullMethodName(method)
      if (record !== undefined) Object.assign(record, { method: name, code })
      metrics.recordCall(name, protocol, code, ms)
      if (identity !== undefined && isV1(method.parent)) metrics.recordV1Call(name, identity)
    },
  })

  const { dispatch } = pipeline

  const ready = createReadiness([databaseCheck(store.db), ...(deps.readinessChecks ?? [])])
  const health = createHealthService(
    services.map((service) => service.typeName),
    async () => (await ready()).ready,
  )
  const everyService = [...services, ...grpcStandardFiles.flatMap((file) => file.services)]
  const rest = createRestHandler({
    ...pipeline,
    scopePathOf,
    services,
    v1Services: v1Files.flatMap((file) => file.services),
    headersOf,
    errorDomain,
    log,
    ...(deps.corsOrigins.length === 0 ? {} : { cors: { origins: deps.corsOrigins } }),
  })
  const discovery = discoveryHandler({ issuer: addresses.authUrl, keys })
  const operations = healthAndMetricsHandlers({
    readiness: ready,
    metrics,
    errorDomain,
    isServing: () => serving,
  })
  let serving = false
  // Documents that are only read, beside the API.
  const documents = new Map(Object.entries(operations.health))
  if (deps.publicMetrics) documents.set('/metrics', operations.aggregateMetrics)
  for (const path of discoveryPaths) documents.set(path, discovery)
  const auditExportHandler = allowGetOnly(
    createAuditExportHandler({ ...pipeline, errorDomain, log }),
    errorDomain,
  )
  const feedsHandler = allowGetOnly(publishedFeedHandler({ ...deps, ...addresses, ...pipeline }), errorDomain)
  const withConfiguredCors = (handler: HttpHandler) =>
    deps.corsOrigins.length === 0 ? handler : withCors(handler, deps.corsOrigins)
  const auditLog = withConfiguredCors(auditExportHandler)
  const feeds = withConfiguredCors(feedsHandler)
  const reference = createReferenceHandler({ ...addresses, ...deps, files: contractFiles })
  const exchange: SignInOptions['exchange'] = async (subjectToken, { identity, audiences, scopes }, from) => {
    const request = create(ExchangeRequestSchema, { aud: [...audiences], identity, scopes: [...scopes] })
    const incoming = { ...from, protocol: 'rest', authorizationHeader: `Bearer ${subjectToken}` } as const
    const reply = await dispatch(SecurityTokenService.method.exchange, request, {
      ...incoming,
      ifMatch: undefined,
      idempotencyKey: undefined,
    })
    return (reply as RawToken).token
  }
  const registry = registryHandlers({
    ...deps,
    ...addresses,
    limits: deps.rateLimits,
    issuerForms,
    readGrants,
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
    upstream: upstream({
      outbound: deps.signInOutbound,
      authUrl: addresses.authUrl,
    }),
    exchange,
    authUrl: addresses.authUrl,
    audiences: [addresses.baseUrl, addresses.registryHost],
  })

  return {
    http: (request) => {
      const path = pathOf(request.url)
      const document = documents.get(path) ?? (isReferencePath(path) ? reference : undefined)
      if (request.record !== undefined) request.record.route = fixedRoute(path, documents)
      if (document !== undefined) return allowGetOnly(document, errorDomain)(request)
      if (isSignInPath(path)) return signIn(request)
      const distribution = registry(path)
      if (distribution !== undefined) return distribution(request)
      if (path === AUDIT_EXPORT_PATH) return auditLog(request)
      return path.startsWith(PUBLISHED_FEEDS_PATH) ? feeds(request) : rest(request)
    },
    operator: operations.operator,
    grpc: createGrpcHandler({
      ...pipeline,
      services,
      namesOf: serviceNamesOf,
      headersOf,
      streaming: [
        ...health.methods,
        ...createReflectionMethods(
          [...contractFiles, ...grpcStandardFiles],
          everyService.map((service) => service.typeName),
        ),
      ],
      errorDomain,
      log,
      addressOf: deps.addressOf,
      isTrustedProxy: deps.isTrustedProxy,
      budget: deps.budget,
      unread: deps.unread,
    }),
    setServing(value) {
      serving = value
      health.setServing(value)
    },
  }
}

/** The route of paths that are not templates of the contract; the others replace it. */
function fixedRoute(path: string, documents: ReadonlyMap<string, HttpHandler>): string | undefined {
  if (documents.has(path) || path === AUDIT_EXPORT_PATH || path === '/token') return path
  if (isReferencePath(path)) return path.startsWith('/docs') ? '/docs/*' : path
  return path.startsWith(PUBLISHED_FEEDS_PATH) ? `${PUBLISHED_FEEDS_PATH}*` : undefined
}

/** Where the request of a method has its scope, as names of fields; undefined for methods without one. */
function scopePathOf(method: DescMethod): readonly string[] | undefined {
  const rule = accessRuleOf(method)
  return rule.kind === 'scoped' ? rule.path : undefined
}

/** What a denial is about: where the caller lacks something, or more exactly what lies there and was asked for. */
function deniedUid(asked: string | undefined, missing: string | undefined): string | undefined {
  return asked !== undefined && isWithin(asked, missing ?? '') ? asked : missing
}
