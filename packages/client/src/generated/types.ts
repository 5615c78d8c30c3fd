// Generated from packages/contract/proto/ by scripts/generate-client.ts: do not edit.

/** Request of AcceptGroupInvite. */
export interface AcceptGroupInviteRequest {
  /** The code of the invite, as CreateGroupInvite showed it. */
  readonly code: string
}

/** Answer of AcceptGroupInvite. */
export interface AcceptGroupInviteResponse {
  /** The role that the caller holds from now on. */
  readonly roleBinding?: RoleBinding
}

/** A group's accounts elsewhere. */
export interface AccountAssociation {
  /** Identifier, given by the server: the UID of the group itself. */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. */
  readonly description: string
  /** Account at Amazon Web Services. */
  readonly amazon?: AccountAssociationAmazon
  /** Project at Google Cloud. */
  readonly google?: AccountAssociationGoogle
  /** Identities that services of the platform take on for this group. */
  readonly chainguard?: AccountAssociationChainguard
  /** Tenant at Microsoft Azure. */
  readonly azure?: AccountAssociationAzure
  /** When the association was created. */
  readonly createTime?: string
  /** When the association was last changed. */
  readonly updateTime?: string
  /** Installations of apps at GitHub. */
  readonly github?: AccountAssociationGitHub
}

/** An account at Amazon Web Services. */
export interface AccountAssociationAmazon {
  /** Account number: 12 decimal digits. */
  readonly account: string
}

/** An account at Amazon Web Services. */
export interface AccountAssociationAmazonInput {
  /** Account number: 12 decimal digits. */
  readonly account: string
}

/** A tenant at Microsoft Azure. */
export interface AccountAssociationAzure {
  /** Identifier of the tenant in Microsoft Entra ID. */
  readonly tenantId: string
  /** Identifier of the application by the component that uses it. */
  readonly clientIds: Readonly<Record<string, string>>
}

/** A tenant at Microsoft Azure. */
export interface AccountAssociationAzureInput {
  /** Identifier of the tenant in Microsoft Entra ID. */
  readonly tenantId: string
  /** Identifier of the application by the component that uses it. */
  readonly clientIds: Readonly<Record<string, string>>
}

/** Identities for services of the platform. */
export interface AccountAssociationChainguard {
  /**
   * UID of the identity by service, the service named without its prefix, as in `INGESTER`. The
   * identity must belong to the same group and name the same service.
   */
  readonly serviceBindings: Readonly<Record<string, string>>
}

/** Identities for services of the platform. */
export interface AccountAssociationChainguardInput {
  /**
   * UID of the identity by service, the service named without its prefix, as in `INGESTER`. The
   * identity must belong to the same group and name the same service.
   */
  readonly serviceBindings: Readonly<Record<string, string>>
}

/** Apps installed at GitHub. */
export interface AccountAssociationGitHub {
  /** Installations by the number of the GitHub App. */
  readonly appInstallations: Readonly<Record<string, AccountAssociationGitHubAppInstallations>>
}

/** Installations of one GitHub App. */
export interface AccountAssociationGitHubAppInstallations {
  /** The installations. */
  readonly installations: readonly AccountAssociationGitHubInstallation[]
}

/** Installations of one GitHub App. */
export interface AccountAssociationGitHubAppInstallationsInput {
  /** The installations. */
  readonly installations?: readonly AccountAssociationGitHubInstallationInput[] | undefined
}

/** Apps installed at GitHub. */
export interface AccountAssociationGitHubInput {
  /** Installations by the number of the GitHub App. */
  readonly appInstallations?: Readonly<Record<string, AccountAssociationGitHubAppInstallationsInput>> | undefined
}

/** One installation of a GitHub App. */
export interface AccountAssociationGitHubInstallation {
  /** Number that GitHub gave to the installation. */
  readonly installationId: string
  /** Account that the app is installed on. It is for display and decides nothing. */
  readonly name: string
}

/** One installation of a GitHub App. */
export interface AccountAssociationGitHubInstallationInput {
  /** Number that GitHub gave to the installation. */
  readonly installationId: string
  /** Account that the app is installed on. It is for display and decides nothing. */
  readonly name?: string | undefined
}

/** A project at Google Cloud. */
export interface AccountAssociationGoogle {
  /** Identifier of the project. */
  readonly projectId: string
  /** Number of the project, as text. */
  readonly projectNumber: string
}

/** A project at Google Cloud. */
export interface AccountAssociationGoogleInput {
  /** Identifier of the project. */
  readonly projectId: string
  /** Number of the project, as text. */
  readonly projectNumber: string
}

/** A group's accounts elsewhere. */
export interface AccountAssociationInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /** Account at Amazon Web Services. */
  readonly amazon?: AccountAssociationAmazonInput | undefined
  /** Project at Google Cloud. */
  readonly google?: AccountAssociationGoogleInput | undefined
  /** Identities that services of the platform take on for this group. */
  readonly chainguard?: AccountAssociationChainguardInput | undefined
  /** Tenant at Microsoft Azure. */
  readonly azure?: AccountAssociationAzureInput | undefined
  /** Installations of apps at GitHub. */
  readonly github?: AccountAssociationGitHubInput | undefined
}

/** Cloud providers whose association can be tried out. */
export type AccountProviderType =
  | 'ACCOUNT_PROVIDER_TYPE_UNSPECIFIED'
  | 'ACCOUNT_PROVIDER_TYPE_GOOGLE'
  | 'ACCOUNT_PROVIDER_TYPE_AMAZON'
  | 'ACCOUNT_PROVIDER_TYPE_AZURE'

/** What is known about one vulnerability of one component in one artifact. */
export interface Advisory {
  /** Identifier, given by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Public number of the advisory, as `CGA-xxxx-xxxx-xxxx`. */
  readonly advisoryId: string
  /** When the advisory was created. */
  readonly createTime?: string
  /** When the advisory or its history was last changed. */
  readonly updateTime?: string
  /** When the advisory was deleted. Unset for one that stands. */
  readonly deleteTime?: string
  /** Person or service that wrote the advisory. */
  readonly author: string
  /** Artifact that the advisory is about. */
  readonly artifactName: string
  /** Sort of artifact, such as `apk`, `image` or `library`. */
  readonly artifactType: string
  /** Architecture of the artifact, such as `x86_64` or `aarch64`. */
  readonly artifactArchitecture: string
  /** Component inside the artifact that the vulnerability was matched to. */
  readonly componentName: string
  /** Path of the component inside the artifact. */
  readonly componentLocation: string
  /** Ecosystem of the component, such as `go-module` or `python`. */
  readonly componentType: string
  /** Numbers of the vulnerability elsewhere, such as those of CVE and GHSA. */
  readonly aliases: readonly string[]
  /** History of the advisory, oldest first. */
  readonly events: readonly AdvisoryEvent[]
  /** Number that the advisory had in an older collection. Unset when it was in none. */
  readonly legacyAdvisoryId?: string
  /** Scores of the vulnerability, found through `aliases`. Empty when none is known. */
  readonly severities: readonly Severity[]
}

/** A document as it was published. */
export interface AdvisoryDocument {
  /** File name or address, for messages about it and to tell its format. */
  readonly name?: string | undefined
  /** `wolfi`, `osv`, `secdb`, `openvex` or `csaf`. Empty: by its content. */
  readonly format?: string | undefined
  /** Its bytes, unpacked. */
  readonly content: string
}

/** One entry in the history of an advisory. */
export interface AdvisoryEvent {
  /** Identifier, given by the server: the advisory's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** When the entry was made. */
  readonly createTime?: string
  /** What a scanner reported, as a JSON document. */
  readonly findings: string
  /** Person or service that made the entry. */
  readonly author: string
  /** Person or service that reviewed the entry. Empty before a review. */
  readonly reviewer: string
  /** How far the review has come. */
  readonly reviewState: ReviewState
  /** Reference to the issue in which the matter is tracked. */
  readonly issue?: string
  /** The vulnerability was found. */
  readonly detection?: AdvisoryEventDetection
  /** A version fixes it. */
  readonly fixed?: AdvisoryEventFixed
  /** The artifact is not affected. */
  readonly falsePositiveDetermination?: AdvisoryEventFalsePositiveDetermination
  /** Nobody is going to look into it. */
  readonly analysisNotPlanned?: AdvisoryEventAnalysisNotPlanned
  /** Nobody is going to fix it. */
  readonly fixNotPlanned?: AdvisoryEventFixNotPlanned
  /** A fix has to come from the authors of the component. */
  readonly pendingUpstreamFix?: AdvisoryEventPendingUpstreamFix
  /** The artifact is affected. */
  readonly truePositiveDetermination?: AdvisoryEventTruePositiveDetermination
  /** Versions carry a patch for it. */
  readonly patched?: AdvisoryEventPatched
}

/** States that nobody is going to look into it. */
export interface AdvisoryEventAnalysisNotPlanned {
  /** Remark for readers. */
  readonly note: string
}

/** States that the vulnerability was found. */
export interface AdvisoryEventDetection {
  /** By searching the database NVD. */
  readonly nvdapi?: AdvisoryEventDetectionNVDAPI
  /** By a person. */
  readonly manual?: AdvisoryEventDetectionManual
  /** By a scanner. */
  readonly scanv1?: AdvisoryEventDetectionScanV1
}

/** A finding by a person, which needs no further data. */
export type AdvisoryEventDetectionManual = Readonly<Record<string, never>>

/** A match in the database NVD. */
export interface AdvisoryEventDetectionNVDAPI {
  /** Name or keyword that was searched for. */
  readonly cpeSearched: string
  /** CPE that was found. */
  readonly cpeFound: string
}

/** A finding by a scanner. */
export interface AdvisoryEventDetectionScanV1 {
  /** Name of the scanner. */
  readonly scanner: string
  /** Package that was scanned; the same as the artifact's name. */
  readonly subpackage: string
  /** Identifier that the scanner gave to the component. */
  readonly componentId: string
  /** Name of the component. */
  readonly component: string
  /** Version of the component. */
  readonly componentVersion: string
  /** Ecosystem of the component. */
  readonly componentType: string
  /** Path of the component inside the package. */
  readonly componentLocation: string
  /** Version of the artifact that was scanned. */
  readonly artifactVersion: string
  /** Version of the scanner. */
  readonly scannerVersion: string
  /** When the scanner's database was built, as RFC 3339 text. */
  readonly grypeDbBuilt: string
  /** Checksum of the scanner's database. */
  readonly grypeDbChecksum: string
}

/** States that the artifact is not affected, and why. */
export interface AdvisoryEventFalsePositiveDetermination {
  /** Why it is not affected. */
  readonly type: AdvisoryEventFalsePositiveDeterminationType
  /** Remark for readers. */
  readonly note: string
}

/** Reasons for not being affected, each with its justification in VEX terms. */
export type AdvisoryEventFalsePositiveDeterminationType =
  | 'TYPE_UNSPECIFIED'
  | 'TYPE_VULNERABILITY_RECORD_ANALYSIS_CONTESTED'
  | 'TYPE_COMPONENT_VULNERABILITY_MISMATCH'
  | 'TYPE_VULNERABLE_CODE_VERSION_NOT_USED'
  | 'TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE'
  | 'TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH'
  | 'TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY'
  | 'TYPE_INLINE_MITIGATIONS_EXIST'

/** States that nobody is going to fix it. */
export interface AdvisoryEventFixNotPlanned {
  /** Remark for readers. */
  readonly note: string
}

/** States that a version fixes the vulnerability. */
export interface AdvisoryEventFixed {
  /** First version of the artifact that counts as fixed. */
  readonly fixedVersion: string
  /** Remark for readers. */
  readonly note: string
  /** Version of the scanner that confirmed it. */
  readonly scannerVersion: string
  /** When that scanner's database was built, as RFC 3339 text. */
  readonly grypeDbBuilt: string
  /** Checksum of that scanner's database. */
  readonly grypeDbChecksum: string
}

/** States that versions carry a patch. */
export interface AdvisoryEventPatched {
  /** Versions of the artifact that carry the patch. */
  readonly patchedVersions: readonly string[]
  /** Remark for readers. */
  readonly note: string
}

/** States that a fix has to come from the authors of the component. */
export interface AdvisoryEventPendingUpstreamFix {
  /** Remark for readers. */
  readonly note: string
}

/** States that the artifact is affected. */
export interface AdvisoryEventTruePositiveDetermination {
  /** Remark for readers. */
  readonly note: string
}

/** An address at which others publish advisories. */
export interface AdvisoryFeed {
  /** UID of the group, a slash and 16 hexadecimal digits. */
  readonly uid: string
  /**
   * Address of a document, or of an archive (zip, tar, tar.gz) of documents: https, without credentials.
   * Everybody who may read the feed reads the address too.
   */
  readonly url: string
  /** `wolfi`, `osv`, `secdb`, `openvex` or `csaf`. Empty: each document by its content. */
  readonly format: string
  /** Between two runs: from 5 minutes to 30 days. Unset: one hour. */
  readonly interval?: string
  /** It is not read until this is false again. */
  readonly paused: boolean
  /** What it is doing. */
  readonly state: AdvisoryFeedState
  /** When the last run began. Absent before the first. */
  readonly lastAttemptTime?: string
  /** When the last run ended that read everything, or heard that nothing is new. Absent before the first. */
  readonly lastSuccessTime?: string
  /** When the next run begins. Absent while it is paused. */
  readonly nextAttemptTime?: string
  /** Why the last run failed; empty when it did not. */
  readonly lastError: string
  /** How many runs failed one after the other. */
  readonly failures: number
  /**
   * What became of the documents of the last run that found something new, as far as it came. Absent
   * before the first.
   */
  readonly lastRun?: ImportCounts
  /** Entity tag of the file that was read last, as its server names it. */
  readonly sourceEtag: string
  /** When the feed was created. */
  readonly createTime?: string
  /** When its settings were changed; runs do not count. */
  readonly updateTime?: string
}

/** An address at which others publish advisories. */
export interface AdvisoryFeedInput {
  /**
   * Address of a document, or of an archive (zip, tar, tar.gz) of documents: https, without credentials.
   * Everybody who may read the feed reads the address too.
   */
  readonly url: string
  /** `wolfi`, `osv`, `secdb`, `openvex` or `csaf`. Empty: each document by its content. */
  readonly format?: string | undefined
  /** Between two runs: from 5 minutes to 30 days. Unset: one hour. */
  readonly interval?: string | undefined
  /** It is not read until this is false again. */
  readonly paused?: boolean | undefined
}

/** What a feed is doing. */
export type AdvisoryFeedState =
  | 'STATE_UNSPECIFIED'
  | 'STATE_WAITING'
  | 'STATE_RUNNING'
  | 'STATE_SUCCEEDED'
  | 'STATE_FAILED'
  | 'STATE_PAUSED'

/** How the advisories of a group are published. */
export interface AdvisoryPublication {
  /** UID of the group. */
  readonly uid: string
  /** When the publication was last changed. One that never was is as old as its group. */
  readonly updateTime?: string
  /**
   * Whether everybody may read what is published, of this group and of everything below it. Otherwise
   * those may who may list the advisories of the group.
   */
  readonly public: boolean
  /** UID of the group, this one or one above it, that makes this one public. Empty when none does. */
  readonly publicThrough: string
  /** What the security database says of its packages. */
  readonly securityDatabase?: SecurityDatabase
  /** The distribution that artifacts of type `apk` belong to. */
  readonly distribution?: Distribution
  /**
   * When the advisories that it covers, or how they are published, last changed. Not set when there
   * never were any.
   */
  readonly changeTime?: string
}

/** How the advisories of a group are published. */
export interface AdvisoryPublicationInput {
  /** UID of the group. */
  readonly uid?: string | undefined
  /**
   * Whether everybody may read what is published, of this group and of everything below it. Otherwise
   * those may who may list the advisories of the group.
   */
  readonly public?: boolean | undefined
  /** What the security database says of its packages. */
  readonly securityDatabase?: SecurityDatabaseInput | undefined
  /** The distribution that artifacts of type `apk` belong to. */
  readonly distribution?: DistributionInput | undefined
}

/** A document that advisories come from. */
export interface AdvisorySource {
  /** `wolfi`, `osv`, `secdb`, `openvex` or `csaf`. */
  readonly format: string
  /** What the document calls itself. */
  readonly id: string
  /** File name or address that it was last read from. */
  readonly name: string
  /** When it was last read. */
  readonly importTime?: string
  /** When this version of it was made. Absent where it does not say. */
  readonly revisionTime?: string
  /** What no field of an advisory has. */
  readonly unmapped: readonly UnmappedField[]
  /** The document as it was published, where it was asked for. */
  readonly content: string
}

/** Request of ApplyRetention. */
export interface ApplyRetentionRequest {
  /** UID of the repo. */
  readonly uid: string
}

/** Answer of GetArchitectures. */
export interface Architectures {
  /** Architectures by their OCI names, such as `amd64` and `arm64`. */
  readonly architectures: readonly string[]
}

/** Something that somebody did, or tried to do. */
export interface AuditEvent {
  /** UID of what the event is about, a slash and 16 hexadecimal digits. */
  readonly uid: string
  /** When it happened. */
  readonly createTime?: string
  /** UID of the identity that acted; `system` for the operator's own commands. */
  readonly actor: string
  /** What was called, e.g. `chainguard.platform.iam.v2beta1.GroupsService/CreateGroup`. */
  readonly method: string
  /**
   * UID of what the event is about: the resource that was created, changed or deleted, the group in
   * which something was refused, or the identity that was assumed.
   */
  readonly resourceUid: string
  /** How it ended, as a number of google.rpc.Code: 0 for what was done, 7 for what was denied. */
  readonly code: number
  /** Why it was refused; empty for what was done. */
  readonly reason: string
  /** The `x-request-id` of the response, which the client may have chosen; empty for the operator's own commands. */
  readonly requestId: string
  /** IP address that the request came from; empty for the operator's own commands. */
  readonly address: string
  /** Issuer of the workload's own token, in exchanges; empty where no such token was verified. */
  readonly issuer: string
  /** Subject of the workload's own token, in exchanges; empty where no such token was verified. */
  readonly subject: string
  /**
   * How often the same thing was refused to the same actor in the second that the event stands for; 1
   * for what was done.
   */
  readonly count: number
}

/** Request of BatchCreateRoleBindings. */
export interface BatchCreateRoleBindingsRequest {
  /** UID of the group for the whole batch. An entry that names another group is INVALID_ARGUMENT. */
  readonly parent: string
  /** Bindings to create, at most 25. */
  readonly requests: readonly CreateRoleBindingRequest[]
  /** UID of the role for entries that name none. An entry that names another role is INVALID_ARGUMENT. */
  readonly roleUid?: string | undefined
}

/** Answer of BatchCreateRoleBindings. */
export interface BatchCreateRoleBindingsResponse {
  /** The new bindings, in the order of the request. */
  readonly roleBindings: readonly RoleBinding[]
}

/** Request of BatchDeleteExternalGroupRoleMappings. */
export interface BatchDeleteExternalGroupRoleMappingsRequest {
  /** UID of the identity provider that all the mappings belong to. */
  readonly parent: string
  /** UIDs of the mappings to delete. */
  readonly names: readonly string[]
}

/** Answer of BatchDeleteExternalGroupRoleMappings. */
export interface BatchDeleteExternalGroupRoleMappingsResponse {
  /** UID of the identity provider, as in the request. */
  readonly parent: string
  /** The mappings that this call deleted, as they were. */
  readonly externalGroupRoleMappings: readonly ExternalGroupRoleMapping[]
}

/**
 * What a role can allow. Each value stands for one right that is checked at a group and holds for all
 * that lies below it. Values marked deprecated guard nothing any more; those marked internal are for
 * the operator. The bits 0, 40, 41, 135, 136 and 143 stay unused. Capabilities that the public platform does not
 * have are numbered from 100000, and their bits from 1000, so that they never meet one of its own.
 */
export type Capability =
  | 'UNKNOWN'
  | 'CAP_INTERNAL'
  | 'CAP_IAM_GROUPS_CREATE'
  | 'CAP_IAM_GROUPS_UPDATE'
  | 'CAP_IAM_GROUPS_LIST'
  | 'CAP_IAM_GROUPS_DELETE'
  | 'CAP_IAM_GROUP_INVITES_CREATE'
  | 'CAP_IAM_GROUP_INVITES_LIST'
  | 'CAP_IAM_GROUP_INVITES_DELETE'
  | 'CAP_IAM_ROLES_CREATE'
  | 'CAP_IAM_ROLES_UPDATE'
  | 'CAP_IAM_ROLES_LIST'
  | 'CAP_IAM_ROLES_DELETE'
  | 'CAP_IAM_ROLE_BINDINGS_CREATE'
  | 'CAP_IAM_ROLE_BINDINGS_UPDATE'
  | 'CAP_IAM_ROLE_BINDINGS_LIST'
  | 'CAP_IAM_ROLE_BINDINGS_DELETE'
  | 'CAP_TENANT_CLUSTERS_CREATE'
  | 'CAP_TENANT_CLUSTERS_UPDATE'
  | 'CAP_TENANT_CLUSTERS_LIST'
  | 'CAP_TENANT_CLUSTERS_DELETE'
  | 'CAP_TENANT_CLUSTERS_DISCOVER'
  | 'CAP_TENANT_RECORDS_LIST'
  | 'CAP_TENANT_RECORD_CONTEXTS_LIST'
  | 'CAP_TENANT_RECORD_SIGNATURES_LIST'
  | 'CAP_TENANT_RECORD_POLICY_RESULTS_LIST'
  | 'CAP_TENANT_RISKS_LIST'
  | 'CAP_TENANT_SBOMS_LIST'
  | 'CAP_TENANT_VULN_REPORTS_LIST'
  | 'CAP_TENANT_ATTESTATIONS_LIST'
  | 'CAP_IAM_ACCOUNT_ASSOCIATIONS_CREATE'
  | 'CAP_IAM_ACCOUNT_ASSOCIATIONS_UPDATE'
  | 'CAP_IAM_ACCOUNT_ASSOCIATIONS_LIST'
  | 'CAP_IAM_ACCOUNT_ASSOCIATIONS_DELETE'
  | 'CAP_IAM_POLICY_CREATE'
  | 'CAP_IAM_POLICY_UPDATE'
  | 'CAP_IAM_POLICY_LIST'
  | 'CAP_IAM_POLICY_DELETE'
  | 'CAP_IAM_IDENTITY_CREATE'
  | 'CAP_IAM_IDENTITY_UPDATE'
  | 'CAP_IAM_IDENTITY_LIST'
  | 'CAP_IAM_IDENTITY_DELETE'
  | 'CAP_TENANT_NODES_LIST'
  | 'CAP_TENANT_NAMESPACES_LIST'
  | 'CAP_TENANT_WORKLOADS_LIST'
  | 'CAP_IAM_IDENTITY_PROVIDERS_CREATE'
  | 'CAP_IAM_IDENTITY_PROVIDERS_UPDATE'
  | 'CAP_IAM_IDENTITY_PROVIDERS_LIST'
  | 'CAP_IAM_IDENTITY_PROVIDERS_DELETE'
  | 'CAP_IAM_SCIM_MANAGE'
  | 'CAP_EVENTS_SUBSCRIPTION_CREATE'
  | 'CAP_EVENTS_SUBSCRIPTION_UPDATE'
  | 'CAP_EVENTS_SUBSCRIPTION_LIST'
  | 'CAP_EVENTS_SUBSCRIPTION_DELETE'
  | 'CAP_REPO_BLOBS_GET'
  | 'CAP_REPO_CREATE'
  | 'CAP_REPO_UPDATE'
  | 'CAP_REPO_LIST'
  | 'CAP_REPO_DELETE'
  | 'CAP_MANIFEST_CREATE'
  | 'CAP_MANIFEST_UPDATE'
  | 'CAP_MANIFEST_LIST'
  | 'CAP_MANIFEST_DELETE'
  | 'CAP_TAG_CREATE'
  | 'CAP_TAG_UPDATE'
  | 'CAP_TAG_LIST'
  | 'CAP_TAG_DELETE'
  | 'CAP_MANIFEST_METADATA_LIST'
  | 'CAP_REFERRERS_LIST'
  | 'CAP_REPO_INTERNAL_ADMIN'
  | 'CAP_APK_CREATE'
  | 'CAP_APK_UPDATE'
  | 'CAP_APK_LIST'
  | 'CAP_APK_DELETE'
  | 'CAP_VERSION_LIST'
  | 'CAP_APK_BLOBS_GET'
  | 'CAP_VULN_REPORT_CREATE'
  | 'CAP_VULN_REPORT_LIST'
  | 'CAP_VULN_CREATE'
  | 'CAP_BUILD_REPORT_LIST'
  | 'CAP_REGISTRY_ENTITLEMENTS_LIST'
  | 'CAP_REGISTRY_ENTITLEMENTS_CREATE'
  | 'CAP_REGISTRY_ENTITLEMENTS_DELETE'
  | 'CAP_REGISTRY_SETTINGS_LIST'
  | 'CAP_REGISTRY_SETTINGS_UPDATE'
  | 'CAP_REGISTRY_ENTITLEMENTS_IMAGES_ADD'
  | 'CAP_REGISTRY_ENTITLEMENTS_IMAGES_REMOVE'
  | 'CAP_REGISTRY_ENTITLEMENTS_IMAGES_SWAP'
  | 'CAP_REGISTRY_OVERLAYS_LIST'
  | 'CAP_REGISTRY_OVERLAYS_EDIT'
  | 'CAP_SIGSTORE_CREATE'
  | 'CAP_SIGSTORE_UPDATE'
  | 'CAP_SIGSTORE_LIST'
  | 'CAP_SIGSTORE_DELETE'
  | 'CAP_SIGSTORE_CERTIFICATE_CREATE'
  | 'CAP_LIBRARIES_ENTITLEMENTS_CREATE'
  | 'CAP_LIBRARIES_ENTITLEMENTS_LIST'
  | 'CAP_LIBRARIES_ENTITLEMENTS_DELETE'
  | 'CAP_LIBRARIES_ARTIFACTS_LIST'
  | 'CAP_LIBRARIES_PYTHON_LIST'
  | 'CAP_LIBRARIES_PYTHON_CREATE'
  | 'CAP_LIBRARIES_JAVA_LIST'
  | 'CAP_LIBRARIES_JAVA_CREATE'
  | 'CAP_LIBRARIES_JAVASCRIPT_LIST'
  | 'CAP_LIBRARIES_JAVASCRIPT_CREATE'
  | 'CAP_LIBRARIES_DOTNET_LIST'
  | 'CAP_LIBRARIES_DOTNET_CREATE'
  | 'CAP_LIBRARIES_GO_LIST'
  | 'CAP_LIBRARIES_GO_CREATE'
  | 'CAP_LIBRARIES_REBUILDER_REQUESTS_CREATE'
  | 'CAP_LIBRARIES_REBUILDER_REQUESTS_LIST'
  | 'CAP_LIBRARIES_REBUILDER_REQUESTS_CANCEL'
  | 'CAP_LIBRARIES_REBUILDER_REQUESTS_GROUP_UPDATE'
  | 'CAP_LIBRARIES_REBUILDER_ARTIFACTS_INVALIDATE'
  | 'CAP_LIBRARIES_REBUILDER_EXCLUSIONS_MANAGE'
  | 'CAP_LIBRARIES_REBUILDER_BUILDS_READ'
  | 'CAP_LIBRARIES_REBUILDER_BUILDS_TOKENS_FETCH'
  | 'CAP_LIBRARIES_REBUILDER_BUILDS_UNTRUSTED'
  | 'CAP_LIBRARIES_REBUILDER_REMEDIATED_ARTIFACTS_READ'
  | 'CAP_LIBRARIES_REBUILDER_NEW_VERSIONS_READ'
  | 'CAP_LIBRARIES_REBUILDER_NEW_VERSIONS_REFRESH'
  | 'CAP_LIBRARIES_REBUILDER_MALWARE_STATUS_READ'
  | 'CAP_LIBRARIES_REBUILDER_CVE_REMEDIATIONS_LIST'
  | 'CAP_LIBRARIES_CACHE_INVALIDATE'
  | 'CAP_LIBRARIES_REBUILDER_CVE_REMEDIATIONS_UPDATE'
  | 'CAP_LIBRARIES_CACHE_LIST'
  | 'CAP_LIBRARIES_REBUILDER_SOURCE_COORDINATES_WRITE'
  | 'CAP_LIBRARIES_REBUILDER_SOURCE_COORDINATES_RESOLVE'
  | 'CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_CREATE'
  | 'CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_UPDATE'
  | 'CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_LIST'
  | 'CAP_LIBRARIES_REQUEST_GROUPS_CREATE'
  | 'CAP_LIBRARIES_REQUEST_GROUPS_LIST'
  | 'CAP_LIBRARIES_REQUEST_GROUPS_UPDATE'
  | 'CAP_LIBRARIES_REQUEST_GROUPS_DELETE'
  | 'CAP_LIBRARIES_REQUEST_GROUPS_SUBMIT'
  | 'CAP_LIBRARIES_REQUEST_GROUPS_ITEMS_UPDATE'
  | 'CAP_LIBRARIES_REQUEST_GROUPS_REFRESH_COVERAGE'
  | 'CAP_LIBRARIES_REQUEST_GROUPS_DELETE_SUBMITTED'
  | 'CAP_LIBRARIES_REMOTE_REGISTRIES_CREATE'
  | 'CAP_LIBRARIES_REMOTE_REGISTRIES_LIST'
  | 'CAP_LIBRARIES_REMOTE_REGISTRIES_DELETE'
  | 'CAP_ADVISORIES_CREATE'
  | 'CAP_ADVISORIES_UPDATE'
  | 'CAP_ADVISORIES_LIST'
  | 'CAP_ADVISORIES_DELETE'
  | 'CAP_ADVISORIES_APPROVE'
  | 'CAP_REGISTRY_DEPLOYMENTS_CREATE'
  | 'CAP_REGISTRY_DEPLOYMENTS_UPDATE'
  | 'CAP_REGISTRY_DEPLOYMENTS_LIST'
  | 'CAP_POLICIES_POLICY_CREATE'
  | 'CAP_POLICIES_POLICY_UPDATE'
  | 'CAP_POLICIES_POLICY_LIST'
  | 'CAP_POLICIES_POLICY_DELETE'
  | 'CAP_POLICIES_BINDING_CREATE'
  | 'CAP_POLICIES_BINDING_UPDATE'
  | 'CAP_POLICIES_BINDING_LIST'
  | 'CAP_POLICIES_BINDING_DELETE'
  | 'CAP_POLICIES_DECISION_LIST'
  | 'CAP_POLICIES_OVERRIDE_CREATE'
  | 'CAP_POLICIES_OVERRIDE_LIST'
  | 'CAP_POLICIES_OVERRIDE_DELETE'
  | 'CAP_REPO_CHECK_POLICIES'
  | 'CAP_PACKAGES_ENTITLEMENTS_LIST'
  | 'CAP_TERMS_ACCEPT'
  | 'CAP_TERMS_LIST'
  | 'CAP_GUARDENER_DFC_CONVERT'
  | 'CAP_GUARDENER_ASSOCIATION_MANAGE'
  | 'CAP_GUARDENER_ASSOCIATION_LIST'
  | 'CAP_GUARDENER_ENTITLEMENT_MANAGE'
  | 'CAP_GUARDENER_ENTITLEMENT_LIST'
  | 'CAP_GUARDENER_ACTIONS_MIGRATE'
  | 'CAP_GUARDENER_SCAN_LIST'
  | 'CAP_GUARDENER_SCAN_GET'
  | 'CAP_MCP_TOOL_CALL'
  | 'CAP_SKILLS_PUBLISH'
  | 'CAP_SKILLS_ENTITLEMENTS_CREATE'
  | 'CAP_SKILLS_ENTITLEMENTS_LIST'
  | 'CAP_SKILLS_ENTITLEMENTS_DELETE'
  | 'CAP_SKILLS_WRITE'
  | 'CAP_SKILLS_DELETE'
  | 'CAP_SKILLS_LIST'
  | 'CAP_SKILLS_HARDEN_READ'
  | 'CAP_SKILLS_HARDEN_WRITE'
  | 'CAP_SKILLS_HARDEN_CANCEL'
  | 'CAP_ARGOS_DOCUMENTS_CREATE'
  | 'CAP_ARGOS_DOCUMENTS_LIST'
  | 'CAP_ARGOS_DOCUMENTS_DELETE'
  | 'CAP_ARGOS_OSV_READ'
  | 'CAP_LIBRARIES_POLICY_CREATE'
  | 'CAP_LIBRARIES_POLICY_UPDATE'
  | 'CAP_LIBRARIES_POLICY_LIST'
  | 'CAP_LIBRARIES_POLICY_DELETE'
  | 'CAP_LIBRARIES_POLICY_BINDING_CREATE'
  | 'CAP_LIBRARIES_POLICY_BINDING_UPDATE'
  | 'CAP_LIBRARIES_POLICY_BINDING_LIST'
  | 'CAP_LIBRARIES_POLICY_BINDING_DELETE'
  | 'CAP_LIBRARIES_POLICY_BLOCK_EVENT_LIST'
  | 'CAP_ARGOS_OSV_DUMP'
  | 'CAP_ACTIONS_LIST'
  | 'CAP_BUILDAPI_BUILD_CREATE'
  | 'CAP_BUILDAPI_BUILD_LIST'
  | 'CAP_BUILDAPI_WORKER_SYNC'
  | 'CAP_BUILDAPI_BUILD_CANCEL'
  | 'CAP_REX_EXECUTIONS_CREATE'
  | 'CAP_REX_EXECUTIONS_LIST'
  | 'CAP_REX_WORKERS_CONNECT'
  | 'CAP_REX_CLASS_USE'
  | 'CAP_REX_CLASS_SERVE'
  | 'CAP_CASSIE_CAS_READ'
  | 'CAP_CASSIE_CAS_WRITE'
  | 'CAP_CASSIE_AC_WRITE'
  | 'CAP_CASSIE_AC_READ'
  | 'CAP_LOGGIE_LOGS_READ'
  | 'CAP_LOGGIE_LOGS_WRITE'
  | 'CAP_LOGGIE_LOGS_CREATE'
  | 'CAP_GULFSTREAM'
  | 'CAP_REPO_POLICIES_UPDATE'

/** Classes of images in the catalog. */
export type CatalogTier =
  | 'CATALOG_TIER_UNSPECIFIED'
  | 'CATALOG_TIER_APPLICATION'
  | 'CATALOG_TIER_BASE'
  | 'CATALOG_TIER_FIPS'
  | 'CATALOG_TIER_AI'
  | 'CATALOG_TIER_DEVTOOLS'
  | 'CATALOG_TIER_COMMERCIAL'

/** Request of CheckAccountAssociation. */
export interface CheckAccountAssociationRequest {
  /** UID of the group whose association to try out. */
  readonly uid: string
  /** Cloud provider to try. */
  readonly providerType: AccountProviderType
}

/** Answer of CheckAccountAssociation. */
export interface CheckAccountAssociationResponse {
  /** Whether the association works. */
  readonly status: CheckStatus
  /**
   * The reason in a few words: `not configured`, `refused by the provider`, `unreachable` or
   * `unexpected answer`. Empty when it works.
   */
  readonly reason: string
  /** What is wrong and, where that is known, what would mend it. Empty when it works. */
  readonly message: string
}

/** Request of CheckEligibility. The caller's token says all there is to say. */
export type CheckEligibilityRequest = Readonly<Record<string, never>>

/** Answer of CheckEligibility. */
export interface CheckEligibilityResponse {
  /** True when the caller's e-mail domain may be used to find an organization. */
  readonly eligible: boolean
}

/** Outcomes of trying out an association. */
export type CheckStatus =
  | 'CHECK_STATUS_UNSPECIFIED'
  | 'CHECK_STATUS_READY'
  | 'CHECK_STATUS_NOT_READY'

/** Request of CreateAccountAssociation. */
export interface CreateAccountAssociationRequest {
  /** UID of the group. It becomes the UID of the association. */
  readonly parent: string
  /** Association to create. Its `name` is needed; fields the server sets are ignored. */
  readonly accountAssociation: AccountAssociationInput
}

/** Request of CreateAdvisoryFeed. */
export interface CreateAdvisoryFeedRequest {
  /** UID of the group that the advisories go to. */
  readonly parent: string
  /** Feed to create: its address is needed. */
  readonly advisoryFeed: AdvisoryFeedInput
}

/** Request of CreateExternalGroupRoleMapping. */
export interface CreateExternalGroupRoleMappingRequest {
  /** UID of the identity provider. */
  readonly parent: string
  /** Mapping to create: its external group, role and scope are needed. */
  readonly externalGroupRoleMapping: ExternalGroupRoleMappingInput
}

/** Request of CreateGroupInvite. */
export interface CreateGroupInviteRequest {
  /** UID of the group to invite to. */
  readonly parent: string
  /** Invite to create. Its `role_uid` and `ttl` are needed; fields the server sets are ignored. */
  readonly groupInvite: GroupInviteInput
}

/** Request of CreateGroup. */
export interface CreateGroupRequest {
  /**
   * Group to create below: its UID, the last part of its UID, or its name among the groups the caller
   * can reach. Empty creates an organization.
   */
  readonly parent?: string | undefined
  /** Group to create. Its `name` is needed; fields the server sets are ignored. */
  readonly group: GroupInput
}

/** Request of CreateIdentityProvider. */
export interface CreateIdentityProviderRequest {
  /** UID of the organization that the provider will serve. A group below an organization is refused. */
  readonly parent: string
  /**
   * Provider to create. Its `name`, `default_role` and `oidc` are needed; fields the server sets are
   * ignored.
   */
  readonly identityProvider: IdentityProviderInput
}

/** Request of CreateIdentity. */
export interface CreateIdentityRequest {
  /** UID of the group that the identity will belong to. */
  readonly parent: string
  /**
   * Identity to create. Its `name` and one member of `relationship` are needed; fields the server sets
   * are ignored.
   */
  readonly identity: IdentityInput
}

/** Request of CreateRepo. */
export interface CreateRepoRequest {
  /** UID of the group that the repo will belong to. */
  readonly parent: string
  /** Repo to create. Its `name` is needed; fields the server sets are ignored. */
  readonly repo: RepoInput
}

/** Request of CreateRoleBinding, and one entry of a batch. */
export interface CreateRoleBindingRequest {
  /** UID of the group at which the role will be held. An entry of a batch may leave it to the batch. */
  readonly parent: string
  /** Binding to create. Only `identity_uid` and `role_uid` are read. */
  readonly roleBinding: RoleBindingInput
}

/** Request of CreateRole. */
export interface CreateRoleRequest {
  /** UID of the group that the role will belong to. */
  readonly parent: string
  /** Role to create. Its `name` and `capabilities` are needed; fields the server sets are ignored. */
  readonly role: RoleInput
}

/** Request of CreateTag. */
export interface CreateTagRequest {
  /** UID of the repo that the tag will belong to. */
  readonly parent: string
  /** Tag to create or to move. Its `name` and `digest` are needed; fields the server sets are ignored. */
  readonly tag: TagInput
}

/** Changes to make to an image as it is built. */
export interface CustomOverlay {
  /** Packages to add, and where they come from. */
  readonly contents?: CustomOverlayImageContents
  /** Environment variables to set, by name. A name that begins with `CHAINGUARD_` is INVALID_ARGUMENT. */
  readonly environment: Readonly<Record<string, string>>
  /**
   * OCI annotations to add, by key. A key that begins with `dev.chainguard.` or `org.opencontainers.`
   * is INVALID_ARGUMENT.
   */
  readonly annotations: Readonly<Record<string, string>>
  /** Users and groups to add. */
  readonly accounts?: CustomOverlayAccounts
  /** Certificate authorities to trust. */
  readonly certificates?: CustomOverlayCertificates
}

/** Users and groups inside the image. */
export interface CustomOverlayAccounts {
  /** User that the image runs as. */
  readonly runAs: string
  /** Users to add. */
  readonly users: readonly CustomOverlayAccountsUser[]
  /** Groups to add. */
  readonly groups: readonly CustomOverlayAccountsGroup[]
}

/** A group inside the image. */
export interface CustomOverlayAccountsGroup {
  /** Name of the group. */
  readonly groupname: string
  /** Numeric group id. */
  readonly gid: number
  /** Login names of its members. */
  readonly members: readonly string[]
}

/** A group inside the image. */
export interface CustomOverlayAccountsGroupInput {
  /** Name of the group. */
  readonly groupname: string
  /** Numeric group id. */
  readonly gid?: number | undefined
  /** Login names of its members. */
  readonly members?: readonly string[] | undefined
}

/** Users and groups inside the image. */
export interface CustomOverlayAccountsInput {
  /** User that the image runs as. */
  readonly runAs?: string | undefined
  /** Users to add. */
  readonly users?: readonly CustomOverlayAccountsUserInput[] | undefined
  /** Groups to add. */
  readonly groups?: readonly CustomOverlayAccountsGroupInput[] | undefined
}

/** A user inside the image. */
export interface CustomOverlayAccountsUser {
  /** Login name. */
  readonly username: string
  /** Numeric user id, which has nothing to do with UIDs of the platform. */
  readonly uid: number
  /** Numeric id of the primary group. */
  readonly gid: number
  /** Name of the primary group. */
  readonly groupName: string
  /** Login shell, as a path. */
  readonly shell: string
  /** Home directory, as a path. */
  readonly homeDir: string
}

/** A user inside the image. */
export interface CustomOverlayAccountsUserInput {
  /** Login name. */
  readonly username: string
  /** Numeric user id, which has nothing to do with UIDs of the platform. */
  readonly uid?: number | undefined
  /** Numeric id of the primary group. */
  readonly gid?: number | undefined
  /** Name of the primary group. */
  readonly groupName?: string | undefined
  /** Login shell, as a path. */
  readonly shell?: string | undefined
  /** Home directory, as a path. */
  readonly homeDir?: string | undefined
}

/** Certificate authorities that the image trusts. */
export interface CustomOverlayCertificates {
  /** Certificates given here. */
  readonly additional: readonly CustomOverlayCertificatesAdditionalEntry[]
  /** Names of packages that bring certificates. */
  readonly providers: readonly string[]
}

/** One certificate. */
export interface CustomOverlayCertificatesAdditionalEntry {
  /** File name of the certificate. */
  readonly name: string
  /** The certificate itself, as PEM text. */
  readonly content: string
}

/** One certificate. */
export interface CustomOverlayCertificatesAdditionalEntryInput {
  /** File name of the certificate. */
  readonly name: string
  /** The certificate itself, as PEM text. */
  readonly content: string
}

/** Certificate authorities that the image trusts. */
export interface CustomOverlayCertificatesInput {
  /** Certificates given here. */
  readonly additional?: readonly CustomOverlayCertificatesAdditionalEntryInput[] | undefined
  /** Names of packages that bring certificates. */
  readonly providers?: readonly string[] | undefined
}

/** Packages and their sources. */
export interface CustomOverlayImageContents {
  /** Names of packages to install after those of the image. */
  readonly packages: readonly string[]
  /**
   * Addresses of package repositories for `/etc/apk/repositories`. When any is given, they take the
   * place of the usual ones.
   */
  readonly runtimeRepositories: readonly string[]
  /** Public keys for `/etc/apk/keys`. */
  readonly runtimeKeyring: readonly CustomOverlayImageContentsRuntimeKeyringEntry[]
}

/** Packages and their sources. */
export interface CustomOverlayImageContentsInput {
  /** Names of packages to install after those of the image. */
  readonly packages?: readonly string[] | undefined
  /**
   * Addresses of package repositories for `/etc/apk/repositories`. When any is given, they take the
   * place of the usual ones.
   */
  readonly runtimeRepositories?: readonly string[] | undefined
  /** Public keys for `/etc/apk/keys`. */
  readonly runtimeKeyring?: readonly CustomOverlayImageContentsRuntimeKeyringEntryInput[] | undefined
}

/** A public key that package repositories are signed with. */
export interface CustomOverlayImageContentsRuntimeKeyringEntry {
  /**
   * File name of the key, without slashes and not starting with a dot. It must be the name that
   * the repository's signature gives.
   */
  readonly name: string
  /** The RSA public key itself, as PEM text. */
  readonly content: string
}

/** A public key that package repositories are signed with. */
export interface CustomOverlayImageContentsRuntimeKeyringEntryInput {
  /**
   * File name of the key, without slashes and not starting with a dot. It must be the name that
   * the repository's signature gives.
   */
  readonly name: string
  /** The RSA public key itself, as PEM text. */
  readonly content: string
}

/** Changes to make to an image as it is built. */
export interface CustomOverlayInput {
  /** Packages to add, and where they come from. */
  readonly contents?: CustomOverlayImageContentsInput | undefined
  /** Environment variables to set, by name. A name that begins with `CHAINGUARD_` is INVALID_ARGUMENT. */
  readonly environment?: Readonly<Record<string, string>> | undefined
  /**
   * OCI annotations to add, by key. A key that begins with `dev.chainguard.` or `org.opencontainers.`
   * is INVALID_ARGUMENT.
   */
  readonly annotations?: Readonly<Record<string, string>> | undefined
  /** Users and groups to add. */
  readonly accounts?: CustomOverlayAccountsInput | undefined
  /** Certificate authorities to trust. */
  readonly certificates?: CustomOverlayCertificatesInput | undefined
}

/** Request of DeleteAccountAssociation. */
export interface DeleteAccountAssociationRequest {
  /** UID of the group whose association to remove. */
  readonly uid: string
}

/** Request of DeleteAdvisoryDocuments. */
export interface DeleteAdvisoryDocumentsRequest {
  /** UID of the group. */
  readonly parent: string
  /** `wolfi`, `osv`, `secdb`, `openvex` or `csaf`. */
  readonly format: string
  /**
   * What the documents call themselves, as GetAdvisoryDocuments tells. Empty: all of the format, a
   * thousand at a time.
   */
  readonly ids?: readonly string[] | undefined
}

/** Answer of DeleteAdvisoryDocuments. */
export interface DeleteAdvisoryDocumentsResponse {
  /** Documents that were taken away. */
  readonly documents: number
  /** Advisories that are marked as deleted since. */
  readonly withdrawn: number
  /** Whether more of them are left: ask again. */
  readonly more: boolean
}

/** Request of DeleteAdvisoryFeed. */
export interface DeleteAdvisoryFeedRequest {
  /** UID of the feed to remove. */
  readonly uid: string
}

/** Request of DeleteExternalGroupRoleMapping. */
export interface DeleteExternalGroupRoleMappingRequest {
  /** UID of the mapping to delete. */
  readonly uid: string
}

/** Request of DeleteGroupInvite. */
export interface DeleteGroupInviteRequest {
  /** UID of the invite to withdraw. */
  readonly uid: string
}

/** Request of DeleteGroup. */
export interface DeleteGroupRequest {
  /** UID of the group to remove. */
  readonly uid: string
}

/** Request of DeleteIdentityProvider. */
export interface DeleteIdentityProviderRequest {
  /** UID of the provider to remove. */
  readonly uid: string
}

/** Request of DeleteIdentity. */
export interface DeleteIdentityRequest {
  /** UID of the identity to remove. */
  readonly uid: string
}

/** Request of DeleteRepo. */
export interface DeleteRepoRequest {
  /** UID of the repo to remove. */
  readonly uid: string
}

/** Request of DeleteRoleBinding. */
export interface DeleteRoleBindingRequest {
  /** UID of the binding to remove. */
  readonly uid: string
}

/** Request of DeleteRole. */
export interface DeleteRoleRequest {
  /** UID of the custom role to remove. */
  readonly uid: string
}

/** Request of DeleteTag. */
export interface DeleteTagRequest {
  /** UID of the tag to remove. */
  readonly uid: string
}

/** Request of Delete. */
export interface DeletionRequest {
  /** UID of the caller's own identity. */
  readonly id: string
}

/** A distribution in the words of other formats. */
export interface Distribution {
  /** Ecosystem of OSV, e.g. `Wolfi` or `Alpine:v3.20`. */
  readonly ecosystem: string
  /** Namespace in package URLs, e.g. `wolfi`. */
  readonly namespace: string
}

/** A distribution in the words of other formats. */
export interface DistributionInput {
  /** Ecosystem of OSV, e.g. `Wolfi` or `Alpine:v3.20`. */
  readonly ecosystem?: string | undefined
  /** Namespace in package URLs, e.g. `wolfi`. */
  readonly namespace?: string | undefined
}

/** Sorts of entries, as a filter. */
export type EventTypeFilter =
  | 'EVENT_TYPE_FILTER_UNSPECIFIED'
  | 'EVENT_TYPE_FILTER_DETECTION'
  | 'EVENT_TYPE_FILTER_TRUE_POSITIVE_DETERMINATION'
  | 'EVENT_TYPE_FILTER_FIXED'
  | 'EVENT_TYPE_FILTER_FALSE_POSITIVE_DETERMINATION'
  | 'EVENT_TYPE_FILTER_ANALYSIS_NOT_PLANNED'
  | 'EVENT_TYPE_FILTER_FIX_NOT_PLANNED'
  | 'EVENT_TYPE_FILTER_PENDING_UPSTREAM_FIX'
  | 'EVENT_TYPE_FILTER_PATCHED'

/** One condition of an exchange. */
export interface ExchangeCondition {
  /**
   * What it is about: `form`, `issuer`, `time`, `key`, `signature`, `subject`, `audience`,
   * `claims.<name>` and so on.
   */
  readonly name: string
  /** Whether it holds. */
  readonly outcome: ExchangeConditionOutcome
  /** What the identity or the server asks for. */
  readonly expected: string
  /** What the token has. */
  readonly actual: string
  /** What to do about it, when it does not hold. Empty when there is nothing to say. */
  readonly hint: string
}

/** Whether a condition holds. */
export type ExchangeConditionOutcome =
  | 'OUTCOME_UNSPECIFIED'
  | 'OUTCOME_OK'
  | 'OUTCOME_FAILED'
  | 'OUTCOME_UNKNOWN'

/** Request of ExchangeRefreshToken. */
export interface ExchangeRefreshTokenRequest {
  /** Services that the new token is meant for, at least one. */
  readonly aud?: readonly string[] | undefined
  /**
   * UID of one group to limit the token to. Superseded by `scopes`, to which it is added.
   * @deprecated
   */
  readonly scope?: string | undefined
  /**
   * Capabilities to limit the token to, by short names such as `groups.list`. None leaves it
   * unlimited; an unknown one is INVALID_ARGUMENT.
   */
  readonly cap?: readonly string[] | undefined
  /** UIDs of groups to limit the token to. None leaves it unlimited. */
  readonly scopes?: readonly string[] | undefined
}

/** Request of Exchange. */
export interface ExchangeRequest {
  /** Services that the new token is meant for, at least one. */
  readonly aud?: readonly string[] | undefined
  /**
   * UID of one group to limit the token to. Superseded by `scopes`, to which it is added.
   * @deprecated
   */
  readonly scope?: string | undefined
  /**
   * UID of the identity to take on. Empty takes on the identity of the person that the bearer token
   * stands for.
   */
  readonly identity?: string | undefined
  /**
   * Capabilities to limit the token to, by short names such as `groups.list`. None leaves it
   * unlimited; an unknown one is INVALID_ARGUMENT.
   */
  readonly cap?: readonly string[] | undefined
  /**
   * UID of the organization's own identity provider that the bearer token comes from. Empty for all
   * others.
   */
  readonly identityProvider?: string | undefined
  /** UIDs of groups to limit the token to. None leaves it unlimited. */
  readonly scopes?: readonly string[] | undefined
}

/** Request of ExplainExchange. */
export interface ExplainExchangeRequest {
  /** UID of the identity. */
  readonly identity: string
  /** The token that would be the bearer value of an exchange. */
  readonly token: string
  /** UID of the organization's own identity provider that the token comes from. Empty for all others. */
  readonly identityProvider?: string | undefined
}

/** Answer of ExplainExchange. */
export interface ExplainExchangeResponse {
  /** Whether an exchange of the token would succeed now: every condition holds. */
  readonly accepted: boolean
  /** The conditions, in the order of an exchange. It ends with the first that does not hold. */
  readonly conditions: readonly ExchangeCondition[]
}

/** A role for the members of a group that an identity provider knows. */
export interface ExternalGroupRoleMapping {
  /** UID of the provider, a slash and 16 hexadecimal digits. */
  readonly uid: string
  /** UID of the identity provider. */
  readonly identityProviderUid: string
  /** The group as the provider names it: one value of the claim that holds its groups. */
  readonly externalGroupId: string
  /** UID of the role that members get. */
  readonly roleUid: string
  /** UID of the group in which they get it: the organization of the provider. */
  readonly scope: string
  /** When the mapping was created. */
  readonly createTime?: string
}

/** A role for the members of a group that an identity provider knows. */
export interface ExternalGroupRoleMappingInput {
  /** The group as the provider names it: one value of the claim that holds its groups. */
  readonly externalGroupId?: string | undefined
  /** UID of the role that members get. */
  readonly roleUid?: string | undefined
  /** UID of the group in which they get it: the organization of the provider. */
  readonly scope?: string | undefined
}

/** Request of GenerateScimToken. */
export interface GenerateScimTokenRequest {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** When the token ends: at most two years from now, one year when unset. */
  readonly expireTime?: string | undefined
  /** True issues a token without an end. Together with `expire_time` it is INVALID_ARGUMENT. */
  readonly neverExpires?: boolean | undefined
}

/** Answer of GenerateScimToken. */
export interface GenerateScimTokenResponse {
  /**
   * The token in full, shown this once: `cgscim_` and 64 hexadecimal digits. Only a digest of it is
   * kept.
   */
  readonly token: string
  /** Address to enter at the provider. */
  readonly endpointUrl: string
  /** When the token ends. Unset for one without an end. */
  readonly expireTime?: string
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Version of the provisioning state after this call. */
  readonly etag: string
}

/** Request of GetAccountAssociation. */
export interface GetAccountAssociationRequest {
  /** UID of the group whose association to read. */
  readonly uid: string
}

/** Request of GetAdvisoryDocuments. */
export interface GetAdvisoryDocumentsRequest {
  /** UID of the group that has them: not of one above it. */
  readonly parent: string
  /** Only documents of this format: `wolfi`, `osv`, `secdb`, `openvex` or `csaf`. Empty: of any. */
  readonly format?: string | undefined
  /** Only what calls itself so. Empty: any. */
  readonly id?: string | undefined
  /** Gives the document itself as well. Needs `format` and `id`: it is one at a time. */
  readonly content?: boolean | undefined
  /** Documents in a page: 0 means 50, and more than 200 means 200. */
  readonly pageSize?: number | undefined
  /** Cursor taken from `next_page_token` of the page before; empty starts at the first page. */
  readonly pageToken?: string | undefined
}

/** Answer of GetAdvisoryDocuments. */
export interface GetAdvisoryDocumentsResponse {
  /** The documents, by format and id. */
  readonly documents: readonly AdvisorySource[]
  /** Cursor of the next page; empty on the last one. */
  readonly nextPageToken: string
}

/** Request of GetAdvisoryFeed. */
export interface GetAdvisoryFeedRequest {
  /** UID of the feed to read. */
  readonly uid: string
}

/** Request of GetAdvisoryPublication. */
export interface GetAdvisoryPublicationRequest {
  /** UID of the group. */
  readonly uid: string
}

/** Request of GetAdvisory. */
export interface GetAdvisoryRequest {
  /** UID of the advisory to read; its public number will not do. */
  readonly uid: string
}

/** Request of GetAdvisorySources. */
export interface GetAdvisorySourcesRequest {
  /** UID of the advisory. */
  readonly uid: string
  /** Only documents of this format: `wolfi`, `osv`, `secdb`, `openvex` or `csaf`. Empty: of any. */
  readonly format?: string | undefined
  /** Only what calls itself so. Empty: any. */
  readonly id?: string | undefined
  /** Gives the document itself as well. Needs `format` and `id`: it is one at a time. */
  readonly content?: boolean | undefined
  /** Documents in a page: 0 means 50, and more than 200 means 200. */
  readonly pageSize?: number | undefined
  /** Cursor taken from `next_page_token` of the page before; empty starts at the first page. */
  readonly pageToken?: string | undefined
}

/** Answer of GetAdvisorySources. */
export interface GetAdvisorySourcesResponse {
  /** The documents, by format and id. */
  readonly sources: readonly AdvisorySource[]
  /** Cursor of the next page; empty on the last one. */
  readonly nextPageToken: string
}

/** Request of GetArchitectures. */
export interface GetArchitecturesRequest {
  /** UID of the repo that holds the image. */
  readonly repoUid: string
  /** Digest of the image index, as `algorithm:hex`. */
  readonly digest: string
}

/** Request of GetAuditEvent. */
export interface GetAuditEventRequest {
  /** UID of the event to read. */
  readonly uid: string
}

/** Request of GetExternalGroupRoleMapping. */
export interface GetExternalGroupRoleMappingRequest {
  /** UID of the mapping to read. */
  readonly uid: string
}

/** Request of GetGroupInvite. */
export interface GetGroupInviteRequest {
  /** UID of the invite to read. */
  readonly uid: string
}

/** Request of GetGroup. */
export interface GetGroupRequest {
  /** UID of the group to read. */
  readonly uid: string
}

/** Request of GetHeadlessSession. */
export interface GetHeadlessSessionRequest {
  /**
   * What the client put into the address that the person opened: its X25519 public key, in base64url
   * without padding.
   */
  readonly code: string
}

/** Request of GetIdentityProvider. */
export interface GetIdentityProviderRequest {
  /** UID of the provider to read. */
  readonly uid: string
}

/** Request of GetIdentity. */
export interface GetIdentityRequest {
  /** UID of the identity to read. */
  readonly uid: string
}

/** Request of GetRepoPolicy. */
export interface GetRepoPolicyRequest {
  /** UID of the repo. */
  readonly uid: string
}

/** Request of GetRepoReadme. */
export interface GetRepoReadmeRequest {
  /** UID of the repo whose page to read. */
  readonly uid: string
}

/** Request of GetRepo. */
export interface GetRepoRequest {
  /** UID of the repo to read. */
  readonly uid: string
}

/** Request of GetRoleBinding. */
export interface GetRoleBindingRequest {
  /** UID of the binding to read. */
  readonly uid: string
}

/** Request of GetRole. */
export interface GetRoleRequest {
  /** UID of the role to read. */
  readonly uid: string
}

/** Request of GetSize. */
export interface GetSizeRequest {
  /** UID of the repo that holds the image. */
  readonly repoUid: string
  /** Digest of the image index, as `algorithm:hex`. */
  readonly digest: string
  /** Architecture to measure, by its OCI name. Empty means `amd64`. */
  readonly architecture?: string | undefined
}

/** Request of GetTag. */
export interface GetTagRequest {
  /** UID of the tag to read. */
  readonly uid: string
}

/** A node of the tree that rights and resources hang on. A group without a parent is an organization. */
export interface Group {
  /**
   * Identifier, given by the server: 40 hexadecimal digits for an organization, and the parent's UID
   * plus `/` and 16 hexadecimal digits below it.
   */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Two groups under one parent never share a name. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. */
  readonly description: string
  /**
   * How many resources of a kind the organization may hold, by kind. A kind that is not named has no
   * ceiling here.
   */
  readonly resourceLimits: Readonly<Record<string, number>>
  /**
   * Whether the operator has confirmed who stands behind the organization. Only the operator sets it,
   * and only on organizations; false at first.
   */
  readonly verified: boolean
  /** When the group was created. */
  readonly createTime?: string
  /** When the group was last changed. */
  readonly updateTime?: string
  /**
   * What sort of organization this is. Only the operator sets it, and only on organizations, where it
   * is needed to create one as verified; groups below show the value of their organization.
   */
  readonly kind: OrgKind
  /** Whether the organization is in service. Groups below show the value of their organization. */
  readonly status: OrgStatus
}

/** A node of the tree that rights and resources hang on. A group without a parent is an organization. */
export interface GroupInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Two groups under one parent never share a name. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /**
   * Whether the operator has confirmed who stands behind the organization. Only the operator sets it,
   * and only on organizations; false at first.
   */
  readonly verified?: boolean | undefined
  /**
   * What sort of organization this is. Only the operator sets it, and only on organizations, where it
   * is needed to create one as verified; groups below show the value of their organization.
   */
  readonly kind?: OrgKind | undefined
}

/** A standing offer to join a group with a certain role. */
export interface GroupInvite {
  /** Identifier, given by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** UID of the role given to whoever accepts. */
  readonly roleUid: string
  /** The role given to whoever accepts. Unset when that role no longer exists. */
  readonly role?: GroupInviteRole
  /**
   * The one e-mail address that may accept, without a display name; upper and lower case count as the
   * same. Empty lets anyone accept who has the code.
   */
  readonly email: string
  /**
   * How long the invite stays open, counted from the request that sends it: at least a millisecond, at
   * most 365 days; what is finer than a millisecond is cut off. It is never returned. An update without
   * it leaves `expiration_time` as it is, unless its mask names `ttl` or is `*`: then it is needed.
   */
  readonly ttl?: string
  /** When the invite closes. */
  readonly expirationTime?: string
  /** Whether the invite is used up by the first person who accepts. */
  readonly singleUse: boolean
  /** The code to accept with. Only the answer of CreateGroupInvite carries it. */
  readonly code: string
  /** Identifier of the key that proves the code genuine. */
  readonly keyId: string
  /** When the invite was created. */
  readonly createTime?: string
}

/** A standing offer to join a group with a certain role. */
export interface GroupInviteInput {
  /** UID of the role given to whoever accepts. */
  readonly roleUid: string
  /**
   * The one e-mail address that may accept, without a display name; upper and lower case count as the
   * same. Empty lets anyone accept who has the code.
   */
  readonly email?: string | undefined
  /**
   * How long the invite stays open, counted from the request that sends it: at least a millisecond, at
   * most 365 days; what is finer than a millisecond is cut off. It is never returned. An update without
   * it leaves `expiration_time` as it is, unless its mask names `ttl` or is `*`: then it is needed.
   */
  readonly ttl: string
  /** Whether the invite is used up by the first person who accepts. */
  readonly singleUse?: boolean | undefined
}

/** What an invite shows of its role. */
export interface GroupInviteRole {
  /** UID of the role. */
  readonly uid: string
  /** Name of the role. */
  readonly name: string
  /** Description of the role. */
  readonly description: string
  /** What the role allows, in ascending number. */
  readonly capabilities: readonly Capability[]
}

/** A group, as interfaces of version 1 show it. */
export interface GroupV1 {
  /** Identifier: the `uid` of newer versions. */
  readonly id: string
  /** Name. */
  readonly name: string
  /** Free text. */
  readonly description: string
  /**
   * How many resources of a kind an organization may hold. Kinds without a limit are left out, and so
   * are the limits of groups below.
   */
  readonly resourceLimits: Readonly<Record<string, number>>
  /** Whether the operator has verified the organization that the group belongs to. */
  readonly verified: boolean
  /** What sort of organization this is. Groups below show the value of their organization. */
  readonly kind: OrgKindV1
  /** Whether the organization is in service. Groups below show the value of their organization. */
  readonly status: OrgStatusV1
}

/** What somebody left for a client. */
export interface HeadlessSession {
  /** The server's X25519 public key, as the ASCII text of its base64url without padding. */
  readonly ecdhPublicKey: string
  /**
   * Nonce of 12 bytes, then the ID token encrypted with AES-256-GCM and its tag. The key is the raw
   * shared secret of both key pairs.
   */
  readonly encryptedIdtoken: string
}

/** A person or a workload that can hold roles. */
export interface Identity {
  /**
   * Identifier, given by the server: the group's UID plus `/` and 16 hexadecimal digits, or 40
   * hexadecimal digits for a person.
   */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Several identities may share one. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. */
  readonly description: string
  /** E-mail address that the issuer of the person's token vouches for. */
  readonly email: string
  /**
   * E-mail address found in the person's token that the issuer does not vouch for. It is for display
   * and decides nothing.
   */
  readonly emailUnverified: string
  /** Company the person works for, as free text. */
  readonly company: string
  /** When the identity was last taken on through a token exchange; at first the time of creation. */
  readonly lastSeenTime?: string
  /** When the identity was created. */
  readonly createTime?: string
  /** When the identity was last changed. */
  readonly updateTime?: string
  /** Whoever holds a token of a public OpenID Connect issuer with matching claims. */
  readonly claimMatch?: IdentityClaimMatch
  /** Whoever holds a token signed with keys that are stored here, for issuers that cannot be reached. */
  readonly staticKeys?: IdentityStaticKeys
  /** Whoever proves to be a certain principal of an AWS account. */
  readonly awsIdentity?: IdentityAWSIdentity
  /** One of the platform's own services. */
  readonly servicePrincipal?: ServicePrincipal
}

/**
 * A principal of an AWS account, as reported by the AWS call GetCallerIdentity. Patterns are RE2
 * regular expressions that must match the whole value.
 */
export interface IdentityAWSIdentity {
  /** Account number: 12 decimal digits. */
  readonly awsAccount: string
  /** The exact `Arn`. */
  readonly arn?: string
  /** Pattern that the `Arn` must match. */
  readonly arnPattern?: string
  /** The exact `UserId`. */
  readonly userId?: string
  /** Pattern that the `UserId` must match. */
  readonly userIdPattern?: string
}

/**
 * A principal of an AWS account, as reported by the AWS call GetCallerIdentity. Patterns are RE2
 * regular expressions that must match the whole value.
 */
export interface IdentityAWSIdentityInput {
  /** Account number: 12 decimal digits. */
  readonly awsAccount: string
  /** The exact `Arn`. */
  readonly arn?: string | undefined
  /** Pattern that the `Arn` must match. */
  readonly arnPattern?: string | undefined
  /** The exact `UserId`. */
  readonly userId?: string | undefined
  /** Pattern that the `UserId` must match. */
  readonly userIdPattern?: string | undefined
}

/**
 * Rules on the claims of an OpenID Connect token. Exact values compare character by character;
 * patterns are RE2 regular expressions that must match the whole value.
 */
export interface IdentityClaimMatch {
  /** The exact issuer, an absolute URL. */
  readonly issuer?: string
  /** Pattern that the issuer must match. */
  readonly issuerPattern?: string
  /** The exact subject. */
  readonly subject?: string
  /** Pattern that the subject must match. */
  readonly subjectPattern?: string
  /** The exact audience. */
  readonly audience?: string
  /** Pattern that an audience must match. */
  readonly audiencePattern?: string
  /** Further claims by name, each with the exact value it must have. */
  readonly claims: Readonly<Record<string, string>>
  /** Further claims by name, each with a pattern that its value must match. */
  readonly claimPatterns: Readonly<Record<string, string>>
}

/**
 * Rules on the claims of an OpenID Connect token. Exact values compare character by character;
 * patterns are RE2 regular expressions that must match the whole value.
 */
export interface IdentityClaimMatchInput {
  /** The exact issuer, an absolute URL. */
  readonly issuer?: string | undefined
  /** Pattern that the issuer must match. */
  readonly issuerPattern?: string | undefined
  /** The exact subject. */
  readonly subject?: string | undefined
  /** Pattern that the subject must match. */
  readonly subjectPattern?: string | undefined
  /** The exact audience. */
  readonly audience?: string | undefined
  /** Pattern that an audience must match. */
  readonly audiencePattern?: string | undefined
  /** Further claims by name, each with the exact value it must have. */
  readonly claims?: Readonly<Record<string, string>> | undefined
  /** Further claims by name, each with a pattern that its value must match. */
  readonly claimPatterns?: Readonly<Record<string, string>> | undefined
}

/** A person or a workload that can hold roles. */
export interface IdentityInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Several identities may share one. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /** Company the person works for, as free text. */
  readonly company?: string | undefined
  /** Whoever holds a token of a public OpenID Connect issuer with matching claims. */
  readonly claimMatch?: IdentityClaimMatchInput | undefined
  /** Whoever holds a token signed with keys that are stored here, for issuers that cannot be reached. */
  readonly staticKeys?: IdentityStaticKeysInput | undefined
  /** Whoever proves to be a certain principal of an AWS account. */
  readonly awsIdentity?: IdentityAWSIdentityInput | undefined
  /** One of the platform's own services. */
  readonly servicePrincipal?: ServicePrincipal | undefined
}

/** What a person tells about themselves and how they found the platform. */
export interface IdentityMetadata {
  /** UID of the caller's own identity. */
  readonly uid: string
  /** Full name, from the token the person signed in with. */
  readonly name: string
  /** Given name, taken from the full name. */
  readonly givenName: string
  /** Family name, taken from the full name. */
  readonly familyName: string
  /** Company the person works for. */
  readonly company: string
  /** Whether the person wants news by mail. */
  readonly updatesOptIn: boolean
  /** Product the person is interested in. */
  readonly product: string
  /** The person's job title. */
  readonly jobTitle: string
  /** Campaign the visit belongs to. */
  readonly utmCampaign: string
  /** Variant of the campaign's content. */
  readonly utmContent: string
  /** Channel of the campaign, such as mail. */
  readonly utmMedium: string
  /** Site or sender the visit came from. */
  readonly utmSource: string
  /** Search term that led to the visit. */
  readonly utmTerm: string
  /** Address of the form that was sent last. */
  readonly latestFormSubmitUrl: string
  /** Address of the platform's own page that led here last. */
  readonly latestInternalReferringUrl: string
  /** Visitor mark of a customer relations system. It is passed on and never stored. */
  readonly hubspotUtk: string
  /** Whether the person came through self-service sign-up. */
  readonly selfServe: boolean
}

/** What a person tells about themselves and how they found the platform. */
export interface IdentityMetadataInput {
  /** Company the person works for. */
  readonly company?: string | undefined
  /** Whether the person wants news by mail. */
  readonly updatesOptIn?: boolean | undefined
  /** Product the person is interested in. */
  readonly product?: string | undefined
  /** The person's job title. */
  readonly jobTitle?: string | undefined
  /** Campaign the visit belongs to. */
  readonly utmCampaign?: string | undefined
  /** Variant of the campaign's content. */
  readonly utmContent?: string | undefined
  /** Channel of the campaign, such as mail. */
  readonly utmMedium?: string | undefined
  /** Site or sender the visit came from. */
  readonly utmSource?: string | undefined
  /** Search term that led to the visit. */
  readonly utmTerm?: string | undefined
  /** Address of the form that was sent last. */
  readonly latestFormSubmitUrl?: string | undefined
  /** Address of the platform's own page that led here last. */
  readonly latestInternalReferringUrl?: string | undefined
  /** Visitor mark of a customer relations system. It is passed on and never stored. */
  readonly hubspotUtk?: string | undefined
  /** Whether the person came through self-service sign-up. */
  readonly selfServe?: boolean | undefined
}

/** An account system through which the people of an organization sign in. */
export interface IdentityProvider {
  /** Identifier, given by the server: the organization's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. */
  readonly description: string
  /** When the provider was created. */
  readonly createTime?: string
  /** When the provider was last changed. */
  readonly updateTime?: string
  /**
   * UID of the role given to a person at the first sign-in. People who already had an identity keep
   * what they have.
   */
  readonly defaultRole: string
  /** Through OpenID Connect. */
  readonly oidc?: IdentityProviderOIDC
  /**
   * State of account provisioning. Values sent in a request are ignored, so a provider that was read
   * can be sent back.
   */
  readonly scim?: IdentityProviderSCIM
  /**
   * Which redirect URI sign-ins through this provider use. A new provider always has CALLBACK_OWN. An
   * update can change CALLBACK_SHARED to CALLBACK_OWN; the other direction is refused. Unset keeps the
   * stored value. A change of the issuer changes it to CALLBACK_OWN.
   */
  readonly callback: IdentityProviderCallback
  /** The provider's own redirect URI, to be registered at the provider exactly as it is here. */
  readonly redirectUri: string
  /**
   * Why sign-in through this provider is refused, and what to do. Empty if it is not refused. Reported
   * by GetIdentityProvider only.
   */
  readonly signInProblem: string
}

/** Redirect URIs that a provider can use. */
export type IdentityProviderCallback =
  | 'CALLBACK_UNSPECIFIED'
  | 'CALLBACK_OWN'
  | 'CALLBACK_SHARED'

/** An account system through which the people of an organization sign in. */
export interface IdentityProviderInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /**
   * UID of the role given to a person at the first sign-in. People who already had an identity keep
   * what they have.
   */
  readonly defaultRole: string
  /** Through OpenID Connect. */
  readonly oidc: IdentityProviderOIDCInput
  /**
   * Which redirect URI sign-ins through this provider use. A new provider always has CALLBACK_OWN. An
   * update can change CALLBACK_SHARED to CALLBACK_OWN; the other direction is refused. Unset keeps the
   * stored value. A change of the issuer changes it to CALLBACK_OWN.
   */
  readonly callback?: IdentityProviderCallback | undefined
}

/** Settings of an OpenID Connect provider. It needs a client secret, proof keys, or both. */
export interface IdentityProviderOIDC {
  /** Issuer, an absolute URL under which the provider publishes its discovery document. */
  readonly issuer: string
  /** Client identifier that the provider assigned. It is not a secret. */
  readonly clientId: string
  /**
   * Client secret that the provider assigned. It is never returned; an update that sends it empty
   * keeps the stored one unless the mask names this field.
   */
  readonly clientSecret: string
  /** Scopes to ask for after `openid`, which is always asked for, in this order. */
  readonly additionalScopes: readonly string[]
  /** Claim that holds the person's groups at the provider. Empty reads no groups. */
  readonly groupsClaim: string
  /**
   * How a sign-in finds the account that provisioning created. Fixed when the provider is created:
   * changing it is refused, repeating it is not.
   */
  readonly correlationRule: IdentityProviderOIDCCorrelationRule
  /**
   * Whether to use proof keys (RFC 7636) towards the provider. Refused when the provider's discovery
   * document rules them out.
   */
  readonly pkceEnabled: boolean
}

/** Claims that can tie a sign-in to a provisioned account. */
export type IdentityProviderOIDCCorrelationRule =
  | 'CORRELATION_RULE_UNSPECIFIED'
  | 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID'
  | 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID'

/** Settings of an OpenID Connect provider. It needs a client secret, proof keys, or both. */
export interface IdentityProviderOIDCInput {
  /** Issuer, an absolute URL under which the provider publishes its discovery document. */
  readonly issuer: string
  /** Client identifier that the provider assigned. It is not a secret. */
  readonly clientId: string
  /**
   * Client secret that the provider assigned. It is never returned; an update that sends it empty
   * keeps the stored one unless the mask names this field.
   */
  readonly clientSecret?: string | undefined
  /** Scopes to ask for after `openid`, which is always asked for, in this order. */
  readonly additionalScopes?: readonly string[] | undefined
  /** Claim that holds the person's groups at the provider. Empty reads no groups. */
  readonly groupsClaim?: string | undefined
  /**
   * How a sign-in finds the account that provisioning created. Fixed when the provider is created:
   * changing it is refused, repeating it is not.
   */
  readonly correlationRule?: IdentityProviderOIDCCorrelationRule | undefined
  /**
   * Whether to use proof keys (RFC 7636) towards the provider. Refused when the provider's discovery
   * document rules them out.
   */
  readonly pkceEnabled?: boolean | undefined
}

/** State of account provisioning by SCIM (RFC 7644). */
export interface IdentityProviderSCIM {
  /** Whether the provider may manage accounts. Only SetScimEnabled changes it. */
  readonly enabled: boolean
  /** Address the provider sends its requests to, derived from the provider's UID. */
  readonly endpointUrl: string
  /**
   * When the current token ends, or ended if that is past. Unset when there is none, when it never
   * ends, and in lists.
   */
  readonly tokenExpireTime?: string
  /** When the replaced token stops, or stopped, working. Unset when there is none. */
  readonly previousTokenExpireTime?: string
  /** What can be said of the current token. Not reported in lists. */
  readonly credentialState: IdentityProviderSCIMCredentialState
  /** Version of this state, to be sent back with RegenerateScimToken and SetScimEnabled. */
  readonly etag: string
}

/** Conditions of the provisioning token. */
export type IdentityProviderSCIMCredentialState =
  | 'CREDENTIAL_STATE_UNSPECIFIED'
  | 'CREDENTIAL_STATE_NOT_ISSUED'
  | 'CREDENTIAL_STATE_LIVE'
  | 'CREDENTIAL_STATE_EXPIRED'
  | 'CREDENTIAL_STATE_REVOKED'
  | 'CREDENTIAL_STATE_ROTATING'

/** A token issuer whose public keys are stored with the identity. */
export interface IdentityStaticKeys {
  /** The exact `iss` claim, an absolute URL. */
  readonly issuer: string
  /** The exact `sub` claim. */
  readonly subject: string
  /** The issuer's public keys: a JSON Web Key Set as text. */
  readonly issuerKeys: string
  /**
   * When the keys stop being accepted. The default is 365 days after creation, which is also the
   * latest allowed.
   */
  readonly expirationTime?: string
  /**
   * Audience that tokens must carry: none, or exactly one. Without one, the platform's own audiences
   * are accepted.
   */
  readonly audiences: readonly string[]
}

/** A token issuer whose public keys are stored with the identity. */
export interface IdentityStaticKeysInput {
  /** The exact `iss` claim, an absolute URL. */
  readonly issuer: string
  /** The exact `sub` claim. */
  readonly subject: string
  /** The issuer's public keys: a JSON Web Key Set as text. */
  readonly issuerKeys: string
  /**
   * When the keys stop being accepted. The default is 365 days after creation, which is also the
   * latest allowed.
   */
  readonly expirationTime?: string | undefined
  /**
   * Audience that tokens must carry: none, or exactly one. Without one, the platform's own audiences
   * are accepted.
   */
  readonly audiences?: readonly string[] | undefined
}

/**
 * Tags that can be created, and then neither moved nor deleted by any caller. The manifests that they point
 * at cannot be deleted either. Such an attempt fails with FAILED_PRECONDITION, type TAG_IMMUTABLE. Pushing
 * the digest that a tag already points at changes nothing. A caller with `repo_policies.update` can change
 * the policy, and can delete or rename the repo.
 */
export interface ImmutableTags {
  /** Names of tags: `*` stands for any characters, `?` for one. `*` alone means all tags; nothing, none. */
  readonly patterns: readonly string[]
  /** Of those, the ones that can be moved and deleted nevertheless. */
  readonly exceptions: readonly string[]
}

/**
 * Tags that can be created, and then neither moved nor deleted by any caller. The manifests that they point
 * at cannot be deleted either. Such an attempt fails with FAILED_PRECONDITION, type TAG_IMMUTABLE. Pushing
 * the digest that a tag already points at changes nothing. A caller with `repo_policies.update` can change
 * the policy, and can delete or rename the repo.
 */
export interface ImmutableTagsInput {
  /** Names of tags: `*` stands for any characters, `?` for one. `*` alone means all tags; nothing, none. */
  readonly patterns?: readonly string[] | undefined
  /** Of those, the ones that can be moved and deleted nevertheless. */
  readonly exceptions?: readonly string[] | undefined
}

/** Request of ImportAdvisoryDocuments. */
export interface ImportAdvisoryDocumentsRequest {
  /** UID of the group that the advisories belong to. */
  readonly parent: string
  /** The documents, each judged by itself. */
  readonly documents: readonly AdvisoryDocument[]
  /** Tells what would change, and changes nothing. */
  readonly dryRun?: boolean | undefined
}

/** Answer of ImportAdvisoryDocuments. */
export interface ImportAdvisoryDocumentsResponse {
  /** What became of each document, in the order of the request. */
  readonly documents: readonly ImportedDocument[]
}

/** What became of many documents. */
export interface ImportCounts {
  /** Documents that were read. */
  readonly documents: number
  /** Files that are no documents. */
  readonly skipped: number
  /** Documents that were not taken. */
  readonly rejected: number
  /** Advisories that are new. */
  readonly created: number
  /** Advisories that say something else now. */
  readonly updated: number
  /** Advisories that say what they said before. */
  readonly unchanged: number
  /** Advisories that are marked as deleted now. */
  readonly withdrawn: number
  /** Entries that another document tells more about. */
  readonly covered: number
  /** Vulnerabilities whose scores are new or changed. */
  readonly scored: number
  /** The first documents that were not taken, with line and reason. */
  readonly rejections: readonly ImportedDocument[]
  /** Documents of which a newer version is there: they changed nothing. */
  readonly older: number
}

/** What became of a document. */
export interface ImportedDocument {
  /** As in the request. */
  readonly name: string
  /** The format it is in; empty when that could not be told. */
  readonly format: string
  /** Whether its advisories are there now. */
  readonly accepted: boolean
  /** Why it was not taken. Empty for one that was. */
  readonly reason: string
  /** Line of the document that the reason is about, from 1. 0: no line can be told. */
  readonly line: number
  /** Advisories that are new. */
  readonly created: number
  /** Advisories that say something else now. */
  readonly updated: number
  /** Advisories that say what they said before. */
  readonly unchanged: number
  /** Advisories that are marked as deleted now. */
  readonly withdrawn: number
  /** Entries that another document tells more about: nothing was made of them. */
  readonly covered: number
  /** Vulnerabilities whose scores are new or changed. */
  readonly scored: number
  /** Events of its advisories, by the name of the event's field in the schema, e.g. `fixed`. */
  readonly events: Readonly<Record<string, number>>
  /** What the schema has no field for. It is kept with the document. */
  readonly unmapped: readonly UnmappedField[]
  /** 1 for a document of which a newer version is there: it changed nothing. */
  readonly older: number
}

/** Request of ListAccountAssociations. Filters that are set must all hold. */
export interface ListAccountAssociationsRequest {
  /** Part of the group tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps associations with exactly this name; empty keeps all. */
  readonly name?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `group asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListAccountAssociations. */
export interface ListAccountAssociationsResponse {
  /** The results of this page, in the requested order. */
  readonly accountAssociations: readonly AccountAssociation[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/**
 * Request of ListAdvisories. Filters that are set must all hold, a filter with several values holds
 * for any of them, and different entries of a history may satisfy different filters.
 */
export interface ListAdvisoriesRequest {
  /** Part of the group tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps advisories with one of these public numbers. */
  readonly advisoryIds?: readonly string[] | undefined
  /** Keeps advisories with one of these numbers in an older collection. */
  readonly legacyAdvisoryIds?: readonly string[] | undefined
  /** Keeps advisories about one of these artifacts. Ignored when `origin` is set. */
  readonly artifactNames?: readonly string[] | undefined
  /** Keeps advisories about artifacts of one of these sorts. */
  readonly artifactTypes?: readonly string[] | undefined
  /** Keeps advisories about artifacts for one of these architectures. */
  readonly artifactArchitectures?: readonly string[] | undefined
  /** Keeps advisories about one of these components. */
  readonly componentNames?: readonly string[] | undefined
  /** Keeps advisories about components of one of these ecosystems. */
  readonly componentTypes?: readonly string[] | undefined
  /** Keeps advisories about components at one of these paths. */
  readonly componentLocations?: readonly string[] | undefined
  /** Keeps advisories that carry at least one of these numbers, such as a CVE's. */
  readonly aliases?: readonly string[] | undefined
  /**
   * Keeps advisories about the package of this name and the packages that are built from it. Unset or
   * empty keeps all.
   */
  readonly origin?: string | undefined
  /** Keeps advisories with an entry in one of these stages of review. */
  readonly eventReviewStates?: readonly ReviewState[] | undefined
  /** Keeps advisories with an entry by one of these authors. */
  readonly eventAuthors?: readonly string[] | undefined
  /** Drops advisories with an entry by any of these authors. */
  readonly excludeEventAuthors?: readonly string[] | undefined
  /** Keeps advisories with an entry reviewed by one of these people. */
  readonly eventReviewers?: readonly string[] | undefined
  /** Keeps advisories with an entry of one of these sorts. */
  readonly eventTypes?: readonly EventTypeFilter[] | undefined
  /** Keeps advisories whose newest approved entry is of this sort. */
  readonly latestEventType?: EventTypeFilter | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
  /**
   * Keeps advisories in which the artifact's name, the component's name or an alias contains this
   * text, upper and lower case alike; empty keeps all.
   */
  readonly query?: string | undefined
}

/** Answer of ListAdvisories. */
export interface ListAdvisoriesResponse {
  /** The results of this page, in the requested order. */
  readonly advisories: readonly Advisory[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListAdvisoryFeeds. Filters that are set must all hold. */
export interface ListAdvisoryFeedsRequest {
  /** Part of the tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps the feeds of exactly this address; empty keeps all. */
  readonly url?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListAdvisoryFeeds. */
export interface ListAdvisoryFeedsResponse {
  /** The results of this page, in the requested order. */
  readonly advisoryFeeds: readonly AdvisoryFeed[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListAuditEvents. Filters that are set must all hold. */
export interface ListAuditEventsRequest {
  /**
   * Part of the tree to look in: `descendants_of` a group gives the events about the group and all that
   * is in it, `children_of` a UID those about exactly that.
   */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps events of this actor; empty keeps all. */
  readonly actor?: string | undefined
  /** Keeps events of this method, by its full name or by its own alone (`CreateGroup`); empty keeps all. */
  readonly method?: string | undefined
  /** Keeps events about exactly this UID; empty keeps all. */
  readonly resourceUid?: string | undefined
  /** Keeps events at or after this time. */
  readonly since?: string | undefined
  /** Keeps events before this time. */
  readonly until?: string | undefined
  /** Keeps events that ended so: 0 what was done, 7 what was denied. */
  readonly code?: number | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `created_at desc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListAuditEvents. */
export interface ListAuditEventsResponse {
  /** The results of this page, in the requested order. */
  readonly events: readonly AuditEvent[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListExternalGroupRoleMappings. Filters that are set must all hold. */
export interface ListExternalGroupRoleMappingsRequest {
  /** Part of the tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps the mappings of this identity provider; empty keeps all. */
  readonly identityProviderUid?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListExternalGroupRoleMappings. */
export interface ListExternalGroupRoleMappingsResponse {
  /** The results of this page, in the requested order. */
  readonly externalGroupRoleMappings: readonly ExternalGroupRoleMapping[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListGroupInvites. Filters that are set must all hold. */
export interface ListGroupInvitesRequest {
  /** Part of the group tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps invites with exactly this `key_id`; empty keeps all. */
  readonly keyId?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `created_at desc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListGroupInvites. */
export interface ListGroupInvitesResponse {
  /** The results of this page, in the requested order. */
  readonly groupInvites: readonly GroupInvite[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListGroups. Filters that are set must all hold. */
export interface ListGroupsRequest {
  /** Part of the group tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps groups with exactly this name; empty keeps all. */
  readonly name?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListGroups. */
export interface ListGroupsResponse {
  /** The results of this page, in the requested order. */
  readonly groups: readonly Group[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListIdentities. Filters that are set must all hold. */
export interface ListIdentitiesRequest {
  /** Part of the group tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps identities with exactly this name; empty keeps all. */
  readonly name?: string | undefined
  /** Keeps identities that are taken on in this way; unset keeps all. */
  readonly relationshipType?: RelationshipType | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListIdentities. */
export interface ListIdentitiesResponse {
  /** The results of this page, in the requested order. */
  readonly identities: readonly Identity[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListIdentityProviders. Filters that are set must all hold. */
export interface ListIdentityProvidersRequest {
  /** Part of the group tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps providers with exactly this name; empty keeps all. */
  readonly name?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListIdentityProviders. */
export interface ListIdentityProvidersResponse {
  /** The results of this page, in the requested order. */
  readonly identityProviders: readonly IdentityProvider[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListRepos. Filters that are set must all hold. */
export interface ListReposRequest {
  /** Part of the group tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps repos with exactly this name; unset or empty keeps all. */
  readonly name?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListRepos. */
export interface ListReposResponse {
  /** The results of this page, in the requested order. */
  readonly repos: readonly Repo[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListRoleBindings. Filters that are set must all hold. */
export interface ListRoleBindingsRequest {
  /** Part of the group tree to look in. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps bindings of the identity with this UID; empty keeps all. */
  readonly identity?: string | undefined
  /** Keeps bindings at the group with this UID, not below it; empty keeps all. */
  readonly group?: string | undefined
  /** Keeps bindings of the role with this UID; empty keeps all. */
  readonly role?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListRoleBindings. */
export interface ListRoleBindingsResponse {
  /** The results of this page, in the requested order. */
  readonly roleBindings: readonly RoleBinding[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListRoles. Filters that are set must all hold. */
export interface ListRolesRequest {
  /** Part of the group tree to look in. Managed roles lie at the root level. */
  readonly uidp?: UIDPFilter | undefined
  /** Keeps roles with exactly this name; empty keeps all. */
  readonly name?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListRoles. */
export interface ListRolesResponse {
  /** The results of this page, in the requested order. */
  readonly roles: readonly Role[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of ListTags. Filters that are set must all hold. */
export interface ListTagsRequest {
  /** Part of the tree to look in; `children_of` with a repo's UID lists the tags of that repo. */
  readonly uidp?: UIDPFilter | undefined
  /**
   * Keeps tags with exactly this name; empty keeps all. A name of a form that is left out by default
   * still needs its switch.
   */
  readonly name?: string | undefined
  /** Keeps tags that were changed later than this. */
  readonly updatedSince?: string | undefined
  /**
   * Also returns tags whose name begins with `sha256-`, which attach signatures and the like to a
   * digest.
   */
  readonly includeReferrers?: boolean | undefined
  /** Also returns tags whose name ends in a date, as in `-20yymmdd`. */
  readonly includeDates?: boolean | undefined
  /** Also returns tags whose name ends in a package revision, as in `-r` and a number. */
  readonly includeEpochs?: boolean | undefined
  /** Keeps tags that point at this digest; empty keeps all. */
  readonly digest?: string | undefined
  /**
   * How many results one page may hold. 0 or unset means 50; more than 200 counts as 200; a negative
   * value is INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
  /**
   * Cursor taken from `next_page_token` of the page before; empty starts at the first page. It is
   * valid for three days, and only for the same caller, filters and order; an expired one starts over.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`; ascending when no direction is
   * given. Unset means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Results to pass over before the page begins, counted from the cursor when `page_token` is given. 0
   * or more; a negative value is INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Answer of ListTags. */
export interface ListTagsResponse {
  /** The results of this page, in the requested order. */
  readonly tags: readonly Tag[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. Always set in an answer. */
  readonly totalCount?: string
  /** Number of results passed over by `skip` up to and including this page. */
  readonly skipped: number
}

/** Request of LookupGroup. The caller's token says all there is to say. */
export type LookupGroupRequest = Readonly<Record<string, never>>

/** Answer of LookupGroup. */
export interface LookupGroupResponse {
  /** Verified organization whose name is the caller's e-mail domain. */
  readonly group?: Group
}

/** Request of LookupIdentity. */
export interface LookupIdentityRequest {
  /** Issuer of the person's tokens, a URL. */
  readonly issuer: string
  /** Subject under which the issuer knows the person. */
  readonly subject: string
}

/** Answer of LookupIdentity. */
export interface LookupIdentityResponse {
  /** UID of the person's identity, or the one it will have from the first sign-in on. */
  readonly uid: string
}

/** Sorts of organization. */
export type OrgKind =
  | 'ORG_KIND_UNSPECIFIED'
  | 'ORG_KIND_STARTER'
  | 'ORG_KIND_CUSTOMER'
  | 'ORG_KIND_DEV'
  | 'ORG_KIND_INFRA'
  | 'ORG_KIND_AWS_MARKETPLACE'

/** Sorts of organization. */
export type OrgKindV1 =
  | 'ORG_KIND_UNSPECIFIED'
  | 'ORG_KIND_STARTER'
  | 'ORG_KIND_CUSTOMER'
  | 'ORG_KIND_DEV'
  | 'ORG_KIND_INFRA'
  | 'ORG_KIND_AWS_MARKETPLACE'

/** Stages in the life of an organization. */
export type OrgStatus =
  | 'ORG_STATUS_UNSPECIFIED'
  | 'ORG_STATUS_INITIALIZING'
  | 'ORG_STATUS_READY'
  | 'ORG_STATUS_SUSPENDED'

/** Stages in the life of an organization. */
export type OrgStatusV1 =
  | 'ORG_STATUS_UNSPECIFIED'
  | 'ORG_STATUS_INITIALIZING'
  | 'ORG_STATUS_READY'
  | 'ORG_STATUS_SUSPENDED'

/** Request of Ping. */
export type PingRequest = Readonly<Record<string, never>>

/** Answer of Ping. */
export interface PingResponse {
  /** A word of greeting; its wording is not fixed. */
  readonly response: string
}

/** Request of PreviewRetention. */
export interface PreviewRetentionRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Rules to try, `enabled` or not. Unset: those of the policy. */
  readonly retention?: RetentionInput | undefined
  /** Leaves out what stays. */
  readonly deletedOnly?: boolean | undefined
  /** Results in a page: 0 means 50, and more than 200 means 200. */
  readonly pageSize?: number | undefined
  /** Cursor taken from `next_page_token` of the page before; empty starts at the first page. */
  readonly pageToken?: string | undefined
  /** Immutable tags to try. Unset: those of the policy. */
  readonly immutableTags?: ImmutableTagsInput | undefined
}

/** Answer of PreviewRetention. */
export interface PreviewRetentionResponse {
  /** Tags by their names, then manifests by their digests. */
  readonly verdicts: readonly RetentionVerdict[]
  /** Cursor for the page that follows; empty on the last page. */
  readonly nextPageToken: string
  /** How many tags and manifests would be deleted, over all pages. */
  readonly deletedTags: number
  /** The same of manifests. */
  readonly deletedManifests: number
}

/** What is known of a person besides their identity. */
export interface Profile {
  /** How they are called. */
  readonly name: string
  /** Address of a picture. */
  readonly picture: string
  /** Their given name. */
  readonly givenName: string
  /** Their family name. */
  readonly familyName: string
}

/** A token and what goes with it. */
export interface RawToken {
  /** The token, to be sent as a bearer value. */
  readonly token: string
  /** A refresh token that goes with it. Empty when none is given. */
  readonly refreshToken: string
  /** When the token ends. */
  readonly expiry?: string
}

/** Request of RegenerateScimToken. */
export interface RegenerateScimTokenRequest {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /**
   * How long the old token works on: one hour when unset, not at all when 0, at most 24 hours. A token
   * that no longer works stays that way.
   */
  readonly overlap?: string | undefined
  /** When the new token ends: at most two years from now, one year when unset. */
  readonly expireTime?: string | undefined
  /**
   * Version of the provisioning state that the caller has seen. The call fails when it is not the
   * current one.
   */
  readonly etag: string
  /** True issues a token without an end. Together with `expire_time` it is INVALID_ARGUMENT. */
  readonly neverExpires?: boolean | undefined
}

/** Answer of RegenerateScimToken. */
export interface RegenerateScimTokenResponse {
  /**
   * The new token in full, shown this once: `cgscim_` and 64 hexadecimal digits. Only a digest of it
   * is kept.
   */
  readonly token: string
  /** Address to enter at the provider. */
  readonly endpointUrl: string
  /** When the new token ends. Unset for one without an end. */
  readonly expireTime?: string
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Version of the provisioning state after this call. */
  readonly etag: string
  /** When the old token stops working. Unset when it had stopped before. */
  readonly previousTokenExpireTime?: string
  /** The overlap that was asked for, with the default filled in. The effective end may come earlier. */
  readonly requestedOverlap?: string
}

/** Request of Register. */
export interface RegistrationRequest {
  /** Code of an invite to accept. Empty for none. */
  readonly code?: string | undefined
  /**
   * UID of the identity that the bearer token stands for, when the caller knows it; INVALID_ARGUMENT when
   * it is another one.
   */
  readonly identityId?: string | undefined
}

/** Ways in which an identity can be taken on, as a filter. */
export type RelationshipType =
  | 'RELATIONSHIP_TYPE_UNSPECIFIED'
  | 'RELATIONSHIP_TYPE_CLAIM_MATCH'
  | 'RELATIONSHIP_TYPE_STATIC'
  | 'RELATIONSHIP_TYPE_AWS_IDENTITY'
  | 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL'

/** A place in the registry that holds the versions of one image. */
export interface Repo {
  /** Identifier, given by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Two repos of one group never share a name. */
  readonly name: string
  /**
   * Free text of at most 512 characters, without control characters. A repo that copies another one
   * starts with the description of its source.
   */
  readonly description: string
  /**
   * Class of the image in the catalog, set by the operator. A repo that copies another one has the
   * class of its source, and changing it is INVALID_ARGUMENT.
   */
  readonly catalogTier: CatalogTier
  /**
   * Labels under which the image is offered, set by the operator. A repo that copies another one has
   * those of its source, and changing them is INVALID_ARGUMENT.
   */
  readonly bundles: readonly string[]
  /**
   * Image references elsewhere that stand for the same software, each with a tag; set by the operator.
   * A repo that copies another one has those of its source, and changing them is INVALID_ARGUMENT.
   */
  readonly aliases: readonly string[]
  /**
   * Tags that still receive updates, set by the operator. A repo that copies another one has those of
   * its source, and changing them is INVALID_ARGUMENT.
   */
  readonly activeTags: readonly string[]
  /** How the repo copies another one. Unset for a repo that is filled by pushing. */
  readonly sync_config?: SyncConfig
  /**
   * Changes to make to images as they are built for this repo. Fails with FAILED_PRECONDITION where
   * such builds are not enabled.
   */
  readonly customOverlay?: CustomOverlay
  /** When the repo was created. */
  readonly createTime?: string
  /** When the repo was last changed. */
  readonly updateTime?: string
}

/** A place in the registry that holds the versions of one image. */
export interface RepoInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Two repos of one group never share a name. */
  readonly name: string
  /**
   * Free text of at most 512 characters, without control characters. A repo that copies another one
   * starts with the description of its source.
   */
  readonly description?: string | undefined
  /**
   * Class of the image in the catalog, set by the operator. A repo that copies another one has the
   * class of its source, and changing it is INVALID_ARGUMENT.
   */
  readonly catalogTier?: CatalogTier | undefined
  /**
   * Labels under which the image is offered, set by the operator. A repo that copies another one has
   * those of its source, and changing them is INVALID_ARGUMENT.
   */
  readonly bundles?: readonly string[] | undefined
  /**
   * Image references elsewhere that stand for the same software, each with a tag; set by the operator.
   * A repo that copies another one has those of its source, and changing them is INVALID_ARGUMENT.
   */
  readonly aliases?: readonly string[] | undefined
  /**
   * Tags that still receive updates, set by the operator. A repo that copies another one has those of
   * its source, and changing them is INVALID_ARGUMENT.
   */
  readonly activeTags?: readonly string[] | undefined
  /** How the repo copies another one. Unset for a repo that is filled by pushing. */
  readonly sync_config?: SyncConfigInput | undefined
  /**
   * Changes to make to images as they are built for this repo. Fails with FAILED_PRECONDITION where
   * such builds are not enabled.
   */
  readonly customOverlay?: CustomOverlayInput | undefined
}

/** What may become of the tags of a repo. */
export interface RepoPolicy {
  /** UID of the repo. */
  readonly uid: string
  /** Tags that nobody moves or deletes. Unset: none. */
  readonly immutableTags?: ImmutableTags
  /** Tags and manifests that go by themselves. Unset: none. */
  readonly retention?: Retention
  /** When the policy was changed, or the repo was made; runs do not count. */
  readonly updateTime?: string
  /** When retention runs next. Absent while it is not enabled. */
  readonly nextRunTime?: string
  /** What the last run of retention came to. Absent before the first. */
  readonly lastRun?: RetentionRun
}

/** What may become of the tags of a repo. */
export interface RepoPolicyInput {
  /** Tags that nobody moves or deletes. Unset: none. */
  readonly immutableTags?: ImmutableTagsInput | undefined
  /** Tags and manifests that go by themselves. Unset: none. */
  readonly retention?: RetentionInput | undefined
}

/** The page that introduces a repo. */
export interface RepoReadme {
  /** UID of the repo. */
  readonly uid: string
  /** Markdown text. A repo that copies another one shows the text of its source. */
  readonly content: string
}

/** The page that introduces a repo. */
export interface RepoReadmeInput {
  /** Markdown text. A repo that copies another one shows the text of its source. */
  readonly content?: string | undefined
}

/** Request of RequestGroupAccess. */
export interface RequestGroupAccessRequest {
  /**
   * UID of the organization to ask, which must match the caller's e-mail domain at the time of the
   * call. Empty is INVALID_ARGUMENT.
   */
  readonly groupUid: string
}

/** Answer of RequestGroupAccess: the owners have been asked, nothing has been granted. */
export type RequestGroupAccessResponse = Readonly<Record<string, never>>

/** What is deleted by itself: at first soon after it is enabled, then every six hours. */
export interface Retention {
  /** Nothing is deleted while this is false. */
  readonly enabled: boolean
  /**
   * A tag stays when any rule keeps it, when it is immutable, or when it belongs to a manifest that is
   * there (`sha256-...`, as signatures are tagged). Without rules all tags stay.
   */
  readonly rules: readonly RetentionRule[]
  /**
   * Manifests go that no tag has named for so long, at least one hour, and that no other manifest needs
   * or is the subject of. Unset: they stay.
   */
  readonly untaggedAfter?: string
}

/** What is deleted by itself: at first soon after it is enabled, then every six hours. */
export interface RetentionInput {
  /** Nothing is deleted while this is false. */
  readonly enabled?: boolean | undefined
  /**
   * A tag stays when any rule keeps it, when it is immutable, or when it belongs to a manifest that is
   * there (`sha256-...`, as signatures are tagged). Without rules all tags stay.
   */
  readonly rules?: readonly RetentionRuleInput[] | undefined
  /**
   * Manifests go that no tag has named for so long, at least one hour, and that no other manifest needs
   * or is the subject of. Unset: they stay.
   */
  readonly untaggedAfter?: string | undefined
}

/** Keeps the tags for which all that it says holds. It has to say something. */
export interface RetentionRule {
  /** Names of tags that the rule is about, as in ImmutableTags. None: all tags. */
  readonly patterns: readonly string[]
  /** Of those the newest, so many, by the times at which they were changed. 0: however many. */
  readonly newest: number
  /** Those that were changed so long ago, or more lately. Unset: whenever. */
  readonly youngerThan?: string
}

/** Keeps the tags for which all that it says holds. It has to say something. */
export interface RetentionRuleInput {
  /** Names of tags that the rule is about, as in ImmutableTags. None: all tags. */
  readonly patterns?: readonly string[] | undefined
  /** Of those the newest, so many, by the times at which they were changed. 0: however many. */
  readonly newest?: number | undefined
  /** Those that were changed so long ago, or more lately. Unset: whenever. */
  readonly youngerThan?: string | undefined
}

/** What a run of retention came to. */
export interface RetentionRun {
  /** When it began. */
  readonly beginTime?: string
  /** When it ended. Absent while it is under way. */
  readonly endTime?: string
  /** Tags that it deleted. */
  readonly deletedTags: number
  /** Manifests that it deleted. */
  readonly deletedManifests: number
  /** Why it came to no end; empty when it did. It is tried again. */
  readonly error: string
}

/** What retention would do with a tag or a manifest. */
export interface RetentionVerdict {
  /** Name of the tag; empty for a manifest. */
  readonly tag: string
  /** Digest of the manifest, or that the tag points at. */
  readonly digest: string
  /** Whether it would be deleted. */
  readonly deleted: boolean
  /** Why, in words: `rule 2 keeps it`, `immutable`, `no rule keeps it`. */
  readonly reason: string
  /** When the tag was changed. Of a manifest, when it was pushed or lost its last tag, whichever was later. */
  readonly updateTime?: string
}

/** Stages in the review of an entry. */
export type ReviewState =
  | 'REVIEW_STATE_UNSPECIFIED'
  | 'REVIEW_STATE_PENDING'
  | 'REVIEW_STATE_APPROVED'
  | 'REVIEW_STATE_REQUEST_CHANGES'
  | 'REVIEW_STATE_REJECTED'

/** Request of RevokeScimToken. It takes no version, so that a token can always be stopped. */
export interface RevokeScimTokenRequest {
  /** UID of the provider. */
  readonly identityProviderUid: string
}

/** Answer of RevokeScimToken. */
export interface RevokeScimTokenResponse {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Version of the provisioning state after this call. */
  readonly etag: string
  /** Whether provisioning is switched on, which this call does not change. */
  readonly enabled: boolean
  /** From when on no token works. */
  readonly revokeTime?: string
}

/** A named set of capabilities. */
export interface Role {
  /**
   * Identifier, given by the server: 40 hexadecimal digits for a managed role, and the group's UID
   * plus `/` and 16 hexadecimal digits for a custom one.
   */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. Managed roles always have one. */
  readonly description: string
  /**
   * What the role allows, in ascending number and without repeats. Creating a role needs at least one;
   * an update that leaves them out keeps them.
   */
  readonly capabilities: readonly Capability[]
  /** When the role was created. */
  readonly createTime?: string
  /** When the role was last changed. */
  readonly updateTime?: string
}

/** One identity holding one role at one group. */
export interface RoleBinding {
  /** Identifier, given by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** The identity that holds the role. */
  readonly identity?: RoleBindingIdentity
  /** The group at which the role is held. It is always the parent in `uid`. */
  readonly group?: RoleBindingGroup
  /** The role that is held. */
  readonly role?: RoleBindingRole
  /** When the binding was created. */
  readonly createTime?: string
  /** UID of the identity to bind. Answers carry it, too; what it stands for is in `identity`. */
  readonly identityUid: string
  /** UID of the role to bind, managed or custom. Answers carry it, too; what it stands for is in `role`. */
  readonly roleUid: string
  /**
   * Identity provider of an organization through which the identity accepted the binding. A sign-in through
   * an identity provider of another organization has the role only if it is this provider. Unset for
   * bindings that an administrator created, that were accepted with a local account or through a
   * provider of the operator, or that are older than version 0.7.
   */
  readonly acceptedThrough?: RoleBindingProvider
}

/** What a binding shows of its group. */
export interface RoleBindingGroup {
  /** UID of the group. */
  readonly uid: string
  /** Name of the group. */
  readonly name: string
  /** Description of the group. */
  readonly description: string
}

/** What a binding shows of its identity. */
export interface RoleBindingIdentity {
  /** UID of the identity. */
  readonly uid: string
  /** Name of the identity. */
  readonly name: string
  /** Description of the identity. */
  readonly description: string
  /** Exact subject by which the identity is matched; empty when it is matched otherwise. */
  readonly subject: string
  /** Exact issuer by which the identity is matched; empty when it is matched otherwise. */
  readonly issuer: string
  /** Confirmed e-mail address of the identity; empty when there is none. */
  readonly email: string
}

/** One identity holding one role at one group. */
export interface RoleBindingInput {
  /** UID of the identity to bind. Answers carry it, too; what it stands for is in `identity`. */
  readonly identityUid: string
  /** UID of the role to bind, managed or custom. Answers carry it, too; what it stands for is in `role`. */
  readonly roleUid: string
}

/** What a binding shows of the identity provider through which it was accepted. */
export interface RoleBindingProvider {
  /** UID of the identity provider. Its root is the organization of the provider. */
  readonly uid: string
  /** Name of the identity provider; empty if the provider was deleted. */
  readonly name: string
  /** Issuer of the identity provider; empty if the provider was deleted. */
  readonly issuer: string
}

/** What a binding shows of its role. */
export interface RoleBindingRole {
  /** UID of the role. */
  readonly uid: string
  /** Name of the role. */
  readonly name: string
  /** Description of the role. */
  readonly description: string
}

/** A named set of capabilities. */
export interface RoleInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text of at most 512 characters, without control characters. Managed roles always have one. */
  readonly description?: string | undefined
  /**
   * What the role allows, in ascending number and without repeats. Creating a role needs at least one;
   * an update that leaves them out keeps them.
   */
  readonly capabilities: readonly Capability[]
}

/** A named set of capabilities, as interfaces of version 1 show it. */
export interface RoleV1 {
  /** Identifier: the `uid` of newer versions. */
  readonly id: string
  /** Name. */
  readonly name: string
  /** Free text. */
  readonly description: string
  /** Short names of what the role allows, such as `groups.list`. */
  readonly capabilities: readonly string[]
}

/** Where the packages of a security database are. What is empty is left out of it. */
export interface SecurityDatabase {
  /** Template of the address of a package. */
  readonly apkurl: string
  /** Architectures of the packages. */
  readonly archs: readonly string[]
  /** Name of the repository. */
  readonly reponame: string
  /** Address of the repositories. */
  readonly urlprefix: string
  /** Version of the distribution. */
  readonly distroversion: string
}

/** Where the packages of a security database are. What is empty is left out of it. */
export interface SecurityDatabaseInput {
  /** Template of the address of a package. */
  readonly apkurl?: string | undefined
  /** Architectures of the packages. */
  readonly archs?: readonly string[] | undefined
  /** Name of the repository. */
  readonly reponame?: string | undefined
  /** Address of the repositories. */
  readonly urlprefix?: string | undefined
  /** Version of the distribution. */
  readonly distroversion?: string | undefined
}

/** The platform's own services that may take on an identity. */
export type ServicePrincipal =
  | 'SERVICE_PRINCIPAL_UNSPECIFIED'
  | 'SERVICE_PRINCIPAL_COSIGNED'
  | 'SERVICE_PRINCIPAL_INGESTER'
  | 'SERVICE_PRINCIPAL_CATALOG_SYNCER'
  | 'SERVICE_PRINCIPAL_APKO_BUILDER'
  | 'SERVICE_PRINCIPAL_ENTITLEMENT_SYNCER'
  | 'SERVICE_PRINCIPAL_TENANT_SCANNER'
  | 'SERVICE_PRINCIPAL_SEDIMENTOLOGY'
  | 'SERVICE_PRINCIPAL_SKILLUP'
  | 'SERVICE_PRINCIPAL_MATERIALIZER'
  | 'SERVICE_PRINCIPAL_MICROFLOW'
  | 'SERVICE_PRINCIPAL_GUARDENER'
  | 'SERVICE_PRINCIPAL_MICROVM'
  | 'SERVICE_PRINCIPAL_SKILLS'

/** Answer of Register. */
export interface Session {
  /** UID of the identity. */
  readonly identity: string
  /** UID of the group that was joined with the invite. Empty without one. */
  readonly group: string
}

/** Request of SetScimEnabled. */
export interface SetScimEnabledRequest {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /**
   * Whether provisioning shall be on. Turning it on needs no working token; turning it off keeps the
   * token, the accounts and their roles.
   */
  readonly enabled: boolean
  /**
   * Version of the provisioning state that the caller has seen. The call fails when it is not the
   * current one.
   */
  readonly etag: string
}

/** Answer of SetScimEnabled. */
export interface SetScimEnabledResponse {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Whether provisioning is on now. */
  readonly enabled: boolean
  /** Version of the provisioning state after this call. */
  readonly etag: string
}

/** One score of a vulnerability. */
export interface Severity {
  /** Method that the score follows. */
  readonly type: SeverityType
  /** The score: a vector or a number, as the method has it. */
  readonly score: string
}

/** Scoring methods. */
export type SeverityType =
  | 'TYPE_UNSPECIFIED'
  | 'TYPE_CVSS_V2'
  | 'TYPE_CVSS_V3'
  | 'TYPE_CVSS_V4'

/** Answer of GetSize. */
export interface Size {
  /** Bytes of all layers, as they are transferred, and of the configuration. */
  readonly size: string
  /** The architecture that was measured. */
  readonly architecture: string
}

/** Request of SyncAdvisoryFeed. */
export interface SyncAdvisoryFeedRequest {
  /** UID of the feed to read. */
  readonly uid: string
  /** Reads everything again, also when the server says that nothing is new. */
  readonly full?: boolean | undefined
}

/** How a repo copies another one. */
export interface SyncConfig {
  /**
   * Repo to copy from: its UID, its catalog name as `organization/repo`, or a full image reference. It
   * is kept and returned as a UID; the caller needs a claim to the source or the right to pull from
   * it.
   */
  readonly source: string
  /** Whether copied tags are given a suffix that makes them unique, as the organization has it set. */
  readonly uniqueTags: boolean
  /** When copying ends: 14 days after creation unless the operator sets another time. */
  readonly expirationTime?: string
  /** Repository at Google Artifact Registry that receives the images as well. */
  readonly google: string
  /** Repository at Amazon ECR that receives the images as well. */
  readonly amazon: string
  /** Repository at Azure Container Registry that receives the images as well. */
  readonly azure: string
  /** Build changes that the operator applies while copying, as a JSON document. */
  readonly apkoOverlay: string
  /**
   * Whether copying goes on for a while after the source reaches its end of life, as the organization
   * has it set.
   */
  readonly gracePeriod: boolean
}

/** How a repo copies another one. */
export interface SyncConfigInput {
  /**
   * Repo to copy from: its UID, its catalog name as `organization/repo`, or a full image reference. It
   * is kept and returned as a UID; the caller needs a claim to the source or the right to pull from
   * it.
   */
  readonly source: string
  /** Repository at Google Artifact Registry that receives the images as well. */
  readonly google?: string | undefined
  /** Repository at Amazon ECR that receives the images as well. */
  readonly amazon?: string | undefined
  /** Repository at Azure Container Registry that receives the images as well. */
  readonly azure?: string | undefined
}

/** A name for one manifest of a repo. */
export interface Tag {
  /** Identifier, given by the server: the repo's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Name, matching `^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`; unique within the repo. */
  readonly name: string
  /** Digest of the manifest: `sha256:` and 64 hexadecimal digits, or `sha512:` and 128, in lower case. */
  readonly digest: string
  /** When the tag was last changed. */
  readonly updateTime?: string
  /** Whether the version behind the tag has reached its end of life. */
  readonly deprecated: boolean
  /**
   * Labels under which the version is offered, each once: `application`, `base`, `byol`, `ai`, `ai-gpu`,
   * `featured`, `fips`, `commercial`, `emeritoss`.
   */
  readonly bundles: readonly string[]
}

/** A name for one manifest of a repo. */
export interface TagInput {
  /** Name, matching `^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`; unique within the repo. */
  readonly name: string
  /** Digest of the manifest: `sha256:` and 64 hexadecimal digits, or `sha512:` and 128, in lower case. */
  readonly digest: string
  /** Whether the version behind the tag has reached its end of life. */
  readonly deprecated?: boolean | undefined
  /**
   * Labels under which the version is offered, each once: `application`, `base`, `byol`, `ai`, `ai-gpu`,
   * `featured`, `fips`, `commercial`, `emeritoss`.
   */
  readonly bundles?: readonly string[] | undefined
}

/** Answer of ExchangeRefreshToken. */
export interface TokenPair {
  /** The new platform token. */
  readonly token?: RawToken
  /** The new refresh token, found in the member `token` inside. */
  readonly refreshToken?: RawToken
}

/**
 * Narrows a list to a part of the group tree. Members that are set must all hold; a filter with none
 * set keeps everything the caller may see. A UID outside the caller's reach gives an empty list, not
 * an error.
 */
export interface UIDPFilter {
  /** Keeps what lies on the way from this UID up to its root; the UID itself is not included. */
  readonly ancestorsOf?: string | undefined
  /** Keeps what lies below this UID at any depth; the UID itself is not included. */
  readonly descendantsOf?: string | undefined
  /** Keeps what lies directly below this UID. The value `/` stands for the root level. */
  readonly childrenOf?: string | undefined
  /** When true, keeps only what lies at the root level, whose UID is a single segment. */
  readonly inRoot?: boolean | undefined
  /** Keeps exactly these UIDs; unknown ones are passed over. */
  readonly ids?: readonly string[] | undefined
}

/** Something of a document that no field of an advisory has. */
export interface UnmappedField {
  /** Path in the document, with `[]` for the entries of lists. */
  readonly path: string
  /** How often it occurs. */
  readonly count: number
}

/** Request of UpdateAccountAssociation. */
export interface UpdateAccountAssociationRequest {
  /** New values; `uid` inside names the group whose association to change. */
  readonly accountAssociation: AccountAssociationInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateAdvisoryFeed. */
export interface UpdateAdvisoryFeedRequest {
  /** New values; `uid` inside names the feed to change. */
  readonly advisoryFeed: AdvisoryFeedInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateAdvisoryPublication. */
export interface UpdateAdvisoryPublicationRequest {
  /** The publication. `uid` names the group. */
  readonly advisoryPublication: AdvisoryPublicationInput
  /** The fields to change; without it those that are given. */
  readonly updateMask?: string | undefined
}

/** Request of UpdateGroupInvite. */
export interface UpdateGroupInviteRequest {
  /** New values; `uid` inside names the invite to change. */
  readonly groupInvite: GroupInviteInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateGroup. */
export interface UpdateGroupRequest {
  /** New values; `uid` inside names the group to change. */
  readonly group: GroupInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateIdentityMetadata. */
export interface UpdateIdentityMetadataRequest {
  /** Values to hand over about the caller. */
  readonly identityMetadata: IdentityMetadataInput
  /** Fields to hand over. Without it, the fields that are present are. */
  readonly updateMask?: string | undefined
}

/** Request of UpdateIdentityProvider. */
export interface UpdateIdentityProviderRequest {
  /** New values; `uid` inside names the provider to change. */
  readonly identityProvider: IdentityProviderInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateIdentity. */
export interface UpdateIdentityRequest {
  /** New values; `uid` inside names the identity to change. */
  readonly identity: IdentityInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateRepoPolicy. */
export interface UpdateRepoPolicyRequest {
  /** New values; `uid` inside names the repo. */
  readonly repoPolicy: RepoPolicyInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateRepoReadme. */
export interface UpdateRepoReadmeRequest {
  /** New page; `uid` inside names the repo. */
  readonly repoReadme: RepoReadmeInput
  /**
   * Fields to write, of which `content` is the only one. Without it, the fields that are present are
   * written.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateRepo. */
export interface UpdateRepoRequest {
  /** New values; `uid` inside names the repo to change. */
  readonly repo: RepoInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateRoleBinding. */
export interface UpdateRoleBindingRequest {
  /** New values; `uid` inside names the binding to change. */
  readonly roleBinding: RoleBindingInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request of UpdateRole. */
export interface UpdateRoleRequest {
  /** New values; `uid` inside names the role to change. */
  readonly role: RoleInput
  /**
   * Fields to write. Without it, the fields that are present are written; `*` writes all that can be
   * written. An unknown path is INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Whose token it is, and what can be done with it. */
export interface WhoAmI {
  /** Who issued the token: the address of the token service. */
  readonly issuer: string
  /** UID of the identity. */
  readonly subject: string
  /** What the token is for. */
  readonly audience: readonly string[]
  /** When the token ends. */
  readonly expiry?: string
  /** When the token was issued. */
  readonly issuedAt?: string
  /** What the token allows, by the groups where it is held. It holds below them too. */
  readonly capabilities: readonly WhoAmICapability[]
  /** E-mail address of the person, where it is proven. */
  readonly email: string
  /** What else is known of the person. */
  readonly profile?: Profile
}

/** What is held at one group. */
export interface WhoAmICapability {
  /** The group. Unset for what is held on the platform itself, above every organization. */
  readonly group?: GroupV1
  /** The role that allows exactly this. Unset when there is none. */
  readonly role?: RoleV1
  /** Short names of what is allowed, such as `groups.list`, where `role` is unset. */
  readonly capabilities: readonly string[]
}
