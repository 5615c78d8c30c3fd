import { formatLimits } from '@berth/advisory-formats/limits.ts'

/** All limits, with their units and sources. Each is named in a test or a document. Those of advisory documents are in their package. */

const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

export const limits = {
  ...formatLimits,

  // Signatures of images.
  /** Signatures of one image that are verified; more are counted as truncated. */
  imageSignaturesMax: 50,
  /** Manifests with signatures that are read for one image. */
  signatureManifestsMax: 50,
  /** Bytes of a manifest with signatures, and of a payload, bundle or envelope. */
  signatureManifestBytesMax: 512 * KIB,
  signatureBytesMax: 256 * KIB,
  /** Levels and values of the JSON of signatures. */
  signatureJsonDepthMax: 16,
  signatureJsonElementsMax: 10_000,
  /** Characters of an annotation with a signature, certificate or timestamp. */
  signatureAnnotationCharsMax: 64 * KIB,
  /** Log entries and timestamps of one signature. */
  signatureTimesMax: 10,
  /** Certificates of one chain in a signature. */
  signatureCertificatesMax: 10,
  /** Verifiers that apply to one repo: those of the outermost groups count first. */
  appliedVerifiersMax: 100,
  /** Certificates, keys and chains of a verifier, its identities, and the characters of each PEM text. */
  verifierCertificatesMax: 10,
  verifierKeysMax: 10,
  verifierIdentitiesMax: 20,
  verifierPemCharsMax: 64 * KIB,
  verifierIdentityCharsMax: 1024,
  /** Bits of RSA keys of verifiers and of Notation. */
  signatureRsaBitsMin: 2048,
  signatureRsaBitsMax: 8192,
  /** Verifiers whose keys are kept parsed. */
  parsedVerifiersMax: 1000,
  /** Images whose signatures one node verifies at the same time. */
  signatureChecksMax: 4,
  /** Between two looks for images whose signatures or verifiers changed, and how many are read at a time. */
  signaturePollMs: 500,
  signatureChangesRead: 100,
  /** Indexes of an image whose signatures count for it in policies. */
  signedIndexesMax: 10,
  /** Characters of the reason that a signature is not verified. */
  signatureReasonCharsMax: 500,

  // Lists (the spec, "Limits").
  pageSizeDefault: 50,
  pageSizeMax: 200,
  pageTokenMaxAgeMs: 3 * DAY_MS,
  /** Longest page token that is parsed. */
  pageTokenCharsMax: 8 * KIB,
  /** Sort keys in one `order_by`. */
  orderByKeysMax: 5,
  /** Values of one filter of advisories, and the length of each. */
  advisoryFilterValuesMax: 200,
  advisoryFilterCharsMax: 4 * KIB,
  /** Architectures that a publication of advisories names. */
  publicationArchitecturesMax: 50,
  /** Files of published feeds: their number, their bytes, and how long an unrequested one stays. */
  feedFilesMax: 1000,
  feedBytesMax: 4 * 1024 * MIB,
  feedIdleMsMax: 7 * DAY_MS,
  /** Building a published feed: its time, its memory, and how many builds may wait. */
  feedBuildMsMax: 15 * MINUTE_MS,
  feedBuildMemoryMib: 512,
  feedBuildsQueuedMax: 100,
  /** How long a start waits for a lock that another process has on the SQLite database. */
  serverLockWaitMs: 5 * SECOND_MS,
  /** Idle time after which a process that reads advisory documents or builds feeds ends, and a thread that runs long reads of SQLite. */
  workerProcessIdleMs: MINUTE_MS,
  readerThreadIdleMs: MINUTE_MS,
  /** Interval of reading the TLS files, besides reads after a change that the system reports. */
  tlsPollMs: 10 * SECOND_MS,
  /** A certificate that expires within this time, or within a fifth of its lifetime, is logged as a warning, at this interval. */
  tlsExpiryWarningMs: 14 * DAY_MS,
  tlsExpiryNoticeMs: DAY_MS,
  /** Free space of the data directory that counts as low, and free inodes below which `berth admin check` fails. */
  diskFreeBytesLow: 2 * GIB,
  diskFreeFilesMin: 1000,
  /** `max-age` of published feeds. */
  feedMaxAgeMs: MINUTE_MS,
  /** Text of a list filter. Stored values are shorter, so a longer text matches nothing. */
  filterCharsMax: 4 * KIB,
  /** Characters of the database queries whose results are cached, and the same again for counts of lists. */
  cachedQueriesCharsMax: 8 * MIB,
  /** Bytes of the resources and lists that a process caches on SQLite, as objects and encoded, by an estimate that is too high for Latin text. */
  cachedMessagesBytesMax: 16 * MIB,
  /** Characters of the caller, scopes and filters of a list that is cached; longer ones would displace what is read more often. */
  cachedListKeyCharsMax: 4 * KIB,
  /** Bytes of the identities that a process caches for exchanges on SQLite, by an estimate. */
  cachedIdentitiesBytesMax: 4 * MIB,
  /** Bytes of the manifests that are cached for pulls. */
  cachedManifestBytesMax: 4 * MIB,
  /** Bytes of blobs in files that a process keeps in memory, in pieces of 512 KiB: those being read, and those that were read last. */
  blobPiecesBytesMax: 16 * MIB,
  /** Values of `uidp.ids` in one request. */
  filterIdsMax: 1000,
  /** Characters of a searched text. */
  searchCharsMin: 2,
  searchCharsMax: 1024,
  /** Results of each kind in a search, and the matches of a kind that are ranked. */
  searchResultsDefault: 10,
  searchResultsMax: 50,
  searchCandidatesMax: 200,
  /** Names of a kind that a search reads; where there are more, only prefixes of whole names are found. */
  searchScanRowsMax: 200_000,
  /** Tags of folders that SQLite reads instead of the names of all tags of the organization. */
  searchFolderTagsMax: 50_000,
  /** Parts of the tree in one search. */
  searchRangesMax: 1000,
  /** Repositories whose tags are searched for `repository:tag`. */
  searchReposMax: 20,
  /** UIDs in one LookupResources. */
  lookupUidsMax: 400,
  /** Results of a list of version 1, which has no pages. */
  v1ListMax: 50_000,
  /** Images of one list of vulnerability reports, vulnerabilities in it, reports of counts, and references to tags in their filter. */
  v1ReportImagesMax: 20,
  v1ReportedVulnerabilitiesMax: 50_000,
  v1CountReportsMax: 100,
  v1CountReferencesMax: 20,
  /** READMEs and overlays of the repos in one such list. */
  listedReadmesBytesMax: 32 * MIB,
  /** Overlays in one page of repos, which ends early: gRPC clients read 4 MiB by default. */
  listedOverlaysBytesMax: 3 * MIB,
  /** Series of the metric of version 1 calls, by identity and method; further identities count as one. */
  v1MetricSeriesMax: 5000,
  /** Latest digests of a tag that are stored. */
  tagHistoryMax: 1000,
  /** Tags that one request deletes. */
  tagDeletionsMax: 100,
  /** Helm charts that deploy a repo, and the length of each field that names one. */
  deploymentChartsMax: 100,
  chartFieldCharsMax: 1024,

  // Workers of one server (workers/supervisor.ts).
  /** Workers that BERTH_WORKERS may ask for. */
  workersMax: 64,
  /** A worker that ends is started again after this; twice as long each time that it ends within `workerStableMs`, up to the maximum. */
  workerRestartMs: SECOND_MS / 4,
  workerRestartMsMax: 10 * SECOND_MS,
  workerStableMs: 10 * SECOND_MS,
  /** Starts in a row of each worker that fail while no worker is ready; then the server ends. */
  workerStartsMax: 5,
  /** A worker whose event loop has not responded for this long is killed, except the first one before it is ready. */
  workerUnresponsiveMs: 30 * SECOND_MS,
  /** Accepted connections that wait for a worker; more are closed, of the client address that has the most. */
  workerConnectionsWaitingMax: 1000,
  /** Between two warnings about connections that are closed. */
  workerDropWarningMs: MINUTE_MS,
  /** How long `/metrics` waits for the numbers of the other workers. */
  workerMetricsMs: 2 * SECOND_MS,

  // Connections to PostgreSQL (storage/postgres-connection.ts).
  /** Connections of requests and background work that a node opens, unless BERTH_DATABASE_POOL_MAX says otherwise; and its bounds. */
  databasePoolDefault: 16,
  databasePoolMin: 2,
  databasePoolMax: 1000,
  /** One attempt to connect to one server, including TLS, authentication and the query for its role. */
  databaseConnectMs: 3 * SECOND_MS,
  /** How long a request waits for a connection: for a free one, or for attempts to one server after the other. */
  databaseAcquireMs: 5 * SECOND_MS,
  /**
   * One statement of a request, by the server's `statement_timeout`. Together with the waits before it and the grace after it, it is shorter
   * than `handlerTimeoutMs`, so that a caller learns that the database is slow.
   */
  databaseStatementMs: 15 * SECOND_MS,
  /** One statement of background work and of `berth admin`: migrations, garbage collection, imports. */
  databaseLongStatementMs: HOUR_MS,
  /** A statement of a request waits this long for a lock (`lock_timeout`; PostgreSQL may wait twice for one row), and one of background work. */
  databaseLockMsMax: 3 * SECOND_MS,
  databaseLongLockMsMax: 10 * SECOND_MS,
  /** The server rolls back a transaction without statements (`idle_in_transaction_session_timeout`). */
  databaseIdleInTransactionMs: 10 * SECOND_MS,
  /** The same for background work and `berth admin`. */
  databaseLongIdleInTransactionMs: MINUTE_MS,
  /** How much longer than the server's own bound this node waits before it gives up a statement. */
  databaseGraceMs: 2 * SECOND_MS,
  /** A statement without a response for this long, whose session is idle on the server, is on a dead connection. */
  databaseDeadAfterMs: 1500,
  /** Interval of checks for such statements. */
  databaseDeadCheckMs: 500,
  /** A connection that was idle for this long is validated before use, within databaseValidateMs. */
  databaseValidateAfterMs: SECOND_MS,
  databaseValidateMs: SECOND_MS,
  /** Idle time and age after which a connection is closed. */
  databaseIdleMs: 10 * SECOND_MS,
  databaseLifetimeMs: 30 * MINUTE_MS,
  /** TCP keepalive of connections to the database. */
  databaseKeepAliveMs: 5 * SECOND_MS,
  /** How long connections may take to close. */
  databaseCloseMs: 2 * SECOND_MS,
  /** How long a read waits until a read replica has replayed the changes before it, and the interval of checks of one that is not used. */
  databaseReplicaWaitMs: 250,
  databaseReplicaCheckMs: 2 * SECOND_MS,
  /** How long roles in organizations on a lost server of a distributed database are not read again. */
  databaseLostServerMs: SECOND_MS,

  // Fields.
  descriptionCharsMax: 512,
  /** The spec gives names no maximum; the database index does. */
  nameCharsMax: 1024,
  /** Depth of a group below its organization: a UID, of 17 characters for each level, fits into an index key with a name (ADR 38). */
  groupDepthMax: 100,
  /** A UID together with the name or URL of its resource: index keys have both, and PostgreSQL limits them to 2704 bytes. */
  uidAndNameCharsMax: 2600,
  /** Identities that one search for candidates finds. */
  candidatesMax: 20,
  /** Identity providers whose sign-ins one explanation of access decides. */
  explainedProvidersMax: 20,
  /** Repos or tags whose vulnerabilities one request counts. */
  findingSummariesMax: 50,
  /** Open invites for an email address that a user is shown. */
  receivedInvitesMax: 100,
  /** Organizations of a distributed database in which they are looked for, the last ones that invited the address. */
  invitedOrganizationsMax: 100,
  /** Groups whose paths one request finds. */
  groupPathsMax: 200,
  /** Segments of all paths of such a request, counted for each group where a path can begin. */
  groupPathSegmentsMax: 4000,
  patternCharsMax: 1024,
  issuerCharsMax: 255,
  jwksCharsMax: 64 * KIB,
  claimsMax: 50,
  /** Names of claims that identity providers put groups in. */
  claimNameCharsMax: 255,
  oidcClientIdCharsMax: 255,
  oidcClientSecretCharsMax: KIB,
  /** Scopes that an identity provider is asked for, and the length of each. */
  oidcScopesMax: 50,
  oidcScopeCharsMax: 255,
  /** Groups of an identity provider that one user is in. */
  sessionGroupsMax: 1000,
  /** A group as an identity provider names it: part of an index key. */
  externalGroupIdCharsMax: 512,
  /** A subject, an audience, the name or the value of a claim, an ARN or user id of AWS. */
  claimCharsMax: 1024,
  /** Page URLs in a user profile. */
  pageUrlCharsMax: 2048,
  /** Entries of one batch (the public contract of BatchCreateRoleBindings). */
  batchEntriesMax: 25,
  /** The same for RoleBindings.CreateBatch of version 1, whose public contract names no maximum. */
  v1BatchEntriesMax: 1000,
  /** Mappings that one call deletes. */
  batchDeleteNamesMax: 100,
  staticKeyLifetimeMsMax: 365 * DAY_MS,
  /** Lifetime of static keys that come through version 1 without an expiry (its public contract). */
  v1StaticKeyLifetimeMs: 30 * DAY_MS,
  /** An email address (RFC 5321, section 4.5.3.1, less the angle brackets of a path). */
  emailCharsMax: 254,
  /** How long an invite may stay open; the public contract names no maximum. */
  inviteLifetimeMsMax: 365 * DAY_MS,
  /** The code of an invite to the deepest group has about 2500. */
  inviteCodeCharsMax: 3 * KIB,
  /** Entries of one map or list in an account association, and characters of one text in it. */
  associationEntriesMax: 50,
  associationTextCharsMax: 255,
  /** Aliases and active tags of a repo, and the length of an alias: a page of a list has 200 repos. */
  repoAliasesMax: 100,
  repoAliasCharsMax: 512,
  repoActiveTagsMax: 500,
  /** Each further destination of a repo that copies another one. */
  syncDestinationCharsMax: 512,
  /** How long a repo follows its source (the public contract). */
  syncLifetimeMs: 14 * DAY_MS,
  /** A whole overlay, the certificates in it, and each list and map in it. */
  overlayBytesMax: 8 * MIB,
  overlayCertificatesBytesMax: MIB,
  overlayEntriesMax: 500,
  /** A README, in UTF-8: the most expensive one of this length takes half a second to check. */
  readmeBytesMax: 64 * KIB,
  /** Addresses and titles of the links in a README, once for each reference to them. */
  readmeLinkCharsMax: 256 * KIB,
  /** Cells of all tables in a README, as many in each row as in the widest. */
  readmeTableCellsMax: 10_000,
  /** READMEs are checked in worker threads: their number, their heap, the longest check, and their idle time. */
  readmeThreadsMax: 1,
  readmeThreadHeapMib: 256,
  readmeCheckMsMax: 10 * SECOND_MS,
  readmeThreadIdleMs: MINUTE_MS,
  /** READMEs that wait for their check, and `Retry-After` of rejected ones. */
  readmesQueuedMax: 50,
  readmeRetryMs: SECOND_MS,
  /** Sources, each copying the next, that are followed to find a README. */
  readmeSourcesMax: 8,

  // The registry (the OCI distribution specification).
  /** Name of a repo below the host: `<organization>/<folders>/<repo>`. */
  repoPathCharsMax: 255,
  manifestBytesMax: 4 * MIB,
  /** Nested objects and lists of a manifest; those of the image specification have four. */
  manifestDepthMax: 32,
  /** Values in all objects and lists of a manifest together: twenty for each entry of the largest index. */
  manifestElementsMax: 100_000,
  /** Layers of an image, or entries of an index. Runtimes mount some 125 layers (moby); artifacts and build caches have thousands. */
  manifestDescriptorsMax: 5000,
  /** Annotations of a manifest: their number, and bytes of their names and values in UTF-8 (as many as Kubernetes takes). */
  manifestAnnotationsMax: 1000,
  manifestAnnotationsBytesMax: 256 * KIB,
  /** A media type or artifact type (RFC 6838, section 4.2: type and subtype of 127 each). */
  mediaTypeCharsMax: 255,
  /** Tags that one push of a manifest sets. */
  manifestTagsMax: 100,
  /** Larger manifests and image configurations are read in worker threads (ADR 15): their number and heap. */
  manifestInlineBytesMax: 64 * KIB,
  manifestThreadsMax: 2,
  manifestThreadHeapMib: 256,
  /** Time to read one, and idle time of a thread. */
  manifestParseMsMax: 10 * SECOND_MS,
  manifestThreadIdleMs: MINUTE_MS,
  /** Large manifests that are pushed or read at a time, counted before the body is read; and those of one identity or organization. */
  largeManifestsMax: 64,
  largeManifestsPerCallerMax: 16,
  /** `Retry-After` of a push beyond these two limits. */
  largeManifestRetryMs: SECOND_MS,
  /** Tags, repos and referrers in one response, and bytes of a referrers response. */
  registryListMax: 10_000,
  referrersBytesMax: 4 * MIB,
  /** Lifetime of a registry token, and the number of its scopes. */
  registryTokenLifetimeMs: HOUR_MS,
  registryTokenScopesMax: 50,
  /** Body of a POST to the token endpoint. */
  registryTokenBodyBytesMax: 64 * KIB,
  /** Tag patterns in one list of a policy, characters of one, and its stars. */
  tagPatternsMax: 50,
  tagPatternCharsMax: 128,
  tagPatternStarsMax: 8,
  retentionRulesMax: 20,
  /** Tag patterns in all retention rules together. */
  retentionPatternsMax: 100,
  /** Newest tags that one retention rule keeps. */
  retentionNewestMax: 1000,
  /** Bounds of the age in a retention rule; untagged manifests stay at least as long as the first. */
  retentionAgeMsMin: HOUR_MS,
  retentionAgeMsMax: 3650 * DAY_MS,
  /** Interval of retention in a repo, delay after a failed run, and interval of checks for due repos. */
  retentionIntervalMs: 6 * HOUR_MS,
  retentionRetryMs: 5 * MINUTE_MS,
  retentionPollMs: 10 * SECOND_MS,
  /** Lease of a node that runs retention; after it another node may run it. */
  retentionLeaseMs: 5 * MINUTE_MS,
  /** Tags or manifests that retention deletes in one transaction. */
  retentionBatchRows: 50,
  /** Untagged manifests that one retention run deletes or a preview lists; the next run continues. */
  retentionManifestsMax: 100_000,
  /** Age of the untagged manifests that are deleted on request without an age, and how many one request deletes. */
  untaggedAgeMsDefault: DAY_MS,
  untaggedDeletionsMax: 200,
  /** Warnings in one response, and characters of one. */
  warningsMax: 8,
  warningCharsMax: 500,
  /** An upload that is not continued for this long expires. */
  uploadIdleMsMax: DAY_MS,
  /** Lease of a request that writes an upload, renewed while bytes arrive; after it another request may continue the upload. */
  uploadLeaseMs: 5 * SECOND_MS,
  /** The same while a request that has all bytes verifies and stores the blob: longer than clocks of nodes may differ. */
  uploadCommitLeaseMs: 35 * SECOND_MS,
  /** How long a request waits for another one that writes the upload: at least the lease, in case its node died. */
  uploadLockWaitMsMax: 5 * SECOND_MS,
  /** Uploads whose hash state is cached between requests; others are read again when they finish. */
  uploadHashesMax: 10_000,
  /** Age after which garbage collection deletes an unreferenced blob: the default and the minimum. Pushes rely on it. */
  gcGraceMsDefault: DAY_MS,
  gcGraceMsMin: HOUR_MS,
  /** A blob that a pusher was shown is not collected for the grace time; its time is updated at this interval. */
  linkRefreshMs: 10 * MINUTE_MS,
  /** Stored bytes without a row may belong to a running commit: they stay for the first time, and a commit ends within the second. */
  untrackedBlobAgeMsMin: HOUR_MS,
  blobCommitMsMax: 30 * MINUTE_MS,
  /** Garbage collection asks for confirmation if more blobs than this, and more than all others, have no row. */
  untrackedBlobsUnconfirmedMax: 100,
  /** Garbage collection asks for confirmation if more blobs than this, and more than a tenth of all, are missing in the store. */
  missingBlobsUnconfirmedMax: 10,
  /** How long an expired upload stays for requests that started before. */
  expiredUploadRetentionMs: HOUR_MS,
  /** Interval of checks for a due garbage collection. */
  gcPollMs: MINUTE_MS,
  /** Delay after a failed garbage collection, or its interval if that is shorter. */
  gcRetryMs: HOUR_MS,
  registryRunLeaseMs: MINUTE_MS,
  /** After which another node matches packages and verifies signatures, if the one that did so died. */
  queueLeaseMs: 15 * SECOND_MS,
  /** Identities whose times of last use wait to be written. */
  lastSeenPendingMax: 10_000,
  /** Between two writes of counted pulls and pushes, and the most repos and days whose counts wait to be written. */
  transferFlushMs: 5 * SECOND_MS,
  pendingTransfersMax: 10_000,
  /** Between two records of what organizations store, and the days that are kept. */
  usageRecordIntervalMs: HOUR_MS,
  usageHistoryDays: 400,
  /** Repos with the most pulls that one response lists. */
  topReposDefault: 10,
  topReposMax: 100,
  /** Repos that a scrub names for each blob, and findings that it lists of each kind. */
  scrubReposMax: 100,
  scrubFindingsMax: 10_000,
  /** Blobs that a backup or restore copies at a time. */
  backupBlobConcurrency: 4,
  /** How long the signed URL of a blob in the bucket is valid. */
  blobUrlLifetimeMs: 5 * MINUTE_MS,
  /** Size of the parts in which blobs go to S3, and parts of one object. */
  s3PartBytes: 8 * MIB,
  s3PartsMax: 10_000,
  /** Parts of one upload that are sent at a time. */
  s3PartConcurrency: 2,
  /** Larger blobs are copied within S3 in parts of this size, this many at a time. */
  s3CopyPartBytes: 256 * MIB,
  s3CopyConcurrency: 4,
  s3ConnectionsMax: 1000,
  /** Time to connect to S3, to the first byte of its response, and to that of a copy. */
  s3ConnectTimeoutMs: 5 * SECOND_MS,
  s3TimeoutMs: 20 * SECOND_MS,
  s3CopyTimeoutMs: 5 * MINUTE_MS,
  /** `Retry-After` of requests that a full or failing disk rejects. */
  storageRetryMs: 30 * SECOND_MS,
  /** Free space that blobs leave on their disk, and share of a small disk, unless BERTH_DISK_RESERVE sets it. */
  diskReserveBytes: 256 * MIB,
  diskReservePercent: 5,
  /** A disk with less free space counts as full, whatever the reserve. */
  diskFullBytes: MIB,
  /** The file that is deleted for garbage collection on a full disk; at most `diskReservePercent` of the disk. */
  diskBallastBytes: 8 * MIB,
  /** The free space of a disk is read again after this time, and after this many bytes of one upload. */
  diskSampleMaxAgeMs: SECOND_MS,
  diskSampleBytes: 8 * MIB,
  /** Interval of checks for a full disk. */
  diskPollMs: 10 * SECOND_MS,
  /** Disk failures are logged once, until there was none for this time. */
  storageFaultQuietMs: MINUTE_MS,
  /** Attempts of a request to S3 after transient failures, and resumes of a read that breaks off. */
  s3AttemptsMax: 4,
  /** Configuration of an image, which is read for its architecture. */
  imageConfigBytesMax: 4 * MIB,
  /** Values in all objects and lists of a configuration; one with more is ignored. */
  imageConfigElementsMax: 20_000,
  /** Texts of a configuration that the API returns. */
  imageConfigTextBytesMax: 256 * KIB,
  /** A larger configuration is not read for the platform of an image in a list; platforms that are cached. */
  listedConfigBytesMax: 256 * KIB,
  platformsCachedMax: 10_000,
  /** Manifests that one request examines for filters that no column has, and configurations that it reads at the same time. */
  manifestsExaminedMax: 1000,
  configReadsMax: 8,
  /** Tags of a manifest in a list, and in the response that describes it; indexes that contain it. */
  listedManifestTagsMax: 20,
  manifestTagsShownMax: 200,
  manifestIndexesShownMax: 100,
  /** Entries of an index whose images are read for their sizes. */
  indexEntriesMeasuredMax: 200,
  /** A manifest that the API returns as it was pushed; annotations of a manifest in a list. */
  manifestTextBytesMax: 256 * KIB,
  listedAnnotationsBytesMax: 8 * KIB,
  /** Manifests that are deleted with another one. */
  manifestDependentsMax: 200,
  /** Tags that are deleted with a manifest. */
  manifestTagDeletionsMax: 1000,
  /** Manifests that one copy of an image copies: its platforms and referrers included. */
  copiedManifestsMax: 200,
  /** Manifests and configurations that one request for an image's size or architectures reads: their number and bytes. */
  imageManifestsMax: 10_000,
  imageBytesMax: 64 * MIB,
  /** Manifests that the sizes of one page of tags read, and those that they count; an index beyond has no size. */
  tagManifestsMeasuredMax: 20_000,

  /** Name of an architecture in a request for the size of an image. */
  architectureCharsMax: 64,
  /** Platform in a filter of manifests: operating system, architecture and variant. */
  platformCharsMax: 200,
  /** An `If-Match` or `If-None-Match` header. */
  etagHeaderCharsMax: 4 * KIB,
  /** An `Idempotency-Key`, and how long its first response is repeated. */
  idempotencyKeyCharsMax: 255,
  idempotencyKeyMaxAgeMs: DAY_MS,

  // Advisories.
  /** Documents of one request. */
  advisoryDocumentsMax: 1000,
  /** Time and memory to read one document. */
  documentParseMsMax: 30 * SECOND_MS,
  documentParseMemoryMib: 1024,
  /** Documents with the same advisories as an imported one that are parsed again, and their advisories that stay in memory. */
  documentsReparsedMax: 100,
  recordsCachedMax: 50_000,
  /** Bytes and time of one download. */
  downloadBytesMax: 8 * GIB,
  downloadMsMax: 2 * HOUR_MS,
  /** A download that receives fewer bytes in this window ends. */
  downloadWindowMs: 30 * SECOND_MS,
  downloadWindowBytesMin: 64 * KIB,
  /** How often a broken download is resumed, if each attempt brought bytes. */
  downloadResumesMax: 10,
  /** Address of a feed: part of an index key. */
  feedUrlCharsMax: 1024,
  /** Poll interval of a feed. */
  feedIntervalMsMin: 5 * MINUTE_MS,
  feedIntervalMsMax: 30 * DAY_MS,
  feedIntervalMsDefault: HOUR_MS,
  /** Delay after a failed run of a feed: the first, and the maximum; it doubles each time. */
  feedBackoffMsMin: MINUTE_MS,
  feedBackoffMsMax: 6 * HOUR_MS,
  /** Longest `Retry-After` of a feed's server that is honored. */
  feedRetryAfterMsMax: DAY_MS,

  // Contents of images.
  /** Images that a node reads at the same time, and of one organization; and images that were there before, one at a time. */
  contentsConcurrencyMax: 2,
  contentsConcurrencyPerOrganizationMax: 1,
  contentsPollMs: 500,
  contentsBacklogPollMs: 5 * SECOND_MS,
  contentsLeaseMs: 30 * SECOND_MS,
  /** Manifests without a row that one round of the search for them adds, and the time between two rounds. */
  contentsSweepRowsMax: 1000,
  contentsSweepIntervalMs: 10 * MINUTE_MS,
  /** Time and memory to read one image. */
  contentsReadMsMax: 10 * MINUTE_MS,
  contentsMemoryMib: 1024,
  /** Attempts to read an image, and the wait after the first one that failed, which doubles with each further one. */
  contentsAttemptsMax: 5,
  contentsRetryMs: 5 * SECOND_MS,
  /** Manifests that are attached to an image, indexes that have it, and documents of both that are read. */
  contentsArtifactsMax: 100,
  contentsIndexesMax: 10,
  contentsDocumentsMax: 50,
  contentsDocumentBytesMax: 128 * MIB,
  /** Packages and problems of an image that are stored. */
  contentsPackagesMax: 50_000,
  contentsProblemsMax: 200,
  /** Statements of attached VEX documents about one image that are stored. */
  contentsStatementsMax: 5000,
  /**
   * Attached reports of scanners: bytes of one that is read, reports of an image that are stored (the latest), and findings and bytes of
   * each. The most severe findings are stored; counts are of all.
   */
  contentsReportBytesMax: 32 * MIB,
  contentsReportsMax: 20,
  contentsReportFindingsMax: 10_000,
  contentsReportStoredBytesMax: 4 * MIB,
  /** Characters of a name, version, purl or licence. */
  contentsFieldCharsMax: 1000,
  /** Bytes of SBOMs in one image that are stored as they are. */
  contentsFilesBytesMax: 16 * MIB,
  /** Images whose packages version 1 lists in one response. */
  contentsMetadataImagesMax: 50,
  /** Bytes of an SBOM that the API returns. */
  contentsSbomBytesMax: 32 * MIB,

  /**
   * Feeds that one node reads at a time, and those of one organization; interval of checks for due feeds; and the lease after which
   * another node may take over.
   */
  feedConcurrencyMax: 3,
  feedConcurrencyPerOrganizationMax: 2,
  feedPollMs: 5 * SECOND_MS,
  /** Between two looks for packages and advisories to match. */
  findingsPollMs: 500,
  /**
   * Days of the history of findings; days for which each change of a tag is a point, before the last of each day is left; points of a
   * history; and the time from a change of a tag or repo, and of a group, to its count, in which further changes are counted with it. Of
   * repos and groups, only the last change of each `findingSummaryHistorySpacingMs` is a point.
   */
  findingHistoryDays: 400,
  findingHistoryDetailDays: 7,
  findingHistoryPointsMax: 1000,
  findingHistoryDelayMs: 10 * SECOND_MS,
  findingHistoryGroupDelayMs: 10 * MINUTE_MS,
  findingSummaryHistorySpacingMs: HOUR_MS,
  /** Findings of an image that is compared with another one. */
  findingsComparedMax: 20_000,
  /** Words in a search for what documents say about vulnerabilities. */
  recordQueryWordsMax: 10,
  /**
   * The index of the words of those records: records of a group that are not in it before they are added; records that a search reads
   * because they are not in it; records of a segment; characters of a part of a word that is searched in it; and the time between two looks
   * for records to add.
   */
  recordIndexMin: 500,
  recordsUnindexedMax: 10_000,
  recordSegmentRecordsMax: 4096,
  recordIndexCharsMin: 3,
  recordIndexPollMs: 5 * SECOND_MS,
  /** Kinds of weaknesses in one filter of findings. */
  findingCwesMax: 50,
  /**
   * Requests to OSV's API: bytes and queries of one, advisories that are compared for it, IDs in a response, and bytes of records after
   * which a page ends.
   */
  osvRequestBytesMax: MIB,
  osvQueriesMax: 1000,
  osvCandidatesMax: 200_000,
  osvResultsMax: 20_000,
  osvPageRecordsMax: 1000,
  osvPageBytesMax: 8 * MIB,
  feedLeaseMs: MINUTE_MS,
  /** Rejected documents whose reasons a feed shows. */
  feedRejectionsMax: 20,
  /** Feeds whose last success is a metric. */
  feedsMeasuredMax: 1000,
  /** A gauge of /metrics that is read from the database: time to read it, and how long its last value is shown if that fails. */
  metricReadMsMax: 2 * SECOND_MS,
  metricCacheMsMax: 10 * MINUTE_MS,

  // Rate limits.
  /** Longest window in which calls are counted. */
  rateLimitWindowMsMax: DAY_MS,
  /** Addresses or identities of one rate limit that are counted in memory. */
  rateLimitKeysMax: 100_000,
  /** Interval after which a user may request access to an organization again. */
  accessRequestIntervalMs: DAY_MS,

  // Shares of the database connections of a node (ADR 18), in percent of its pool.
  /** Connections of one organization, of one user without an organization, or of unauthenticated callers. */
  databaseOrganizationPercentMax: 50,
  /** Connections in transactions, which may wait for locks; the rest stays free for reads. */
  databaseTransactionsPercentMax: 75,
  databaseOrganizationTransactionsPercentMax: 25,
  /** Connections of background jobs: garbage collection, retention, feeds, expiry. */
  databaseJobsPercentMax: 40,
  databaseJobTransactionsPercentMax: 25,
  /** Connections and transactions of all organizations on one server of a distributed database. */
  databaseServerPercentMax: 50,
  databaseServerTransactionsPercentMax: 37,
  /** How long a node uses what it has read about the servers of organizations. */
  databasePlacementMaxAgeMs: MINUTE_MS,
  /** Database operations that wait for a connection, and those of one share. */
  databaseWaitingMax: 4000,
  databaseWaitingPerOrganizationMax: 1000,
  /** How long a request waits for its share of the connections. */
  databaseWaitMsMax: 5 * SECOND_MS,
  /** A connection whose statement cannot be cancelled within this time is closed. */
  databaseCancelMsMax: 2 * SECOND_MS,

  /** Grants older than this are read again before a change. */
  grantsMaxAgeMs: SECOND_MS,

  // Tokens.
  /** Groups in the response that describes what a token allows. */
  whoAmIGroupsMax: 1000,
  /** Maximum age of a foreign token, whatever its own expiry (R14). */
  subjectTokenAgeMsMax: DAY_MS,
  accessTokenLifetimeMs: HOUR_MS,
  /** ID tokens. */
  idTokenLifetimeMs: 10 * MINUTE_MS,
  /** How long after a sign-in a client can refresh its access token; refreshing does not extend it. */
  clientSessionMs: 30 * DAY_MS,
  /** Tokens for cloud providers. */
  accountTokenLifetimeMs: 5 * MINUTE_MS,
  /** Tolerated difference between an issuer's clock and ours (R8). */
  clockSkewMs: 60 * SECOND_MS,
  bearerTokenCharsMax: 16 * KIB,
  /** Verified tokens in the cache, and their characters in total. */
  verifiedTokensCachedMax: 10_000,
  verifiedTokensCharsMax: 16 * MIB,

  // Signing in for a client (RFC 6749, RFC 8628).
  /** A redirect URI, and any other parameter of an OAuth request. */
  redirectCharsMax: 2 * KIB,
  oauthParameterCharsMax: 4 * KIB,
  /** A code must be redeemed within this time (RFC 6749, section 4.1.2, recommends at most ten minutes). */
  authorizationCodeMs: MINUTE_MS,
  /** Lifetime of a device code, and the minimum poll interval (RFC 8628). */
  deviceCodeMs: 15 * MINUTE_MS,
  deviceIntervalMs: 5 * SECOND_MS,
  /** How long the result of a headless sign-in waits for its client. */
  headlessResultMs: 5 * MINUTE_MS,

  // Sign-in pages.
  /** Fields of one form, and the length of each: an OAuth request carries tokens. */
  formFieldsMax: 50,
  formFieldCharsMax: 16 * KIB,
  /** Passwords of local accounts, in Unicode characters (NIST SP 800-63B: at least 8, and 64 must be possible). */
  passwordCharsMin: 12,
  passwordCharsMax: 1024,
  /** Characters of a new password that its strength is estimated from. */
  passwordCharsScored: 32,
  /** How long a password waits for its hash to be computed. */
  passwordHashWaitMs: 10 * SECOND_MS,
  /** Name of an account or a passkey. */
  accountNameCharsMax: 100,
  /** Groups of a user that the start page and the API reference offer. */
  userGroupsMax: 20,
  passkeysMax: 20,
  /** Lifetime of the link that creates the owner account, and of a password link. */
  setupLinkMs: DAY_MS,
  /** Nodes that start within this time of each other print the same setup link. */
  setupLinkSharedMs: 10 * MINUTE_MS,
  /** Maximum age of the sign-in when a user adds or removes a sign-in method. */
  recentSignInMs: 15 * MINUTE_MS,
  /** Between two signs of life of a node; without one for longer than the second time it counts as offline, and the third deletes it. */
  nodeHeartbeatMs: 15 * SECOND_MS,
  nodeOnlineMs: 45 * SECOND_MS,
  nodeForgottenMs: 10 * MINUTE_MS,
  /** Between two writes of the progress of a garbage collection or scrub. A run that writes none for the second time has ended. */
  storageRunProgressMs: 2 * SECOND_MS,
  storageRunLostMs: MINUTE_MS,
  /** Runs of each kind that are kept. */
  storageRunsMax: 50,
  /** Days for which runs of feeds and of retention are kept, and how many of each feed and repo. */
  jobRunDays: 90,
  jobRunsPerResourceMax: 200,
  /** Characters of an error that the operator API shows. */
  operatorErrorCharsMax: 1000,
  /** Jobs of a kind that the operator API shows as running. */
  runningJobsShownMax: 20,
  /** Owners of an organization that the operator API shows. */
  ownersShownMax: 5,
  /** Time to use a passkey after its page is shown, and after the password that precedes it. */
  passkeyStepMs: 5 * MINUTE_MS,
  /** Failed guesses in a window: from one address, from one address at one account, and from all addresses at one account. */
  guessesPerAddressMax: 50,
  guessesPerAccountAndAddressMax: 10,
  guessesPerAccountMax: 100,
  guessWindowMs: 15 * MINUTE_MS,
  guessAccountWindowMs: MINUTE_MS,
  /** Attempts of one kind that one address may start in a window without a sign-in; many users may share an address. */
  signInAttemptsPerAddressMax: 500,
  signInAttemptWindowMs: 15 * MINUTE_MS,

  // Email.
  /** One attempt to send an email, from the connection on; and the waits for its steps. */
  mailSendMs: MINUTE_MS,
  mailConnectMs: 10 * SECOND_MS,
  mailIdleMs: 20 * SECOND_MS,
  /** Lease of a running attempt, and between two looks for email that is due. */
  mailLeaseMs: 2 * MINUTE_MS,
  mailPollMs: 2 * SECOND_MS,
  /** Attempts that run at the same time on a node, and about one organization. */
  mailConcurrencyMax: 4,
  mailConcurrencyPerOrganizationMax: 2,
  /** Wait after the first failed attempt, which doubles with each further one, and its maximum. */
  mailRetryMs: 30 * SECOND_MS,
  mailRetryMsMax: HOUR_MS,
  /** How long attempts to send an invite continue; shorter if the invite expires before. */
  inviteMailMs: DAY_MS,
  /** How long the state of an email is stored after its last possible attempt. */
  mailRecordMs: 30 * DAY_MS,
  /** Emails that wait in the installation; further ones are not sent. */
  mailQueueMax: 10_000,
  /** Invites that Berth sends: for one caller, for one organization, and to one address from all organizations. */
  inviteMailsPerCallerMax: 50,
  inviteMailsPerOrganizationMax: 500,
  inviteMailsPerRecipientMax: 10,
  inviteMailWindowMs: DAY_MS,
  /** Reason why an email was not sent, as the mail server states it. */
  mailProblemCharsMax: 300,
  /** Lifetime of the link that resets a forgotten password. */
  passwordResetMs: 30 * MINUTE_MS,
  /** Password resets that one address of a client requests, and that are sent to one email address. */
  passwordResetsPerAddressMax: 20,
  passwordResetsPerEmailMax: 3,
  passwordResetWindowMs: HOUR_MS,

  // The audit log: denials and exchanges wait in memory for a second.
  /** Events that wait to be written, of one server of a distributed database half; more are dropped while it does not accept them. */
  auditExchangesMax: 10_000,
  /**
   * Different denials in one second: in total (on one server of a distributed database half), about one organization, and of one caller; equal
   * ones are counted as one.
   */
  auditDenialsMax: 1000,
  auditDenialsPerOrganizationMax: 100,
  auditDenialsPerActorMax: 25,

  // Outbound requests to issuers (R1-R3, R15).
  outboundBodyBytesMax: 100 * KIB,
  outboundTimeoutMs: 5 * SECOND_MS,
  outboundRedirectsMax: 3,
  outboundConcurrencyMax: 64,
  // Servers of one organization that hang leave the rest to others.
  outboundConcurrencyPerOrganizationMax: 16,
  issuerKeysMaxAgeMs: HOUR_MS,
  /** An unknown `kid` makes the server fetch the keys again, at most once in this time per issuer. */
  issuerKeysRefetchIntervalMs: 30 * SECOND_MS,
  issuersCachedMax: 1000,

  // The port.
  /** All headers of one HTTP/1 or HTTP/2 request together. */
  headerBytesMax: 32 * KIB,
  /** A body of the REST API and one gRPC message. */
  apiBodyBytesMax: MIB,
  /**
   * Request bodies in memory until their requests end: of one connection, and of all. One client address never holds more than what
   * it leaves free.
   */
  bufferedBytesPerConnectionMax: 40 * MIB,
  bufferedBytesMax: 128 * MIB,
  /** A body or message of a method without authentication: a foreign token is the longest. */
  unauthenticatedBodyBytesMax: 64 * KIB,
  /** The same for repos with an overlay: its JSON is longer than the overlay. */
  repoRequestBytesMax: 12 * MIB,
  /** A message after decompression. */
  grpcMessageBytesMax: MIB,
  /** Longer JSON is parsed in steps, between which other requests run. */
  unslicedJsonBytesMax: MIB,
  /** Interval of warnings about an untrusted proxy. */
  untrustedProxyNoticeMs: HOUR_MS,
  jsonDepthMax: 32,
  // The header or payload of a JWT.
  jwtDepthMax: 16,
  jwtElementsMax: 4096,
  /** Values in a JSON body, in all its objects and lists together. */
  jsonElementsMax: 10_000,
  /** Paths in one update mask, where it comes as one text. */
  fieldMaskPathsMax: 500,
  /** Parameters of a query and a form body together. */
  queryParametersMax: 2000,
  /** Nested messages of a gRPC message; its fields in all messages together, values of packed fields included. */
  protobufDepthMax: 32,
  protobufElementsMax: 10_000,
  /** Deadline of the headers (slow senders). */
  headersTimeoutMs: 10 * SECOND_MS,
  /** Deadline of a complete request, including its body. */
  requestTimeoutMs: 30 * SECOND_MS,
  /** Deadline of the first bytes of a connection, which distinguish HTTP/1 from HTTP/2, and of a TLS handshake. */
  protocolTimeoutMs: 5 * SECOND_MS,
  /** Idle time after which a kept-alive connection is closed. */
  idleConnectionMs: 75 * SECOND_MS,
  /** Deadline of a handler; after it the call fails with DEADLINE_EXCEEDED. */
  handlerTimeoutMs: 30 * SECOND_MS,
  concurrentStreamsMax: 250,
  /** Bytes of one HTTP/2 stream that a client may send ahead of their reader. */
  streamWindowBytes: 64 * KIB - 1,
  /** Header fields of one request; HTTP/1.1 and HTTP/2. */
  headerFieldsMax: 128,
  /** What one HTTP/2 connection has sent in the bodies of its streams and the server has not read: new streams are refused beyond it. */
  http2UnreadBytesMax: 8 * MIB,
  /** CONTINUATION frames of one header block. */
  http2ContinuationsMax: 16,
  /** Entries of one SETTINGS frame. */
  http2SettingsMax: 32,
  /** Malformed requests of one connection in `http2ControlWindowMs`, and streams that it opens beyond its limits: more end the connection. */
  http2MalformedRequestsMax: 100,
  http2RejectedStreamsMax: 100,
  /** Streams that a client resets on one connection: in a burst, and per second. More end the connection (CVE-2023-44487). */
  http2ResetsBurst: 300,
  http2ResetsPerSecond: 30,
  /** Frames of one connection that do nothing for a request (PING, SETTINGS, PRIORITY, empty DATA, unknown ones) in a window; more end it. */
  http2ControlFramesMax: 5000,
  http2ControlWindowMs: 10 * SECOND_MS,
  /** Open connections, and those of one address. Trusted proxies count for the first only. */
  connectionsMax: 10_000,
  connectionsPerAddressMax: 2000,
  /** Connections whose protocol is not known yet, or whose TLS handshake is not done: the oldest is closed for a new one. */
  undecidedConnectionsMax: 1000,
  /** Connections of one address that were ended for HTTP/2 violations or floods in a window; beyond it new ones are refused. */
  abusiveConnectionsPerAddressMax: 20,
  abuseWindowMs: 10 * SECOND_MS,
  /** Requests that one HTTP/1.1 connection may pipeline. */
  pipelinedRequestsMax: 100,
  /** Whole replies over HTTP/1.1 are sent together at the end of an iteration of the event loop, or earlier: with so many, or after so long. */
  replyBatchMax: 16,
  replyBatchMs: 1,
  /** A client that reads nothing of its response for this long is disconnected. */
  stalledReplyMs: MINUTE_MS,
  /** Unread bytes of complete responses: beyond it the responses that wait the longest are cut off. */
  unreadReplyBytesMax: 64 * MIB,
  /** A streamed request body ends if its client sends fewer bytes than this in a window while they are awaited. */
  streamedBodyWindowMs: 30 * SECOND_MS,
  streamedBodyWindowBytesMin: 16 * KIB,
  /**
   * Open calls that may stay open forever and need no token: `Health/Watch` and reflection. Of the server, of one client address, and
   * of one connection.
   */
  streamingCallsMax: 1000,
  streamingCallsPerAddressMax: 100,
  streamingCallsPerConnectionMax: 20,
  /** A request message of `Health/Watch` and reflection; and of `Health/Check`, which no budget counts. */
  streamingMessageBytesMax: 16 * KIB,
  healthMessageBytesMax: KIB,
  /** Requests on one reflection stream. */
  reflectionRequestsMax: 1000,
  /**
   * How long a connection discards what the client still sends after its request was rejected: closing it immediately would reset it,
   * and a reset can overtake the response that gives the reason.
   */
  lingerMs: SECOND_MS,
  /** TCP keepalive of client connections. */
  tcpKeepAliveDelayMs: MINUTE_MS,
  /** Deadline of one check of /readyz and gRPC health. */
  readinessCheckMs: 3 * SECOND_MS,
  /** Interval of readiness checks while `Health/Watch` calls are open. */
  healthWatchMs: 5 * SECOND_MS,
  /** Time to export waiting spans when the server stops. */
  traceFlushMs: 2 * SECOND_MS,
  /** Span attribute values are truncated to this length. */
  spanAttributeCharsMax: 256,
  /** Lines of the access log that wait to be written; more are dropped. */
  accessLogBufferBytesMax: 4 * MIB,
  /** Time to write waiting lines of the access log when the server stops. */
  accessLogFlushMs: SECOND_MS,
  /** Characters of a `user-agent` in the access log. */
  loggedUserAgentCharsMax: 120,
  /** A longer `x-request-id` of a client is replaced. */
  requestIdCharsMax: 128,
  /** Time for running requests to finish when the server stops. */
  stopGraceMs: 10 * SECOND_MS,
  /** How long the port serves after SIGTERM while `/readyz` is false (default). */
  drainDelayMs: 5 * SECOND_MS,
  /** How long a connection without a request may still send one after the port stops accepting connections. */
  undecidedGraceMs: SECOND_MS / 2,
  /** A shutdown ends at the latest this long after the grace time of running requests. */
  stopClosingMs: 10 * SECOND_MS,
  /** Expressions of policies: their text, levels of brackets and operations, operations and values, and nested loops. */
  policyExpressionCharsMax: 2 * KIB,
  policyExpressionDepthMax: 32,
  policyExpressionNodesMax: 500,
  policyExpressionLoopsMax: 2,
  /** Elements of lists and maps that one evaluation visits: some tens of milliseconds. */
  policyEvaluationStepsMax: 20_000,
  /** Compiled expressions, and organizations with bindings, that a node caches. */
  policyExpressionsCachedMax: 1000,
  policyOrganizationsCachedMax: 1000,
  /** Problems that ValidatePolicy returns. */
  policyDiagnosticsMax: 50,
  /** Parameters of a policy, entries of a list in one, and characters of a text in one. */
  policyParametersMax: 32,
  policyParameterValuesMax: 100,
  policyParameterCharsMax: 512,
  /** Custom policies, bindings and overrides of an organization. */
  policiesMax: 1000,
  policyBindingsMax: 200,
  policyOverridesMax: 10_000,
  /** Tags of an image that a policy can evaluate. */
  policyTagsMax: 1000,
  /** Packages and findings of an image that a policy can evaluate. */
  policyPackagesMax: 10_000,
  policyFindingsMax: 10_000,
  /** Configurations whose facts a node caches. */
  policyConfigurationsCachedMax: 10_000,
  /** How long an allowed pull is not evaluated again, and for how many pulls a node knows that. */
  policyVerdictMs: 5 * SECOND_MS,
  policyVerdictsCachedMax: 50_000,
  /** How long decisions wait in memory and how many, and how many written ones a node knows. */
  policyDecisionFlushMs: 5 * SECOND_MS,
  policyDecisionsPendingMax: 10_000,
  policyDecisionsKnownMax: 50_000,
  /** Days for which decisions are stored, and characters of the reason. */
  policyDecisionDays: 90,
  policyReasonCharsMax: 512,
  /** Unfinished requests that the log names after a shutdown timed out. */
  unfinishedNamesMax: 20,
} as const satisfies Record<string, number>
