import { create, type DescMethod, type DescService } from '@bufbuild/protobuf'
import {
  ExchangeRequestSchema,
  type RawToken,
  SecurityTokenService,
} from '#gen/chainguard/platform/oidc/sts_pb.js'
import { PingService } from '#gen/chainguard/platform/ping/v2beta1/ping_pb.js'
import { auditService } from './audit/audit.ts'
import { AUDIT_EXPORT_PATH, auditExport } from './audit/export.ts'
import type { Recorder } from './audit/recorder.ts'
import { authenticator } from './auth/authenticate.ts'
import { type AccessRule, accessRule, authorize, scopeAsked } from './auth/authorize.ts'
import { grantsReader } from './auth/grants.ts'
import type { BlobStore } from './blobs/store.ts'
import type { CloudProbes } from './cloud/probe.ts'
import type { Addresses } from './config.ts'
import { type Call, type Incoming, implement } from './core/call.ts'
import { ApiError, Code } from './core/errors.ts'
import { fullNameOf } from './core/method-name.ts'
import { isWithin } from './core/uid.ts'
import { contractFiles, healthAndReflection, isVersionOne, versionOneFiles } from './gateway/contract.ts'
import { withCors } from './gateway/cors.ts'
import { waist } from './gateway/dispatch.ts'
import { errorBody } from './gateway/error-body.ts'
import { grpcHandler } from './gateway/grpc.ts'
import { healthService } from './gateway/grpc-health.ts'
import { reflectionMethods } from './gateway/grpc-reflection.ts'
import { restHandler } from './gateway/rest.ts'
import type { AddressOf, HttpHandler, HttpReply } from './http.ts'
import { accountAssociationsService } from './iam/account-associations.ts'
import { externalGroupRoleMappingsService } from './iam/external-group-role-mappings.ts'
import { groupInvitesService } from './iam/group-invites.ts'
import { groupsService } from './iam/groups.ts'
import { identitiesService } from './iam/identities.ts'
import { identityProvidersService, type PkceSupport } from './iam/identity-providers.ts'
import { invitationsService } from './iam/invitations.ts'
import type { LastSeen } from './iam/last-seen.ts'
import { roleBindingsService } from './iam/role-bindings.ts'
import { rolesService } from './iam/roles.ts'
import { lookupUser } from './iam/user-lookup.ts'
import type { RateLimits } from './limits/rate-limits.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { registryHandlers } from './oci/registry.ts'
import { operationsHandlers } from './operations.ts'
import type { GrpcHandler } from './port.ts'
import { isReferencePath, referenceHandler } from './reference/handler.ts'
import { imageConfigurations, imagesService } from './registry/images.ts'
import { repoPoliciesService } from './registry/repo-policies.ts'
import { reposService } from './registry/repos.ts'
import { tagsService } from './registry/tags.ts'
import { authService } from './signin/auth-service.ts'
import { type ClientSetting, oauthClients } from './signin/clients.ts'
import { isSignInPath, type SignInOptions, signInHandler } from './signin/handler.ts'
import type { OperatorProvider } from './signin/operator-providers.ts'
import { organizationProvider, signInProviders } from './signin/providers.ts'
import { upstream } from './signin/upstream.ts'
import type { AuditEvent } from './storage/audit-events.ts'
import type { Store } from './storage/store.ts'
import type { AccessTokens } from './sts/access-token.ts'
import type { AssumeOptions } from './sts/assume/assume.ts'
import type { AwsSts } from './sts/assume/aws-caller.ts'
import { audienceForms } from './sts/assume/way.ts'
import { discoveryHandler, discoveryPaths } from './sts/discovery.ts'
import { securityTokenService } from './sts/exchange.ts'
import { refreshTokenService } from './sts/exchange-refresh-token.ts'
import { explainService } from './sts/explain.ts'
import type { Outbound } from './sts/outbound.ts'
import type { SigningKeys } from './sts/signing-keys.ts'
import type { KeySource } from './trust/key-set.ts'
import { type Deprecation, deprecationHeaders } from './v1/deprecation.ts'
import { registryService, registryTranslation } from './v1/registry.ts'
import { roleBindingsService as versionOneRoleBindings } from './v1/role-bindings.ts'
import { versionOne } from './v1/services.ts'
import { subscriptionsService } from './v1/subscriptions.ts'
import { advisoriesService } from './vulnerabilities/advisories.ts'
import type { DocumentReader } from './vulnerabilities/document-reader.ts'
import { advisoryDocumentsService } from './vulnerabilities/documents.ts'
import { advisoryFeedsService } from './vulnerabilities/feeds/feeds.ts'
import { FEEDS_PATH, feedHandler } from './vulnerabilities/publish/feed-handler.ts'
import type { Feeds } from './vulnerabilities/publish/feeds.ts'
import { advisoryPublicationsService } from './vulnerabilities/publish/publications.ts'

/** The table of contents of the server: every service, and the way of a request to it. */

export interface ServerDeps {
  readonly store: Store
  readonly addresses: Addresses
  readonly keys: SigningKeys
  readonly tokens: AccessTokens
  readonly keysFor: (issuer: string) => KeySource
  readonly pkceSupport: PkceSupport
  readonly probes: CloudProbes
  /** Says who signed a request with credentials of AWS. */
  readonly aws: AwsSts
  readonly lastSeen: LastSeen
  /** Reads what advisories come from. */
  readonly documents: DocumentReader
  /** What is published of advisories. */
  readonly feeds: Feeds
  /** The bytes of images. */
  readonly blobs: BlobStore
  readonly audit: Recorder
  readonly openOrganizations: boolean
  readonly blockedEmailDomains: readonly string[]
  readonly plainHttpIssuers: boolean
  readonly patternIssuers: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly oauthClients: readonly ClientSetting[]
  /** The OpenID providers that everybody may sign in with. */
  readonly operatorProviders: readonly OperatorProvider[]
  /** Asks the providers that people sign in with. */
  readonly peopleOutbound: Pick<Outbound, 'send'>
  /** Undefined: nobody is limited. */
  readonly limits: RateLimits | undefined
  readonly addressOf: AddressOf
  /** Undefined: nobody says that version 1 will end. */
  readonly deprecation: Deprecation | undefined
  readonly metrics: Metrics
  readonly log: Log
}

export interface BerthServer {
  readonly http: HttpHandler
  readonly grpc: GrpcHandler
  /** Begins as false; health checks and balancers see it. */
  setServing(serving: boolean): void
}

/** The versions that are names for v2beta1 (decision 22). */
const namesOf = ({ typeName }: DescService) => [typeName, typeName.replace('.v2beta1.', '.v2.')]

export function createServer(deps: ServerDeps): BerthServer {
  const { store, addresses, keys, tokens, lastSeen, audit, metrics, log } = deps
  const { errorDomain } = addresses
  const event = (
    { requestId, address }: Incoming,
    method: DescMethod,
    actor: string,
    uid: string,
  ): AuditEvent => ({
    timeMs: store.clock(),
    actor,
    method: fullNameOf(method),
    uid,
    requestId,
    address,
  })

  const services = contractFiles.flatMap((file) => file.services)
  const methods = services.flatMap((service) => service.methods)
  const deprecated = deps.deprecation && deprecationHeaders(deps.deprecation)
  const headersOf = ({ parent }: DescMethod) => (isVersionOne(parent) ? deprecated : undefined)
  const proven = (identity: string, call: Call) => deps.limits?.byIdentity(call.method, call, identity)
  const refused = (identity: string, { code, message }: ApiError, call: Call) =>
    audit.refused(event(call, call.called, identity, identity), { code, reason: message })
  const readGrants = grantsReader(store)
  const providers = signInProviders(store, deps.operatorProviders)
  const issuerForms = audienceForms(addresses.authUrl)
  const assuming: AssumeOptions = {
    ...store,
    keysFor: deps.keysFor,
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
      operatorProviders: deps.operatorProviders,
      organizationProvider: (uid) => organizationProvider(providers, uid),
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
    identityProvidersService(store, deps),
    externalGroupRoleMappingsService(store),
    groupInvitesService(store),
    invitationsService(store),
    accountAssociationsService(store, deps.probes),
    reposService(store, addresses),
    tagsService(store),
    registryService(store, addresses, imageConfigurations(store, deps.blobs)),
    subscriptionsService,
    imagesService(store, deps.blobs),
    repoPoliciesService(store),
    advisoriesService(store),
    advisoryDocumentsService(store, deps.documents),
    advisoryFeedsService(store, { plainHttp: deps.plainHttpIssuers }),
    advisoryPublicationsService(store),
    explainService(assuming),
    securityTokenService({
      ...assuming,
      store,
      tokens,
      log,
      seen: lastSeen.note,
      proven,
      audit: {
        exchanged: (identity, claims, call) =>
          audit.exchanged(event(call, call.called, identity, identity), claims),
        refused: (identity, { claims, ...refusal }, call) =>
          audit.refused(event(call, call.called, identity, identity), { ...refusal, token: claims }),
      },
    }),
    refreshTokenService({
      store,
      tokens,
      authUrl: addresses.authUrl,
      seen: lastSeen.note,
      proven,
      refused,
    }),
    authService({
      store,
      authUrl: addresses.authUrl,
      verify: tokens.verifyPerson,
      readGrants,
      keysFor: deps.keysFor,
      providers,
      proven,
      refused,
    }),
    auditService(store, methods),
    implement(PingService, {
      ping: async () => ({
        $typeName: 'chainguard.platform.ping.v2beta1.PingResponse' as const,
        response: 'pong',
      }),
    }),
  ]

  const { dispatch, authenticate, admit } = waist<AccessRule>({
    methods,
    services: implementations,
    translations: [...versionOne(store), registryTranslation(store)],
    ruleOf: accessRule,
    isOpen: (rule) => rule.kind === 'open',
    authenticate: authenticator({ ...tokens, clock: store.clock }, addresses.baseUrl),
    readGrants,
    authorize,
    limits: deps.limits,
    denied: ({ method, called, request, incoming, caller: { identity } }, { code, message, about }) => {
      const uid = deniedAt(scopeAsked(accessRule(method), request), about) || identity
      audit.refused(event(incoming, called, identity, uid), { code, reason: message })
    },
    observe: (method: DescMethod, { protocol }, code, ms, identity) => {
      const name = fullNameOf(method)
      metrics.call(name, protocol, code, ms)
      if (identity !== undefined && isVersionOne(method.parent)) metrics.versionOneCall(name, identity)
    },
  })

  const health = healthService(services.map((service) => service.typeName))
  const everyService = [...services, ...healthAndReflection.flatMap((file) => file.services)]
  const rest = restHandler({
    dispatch,
    services,
    versionOne: versionOneFiles.flatMap((file) => file.services),
    headersOf,
    errorDomain,
    log,
    precheck: authenticate,
    ...(deps.corsOrigins.length === 0 ? {} : { cors: { origins: deps.corsOrigins } }),
  })
  const discovery = discoveryHandler({ issuer: addresses.authUrl, keys })
  const operations = operationsHandlers({ db: store.db, metrics, errorDomain, serving: () => serving })
  let serving = false
  // Documents that are only read, beside the API.
  const documents = new Map(Object.entries(operations))
  for (const path of discoveryPaths) documents.set(path, discovery)
  const readingOnly =
    (document: HttpHandler): HttpHandler =>
    (request) =>
      request.method === 'GET' || request.method === 'HEAD' ? document(request) : readOnly(errorDomain)
  const exporting = readingOnly(auditExport({ dispatch, precheck: authenticate, errorDomain, log }))
  const publishing = readingOnly(feedHandler({ ...deps, ...addresses, dispatch, admit }))
  const forPages = (handler: HttpHandler) =>
    deps.corsOrigins.length === 0 ? handler : withCors(handler, deps.corsOrigins)
  const auditLog = forPages(exporting)
  const feeds = forPages(publishing)
  const reference = referenceHandler({ ...addresses, ...deps, files: contractFiles })
  const exchange: SignInOptions['exchange'] = async (subjectToken, { identity, audiences, scopes }, from) => {
    const request = create(ExchangeRequestSchema, { aud: [...audiences], identity, scopes: [...scopes] })
    const incoming = { ...from, protocol: 'rest', authorization: `Bearer ${subjectToken}` } as const
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
      outbound: deps.peopleOutbound,
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
      if (document !== undefined) return readingOnly(document)(request)
      if (isSignInPath(path)) return signIn(request)
      const distribution = registry(path)
      if (distribution !== undefined) return distribution(request)
      if (path === AUDIT_EXPORT_PATH) return auditLog(request)
      return path.startsWith(FEEDS_PATH) ? feeds(request) : rest(request)
    },
    grpc: grpcHandler({
      dispatch,
      services,
      namesOf,
      headersOf,
      streaming: [
        ...health.methods,
        ...reflectionMethods(
          [...contractFiles, ...healthAndReflection],
          everyService.map((service) => service.typeName),
        ),
      ],
      errorDomain,
      log,
      addressOf: deps.addressOf,
    }),
    setServing(value) {
      serving = value
      health.setServing(value)
    },
  }
}

/** What a denial is about: where the caller lacks something, or more exactly what lies there and was asked for. */
function deniedAt(asked: string | undefined, lacking: string | undefined): string | undefined {
  return asked !== undefined && isWithin(asked, lacking ?? '') ? asked : lacking
}

function readOnly(errorDomain: string): HttpReply {
  const error = new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: this path answers GET, HEAD')
  return {
    status: 405,
    headers: { 'content-type': 'application/json', allow: 'GET, HEAD' },
    body: errorBody(error, errorDomain),
  }
}

function pathOf(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}
