import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { PingService } from '#gen/chainguard/platform/ping/v2beta1/ping_pb.js'
import { authenticator } from './auth/authenticate.ts'
import { type AccessRule, accessRule, authorize } from './auth/authorize.ts'
import { grantsReader } from './auth/grants.ts'
import type { Addresses } from './config.ts'
import { implement } from './core/call.ts'
import { ApiError, Code } from './core/errors.ts'
import { contractFiles, healthAndReflection } from './gateway/contract.ts'
import { waist } from './gateway/dispatch.ts'
import { errorBody } from './gateway/error-body.ts'
import { grpcHandler } from './gateway/grpc.ts'
import { healthService } from './gateway/grpc-health.ts'
import { reflectionMethods } from './gateway/grpc-reflection.ts'
import { restHandler } from './gateway/rest.ts'
import type { AddressOf, HttpHandler, HttpReply } from './http.ts'
import { externalGroupRoleMappingsService } from './iam/external-group-role-mappings.ts'
import { groupInvitesService } from './iam/group-invites.ts'
import { groupsService } from './iam/groups.ts'
import { identitiesService } from './iam/identities.ts'
import { identityProvidersService, type PkceSupport } from './iam/identity-providers.ts'
import { invitationsService } from './iam/invitations.ts'
import type { LastSeen } from './iam/last-seen.ts'
import { roleBindingsService } from './iam/role-bindings.ts'
import { rolesService } from './iam/roles.ts'
import type { RateLimits } from './limits/rate-limits.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { operationsHandlers } from './operations.ts'
import type { GrpcHandler } from './port.ts'
import { reposService } from './registry/repos.ts'
import type { Store } from './storage/store.ts'
import type { AccessTokens } from './sts/access-token.ts'
import { discoveryHandler, discoveryPaths } from './sts/discovery.ts'
import { securityTokenService } from './sts/exchange.ts'
import type { SigningKeys } from './sts/signing-keys.ts'
import type { KeySource } from './trust/key-set.ts'

/** The table of contents of the server: every service, and the way of a request to it. */

export interface ServerDeps {
  readonly store: Store
  readonly addresses: Addresses
  readonly keys: SigningKeys
  readonly tokens: AccessTokens
  readonly keysFor: (issuer: string) => KeySource
  readonly pkceSupport: PkceSupport
  readonly lastSeen: LastSeen
  readonly openOrganizations: boolean
  readonly plainHttpIssuers: boolean
  readonly patternIssuers: readonly string[]
  readonly corsOrigins: readonly string[]
  /** Undefined: nobody is limited. */
  readonly limits: RateLimits | undefined
  readonly addressOf: AddressOf
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
  const { store, addresses, keys, tokens, lastSeen, metrics, log } = deps
  const { errorDomain } = addresses

  const implementations = [
    groupsService(store, deps),
    identitiesService(store, lastSeen, deps),
    rolesService(store),
    roleBindingsService(store),
    identityProvidersService(store, deps),
    externalGroupRoleMappingsService(store),
    groupInvitesService(store),
    invitationsService(store),
    reposService(store, addresses),
    securityTokenService({
      ...deps,
      ...store,
      issuer: addresses.authUrl,
      audiences: [addresses.baseUrl, addresses.registryHost],
      seen: lastSeen.note,
      proven: (identity, call) => deps.limits?.byIdentity(call.method, call, identity),
    }),
    implement(PingService, {
      ping: async () => ({
        $typeName: 'chainguard.platform.ping.v2beta1.PingResponse' as const,
        response: 'pong',
      }),
    }),
  ]

  const services = contractFiles.flatMap((file) => file.services)
  const { dispatch, authenticate } = waist<AccessRule>({
    methods: services.flatMap((service) => service.methods),
    services: implementations,
    ruleOf: accessRule,
    isOpen: (rule) => rule.kind === 'open',
    authenticate: authenticator({ verify: tokens.verify, clock: store.clock }, addresses.baseUrl),
    readGrants: grantsReader(store.db),
    authorize,
    limits: deps.limits,
    observe: (method: DescMethod, { protocol }, code, ms) => metrics.call(nameOf(method), protocol, code, ms),
  })

  const health = healthService(services.map((service) => service.typeName))
  const everyService = [...services, ...healthAndReflection.flatMap((file) => file.services)]
  const rest = restHandler({
    dispatch,
    services,
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

  return {
    http: (request) => {
      const document = documents.get(pathOf(request.url))
      if (document === undefined) return rest(request)
      return request.method === 'GET' || request.method === 'HEAD' ? document(request) : readOnly(errorDomain)
    },
    grpc: grpcHandler({
      dispatch,
      services,
      namesOf,
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

function readOnly(errorDomain: string): HttpReply {
  const error = new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: this path answers GET, HEAD')
  return {
    status: 405,
    headers: { 'content-type': 'application/json', allow: 'GET, HEAD' },
    body: errorBody(error, errorDomain),
  }
}

const names = new Map<DescMethod, string>()

/** `chainguard.platform.iam.v2beta1.GroupsService/GetGroup`, made once per method. */
function nameOf(method: DescMethod): string {
  let name = names.get(method)
  if (name === undefined) {
    name = `${method.parent.typeName}/${method.name}`
    names.set(method, name)
  }
  return name
}

function pathOf(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : url.slice(0, mark)
}
