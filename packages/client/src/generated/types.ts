// Generated from packages/contract/proto/ by scripts/generate-client.ts: do not edit.

/** Request message for AcceptGroupInvite. */
export interface AcceptGroupInviteRequest {
  /** Invite code, as CreateGroupInvite returned it. */
  readonly code: string
}

/** Response message for AcceptGroupInvite. */
export interface AcceptGroupInviteResponse {
  /** Role binding of the caller. */
  readonly roleBinding?: RoleBinding
}

/** Request message for AcceptReceivedInvite. */
export interface AcceptReceivedInviteRequest {
  /** UID of the invite, from FindReceivedInvites. */
  readonly uid: string
}

/** Response message for AcceptReceivedInvite. */
export interface AcceptReceivedInviteResponse {
  /** Role binding of the caller. */
  readonly roleBinding?: RoleBinding
}

/** Source of a role. */
export interface AccessSource {
  /** How the member has the role. */
  readonly kind: AccessSourceKind
  /** Group in which the member has the role. The name is empty if the caller cannot read the requested group. */
  readonly group?: RoleBindingGroup
  /** UID of the role binding. Empty for a mapping. */
  readonly roleBinding: string
  /** Time since which the member has the role. Unset for a mapping. */
  readonly createTime?: string
  /** Identity provider of an organization through which the binding was accepted. */
  readonly acceptedThrough?: RoleBindingProvider
  /** Mapping: the identity provider of the group. */
  readonly identityProvider?: RoleBindingProvider
  /** Mapping: the group as the provider names it. */
  readonly externalGroup: string
}

/** How a member has a role. */
export type AccessSourceKind =
  | 'KIND_UNSPECIFIED'
  | 'KIND_DIRECT'
  | 'KIND_INHERITED'
  | 'KIND_GROUP_MAPPING'

/** Accounts of a group at cloud providers and code hosts. */
export interface AccountAssociation {
  /** Identifier, assigned by the server: the UID of the group. */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description: string
  /** Account at Amazon Web Services. */
  readonly amazon?: AccountAssociationAmazon
  /** Project at Google Cloud. */
  readonly google?: AccountAssociationGoogle
  /** Identities that services of the platform assume for this group. */
  readonly chainguard?: AccountAssociationChainguard
  /** Tenant at Microsoft Azure. */
  readonly azure?: AccountAssociationAzure
  /** Time when the association was created. */
  readonly createTime?: string
  /** Time when the association was last updated. */
  readonly updateTime?: string
  /** Installations of GitHub Apps. */
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
  /** Application IDs, keyed by the component that uses them. */
  readonly clientIds: Readonly<Record<string, string>>
}

/** A tenant at Microsoft Azure. */
export interface AccountAssociationAzureInput {
  /** Identifier of the tenant in Microsoft Entra ID. */
  readonly tenantId: string
  /** Application IDs, keyed by the component that uses them. */
  readonly clientIds: Readonly<Record<string, string>>
}

/** Identities that services of the platform assume. */
export interface AccountAssociationChainguard {
  /**
   * UIDs of identities, keyed by the name of the service without its prefix, for example `INGESTER`. Each
   * identity must belong to the same group and name the same service.
   */
  readonly serviceBindings: Readonly<Record<string, string>>
}

/** Identities that services of the platform assume. */
export interface AccountAssociationChainguardInput {
  /**
   * UIDs of identities, keyed by the name of the service without its prefix, for example `INGESTER`. Each
   * identity must belong to the same group and name the same service.
   */
  readonly serviceBindings: Readonly<Record<string, string>>
}

/** Installations of GitHub Apps. */
export interface AccountAssociationGitHub {
  /** Installations, keyed by the ID of the GitHub App. */
  readonly appInstallations: Readonly<Record<string, AccountAssociationGitHubAppInstallations>>
}

/** Installations of one GitHub App. */
export interface AccountAssociationGitHubAppInstallations {
  /** Installations. */
  readonly installations: readonly AccountAssociationGitHubInstallation[]
}

/** Installations of one GitHub App. */
export interface AccountAssociationGitHubAppInstallationsInput {
  /** Installations. */
  readonly installations?: readonly AccountAssociationGitHubInstallationInput[] | undefined
}

/** Installations of GitHub Apps. */
export interface AccountAssociationGitHubInput {
  /** Installations, keyed by the ID of the GitHub App. */
  readonly appInstallations?: Readonly<Record<string, AccountAssociationGitHubAppInstallationsInput>> | undefined
}

/** One installation of a GitHub App. */
export interface AccountAssociationGitHubInstallation {
  /** Installation ID, assigned by GitHub. */
  readonly installationId: string
  /** Account that the app is installed on. For display only. */
  readonly name: string
}

/** One installation of a GitHub App. */
export interface AccountAssociationGitHubInstallationInput {
  /** Installation ID, assigned by GitHub. */
  readonly installationId: string
  /** Account that the app is installed on. For display only. */
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

/** Accounts of a group at cloud providers and code hosts. */
export interface AccountAssociationInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /** Account at Amazon Web Services. */
  readonly amazon?: AccountAssociationAmazonInput | undefined
  /** Project at Google Cloud. */
  readonly google?: AccountAssociationGoogleInput | undefined
  /** Identities that services of the platform assume for this group. */
  readonly chainguard?: AccountAssociationChainguardInput | undefined
  /** Tenant at Microsoft Azure. */
  readonly azure?: AccountAssociationAzureInput | undefined
  /** Installations of GitHub Apps. */
  readonly github?: AccountAssociationGitHubInput | undefined
}

/** How a user signs in. */
export type AccountKind =
  | 'ACCOUNT_KIND_UNSPECIFIED'
  | 'ACCOUNT_KIND_LOCAL'
  | 'ACCOUNT_KIND_PROVIDER'
  | 'ACCOUNT_KIND_NONE'

/** Account with a link for its user. */
export interface AccountLink {
  /** The account. */
  readonly localAccount?: OperatorAccount
  /** Link with which the user chooses a password. It works once. Not stored; it cannot be read again. */
  readonly link: string
  /** When the link expires. */
  readonly expireTime?: string
}

/** Cloud providers whose association can be checked. */
export type AccountProviderType =
  | 'ACCOUNT_PROVIDER_TYPE_UNSPECIFIED'
  | 'ACCOUNT_PROVIDER_TYPE_GOOGLE'
  | 'ACCOUNT_PROVIDER_TYPE_AMAZON'
  | 'ACCOUNT_PROVIDER_TYPE_AZURE'

/** Request message for ActivateAccount. */
export interface ActivateAccountRequest {
  /** UID of the identity of the account. */
  readonly uid: string
}

/** Request message for ActivateOrganization. */
export interface ActivateOrganizationRequest {
  /** UID of the organization. */
  readonly uid: string
}

/** Information about one vulnerability of one component in one artifact. */
export interface Advisory {
  /** Identifier, assigned by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Public ID of the advisory, for example `CGA-xxxx-xxxx-xxxx`. */
  readonly advisoryId: string
  /** Time when the advisory was created. */
  readonly createTime?: string
  /** Time when the advisory or its events last changed. */
  readonly updateTime?: string
  /** Time when the advisory was deleted. Unset if it is not deleted. */
  readonly deleteTime?: string
  /** User or service that wrote the advisory. */
  readonly author: string
  /** Artifact that the advisory is about. */
  readonly artifactName: string
  /** Type of artifact, for example `apk`, `image` or `library`. */
  readonly artifactType: string
  /** Architecture of the artifact, for example `x86_64` or `aarch64`. */
  readonly artifactArchitecture: string
  /** Component in the artifact that the vulnerability was matched to. */
  readonly componentName: string
  /** Path of the component in the artifact. */
  readonly componentLocation: string
  /** Ecosystem of the component, for example `go-module` or `python`. */
  readonly componentType: string
  /** Other IDs of the vulnerability, for example CVE and GHSA IDs. */
  readonly aliases: readonly string[]
  /** Events of the advisory, oldest first. */
  readonly events: readonly AdvisoryEvent[]
  /** ID of the advisory in an older database. Unset if there is none. */
  readonly legacyAdvisoryId?: string
  /** Severity scores of the vulnerability, found through `aliases`. Empty if none is known. */
  readonly severities: readonly Severity[]
}

/** Document as it was published. */
export interface AdvisoryDocument {
  /** File name or URL, used in messages and to detect the format. */
  readonly name?: string | undefined
  /** Format: `wolfi`, `osv`, `secdb`, `openvex`, `csaf`, `kev` or `epss`. Empty: detected from the content. */
  readonly format?: string | undefined
  /** Uncompressed content. */
  readonly content: string
}

/** Event in the history of an advisory. */
export interface AdvisoryEvent {
  /** Identifier, assigned by the server: the advisory's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Time when the event was created. */
  readonly createTime?: string
  /** Findings of a scanner, as a JSON document. */
  readonly findings: string
  /** User or service that created the event. */
  readonly author: string
  /** User or service that reviewed the event. Empty before a review. */
  readonly reviewer: string
  /** State of the review. */
  readonly reviewState: ReviewState
  /** Reference to the issue that tracks the vulnerability. */
  readonly issue?: string
  /** The vulnerability was detected. */
  readonly detection?: AdvisoryEventDetection
  /** A version fixes it. */
  readonly fixed?: AdvisoryEventFixed
  /** The artifact is not affected. */
  readonly falsePositiveDetermination?: AdvisoryEventFalsePositiveDetermination
  /** No analysis is planned. */
  readonly analysisNotPlanned?: AdvisoryEventAnalysisNotPlanned
  /** No fix is planned. */
  readonly fixNotPlanned?: AdvisoryEventFixNotPlanned
  /** A fix must come from the authors of the component. */
  readonly pendingUpstreamFix?: AdvisoryEventPendingUpstreamFix
  /** The artifact is affected. */
  readonly truePositiveDetermination?: AdvisoryEventTruePositiveDetermination
  /** Versions contain a patch. */
  readonly patched?: AdvisoryEventPatched
}

/** Event: no analysis is planned. */
export interface AdvisoryEventAnalysisNotPlanned {
  /** Note for readers. */
  readonly note: string
}

/** Event: the vulnerability was detected. */
export interface AdvisoryEventDetection {
  /** Search in the NVD. */
  readonly nvdapi?: AdvisoryEventDetectionNVDAPI
  /** Manual detection. */
  readonly manual?: AdvisoryEventDetectionManual
  /** Detection by a scanner. */
  readonly scanv1?: AdvisoryEventDetectionScanV1
}

/** Manual detection, which needs no further data. */
export type AdvisoryEventDetectionManual = Readonly<Record<string, never>>

/** Match in the NVD. */
export interface AdvisoryEventDetectionNVDAPI {
  /** Name or keyword that was searched. */
  readonly cpeSearched: string
  /** CPE that was found. */
  readonly cpeFound: string
}

/** Detection by a scanner. */
export interface AdvisoryEventDetectionScanV1 {
  /** Name of the scanner. */
  readonly scanner: string
  /** Scanned package, the same as the artifact's name. */
  readonly subpackage: string
  /** Component ID, assigned by the scanner. */
  readonly componentId: string
  /** Name of the component. */
  readonly component: string
  /** Version of the component. */
  readonly componentVersion: string
  /** Ecosystem of the component. */
  readonly componentType: string
  /** Path of the component in the package. */
  readonly componentLocation: string
  /** Version of the scanned artifact. */
  readonly artifactVersion: string
  /** Version of the scanner. */
  readonly scannerVersion: string
  /** Build time of the scanner's database, as RFC 3339 text. */
  readonly grypeDbBuilt: string
  /** Checksum of the scanner's database. */
  readonly grypeDbChecksum: string
}

/** Event: the artifact is not affected. */
export interface AdvisoryEventFalsePositiveDetermination {
  /** Reason why the artifact is not affected. */
  readonly type: AdvisoryEventFalsePositiveDeterminationType
  /** Note for readers. */
  readonly note: string
}

/** Reasons why an artifact is not affected, each with its VEX justification. */
export type AdvisoryEventFalsePositiveDeterminationType =
  | 'TYPE_UNSPECIFIED'
  | 'TYPE_VULNERABILITY_RECORD_ANALYSIS_CONTESTED'
  | 'TYPE_COMPONENT_VULNERABILITY_MISMATCH'
  | 'TYPE_VULNERABLE_CODE_VERSION_NOT_USED'
  | 'TYPE_VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE'
  | 'TYPE_VULNERABLE_CODE_NOT_IN_EXECUTION_PATH'
  | 'TYPE_VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY'
  | 'TYPE_INLINE_MITIGATIONS_EXIST'

/** Event: no fix is planned. */
export interface AdvisoryEventFixNotPlanned {
  /** Note for readers. */
  readonly note: string
}

/** Event: a version fixes the vulnerability. */
export interface AdvisoryEventFixed {
  /** First version of the artifact that contains the fix. */
  readonly fixedVersion: string
  /** Note for readers. */
  readonly note: string
  /** Version of the scanner that confirmed the fix. */
  readonly scannerVersion: string
  /** Build time of that scanner's database, as RFC 3339 text. */
  readonly grypeDbBuilt: string
  /** Checksum of that scanner's database. */
  readonly grypeDbChecksum: string
}

/** Event: versions contain a patch. */
export interface AdvisoryEventPatched {
  /** Versions of the artifact that contain the patch. */
  readonly patchedVersions: readonly string[]
  /** Note for readers. */
  readonly note: string
}

/** Event: a fix must come from the authors of the component. */
export interface AdvisoryEventPendingUpstreamFix {
  /** Note for readers. */
  readonly note: string
}

/** Event: the artifact is affected. */
export interface AdvisoryEventTruePositiveDetermination {
  /** Note for readers. */
  readonly note: string
}

/** URL at which advisories are published. */
export interface AdvisoryFeed {
  /** Identifier, assigned by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /**
   * URL of a document, or of an archive (zip, tar, tar.gz) of documents: https, without credentials. Visible
   * to all callers who can read the feed.
   */
  readonly url: string
  /** Format: `wolfi`, `osv`, `secdb`, `openvex`, `csaf`, `kev` or `epss`. Empty: detected from the content of each document. */
  readonly format: string
  /** Time between two runs: from 5 minutes to 30 days. Unset: one hour. */
  readonly interval?: string
  /** Whether the feed is paused. A paused feed is not read. */
  readonly paused: boolean
  /** State of the feed. */
  readonly state: AdvisoryFeedState
  /** Time when the last run started. Unset before the first run. */
  readonly lastAttemptTime?: string
  /**
   * Time when the last successful run ended, including runs that found nothing new. Unset before the first
   * one.
   */
  readonly lastSuccessTime?: string
  /** Time when the next run starts. Unset if the feed is paused. */
  readonly nextAttemptTime?: string
  /** Reason why the last run failed. Empty if it succeeded. */
  readonly lastError: string
  /** Number of consecutive failed runs. */
  readonly failures: number
  /** Counts of the last run that found something new, even if it did not complete. Unset before the first one. */
  readonly lastRun?: ImportCounts
  /** Entity tag of the file that was read last, from the remote server. */
  readonly sourceEtag: string
  /** Time when the feed was created. */
  readonly createTime?: string
  /** Time when its settings were updated. Runs do not change it. */
  readonly updateTime?: string
}

/** URL at which advisories are published. */
export interface AdvisoryFeedInput {
  /**
   * URL of a document, or of an archive (zip, tar, tar.gz) of documents: https, without credentials. Visible
   * to all callers who can read the feed.
   */
  readonly url: string
  /** Format: `wolfi`, `osv`, `secdb`, `openvex`, `csaf`, `kev` or `epss`. Empty: detected from the content of each document. */
  readonly format?: string | undefined
  /** Time between two runs: from 5 minutes to 30 days. Unset: one hour. */
  readonly interval?: string | undefined
  /** Whether the feed is paused. A paused feed is not read. */
  readonly paused?: boolean | undefined
}

/** Run of a feed. */
export interface AdvisoryFeedRun {
  /** Identifier, assigned by the server: the UID of the feed plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** UID of the feed. */
  readonly feedUid: string
  /** State of the run. */
  readonly state: AdvisoryFeedRunState
  /** UID of the identity that requested the run; `system` for the schedule. */
  readonly actor: string
  /** Time when the run started. */
  readonly startTime?: string
  /** Time when the run ended, or when its interruption was noticed. Unset while it is running. */
  readonly endTime?: string
  /** Reason why the run failed. Empty otherwise. */
  readonly error: string
  /**
   * Counts of the run, without the rejected documents. Unset while it is running, and if its process ended
   * without recording them.
   */
  readonly counts?: ImportCounts
}

/** States of a run. */
export type AdvisoryFeedRunState =
  | 'STATE_UNSPECIFIED'
  | 'STATE_RUNNING'
  | 'STATE_SUCCEEDED'
  | 'STATE_FAILED'
  | 'STATE_INTERRUPTED'

/** States of a feed. */
export type AdvisoryFeedState =
  | 'STATE_UNSPECIFIED'
  | 'STATE_WAITING'
  | 'STATE_RUNNING'
  | 'STATE_SUCCEEDED'
  | 'STATE_FAILED'
  | 'STATE_PAUSED'

/** Settings for publishing the advisories of a group. */
export interface AdvisoryPublication {
  /** UID of the group. */
  readonly uid: string
  /** Time when the publication was last updated. If it never was, the creation time of the group. */
  readonly updateTime?: string
  /**
   * Whether anyone can read what is published for this group and its descendants. If false, it is readable by
   * anyone who can list the group's advisories.
   */
  readonly public: boolean
  /** UID of the group, this one or an ancestor, that makes this publication public. Empty if it is not public. */
  readonly publicThrough: string
  /** Package locations in the security database. */
  readonly securityDatabase?: SecurityDatabase
  /** Distribution that artifacts of type `apk` belong to. */
  readonly distribution?: Distribution
  /**
   * Time when the covered advisories or their publication settings last changed. Unset if there were never
   * any.
   */
  readonly changeTime?: string
}

/** Settings for publishing the advisories of a group. */
export interface AdvisoryPublicationInput {
  /** UID of the group. */
  readonly uid?: string | undefined
  /**
   * Whether anyone can read what is published for this group and its descendants. If false, it is readable by
   * anyone who can list the group's advisories.
   */
  readonly public?: boolean | undefined
  /** Package locations in the security database. */
  readonly securityDatabase?: SecurityDatabaseInput | undefined
  /** Distribution that artifacts of type `apk` belong to. */
  readonly distribution?: DistributionInput | undefined
}

/** Document from which advisories are created. */
export interface AdvisorySource {
  /** Format: `wolfi`, `osv`, `secdb`, `openvex`, `csaf`, `kev` or `epss`. */
  readonly format: string
  /** ID of the document, as stated in the document. */
  readonly id: string
  /** File name or URL from which it was last imported. */
  readonly name: string
  /** Time when it was last imported. */
  readonly importTime?: string
  /** Time of this version of the document. Unset if the document does not state it. */
  readonly revisionTime?: string
  /** Parts of the document that advisories have no field for. */
  readonly unmapped: readonly UnmappedField[]
  /** Document as it was published, if requested. */
  readonly content: string
}

/** Counts of the advisories of a group and its descendants, without deleted ones. */
export interface AdvisorySummary {
  /** UID of the group. */
  readonly uid: string
  /** Number of advisories. */
  readonly totalCount: string
  /**
   * Number of advisories by the type of their latest approved event. Advisories without one are only in
   * `total_count`; states without advisories are omitted.
   */
  readonly states: readonly AdvisorySummaryStateCount[]
  /** Number of advisories by severity, the highest first. Severities without advisories are omitted. */
  readonly severities: readonly AdvisorySummarySeverityCount[]
  /**
   * Number of advisories by the month in which they were created, oldest first: the last 12 months that have
   * any.
   */
  readonly months: readonly AdvisorySummaryMonthCount[]
  /** Time at which the count of `severities` and `months` started. Unset before the first count is complete. */
  readonly severityTime?: string
  /** Whether advisories changed since then. A newer count is in progress or scheduled with the next call. */
  readonly outdated: boolean
}

/** Number of advisories of a month. */
export interface AdvisorySummaryMonthCount {
  /** Month in UTC, for example `2026-05`. */
  readonly month: string
  /** Number of advisories by severity, the highest first. */
  readonly severities: readonly AdvisorySummarySeverityCount[]
}

/** Severities: the highest base score among the vectors of the newest CVSS version that is known. */
export type AdvisorySummaryRating =
  | 'RATING_UNSPECIFIED'
  | 'RATING_UNKNOWN'
  | 'RATING_NONE'
  | 'RATING_LOW'
  | 'RATING_MEDIUM'
  | 'RATING_HIGH'
  | 'RATING_CRITICAL'

/** Number of advisories with a severity. */
export interface AdvisorySummarySeverityCount {
  /** Severity. */
  readonly rating: AdvisorySummaryRating
  /** Number of advisories. */
  readonly count: string
}

/** Number of advisories in a state. */
export interface AdvisorySummaryStateCount {
  /** Type of the latest approved event. */
  readonly latestEventType: EventTypeFilter
  /** Number of advisories. */
  readonly count: string
}

/** Image with a package that has a vulnerability. */
export interface AffectedImage {
  /** UID of the repo. */
  readonly repoUid: string
  /** Digest of the image. */
  readonly digest: string
  /** Tags of the image, at most 20. */
  readonly tags: readonly string[]
  /** The package and its state. */
  readonly finding?: Finding
}

/** Request message for ApplyRetention. */
export interface ApplyRetentionRequest {
  /** UID of the repo. */
  readonly uid: string
}

/** Response message for GetArchitectures. */
export interface Architectures {
  /** OCI names of the architectures, for example `amd64` and `arm64`. */
  readonly architectures: readonly string[]
}

/** Recorded action or attempted action. */
export interface AuditEvent {
  /** Identifier, assigned by the server: the UID of the resource plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Time of the event. */
  readonly createTime?: string
  /** UID of the identity that acted; `system` for the operator's commands. */
  readonly actor: string
  /** Called method, for example `chainguard.platform.iam.v2beta1.GroupsService/CreateGroup`. */
  readonly method: string
  /**
   * UID of the resource that was created, updated or deleted, of the group in which a call was denied, or of
   * the identity that was assumed.
   */
  readonly resourceUid: string
  /** Result, as a number of google.rpc.Code: 0 for success, 7 for permission denied. */
  readonly code: number
  /** Reason for the denial. Empty on success. */
  readonly reason: string
  /** `x-request-id` of the response, which the client can choose. Empty for the operator's commands. */
  readonly requestId: string
  /** IP address of the client. Empty for the operator's commands. */
  readonly address: string
  /** Issuer of the workload's own token, for exchanges. Empty if no such token was verified. */
  readonly issuer: string
  /** Subject of the workload's own token, for exchanges. Empty if no such token was verified. */
  readonly subject: string
  /** Number of times the same call of the same actor was denied in the second of this event; 1 on success. */
  readonly count: number
}

/** Kind of background job. */
export interface BackgroundJob {
  /** Name of the kind, such as `retention`. */
  readonly name: string
  /** Jobs that run now, up to 20. */
  readonly running: readonly JobRun[]
  /** Number of jobs that are due and do not run yet. */
  readonly waitingCount: string
  /** When the next job is due. Unset if none is scheduled. */
  readonly nextRunTime?: string
  /** Last finished run since this release was installed. Unset if there is none. */
  readonly lastResult?: JobResult
  /** Reason of the last failed run, even if later ones succeeded. Empty if none failed. */
  readonly lastError: string
  /** End of the last failed run. */
  readonly lastErrorTime?: string
}

/** Request message for BatchCreateRoleBindings. */
export interface BatchCreateRoleBindingsRequest {
  /** UID of the group for the whole batch. An entry with another group fails with INVALID_ARGUMENT. */
  readonly parent: string
  /** Bindings to create, at most 25. */
  readonly requests: readonly CreateRoleBindingRequest[]
  /** UID of the role for entries that name none. An entry with another role fails with INVALID_ARGUMENT. */
  readonly roleUid?: string | undefined
}

/** Response message for BatchCreateRoleBindings. */
export interface BatchCreateRoleBindingsResponse {
  /** Created bindings, in the order of the request. */
  readonly roleBindings: readonly RoleBinding[]
}

/** Request message for BatchDeleteExternalGroupRoleMappings. */
export interface BatchDeleteExternalGroupRoleMappingsRequest {
  /** UID of the identity provider that all mappings belong to. */
  readonly parent: string
  /** UIDs of the mappings to delete. */
  readonly names: readonly string[]
}

/** Response message for BatchDeleteExternalGroupRoleMappings. */
export interface BatchDeleteExternalGroupRoleMappingsResponse {
  /** UID of the identity provider, as in the request. */
  readonly parent: string
  /** Deleted mappings. */
  readonly externalGroupRoleMappings: readonly ExternalGroupRoleMapping[]
}

/** Applies a policy to a group or repo. */
export interface Binding {
  /** Identifier: that of the group or repo plus `/` and 16 hexadecimal digits. */
  readonly id: string
  /** Identifier of the policy, or the name of a system policy. Responses have the identifier. */
  readonly policy: string
  /** What a denial does. Required. */
  readonly mode: PolicyMode
  /** Types of resources that are evaluated. Only `image`; unset means `image`. */
  readonly resourceTypes: readonly string[]
  /**
   * Values of the parameters of the policy. `allow_unknown` (boolean, default false) is a parameter of every
   * policy: whether images pass whose facts are not known.
   */
  readonly parameters: Readonly<Record<string, JsonValue>>
  /** Time when the binding was created. */
  readonly createdAt?: string
  /** Time when the binding was last updated. */
  readonly updatedAt?: string
}

/** Request message for ListBindings. All filters that are set must match. */
export interface BindingFilter {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. Sort keys: `id`, `created_at`,
   * `updated_at`. Unset means `id asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Applies a policy to a group or repo. */
export interface BindingInput {
  /** Identifier: that of the group or repo plus `/` and 16 hexadecimal digits. */
  readonly id?: string | undefined
  /** Identifier of the policy, or the name of a system policy. Responses have the identifier. */
  readonly policy?: string | undefined
  /** What a denial does. Required. */
  readonly mode?: PolicyMode | undefined
  /** Types of resources that are evaluated. Only `image`; unset means `image`. */
  readonly resourceTypes?: readonly string[] | undefined
  /**
   * Values of the parameters of the policy. `allow_unknown` (boolean, default false) is a parameter of every
   * policy: whether images pass whose facts are not known.
   */
  readonly parameters?: Readonly<Record<string, JsonValue>> | undefined
}

/** Response message for ListBindings. */
export interface BindingList {
  /** Results of this page, in the requested order. */
  readonly items: readonly Binding[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. */
  readonly totalCount: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for CancelStorageRun. */
export interface CancelStorageRunRequest {
  /** Identifier of the run. */
  readonly id: string
}

/**
 * Capabilities that a role can have. Each value is a permission that is checked in a group and applies to all
 * its descendants. Deprecated values have no effect; internal ones are for the operator. The bits 0, 40, 41,
 * 135, 136 and 143 stay unused. Capabilities that the public platform does not have are numbered from 100000,
 * and their bits from 1000, so that they never collide with public ones.
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
  | 'CAP_OPERATOR_GET'
  | 'CAP_OPERATOR_UPDATE'
  | 'CAP_SIGNATURE_VERIFIERS_LIST'
  | 'CAP_SIGNATURE_VERIFIERS_CREATE'
  | 'CAP_SIGNATURE_VERIFIERS_UPDATE'
  | 'CAP_SIGNATURE_VERIFIERS_DELETE'

/** Whether an identity has one required capability. */
export interface CapabilityResult {
  /** Name of the capability. */
  readonly capability: string
  /** Whether the identity has it, as far as the caller can read role bindings. */
  readonly held: boolean
  /**
   * Names of the roles that give it. Empty for the catalog capabilities that owners have by a setting of the
   * server.
   */
  readonly roles: readonly string[]
}

/** Tiers of images in the catalog. */
export type CatalogTier =
  | 'CATALOG_TIER_UNSPECIFIED'
  | 'CATALOG_TIER_APPLICATION'
  | 'CATALOG_TIER_BASE'
  | 'CATALOG_TIER_FIPS'
  | 'CATALOG_TIER_AI'
  | 'CATALOG_TIER_DEVTOOLS'
  | 'CATALOG_TIER_COMMERCIAL'

/**
 * Trust in the identities of certificates. The time of the signature, at which the certificate must be valid,
 * is that of an entry in a transparency log or of a timestamp: at least one log key or timestamp authority is
 * required. All keys and certificates are those in this message: nothing is fetched.
 */
export interface CertificateMethod {
  /** Certificates of the authorities in PEM, at most 10: a root, and its intermediate certificates. */
  readonly authorities: string
  /** Exact identity. */
  readonly identity?: string
  /** Regular expression in RE2 syntax that matches the whole identity. */
  readonly identityPattern?: string
  /** Exact issuer. */
  readonly issuer?: string
  /** Regular expression in RE2 syntax that matches the whole issuer. */
  readonly issuerPattern?: string
  /**
   * Public keys of transparency logs (Rekor) in PEM, at most 10. If there are any, a signature requires an
   * entry in one of these logs.
   */
  readonly logKeys: readonly string[]
  /**
   * Certificate chains of timestamp authorities (RFC 3161) in PEM, at most 10 chains, each with the signing
   * certificate first and the root last. If there are any and no log keys, a signature requires a timestamp.
   */
  readonly timestampAuthorities: readonly string[]
  /**
   * Public keys of certificate transparency logs in PEM, at most 10. If there are any, a certificate requires a
   * signed certificate timestamp of one of these logs.
   */
  readonly certificateLogKeys: readonly string[]
}

/**
 * Trust in the identities of certificates. The time of the signature, at which the certificate must be valid,
 * is that of an entry in a transparency log or of a timestamp: at least one log key or timestamp authority is
 * required. All keys and certificates are those in this message: nothing is fetched.
 */
export interface CertificateMethodInput {
  /** Certificates of the authorities in PEM, at most 10: a root, and its intermediate certificates. */
  readonly authorities: string
  /** Exact identity. */
  readonly identity?: string | undefined
  /** Regular expression in RE2 syntax that matches the whole identity. */
  readonly identityPattern?: string | undefined
  /** Exact issuer. */
  readonly issuer?: string | undefined
  /** Regular expression in RE2 syntax that matches the whole issuer. */
  readonly issuerPattern?: string | undefined
  /**
   * Public keys of transparency logs (Rekor) in PEM, at most 10. If there are any, a signature requires an
   * entry in one of these logs.
   */
  readonly logKeys?: readonly string[] | undefined
  /**
   * Certificate chains of timestamp authorities (RFC 3161) in PEM, at most 10 chains, each with the signing
   * certificate first and the root last. If there are any and no log keys, a signature requires a timestamp.
   */
  readonly timestampAuthorities?: readonly string[] | undefined
  /**
   * Public keys of certificate transparency logs in PEM, at most 10. If there are any, a certificate requires a
   * signed certificate timestamp of one of these logs.
   */
  readonly certificateLogKeys?: readonly string[] | undefined
}

/** Request message for CheckAccountAssociation. */
export interface CheckAccountAssociationRequest {
  /** UID of the group whose association to check. */
  readonly uid: string
  /** Cloud provider to check. */
  readonly providerType: AccountProviderType
}

/** Response message for CheckAccountAssociation. */
export interface CheckAccountAssociationResponse {
  /** Result of the check. */
  readonly status: CheckStatus
  /**
   * Short reason: `not configured`, `refused by the provider`, `unreachable` or `unexpected answer`. Empty if
   * the association works.
   */
  readonly reason: string
  /** Description of the problem and, if known, how to fix it. Empty if the association works. */
  readonly message: string
}

/** Request message for CheckEligibility. The caller's token supplies the email address. */
export type CheckEligibilityRequest = Readonly<Record<string, never>>

/** Response message for CheckEligibility. */
export interface CheckEligibilityResponse {
  /** Whether the caller's email domain can be used to find an organization. */
  readonly eligible: boolean
}

/** Request message for CheckInstallation. */
export type CheckInstallationRequest = Readonly<Record<string, never>>

/** Response message for CheckInstallation. */
export interface CheckInstallationResponse {
  /** Results, in the order of the checks. */
  readonly results: readonly CheckResult[]
  /** Name of the node that was checked. */
  readonly nodeName: string
  /** End of the checks. */
  readonly checkTime?: string
}

/** Outcome of a check. */
export type CheckOutcome =
  | 'CHECK_OUTCOME_UNSPECIFIED'
  | 'CHECK_OUTCOME_OK'
  | 'CHECK_OUTCOME_WARNING'
  | 'CHECK_OUTCOME_FAILED'

/** Result of one check. */
export interface CheckResult {
  /** Name of the check. */
  readonly name: string
  /** Outcome. */
  readonly outcome: CheckOutcome
  /** What was found. */
  readonly message: string
  /** What to do. Empty for nothing. */
  readonly action: string
}

/** Results of an association check. */
export type CheckStatus =
  | 'CHECK_STATUS_UNSPECIFIED'
  | 'CHECK_STATUS_READY'
  | 'CHECK_STATUS_NOT_READY'

/** Request message for CompareImageFindings. */
export interface CompareImageFindingsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the image to compare with, as `algorithm:hex`. */
  readonly baseDigest: string
  /** Digest of the image, as `algorithm:hex`. */
  readonly digest: string
}

/** Request message for CompareImagePackages. */
export interface CompareImagePackagesRequest {
  /** UID of the repo of the first image. */
  readonly uid: string
  /** Digest of the first manifest, as `algorithm:hex`, or tag. */
  readonly reference: string
  /** UID of the repo of the second image. Empty means that of the first one. */
  readonly otherUid?: string | undefined
  /** Digest of the second manifest, or tag. */
  readonly otherReference: string
  /** Images of indexes, such as `linux/arm64`. Empty means `linux/amd64`, or the first image without one. */
  readonly platform?: string | undefined
}

/** Response message for CompareImagePackages. */
export interface CompareImagePackagesResponse {
  /** Digest of the first image. */
  readonly digest: string
  /** Digest of the second image. */
  readonly otherDigest: string
  /** Packages that only the second image contains, ordered by type and name. */
  readonly added: readonly ImagePackage[]
  /** Packages that only the first image contains, ordered by type and name. */
  readonly removed: readonly ImagePackage[]
  /** Packages with other versions, ordered by type and name. */
  readonly changed: readonly PackageChange[]
}

/** Request message for CompareScannerReport. */
export interface CompareScannerReportRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest or tag of the image. */
  readonly reference: string
  /** Platform of an image of an index. Empty means `linux/amd64`. */
  readonly platform?: string | undefined
  /** Name of the scanner, of which the latest report is read. */
  readonly scanner: string
}

/** A part of an image that could not be read. */
export interface ContentsProblem {
  /** Path in the image. Empty for the image or a document as a whole. */
  readonly path: string
  /** Continues "could not be read, because". */
  readonly reason: string
}

/** Where the packages of an image are from. */
export type ContentsSource =
  | 'CONTENTS_SOURCE_UNSPECIFIED'
  | 'CONTENTS_SOURCE_ATTACHED_SBOM'
  | 'CONTENTS_SOURCE_SBOM_FILES'
  | 'CONTENTS_SOURCE_LAYERS'

/** Whether the contents of an image are known. */
export type ContentsState =
  | 'CONTENTS_STATE_UNSPECIFIED'
  | 'CONTENTS_STATE_PENDING'
  | 'CONTENTS_STATE_READ'
  | 'CONTENTS_STATE_FAILED'
  | 'CONTENTS_STATE_NOT_AN_IMAGE'

/** Request message for CopyImage. */
export interface CopyImageRequest {
  /** UID of the destination repo. */
  readonly uid: string
  /** UID of the source repo. It can be the destination, and it can belong to another organization. */
  readonly sourceUid: string
  /** Tag of the image in the source, or digest of a manifest as `algorithm:hex`. */
  readonly reference: string
  /**
   * Tag of the image at the destination. Empty copies the image without a tag. If `reference` is a tag, the tag
   * that is created or moved gets its `deprecated` and `bundles`; one that points to the image already keeps its
   * own.
   */
  readonly tag?: string | undefined
  /**
   * Whether to copy what refers to the image as well: signatures, SBOMs, attestations and other artifacts, also
   * those of its platforms and those that are attached by tags (`sha256-...`).
   */
  readonly includeReferrers?: boolean | undefined
  /** Whether to move tags of the destination that point to other digests. */
  readonly overwrite?: boolean | undefined
}

/** Response message for CopyImage. */
export interface CopyImageResponse {
  /** Digest of the image. */
  readonly digest: string
  /** UID of the tag at the destination. Empty without a tag. */
  readonly tagUid: string
  /** Number of manifests that the destination did not have. */
  readonly copiedManifests: number
  /** Number of manifests that it had. */
  readonly existingManifests: number
  /** Number of blobs that the destination did not have. */
  readonly mountedBlobs: number
  /** Size of these blobs in bytes. */
  readonly mountedBytes: string
  /** Number of blobs that it had. */
  readonly existingBlobs: number
  /** Number of signatures, SBOMs and other referrers of the image, included in the numbers of manifests. */
  readonly referrers: number
  /** Warnings as of a push, for users: that a quota is almost used, or that retention will delete the tag. */
  readonly warnings: readonly string[]
}

/** Request message for CountRoleUses. */
export interface CountRoleUsesRequest {
  /** UID of the group. */
  readonly uid: string
}

/** Response message for CountRoleUses. */
export interface CountRoleUsesResponse {
  /** Roles that are used at least once. */
  readonly roles: readonly RoleUse[]
}

/** Request message for CreateAccountAssociation. */
export interface CreateAccountAssociationRequest {
  /** UID of the group, which becomes the UID of the association. */
  readonly parent: string
  /** Association to create. `name` is required; fields that the server sets are ignored. */
  readonly accountAssociation: AccountAssociationInput
}

/** Request message for CreateAccount. */
export interface CreateAccountRequest {
  /** Email address. */
  readonly email: string
  /** Display name. Empty means the email address. */
  readonly name?: string | undefined
}

/** Request message for CreateAdvisoryFeed. */
export interface CreateAdvisoryFeedRequest {
  /** UID of the group into which advisories are imported. */
  readonly parent: string
  /** Feed to create. `url` is required. */
  readonly advisoryFeed: AdvisoryFeedInput
}

/** Request message for CreateBinding. */
export interface CreateBindingRequest {
  /** Identifier of the group or repo. */
  readonly parentId: string
  /** Binding to create. `policy` and `mode` are required. */
  readonly binding: BindingInput
}

/** Request message for CreateExternalGroupRoleMapping. */
export interface CreateExternalGroupRoleMappingRequest {
  /** UID of the identity provider. */
  readonly parent: string
  /** Mapping to create. `external_group_id`, `role_uid` and `scope` are required. */
  readonly externalGroupRoleMapping: ExternalGroupRoleMappingInput
}

/** Request message for CreateGroupInvite. */
export interface CreateGroupInviteRequest {
  /** UID of the group to which to invite. */
  readonly parent: string
  /** Invite to create. `role_uid` and `ttl` are required; fields that the server sets are ignored. */
  readonly groupInvite: GroupInviteInput
}

/** Request message for CreateGroup. */
export interface CreateGroupRequest {
  /**
   * Parent group: its UID, the last segment of its UID, or its name among the groups that the caller can
   * access. Empty creates an organization.
   */
  readonly parent?: string | undefined
  /** Group to create. `name` is required; fields that the server sets are ignored. */
  readonly group: GroupInput
}

/** Request message for CreateIdentityProvider. */
export interface CreateIdentityProviderRequest {
  /** UID of the organization that the provider serves. A group in an organization is rejected. */
  readonly parent: string
  /**
   * Provider to create. `name`, `default_role` and `oidc` are required; fields that the server sets are
   * ignored.
   */
  readonly identityProvider: IdentityProviderInput
}

/** Request message for CreateIdentity. */
export interface CreateIdentityRequest {
  /** UID of the group that the identity will belong to. */
  readonly parent: string
  /**
   * Identity to create. `name` and one member of `relationship` are required; fields that the server sets are
   * ignored.
   */
  readonly identity: IdentityInput
}

/** Request message for CreateOverride. */
export interface CreateOverrideRequest {
  /** Identifier of the group or repo. */
  readonly parentId: string
  /** Override to create. `policy_id`, `digest` and `reason` are required. */
  readonly override: OverrideInput
}

/** Request message for CreatePolicy. */
export interface CreatePolicyRequest {
  /** Identifier of the group that the policy will belong to. */
  readonly parentId: string
  /** Policy to create. `name` and `expression` are required. */
  readonly policy: PolicyInput
}

/** Request message for CreateRepo. */
export interface CreateRepoRequest {
  /** UID of the group that the repo will belong to. */
  readonly parent: string
  /** Repo to create. `name` is required; fields that the server sets are ignored. */
  readonly repo: RepoInput
}

/** Request message for CreateRoleBinding, and an entry of a batch. */
export interface CreateRoleBindingRequest {
  /** UID of the group in which the identity receives the role. Optional in an entry of a batch. */
  readonly parent: string
  /** Binding to create. Only `identity_uid` and `role_uid` are used. */
  readonly roleBinding: RoleBindingInput
}

/** Request message for CreateRole. */
export interface CreateRoleRequest {
  /** UID of the group that the role will belong to. */
  readonly parent: string
  /** Role to create. `name` and `capabilities` are required; fields that the server sets are ignored. */
  readonly role: RoleInput
}

/** Request message for CreateSignatureVerifier. */
export interface CreateSignatureVerifierRequest {
  /** UID of the group. */
  readonly parent: string
  /** Verifier to create. */
  readonly signatureVerifier: SignatureVerifierInput
}

/** Request message for CreateTag. */
export interface CreateTagRequest {
  /** UID of the repo that the tag will belong to. */
  readonly parent: string
  /** Tag to create or to move. `name` and `digest` are required; fields that the server sets are ignored. */
  readonly tag: TagInput
}

/** Changes to apply when an image is built. */
export interface CustomOverlay {
  /** Packages to add, and their sources. */
  readonly contents?: CustomOverlayImageContents
  /**
   * Environment variables to set, keyed by name. Names that start with `CHAINGUARD_` fail with
   * INVALID_ARGUMENT.
   */
  readonly environment: Readonly<Record<string, string>>
  /**
   * OCI annotations to add, keyed by name. Names that start with `dev.chainguard.` or `org.opencontainers.`
   * fail with INVALID_ARGUMENT.
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

/** Group in the image. */
export interface CustomOverlayAccountsGroup {
  /** Name of the group. */
  readonly groupname: string
  /** Numeric group ID. */
  readonly gid: number
  /** Login names of the members. */
  readonly members: readonly string[]
}

/** Group in the image. */
export interface CustomOverlayAccountsGroupInput {
  /** Name of the group. */
  readonly groupname: string
  /** Numeric group ID. */
  readonly gid?: number | undefined
  /** Login names of the members. */
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

/** User in the image. */
export interface CustomOverlayAccountsUser {
  /** Login name. */
  readonly username: string
  /** Numeric user ID. Unrelated to UIDs of the platform. */
  readonly uid: number
  /** Numeric ID of the primary group. */
  readonly gid: number
  /** Name of the primary group. */
  readonly groupName: string
  /** Login shell, as a path. */
  readonly shell: string
  /** Home directory, as a path. */
  readonly homeDir: string
}

/** User in the image. */
export interface CustomOverlayAccountsUserInput {
  /** Login name. */
  readonly username: string
  /** Numeric user ID. Unrelated to UIDs of the platform. */
  readonly uid?: number | undefined
  /** Numeric ID of the primary group. */
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
  /** Certificates to add. */
  readonly additional: readonly CustomOverlayCertificatesAdditionalEntry[]
  /** Names of packages that contain certificates. */
  readonly providers: readonly string[]
}

/** Certificate. */
export interface CustomOverlayCertificatesAdditionalEntry {
  /** File name of the certificate. */
  readonly name: string
  /** Certificate, as PEM text. */
  readonly content: string
}

/** Certificate. */
export interface CustomOverlayCertificatesAdditionalEntryInput {
  /** File name of the certificate. */
  readonly name: string
  /** Certificate, as PEM text. */
  readonly content: string
}

/** Certificate authorities that the image trusts. */
export interface CustomOverlayCertificatesInput {
  /** Certificates to add. */
  readonly additional?: readonly CustomOverlayCertificatesAdditionalEntryInput[] | undefined
  /** Names of packages that contain certificates. */
  readonly providers?: readonly string[] | undefined
}

/** Packages and their sources. */
export interface CustomOverlayImageContents {
  /** Names of packages to install after the packages of the image. */
  readonly packages: readonly string[]
  /** URLs of package repositories for `/etc/apk/repositories`. If set, they replace the default ones. */
  readonly runtimeRepositories: readonly string[]
  /** Public keys for `/etc/apk/keys`. */
  readonly runtimeKeyring: readonly CustomOverlayImageContentsRuntimeKeyringEntry[]
}

/** Packages and their sources. */
export interface CustomOverlayImageContentsInput {
  /** Names of packages to install after the packages of the image. */
  readonly packages?: readonly string[] | undefined
  /** URLs of package repositories for `/etc/apk/repositories`. If set, they replace the default ones. */
  readonly runtimeRepositories?: readonly string[] | undefined
  /** Public keys for `/etc/apk/keys`. */
  readonly runtimeKeyring?: readonly CustomOverlayImageContentsRuntimeKeyringEntryInput[] | undefined
}

/** Public key that signs package repositories. */
export interface CustomOverlayImageContentsRuntimeKeyringEntry {
  /**
   * File name of the key, without slashes and without a leading dot. It must be the name in the
   * repository's signature.
   */
  readonly name: string
  /** RSA public key, as PEM text. */
  readonly content: string
}

/** Public key that signs package repositories. */
export interface CustomOverlayImageContentsRuntimeKeyringEntryInput {
  /**
   * File name of the key, without slashes and without a leading dot. It must be the name in the
   * repository's signature.
   */
  readonly name: string
  /** RSA public key, as PEM text. */
  readonly content: string
}

/** Changes to apply when an image is built. */
export interface CustomOverlayInput {
  /** Packages to add, and their sources. */
  readonly contents?: CustomOverlayImageContentsInput | undefined
  /**
   * Environment variables to set, keyed by name. Names that start with `CHAINGUARD_` fail with
   * INVALID_ARGUMENT.
   */
  readonly environment?: Readonly<Record<string, string>> | undefined
  /**
   * OCI annotations to add, keyed by name. Names that start with `dev.chainguard.` or `org.opencontainers.`
   * fail with INVALID_ARGUMENT.
   */
  readonly annotations?: Readonly<Record<string, string>> | undefined
  /** Users and groups to add. */
  readonly accounts?: CustomOverlayAccountsInput | undefined
  /** Certificate authorities to trust. */
  readonly certificates?: CustomOverlayCertificatesInput | undefined
}

/** Catalog of CVEs that an organization has imported. */
export interface CveCatalog {
  /** Format: `kev` or `epss`. */
  readonly format: string
  /** Time when the catalog was published, as it states itself; of several, the latest. */
  readonly publishTime?: string
}

export interface Date {
  readonly year: number
  readonly month: number
  readonly day: number
}

export interface DateInput {
  readonly year?: number | undefined
  readonly month?: number | undefined
  readonly day?: number | undefined
}

/** Decision of a policy about an image, on one day. */
export interface Decision {
  /** Identifier: that of the repo plus `/` and 16 hexadecimal digits. */
  readonly id: string
  /** Identifier of the repo. */
  readonly repoId: string
  /** Digest of the manifest that was pulled. */
  readonly digest: string
  /** Identifier of the policy. */
  readonly policyId: string
  /** Name of the policy when it decided. */
  readonly policyName: string
  /** Mode of the binding. */
  readonly mode: PolicyMode
  /** Result. */
  readonly result: Result
  /** Why the pull was denied, or could not be evaluated. Empty if it was allowed. */
  readonly reason: string
  /** Day of the pull, in UTC. */
  readonly pulledOn?: Date
}

/** Request message for ListDecisions. All filters that are set must match. */
export interface DecisionFilter {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only decisions of this policy. */
  readonly policyId?: string | undefined
  /** Returns only decisions in this mode. */
  readonly mode?: PolicyMode | undefined
  /** Returns only decisions with this result. */
  readonly result?: Result | undefined
  /** First day. Unset: no limit. */
  readonly since?: DateInput | undefined
  /** Last day. Unset: no limit. */
  readonly until?: DateInput | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. Sort keys: `id`, `pulled_on`. Unset means
   * `pulled_on desc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
  /** Returns only decisions about this digest. */
  readonly digest?: string | undefined
}

/** Response message for ListDecisions. */
export interface DecisionList {
  /** Results of this page, in the requested order. */
  readonly items: readonly Decision[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. */
  readonly totalCount: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for DeleteAccountAssociation. */
export interface DeleteAccountAssociationRequest {
  /** UID of the group whose association to delete. */
  readonly uid: string
}

/** Request message for DeleteAccount. */
export interface DeleteAccountRequest {
  /** UID of the identity of the account. */
  readonly uid: string
}

/** Request message for DeleteAdvisoryDocuments. */
export interface DeleteAdvisoryDocumentsRequest {
  /** UID of the group. */
  readonly parent: string
  /** Format: `wolfi`, `osv`, `secdb`, `openvex`, `csaf`, `kev` or `epss`. */
  readonly format: string
  /**
   * IDs of the documents, as GetAdvisoryDocuments returns them. Empty: all documents of the format, up to
   * 1000 per call.
   */
  readonly ids?: readonly string[] | undefined
}

/** Response message for DeleteAdvisoryDocuments. */
export interface DeleteAdvisoryDocumentsResponse {
  /** Number of deleted documents. */
  readonly documents: number
  /** Number of advisories that were marked as deleted. */
  readonly withdrawn: number
  /** Whether documents are left. If true, call again. */
  readonly more: boolean
}

/** Request message for DeleteAdvisoryFeed. */
export interface DeleteAdvisoryFeedRequest {
  /** UID of the feed to delete. */
  readonly uid: string
}

/** Request message for DeleteBinding. */
export interface DeleteBindingRequest {
  /** Identifier of the binding to delete. */
  readonly id: string
}

/** Request message for DeleteExternalGroupRoleMapping. */
export interface DeleteExternalGroupRoleMappingRequest {
  /** UID of the mapping to delete. */
  readonly uid: string
}

/** Request message for DeleteGroupInvite. */
export interface DeleteGroupInviteRequest {
  /** UID of the invite to delete. */
  readonly uid: string
}

/** Request message for DeleteGroup. */
export interface DeleteGroupRequest {
  /** UID of the group to delete. */
  readonly uid: string
}

/** Request message for DeleteIdentityProvider. */
export interface DeleteIdentityProviderRequest {
  /** UID of the provider to delete. */
  readonly uid: string
}

/** Request message for DeleteIdentity. */
export interface DeleteIdentityRequest {
  /** UID of the identity to delete. */
  readonly uid: string
}

/** Request message for DeleteManifest. */
export interface DeleteManifestRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the manifest, as `algorithm:hex`. */
  readonly digest: string
  /** Whether to return what would be deleted without deleting it. */
  readonly validateOnly?: boolean | undefined
}

/** Response message for DeleteManifest. */
export interface DeleteManifestResponse {
  /** Names of the deleted tags, ordered by name. */
  readonly tags: readonly string[]
  /** Manifests that are deleted with the requested one. */
  readonly manifests: readonly DeletedManifest[]
  /**
   * Size of the blobs that only the deleted manifests reference in the repo. Garbage collection deletes those
   * that no other repo has. Set with `validate_only` only.
   */
  readonly unreferencedBytes: string
}

/** Request message for DeleteOverride. */
export interface DeleteOverrideRequest {
  /** Identifier of the override to delete. */
  readonly id: string
}

/** Request message for DeletePolicy. */
export interface DeletePolicyRequest {
  /** Identifier of the custom policy to delete. */
  readonly id: string
}

/** Request message for DeleteRepo. */
export interface DeleteRepoRequest {
  /** UID of the repo to delete. */
  readonly uid: string
}

/** Request message for DeleteRepoTags. */
export interface DeleteRepoTagsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** UIDs of 1 to 100 tags of the repo. */
  readonly tagUids: readonly string[]
}

/** Response message for DeleteRepoTags. */
export interface DeleteRepoTagsResponse {
  /** Number of deleted tags. */
  readonly deletedTags: number
}

/** Request message for DeleteRoleBinding. */
export interface DeleteRoleBindingRequest {
  /** UID of the binding to delete. */
  readonly uid: string
}

/** Request message for DeleteRole. */
export interface DeleteRoleRequest {
  /** UID of the custom role to delete. */
  readonly uid: string
}

/** Request message for DeleteSignatureVerifier. */
export interface DeleteSignatureVerifierRequest {
  /** UID of the verifier to delete. */
  readonly uid: string
}

/** Request message for DeleteTag. */
export interface DeleteTagRequest {
  /** UID of the tag to delete. */
  readonly uid: string
}

/** Request message for DeleteUntaggedManifests. */
export interface DeleteUntaggedManifestsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Minimum time since a manifest was pushed or lost its last tag. At least 1 hour. Unset: 1 day. */
  readonly olderThan?: string | undefined
}

/** Response message for DeleteUntaggedManifests. */
export interface DeleteUntaggedManifestsResponse {
  /** Number of deleted manifests. */
  readonly deletedManifests: number
  /** Number of deleted attached tags. */
  readonly deletedTags: number
  /** Number of manifests that could also be deleted. Call the method again to delete them. */
  readonly remainingManifests: number
}

/** Manifest that is deleted with another one. */
export interface DeletedManifest {
  /** Digest, as `algorithm:hex`. */
  readonly digest: string
  /** Type of the artifact, as in Manifest. */
  readonly artifactType: string
  /** Reason, for example `it refers to a deleted manifest`. */
  readonly reason: string
}

/** Request message for Delete. */
export interface DeletionRequest {
  /** UID of the caller's own identity. */
  readonly id: string
}

/** Disk that a node writes to. */
export interface Disk {
  /** `data` for the data directory, `blobs` for blobs in files. */
  readonly name: string
  /** Directory. */
  readonly path: string
  /** Free bytes. */
  readonly freeBytes: string
  /** Size in bytes. */
  readonly totalBytes: string
  /** Bytes that blobs leave free: pushes fail below it. */
  readonly reserveBytes: string
}

/** Name of the distribution in other formats. */
export interface Distribution {
  /** OSV ecosystem, for example `Wolfi` or `Alpine:v3.20`. */
  readonly ecosystem: string
  /** Namespace in package URLs, for example `wolfi`. */
  readonly namespace: string
}

/** Name of the distribution in other formats. */
export interface DistributionInput {
  /** OSV ecosystem, for example `Wolfi` or `Alpine:v3.20`. */
  readonly ecosystem?: string | undefined
  /** Namespace in package URLs, for example `wolfi`. */
  readonly namespace?: string | undefined
}

/** Packages of an ecosystem in an image. */
export interface EcosystemCoverage {
  /** Ecosystem, for example `Debian:12` or `npm`. */
  readonly ecosystem: string
  /** Number of packages. */
  readonly packageCount: string
  /**
   * Whether the organization has advisories of the ecosystem. Vulnerabilities of packages that are not
   * covered are unknown.
   */
  readonly covered: boolean
}

/** Request message for EndIdentitySessions. */
export interface EndIdentitySessionsRequest {
  /** UID of the identity. */
  readonly identityUid: string
}

/** Response message for EndIdentitySessions. */
export interface EndIdentitySessionsResponse {
  /** Number of ended sessions. */
  readonly ended: number
}

/** Request message for EndSession. */
export interface EndSessionRequest {
  /** Identifier of the session. */
  readonly id: string
}

/** Types of events, as a filter. */
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

/** Condition of an exchange. */
export interface ExchangeCondition {
  /**
   * Name of the condition: `form`, `issuer`, `time`, `key`, `signature`, `subject`, `audience`,
   * `claims.<name>` and so on.
   */
  readonly name: string
  /** Result of the condition. */
  readonly outcome: ExchangeConditionOutcome
  /** Value that the identity or the server requires. */
  readonly expected: string
  /** Value in the token. */
  readonly actual: string
  /** How to fix a condition that is not met. Empty if there is no advice. */
  readonly hint: string
}

/** Results of a condition. */
export type ExchangeConditionOutcome =
  | 'OUTCOME_UNSPECIFIED'
  | 'OUTCOME_OK'
  | 'OUTCOME_FAILED'
  | 'OUTCOME_UNKNOWN'

/** Request message for ExchangeRefreshToken. */
export interface ExchangeRefreshTokenRequest {
  /** Audiences of the new token, at least one. */
  readonly aud?: readonly string[] | undefined
  /**
   * UID of one group to which to restrict the token. Superseded by `scopes`, to which it is added.
   * @deprecated
   */
  readonly scope?: string | undefined
  /**
   * Capabilities to which to restrict the token, as short names, for example `groups.list`. Empty means no
   * restriction; unknown names fail with INVALID_ARGUMENT.
   */
  readonly cap?: readonly string[] | undefined
  /** UIDs of groups to which to restrict the token. Empty means no restriction. */
  readonly scopes?: readonly string[] | undefined
}

/** Request message for Exchange. */
export interface ExchangeRequest {
  /** Audiences of the new token, at least one. */
  readonly aud?: readonly string[] | undefined
  /**
   * UID of one group to which to restrict the token. Superseded by `scopes`, to which it is added.
   * @deprecated
   */
  readonly scope?: string | undefined
  /** UID of the identity to assume. Empty means the identity of the user of the bearer token. */
  readonly identity?: string | undefined
  /**
   * Capabilities to which to restrict the token, as short names, for example `groups.list`. Empty means no
   * restriction; unknown names fail with INVALID_ARGUMENT.
   */
  readonly cap?: readonly string[] | undefined
  /** UID of the organization's identity provider that issued the bearer token. Empty for all other tokens. */
  readonly identityProvider?: string | undefined
  /** UIDs of groups to which to restrict the token. Empty means no restriction. */
  readonly scopes?: readonly string[] | undefined
}

/** Request message for ExplainAccess. Exactly one of `capability` and `method` is required. */
export interface ExplainAccessRequest {
  /** UID of the group or of a repo. */
  readonly uid: string
  /** UID of the identity. */
  readonly identity: string
  /** Name of the capability. */
  readonly capability?: string | undefined
  /** Full name of a method, such as `chainguard.platform.registry.v2beta1.ReposService/CreateRepo`. */
  readonly method?: string | undefined
}

/** Response message for ExplainAccess. */
export interface ExplainAccessResponse {
  /**
   * Whether the identity can do it with its own token or, for a user, after a sign-in with a local account or
   * through a provider of the operator. A restricted token can do less.
   */
  readonly outcome: ExplainAccessResponseOutcome
  /** Identity. Only its UID is set if it has no role that the caller can read and the caller cannot read it. */
  readonly identity?: Member
  /** Capabilities that the action requires, with the sources that give them. */
  readonly capabilities: readonly CapabilityResult[]
  /** Roles of the identity that apply here, whether they give a required capability or not, by sources. */
  readonly roles: readonly HeldRole[]
  /** Sign-ins through identity providers, for which other rules apply. Users only. */
  readonly signIns: readonly SignInResult[]
  /** Why roles have no effect, or what the explanation cannot include. */
  readonly notes: readonly ExplainAccessResponseNote[]
  /** Names of the least powerful managed roles that have all required capabilities, if one is missing. */
  readonly suggestedRoles: readonly string[]
}

/** Notes about an explanation. */
export type ExplainAccessResponseNote =
  | 'NOTE_UNSPECIFIED'
  | 'NOTE_ORGANIZATION_SUSPENDED'
  | 'NOTE_OPERATOR_ONLY'
  | 'NOTE_ANCESTORS_HIDDEN'
  | 'NOTE_NO_CAPABILITY_REQUIRED'

/** Results of an explanation. */
export type ExplainAccessResponseOutcome =
  | 'OUTCOME_UNSPECIFIED'
  | 'OUTCOME_ALLOWED'
  | 'OUTCOME_DENIED'
  | 'OUTCOME_UNKNOWN'

/** Request message for ExplainExchange. */
export interface ExplainExchangeRequest {
  /** UID of the identity. */
  readonly identity: string
  /** Token that would be the bearer token of an exchange. */
  readonly token: string
  /** UID of the organization's identity provider that issued the token. Empty for all other tokens. */
  readonly identityProvider?: string | undefined
  /**
   * Audience that the exchange would request: the address of the API, or the host of the registry, which also
   * accepts workload tokens that are addressed to it. Empty for the API.
   */
  readonly audience?: string | undefined
}

/** Response message for ExplainExchange. */
export interface ExplainExchangeResponse {
  /** Whether an exchange of the token would succeed now: all conditions are met. */
  readonly accepted: boolean
  /** Conditions, in the order of an exchange. The list ends with the first condition that is not met. */
  readonly conditions: readonly ExchangeCondition[]
}

/** Languages of expressions. */
export type ExpressionType =
  | 'EXPRESSION_TYPE_UNSPECIFIED'
  | 'EXPRESSION_TYPE_REGO'
  | 'EXPRESSION_TYPE_CEL'

/** Role for the members of a group at an identity provider. */
export interface ExternalGroupRoleMapping {
  /** Identifier, assigned by the server: the UID of the provider plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** UID of the identity provider. */
  readonly identityProviderUid: string
  /** Group as the provider names it: one value of its groups claim. */
  readonly externalGroupId: string
  /** UID of the role that members receive. */
  readonly roleUid: string
  /** UID of the group in which members receive the role: the organization of the provider. */
  readonly scope: string
  /** Time when the mapping was created. */
  readonly createTime?: string
}

/** Role for the members of a group at an identity provider. */
export interface ExternalGroupRoleMappingInput {
  /** Group as the provider names it: one value of its groups claim. */
  readonly externalGroupId?: string | undefined
  /** UID of the role that members receive. */
  readonly roleUid?: string | undefined
  /** UID of the group in which members receive the role: the organization of the provider. */
  readonly scope?: string | undefined
}

/** Request message for FindCandidates. */
export interface FindCandidatesRequest {
  /** UID of the group. */
  readonly uid: string
  /** Part of the name or of the email address, independent of case. Empty returns the first ones. */
  readonly query?: string | undefined
}

/** Response message for FindCandidates. */
export interface FindCandidatesResponse {
  /** Identities, without roles. */
  readonly identities: readonly Member[]
  /** Whether more identities match, or may match: the database server of a user does not respond. */
  readonly more: boolean
}

/** Request message for FindGroupPaths. At most 200 UIDs and paths together. */
export interface FindGroupPathsRequest {
  /** UIDs of groups. */
  readonly uids?: readonly string[] | undefined
  /**
   * Paths of names, separated by `/`. A path starts with the name of an organization, or with the name of a
   * group that the caller can read without being able to read its parent.
   */
  readonly paths?: readonly string[] | undefined
}

/** Response message for FindGroupPaths. */
export interface FindGroupPathsResponse {
  /** Groups, ordered by UID. A path can match several. */
  readonly groups: readonly GroupPath[]
}

/** Request message for FindMembers. All filters that are set must match. */
export interface FindMembersRequest {
  /** UID of the group or of a repo. */
  readonly uid: string
  /**
   * Part of the name or of the email address, independent of case. Empty returns all. Fails with UNAVAILABLE if
   * the database server of a user does not respond.
   */
  readonly query?: string | undefined
  /** Kind of the members. Unset returns all. */
  readonly kind?: MemberKind | undefined
  /** UID of the role. Empty returns all. */
  readonly role?: string | undefined
  /** Whether to return only members with a role in this group itself. */
  readonly directOnly?: boolean | undefined
  /** UID of an identity whose roles to return. Empty returns all. */
  readonly identity?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
}

/** Response message for FindMembers. */
export interface FindMembersResponse {
  /** Members of this page. */
  readonly members: readonly Member[]
  /**
   * Token for the next page. Empty on the last page. If a database server is lost or comes back between two
   * pages, the list starts again: members may be repeated, but none is left out.
   */
  readonly nextPageToken: string
  /** Number of members over all pages. */
  readonly totalCount: string
  /** Roles in ancestors whose role bindings the caller cannot read, without the filters. Set on the first page. */
  readonly hidden: readonly HiddenAccess[]
  /** Whether the organization is suspended. No role in it applies then. */
  readonly suspended: boolean
}

/** Request message for FindReceivedInvites. */
export type FindReceivedInvitesRequest = Readonly<Record<string, never>>

/** Response message for FindReceivedInvites. */
export interface FindReceivedInvitesResponse {
  /** Invites, the first to expire first. At most 100: if there are more, some of each organization. */
  readonly invites: readonly ReceivedInvite[]
  /**
   * Whether there are more invites, or may be: a database server does not respond, or more than 100 organizations
   * have invited the address. Their links work as well.
   */
  readonly more: boolean
}

/** Vulnerability of a package. */
export interface Finding {
  /** ID of the vulnerability: its CVE ID if it has one. */
  readonly vulnerability: string
  /** Other IDs of the vulnerability. */
  readonly aliases: readonly string[]
  /** Package URL of the package. */
  readonly purl: string
  /** Version of the package. */
  readonly version: string
  /** Whether the package is affected. */
  readonly state: FindingState
  /** Severity of the vulnerability. */
  readonly severity: FindingSeverity
  /** Highest base score of the newest version of CVSS. Unset if none is known. */
  readonly score?: number | 'NaN' | 'Infinity' | '-Infinity'
  /** First version with a fix. Empty if none is known. */
  readonly fixedVersion: string
  /** Why the package is not affected, not fixed, or why this is unknown. */
  readonly justification: string
  /** UID of the advisory that decides the state. */
  readonly advisoryUid: string
  /** What is known of its exploitation. Set if a catalog in the format of CISA's KEV lists the vulnerability. */
  readonly knownExploitation?: KnownExploitation
  /**
   * Probability that the vulnerability is exploited within 30 days, from 0 to 1, as EPSS predicts it. Unset if no
   * catalog of EPSS lists it.
   */
  readonly epssProbability?: number | 'NaN' | 'Infinity' | '-Infinity'
  /**
   * Part of all vulnerabilities with this probability or a lower one, from 0 to 1. Unset together with
   * `epss_probability`.
   */
  readonly epssPercentile?: number | 'NaN' | 'Infinity' | '-Infinity'
  /** Kinds of weaknesses (CWE), in the order of their numbers. */
  readonly cwes: readonly string[]
}

/** Number of findings of a state and severity. */
export interface FindingCount {
  /** State. */
  readonly state: FindingState
  /** Severity. */
  readonly severity: FindingSeverity
  /** Number of findings. */
  readonly count: string
}

/**
 * Severities: the highest base score among the vectors of the newest CVSS version that is known, or the one
 * that advisories state in words.
 */
export type FindingSeverity =
  | 'SEVERITY_UNSPECIFIED'
  | 'SEVERITY_UNKNOWN'
  | 'SEVERITY_NONE'
  | 'SEVERITY_LOW'
  | 'SEVERITY_MEDIUM'
  | 'SEVERITY_HIGH'
  | 'SEVERITY_CRITICAL'

/** States of a package. */
export type FindingState =
  | 'STATE_UNSPECIFIED'
  | 'STATE_AFFECTED'
  | 'STATE_NOT_AFFECTED'
  | 'STATE_PENDING_UPSTREAM'
  | 'STATE_UNDER_INVESTIGATION'
  | 'STATE_UNKNOWN'

/** Number of vulnerabilities in a group, a folder or a repo. */
export interface FindingSummary {
  /** UID of the group, folder or repo. */
  readonly uid: string
  /**
   * Number of different vulnerabilities, by state and severity. A vulnerability counts once for each state that
   * packages have.
   */
  readonly counts: readonly FindingCount[]
  /** Number of images with a tag. Each image of an index counts. */
  readonly imageCount: string
  /** Number of these images whose contents are not known. Their vulnerabilities are not counted. */
  readonly unreadImageCount: string
  /** Whether all packages of the organization are matched with the current advisories and catalogs. */
  readonly matched: boolean
  /**
   * Number of different vulnerabilities that are known to be exploited, in packages that are not
   * `STATE_NOT_AFFECTED`.
   */
  readonly knownExploitedCount: string
}

/**
 * Numbers of vulnerabilities in a group, a folder or a repo from a time on. As in its summary, a vulnerability counts
 * once for each state that packages have; the state NOT_AFFECTED does not count.
 */
export interface FindingSummaryHistoryEntry {
  /** Time from which the numbers apply, until the time of the next entry. */
  readonly time?: string
  /** Number of images with a tag. Each image of an index counts. */
  readonly imageCount: string
  /** Number of these images whose contents were not known. Their vulnerabilities are not counted. */
  readonly unreadImageCount: string
  /** Number of vulnerabilities of severity CRITICAL. */
  readonly critical: string
  /** Number of vulnerabilities of severity HIGH. */
  readonly high: string
  /** Number of vulnerabilities of severity MEDIUM. */
  readonly medium: string
  /** Number of vulnerabilities of severity LOW. */
  readonly low: string
  /** Number of vulnerabilities of severity NONE. */
  readonly none: string
  /** Number of vulnerabilities of severity UNKNOWN. */
  readonly unknown: string
}

/** Request message for GenerateScimToken. */
export interface GenerateScimTokenRequest {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Expiration time of the token: at most two years from now. The default is one year. */
  readonly expireTime?: string | undefined
  /** Whether the token never expires. Together with `expire_time` it fails with INVALID_ARGUMENT. */
  readonly neverExpires?: boolean | undefined
}

/** Response message for GenerateScimToken. */
export interface GenerateScimTokenResponse {
  /** Token, returned only once: `cgscim_` and 64 hexadecimal digits. The server stores only its hash. */
  readonly token: string
  /** URL to enter at the provider. */
  readonly endpointUrl: string
  /** Expiration time of the token. Unset if it never expires. */
  readonly expireTime?: string
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Version of the SCIM state after this call. */
  readonly etag: string
}

/** Request message for GetAccountAssociation. */
export interface GetAccountAssociationRequest {
  /** UID of the group whose association to return. */
  readonly uid: string
}

/** Request message for GetAdvisoryDocuments. */
export interface GetAdvisoryDocumentsRequest {
  /** UID of the group that has the documents. Groups above it are not accepted. */
  readonly parent: string
  /** Returns only documents of this format: `wolfi`, `osv`, `secdb`, `openvex`, `csaf`, `kev` or `epss`. Empty returns all. */
  readonly format?: string | undefined
  /** Returns only documents with this ID. Empty returns all. */
  readonly id?: string | undefined
  /**
   * Whether to include the document itself. Requires `format` and `id`, so that one document is returned at a
   * time.
   */
  readonly content?: boolean | undefined
  /** Page size. 0 means 50; values above 200 mean 200. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
}

/** Response message for GetAdvisoryDocuments. */
export interface GetAdvisoryDocumentsResponse {
  /** Documents, ordered by format and ID. */
  readonly documents: readonly AdvisorySource[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for GetAdvisoryFeed. */
export interface GetAdvisoryFeedRequest {
  /** UID of the feed. */
  readonly uid: string
}

/** Request message for GetAdvisoryPublication. */
export interface GetAdvisoryPublicationRequest {
  /** UID of the group. */
  readonly uid: string
}

/** Request message for GetAdvisory. */
export interface GetAdvisoryRequest {
  /** UID of the advisory. The public ID is not accepted. */
  readonly uid: string
}

/** Request message for GetAdvisorySources. */
export interface GetAdvisorySourcesRequest {
  /** UID of the advisory. */
  readonly uid: string
  /** Returns only documents of this format: `wolfi`, `osv`, `secdb`, `openvex`, `csaf`, `kev` or `epss`. Empty returns all. */
  readonly format?: string | undefined
  /** Returns only documents with this ID. Empty returns all. */
  readonly id?: string | undefined
  /**
   * Whether to include the document itself. Requires `format` and `id`, so that one document is returned at a
   * time.
   */
  readonly content?: boolean | undefined
  /** Page size. 0 means 50; values above 200 mean 200. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
}

/** Response message for GetAdvisorySources. */
export interface GetAdvisorySourcesResponse {
  /** Documents, ordered by format and ID. */
  readonly sources: readonly AdvisorySource[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for GetAdvisorySummary. */
export interface GetAdvisorySummaryRequest {
  /** UID of the group. */
  readonly uid: string
}

/** Request message for GetArchitectures. */
export interface GetArchitecturesRequest {
  /** UID of the repo that contains the image. */
  readonly repoUid: string
  /** Digest of the image index, as `algorithm:hex`. */
  readonly digest: string
}

/** Request message for GetAuditEvent. */
export interface GetAuditEventRequest {
  /** UID of the event to return. */
  readonly uid: string
}

/** Request message for GetExternalGroupRoleMapping. */
export interface GetExternalGroupRoleMappingRequest {
  /** UID of the mapping to return. */
  readonly uid: string
}

/** Request message for GetFindingSummary. */
export interface GetFindingSummaryRequest {
  /** UID of the group, folder or repo. */
  readonly uid: string
}

/** Request message for GetGroupInvite. */
export interface GetGroupInviteRequest {
  /** UID of the invite to return. */
  readonly uid: string
}

/** Request message for GetGroup. */
export interface GetGroupRequest {
  /** UID of the group to return. */
  readonly uid: string
}

/** Request message for GetHeadlessSession. */
export interface GetHeadlessSessionRequest {
  /** Code from the URL that the user opened: the client's X25519 public key, in base64url without padding. */
  readonly code: string
}

/** Request message for GetIdentityProvider. */
export interface GetIdentityProviderRequest {
  /** UID of the provider to return. */
  readonly uid: string
}

/** Request message for GetIdentity. */
export interface GetIdentityRequest {
  /** UID of the identity to return. */
  readonly uid: string
}

/** Request message for GetImageContents. */
export interface GetImageContentsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the manifest, as `algorithm:hex`, or tag. */
  readonly reference: string
  /** Image of an index, such as `linux/arm64`. Empty means `linux/amd64`, or the first image without one. */
  readonly platform?: string | undefined
}

/** Request message for GetImageReport. */
export interface GetImageReportRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the manifest, as `algorithm:hex`, or tag. */
  readonly reference: string
  /** Image of an index, such as `linux/arm64`. Empty means `linux/amd64`, or the first image without one. */
  readonly platform?: string | undefined
  /** Format. */
  readonly format: ReportFormat
}

/** Request message for GetImageSbom. */
export interface GetImageSbomRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the manifest, as `algorithm:hex`, or tag. */
  readonly reference: string
  /** Image of an index, such as `linux/arm64`. Empty means `linux/amd64`, or the first image without one. */
  readonly platform?: string | undefined
  /** Format. Unspecified returns the SBOM as it was given. */
  readonly format?: SbomFormat | undefined
}

/** Request message for GetImageSignatures. */
export interface GetImageSignaturesRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest, as `algorithm:hex`, or name of a tag. */
  readonly reference: string
}

/** Request message for GetManifest. */
export interface GetManifestRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the manifest, as `algorithm:hex`. */
  readonly digest: string
}

/** Request message for GetRepoPolicy. */
export interface GetRepoPolicyRequest {
  /** UID of the repo. */
  readonly uid: string
}

/** Request message for GetRepoReadme. */
export interface GetRepoReadmeRequest {
  /** UID of the repo whose readme to return. */
  readonly uid: string
}

/** Request message for GetRepo. */
export interface GetRepoRequest {
  /** UID of the repo to return. */
  readonly uid: string
}

/** Request message for GetRepoSummary. */
export interface GetRepoSummaryRequest {
  /** UID of the repo. */
  readonly uid: string
}

/** Request message for GetRepoUsageHistory. */
export interface GetRepoUsageHistoryRequest {
  /** UID of the repo. */
  readonly uid: string
  /** First day in UTC, as `2026-11-23`. Empty means the oldest recorded day. */
  readonly startDate?: string | undefined
  /** Last day in UTC, as `2026-11-23`. Empty means today. */
  readonly endDate?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and period only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for GetRepoUsageHistory. */
export interface GetRepoUsageHistoryResponse {
  /** Days, the oldest first. */
  readonly days: readonly RepoUsageDay[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for GetRoleBinding. */
export interface GetRoleBindingRequest {
  /** UID of the binding to return. */
  readonly uid: string
}

/** Request message for GetRole. */
export interface GetRoleRequest {
  /** UID of the role to return. */
  readonly uid: string
}

/** Request message for GetSignatureVerifier. */
export interface GetSignatureVerifierRequest {
  /** UID of the verifier. */
  readonly uid: string
}

/** Request message for GetSize. */
export interface GetSizeRequest {
  /** UID of the repo that contains the image. */
  readonly repoUid: string
  /** Digest of the image index, as `algorithm:hex`. */
  readonly digest: string
  /** OCI name of the architecture. Empty means `amd64`. */
  readonly architecture?: string | undefined
}

/** Request message for GetStorageRun. */
export interface GetStorageRunRequest {
  /** Identifier of the run. */
  readonly id: string
}

/** Request message for GetStorageStatus. */
export type GetStorageStatusRequest = Readonly<Record<string, never>>

/** Request message for GetTagDetails. */
export interface GetTagDetailsRequest {
  /** UID of the tag. */
  readonly uid: string
}

/** Request message for GetTag. */
export interface GetTagRequest {
  /** UID of the tag to return. */
  readonly uid: string
}

/** Request message for GetTopRepos. */
export interface GetTopReposRequest {
  /** UID of the organization or folder. */
  readonly uid: string
  /** First day in UTC, as `2026-11-23`. Empty means the oldest recorded day. */
  readonly startDate?: string | undefined
  /** Last day in UTC, as `2026-11-23`. Empty means today. */
  readonly endDate?: string | undefined
  /** Sort key: `pulls` or `pushes`, the highest first. Empty means `pulls`. */
  readonly orderBy?: string | undefined
  /**
   * Number of repos. 0 or unset means 10; values above 100 mean 100; negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly pageSize?: number | undefined
}

/** Response message for GetTopRepos. */
export interface GetTopReposResponse {
  /** Repos, the highest number first, then by UID. */
  readonly repos: readonly TopRepo[]
}

/** Request message for GetUsageHistory. */
export interface GetUsageHistoryRequest {
  /** UID of the organization. */
  readonly uid: string
  /** First day in UTC, as `2026-11-23`. Empty means the oldest recorded day. */
  readonly startDate?: string | undefined
  /** Last day in UTC, as `2026-11-23`. Empty means today. */
  readonly endDate?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and period only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for GetUsageHistory. */
export interface GetUsageHistoryResponse {
  /** Days, the oldest first. */
  readonly days: readonly UsageDay[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for GetUsage. */
export interface GetUsageRequest {
  /** UID of the organization or folder. */
  readonly uid: string
}

/** Request message for GetVisibility. */
export interface GetVisibilityRequest {
  /** UID of a repo or of a group. */
  readonly uid: string
}

/** Group: a node of the resource tree. A group without a parent is an organization. */
export interface Group {
  /**
   * Identifier, assigned by the server: 40 hexadecimal digits for an organization; for other groups, the
   * parent's UID plus `/` and 16 hexadecimal digits.
   */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Unique in the parent group. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description: string
  /**
   * Maximum number of resources in the organization, keyed by kind. A kind that is not listed has no limit
   * here.
   */
  readonly resourceLimits: Readonly<Record<string, number>>
  /**
   * Whether the operator has verified the organization. Only the operator can set it, and only on
   * organizations. The default is false.
   */
  readonly verified: boolean
  /** Time when the group was created. */
  readonly createTime?: string
  /** Time when the group was last updated. */
  readonly updateTime?: string
  /**
   * Kind of organization. Only the operator can set it, and only on organizations. Required to create a
   * verified organization. Other groups report the value of their organization.
   */
  readonly kind: OrgKind
  /** Status of the organization. Other groups report the value of their organization. */
  readonly status: OrgStatus
}

/** Group: a node of the resource tree. A group without a parent is an organization. */
export interface GroupInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Unique in the parent group. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /**
   * Whether the operator has verified the organization. Only the operator can set it, and only on
   * organizations. The default is false.
   */
  readonly verified?: boolean | undefined
  /**
   * Kind of organization. Only the operator can set it, and only on organizations. Required to create a
   * verified organization. Other groups report the value of their organization.
   */
  readonly kind?: OrgKind | undefined
}

/** Invitation to join a group with a role. */
export interface GroupInvite {
  /** Identifier, assigned by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** UID of the role that the invite grants. */
  readonly roleUid: string
  /** Role that the invite grants. Unset if the role no longer exists. */
  readonly role?: GroupInviteRole
  /**
   * Only email address that can accept the invite, without a display name; not case-sensitive. If empty,
   * anyone with the code can accept.
   */
  readonly email: string
  /**
   * Lifetime of the invite, from the time of the request: at least 1 millisecond, at most 365 days, truncated
   * to milliseconds. Never returned. An update without it leaves `expiration_time` unchanged; it is required
   * if the mask names `ttl` or is `*`.
   */
  readonly ttl?: string
  /** Time when the invite expires. */
  readonly expirationTime?: string
  /** Whether the invite can be accepted only once. */
  readonly singleUse: boolean
  /**
   * Code with which to accept the invite, with `link`, `berth auth login --invite-code` or AcceptGroupInvite.
   * Returned by CreateGroupInvite only.
   */
  readonly code: string
  /** Identifier of the key that authenticates the code. */
  readonly keyId: string
  /** Time when the invite was created. */
  readonly createTime?: string
  /**
   * Address of the page on which users accept the invite, to be sent to them. It contains the code after `#`,
   * which browsers do not send to servers. Returned by CreateGroupInvite only.
   */
  readonly link: string
  /**
   * Email that Berth sends to `email` with a link of its own, which also proves that the reader has the
   * address. Unset if there is none: the invite has no `email`, or the operator has not configured SMTP.
   */
  readonly mail?: InviteMail
}

/** Invitation to join a group with a role. */
export interface GroupInviteInput {
  /** UID of the role that the invite grants. */
  readonly roleUid: string
  /**
   * Only email address that can accept the invite, without a display name; not case-sensitive. If empty,
   * anyone with the code can accept.
   */
  readonly email?: string | undefined
  /**
   * Lifetime of the invite, from the time of the request: at least 1 millisecond, at most 365 days, truncated
   * to milliseconds. Never returned. An update without it leaves `expiration_time` unchanged; it is required
   * if the mask names `ttl` or is `*`.
   */
  readonly ttl: string
  /** Whether the invite can be accepted only once. */
  readonly singleUse?: boolean | undefined
}

/** Role of an invite. */
export interface GroupInviteRole {
  /** UID of the role. */
  readonly uid: string
  /** Name of the role. */
  readonly name: string
  /** Description of the role. */
  readonly description: string
  /** Capabilities of the role, in ascending order of their numbers. */
  readonly capabilities: readonly Capability[]
}

/** UID and path of a group. */
export interface GroupPath {
  /** UID of the group. */
  readonly uid: string
  /** Names from the organization to the group, separated by `/`. */
  readonly path: string
}

/** A group, in version 1 of the API. */
export interface GroupV1 {
  /** Identifier: the `uid` of newer versions. */
  readonly id: string
  /** Name. */
  readonly name: string
  /** Free text. */
  readonly description: string
  /**
   * Maximum number of resources in an organization, keyed by kind. Kinds without a limit are omitted, and so
   * are the limits of groups in an organization.
   */
  readonly resourceLimits: Readonly<Record<string, number>>
  /** Whether the operator has verified the organization of the group. */
  readonly verified: boolean
  /** Kind of organization. Other groups report the value of their organization. */
  readonly kind: OrgKindV1
  /** Status of the organization. Other groups report the value of their organization. */
  readonly status: OrgStatusV1
}

/** Encrypted token for a client. */
export interface HeadlessSession {
  /** X25519 public key of the server, as the ASCII text of its base64url without padding. */
  readonly ecdhPublicKey: string
  /**
   * Encrypted ID token: a nonce of 12 bytes, then the ID token encrypted with AES-256-GCM and its tag. The
   * key is the raw shared secret of both key pairs.
   */
  readonly encryptedIdtoken: string
}

/** Role of an identity with its sources. */
export interface HeldRole {
  /** Role. */
  readonly role?: RoleBindingRole
  /** Where the role comes from. */
  readonly sources: readonly AccessSource[]
  /** Whether the role has all required capabilities. */
  readonly sufficient: boolean
}

/** Number of members that have a role in an ancestor whose role bindings the caller cannot read. */
export interface HiddenAccess {
  /** Ancestor. The name is empty if the caller cannot read the requested group. */
  readonly group?: RoleBindingGroup
  /** Name of the role. */
  readonly role: string
  /** Number of users. */
  readonly users: number
  /** Number of workloads. */
  readonly workloads: number
  /** Number of groups of identity providers. */
  readonly externalGroups: number
}

/** User or workload that can have roles. */
export interface Identity {
  /**
   * Identifier, assigned by the server: the group's UID plus `/` and 16 hexadecimal digits, or 40 hexadecimal
   * digits for a user.
   */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Not unique. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description: string
  /** Email address that the issuer of the user's token has verified. */
  readonly email: string
  /** Email address in the user's token that the issuer has not verified. For display only. */
  readonly emailUnverified: string
  /** Company of the user, as free text. */
  readonly company: string
  /** Time when the identity was last assumed by a token exchange; initially the creation time. */
  readonly lastSeenTime?: string
  /** Time when the identity was created. */
  readonly createTime?: string
  /** Time when the identity was last updated. */
  readonly updateTime?: string
  /** Tokens of a public OpenID Connect issuer whose claims match. */
  readonly claimMatch?: IdentityClaimMatch
  /** Tokens signed with keys that are stored here, for issuers that cannot be reached. */
  readonly staticKeys?: IdentityStaticKeys
  /** A principal of an AWS account. */
  readonly awsIdentity?: IdentityAWSIdentity
  /** A service of the platform. */
  readonly servicePrincipal?: ServicePrincipal
}

/**
 * Principal of an AWS account, as the AWS call GetCallerIdentity reports it. Patterns are RE2 regular
 * expressions that must match the whole value.
 */
export interface IdentityAWSIdentity {
  /** Account number: 12 decimal digits. */
  readonly awsAccount: string
  /** Exact `Arn`. */
  readonly arn?: string
  /** Pattern that the `Arn` must match. */
  readonly arnPattern?: string
  /** Exact `UserId`. */
  readonly userId?: string
  /** Pattern that the `UserId` must match. */
  readonly userIdPattern?: string
}

/**
 * Principal of an AWS account, as the AWS call GetCallerIdentity reports it. Patterns are RE2 regular
 * expressions that must match the whole value.
 */
export interface IdentityAWSIdentityInput {
  /** Account number: 12 decimal digits. */
  readonly awsAccount: string
  /** Exact `Arn`. */
  readonly arn?: string | undefined
  /** Pattern that the `Arn` must match. */
  readonly arnPattern?: string | undefined
  /** Exact `UserId`. */
  readonly userId?: string | undefined
  /** Pattern that the `UserId` must match. */
  readonly userIdPattern?: string | undefined
}

/**
 * Conditions on the claims of an OpenID Connect token. Exact values are case-sensitive. Patterns are RE2
 * regular expressions that must match the whole value.
 */
export interface IdentityClaimMatch {
  /** Exact issuer, an absolute URL. */
  readonly issuer?: string
  /** Pattern that the issuer must match. */
  readonly issuerPattern?: string
  /** Exact subject. */
  readonly subject?: string
  /** Pattern that the subject must match. */
  readonly subjectPattern?: string
  /** Exact audience. */
  readonly audience?: string
  /** Pattern that an audience must match. */
  readonly audiencePattern?: string
  /** Exact values of other claims, keyed by claim name. */
  readonly claims: Readonly<Record<string, string>>
  /** Patterns for the values of other claims, keyed by claim name. */
  readonly claimPatterns: Readonly<Record<string, string>>
}

/**
 * Conditions on the claims of an OpenID Connect token. Exact values are case-sensitive. Patterns are RE2
 * regular expressions that must match the whole value.
 */
export interface IdentityClaimMatchInput {
  /** Exact issuer, an absolute URL. */
  readonly issuer?: string | undefined
  /** Pattern that the issuer must match. */
  readonly issuerPattern?: string | undefined
  /** Exact subject. */
  readonly subject?: string | undefined
  /** Pattern that the subject must match. */
  readonly subjectPattern?: string | undefined
  /** Exact audience. */
  readonly audience?: string | undefined
  /** Pattern that an audience must match. */
  readonly audiencePattern?: string | undefined
  /** Exact values of other claims, keyed by claim name. */
  readonly claims?: Readonly<Record<string, string>> | undefined
  /** Patterns for the values of other claims, keyed by claim name. */
  readonly claimPatterns?: Readonly<Record<string, string>> | undefined
}

/** User or workload that can have roles. */
export interface IdentityInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Not unique. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /** Company of the user, as free text. */
  readonly company?: string | undefined
  /** Tokens of a public OpenID Connect issuer whose claims match. */
  readonly claimMatch?: IdentityClaimMatchInput | undefined
  /** Tokens signed with keys that are stored here, for issuers that cannot be reached. */
  readonly staticKeys?: IdentityStaticKeysInput | undefined
  /** A principal of an AWS account. */
  readonly awsIdentity?: IdentityAWSIdentityInput | undefined
  /** A service of the platform. */
  readonly servicePrincipal?: ServicePrincipal | undefined
}

/** Details about a user and how the user found the platform. */
export interface IdentityMetadata {
  /** UID of the caller's own identity. */
  readonly uid: string
  /** Full name, from the token with which the user signed in. */
  readonly name: string
  /** Given name, taken from the full name. */
  readonly givenName: string
  /** Family name, taken from the full name. */
  readonly familyName: string
  /** Company of the user. */
  readonly company: string
  /** Whether the user wants news by email. */
  readonly updatesOptIn: boolean
  /** Product that the user is interested in. */
  readonly product: string
  /** Job title of the user. */
  readonly jobTitle: string
  /** Campaign of the visit. */
  readonly utmCampaign: string
  /** Variant of the campaign's content. */
  readonly utmContent: string
  /** Channel of the campaign, for example mail. */
  readonly utmMedium: string
  /** Site or sender that the visit came from. */
  readonly utmSource: string
  /** Search term that led to the visit. */
  readonly utmTerm: string
  /** URL of the form that was submitted last. */
  readonly latestFormSubmitUrl: string
  /** URL of the platform's page that last led here. */
  readonly latestInternalReferringUrl: string
  /** Visitor ID of a customer relationship management system. Passed on and never stored. */
  readonly hubspotUtk: string
  /** Whether the user came through self-service sign-up. */
  readonly selfServe: boolean
}

/** Details about a user and how the user found the platform. */
export interface IdentityMetadataInput {
  /** Company of the user. */
  readonly company?: string | undefined
  /** Whether the user wants news by email. */
  readonly updatesOptIn?: boolean | undefined
  /** Product that the user is interested in. */
  readonly product?: string | undefined
  /** Job title of the user. */
  readonly jobTitle?: string | undefined
  /** Campaign of the visit. */
  readonly utmCampaign?: string | undefined
  /** Variant of the campaign's content. */
  readonly utmContent?: string | undefined
  /** Channel of the campaign, for example mail. */
  readonly utmMedium?: string | undefined
  /** Site or sender that the visit came from. */
  readonly utmSource?: string | undefined
  /** Search term that led to the visit. */
  readonly utmTerm?: string | undefined
  /** URL of the form that was submitted last. */
  readonly latestFormSubmitUrl?: string | undefined
  /** URL of the platform's page that last led here. */
  readonly latestInternalReferringUrl?: string | undefined
  /** Visitor ID of a customer relationship management system. Passed on and never stored. */
  readonly hubspotUtk?: string | undefined
  /** Whether the user came through self-service sign-up. */
  readonly selfServe?: boolean | undefined
}

/** Account system through which the users of an organization sign in. */
export interface IdentityProvider {
  /** Identifier, assigned by the server: the organization's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description: string
  /** Time when the provider was created. */
  readonly createTime?: string
  /** Time when the provider was last updated. */
  readonly updateTime?: string
  /**
   * UID of the role that a user receives at the first sign-in. Users who already have an identity keep their
   * roles.
   */
  readonly defaultRole: string
  /** OpenID Connect. */
  readonly oidc?: IdentityProviderOIDC
  /** State of SCIM provisioning. Ignored in requests, so that a provider that was read can be sent back. */
  readonly scim?: IdentityProviderSCIM
  /**
   * Redirect URI of sign-ins through this provider. A new provider always has CALLBACK_OWN. An update can
   * change CALLBACK_SHARED to CALLBACK_OWN, but not the reverse. Unset keeps the stored value. Changing the
   * issuer sets it to CALLBACK_OWN.
   */
  readonly callback: IdentityProviderCallback
  /** Redirect URI of this provider. Register it at the provider exactly as returned. */
  readonly redirectUri: string
  /**
   * Reason why sign-in through this provider is rejected, and what to do. Empty if sign-in is possible.
   * Returned by GetIdentityProvider only.
   */
  readonly signInProblem: string
}

/** Redirect URIs that a provider can use. */
export type IdentityProviderCallback =
  | 'CALLBACK_UNSPECIFIED'
  | 'CALLBACK_OWN'
  | 'CALLBACK_SHARED'

/** Account system through which the users of an organization sign in. */
export interface IdentityProviderInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /**
   * UID of the role that a user receives at the first sign-in. Users who already have an identity keep their
   * roles.
   */
  readonly defaultRole: string
  /** OpenID Connect. */
  readonly oidc: IdentityProviderOIDCInput
  /**
   * Redirect URI of sign-ins through this provider. A new provider always has CALLBACK_OWN. An update can
   * change CALLBACK_SHARED to CALLBACK_OWN, but not the reverse. Unset keeps the stored value. Changing the
   * issuer sets it to CALLBACK_OWN.
   */
  readonly callback?: IdentityProviderCallback | undefined
}

/** Settings of an OpenID Connect provider. A client secret, PKCE, or both are required. */
export interface IdentityProviderOIDC {
  /** Issuer, an absolute URL at which the provider publishes its discovery document. */
  readonly issuer: string
  /** Client ID, assigned by the provider. Not a secret. */
  readonly clientId: string
  /**
   * Client secret, assigned by the provider. Never returned. An update with an empty value keeps the stored
   * secret unless the mask names this field.
   */
  readonly clientSecret: string
  /** Scopes to request in addition to `openid`, which is always requested first. */
  readonly additionalScopes: readonly string[]
  /** Claim that contains the user's groups at the provider. Empty means that groups are not read. */
  readonly groupsClaim: string
  /**
   * Rule that matches a sign-in to the account that SCIM created. It cannot change after the provider is
   * created; an update can repeat the same value.
   */
  readonly correlationRule: IdentityProviderOIDCCorrelationRule
  /**
   * Whether to use PKCE (RFC 7636) with the provider. Rejected if the provider's discovery document
   * excludes it.
   */
  readonly pkceEnabled: boolean
}

/** Claims that can match a sign-in to a SCIM account. */
export type IdentityProviderOIDCCorrelationRule =
  | 'CORRELATION_RULE_UNSPECIFIED'
  | 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID'
  | 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID'

/** Settings of an OpenID Connect provider. A client secret, PKCE, or both are required. */
export interface IdentityProviderOIDCInput {
  /** Issuer, an absolute URL at which the provider publishes its discovery document. */
  readonly issuer: string
  /** Client ID, assigned by the provider. Not a secret. */
  readonly clientId: string
  /**
   * Client secret, assigned by the provider. Never returned. An update with an empty value keeps the stored
   * secret unless the mask names this field.
   */
  readonly clientSecret?: string | undefined
  /** Scopes to request in addition to `openid`, which is always requested first. */
  readonly additionalScopes?: readonly string[] | undefined
  /** Claim that contains the user's groups at the provider. Empty means that groups are not read. */
  readonly groupsClaim?: string | undefined
  /**
   * Rule that matches a sign-in to the account that SCIM created. It cannot change after the provider is
   * created; an update can repeat the same value.
   */
  readonly correlationRule?: IdentityProviderOIDCCorrelationRule | undefined
  /**
   * Whether to use PKCE (RFC 7636) with the provider. Rejected if the provider's discovery document
   * excludes it.
   */
  readonly pkceEnabled?: boolean | undefined
}

/** State of SCIM provisioning (RFC 7644). */
export interface IdentityProviderSCIM {
  /** Whether the provider can manage accounts. Changed by SetScimEnabled only. */
  readonly enabled: boolean
  /** URL to which the provider sends its requests, derived from the provider's UID. */
  readonly endpointUrl: string
  /** Expiration time of the current token. Unset if there is no token, if it never expires, and in lists. */
  readonly tokenExpireTime?: string
  /** Expiration time of the replaced token. Unset if there is none. */
  readonly previousTokenExpireTime?: string
  /** State of the current token. Not returned in lists. */
  readonly credentialState: IdentityProviderSCIMCredentialState
  /** Version of this state, to send with RegenerateScimToken and SetScimEnabled. */
  readonly etag: string
}

/** States of the SCIM token. */
export type IdentityProviderSCIMCredentialState =
  | 'CREDENTIAL_STATE_UNSPECIFIED'
  | 'CREDENTIAL_STATE_NOT_ISSUED'
  | 'CREDENTIAL_STATE_LIVE'
  | 'CREDENTIAL_STATE_EXPIRED'
  | 'CREDENTIAL_STATE_REVOKED'
  | 'CREDENTIAL_STATE_ROTATING'

/** Token issuer whose public keys are stored with the identity. */
export interface IdentityStaticKeys {
  /** Exact `iss` claim, an absolute URL. */
  readonly issuer: string
  /** Exact `sub` claim. */
  readonly subject: string
  /** Public keys of the issuer: a JSON Web Key Set as text. */
  readonly issuerKeys: string
  /** Time when the keys expire. The default and the maximum is 365 days after creation. */
  readonly expirationTime?: string
  /**
   * Audience that tokens must have: none, or exactly one. If empty, the platform's own audiences are
   * accepted.
   */
  readonly audiences: readonly string[]
}

/** Token issuer whose public keys are stored with the identity. */
export interface IdentityStaticKeysInput {
  /** Exact `iss` claim, an absolute URL. */
  readonly issuer: string
  /** Exact `sub` claim. */
  readonly subject: string
  /** Public keys of the issuer: a JSON Web Key Set as text. */
  readonly issuerKeys: string
  /** Time when the keys expire. The default and the maximum is 365 days after creation. */
  readonly expirationTime?: string | undefined
  /**
   * Audience that tokens must have: none, or exactly one. If empty, the platform's own audiences are
   * accepted.
   */
  readonly audiences?: readonly string[] | undefined
}

/** Configuration of an image. Lists and texts are cut off at 256 KiB in total. */
export interface ImageConfiguration {
  /** Operating system, for example `linux`. */
  readonly os: string
  /** Architecture, with a variant as in `arm/v7`. */
  readonly architecture: string
  /** Time when the image was built, according to the image. Unset if it has none. */
  readonly createTime?: string
  /** Author of the image. */
  readonly author: string
  /** User that the container runs as: a name or ID, optionally with a group. */
  readonly user: string
  /** Environment variables as `NAME=value`. */
  readonly env: readonly string[]
  /** Entrypoint. */
  readonly entrypoint: readonly string[]
  /** Default arguments of the entrypoint, or the command if there is none. */
  readonly cmd: readonly string[]
  /** Working directory. */
  readonly workingDir: string
  /** Ports that the container listens on, for example `8080/tcp`. */
  readonly exposedPorts: readonly string[]
  /** Paths of volumes. */
  readonly volumes: readonly string[]
  /** Labels. */
  readonly labels: Readonly<Record<string, string>>
  /** Signal that stops the container. */
  readonly stopSignal: string
  /** Build steps, the first one first. */
  readonly history: readonly ImageHistoryStep[]
  /** Whether a part is missing because the configuration is too large. */
  readonly truncated: boolean
}

/** Summary of what an image contains. */
export interface ImageContents {
  /** Digest of the image; for an index, of its image for the platform. */
  readonly digest: string
  /** Whether the contents are known. */
  readonly state: ContentsState
  /** Why the image could not be read: continues "could not be read, because". */
  readonly reason: string
  /** Where the packages are from. */
  readonly source: ContentsSource
  /** Format of the SBOM, such as `spdx-2.3`. Empty without. */
  readonly sbomFormat: string
  /** Operating system of the image. Unset if it has none. */
  readonly distribution?: ImageDistribution
  /** Number of distinct packages. */
  readonly packageCount: number
  /** Number of packages by type of their package URL, ordered by type. */
  readonly typeCounts: readonly PackageTypeCount[]
  /** What could not be read; the packages are those of the rest. At most 200. */
  readonly problems: readonly ContentsProblem[]
  /** Time when the image was last read. Unset before. */
  readonly readTime?: string
}

/** Operating system of an image, as in its file os-release. */
export interface ImageDistribution {
  /** ID, such as `alpine`. */
  readonly id: string
  /** Version, such as `3.20.1`. */
  readonly version: string
  /** Name with version. */
  readonly name: string
  /**
   * Day on which the fixes of this release end, as the distribution publishes it, or as `SUPPORT_END` in its os-release
   * states it. Unset if it is unknown, and for distributions without releases.
   */
  readonly endOfLifeTime?: string
}

/** Difference of the vulnerabilities of two images, without those that affect neither of them. */
export interface ImageFindingsDifference {
  /** Findings of the image that the base does not have in the same package name. */
  readonly added: readonly Finding[]
  /** Findings of the base that the image does not have. */
  readonly removed: readonly Finding[]
  /** Findings of both whose version, state or fix is different, as they are in the image. */
  readonly changed: readonly Finding[]
  /** Work in the background after which the difference may be another one. */
  readonly pending: readonly PendingWork[]
}

/** Build step of an image. */
export interface ImageHistoryStep {
  /** Command of the step. */
  readonly createdBy: string
  /** Comment, for example the name of the build tool. */
  readonly comment: string
  /** Time of the step, according to the image. Unset if it has none. */
  readonly createTime?: string
  /**
   * Index of the layer that the step created, counted from 0. Unset for a step that changed only the
   * configuration.
   */
  readonly layer?: number
}

/** Package of an image. */
export interface ImagePackage {
  /** Package URL. */
  readonly purl: string
  /** Type of the package URL. */
  readonly type: string
  /** Namespace of the package URL. Empty without. */
  readonly namespace: string
  /** Name. */
  readonly name: string
  /** Version. Empty if it is unknown. */
  readonly version: string
  /** Architecture. Empty if it is unknown or irrelevant. */
  readonly architecture: string
  /** Name of the source package. Empty if it is unknown. */
  readonly originName: string
  /** Version of the source package. Empty if it is unknown. */
  readonly originVersion: string
  /** License, as an SPDX expression or as the package has it. Empty if it is unknown. */
  readonly license: string
  /** Path of the file that lists the package. Empty if it is unknown. */
  readonly path: string
  /** Digest of the layer with that file. Empty if it is unknown. */
  readonly layer: string
  /** Time of the build, from the database of apk or rpm, or the SBOM of the image. Unset if it is unknown. */
  readonly buildTime?: string
  /** End of life: that in the SBOM of the image, else that of the distribution. Unset if it is unknown. */
  readonly endOfLifeTime?: string
}

/** Vulnerabilities of an image as a document. */
export interface ImageReport {
  /** Digest of the image. */
  readonly digest: string
  /** Format with its version, such as `sarif-2.1.0`. */
  readonly format: string
  /** The document. */
  readonly report: string
  /** Work in the background after which the report may be different. The report states it too. */
  readonly pending: readonly PendingWork[]
}

/** SBOM of an image. */
export interface ImageSbom {
  /** Digest of the image. */
  readonly digest: string
  /** Format with its version, such as `spdx-2.3`. */
  readonly format: string
  /** The document. */
  readonly sbom: string
}

/** Signature of an image. */
export interface ImageSignature {
  /** Digest of the manifest that holds the signature. */
  readonly digest: string
  /** Tag of that manifest (`sha256-<hex>.sig`). Empty for a referrer. */
  readonly tag: string
  /** Format of the signature. */
  readonly format: SignatureFormat
  /** State of the signature: verified, untrusted or invalid. */
  readonly state: SignatureState
  /** Reason why the signature is untrusted or invalid. Empty if it is verified. */
  readonly reason: string
  /** Verifiers that verified the signature, those of the outermost group first. */
  readonly verifications: readonly SignatureVerification[]
  /**
   * Name of the image in the payload of cosign. Only information: signers choose it, and it is not compared
   * with the repo, so that signatures stay valid in copies. Empty if the format has none.
   */
  readonly dockerReference: string
}

/** Signatures of an image, verified. */
export interface ImageSignatures {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the image, as `algorithm:hex`. */
  readonly digest: string
  /** State of all signatures together. */
  readonly state: SignatureState
  /** Signatures: those of the tag `sha256-<hex>.sig`, then the referrers, ordered by digest. */
  readonly signatures: readonly ImageSignature[]
  /** Whether the image has more signatures than are verified (50). */
  readonly truncated: boolean
  /** Number of verifiers that apply to the repo: those of its group and of the groups above it. */
  readonly verifierCount: number
  /** Time when the signatures were verified. */
  readonly checkTime?: string
}

/**
 * Tags that can be created, but not moved or deleted by any caller. The manifests that they point to cannot
 * be deleted either. Such calls fail with FAILED_PRECONDITION, type TAG_IMMUTABLE. Pushing the digest that a
 * tag already points to has no effect. A caller with `repo_policies.update` can change the policy, and can
 * delete or rename the repo.
 */
export interface ImmutableTags {
  /**
   * Patterns for tag names: `*` matches any characters, `?` matches one. `*` alone matches all tags; an empty
   * list matches none.
   */
  readonly patterns: readonly string[]
  /** Patterns for tags that match `patterns` but can be moved and deleted. */
  readonly exceptions: readonly string[]
}

/**
 * Tags that can be created, but not moved or deleted by any caller. The manifests that they point to cannot
 * be deleted either. Such calls fail with FAILED_PRECONDITION, type TAG_IMMUTABLE. Pushing the digest that a
 * tag already points to has no effect. A caller with `repo_policies.update` can change the policy, and can
 * delete or rename the repo.
 */
export interface ImmutableTagsInput {
  /**
   * Patterns for tag names: `*` matches any characters, `?` matches one. `*` alone matches all tags; an empty
   * list matches none.
   */
  readonly patterns?: readonly string[] | undefined
  /** Patterns for tags that match `patterns` but can be moved and deleted. */
  readonly exceptions?: readonly string[] | undefined
}

/** Request message for ImportAdvisoryDocuments. */
export interface ImportAdvisoryDocumentsRequest {
  /** UID of the group that the advisories belong to. */
  readonly parent: string
  /** Documents, each processed on its own. */
  readonly documents: readonly AdvisoryDocument[]
  /** Whether to report changes without making them. */
  readonly dryRun?: boolean | undefined
}

/** Response message for ImportAdvisoryDocuments. */
export interface ImportAdvisoryDocumentsResponse {
  /** Result of each document, in the order of the request. */
  readonly documents: readonly ImportedDocument[]
}

/** Counts of an import of many documents. */
export interface ImportCounts {
  /** Number of documents that were read. */
  readonly documents: number
  /** Number of files that are not documents. */
  readonly skipped: number
  /** Number of rejected documents. */
  readonly rejected: number
  /** Number of created advisories. */
  readonly created: number
  /** Number of updated advisories. */
  readonly updated: number
  /** Number of unchanged advisories. */
  readonly unchanged: number
  /** Number of advisories that were marked as deleted. */
  readonly withdrawn: number
  /** Number of entries that were superseded by another document with more information. */
  readonly covered: number
  /** Number of vulnerabilities with new or changed scores. */
  readonly scored: number
  /** First rejected documents, with line and reason. */
  readonly rejections: readonly ImportedDocument[]
  /** Number of documents of which a newer version is already stored. They have no effect. */
  readonly older: number
}

/** Result of importing a document. */
export interface ImportedDocument {
  /** Name, as in the request. */
  readonly name: string
  /** Format of the document. Empty if it was not detected. */
  readonly format: string
  /** Whether the document was imported. */
  readonly accepted: boolean
  /** Reason why the document was rejected. Empty if it was imported. */
  readonly reason: string
  /** Line of the document that the reason refers to, starting at 1. 0: unknown. */
  readonly line: number
  /** Number of created advisories. */
  readonly created: number
  /** Number of updated advisories. */
  readonly updated: number
  /** Number of unchanged advisories. */
  readonly unchanged: number
  /** Number of advisories that were marked as deleted. */
  readonly withdrawn: number
  /**
   * Number of entries that were superseded by another document with more information. They create no
   * advisories.
   */
  readonly covered: number
  /** Number of vulnerabilities with new or changed scores. */
  readonly scored: number
  /** Number of events of its advisories, keyed by the field name of the event, for example `fixed`. */
  readonly events: Readonly<Record<string, number>>
  /** Parts of the document that the schema has no field for. They are stored with the document. */
  readonly unmapped: readonly UnmappedField[]
  /** 1 if a newer version of the document is already stored. It then has no effect. */
  readonly older: number
}

/** Entry of an index. */
export interface IndexEntry {
  /** Digest of the manifest. */
  readonly digest: string
  /** Media type of the manifest. */
  readonly mediaType: string
  /** Size of the manifest in bytes. */
  readonly size: string
  /** Platform as `os/architecture` or `os/architecture/variant`. Empty for an attestation or another artifact. */
  readonly platform: string
  /**
   * Compressed size of the configuration and the layers in bytes. Unset for a nested index, and if the
   * manifest is not in the repo.
   */
  readonly imageSize?: string
  /** Whether the manifest is in the repo. */
  readonly present: boolean
  /** Digest of the entry that this one describes, as in attestations of BuildKit. Empty for none. */
  readonly describes: string
}

/** Email with the link of an invite. Its state is stored for 30 days after the last possible attempt. */
export interface InviteMail {
  /** Delivery of the email to the operator's mail server. */
  readonly state: InviteMailState
  /** Number of attempts to send it. */
  readonly attempts: number
  /** Reason why it was not sent, or why the last attempt failed. Empty if there was no problem. */
  readonly problem: string
  /** Time when the state last changed. */
  readonly updateTime?: string
}

/** States of an email. */
export type InviteMailState =
  | 'STATE_UNSPECIFIED'
  | 'STATE_QUEUED'
  | 'STATE_SENT'
  | 'STATE_FAILED'

/** Result of a finished run. */
export interface JobResult {
  /** Whether the run succeeded. */
  readonly succeeded: boolean
  /** UID of the resource that the job was for. Empty for a kind with a single job. */
  readonly key: string
  /** Name of the node. */
  readonly nodeName: string
  /** Start. */
  readonly startTime?: string
  /** End. */
  readonly endTime?: string
}

/** Job that runs now. */
export interface JobRun {
  /** UID of the resource that the job is for. Empty for a kind with a single job. */
  readonly key: string
  /** Name of the node. Empty if it is unknown; `command` for `berth admin`. */
  readonly nodeName: string
  /** When another node may continue the job, unless the lease is renewed. */
  readonly leaseExpireTime?: string
}

/** What a run counted. */
export interface JobRunCount {
  /** Name, such as `created`, `tags` or `blobs`. */
  readonly name: string
  /** Number. */
  readonly count: string
  /** Bytes. 0 if bytes are not counted. */
  readonly bytes: string
}

/** Any JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/** Exploitation of a vulnerability, as a catalog of known exploited vulnerabilities states it. */
export interface KnownExploitation {
  /** Day on which the vulnerability was added to the catalog. */
  readonly addedDate: string
  /** Day by which the catalog requires a mitigation. Empty for none. */
  readonly dueDate: string
  /** Whether ransomware is known to use it. */
  readonly ransomware: boolean
  /** Name of the vulnerability. */
  readonly name: string
  /** What the catalog requires. */
  readonly requiredAction: string
}

/** Request message for ListAccountAssociations. All filters that are set must match. */
export interface ListAccountAssociationsRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only associations with exactly this name. Empty returns all. */
  readonly name?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `group asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListAccountAssociations. */
export interface ListAccountAssociationsResponse {
  /** Results of this page, in the requested order. */
  readonly accountAssociations: readonly AccountAssociation[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListAccounts. */
export interface ListAccountsRequest {
  /** Returns only users whose name or email address contains this text, ignoring case. */
  readonly query?: string | undefined
  /** Returns only users who sign in like this. Unset returns all. */
  readonly kind?: AccountKind | undefined
  /** Returns only suspended accounts. */
  readonly suspended?: boolean | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListAccounts. */
export interface ListAccountsResponse {
  /** Users of this page, ordered by email address. */
  readonly accounts: readonly OperatorAccount[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/**
 * Request message for ListAdvisories. All filters that are set must match; a filter with several values
 * matches any of them. Different events of an advisory can match different filters.
 */
export interface ListAdvisoriesRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only advisories with one of these public IDs. */
  readonly advisoryIds?: readonly string[] | undefined
  /** Returns only advisories with one of these IDs in an older database. */
  readonly legacyAdvisoryIds?: readonly string[] | undefined
  /** Returns only advisories for one of these artifacts. Ignored if `origin` is set. */
  readonly artifactNames?: readonly string[] | undefined
  /** Returns only advisories for artifacts of one of these types. */
  readonly artifactTypes?: readonly string[] | undefined
  /** Returns only advisories for artifacts of one of these architectures. */
  readonly artifactArchitectures?: readonly string[] | undefined
  /** Returns only advisories for one of these components. */
  readonly componentNames?: readonly string[] | undefined
  /** Returns only advisories for components of one of these ecosystems. */
  readonly componentTypes?: readonly string[] | undefined
  /** Returns only advisories for components at one of these paths. */
  readonly componentLocations?: readonly string[] | undefined
  /** Returns only advisories with at least one of these IDs, for example a CVE ID. */
  readonly aliases?: readonly string[] | undefined
  /**
   * Returns only advisories for the package with this name and the packages that are built from it. Unset or
   * empty returns all.
   */
  readonly origin?: string | undefined
  /** Returns only advisories with an event in one of these review states. */
  readonly eventReviewStates?: readonly ReviewState[] | undefined
  /** Returns only advisories with an event by one of these authors. */
  readonly eventAuthors?: readonly string[] | undefined
  /** Excludes advisories with an event by any of these authors. */
  readonly excludeEventAuthors?: readonly string[] | undefined
  /** Returns only advisories with an event reviewed by one of these reviewers. */
  readonly eventReviewers?: readonly string[] | undefined
  /** Returns only advisories with an event of one of these types. */
  readonly eventTypes?: readonly EventTypeFilter[] | undefined
  /** Returns only advisories whose latest approved event has this type. */
  readonly latestEventType?: EventTypeFilter | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
  /**
   * Returns only advisories whose artifact name, component name or an alias contains this text; not
   * case-sensitive. Empty returns all.
   */
  readonly query?: string | undefined
}

/** Response message for ListAdvisories. */
export interface ListAdvisoriesResponse {
  /** Results of this page, in the requested order. */
  readonly advisories: readonly Advisory[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListAdvisoryFeedRuns. All filters that are set must match. */
export interface ListAdvisoryFeedRunsRequest {
  /** Part of the tree to list. `descendants_of` a group returns the runs of all feeds in it. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only runs of this feed. Empty returns all. */
  readonly feedUid?: string | undefined
  /** Returns only runs in these states. Empty returns all. */
  readonly states?: readonly AdvisoryFeedRunState[] | undefined
  /** Returns only runs that this identity requested, or `system` for the schedule. Empty returns all. */
  readonly actor?: string | undefined
  /** Returns only runs that started at or after this time. */
  readonly since?: string | undefined
  /** Returns only runs that started before this time. */
  readonly until?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `start_time desc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListAdvisoryFeedRuns. */
export interface ListAdvisoryFeedRunsResponse {
  /** Results of this page, in the requested order. */
  readonly advisoryFeedRuns: readonly AdvisoryFeedRun[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListAdvisoryFeeds. All filters that are set must match. */
export interface ListAdvisoryFeedsRequest {
  /** Part of the tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only feeds with exactly this URL. Empty returns all. */
  readonly url?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListAdvisoryFeeds. */
export interface ListAdvisoryFeedsResponse {
  /** Results of this page, in the requested order. */
  readonly advisoryFeeds: readonly AdvisoryFeed[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListAffectedImages. */
export interface ListAffectedImagesRequest {
  /** UID of the group, folder or repo. */
  readonly uid: string
  /** ID of the vulnerability, or an alias. */
  readonly vulnerability: string
  /** Returns only images whose packages have these states. Empty returns all. */
  readonly states?: readonly FindingState[] | undefined
  /** Page size. 0 means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListAffectedImages. */
export interface ListAffectedImagesResponse {
  /** Results of this page. */
  readonly affectedImages: readonly AffectedImage[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /**
   * Whether all packages of the organization are matched with the current advisories and catalogs: otherwise,
   * there may be more images. Images that are not read have no packages.
   */
  readonly matched: boolean
}

/** Request message for ListAuditEvents. All filters that are set must match. */
export interface ListAuditEventsRequest {
  /**
   * Part of the tree to list. `descendants_of` a group returns the events of the group and everything in it;
   * `children_of` a UID returns the events of exactly this resource.
   */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only events of this actor. Empty returns all. */
  readonly actor?: string | undefined
  /** Returns only events of this method, by full name or method name alone (`CreateGroup`). Empty returns all. */
  readonly method?: string | undefined
  /** Returns only events for exactly this UID. Empty returns all. */
  readonly resourceUid?: string | undefined
  /** Returns only events at or after this time. */
  readonly since?: string | undefined
  /** Returns only events before this time. */
  readonly until?: string | undefined
  /** Returns only events with this result: 0 for success, 7 for permission denied. */
  readonly code?: number | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `created_at desc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListAuditEvents. */
export interface ListAuditEventsResponse {
  /** Results of this page, in the requested order. */
  readonly events: readonly AuditEvent[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListExternalGroupRoleMappings. All filters that are set must match. */
export interface ListExternalGroupRoleMappingsRequest {
  /** Part of the tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only mappings of this identity provider. Empty returns all. */
  readonly identityProviderUid?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListExternalGroupRoleMappings. */
export interface ListExternalGroupRoleMappingsResponse {
  /** Results of this page, in the requested order. */
  readonly externalGroupRoleMappings: readonly ExternalGroupRoleMapping[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListFindingSummaryHistory. */
export interface ListFindingSummaryHistoryRequest {
  /** UID of the group, folder or repo. */
  readonly uid: string
  /** Page size. 0 means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListFindingSummaryHistory. */
export interface ListFindingSummaryHistoryResponse {
  /** Results of this page. */
  readonly findingSummaryHistoryEntries: readonly FindingSummaryHistoryEntry[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of entries on all pages. */
  readonly totalCount: string
}

/** Request message for ListGroupInvites. All filters that are set must match. */
export interface ListGroupInvitesRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only invites with exactly this `key_id`. Empty returns all. */
  readonly keyId?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `created_at desc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListGroupInvites. */
export interface ListGroupInvitesResponse {
  /** Results of this page, in the requested order. */
  readonly groupInvites: readonly GroupInvite[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListGroups. All filters that are set must match. */
export interface ListGroupsRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only groups with exactly this name. Empty returns all. */
  readonly name?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListGroups. */
export interface ListGroupsResponse {
  /** Results of this page, in the requested order. */
  readonly groups: readonly Group[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListIdentities. All filters that are set must match. */
export interface ListIdentitiesRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only identities with exactly this name. Empty returns all. */
  readonly name?: string | undefined
  /** Returns only identities that are assumed by this method. Unset returns all. */
  readonly relationshipType?: RelationshipType | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
  /** Returns only identities whose name starts with this text. Empty returns all. */
  readonly namePrefix?: string | undefined
  /**
   * Returns only identities whose tokens have exactly this issuer. Empty returns all. Rules with an issuer pattern
   * and AWS principals have none.
   */
  readonly issuer?: string | undefined
  /** Returns only identities with static keys that expire at this time or later. */
  readonly expiresAfter?: string | undefined
  /** Returns only identities with static keys that expire before this time. */
  readonly expiresBefore?: string | undefined
}

/** Response message for ListIdentities. */
export interface ListIdentitiesResponse {
  /** Results of this page, in the requested order. */
  readonly identities: readonly Identity[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListIdentityProviders. All filters that are set must match. */
export interface ListIdentityProvidersRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only providers with exactly this name. Empty returns all. */
  readonly name?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListIdentityProviders. */
export interface ListIdentityProvidersResponse {
  /** Results of this page, in the requested order. */
  readonly identityProviders: readonly IdentityProvider[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListImageFindings. */
export interface ListImageFindingsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the image, as `algorithm:hex`. Either this or `tag` is required. */
  readonly digest?: string | undefined
  /** Tag of the image. */
  readonly tag?: string | undefined
  /** Returns only findings with these states. Empty returns all. */
  readonly states?: readonly FindingState[] | undefined
  /** Returns only findings with these severities. Empty returns all. */
  readonly severities?: readonly FindingSeverity[] | undefined
  /** Returns only this vulnerability, by its ID or an alias. Empty returns all. */
  readonly vulnerability?: string | undefined
  /** Page size. 0 means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /** Image of an index, such as `linux/arm64`. Empty returns the findings of all its images. */
  readonly platform?: string | undefined
  /**
   * `vulnerability` (the default), or what comes first: `severity` (the most severe, by their score), `score` (the
   * highest score), `epss` (the most likely to be exploited) or `risk` (known to be exploited, then by EPSS and
   * score).
   */
  readonly orderBy?: string | undefined
  /** Returns only vulnerabilities that are known to be exploited. Needs a catalog of the format `kev`. */
  readonly knownExploited?: boolean | undefined
  /**
   * Returns only vulnerabilities with this probability of exploitation or a higher one, from 0 to 1. Unset
   * returns all, also those without one. Needs a catalog of the format `epss`.
   */
  readonly minEpss?: number | 'NaN' | 'Infinity' | '-Infinity' | undefined
  /**
   * Returns only vulnerabilities with this score of CVSS or a higher one, from 0 to 10. Unset returns all, also
   * those without one.
   */
  readonly minScore?: number | 'NaN' | 'Infinity' | '-Infinity' | undefined
  /** Returns only vulnerabilities with one of these kinds of weaknesses, such as `CWE-79`. Empty returns all. */
  readonly cwes?: readonly string[] | undefined
}

/** Response message for ListImageFindings. */
export interface ListImageFindingsResponse {
  /** Results of this page. */
  readonly findings: readonly Finding[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of findings that match all filters. */
  readonly totalCount: string
  /** Number of all findings of the image, by state and severity. */
  readonly counts: readonly FindingCount[]
  /** Ecosystems of the packages of the image. */
  readonly coverage: readonly EcosystemCoverage[]
  /** Digest of the image. */
  readonly digest: string
  /**
   * Whether the contents of the image are known: `read`, `pending`, `failed`, or `none` for a manifest that is
   * not an image.
   */
  readonly contentsState: string
  /**
   * Whether the findings are up to date: the image is read, and all its packages are matched with the current
   * advisories and catalogs of the organization. `pending` has what is missing.
   */
  readonly matched: boolean
  /** Time when advisories of the organization last changed. Unset if it has none. */
  readonly advisoriesTime?: string
  /** Number of findings of the image that are known to be exploited and not `STATE_NOT_AFFECTED`. */
  readonly knownExploitedCount: string
  /**
   * Catalogs that the organization has imported, ordered by format. Without one of a format, nothing is known
   * of the exploitation of its kind.
   */
  readonly catalogs: readonly CveCatalog[]
  /**
   * Work in the background after which the findings may be different. Empty if `matched` is set, or if the image
   * could not be read.
   */
  readonly pending: readonly PendingWork[]
  /** Why the image could not be read. Empty unless `contents_state` is `failed`. */
  readonly contentsReason: string
  /**
   * Number of parts of the image, such as layers and files, that could not be read: vulnerabilities of packages in
   * them are unknown. GetImageContents returns them.
   */
  readonly problemCount: string
}

/** Request message for ListImagePackages. All filters that are set must match. */
export interface ListImagePackagesRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the manifest, as `algorithm:hex`, or tag. */
  readonly reference: string
  /** Image of an index, such as `linux/arm64`. Empty means `linux/amd64`, or the first image without one. */
  readonly platform?: string | undefined
  /** Returns only packages of this type, such as `apk`. Empty returns all. */
  readonly type?: string | undefined
  /** Returns only packages whose name starts with this text. Empty returns all. */
  readonly namePrefix?: string | undefined
  /** Returns only packages whose license contains this text, in any case. Empty returns all. */
  readonly license?: string | undefined
  /** Page size. 0 means 50; values above 200 mean 200. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
  /** Sort key, optionally followed by a space and `asc` or `desc`. Unset means `name asc`. */
  readonly orderBy?: string | undefined
}

/** Response message for ListImagePackages. */
export interface ListImagePackagesResponse {
  /** Packages of this page. */
  readonly packages: readonly ImagePackage[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of packages over all pages. */
  readonly totalCount: string
  /** Digest of the image. */
  readonly digest: string
}

/** Request message for ListImageScannerReports. */
export interface ListImageScannerReportsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest or tag of the image. */
  readonly reference: string
  /** Platform of an image of an index. Empty means `linux/amd64`. */
  readonly platform?: string | undefined
}

/** Response message for ListImageScannerReports. */
export interface ListImageScannerReportsResponse {
  /** Reports. */
  readonly scannerReports: readonly ScannerReport[]
  /** Digest of the image. */
  readonly digest: string
}

/** Request message for ListJobRuns. All filters that are set must match. */
export interface ListJobRunsRequest {
  /** Returns only runs of this kind: `advisory-feed`, `retention`, `collection` or `scrub`. Empty returns all. */
  readonly kind?: string | undefined
  /** Returns only runs in this state. Empty returns all. */
  readonly state?: string | undefined
  /** Returns only runs of this feed or repo, or of feeds and repos of this organization. Empty returns all. */
  readonly resourceUid?: string | undefined
  /** Returns only runs that started at or after this time. */
  readonly since?: string | undefined
  /** Returns only runs that started before this time. */
  readonly until?: string | undefined
  /** Page size. 0 means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
}

/** Response message for ListJobRuns. */
export interface ListJobRunsResponse {
  /** Results of this page. */
  readonly jobRuns: readonly RecordedJobRun[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of runs on all pages. */
  readonly totalCount: string
}

/** Request message for ListJobs. */
export type ListJobsRequest = Readonly<Record<string, never>>

/** Response message for ListJobs. */
export interface ListJobsResponse {
  /** Kinds of jobs, ordered by name. */
  readonly jobs: readonly BackgroundJob[]
}

/** Request message for ListMails. */
export interface ListMailsRequest {
  /** Returns only emails in this state: `queued`, `sent` or `failed`. Empty returns all. */
  readonly state?: string | undefined
}

/** Response message for ListMails. */
export interface ListMailsResponse {
  /** Emails, the newest first. */
  readonly mails: readonly Mail[]
}

/** Request message for ListManifests. All filters that are set must match. */
export interface ListManifestsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Returns only manifests of this kind. Unspecified returns all. */
  readonly kind?: ManifestKind | undefined
  /** Returns only manifests with a tag, or with false only those without one. Unset returns all. */
  readonly tagged?: boolean | undefined
  /**
   * Returns only images for this platform and indexes that contain one, as `os/architecture` or
   * `os/architecture/variant`. Empty returns all.
   */
  readonly platform?: string | undefined
  /** Returns only manifests with this media type. Empty returns all. */
  readonly mediaType?: string | undefined
  /** Returns only manifests with this artifact type. Empty returns all. */
  readonly artifactType?: string | undefined
  /** Page size. 0 means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /** Sort key, optionally followed by a space and `asc` or `desc`. Empty means `push_time desc`. */
  readonly orderBy?: string | undefined
}

/** Response message for ListManifests. */
export interface ListManifestsResponse {
  /** Results of this page, in the requested order. */
  readonly manifests: readonly Manifest[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of manifests that match, over all pages. Unset with the filters `kind` and `platform`. */
  readonly manifestCount?: string
}

/** Request message for ListNodes. */
export type ListNodesRequest = Readonly<Record<string, never>>

/** Response message for ListNodes. */
export interface ListNodesResponse {
  /** Nodes, ordered by name and start time. */
  readonly nodes: readonly ServerNode[]
  /** Database: `sqlite` or `postgres`. */
  readonly database: string
  /** Migrations of the schema that have run, in order. */
  readonly migrations: readonly string[]
  /** Migrations that this node does not know: a newer version has run. */
  readonly unknownMigrations: readonly string[]
}

/** Request message for ListOrganizations. */
export interface ListOrganizationsRequest {
  /** Returns only organizations whose name contains this text, or whose UID is this text. */
  readonly query?: string | undefined
  /** Returns only suspended organizations. */
  readonly suspended?: boolean | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListOrganizations. */
export interface ListOrganizationsResponse {
  /** Organizations of this page, ordered by name. */
  readonly organizations: readonly OperatorOrganization[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /**
   * Limits of organizations without own limits. They come from BERTH_RESOURCE_LIMITS and change with the
   * configuration.
   */
  readonly defaultLimits: readonly ResourceLimit[]
}

/** Request message for ListPackageImages. A package is named by `purl`, or by `name`; all fields that are set must match. */
export interface ListPackageImagesRequest {
  /** UID of a group or repo. */
  readonly uid: string
  /** Package URL. Without a version, every version matches; qualifiers do not matter. */
  readonly purl?: string | undefined
  /** Name of the package, or of its source package. */
  readonly name?: string | undefined
  /** Version of the package. */
  readonly version?: string | undefined
  /** Page size. 0 means 50; values above 200 mean 200. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
}

/** Response message for ListPackageImages. */
export interface ListPackageImagesResponse {
  /** Images of this page; an image with several matching packages is listed once for each. */
  readonly images: readonly PackageImage[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of results over all pages. */
  readonly totalCount: string
}

/** Request message for ListReferrers. */
export interface ListReferrersRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the subject, as `algorithm:hex`. */
  readonly digest: string
  /** Returns only referrers with this artifact type. Empty returns all. */
  readonly artifactType?: string | undefined
  /** Page size. 0 means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListReferrers. */
export interface ListReferrersResponse {
  /** Results of this page: attached by tags, ordered by tag, then by subject, ordered by digest. */
  readonly referrers: readonly Referrer[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for ListRepoFindingSummaries. */
export interface ListRepoFindingSummariesRequest {
  /** UID of the group or folder. */
  readonly uid: string
  /** Page size. 0 means 20; values above 50 mean 50; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Returns only the repos with these UIDs, at most 50. Those outside of the group are omitted. Empty returns
   * all.
   */
  readonly repoUids?: readonly string[] | undefined
}

/** Response message for ListRepoFindingSummaries. */
export interface ListRepoFindingSummariesResponse {
  /** Results of this page. */
  readonly findingSummaries: readonly FindingSummary[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for ListRepoSummaries. All filters that are set must match. */
export interface ListRepoSummariesRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only repos with exactly this name. Unset or empty returns all. */
  readonly name?: string | undefined
  /** Returns only repos whose name starts with this text. Empty returns all. */
  readonly namePrefix?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`. Repos without `manifest.list` are the first by `stored_bytes` and `last_push_time`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListRepoSummaries. */
export interface ListRepoSummariesResponse {
  /** Results of this page, in the requested order. */
  readonly repoSummaries: readonly RepoSummary[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListRepoTags. All filters that are set must match. */
export interface ListRepoTagsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Returns only tags whose name starts with this text. Empty returns all. */
  readonly namePrefix?: string | undefined
  /** Returns only tags that point to this digest. Empty returns all. */
  readonly digest?: string | undefined
  /**
   * Whether to include tags whose name starts with `sha256-`, which attach signatures and similar artifacts
   * to a digest.
   */
  readonly includeReferrers?: boolean | undefined
  /** Whether to include tags whose name ends with a date. */
  readonly includeDates?: boolean | undefined
  /** Whether to include tags whose name ends with a package revision. */
  readonly includeEpochs?: boolean | undefined
  /** Page size. 0 means 50; values above 200 mean 200. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
  /** Sort key, optionally followed by a space and `asc` or `desc`. Unset means `name asc`. */
  readonly orderBy?: string | undefined
}

/** Response message for ListRepoTags. */
export interface ListRepoTagsResponse {
  /** Tags of this page. */
  readonly tags: readonly TagDetails[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of tags over all pages. */
  readonly totalCount: string
}

/** Request message for ListRepos. All filters that are set must match. */
export interface ListReposRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only repos with exactly this name. Unset or empty returns all. */
  readonly name?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListRepos. */
export interface ListReposResponse {
  /** Results of this page, in the requested order. */
  readonly repos: readonly Repo[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListRetentionRuns. All filters that are set must match. */
export interface ListRetentionRunsRequest {
  /** Part of the tree to list. `descendants_of` a group returns the runs of all repos in it. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only runs of this repo. Empty returns all. */
  readonly repoUid?: string | undefined
  /** Returns only runs in these states. Empty returns all. */
  readonly states?: readonly RepoRetentionRunState[] | undefined
  /** Returns only runs that this identity requested, or `system` for the schedule. Empty returns all. */
  readonly actor?: string | undefined
  /** Returns only runs that started at or after this time. */
  readonly since?: string | undefined
  /** Returns only runs that started before this time. */
  readonly until?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `start_time desc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListRetentionRuns. */
export interface ListRetentionRunsResponse {
  /** Results of this page, in the requested order. */
  readonly retentionRuns: readonly RepoRetentionRun[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListRoleBindings. All filters that are set must match. */
export interface ListRoleBindingsRequest {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only bindings of the identity with this UID. Empty returns all. */
  readonly identity?: string | undefined
  /** Returns only bindings in the group with this UID, without its descendants. Empty returns all. */
  readonly group?: string | undefined
  /** Returns only bindings of the role with this UID. Empty returns all. */
  readonly role?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
  /** Returns only bindings of the identities with these UIDs, at most 200. Empty returns all. */
  readonly identities?: readonly string[] | undefined
}

/** Response message for ListRoleBindings. */
export interface ListRoleBindingsResponse {
  /** Results of this page, in the requested order. */
  readonly roleBindings: readonly RoleBinding[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListRoles. All filters that are set must match. */
export interface ListRolesRequest {
  /** Part of the group tree to list. Managed roles are at the root level. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only roles with exactly this name. Empty returns all. */
  readonly name?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListRoles. */
export interface ListRolesResponse {
  /** Results of this page, in the requested order. */
  readonly roles: readonly Role[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListScannerReportFindings. */
export interface ListScannerReportFindingsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest or tag of the image. */
  readonly reference: string
  /** Platform of an image of an index. Empty means `linux/amd64`. */
  readonly platform?: string | undefined
  /** Name of the scanner, of which the latest report is read. */
  readonly scanner: string
  /** Page size. 0 means 50, the maximum is 200. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and report only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListScannerReportFindings. */
export interface ListScannerReportFindingsResponse {
  /** Findings. */
  readonly findings: readonly ScannerFinding[]
  /** Token of the next page. Empty for the last page. */
  readonly nextPageToken: string
  /** Number of stored findings. */
  readonly totalCount: string
  /** The report. */
  readonly scannerReport?: ScannerReport
}

/** Request message for ListSessions. */
export interface ListSessionsRequest {
  /** Returns only sessions of this identity. Empty returns all. */
  readonly identityUid?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListSessions. */
export interface ListSessionsResponse {
  /** Sessions of this page, most recently used first. */
  readonly sessions: readonly OperatorSession[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for ListSignatureVerifiers. All filters that are set must match. */
export interface ListSignatureVerifiersRequest {
  /** Part of the tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Returns only verifiers with exactly this name. Empty returns all. */
  readonly name?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListSignatureVerifiers. */
export interface ListSignatureVerifiersResponse {
  /** Results of this page, in the requested order. */
  readonly signatureVerifiers: readonly SignatureVerifier[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListSigningKeys. */
export type ListSigningKeysRequest = Readonly<Record<string, never>>

/** Response message for ListSigningKeys and RotateSigningKeys. */
export interface ListSigningKeysResponse {
  /** Published keys, the oldest first. */
  readonly signingKeys: readonly SigningKey[]
}

/** Request message for ListStorageRuns. */
export interface ListStorageRunsRequest {
  /** Returns only runs of this kind. Unset returns all. */
  readonly kind?: StorageRunKind | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListStorageRuns. */
export interface ListStorageRunsResponse {
  /** Runs of this page, the newest first. */
  readonly runs: readonly StorageRun[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for ListTagFindingHistory. */
export interface ListTagFindingHistoryRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Name of the tag. */
  readonly tag: string
  /** Page size. 0 means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListTagFindingHistory. */
export interface ListTagFindingHistoryResponse {
  /** Results of this page. */
  readonly tagFindingHistoryEntries: readonly TagFindingHistoryEntry[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of entries on all pages. */
  readonly totalCount: string
}

/** Request message for ListTagFindingSummaries. */
export interface ListTagFindingSummariesRequest {
  /** UID of the repo. */
  readonly uid: string
  /** ID of a vulnerability, or an alias. Empty counts all vulnerabilities. */
  readonly vulnerability?: string | undefined
  /** Page size. 0 means 20; values above 50 mean 50; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller and filters only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /** Returns only the tags with these names, at most 50. Empty returns all. */
  readonly tags?: readonly string[] | undefined
}

/** Response message for ListTagFindingSummaries. */
export interface ListTagFindingSummariesResponse {
  /** Results of this page. */
  readonly tagFindingSummaries: readonly TagFindingSummary[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for ListTagHistory. */
export interface ListTagHistoryRequest {
  /** UID of the tag. */
  readonly uid: string
  /** Page size. 0 means 50; values above 200 mean 200. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
}

/** Response message for ListTagHistory. */
export interface ListTagHistoryResponse {
  /** Digests of this page, latest first. */
  readonly entries: readonly TagHistoryEntry[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
}

/** Request message for ListTags. All filters that are set must match. */
export interface ListTagsRequest {
  /** Part of the tree to list. `children_of` with a repo's UID lists the tags of that repo. */
  readonly uidp?: UIDPFilter | undefined
  /**
   * Returns only tags with exactly this name. Empty returns all. Tags that are excluded by default still need
   * their `include` field.
   */
  readonly name?: string | undefined
  /** Returns only tags that were updated after this time. */
  readonly updatedSince?: string | undefined
  /**
   * Whether to include tags whose name starts with `sha256-`, which attach signatures and similar artifacts
   * to a digest.
   */
  readonly includeReferrers?: boolean | undefined
  /** Whether to include tags whose name ends with a date, for example `-20yymmdd`. */
  readonly includeDates?: boolean | undefined
  /** Whether to include tags whose name ends with a package revision, for example `-r` and a number. */
  readonly includeEpochs?: boolean | undefined
  /** Returns only tags that point to this digest. Empty returns all. */
  readonly digest?: string | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. The default direction is ascending. Unset
   * means `uid asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Response message for ListTags. */
export interface ListTagsResponse {
  /** Results of this page, in the requested order. */
  readonly tags: readonly Tag[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. Always set in a response. */
  readonly totalCount?: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Request message for ListVulnerabilityRecords. All filters that are set must match. */
export interface ListVulnerabilityRecordsRequest {
  /** UID of the group. */
  readonly uid: string
  /**
   * Words, separated by spaces. Returns only records that contain all of them, in any order and case, also as
   * parts of words: in IDs, summaries, details, notes and names of packages. Empty returns all.
   */
  readonly query?: string | undefined
  /** Returns only records with these severities. Empty returns all. */
  readonly severities?: readonly FindingSeverity[] | undefined
  /**
   * Returns only records with this score of CVSS or a higher one, from 0 to 10. Unset returns all, also those
   * without one.
   */
  readonly minScore?: number | 'NaN' | 'Infinity' | '-Infinity' | undefined
  /** Returns only records with one of these kinds of weaknesses, such as `CWE-79`. Empty returns all. */
  readonly cwes?: readonly string[] | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`: `modify_time`, `score` or `vulnerability`. Unset
   * means `modify_time desc`.
   */
  readonly orderBy?: string | undefined
  /** Page size. 0 means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
}

/** Response message for ListVulnerabilityRecords. */
export interface ListVulnerabilityRecordsResponse {
  /** Results of this page, in the requested order. */
  readonly vulnerabilityRecords: readonly VulnerabilityRecord[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of records that match all filters. */
  readonly totalCount: string
}

/** Request message for LookupGroup. The caller's token supplies the email address. */
export type LookupGroupRequest = Readonly<Record<string, never>>

/** Response message for LookupGroup. */
export interface LookupGroupResponse {
  /** Verified organization whose name is the caller's email domain. */
  readonly group?: Group
}

/** Request message for LookupIdentity. */
export interface LookupIdentityRequest {
  /** Issuer of the user's tokens, a URL. */
  readonly issuer: string
  /** Subject of the user at the issuer. */
  readonly subject: string
}

/** Response message for LookupIdentity. */
export interface LookupIdentityResponse {
  /** UID of the user's identity, or the UID that it will have from the first sign-in. */
  readonly uid: string
}

/** Request message for LookupResources. */
export interface LookupResourcesRequest {
  /** UIDs of resources, at most 400. */
  readonly uids: readonly string[]
}

/** Response message for LookupResources. */
export interface LookupResourcesResponse {
  /** Resources that the caller can read, ordered by UID. */
  readonly resources: readonly Resource[]
}

/** Email in the queue, or its result. */
export interface Mail {
  /** UID. The email of an invite has the UID of the invite. */
  readonly uid: string
  /** Kind, such as `invite`. */
  readonly kind: string
  /** `queued`, `sent` or `failed`. */
  readonly state: string
  /** Number of attempts. */
  readonly attempts: number
  /** Why the last attempt failed. Empty otherwise. */
  readonly problem: string
  /** Last change. */
  readonly updateTime?: string
}

/** Manifest of a repo: an image, an index or an artifact, identified by its digest. */
export interface Manifest {
  /** Digest, as `algorithm:hex`. */
  readonly digest: string
  /** Kind, according to the media types of the manifest, its configuration and its layers. */
  readonly kind: ManifestKind
  /** Media type of the manifest. */
  readonly mediaType: string
  /** Type of the artifact: `artifactType` of the manifest, otherwise the media type of its configuration. */
  readonly artifactType: string
  /** Size of the manifest itself in bytes. */
  readonly size: string
  /**
   * Compressed size of the configuration and the layers in bytes. For an index, which only GetManifest sums
   * up, of all its images; each blob counts once. Unset if it is not known.
   */
  readonly imageSize?: string
  /** Time when the manifest was first pushed to the repo. */
  readonly pushTime?: string
  /** Digest of the manifest that this one refers to, for example the image that it signs. Empty for none. */
  readonly subject: string
  /**
   * Names of the tags that point to the manifest, ordered by name; at most 20 in a list, and 200 in
   * GetManifest. Empty without `tag.list`.
   */
  readonly tags: readonly string[]
  /** Number of tags that point to the manifest. 0 without `tag.list`. */
  readonly tagCount: number
  /**
   * Platforms as `os/architecture` or `os/architecture/variant`, without duplicates. Empty for artifacts, and
   * if they are not known.
   */
  readonly platforms: readonly string[]
  /** Annotations of the manifest. Set by GetManifest only. */
  readonly annotations: Readonly<Record<string, string>>
  /** Content of the manifest. Set by GetManifest only. */
  readonly content?: ManifestContent
}

/** What a manifest consists of. */
export interface ManifestContent {
  /** Entries of an index, in its order. */
  readonly entries: readonly IndexEntry[]
  /** Layers of an image, from the lowest, or files of an artifact. */
  readonly layers: readonly ManifestLayer[]
  /**
   * Configuration of an image. Unset without `manifest.metadata.list`, for other manifests, and if it is not
   * an object in JSON, has more than 4 MiB or is not in the repo.
   */
  readonly configuration?: ImageConfiguration
  /** Digest of the blob with the configuration. Empty for an index. */
  readonly configurationDigest: string
  /** The manifest as it was pushed. Empty if it has more than 256 KiB: pull it from the registry instead. */
  readonly json: string
  /** Digests of the indexes in the repo that contain this manifest; at most 100. */
  readonly indexes: readonly string[]
  /**
   * Number of manifests in the repo that refer to this one by their subject or a tag. 0 without
   * `referrers.list`.
   */
  readonly referrerCount: number
}

/** Kinds of manifests. */
export type ManifestKind =
  | 'MANIFEST_KIND_UNSPECIFIED'
  | 'MANIFEST_KIND_IMAGE'
  | 'MANIFEST_KIND_INDEX'
  | 'MANIFEST_KIND_ARTIFACT'

/** Layer of an image, or file of an artifact. */
export interface ManifestLayer {
  /** Digest of the blob. */
  readonly digest: string
  /** Media type of the blob. */
  readonly mediaType: string
  /** Compressed size in bytes. */
  readonly size: string
  /**
   * Command of the build step that created the layer. Empty if the configuration does not name it, and
   * without `manifest.metadata.list`.
   */
  readonly createdBy: string
  /** File name according to the annotation `org.opencontainers.image.title`. Empty for none. */
  readonly title: string
}

/** Member of a group with one of its roles. */
export interface Member {
  /** UID of the identity. Empty for a group of an identity provider. */
  readonly uid: string
  /** Kind of the member. */
  readonly kind: MemberKind
  /** Name of the identity, or the group as the identity provider names it. */
  readonly name: string
  /** Verified email address. Empty if there is none. */
  readonly email: string
  /**
   * Time when the identity was last used. Of a user, only the day, in UTC. Set if the caller can read
   * identities in the group of the workload or, for users, in the organization.
   */
  readonly lastSeenTime?: string
  /** Role of the member. */
  readonly role?: RoleBindingRole
  /** Where the role comes from. At least one. */
  readonly sources: readonly AccessSource[]
  /**
   * Whether the name, the email address and the last use could not be read: the database server of the user
   * does not respond. They are empty then. Unset otherwise.
   */
  readonly detailsUnavailable?: boolean
}

/** Kinds of members. */
export type MemberKind =
  | 'MEMBER_KIND_UNSPECIFIED'
  | 'MEMBER_KIND_USER'
  | 'MEMBER_KIND_WORKLOAD'
  | 'MEMBER_KIND_EXTERNAL_GROUP'

/** Request message for MoveTag. */
export interface MoveTagRequest {
  /** UID of the tag. */
  readonly uid: string
  /** Digest of a manifest of the repo. */
  readonly digest: string
}

/** Trust in certificates of a trust store, by the rules of Notation (level strict, without revocation checks). */
export interface NotationMethod {
  /** Certificates of the trust store (type `ca`) in PEM, at most 10. */
  readonly authorities: string
  /**
   * Trusted identities, at most 20: `x509.subject: C=US, ST=WA, O=acme`, whose attributes are a part of those of
   * the subject of the certificate; or `*` alone for every certificate of the trust store.
   */
  readonly identities: readonly string[]
}

/** Trust in certificates of a trust store, by the rules of Notation (level strict, without revocation checks). */
export interface NotationMethodInput {
  /** Certificates of the trust store (type `ca`) in PEM, at most 10. */
  readonly authorities: string
  /**
   * Trusted identities, at most 20: `x509.subject: C=US, ST=WA, O=acme`, whose attributes are a part of those of
   * the subject of the certificate; or `*` alone for every certificate of the trust store.
   */
  readonly identities: readonly string[]
}

/** User of the installation. */
export interface OperatorAccount {
  /** UID of the identity of the user. */
  readonly uid: string
  /** Display name. */
  readonly name: string
  /** Email address. Empty if none is known. */
  readonly email: string
  /** How the user signs in. */
  readonly kind: AccountKind
  /** Issuer of the identity provider. Empty for a local account. */
  readonly issuer: string
  /** Whether the account has a password. */
  readonly hasPassword: boolean
  /** Number of passkeys of the account. */
  readonly passkeyCount: number
  /** Whether signing in with the password also requires a passkey (second factor). */
  readonly passkeyRequired: boolean
  /** Whether the account is suspended. */
  readonly suspended: boolean
  /** Whether the user has a role on the platform, and so can use the operator API. */
  readonly operator: boolean
  /** Number of active sessions. */
  readonly sessionCount: number
  /** Start of the newest session that has not expired. Unset if there is none. */
  readonly lastSignInTime?: string
  /** Last use of the identity, accurate to about a minute. */
  readonly lastSeenTime?: string
  /** Creation time of the identity. */
  readonly createTime?: string
}

/** Organization as its operator sees it. */
export interface OperatorOrganization {
  /** UID. */
  readonly uid: string
  /** Name. */
  readonly name: string
  /** Whether the organization is suspended. */
  readonly suspended: boolean
  /** The first 5 identities with the role `owner` of the organization. */
  readonly owners: readonly OrganizationOwner[]
  /** Usage and effective limit of each kind of resource that is used or limited, ordered by kind. */
  readonly usage: readonly OrganizationUsage[]
  /** Creation time. */
  readonly createTime?: string
}

/** Active session of a user. */
export interface OperatorSession {
  /** Identifier. It is no secret. */
  readonly id: string
  /** Kind of the session. */
  readonly kind: SessionKind
  /** UID of the identity. */
  readonly identityUid: string
  /** Verified email address of the user, otherwise the name of the identity. */
  readonly user: string
  /** How the user signed in: `password`, `passkey` or `provider`. */
  readonly method: string
  /** Who vouched for the user: `account`, `operator` or `organization`. Empty if that is unknown. */
  readonly vouchedBy: string
  /** UID of the identity provider of the organization that vouched. Empty for any other voucher. */
  readonly identityProviderUid: string
  /** Name that the client states. Empty for browsers. */
  readonly client: string
  /** User agent that the client states. */
  readonly userAgent: string
  /** IP address of the sign-in. */
  readonly address: string
  /** Start of the session. */
  readonly createTime?: string
  /** Last use, accurate to about a minute. */
  readonly lastUsedTime?: string
  /** When the session expires. */
  readonly expireTime?: string
  /** Whether this is the session of the caller. */
  readonly current: boolean
}

/** Kinds of organizations. */
export type OrgKind =
  | 'ORG_KIND_UNSPECIFIED'
  | 'ORG_KIND_STARTER'
  | 'ORG_KIND_CUSTOMER'
  | 'ORG_KIND_DEV'
  | 'ORG_KIND_INFRA'
  | 'ORG_KIND_AWS_MARKETPLACE'

/** Kinds of organizations. */
export type OrgKindV1 =
  | 'ORG_KIND_UNSPECIFIED'
  | 'ORG_KIND_STARTER'
  | 'ORG_KIND_CUSTOMER'
  | 'ORG_KIND_DEV'
  | 'ORG_KIND_INFRA'
  | 'ORG_KIND_AWS_MARKETPLACE'

/** Statuses of an organization. */
export type OrgStatus =
  | 'ORG_STATUS_UNSPECIFIED'
  | 'ORG_STATUS_INITIALIZING'
  | 'ORG_STATUS_READY'
  | 'ORG_STATUS_SUSPENDED'

/** Statuses of an organization. */
export type OrgStatusV1 =
  | 'ORG_STATUS_UNSPECIFIED'
  | 'ORG_STATUS_INITIALIZING'
  | 'ORG_STATUS_READY'
  | 'ORG_STATUS_SUSPENDED'

/** Identity with the role `owner`. */
export interface OrganizationOwner {
  /** UID of the identity. */
  readonly uid: string
  /** Name of the identity. */
  readonly name: string
  /** Email address. Empty if none is known. */
  readonly email: string
}

/** Usage and limit of a kind of resource. */
export interface OrganizationUsage {
  /** Kind: `repos`, `identities`, `storage_mib` or another kind of BERTH_RESOURCE_LIMITS. */
  readonly kind: string
  /** Number of resources; for `storage_mib`, MiB of stored blobs, rounded up. */
  readonly used: string
  /** Effective limit. Unset means unlimited. */
  readonly max?: string
  /** Whether the limit is set for this organization. Otherwise, it is the default limit. */
  readonly own: boolean
}

/** Lets a digest pass a policy. */
export interface Override {
  /** Identifier: that of the group or repo plus `/` and 16 hexadecimal digits. */
  readonly id: string
  /** Identifier of the policy, or the name of a system policy. Responses have the identifier. */
  readonly policyId: string
  /** Digest of the manifest. The digest of an index covers its images as well. */
  readonly digest: string
  /** Why the image may be pulled: 1 to 512 characters, without control characters. */
  readonly reason: string
  /** Identifier of the identity that created the override. */
  readonly createdBy: string
  /** Time when the override was created. */
  readonly createdAt?: string
}

/** Request message for ListOverrides. All filters that are set must match. */
export interface OverrideFilter {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. Sort keys: `id`, `created_at`. Unset means
   * `id asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
}

/** Lets a digest pass a policy. */
export interface OverrideInput {
  /** Identifier: that of the group or repo plus `/` and 16 hexadecimal digits. */
  readonly id?: string | undefined
  /** Identifier of the policy, or the name of a system policy. Responses have the identifier. */
  readonly policyId?: string | undefined
  /** Digest of the manifest. The digest of an index covers its images as well. */
  readonly digest?: string | undefined
  /** Why the image may be pulled: 1 to 512 characters, without control characters. */
  readonly reason?: string | undefined
}

/** Response message for ListOverrides. */
export interface OverrideList {
  /** Results of this page, in the requested order. */
  readonly items: readonly Override[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. */
  readonly totalCount: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** Package with other versions in the second image. */
export interface PackageChange {
  /** Type of the package URL. */
  readonly type: string
  /** Namespace of the package URL. Empty without. */
  readonly namespace: string
  /** Name. */
  readonly name: string
  /** Versions in the first image. */
  readonly versions: readonly string[]
  /** Versions in the second image. */
  readonly otherVersions: readonly string[]
}

/** Image that contains a package. */
export interface PackageImage {
  /** UID of the repo. */
  readonly repoUid: string
  /** Digest of the image. */
  readonly digest: string
  /** Tags of the image, or of an index with it, ordered by name; at most 20. */
  readonly tags: readonly string[]
  /** Package URL of the package. */
  readonly purl: string
  /** Version of the package. */
  readonly version: string
}

/** Number of packages of a type. */
export interface PackageTypeCount {
  /** Type of the package URL. */
  readonly type: string
  /** Number of packages. */
  readonly count: number
}

/** Parameter of a policy. */
export interface ParameterSchema {
  /** Name, matching `^[a-z][a-z0-9_]*$`. */
  readonly name: string
  /** Type of the value. */
  readonly type: ParameterType
  /** Free text. */
  readonly description: string
  /** Value that applies if a binding sets none. Unset: none. */
  readonly default?: JsonValue
  /** Least valid number. Unset: none. */
  readonly minimum?: JsonValue
  /** Greatest valid number. Unset: none. */
  readonly maximum?: JsonValue
  /** Valid values. Empty: all of the type. */
  readonly allowedValues: readonly JsonValue[]
  /** Whether a binding must set the parameter. */
  readonly required: boolean
  /** Whether the parameter will be removed. */
  readonly deprecated: boolean
}

/** Parameter of a policy. */
export interface ParameterSchemaInput {
  /** Name, matching `^[a-z][a-z0-9_]*$`. */
  readonly name?: string | undefined
  /** Type of the value. */
  readonly type?: ParameterType | undefined
  /** Free text. */
  readonly description?: string | undefined
  /** Value that applies if a binding sets none. Unset: none. */
  readonly default?: JsonValue | undefined
  /** Least valid number. Unset: none. */
  readonly minimum?: JsonValue | undefined
  /** Greatest valid number. Unset: none. */
  readonly maximum?: JsonValue | undefined
  /** Valid values. Empty: all of the type. */
  readonly allowedValues?: readonly JsonValue[] | undefined
  /** Whether a binding must set the parameter. */
  readonly required?: boolean | undefined
  /** Whether the parameter will be removed. */
  readonly deprecated?: boolean | undefined
}

/** Types of parameters. */
export type ParameterType =
  | 'PARAMETER_TYPE_UNSPECIFIED'
  | 'PARAMETER_TYPE_STRING'
  | 'PARAMETER_TYPE_INTEGER'
  | 'PARAMETER_TYPE_STRING_LIST'
  | 'PARAMETER_TYPE_BOOLEAN'

/** Work in the background after which the findings of an image may be different. */
export type PendingWork =
  | 'PENDING_WORK_UNSPECIFIED'
  | 'PENDING_WORK_CONTENTS'
  | 'PENDING_WORK_PACKAGES'
  | 'PENDING_WORK_ADVISORIES'
  | 'PENDING_WORK_CATALOGS'

/** Request message for Ping. */
export type PingRequest = Readonly<Record<string, never>>

/** Response message for Ping. */
export interface PingResponse {
  /** Greeting. The wording can change. */
  readonly response: string
}

/** Rule that decides whether an image may be pulled. */
export interface Policy {
  /**
   * Identifier: 40 hexadecimal digits for a system policy; for a custom policy, the identifier of its group
   * plus `/` and 16 hexadecimal digits.
   */
  readonly id: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$` and different from those of the other policies of the group. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. */
  readonly description: string
  /** Whether the policy comes with the server. */
  readonly policyType: PolicyType
  /** Types of resources that the policy can evaluate. Always `image`. */
  readonly supportedResourceTypes: readonly string[]
  /** Type of resource that the policy evaluates: `image`. Unset means `image`. */
  readonly supportedResourceType: string
  /** CEL expression that is true for an image that may be pulled. Empty for a system policy. */
  readonly expression: string
  /** Time when the policy was created. */
  readonly createdAt?: string
  /** Time when the policy was last updated. */
  readonly updatedAt?: string
  /** Parameters that a binding can set. Those of a custom policy are declared in its expression. */
  readonly parameterSchemas: readonly ParameterSchema[]
}

/** Problem in an expression. */
export interface PolicyDiagnostic {
  /** Line, from 1. 0: the whole expression. */
  readonly line: number
  /** Column in characters, from 1. 0: the whole line. */
  readonly column: number
  /** Description of the problem. */
  readonly message: string
}

/** Request message for ListPolicies. All filters that are set must match. */
export interface PolicyFilter {
  /** Part of the group tree to list. */
  readonly uidp?: UIDPFilter | undefined
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /**
   * Token from `next_page_token` of the previous page. Empty returns the first page. Valid for three days,
   * for the same caller, filters and order only. An expired token returns the first page.
   */
  readonly pageToken?: string | undefined
  /**
   * Sort key, optionally followed by a space and `asc` or `desc`. Sort keys: `id`, `name`, `created_at`,
   * `updated_at`. Unset means `id asc`.
   */
  readonly orderBy?: string | undefined
  /**
   * Number of results to skip, counted from `page_token` if it is set. Negative values fail with
   * INVALID_ARGUMENT.
   */
  readonly skip?: number | undefined
  /** Returns only policies with exactly this name. */
  readonly name?: string | undefined
}

/** Rule that decides whether an image may be pulled. */
export interface PolicyInput {
  /**
   * Identifier: 40 hexadecimal digits for a system policy; for a custom policy, the identifier of its group
   * plus `/` and 16 hexadecimal digits.
   */
  readonly id?: string | undefined
  /** Name, matching `^[a-z0-9 ._-]{1,}$` and different from those of the other policies of the group. */
  readonly name?: string | undefined
  /** Free text, at most 512 characters, without control characters. */
  readonly description?: string | undefined
  /** Types of resources that the policy can evaluate. Always `image`. */
  readonly supportedResourceTypes?: readonly string[] | undefined
  /** Type of resource that the policy evaluates: `image`. Unset means `image`. */
  readonly supportedResourceType?: string | undefined
  /** CEL expression that is true for an image that may be pulled. Empty for a system policy. */
  readonly expression?: string | undefined
}

/** Response message for ListPolicies. */
export interface PolicyList {
  /** Results of this page, in the requested order. */
  readonly items: readonly Policy[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Total number of results over all pages. */
  readonly totalCount: string
  /** Number of results skipped by `skip`, up to and including this page. */
  readonly skipped: number
}

/** What a binding does when its policy denies a pull. */
export type PolicyMode =
  | 'POLICY_MODE_UNSPECIFIED'
  | 'POLICY_MODE_ENFORCED'
  | 'POLICY_MODE_DRY_RUN'

/** Origins of policies. */
export type PolicyType =
  | 'POLICY_TYPE_UNSPECIFIED'
  | 'POLICY_TYPE_SYSTEM'
  | 'POLICY_TYPE_CUSTOM'

/** Request message for PreviewRetention. */
export interface PreviewRetentionRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Rules to preview, whether or not `enabled` is set. Unset: the rules of the policy. */
  readonly retention?: RetentionInput | undefined
  /** Whether to exclude tags and manifests that are kept. */
  readonly deletedOnly?: boolean | undefined
  /** Page size. 0 means 50; values above 200 mean 200. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
  /** Immutable tags to preview. Unset: those of the policy. */
  readonly immutableTags?: ImmutableTagsInput | undefined
}

/** Response message for PreviewRetention. */
export interface PreviewRetentionResponse {
  /** Tags, ordered by name, then manifests, ordered by digest. */
  readonly verdicts: readonly RetentionVerdict[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of tags that would be deleted, over all pages. */
  readonly deletedTags: number
  /** Number of manifests that would be deleted, over all pages. */
  readonly deletedManifests: number
  /** Number of tags that would be kept, over all pages. */
  readonly keptTags: number
  /** For each rule, in order, the number of tags that it keeps and no earlier rule does, over all pages. */
  readonly keptByRule: readonly number[]
}

/** Request message for PreviewTagDeletion. */
export interface PreviewTagDeletionRequest {
  /** UID of the repo. */
  readonly uid: string
  /** UIDs of 1 to 100 tags of the repo. */
  readonly tagUids: readonly string[]
}

/** Response message for PreviewTagDeletion. */
export interface PreviewTagDeletionResponse {
  /** Tags, ordered by name. */
  readonly tags: readonly TagDeletion[]
  /** Manifests that would lose their last tag, ordered by digest. */
  readonly manifests: readonly TaglessManifest[]
  /** Time after which retention deletes untagged manifests. Unset if retention does not delete them. */
  readonly untaggedAfter?: string
}

/** Request message for PreviewUntaggedManifests. */
export interface PreviewUntaggedManifestsRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Minimum time since a manifest was pushed or lost its last tag. At least 1 hour. Unset: 1 day. */
  readonly olderThan?: string | undefined
  /** Whether to exclude manifests that are kept. Tags that are kept are never included. */
  readonly deletedOnly?: boolean | undefined
  /** Page size. 0 means 50; values above 200 mean 200. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
}

/** Response message for PreviewUntaggedManifests. */
export interface PreviewUntaggedManifestsResponse {
  /** Tags that would be deleted, ordered by name, then manifests, ordered by digest. */
  readonly verdicts: readonly RetentionVerdict[]
  /** Token for the next page. Empty on the last page. */
  readonly nextPageToken: string
  /** Number of manifests that would be deleted, over all pages. */
  readonly deletedManifests: number
  /** Number of attached tags that would be deleted with them, over all pages. */
  readonly deletedTags: number
  /**
   * Size of the blobs that only these manifests reference in the repo, over all pages. Garbage collection
   * deletes those that no other repo has. Set on the first page only.
   */
  readonly unreferencedBytes: string
}

/** Profile of a user. */
export interface Profile {
  /** Display name. */
  readonly name: string
  /** URL of a picture. */
  readonly picture: string
  /** Given name. */
  readonly givenName: string
  /** Family name. */
  readonly familyName: string
}

/** Role binding of the anonymous identity. */
export interface PublicBinding {
  /** UID of the role binding. Set for callers with `role_bindings.list` only. */
  readonly uid: string
  /** UID of the group in which it applies. */
  readonly group: string
  /** Name of the group. Empty without `groups.list` in the requested group. */
  readonly groupName: string
  /** Name of the role. Empty for a custom role without `roles.list`. */
  readonly roleName: string
}

/** Trust in a public key. */
export interface PublicKeyMethod {
  /** Public key in PEM: ECDSA (P-256, P-384 or P-521), RSA of 2048 to 8192 bits, or Ed25519. */
  readonly key: string
  /**
   * Public keys of transparency logs in PEM, at most 10. If there are any, a signature requires an entry in one
   * of these logs.
   */
  readonly logKeys: readonly string[]
}

/** Trust in a public key. */
export interface PublicKeyMethodInput {
  /** Public key in PEM: ECDSA (P-256, P-384 or P-521), RSA of 2048 to 8192 bits, or Ed25519. */
  readonly key: string
  /**
   * Public keys of transparency logs in PEM, at most 10. If there are any, a signature requires an entry in one
   * of these logs.
   */
  readonly logKeys?: readonly string[] | undefined
}

/** Token with its expiration time and refresh token. */
export interface RawToken {
  /** Token, to send as a bearer token. */
  readonly token: string
  /** Refresh token for the token. Empty if none is issued. */
  readonly refreshToken: string
  /** Expiration time of the token. */
  readonly expiry?: string
}

/** Request message for ReadImageAgain. */
export interface ReadImageAgainRequest {
  /** UID of the repo. */
  readonly uid: string
  /** Digest of the manifest, as `algorithm:hex`, or tag. */
  readonly reference: string
  /** Image of an index, such as `linux/arm64`. Empty means `linux/amd64`, or the first image without one. */
  readonly platform?: string | undefined
}

/** Invite for the email address of its reader. */
export interface ReceivedInvite {
  /** UID of the invite. */
  readonly uid: string
  /** Names from the organization to the group in which the role applies, separated by `/`. */
  readonly groupPath: string
  /** Name of the role that the invite grants. */
  readonly roleName: string
  /**
   * Name of the user who created the invite, with the verified email address if there is one. Empty if it is
   * not recorded, or if the database server of the user does not respond.
   */
  readonly inviter: string
  /** Time when the invite expires. */
  readonly expirationTime?: string
}

/** Run of a background job. */
export interface RecordedJobRun {
  /** Identifier. That of a garbage collection or scrub is the id of its storage run. */
  readonly id: string
  /** Kind: `advisory-feed`, `retention`, `collection` (garbage collection) or `scrub`. */
  readonly kind: string
  /** UID of the feed or repo. Empty for garbage collection and scrub. */
  readonly resourceUid: string
  /** URL of the feed, or name of the repo. Empty for garbage collection and scrub. */
  readonly resourceName: string
  /** Name of the organization. Empty for garbage collection and scrub. */
  readonly organizationName: string
  /** State: `running`, `succeeded`, `failed`, `interrupted` or `cancelled`. */
  readonly state: string
  /** UID of the identity that started the run; `system` for the schedule and for `berth admin`. */
  readonly actor: string
  /** Time when the run started. */
  readonly startTime?: string
  /** Time when the run ended, or when its interruption was noticed. Unset while it is running. */
  readonly endTime?: string
  /** Reason why the run failed. Empty otherwise. */
  readonly error: string
  /** What the run counted, without zeros. */
  readonly counts: readonly JobRunCount[]
  /** Whether a garbage collection only counted what it would delete. */
  readonly dryRun: boolean
}

/** Manifest that refers to another one. */
export interface Referrer {
  /** Digest, as `algorithm:hex`. */
  readonly digest: string
  /** Media type of the manifest. */
  readonly mediaType: string
  /** Type of the artifact: `artifactType` of the manifest, otherwise the media type of its configuration. */
  readonly artifactType: string
  /** Size of the manifest in bytes. */
  readonly size: string
  /** Time when the manifest was first pushed to the repo. */
  readonly pushTime?: string
  /** Annotations of the manifest. Empty if they have more than 8 KiB: GetManifest returns them. */
  readonly annotations: Readonly<Record<string, string>>
  /** Tag that attaches the manifest (`sha256-...`). Empty if it refers to its subject itself. */
  readonly tag: string
  /** Number of manifests that refer to this one by their subject. */
  readonly referrerCount: number
}

/** Request message for RegenerateScimToken. */
export interface RegenerateScimTokenRequest {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /**
   * Time for which the old token stays valid: one hour if unset, at most 24 hours; 0 ends it immediately. A
   * token that is no longer valid is not affected.
   */
  readonly overlap?: string | undefined
  /** Expiration time of the new token: at most two years from now. The default is one year. */
  readonly expireTime?: string | undefined
  /** Version of the SCIM state that the caller has read. The call fails if it is not the current version. */
  readonly etag: string
  /** Whether the token never expires. Together with `expire_time` it fails with INVALID_ARGUMENT. */
  readonly neverExpires?: boolean | undefined
}

/** Response message for RegenerateScimToken. */
export interface RegenerateScimTokenResponse {
  /** New token, returned only once: `cgscim_` and 64 hexadecimal digits. The server stores only its hash. */
  readonly token: string
  /** URL to enter at the provider. */
  readonly endpointUrl: string
  /** Expiration time of the new token. Unset if it never expires. */
  readonly expireTime?: string
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Version of the SCIM state after this call. */
  readonly etag: string
  /** Expiration time of the old token. Unset if it was already invalid. */
  readonly previousTokenExpireTime?: string
  /** Requested overlap, with the default applied. The old token can expire earlier. */
  readonly requestedOverlap?: string
}

/** Request message for Register. */
export interface RegistrationRequest {
  /** Invite code to accept. Empty for none. */
  readonly code?: string | undefined
  /**
   * UID of the identity of the bearer token, if the caller knows it. Fails with INVALID_ARGUMENT if it is
   * another identity.
   */
  readonly identityId?: string | undefined
}

/** Methods to assume an identity, as a filter. */
export type RelationshipType =
  | 'RELATIONSHIP_TYPE_UNSPECIFIED'
  | 'RELATIONSHIP_TYPE_CLAIM_MATCH'
  | 'RELATIONSHIP_TYPE_STATIC'
  | 'RELATIONSHIP_TYPE_AWS_IDENTITY'
  | 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL'

/** Repository that contains the versions of one image. */
export interface Repo {
  /** Identifier, assigned by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Unique in the group. */
  readonly name: string
  /**
   * Free text, at most 512 characters, without control characters. A repo that copies another one initially
   * has the description of its source.
   */
  readonly description: string
  /**
   * Tier of the image in the catalog, set by the operator. A repo that copies another one has the tier of its
   * source; changing it fails with INVALID_ARGUMENT.
   */
  readonly catalogTier: CatalogTier
  /**
   * Labels under which the image is offered, set by the operator. A repo that copies another one has the
   * labels of its source; changing them fails with INVALID_ARGUMENT.
   */
  readonly bundles: readonly string[]
  /**
   * External image references to the same software, each with a tag, set by the operator. A repo that copies
   * another one has the references of its source; changing them fails with INVALID_ARGUMENT.
   */
  readonly aliases: readonly string[]
  /**
   * Tags that still receive updates, set by the operator. A repo that copies another one has the tags of its
   * source; changing them fails with INVALID_ARGUMENT.
   */
  readonly activeTags: readonly string[]
  /** Configuration for copying another repo. Unset for a repo to which images are pushed. */
  readonly sync_config?: SyncConfig
  /**
   * Changes to apply when images are built for this repo. Fails with FAILED_PRECONDITION if such builds are
   * not enabled.
   */
  readonly customOverlay?: CustomOverlay
  /** Time when the repo was created. */
  readonly createTime?: string
  /** Time when the repo was last updated. */
  readonly updateTime?: string
}

/** Repository that contains the versions of one image. */
export interface RepoInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. Unique in the group. */
  readonly name: string
  /**
   * Free text, at most 512 characters, without control characters. A repo that copies another one initially
   * has the description of its source.
   */
  readonly description?: string | undefined
  /**
   * Tier of the image in the catalog, set by the operator. A repo that copies another one has the tier of its
   * source; changing it fails with INVALID_ARGUMENT.
   */
  readonly catalogTier?: CatalogTier | undefined
  /**
   * Labels under which the image is offered, set by the operator. A repo that copies another one has the
   * labels of its source; changing them fails with INVALID_ARGUMENT.
   */
  readonly bundles?: readonly string[] | undefined
  /**
   * External image references to the same software, each with a tag, set by the operator. A repo that copies
   * another one has the references of its source; changing them fails with INVALID_ARGUMENT.
   */
  readonly aliases?: readonly string[] | undefined
  /**
   * Tags that still receive updates, set by the operator. A repo that copies another one has the tags of its
   * source; changing them fails with INVALID_ARGUMENT.
   */
  readonly activeTags?: readonly string[] | undefined
  /** Configuration for copying another repo. Unset for a repo to which images are pushed. */
  readonly sync_config?: SyncConfigInput | undefined
  /**
   * Changes to apply when images are built for this repo. Fails with FAILED_PRECONDITION if such builds are
   * not enabled.
   */
  readonly customOverlay?: CustomOverlayInput | undefined
}

/** Policy for the tags of a repo. */
export interface RepoPolicy {
  /** UID of the repo. */
  readonly uid: string
  /** Tags that cannot be moved or deleted. Unset: none. */
  readonly immutableTags?: ImmutableTags
  /** Automatic deletion of tags and manifests. Unset: none. */
  readonly retention?: Retention
  /** Time when the policy was updated, or the repo was created. Runs do not change it. */
  readonly updateTime?: string
  /** Time of the next retention run. Unset if retention is not enabled. */
  readonly nextRunTime?: string
  /** Last retention run. Unset before the first run. */
  readonly lastRun?: RetentionRun
}

/** Policy for the tags of a repo. */
export interface RepoPolicyInput {
  /** Tags that cannot be moved or deleted. Unset: none. */
  readonly immutableTags?: ImmutableTagsInput | undefined
  /** Automatic deletion of tags and manifests. Unset: none. */
  readonly retention?: RetentionInput | undefined
}

/** Readme of a repo. */
export interface RepoReadme {
  /** UID of the repo. */
  readonly uid: string
  /** Markdown text. A repo that copies another one returns the readme of its source. */
  readonly content: string
}

/** Readme of a repo. */
export interface RepoReadmeInput {
  /** Markdown text. A repo that copies another one returns the readme of its source. */
  readonly content?: string | undefined
}

/** Recorded retention run of a repo. */
export interface RepoRetentionRun {
  /** Identifier, assigned by the server: the UID of the repo plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** UID of the repo. */
  readonly repoUid: string
  /** State of the run. */
  readonly state: RepoRetentionRunState
  /** UID of the identity that requested the run; `system` for the schedule. */
  readonly actor: string
  /** Time when the run started. */
  readonly startTime?: string
  /** Time when the run ended, or when its interruption was noticed. Unset while it is running. */
  readonly endTime?: string
  /** Reason why the run failed. Empty otherwise. A failed run is retried. */
  readonly error: string
  /** Number of deleted tags. 0 while the run is in progress. */
  readonly deletedTags: number
  /** Number of deleted manifests. 0 while the run is in progress. */
  readonly deletedManifests: number
}

/** States of a run. */
export type RepoRetentionRunState =
  | 'STATE_UNSPECIFIED'
  | 'STATE_RUNNING'
  | 'STATE_SUCCEEDED'
  | 'STATE_FAILED'
  | 'STATE_INTERRUPTED'

/** Summary of a repo, counted when it is read. */
export interface RepoSummary {
  /** UID of the repo. */
  readonly uid: string
  /** Name of the repo. */
  readonly name: string
  /** Description of the repo. */
  readonly description: string
  /** Time when the repo was created. */
  readonly createTime?: string
  /** Time when the repo was last updated. Pushes do not change it. */
  readonly updateTime?: string
  /**
   * Size of the blobs in the repo, each counted once. A blob that several repos of the organization contain
   * counts in each of them, but once for the quota. Unset without `manifest.list`.
   */
  readonly storedBytes?: string
  /** Number of tags, including those that lists exclude by default. Unset without `tag.list`. */
  readonly tagCount?: string
  /** Number of manifests: indexes, images and artifacts. Unset without `manifest.list`. */
  readonly manifestCount?: string
  /** Time when a manifest was last added to the repo. Unset without `manifest.list`, and if the repo is empty. */
  readonly lastPushTime?: string
  /**
   * Whether anyone can pull from the repo without signing in: the anonymous identity has a role with
   * `repo.blobs.get` and `manifest.list` in a group above the repo.
   */
  readonly public: boolean
  /** UID of the group whose role bindings make the repo public. Empty if it is not public. */
  readonly publicFrom: string
  /** Whether the policy of the repo has immutable tags. */
  readonly immutableTags: boolean
  /** Whether retention is enabled in the policy of the repo. */
  readonly retentionEnabled: boolean
}

/** Use of a repo on one day. */
export interface RepoUsageDay {
  /** Day in UTC. */
  readonly date: string
  /** Number of manifests that clients downloaded, as in UsageDay. */
  readonly pulls: string
  /** Number of accepted uploads of manifests. */
  readonly pushes: string
}

/** Formats of reports. */
export type ReportFormat =
  | 'REPORT_FORMAT_UNSPECIFIED'
  | 'REPORT_FORMAT_SARIF'
  | 'REPORT_FORMAT_CYCLONEDX'

/** Request message for RequestGroupAccess. */
export interface RequestGroupAccessRequest {
  /**
   * UID of the organization to ask. It must match the caller's email domain at the time of the call. Empty
   * fails with INVALID_ARGUMENT.
   */
  readonly groupUid: string
}

/** Response message for RequestGroupAccess. The owners have been asked; no access has been granted. */
export type RequestGroupAccessResponse = Readonly<Record<string, never>>

/** Request message for ResetAccountPassword. */
export interface ResetAccountPasswordRequest {
  /** UID of the identity of the account. */
  readonly uid: string
  /** Also removes the passkeys of the account. */
  readonly removePasskeys?: boolean | undefined
}

/** Resource with its name and path. */
export interface Resource {
  /** Kind of the resource. */
  readonly kind: ResourceKind
  /** UID of the resource. The UID of the repository for a manifest. */
  readonly uid: string
  /**
   * Name: the email address of a user, or the UID if the database server of the user does not respond; the CVE
   * ID of an advisory, the digest of a manifest, the role of a role binding or invite, the URL of an advisory feed.
   */
  readonly name: string
  /**
   * Names from the organization to the resource, separated by `/`. Ends with `:` and the tag for a tag, and
   * with `@` and the digest for a manifest; only the name for a caller without `repo.list`. For a role binding, an invite and a user, the path of the group.
   */
  readonly path: string
  /**
   * What distinguishes the resource: the description, the name of a user, the email address of an invite, the
   * package of an advisory, or the name of the identity of a role binding. Can be empty.
   */
  readonly detail: string
  /**
   * UID of the group or repository that contains the resource. For a user, a group in which the user has a
   * role. Empty for organizations and managed roles.
   */
  readonly parent: string
  /** Digest of a tag or manifest. */
  readonly digest: string
  /** Time of the last change, if known. */
  readonly updateTime?: string
}

/** Kind of a resource. */
export type ResourceKind =
  | 'RESOURCE_KIND_UNSPECIFIED'
  | 'RESOURCE_KIND_ORGANIZATION'
  | 'RESOURCE_KIND_FOLDER'
  | 'RESOURCE_KIND_REPOSITORY'
  | 'RESOURCE_KIND_TAG'
  | 'RESOURCE_KIND_MANIFEST'
  | 'RESOURCE_KIND_IDENTITY'
  | 'RESOURCE_KIND_USER'
  | 'RESOURCE_KIND_ROLE'
  | 'RESOURCE_KIND_ADVISORY'
  | 'RESOURCE_KIND_ROLE_BINDING'
  | 'RESOURCE_KIND_GROUP_INVITE'
  | 'RESOURCE_KIND_IDENTITY_PROVIDER'
  | 'RESOURCE_KIND_ADVISORY_FEED'

/** Limit of a kind of resource. */
export interface ResourceLimit {
  /** Kind: `repos`, `identities`, `storage_mib` or another kind of BERTH_RESOURCE_LIMITS. */
  readonly kind: string
  /**
   * Maximum number of resources; for `storage_mib`, MiB of stored blobs. Unset removes the limit of the
   * organization, so that the default limit applies.
   */
  readonly max?: string
}

/** Limit of a kind of resource. */
export interface ResourceLimitInput {
  /** Kind: `repos`, `identities`, `storage_mib` or another kind of BERTH_RESOURCE_LIMITS. */
  readonly kind: string
  /**
   * Maximum number of resources; for `storage_mib`, MiB of stored blobs. Unset removes the limit of the
   * organization, so that the default limit applies.
   */
  readonly max?: string | undefined
}

/** Number of resources of one kind. */
export interface ResourceUsage {
  /** Kind of the resources, by the name that limits have: `repos`, `tags`, `manifests`, `identities`. */
  readonly kind: string
  /** Number of resources in the organization or folder, and below. Unset if the caller lacks `missing`. */
  readonly used?: string
  /** Limit of the whole organization. Unset without one, and for callers who cannot read the organization. */
  readonly limit?: string
  /** Capability that the caller needs to read `used`. Unset if the caller has it. */
  readonly missing: Capability
}

/** Results of policies. */
export type Result =
  | 'RESULT_UNSPECIFIED'
  | 'RESULT_ALLOWED'
  | 'RESULT_DENIED'
  | 'RESULT_ERROR'

/** Automatic deletion. The first run starts soon after retention is enabled; later runs start every six hours. */
export interface Retention {
  /** Whether retention is enabled. If false, nothing is deleted. */
  readonly enabled: boolean
  /**
   * Rules. A tag is kept if any rule matches it, if it is immutable, or if it refers to an existing manifest
   * (`sha256-...`, as used for signatures). Without rules all tags are kept.
   */
  readonly rules: readonly RetentionRule[]
  /**
   * Age after which untagged manifests are deleted, at least one hour. Manifests that another manifest needs,
   * and referrers whose subject exists, are kept. Unset: untagged manifests are kept.
   */
  readonly untaggedAfter?: string
}

/** Automatic deletion. The first run starts soon after retention is enabled; later runs start every six hours. */
export interface RetentionInput {
  /** Whether retention is enabled. If false, nothing is deleted. */
  readonly enabled?: boolean | undefined
  /**
   * Rules. A tag is kept if any rule matches it, if it is immutable, or if it refers to an existing manifest
   * (`sha256-...`, as used for signatures). Without rules all tags are kept.
   */
  readonly rules?: readonly RetentionRuleInput[] | undefined
  /**
   * Age after which untagged manifests are deleted, at least one hour. Manifests that another manifest needs,
   * and referrers whose subject exists, are kept. Unset: untagged manifests are kept.
   */
  readonly untaggedAfter?: string | undefined
}

/** Rule that keeps the tags that match all its conditions. At least one condition is required. */
export interface RetentionRule {
  /** Patterns for tag names, as in ImmutableTags. Empty: all tags. */
  readonly patterns: readonly string[]
  /** Number of matching tags to keep, most recently updated first. 0: no limit. */
  readonly newest: number
  /** Maximum time since the last update of the tag. Unset: any time. */
  readonly youngerThan?: string
}

/** Rule that keeps the tags that match all its conditions. At least one condition is required. */
export interface RetentionRuleInput {
  /** Patterns for tag names, as in ImmutableTags. Empty: all tags. */
  readonly patterns?: readonly string[] | undefined
  /** Number of matching tags to keep, most recently updated first. 0: no limit. */
  readonly newest?: number | undefined
  /** Maximum time since the last update of the tag. Unset: any time. */
  readonly youngerThan?: string | undefined
}

/** Result of a retention run. */
export interface RetentionRun {
  /** Time when the run started. */
  readonly beginTime?: string
  /** Time when the run ended. Unset while it is running. */
  readonly endTime?: string
  /** Number of deleted tags. */
  readonly deletedTags: number
  /** Number of deleted manifests. */
  readonly deletedManifests: number
  /** Reason why the run failed. Empty if it succeeded. A failed run is retried. */
  readonly error: string
}

/** Decision of retention for a tag or a manifest. */
export interface RetentionVerdict {
  /** Name of the tag. Empty for a manifest. */
  readonly tag: string
  /** Digest of the manifest, or the digest that the tag points to. */
  readonly digest: string
  /** Whether the tag or manifest would be deleted. */
  readonly deleted: boolean
  /** Reason, for example `rule 2 keeps it`, `immutable` or `no rule keeps it`. */
  readonly reason: string
  /**
   * Time when the tag was updated. For a manifest, the time when it was pushed or lost its last tag,
   * whichever is later.
   */
  readonly updateTime?: string
  /** Number of the first rule that keeps the tag, from 1. 0 if no rule does, and for a manifest. */
  readonly rule: number
}

/** States of the review of an event. */
export type ReviewState =
  | 'REVIEW_STATE_UNSPECIFIED'
  | 'REVIEW_STATE_PENDING'
  | 'REVIEW_STATE_APPROVED'
  | 'REVIEW_STATE_REQUEST_CHANGES'
  | 'REVIEW_STATE_REJECTED'

/** Request message for RevokeScimToken. It has no version, so that a token can always be revoked. */
export interface RevokeScimTokenRequest {
  /** UID of the provider. */
  readonly identityProviderUid: string
}

/** Response message for RevokeScimToken. */
export interface RevokeScimTokenResponse {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Version of the SCIM state after this call. */
  readonly etag: string
  /** Whether SCIM is enabled. This call does not change it. */
  readonly enabled: boolean
  /** Time from which no token is valid. */
  readonly revokeTime?: string
}

/** Named set of capabilities. */
export interface Role {
  /**
   * Identifier, assigned by the server: 40 hexadecimal digits for a managed role; for a custom role, the
   * group's UID plus `/` and 16 hexadecimal digits.
   */
  readonly uid: string
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. Managed roles always have a description. */
  readonly description: string
  /**
   * Capabilities, in ascending order of their numbers and without duplicates. At least one is required to
   * create a role. An update without capabilities keeps them.
   */
  readonly capabilities: readonly Capability[]
  /** Time when the role was created. */
  readonly createTime?: string
  /** Time when the role was last updated. */
  readonly updateTime?: string
}

/** Role of an identity in a group. */
export interface RoleBinding {
  /** Identifier, assigned by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Identity that has the role. */
  readonly identity?: RoleBindingIdentity
  /** Group in which the identity has the role. Always the parent in `uid`. */
  readonly group?: RoleBindingGroup
  /** Role that the identity has. */
  readonly role?: RoleBindingRole
  /** Time when the binding was created. */
  readonly createTime?: string
  /** UID of the identity to bind. Responses contain it too, with details in `identity`. */
  readonly identityUid: string
  /** UID of the role to bind, managed or custom. Responses contain it too, with details in `role`. */
  readonly roleUid: string
  /**
   * Identity provider of an organization through which the identity accepted the binding. A sign-in through
   * the identity provider of another organization has the role only if it is this provider. Unset if an
   * administrator created the binding, if it was accepted with a local account or through a provider of the
   * operator, or if it is older than version 0.7.
   */
  readonly acceptedThrough?: RoleBindingProvider
}

/** Group of a binding. */
export interface RoleBindingGroup {
  /** UID of the group. */
  readonly uid: string
  /** Name of the group. */
  readonly name: string
  /** Description of the group. */
  readonly description: string
}

/** Identity of a binding. */
export interface RoleBindingIdentity {
  /** UID of the identity. */
  readonly uid: string
  /** Name of the identity. */
  readonly name: string
  /** Description of the identity. */
  readonly description: string
  /** Exact subject of the identity's rule. Empty if the rule has none. */
  readonly subject: string
  /** Exact issuer of the identity's rule. Empty if the rule has none. */
  readonly issuer: string
  /** Verified email address of the identity. Empty if there is none. */
  readonly email: string
  /**
   * Whether the other fields besides the UID could not be read: the database server of the user does not
   * respond. They are empty then. Unset otherwise.
   */
  readonly detailsUnavailable?: boolean
}

/** Role of an identity in a group. */
export interface RoleBindingInput {
  /** UID of the identity to bind. Responses contain it too, with details in `identity`. */
  readonly identityUid: string
  /** UID of the role to bind, managed or custom. Responses contain it too, with details in `role`. */
  readonly roleUid: string
}

/** Identity provider through which a binding was accepted. */
export interface RoleBindingProvider {
  /** UID of the identity provider. Its first segment is the organization of the provider. */
  readonly uid: string
  /** Name of the identity provider. Empty if the provider was deleted. */
  readonly name: string
  /** Issuer of the identity provider. Empty if the provider was deleted. */
  readonly issuer: string
}

/** Role of a binding. */
export interface RoleBindingRole {
  /** UID of the role. */
  readonly uid: string
  /** Name of the role. */
  readonly name: string
  /** Description of the role. */
  readonly description: string
}

/** Named set of capabilities. */
export interface RoleInput {
  /** Name, matching `^[a-z0-9 ._-]{1,}$`. */
  readonly name: string
  /** Free text, at most 512 characters, without control characters. Managed roles always have a description. */
  readonly description?: string | undefined
  /**
   * Capabilities, in ascending order of their numbers and without duplicates. At least one is required to
   * create a role. An update without capabilities keeps them.
   */
  readonly capabilities: readonly Capability[]
}

/** Uses of a role. */
export interface RoleUse {
  /** UID of the role. */
  readonly role: string
  /** Number of users who have it. */
  readonly users: number
  /** Number of workloads that have it. */
  readonly workloads: number
  /** Number of role bindings. Bindings block the deletion of the role. */
  readonly roleBindings: number
  /**
   * Number of identity providers that give it to new users. Counted if the caller can read identity providers.
   * They block the deletion of the role.
   */
  readonly identityProviders: number
  /**
   * Number of mappings of external groups. Counted if the caller can read identity providers. They block the
   * deletion of the role.
   */
  readonly externalGroups: number
  /**
   * Number of invites that are not expired. They do not block the deletion, and cannot be accepted after it.
   * Counted if the caller can read group invites.
   */
  readonly invites: number
}

/** Named set of capabilities, in version 1 of the API. */
export interface RoleV1 {
  /** Identifier: the `uid` of newer versions. */
  readonly id: string
  /** Name. */
  readonly name: string
  /** Free text. */
  readonly description: string
  /** Short names of the capabilities, for example `groups.list`. */
  readonly capabilities: readonly string[]
}

/** Request message for RotateSigningKeys. */
export interface RotateSigningKeysRequest {
  /**
   * Withdraws all other keys and signs with a new one immediately: all access tokens become invalid. For a
   * key that may be compromised.
   */
  readonly withdraw?: boolean | undefined
}

/** Format of an SBOM. */
export type SbomFormat =
  | 'SBOM_FORMAT_UNSPECIFIED'
  | 'SBOM_FORMAT_SPDX'
  | 'SBOM_FORMAT_CYCLONEDX'

/** Vulnerability that a scanner found. */
export interface ScannerFinding {
  /** ID of the vulnerability, as reported. */
  readonly vulnerability: string
  /** Other IDs of the vulnerability. */
  readonly aliases: readonly string[]
  /** Package URLs of the packages. Empty if the report does not have them. */
  readonly purls: readonly string[]
  /** Severity. NONE for negligible ones. */
  readonly severity: FindingSeverity
  /** Whether there is a fix. */
  readonly fixState: ScannerFindingFixState
  /** Versions with the fix. */
  readonly fixedVersions: readonly string[]
  /** One line about the vulnerability. Empty if it is unknown. */
  readonly description: string
  /** Paths in the image. */
  readonly locations: readonly string[]
  /** Whether this server reports the vulnerability for the image too, in any state. */
  readonly known: boolean
}

/** State of a fix. */
export type ScannerFindingFixState =
  | 'FIX_STATE_UNSPECIFIED'
  | 'FIX_STATE_UNKNOWN'
  | 'FIX_STATE_FIXED'
  | 'FIX_STATE_NOT_FIXED'
  | 'FIX_STATE_WONT_FIX'

/** Report of a scanner about an image. */
export interface ScannerReport {
  /** Name of the scanner in lower case; `unknown` if the report does not name it. */
  readonly scanner: string
  /** Version of the scanner. Empty if it is unknown. */
  readonly scannerVersion: string
  /** Format: `sarif`, `grype`, `trivy`, `cyclonedx`, or `vuln-predicate` for an attestation. */
  readonly format: string
  /** Time of the report; if it does not state one, when it was attached. */
  readonly createTime?: string
  /** Time of the vulnerability database of the scanner. Unset if it is unknown. */
  readonly databaseTime?: string
  /** Digest of the manifest that was attached. */
  readonly manifestDigest: string
  /** Number of findings: pairs of a vulnerability and a package. */
  readonly findingCount: string
  /** Number of findings that are stored: the most severe ones. */
  readonly storedFindingCount: string
  /** Number of findings by severity, the highest first, without zeros. */
  readonly counts: readonly ScannerReportCount[]
}

/** Difference of a report and the findings of this server. */
export interface ScannerReportComparison {
  /** The report. */
  readonly scannerReport?: ScannerReport
  /** IDs of vulnerabilities that only the report has, by any of their IDs. */
  readonly onlyInReport: readonly string[]
  /** IDs of vulnerabilities that only this server reports, among those that can affect the image. */
  readonly onlyInServer: readonly string[]
  /** IDs of vulnerabilities of the report that do not affect the image according to this server. */
  readonly notAffected: readonly string[]
  /** Number of vulnerabilities that both report. */
  readonly commonCount: string
  /**
   * Whether all packages of the image are matched with the current advisories: otherwise, this server may find
   * more.
   */
  readonly matched: boolean
}

/** Number of findings with a severity. */
export interface ScannerReportCount {
  /** Severity. NONE for negligible ones. */
  readonly severity: FindingSeverity
  /** Number. */
  readonly count: string
}

/** Request message for SearchResources. */
export interface SearchResourcesRequest {
  /** Text to search for, with 2 to 1024 characters. Not case-sensitive, except for tags. */
  readonly text: string
  /** Kinds to search. Empty searches all kinds that can be searched. */
  readonly kinds?: readonly ResourceKind[] | undefined
  /** UID of the organization or folder to search in. Empty searches everything that the caller can read. */
  readonly organization?: string | undefined
  /**
   * Maximum number of results of each kind. 0 or unset means 10; values above 50 mean 50; negative values fail
   * with INVALID_ARGUMENT.
   */
  readonly maxResults?: number | undefined
}

/** Response message for SearchResources. */
export interface SearchResourcesResponse {
  /** Results, best matches first. */
  readonly resources: readonly Resource[]
  /** Kinds of which more resources match, or may match, than are returned. */
  readonly incompleteKinds: readonly ResourceKind[]
}

/** Package locations in a security database. Empty fields are omitted from it. */
export interface SecurityDatabase {
  /** URL template of a package. */
  readonly apkurl: string
  /** Architectures of the packages. */
  readonly archs: readonly string[]
  /** Name of the repository. */
  readonly reponame: string
  /** URL of the repositories. */
  readonly urlprefix: string
  /** Version of the distribution. */
  readonly distroversion: string
}

/** Package locations in a security database. Empty fields are omitted from it. */
export interface SecurityDatabaseInput {
  /** URL template of a package. */
  readonly apkurl?: string | undefined
  /** Architectures of the packages. */
  readonly archs?: readonly string[] | undefined
  /** Name of the repository. */
  readonly reponame?: string | undefined
  /** URL of the repositories. */
  readonly urlprefix?: string | undefined
  /** Version of the distribution. */
  readonly distroversion?: string | undefined
}

/** Server process that uses the database. */
export interface ServerNode {
  /** Identifier, new with each start. */
  readonly id: string
  /** Host name of the machine or container. */
  readonly name: string
  /** Version of Berth. */
  readonly version: string
  /** Address for clients. */
  readonly baseUrl: string
  /** Address and port on which the process listens. */
  readonly listenAddress: string
  /** Start of the process. */
  readonly startTime?: string
  /** Last sign of life. Nodes send one every 15 seconds. */
  readonly lastSeenTime?: string
  /** Whether the node was seen in the last 45 seconds. */
  readonly online: boolean
  /** Whether this node sent the response. */
  readonly current: boolean
}

/** Services of the platform that can assume an identity. */
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

/** Response message for Register. */
export interface Session {
  /** UID of the identity. */
  readonly identity: string
  /** UID of the group that was joined with the invite. Empty without an invite. */
  readonly group: string
}

/** Kind of a session. */
export type SessionKind =
  | 'SESSION_KIND_UNSPECIFIED'
  | 'SESSION_KIND_BROWSER'
  | 'SESSION_KIND_CLIENT'

/** Request message for SetOrganizationLimits. */
export interface SetOrganizationLimitsRequest {
  /** UID of the organization. */
  readonly uid: string
  /** Limits to set or remove, each kind once. */
  readonly limits: readonly ResourceLimitInput[]
}

/** Request message for SetScimEnabled. */
export interface SetScimEnabledRequest {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /**
   * Whether to enable SCIM. Enabling requires no valid token; disabling keeps the token, the accounts and
   * their roles.
   */
  readonly enabled: boolean
  /** Version of the SCIM state that the caller has read. The call fails if it is not the current version. */
  readonly etag: string
}

/** Response message for SetScimEnabled. */
export interface SetScimEnabledResponse {
  /** UID of the provider. */
  readonly identityProviderUid: string
  /** Whether SCIM is enabled. */
  readonly enabled: boolean
  /** Version of the SCIM state after this call. */
  readonly etag: string
}

/** Severity score of a vulnerability. */
export interface Severity {
  /** Scoring method. */
  readonly type: SeverityType
  /** Score: a vector or a number, depending on the method. */
  readonly score: string
}

/** Scoring methods. */
export type SeverityType =
  | 'TYPE_UNSPECIFIED'
  | 'TYPE_CVSS_V2'
  | 'TYPE_CVSS_V3'
  | 'TYPE_CVSS_V4'

/** Result for sign-ins through one identity provider. */
export interface SignInResult {
  /** Identity provider. */
  readonly identityProvider?: RoleBindingProvider
  /**
   * Whether a user who signs in through this provider can do it. Includes groups of current sessions, by the
   * mappings that the caller can list.
   */
  readonly allowed: boolean
}

/** Format of a signature. */
export type SignatureFormat =
  | 'SIGNATURE_FORMAT_UNSPECIFIED'
  | 'SIGNATURE_FORMAT_COSIGN'
  | 'SIGNATURE_FORMAT_SIGSTORE_BUNDLE'
  | 'SIGNATURE_FORMAT_NOTATION'

/** State of a signature, and of all signatures of an image. */
export type SignatureState =
  | 'SIGNATURE_STATE_UNSPECIFIED'
  | 'SIGNATURE_STATE_UNSIGNED'
  | 'SIGNATURE_STATE_VERIFIED'
  | 'SIGNATURE_STATE_UNTRUSTED'
  | 'SIGNATURE_STATE_INVALID'

/** Verification of a signature by one verifier. */
export interface SignatureVerification {
  /** UID of the verifier. */
  readonly verifier: string
  /** Name of the verifier. */
  readonly verifierName: string
  /**
   * Identity of the signer: the subject alternative name of the certificate, or for Notation its subject.
   * Empty for a public key.
   */
  readonly identity: string
  /** Issuer that authenticated the identity. Empty if the certificate names none. */
  readonly issuer: string
  /**
   * Time of the signature: that of the timestamp or of the log entry, which is trusted; otherwise the time that
   * the signer claims (Notation). Unset if there is none.
   */
  readonly signTime?: string
}

/** Whose signatures a group trusts. Exactly one method is required. */
export interface SignatureVerifier {
  /** Identifier, assigned by the server: the group's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Name, unique in the group: 1-128 lowercase letters, digits, spaces, `.`, `_` or `-`. */
  readonly name: string
  /** Description, at most 4096 characters. */
  readonly description: string
  /** A public key: signatures of cosign, also in sigstore bundles. */
  readonly publicKey?: PublicKeyMethod
  /** Certificates of short life, as Fulcio issues them: signatures of cosign, also in sigstore bundles. */
  readonly certificate?: CertificateMethod
  /** Certificates of a trust store: signatures of Notation. */
  readonly notation?: NotationMethod
  /** Time when the verifier was created. */
  readonly createTime?: string
  /** Time when the verifier was updated. */
  readonly updateTime?: string
}

/** Whose signatures a group trusts. Exactly one method is required. */
export interface SignatureVerifierInput {
  /** Name, unique in the group: 1-128 lowercase letters, digits, spaces, `.`, `_` or `-`. */
  readonly name: string
  /** Description, at most 4096 characters. */
  readonly description?: string | undefined
  /** A public key: signatures of cosign, also in sigstore bundles. */
  readonly publicKey?: PublicKeyMethodInput | undefined
  /** Certificates of short life, as Fulcio issues them: signatures of cosign, also in sigstore bundles. */
  readonly certificate?: CertificateMethodInput | undefined
  /** Certificates of a trust store: signatures of Notation. */
  readonly notation?: NotationMethodInput | undefined
}

/** Key that signs tokens. The private key is never returned. */
export interface SigningKey {
  /** Key id, as in the header of tokens. */
  readonly kid: string
  /** Signature algorithm, such as `ES256`. */
  readonly algorithm: string
  /** State. */
  readonly state: SigningKeyState
  /** Creation time. */
  readonly createTime?: string
  /** When it starts to sign. */
  readonly signTime?: string
  /** End of its publication. */
  readonly expireTime?: string
}

/** State of a signing key. */
export type SigningKeyState =
  | 'SIGNING_KEY_STATE_UNSPECIFIED'
  | 'SIGNING_KEY_STATE_NEXT'
  | 'SIGNING_KEY_STATE_SIGNING'
  | 'SIGNING_KEY_STATE_PUBLISHED'

/** Response message for GetSize. */
export interface Size {
  /** Size of all layers as transferred, plus the configuration, in bytes. */
  readonly size: string
  /** Architecture whose size is returned. */
  readonly architecture: string
}

/** Request message for StartStorageRun. */
export interface StartStorageRunRequest {
  /** Kind of the run. */
  readonly kind: StorageRunKind
  /** Only counts what a garbage collection would delete. A scrub never changes anything. */
  readonly dryRun?: boolean | undefined
  /** Minimum age of what a garbage collection deletes, at least one hour. Unset means the configured one. */
  readonly grace?: string | undefined
  /** Maximum read rate of a scrub. 0 means unlimited. */
  readonly bytesPerSecondMax?: string | undefined
}

/** Finding of a scrub. */
export interface StorageFinding {
  /** `missing`, `damaged`, `unreadable`, `incomplete` or `orphan`. */
  readonly kind: string
  /** `blob`, `manifest` or `upload`. */
  readonly type: string
  /** Digest. Empty if it is unknown. */
  readonly digest: string
  /** Location in the store. Empty for content of the database. */
  readonly location: string
  /** Size. */
  readonly bytes: string
  /** What is wrong. */
  readonly reason: string
  /** Whether a push of the same bytes repairs it. */
  readonly repaired: boolean
  /** Names of the first repos that have it. */
  readonly repos: readonly string[]
  /** Number of repos that have it. */
  readonly repoCount: string
}

/** Run of garbage collection or scrub. */
export interface StorageRun {
  /** Identifier. */
  readonly id: string
  /** Kind. */
  readonly kind: StorageRunKind
  /** State. */
  readonly state: StorageRunState
  /** Whether the run only counts what it would delete. */
  readonly dryRun: boolean
  /** UID of the identity that started the run; `system` for the schedule and commands. */
  readonly actor: string
  /** Name of the node that runs it; `command` for `berth admin`. */
  readonly nodeName: string
  /** Start. */
  readonly startTime?: string
  /** Last progress. */
  readonly updateTime?: string
  /** End. Unset while it runs. */
  readonly endTime?: string
  /** What the run does now, or did last. */
  readonly step: string
  /** Progress in the step: checked rows or files, or verified bytes. */
  readonly done: string
  /** End of the progress. 0 if it is unknown. */
  readonly total: string
  /** What was found: deleted for a garbage collection, verified and damaged for a scrub. */
  readonly totals: readonly StorageRunTotal[]
  /** Why the run failed. Empty otherwise. */
  readonly error: string
  /** Whether the run was cancelled and has not ended yet. */
  readonly cancelRequested: boolean
  /** Damaged, missing and unreferenced content that a scrub found, up to 100 of each kind. Empty in lists. */
  readonly findings: readonly StorageFinding[]
}

/** Kind of a run. */
export type StorageRunKind =
  | 'STORAGE_RUN_KIND_UNSPECIFIED'
  | 'STORAGE_RUN_KIND_GARBAGE_COLLECTION'
  | 'STORAGE_RUN_KIND_SCRUB'

/** State of a run. */
export type StorageRunState =
  | 'STORAGE_RUN_STATE_UNSPECIFIED'
  | 'STORAGE_RUN_STATE_RUNNING'
  | 'STORAGE_RUN_STATE_SUCCEEDED'
  | 'STORAGE_RUN_STATE_FAILED'
  | 'STORAGE_RUN_STATE_CANCELLED'

/** Sum of a run. */
export interface StorageRunTotal {
  /**
   * What was counted: `orphans`, `links`, `blobs`, `uploads`, `strays` for a garbage collection; `blobs`,
   * `manifests`, `missing`, `damaged`, `unreadable`, `incomplete`, `orphan` for a scrub.
   */
  readonly kind: string
  /** Number. */
  readonly count: string
  /** Bytes. 0 if they are not counted. */
  readonly bytes: string
}

/** Stored data of the installation. */
export interface StorageStatus {
  /** Disks of the node that responds. */
  readonly disks: readonly Disk[]
  /** Name of the node that responds. */
  readonly nodeName: string
  /** Where blobs are stored: a directory or a bucket. */
  readonly blobStore: string
  /** Bytes of blobs of all organizations. Blobs that several organizations have are counted for each. */
  readonly storedBytes: string
  /** Number of manifests of all organizations. */
  readonly manifestCount: string
  /** Time between two garbage collections. Unset means that they do not run by themselves. */
  readonly garbageCollectionInterval?: string
  /** Minimum age of what garbage collection deletes. */
  readonly garbageCollectionGrace?: string
  /** When the next garbage collection is due. Unset if none is scheduled. */
  readonly nextGarbageCollectionTime?: string
}

/** Request message for SuspendAccount. */
export interface SuspendAccountRequest {
  /** UID of the identity of the account. */
  readonly uid: string
}

/** Request message for SuspendOrganization. */
export interface SuspendOrganizationRequest {
  /** UID of the organization. */
  readonly uid: string
}

/** Request message for SyncAdvisoryFeed. */
export interface SyncAdvisoryFeedRequest {
  /** UID of the feed. */
  readonly uid: string
  /** Whether to read everything again, even if the remote server reports no change. */
  readonly full?: boolean | undefined
}

/** Configuration for copying another repo. */
export interface SyncConfig {
  /**
   * Repo to copy from: its UID, its catalog name as `organization/repo`, or a full image reference. Stored
   * and returned as a UID. The caller needs a claim to the source or the right to pull from it.
   */
  readonly source: string
  /** Whether copied tags get a suffix that makes them unique, as set by the organization. */
  readonly uniqueTags: boolean
  /** Time when copying ends: 14 days after creation unless the operator sets another time. */
  readonly expirationTime?: string
  /** Repository at Google Artifact Registry to which the images are also copied. */
  readonly google: string
  /** Repository at Amazon ECR to which the images are also copied. */
  readonly amazon: string
  /** Repository at Azure Container Registry to which the images are also copied. */
  readonly azure: string
  /** Build changes that the operator applies when copying, as a JSON document. */
  readonly apkoOverlay: string
  /**
   * Whether copying continues for a grace period after the end of life of the source, as set by the
   * organization.
   */
  readonly gracePeriod: boolean
}

/** Configuration for copying another repo. */
export interface SyncConfigInput {
  /**
   * Repo to copy from: its UID, its catalog name as `organization/repo`, or a full image reference. Stored
   * and returned as a UID. The caller needs a claim to the source or the right to pull from it.
   */
  readonly source: string
  /** Repository at Google Artifact Registry to which the images are also copied. */
  readonly google?: string | undefined
  /** Repository at Amazon ECR to which the images are also copied. */
  readonly amazon?: string | undefined
  /** Repository at Azure Container Registry to which the images are also copied. */
  readonly azure?: string | undefined
}

/** Name for a manifest of a repo. */
export interface Tag {
  /** Identifier, assigned by the server: the repo's UID plus `/` and 16 hexadecimal digits. */
  readonly uid: string
  /** Name, matching `^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`. Unique in the repo. */
  readonly name: string
  /** Digest of the manifest: `sha256:` and 64 hexadecimal digits, or `sha512:` and 128, in lowercase. */
  readonly digest: string
  /** Time when the tag was last updated. */
  readonly updateTime?: string
  /** Whether the version has reached its end of life. */
  readonly deprecated: boolean
  /**
   * Labels under which the version is offered, without duplicates: `application`, `base`, `byol`, `ai`,
   * `ai-gpu`, `featured`, `fips`, `commercial`, `emeritoss`.
   */
  readonly bundles: readonly string[]
}

/** Tag that would be deleted. */
export interface TagDeletion {
  /** UID of the tag. */
  readonly uid: string
  /** Name of the tag. */
  readonly name: string
  /** Digest of the manifest that it points to. */
  readonly digest: string
  /** Whether the policy of the repo protects the tag, so that it cannot be deleted. */
  readonly immutable: boolean
}

/**
 * Tag with the properties of the manifest that it points to. Without `manifest.list`, the properties are
 * empty, and the target is unspecified.
 */
export interface TagDetails {
  /** Tag. */
  readonly tag?: Tag
  /** Whether the policy of the repo makes the tag immutable. */
  readonly immutable: boolean
  /** Kind of the manifest. Unspecified if the repo does not have the manifest. */
  readonly target: TagTarget
  /** Media type of the manifest. Empty if the repo does not have the manifest. */
  readonly mediaType: string
  /** Type of the artifact, or media type of the configuration. Empty for an index without one. */
  readonly artifactType: string
  /**
   * Size of the blobs of the image in bytes; for an index, the sum of its images. 0 if the tags of the page
   * have too many images to count.
   */
  readonly sizeBytes: string
  /**
   * Platforms of an index, such as `linux/amd64`, in its order. Empty for other manifests, and for an index
   * larger than 64 KiB.
   */
  readonly platforms: readonly string[]
  /**
   * Whether a signature or a signed attestation (Cosign, Sigstore bundle, Notation) is attached to the
   * manifest. Signatures are not verified.
   */
  readonly hasSignature: boolean
}

/** Numbers of findings of the image of a tag from a time on. Findings with the state NOT_AFFECTED do not count. */
export interface TagFindingHistoryEntry {
  /** Time from which the numbers apply, until the time of the next entry. */
  readonly time?: string
  /** Digest that the tag had. Empty for a tag without a manifest, which only version 1 of the API creates. */
  readonly digest: string
  /**
   * Whether the contents of the image were known: `read`; `failed` if they, or those of an image of an index,
   * could not be read, and only what was found before counts; `none` for a manifest that is not an image.
   */
  readonly contentsState: string
  /** Number of findings of severity CRITICAL. */
  readonly critical: string
  /** Number of findings of severity HIGH. */
  readonly high: string
  /** Number of findings of severity MEDIUM. */
  readonly medium: string
  /** Number of findings of severity LOW. */
  readonly low: string
  /** Number of findings of severity NONE. */
  readonly none: string
  /** Number of findings of severity UNKNOWN. */
  readonly unknown: string
}

/** Vulnerabilities of the image of a tag. */
export interface TagFindingSummary {
  /** Name of the tag. */
  readonly tag: string
  /** Digest of the tag. */
  readonly digest: string
  /** Time when the digest of the tag last changed. */
  readonly updateTime?: string
  /**
   * Whether the contents of the image are known: `read`, `pending`, `failed`, or `none` for a manifest that is
   * not an image.
   */
  readonly contentsState: string
  /** Whether the image is read, and all its packages are matched with the current advisories and catalogs. */
  readonly matched: boolean
  /** Number of findings, by state and severity; with a vulnerability, only of this one. */
  readonly counts: readonly FindingCount[]
  /** Findings of the vulnerability of the request, at most 20. Empty without one. */
  readonly findings: readonly Finding[]
}

/** Digest that a tag has pointed to since a time. */
export interface TagHistoryEntry {
  /** Digest of the manifest. Empty if the tag had none. */
  readonly digest: string
  /** Time from which the tag pointed to the digest. */
  readonly updateTime?: string
  /** Whether the repo has the manifest, so that the tag can be moved to it. */
  readonly available: boolean
  /**
   * UID of the identity that moved the tag. Set for callers with `role_bindings.list` only. Empty if it is
   * not recorded, as for changes by an earlier release.
   */
  readonly actor: string
  /** Name of that identity. Empty if it was deleted, or if the database server of the user does not respond. */
  readonly actorName: string
}

/** Name for a manifest of a repo. */
export interface TagInput {
  /** Name, matching `^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`. Unique in the repo. */
  readonly name: string
  /** Digest of the manifest: `sha256:` and 64 hexadecimal digits, or `sha512:` and 128, in lowercase. */
  readonly digest: string
  /** Whether the version has reached its end of life. */
  readonly deprecated?: boolean | undefined
  /**
   * Labels under which the version is offered, without duplicates: `application`, `base`, `byol`, `ai`,
   * `ai-gpu`, `featured`, `fips`, `commercial`, `emeritoss`.
   */
  readonly bundles?: readonly string[] | undefined
}

/** Kind of manifest that a tag points to. */
export type TagTarget =
  | 'TAG_TARGET_UNSPECIFIED'
  | 'TAG_TARGET_IMAGE'
  | 'TAG_TARGET_INDEX'
  | 'TAG_TARGET_ARTIFACT'

/** Manifest that would lose its last tag. */
export interface TaglessManifest {
  /** Digest of the manifest. */
  readonly digest: string
  /** Whether an index references the manifest, which keeps it. */
  readonly inIndex: boolean
  /** Number of signatures and other referrers, which are deleted with the manifest. */
  readonly referrers: number
}

/** Response message for ExchangeRefreshToken. */
export interface TokenPair {
  /** New platform token. */
  readonly token?: RawToken
  /** New refresh token, in its member `token`. */
  readonly refreshToken?: RawToken
}

/** Use of a repo in a period. */
export interface TopRepo {
  /** UID of the repo. */
  readonly uid: string
  /** Names of the repo and of the folders above it below the requested group, separated by `/`. */
  readonly path: string
  /** Number of manifests that clients downloaded, as in UsageDay. */
  readonly pulls: string
  /** Number of accepted uploads of manifests. */
  readonly pushes: string
}

/**
 * Filter for a part of the group tree. All members that are set must match; an empty filter returns
 * everything that the caller can read. A UID that the caller cannot access returns an empty list, not an
 * error.
 */
export interface UIDPFilter {
  /** Returns only ancestors of this UID, up to its root, without the UID itself. */
  readonly ancestorsOf?: string | undefined
  /** Returns only descendants of this UID, at any depth, without the UID itself. */
  readonly descendantsOf?: string | undefined
  /** Returns only direct children of this UID. `/` is the root level. */
  readonly childrenOf?: string | undefined
  /** Whether to return only resources at the root level, whose UID has one segment. */
  readonly inRoot?: boolean | undefined
  /** Returns only these UIDs. Unknown UIDs are ignored. */
  readonly ids?: readonly string[] | undefined
}

/** Part of a document that advisories have no field for. */
export interface UnmappedField {
  /** Path in the document, with `[]` for list entries. */
  readonly path: string
  /** Number of occurrences. */
  readonly count: number
}

/** Request message for UpdateAccountAssociation. */
export interface UpdateAccountAssociationRequest {
  /** New values. `uid` identifies the group whose association to update. */
  readonly accountAssociation: AccountAssociationInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateAdvisoryFeed. */
export interface UpdateAdvisoryFeedRequest {
  /** New values. `uid` identifies the feed to update. */
  readonly advisoryFeed: AdvisoryFeedInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateAdvisoryPublication. */
export interface UpdateAdvisoryPublicationRequest {
  /** New values. `uid` identifies the group. */
  readonly advisoryPublication: AdvisoryPublicationInput
  /** Fields to update. If unset, the fields that are present are updated. */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateGroupInvite. */
export interface UpdateGroupInviteRequest {
  /** New values. `uid` identifies the invite to update. */
  readonly groupInvite: GroupInviteInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateGroup. */
export interface UpdateGroupRequest {
  /** New values. `uid` identifies the group to update. */
  readonly group: GroupInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateIdentityMetadata. */
export interface UpdateIdentityMetadataRequest {
  /** Values to publish about the caller. */
  readonly identityMetadata: IdentityMetadataInput
  /** Fields to publish. If unset, the fields that are present are published. */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateIdentityProvider. */
export interface UpdateIdentityProviderRequest {
  /** New values. `uid` identifies the provider to update. */
  readonly identityProvider: IdentityProviderInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateIdentity. */
export interface UpdateIdentityRequest {
  /** New values. `uid` identifies the identity to update. */
  readonly identity: IdentityInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateRepoPolicy. */
export interface UpdateRepoPolicyRequest {
  /** New values. `uid` identifies the repo. */
  readonly repoPolicy: RepoPolicyInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateRepoReadme. */
export interface UpdateRepoReadmeRequest {
  /** New readme. `uid` identifies the repo. */
  readonly repoReadme: RepoReadmeInput
  /** Fields to update. `content` is the only one. If unset, the fields that are present are updated. */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateRepo. */
export interface UpdateRepoRequest {
  /** New values. `uid` identifies the repo to update. */
  readonly repo: RepoInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateRoleBinding. */
export interface UpdateRoleBindingRequest {
  /** New values. `uid` identifies the binding to update. */
  readonly roleBinding: RoleBindingInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateRole. */
export interface UpdateRoleRequest {
  /** New values. `uid` identifies the role to update. */
  readonly role: RoleInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** Request message for UpdateSignatureVerifier. */
export interface UpdateSignatureVerifierRequest {
  /** New values. `uid` identifies the verifier to update. */
  readonly signatureVerifier: SignatureVerifierInput
  /**
   * Fields to update. If unset, the fields that are present are updated; `*` updates all writable fields.
   * Unknown paths fail with INVALID_ARGUMENT.
   */
  readonly updateMask?: string | undefined
}

/** What an organization or folder uses. */
export interface Usage {
  /** UID of the organization or folder. */
  readonly uid: string
  /** Resources of each kind. */
  readonly resources: readonly ResourceUsage[]
  /**
   * Stored bytes of blobs, each counted once in the organization or folder. Unset if the caller lacks
   * `manifest.list`.
   */
  readonly storedBytes?: string
  /**
   * Limit of stored bytes of the whole organization. Unset without one, and for callers who cannot read the
   * organization.
   */
  readonly storedBytesLimit?: string
}

/** What an organization used on one day. */
export interface UsageDay {
  /** Day in UTC. */
  readonly date: string
  /** Stored bytes of blobs, each counted once. Unset if they were not recorded on this day. */
  readonly storedBytes?: string
  /** Number of manifests. Unset if it was not recorded on this day. */
  readonly manifests?: string
  /** Number of tags. Unset if it was not recorded on this day. */
  readonly tags?: string
  /** Number of repos. Unset if it was not recorded on this day. */
  readonly repos?: string
  /**
   * Number of manifests that clients downloaded with GET from all repos, including deleted ones. HEAD, and
   * GET of a version that the client has, do not count. A pull of an image for several platforms is two: the
   * index and the manifest of the platform. Written every few seconds; a crash of a node loses its last
   * seconds.
   */
  readonly pulls: string
  /** Number of accepted uploads of manifests. Written like `pulls`. */
  readonly pushes: string
}

/** Request message for ValidatePolicy. */
export interface ValidatePolicyRequest {
  /** Expression to check. */
  readonly expression: string
  /** Language of the expression. Only EXPRESSION_TYPE_CEL can be valid. */
  readonly type: ExpressionType
  /** Parameters that the expression can use, besides those that it declares. */
  readonly parameterSchemas?: readonly ParameterSchemaInput[] | undefined
}

/** Response message for ValidatePolicy. */
export interface ValidatePolicyResponse {
  /** Whether the expression can be used. */
  readonly valid: boolean
  /** Problems, in the order of the text. */
  readonly errors: readonly PolicyDiagnostic[]
}

/** Who can pull from a repo, or from the repos of a group. */
export interface Visibility {
  /** Whether anyone can pull without a token. */
  readonly public: boolean
  /** Role bindings of the anonymous identity that apply, the outermost group first. */
  readonly bindings: readonly PublicBinding[]
  /** UID of the anonymous identity. */
  readonly anonymousIdentity: string
  /** UID of the role that publishing binds: `registry.pull`. */
  readonly pullRole: string
  /**
   * Number of repos that are in the group, or in the group of the repo, at any depth: all of them become
   * public or private together.
   */
  readonly repos: number
}

/** What a document says about a vulnerability. */
export interface VulnerabilityRecord {
  /** ID of the vulnerability: its CVE ID if it has one. */
  readonly vulnerability: string
  /** Other IDs of the vulnerability, at most 50. */
  readonly aliases: readonly string[]
  /** UID of the group of the document. */
  readonly groupUid: string
  /** Format of the document. */
  readonly format: string
  /** ID of the document. */
  readonly documentId: string
  /** Summary in one line, at most 300 characters. Empty if the document has none. */
  readonly summary: string
  /** Names of affected packages, at most 20. */
  readonly packages: readonly string[]
  /** Severity. */
  readonly severity: FindingSeverity
  /** Highest base score of the newest version of CVSS. Unset if the document has none. */
  readonly score?: number | 'NaN' | 'Infinity' | '-Infinity'
  /** Kinds of weaknesses (CWE). */
  readonly cwes: readonly string[]
  /** Time when the vulnerability was published. Unset if the document does not state it. */
  readonly publishTime?: string
  /** Time when the document last changed what it says. Unset if the document does not state it. */
  readonly modifyTime?: string
  /**
   * Part of the details and notes around the first word of the query. Empty without a query, and if no word is
   * in them.
   */
  readonly excerpt: string
}

/** Identity of a token and what the token permits. */
export interface WhoAmI {
  /** Issuer of the token: the URL of the token service. */
  readonly issuer: string
  /** UID of the identity. */
  readonly subject: string
  /** Token audience. */
  readonly audience: readonly string[]
  /** Expiration time of the token. */
  readonly expiry?: string
  /** Time when the token was issued. */
  readonly issuedAt?: string
  /** Capabilities of the token, listed by group. They also apply to the descendants of the group. */
  readonly capabilities: readonly WhoAmICapability[]
  /** Verified email address of the user. */
  readonly email: string
  /** Profile of the user. */
  readonly profile?: Profile
}

/** Capabilities in one group. */
export interface WhoAmICapability {
  /** Group. Unset for capabilities on the platform itself, above all organizations. */
  readonly group?: GroupV1
  /** Role that permits exactly this. Unset if there is none. */
  readonly role?: RoleV1
  /** Short names of capabilities, for example `groups.list`, if `role` is unset. */
  readonly capabilities: readonly string[]
}

/** Request message for WhoCan. */
export interface WhoCanRequest {
  /** UID of the group or of a repo. */
  readonly uid: string
  /** Name of the capability. */
  readonly capability: string
  /** Page size. 0 or unset means 50; values above 200 mean 200; negative values fail with INVALID_ARGUMENT. */
  readonly pageSize?: number | undefined
  /** Token from `next_page_token` of the previous page. Empty returns the first page. */
  readonly pageToken?: string | undefined
}

/** Response message for WhoCan. */
export interface WhoCanResponse {
  /** Members of this page. */
  readonly members: readonly Member[]
  /**
   * Token for the next page. Empty on the last page. If a database server is lost or comes back between two
   * pages, the list starts again: members may be repeated, but none is left out.
   */
  readonly nextPageToken: string
  /** Number of members over all pages. */
  readonly totalCount: string
  /** Roles with the capability in ancestors whose role bindings the caller cannot read. Set on the first page. */
  readonly hidden: readonly HiddenAccess[]
  /** Whether the organization is suspended. No role in it applies then. */
  readonly suspended: boolean
}
