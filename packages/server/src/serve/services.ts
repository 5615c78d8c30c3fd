import { PingService } from '@berth/contract/gen/chainguard/platform/ping/v2beta1/ping_pb.js'
import type { DescMethod } from '@bufbuild/protobuf'
import type { DocumentReader } from '../advisories/documents/document-reader.ts'
import { advisoryGroupDependents } from '../advisories/group-dependents.ts'
import type { PublishedFeeds } from '../advisories/publish/published-feeds.ts'
import type { WordSearch } from '../advisories/search/search-records.ts'
import { advisoriesService } from '../advisories/services/advisories.ts'
import { advisoryDocumentsService } from '../advisories/services/advisory-documents.ts'
import { advisoryFeedsService } from '../advisories/services/advisory-feeds.ts'
import { advisoryPublicationsService } from '../advisories/services/advisory-publications.ts'
import { advisorySummariesService } from '../advisories/services/advisory-summaries.ts'
import { vulnerabilityRecordsService } from '../advisories/services/vulnerability-records.ts'
import type { ApiError } from '../api/errors.ts'
import { fullMethodName } from '../api/method-name.ts'
import { auditService } from '../audit/events.ts'
import type { AuditRecorder } from '../audit/recorder.ts'
import type { Addresses } from '../config/addresses.ts'
import { createContentsReader } from '../contents/services/contents-reader.ts'
import { imageContentsService } from '../contents/services/image-contents.ts'
import { packageImagesService } from '../contents/services/package-images.ts'
import { findingGroupDependents } from '../findings/group-dependents.ts'
import { findingSummariesService } from '../findings/services/finding-summaries.ts'
import { affectedImagesService, findingsService } from '../findings/services/findings.ts'
import { scannerReportsService } from '../findings/services/scanner-reports.ts'
import { accessService } from '../iam/access/access-service.ts'
import { accountAssociationsService } from '../iam/account-associations.ts'
import type { CloudProbes } from '../iam/cloud/probe.ts'
import { externalGroupRoleMappingsService } from '../iam/external-group-role-mappings.ts'
import { groupInvitesService } from '../iam/group-invites.ts'
import { groupPathsService } from '../iam/groups/group-paths.ts'
import { groupsService } from '../iam/groups.ts'
import type { LastSeen } from '../iam/identities/last-seen.ts'
import { lookupUser } from '../iam/identities/user-lookup.ts'
import { identitiesService } from '../iam/identities.ts'
import type { IssSupport } from '../iam/identity-providers/callback.ts'
import { identityProvidersService, type PkceSupport } from '../iam/identity-providers.ts'
import { invitationsService } from '../iam/invitations.ts'
import { roleBindingsService } from '../iam/role-bindings.ts'
import { rolesService } from '../iam/roles.ts'
import type { OperatorContext } from '../operator/services/context.ts'
import { operatorServices } from '../operator/services/services.ts'
import type { ReadGrants } from '../pipeline/authorization.ts'
import {
  type Call,
  implement,
  type ServiceImplementation,
  type ServiceTranslation,
} from '../pipeline/call.ts'
import type { ClientAddressOf } from '../pipeline/limits/client-address.ts'
import { limitClassOf } from '../pipeline/limits/limit-class.ts'
import type { RateLimits } from '../pipeline/limits/rate-limits.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { policyGroupDependents } from '../policies/group-dependents.ts'
import type { DecisionRecorder } from '../policies/pull/decision-recorder.ts'
import { bindingsService } from '../policies/services/bindings.ts'
import { decisionsService } from '../policies/services/decisions.ts'
import { overridesService } from '../policies/services/overrides.ts'
import { policiesService } from '../policies/services/policies.ts'
import type { BodyBudget } from '../port/bodies/body-budget.ts'
import type { UnreadReplies } from '../port/bodies/unread-replies.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { imageCopiesService } from '../registry/copies/image-copies.ts'
import { registryGroupDependents } from '../registry/group-dependents.ts'
import { referrersService } from '../registry/inspection/referrers.ts'
import type { ManifestReader } from '../registry/manifests/manifest-reader.ts'
import type { PullPolicies } from '../registry/oci/pull-policies.ts'
import { imageConfigurationReader, imagesService } from '../registry/resources/images.ts'
import { manifestsService } from '../registry/resources/manifests.ts'
import { repoPoliciesService } from '../registry/resources/repo-policies.ts'
import { reposService } from '../registry/resources/repos.ts'
import { repoTagsService } from '../registry/resources/tags/repo-tags.ts'
import { tagHistoryService } from '../registry/resources/tags/tag-moves.ts'
import { tagsService } from '../registry/resources/tags.ts'
import { repoSummariesService } from '../registry/summaries/repo-summaries.ts'
import type { TransferCounter } from '../registry/usage/transfer-counter.ts'
import { usageService } from '../registry/usage/usage-service.ts'
import { visibilityService } from '../registry/visibility/visibility-service.ts'
import type { Log } from '../runtime/log.ts'
import type { Outbound } from '../runtime/outbound/outbound.ts'
import type { Tracer } from '../runtime/tracer.ts'
import { searchService } from '../search/search-service.ts'
import { createImageSignatureReader } from '../signatures/image-signatures.ts'
import { signaturesService } from '../signatures/signatures-service.ts'
import { signatureVerifiersService } from '../signatures/verifiers/signature-verifiers.ts'
import { authService } from '../signin/auth-service/auth-service.ts'
import type { ClientSetting } from '../signin/oauth/clients.ts'
import type { OperatorProvider } from '../signin/providers/operator-providers.ts'
import { type Providers, readOrganizationProvider } from '../signin/providers/providers.ts'
import type { AuditEvent } from '../storage/changes/audit-events.ts'
import type { DiskSpace } from '../storage/disk-space.ts'
import type { Store } from '../storage/store.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ReadinessCheck } from '../telemetry/readiness.ts'
import type { AccessTokens } from '../tokens/access-token.ts'
import type { AssumeOptions } from '../tokens/exchange/assume.ts'
import type { AwsSts } from '../tokens/exchange/aws/aws-caller.ts'
import { securityTokenService } from '../tokens/exchange/exchange.ts'
import { explainService } from '../tokens/exchange/explain.ts'
import type { IssuerKeys } from '../tokens/issuers/issuer-keys.ts'
import type { SigningKeys } from '../tokens/keys/signing-keys.ts'
import { refreshTokenService } from '../tokens/refresh/exchange-refresh-token.ts'
import type { Deprecation } from '../v1/deprecation.ts'
import { roleBindingsService as versionOneRoleBindings } from '../v1/iam/role-bindings.ts'
import { pingService as v1PingService } from '../v1/ping.ts'
import { registryService, registryTranslation } from '../v1/registry/registry.ts'
import { vulnerabilitiesService } from '../v1/registry/vulnerabilities.ts'
import { v1Translations } from '../v1/services.ts'
import { subscriptionsService } from '../v1/subscriptions.ts'

/** Every service of the server, and what the services need. */

export interface ServerDependencies {
  readonly store: Store
  readonly addresses: Addresses
  readonly keys: SigningKeys
  readonly tokens: AccessTokens
  readonly issuerKeysFor: IssuerKeys['keysFor']
  readonly pkceSupport: PkceSupport
  readonly issSupport: (issuer: string, organization: string) => Promise<IssSupport>
  readonly cloudProbes: CloudProbes
  /** Verifies requests that are signed with AWS credentials. */
  readonly aws: AwsSts
  readonly lastSeen: LastSeen
  /** Reads documents of advisories. */
  readonly documentReader: DocumentReader
  /** Builds and serves the published feeds. */
  readonly feeds: PublishedFeeds
  readonly blobs: BlobStore
  /** The free space of the disks that this node writes to. */
  readonly disk: DiskSpace
  /** Reads manifests and image configurations. */
  readonly manifests: ManifestReader
  /** Counts pulls and pushes. */
  readonly transfers: TransferCounter
  /** Evaluates pulls. */
  readonly pullPolicies: PullPolicies
  readonly decisions: DecisionRecorder
  readonly audit: AuditRecorder
  readonly openOrganizations: boolean
  readonly ownersManageCatalog: boolean
  readonly blockedEmailDomains: readonly string[]
  readonly plainHttpIssuers: boolean
  readonly patternIssuers: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly oauthClients: readonly ClientSetting[]
  /** Whether the operator has configured a mail server. */
  readonly sendsMail: boolean
  /** Returns the current OpenID providers for every user. */
  readonly operatorProviders: () => readonly OperatorProvider[]
  /** For requests to the providers that users sign in with. */
  readonly signInOutbound: Pick<Outbound, 'share'>
  /** Undefined: no limits. */
  readonly rateLimits: RateLimits | undefined
  readonly addressOf: ClientAddressOf
  /** Whether many clients share an address. */
  readonly isTrustedProxy: (address: string | undefined) => boolean
  /** Counts buffered gRPC messages, with the bodies that the port reads. */
  readonly budget: BodyBudget
  /** Counts unread responses of gRPC, with those of the port. */
  readonly unread: UnreadReplies
  /** Undefined: version 1 has no end date. */
  readonly deprecation: Deprecation | undefined
  /** Of the operator API: the configuration, and what runs in the background. */
  readonly operator: Pick<OperatorContext, 'config' | 'storageRunner' | 'jobKinds'>
  /** How searches use the index of words. */
  readonly recordIndex?: WordSearch | undefined
  readonly metrics: Metrics
  /** What /readyz and gRPC health check besides the database. */
  readonly readinessChecks?: readonly ReadinessCheck[]
  readonly tracer: Tracer | undefined
  /** Whether the public port serves /metrics: only if the operator has no listener of its own. */
  readonly publicMetrics: boolean
  readonly log: Log
}

/** What the services share with the rest of the server. */
export interface SharedServices {
  readonly readGrants: ReadGrants
  readonly providers: Providers
  /** The addresses of the token service, as audiences. */
  readonly issuerForms: readonly string[]
  /** Counts an identity that an open method has verified. */
  readonly limitVerifiedIdentity: Pipeline['limitVerifiedIdentity']
  readonly methods: readonly DescMethod[]
}

export function createServices(
  deps: ServerDependencies,
  { readGrants, providers, issuerForms, limitVerifiedIdentity, methods }: SharedServices,
): readonly ServiceImplementation[] {
  const { store, addresses, keys, tokens, lastSeen, audit, log } = deps
  const onAuthenticated = (identity: string, call: Call) =>
    limitVerifiedIdentity(limitClassOf(call.method), call, identity)
  const eventOf = ({ requestedMethod, requestId, address }: Call, identity: string): AuditEvent => ({
    timeMs: store.clock(),
    actor: identity,
    method: fullMethodName(requestedMethod),
    uid: identity,
    requestId,
    address,
  })
  const auditDenied = (identity: string, { code, message }: ApiError, call: Call) =>
    audit.recordDenial(eventOf(call, identity), { code, reason: message })
  const assumeOptions: AssumeOptions = {
    ...store,
    keysFor: deps.issuerKeysFor,
    issuer: addresses.authUrl,
    issuerForms,
    registryHost: addresses.registryHost,
    audiences: [addresses.baseUrl, addresses.registryHost],
    patternIssuers: deps.patternIssuers,
    platform: {
      keys,
      readGrants,
      // By default, the host of the token service is also that of the registry. What Docker stores must not be enough for the API.
      audiences: [...new Set([...issuerForms, addresses.baseUrl])].filter(
        (audience) => audience !== addresses.registryHost,
      ),
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
  const reads = readingFromReplica(store)
  const contents = createContentsReader(reads, deps)
  return [
    groupsService(store, {
      ...deps,
      dependents: [
        registryGroupDependents,
        advisoryGroupDependents,
        findingGroupDependents,
        policyGroupDependents,
      ],
    }),
    identitiesService(store, lastSeen, { ...deps, ownIssuer: addresses.authUrl }),
    groupPathsService(store),
    accessService({ store, lastSeen, rules: deps, methods }),
    rolesService(store),
    roleBindingsService(store),
    versionOneRoleBindings(store),
    identityProvidersService(store, { ...deps, authUrl: addresses.authUrl }),
    externalGroupRoleMappingsService(store, addresses.authUrl),
    groupInvitesService(store, { authUrl: addresses.authUrl, sendsMail: deps.sendsMail }),
    invitationsService(store),
    accountAssociationsService(store, deps.cloudProbes),
    reposService(store, addresses),
    tagsService(store),
    repoTagsService(store),
    tagHistoryService(store),
    visibilityService(store),
    registryService(store, addresses, imageConfigurationReader(store, deps.blobs, deps.manifests), contents),
    vulnerabilitiesService(store, deps),
    subscriptionsService,
    imagesService(store, deps.blobs, deps.manifests),
    repoPoliciesService(store),
    manifestsService(store, deps.blobs, deps.manifests),
    referrersService(store),
    imageCopiesService(deps),
    imageContentsService(reads, contents),
    packageImagesService(reads),
    signatureVerifiersService(store),
    signaturesService(store, createImageSignatureReader({ ...store, blobs: deps.blobs })),
    repoSummariesService(store),
    usageService(reads),
    policiesService(store),
    bindingsService(store),
    overridesService(store),
    decisionsService(reads, deps.decisions),
    advisoriesService(reads),
    advisoryDocumentsService(store, deps.documentReader),
    advisoryFeedsService(store, { plainHttp: deps.plainHttpIssuers }),
    advisoryPublicationsService(store),
    advisorySummariesService(reads),
    findingsService(reads, { contents, addresses: deps.addresses }),
    affectedImagesService(reads),
    vulnerabilityRecordsService(reads, deps.recordIndex),
    findingSummariesService(reads),
    scannerReportsService(reads, contents),
    explainService(assumeOptions),
    securityTokenService({
      ...assumeOptions,
      store,
      tokens,
      log,
      markSeen: lastSeen.touch,
      beforeIssue: onAuthenticated,
      audit: {
        exchanged: (identity, claims, call) => audit.recordExchange(eventOf(call, identity), claims),
        auditDenied: (identity, { claims, ...refusal }, call) =>
          audit.recordDenial(eventOf(call, identity), {
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
    auditService(reads, methods),
    searchService(reads, addresses),
    ...operatorServices({ ...deps.operator, store, addresses, keys, disk: deps.disk, log }),
    v1PingService,
    implement(PingService, {
      ping: async () => ({
        $typeName: 'chainguard.platform.ping.v2beta1.PingResponse' as const,
        response: 'pong',
      }),
    }),
  ]
}

/** Of services whose reads cost more than the statement that asks whether a read replica is current. */
export function readingFromReplica(store: Store): Store {
  return { ...store, db: store.db.replica?.db ?? store.db }
}

/** The services that map methods of version 1 to newer methods. */
export function createTranslations(store: Store): readonly ServiceTranslation[] {
  return [...v1Translations(store), registryTranslation(store)]
}
