import { formatLimits } from '@berth/advisory-formats/limits.ts'

/** All limits, with their units and sources. Each is named in a test or a document. Those of advisory documents are in their package. */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

export const limits = {
  ...formatLimits,

  // Lists (the spec, "Limits").
  pageSizeDefault: 50,
  pageSizeMax: 200,
  pageTokenMaxAgeMs: 3 * DAY_MS,
  /** Longest page token that is looked at. */
  pageTokenCharsMax: 4 * KIB,
  /** Sort keys in one `order_by`. */
  orderByKeysMax: 5,
  /** Values of one filter of advisories, and the length of each. */
  advisoryFilterValuesMax: 200,
  advisoryFilterCharsMax: 4 * KIB,
  /** Architectures that a publication of advisories names. */
  publicationArchitecturesMax: 50,
  /** Files that published feeds are kept in: their number, bytes, and how long one stays that nobody asks for. */
  feedFilesMax: 1000,
  feedBytesMax: 4 * 1024 * MIB,
  feedIdleMsMax: 7 * DAY_MS,
  /** A published feed is made within this time and memory; so many may wait for their turn. */
  feedBuildMsMax: 15 * MINUTE_MS,
  feedBuildMemoryMib: 512,
  feedBuildsQueuedMax: 100,
  /** How long a start waits for the lock on a SQLite database that another process has. */
  serverLockWaitMs: 5 * SECOND_MS,
  /** Until a process without work ends that reads advisory documents or makes feeds, and a thread that runs long reads of SQLite. */
  workerProcessIdleMs: MINUTE_MS,
  readerThreadIdleMs: MINUTE_MS,
  /** Between two reads of the TLS files, besides those after a change that the system reports. */
  tlsPollMs: 10 * SECOND_MS,
  /** A certificate that expires within this time, or within a fifth of its lifetime, is warned of, so often. */
  tlsExpiryWarningMs: 14 * DAY_MS,
  tlsExpiryNoticeMs: DAY_MS,
  /** Free space and inodes of the data directory: less than the first is low, fewer inodes fail `berth admin check`. */
  diskFreeBytesLow: 2 * GIB,
  diskFreeFilesMin: 1000,
  /** How long caches may give out a published feed without asking for it again. */
  feedMaxAgeMs: MINUTE_MS,
  /** A text that a list filters by: a longer one is longer than anything that is stored, and matches nothing. */
  filterCharsMax: 4 * KIB,
  /** Characters of the database queries whose results are cached. */
  cachedQueriesCharsMax: 8 * MIB,
  /** Values of `uidp.ids` in one request. */
  filterIdsMax: 1000,
  /** Results of a list of version 1, which knows no pages. */
  v1ListMax: 50_000,
  /** Pages of repos in one such list. */
  listedReadmesBytesMax: 32 * MIB,
  /** Identities and methods that the metric of calls of version 1 tells apart; the rest count as one identity. */
  v1MetricSeriesMax: 5000,
  /** Digests of a tag that are kept: the latest. */
  tagHistoryMax: 1000,
  /** Helm charts that deploy a repo, and each part of what names one. */
  deploymentChartsMax: 100,
  chartFieldCharsMax: 1024,

  // Connections to PostgreSQL (storage/postgres-connection.ts).
  /** Connections of requests and background work that a node opens, unless BERTH_DATABASE_POOL_MAX says otherwise; and its bounds. */
  databasePoolDefault: 16,
  databasePoolMin: 2,
  databasePoolMax: 1000,
  /** One attempt to connect to one server, with TLS, authentication and the look at what kind of server it is. */
  databaseConnectMs: 3 * SECOND_MS,
  /** A request waits this long for a connection: for one that becomes free, or for new ones to one server after the other. */
  databaseAcquireMs: 5 * SECOND_MS,
  /**
   * One statement of a request, by the server's `statement_timeout`. With the waits before it and the grace after it shorter than
   * `handlerTimeoutMs`, so that a caller reads that the database is slow.
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
  /** What this node waits longer than the server's own bound, before it gives up a statement itself. */
  databaseGraceMs: 2 * SECOND_MS,
  /** A statement without a response for so long, and whose session does nothing, is on a connection that died without a sign. */
  databaseDeadAfterMs: 1500,
  /** Between two looks for such statements. */
  databaseDeadCheckMs: 500,
  /** A connection that was idle for so long is tried before it is used, within databaseValidateMs. */
  databaseValidateAfterMs: SECOND_MS,
  databaseValidateMs: SECOND_MS,
  /** An idle connection is closed after so long, and each one when it is so old. */
  databaseIdleMs: 10 * SECOND_MS,
  databaseLifetimeMs: 30 * MINUTE_MS,
  /** TCP asks a silent database after this long whether it is still there. */
  databaseKeepAliveMs: 5 * SECOND_MS,
  /** Connections that are closed get so long to say goodbye. */
  databaseCloseMs: 2 * SECOND_MS,

  // Fields.
  descriptionCharsMax: 512,
  /** The spec gives names no maximum; the database index does. */
  nameCharsMax: 1024,
  /** A group may lie this deep below its root organization: uids stay short enough for an index key. */
  groupDepthMax: 32,
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
  /** Groups of an identity provider that one person is in. */
  sessionGroupsMax: 1000,
  /** A group as an identity provider names it: part of an index key. */
  externalGroupIdCharsMax: 512,
  /** A subject, an audience, the name or the value of a claim, an ARN or user id of AWS. */
  claimCharsMax: 1024,
  /** Addresses of pages in what people tell about themselves. */
  pageUrlCharsMax: 2048,
  /** Entries of one batch (the public contract of BatchCreateRoleBindings). */
  batchEntriesMax: 25,
  /** The same for RoleBindings.CreateBatch of version 1, whose public contract names no maximum. */
  v1BatchEntriesMax: 1000,
  /** Mappings that one call deletes. */
  batchDeleteNamesMax: 100,
  staticKeyLifetimeMsMax: 365 * DAY_MS,
  /** The life of those that come through version 1 without an end of their own (its public contract). */
  v1StaticKeyLifetimeMs: 30 * DAY_MS,
  /** An e-mail address (RFC 5321, section 4.5.3.1, less the angle brackets of a path). */
  emailCharsMax: 254,
  /** How long an invite may stay open; the public contract names no maximum. */
  inviteLifetimeMsMax: 365 * DAY_MS,
  /** The code of an invite to the deepest group has about 900. */
  inviteCodeCharsMax: KIB,
  /** Entries of one map or list in an account association, and characters of one text in it. */
  associationEntriesMax: 50,
  associationTextCharsMax: 255,
  /** Aliases and active tags of a repo, and the length of an alias: a page of a list has 200 repos. */
  repoAliasesMax: 100,
  repoAliasCharsMax: 512,
  repoActiveTagsMax: 500,
  /** Each further destination of a repo that copies another one. */
  syncDestinationCharsMax: 512,
  /** How long a repo copies another one (the public contract). */
  syncLifetimeMs: 14 * DAY_MS,
  /** A whole overlay, and each list and map in it. */
  overlayBytesMax: 128 * KIB,
  overlayEntriesMax: 500,
  /** A README, in UTF-8: the worst of this length takes half a second to check. */
  readmeBytesMax: 64 * KIB,
  /** Addresses and titles of the links in a README, once for each reference to them. */
  readmeLinkCharsMax: 256 * KIB,
  /** Cells of all tables in a README, as many in each row as in the widest. */
  readmeTableCellsMax: 10_000,
  /** READMEs are checked in worker threads: their number and heap, the longest check, and how long one without work stays. */
  readmeThreadsMax: 1,
  readmeThreadHeapMib: 256,
  readmeCheckMsMax: 10 * SECOND_MS,
  readmeThreadIdleMs: MINUTE_MS,
  /** READMEs that wait for their check, and `Retry-After` of those that are refused. */
  readmesQueuedMax: 50,
  readmeRetryMs: SECOND_MS,
  /** Sources that are gone through, one copying the next, for a README to show. */
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
  /** Reading one takes no longer, and a thread without work ends after so long. */
  manifestParseMsMax: 10 * SECOND_MS,
  manifestThreadIdleMs: MINUTE_MS,
  /** Large manifests that are being pushed or read, from before the body is read; of one identity or organization. */
  largeManifestsMax: 64,
  largeManifestsPerCallerMax: 16,
  /** `Retry-After` of a push that is refused because of these two. */
  largeManifestRetryMs: SECOND_MS,
  /** Tags, repos and referrers in one answer, and bytes of one that lists referrers. */
  registryListMax: 10_000,
  referrersBytesMax: 4 * MIB,
  /** A token of the token endpoint, which holds for the repos that were asked for: their number. */
  registryTokenLifetimeMs: HOUR_MS,
  registryTokenScopesMax: 50,
  /** Body of a POST to the token endpoint. */
  registryTokenBodyBytesMax: 64 * KIB,
  /** Names of tags in one list of a policy, characters of one, and how many of these are stars. */
  tagPatternsMax: 50,
  tagPatternCharsMax: 128,
  tagPatternStarsMax: 8,
  retentionRulesMax: 20,
  /** Names of tags in all rules of retention together. */
  retentionPatternsMax: 100,
  /** Tags that one rule of retention keeps for being the newest. */
  retentionNewestMax: 1000,
  /** The least and the most that a rule of retention may call young; manifests without a tag stay at least as long as the first. */
  retentionAgeMsMin: HOUR_MS,
  retentionAgeMsMax: 3650 * DAY_MS,
  /** Between two runs of retention in a repo, after one that failed, and between two looks for what is due. */
  retentionIntervalMs: 6 * HOUR_MS,
  retentionRetryMs: 5 * MINUTE_MS,
  retentionPollMs: 10 * SECOND_MS,
  /** A node that runs retention says so now and then, or else another one does. */
  retentionLeaseMs: 5 * MINUTE_MS,
  /** Tags or manifests that retention deletes in one transaction. */
  retentionBatchRows: 50,
  /** Manifests without a tag that one run of retention deletes, or a preview tells of; the next goes on. */
  retentionManifestsMax: 100_000,
  /** Warnings with one answer of the registry, and characters of one. */
  registryWarningsMax: 8,
  registryWarningCharsMax: 500,
  /** An upload that nobody goes on with for so long is over. */
  uploadIdleMsMax: DAY_MS,
  /** A request that writes an upload renews its claim while bytes come; otherwise another request may continue the upload. */
  uploadLeaseMs: 5 * SECOND_MS,
  /** A request that continues an upload waits so long for the one that writes it: at least the lease of one whose node died. */
  uploadLockWaitMsMax: 5 * SECOND_MS,
  /** Uploads whose hash is remembered between two requests; of others the bytes are read again at their end. */
  uploadHashesMax: 10_000,
  /** Collection takes what nobody needs after this time, by default and at least. Pushes count on it. */
  gcGraceMsDefault: DAY_MS,
  gcGraceMsMin: HOUR_MS,
  /** Who may push and is shown a blob may count on it anew, noted so often. */
  linkRefreshMs: 10 * MINUTE_MS,
  /** Bytes that no row knows may be about to get theirs: they are left alone for the one, and get it within the other or not at all. */
  untrackedBlobAgeMsMin: HOUR_MS,
  blobCommitMsMax: 30 * MINUTE_MS,
  /** More bytes that no row knows than this, and than all others, are not taken unasked. */
  untrackedBlobsUnconfirmedMax: 100,
  /** More blobs that the store does not have than this, and than a tenth of all, are not forgotten unasked. */
  missingBlobsUnconfirmedMax: 10,
  /** An upload that is over stays for a request that began before. */
  expiredUploadRetentionMs: HOUR_MS,
  /** How often a node looks whether a collection is due, and when that of a node that died is anybody's. */
  gcPollMs: MINUTE_MS,
  /** A collection that failed is tried again after this, or after its interval where that is shorter. */
  gcRetryMs: HOUR_MS,
  registryRunLeaseMs: MINUTE_MS,
  /** Repos that a scrub names for each blob, and what it lists of each kind. */
  scrubReposMax: 100,
  scrubFindingsMax: 10_000,
  /** Blobs that a backup or a restore copies at a time. */
  backupBlobConcurrency: 4,
  /** How long a client may begin to fetch a blob from the bucket that it was sent to. */
  blobUrlLifetimeMs: 5 * MINUTE_MS,
  /** Parts in which blobs go to S3: all but the last of one size, and as many as one object may have. */
  s3PartBytes: 8 * MIB,
  s3PartsMax: 10_000,
  /** Parts of one upload that are on their way at once. */
  s3PartConcurrency: 2,
  /** Larger blobs are copied within S3 in parts of this size, so many at once. */
  s3CopyPartBytes: 256 * MIB,
  s3CopyConcurrency: 4,
  s3ConnectionsMax: 1000,
  /** Until a connection to S3 is made, an answer of it begins, and one that copies. */
  s3ConnectTimeoutMs: 5 * SECOND_MS,
  s3TimeoutMs: 20 * SECOND_MS,
  s3CopyTimeoutMs: 5 * MINUTE_MS,
  /** `Retry-After` of what a full or failing disk refuses. */
  storageRetryMs: 30 * SECOND_MS,
  /** Blobs leave this much of their disk free, or this share of a small one, unless BERTH_DISK_RESERVE says otherwise. */
  diskReserveBytes: 256 * MIB,
  diskReservePercent: 5,
  /** A disk with less free space is full, whatever the reserve. */
  diskFullBytes: MIB,
  /** The file that is deleted for garbage collection on a full disk; at most `diskReservePercent` of the disk. */
  diskBallastBytes: 8 * MIB,
  /** The free space of a disk is read again after this time, and after so many bytes of one upload. */
  diskSampleMaxAgeMs: SECOND_MS,
  diskSampleBytes: 8 * MIB,
  /** How often a node looks whether a disk is full, or no longer. */
  diskPollMs: 10 * SECOND_MS,
  /** Failures of a disk are logged once, until none came for this time. */
  storageFaultQuietMs: MINUTE_MS,
  /** How often a request is made to S3 that fails in a way that may go away; and a read that breaks is taken up again. */
  s3AttemptsMax: 4,
  /** Configuration of an image: it is read for its architecture. */
  imageConfigBytesMax: 4 * MIB,
  /** Values in all objects and lists of a configuration; one with more is read as none. */
  imageConfigElementsMax: 20_000,
  /** Manifests and configurations that one request for an image's size or architectures reads: their number and bytes. */
  imageManifestsMax: 10_000,
  imageBytesMax: 64 * MIB,

  /** An architecture that the size of an image is asked for. */
  architectureCharsMax: 64,
  /** An `If-Match` or `If-None-Match` header. */
  etagHeaderCharsMax: 4 * KIB,
  /** An `Idempotency-Key`, and how long the first answer is repeated for it. */
  idempotencyKeyCharsMax: 255,
  idempotencyKeyMaxAgeMs: DAY_MS,

  // Advisories.
  /** Documents of one request. */
  advisoryDocumentsMax: 1000,
  /** Reading one document takes no longer, and no more memory. */
  documentParseMsMax: 30 * SECOND_MS,
  documentParseMemoryMib: 1024,
  /** Documents that tell of the same advisories as one that comes in, and advisories of theirs that stay in memory. */
  documentsReparsedMax: 100,
  recordsCachedMax: 50_000,
  /** A file of documents that is fetched, and how long that takes. */
  downloadBytesMax: 8 * GIB,
  downloadMsMax: 2 * HOUR_MS,
  /** A transfer ends that brings less than so many bytes in so long. */
  downloadWindowMs: 30 * SECOND_MS,
  downloadWindowBytesMin: 64 * KIB,
  /** A transfer that breaks is taken up again so often, as long as each time brings something. */
  downloadResumesMax: 10,
  /** Address of a feed: part of an index key. */
  feedUrlCharsMax: 1024,
  /** Between two runs of a feed. */
  feedIntervalMsMin: 5 * MINUTE_MS,
  feedIntervalMsMax: 30 * DAY_MS,
  feedIntervalMsDefault: HOUR_MS,
  /** A feed that failed is tried again after this, which doubles each time, and at most after that. */
  feedBackoffMsMin: MINUTE_MS,
  feedBackoffMsMax: 6 * HOUR_MS,
  /** The longest that the server of a feed may ask to be left alone. */
  feedRetryAfterMsMax: DAY_MS,
  /**
   * Feeds that one node reads at a time, and of one organization; how often it looks for others, and when those of a node that died
   * are free.
   */
  feedConcurrencyMax: 3,
  feedConcurrencyPerOrganizationMax: 2,
  feedPollMs: 5 * SECOND_MS,
  feedLeaseMs: MINUTE_MS,
  /** Documents that were not taken whose reasons a feed keeps. */
  feedRejectionsMax: 20,
  /** Feeds whose last success is among the metrics. */
  feedsMeasuredMax: 1000,
  /** A gauge of /metrics that the database has: time to read it, and how long its last value stands in for one that cannot be read. */
  metricReadMsMax: 2 * SECOND_MS,
  metricCacheMsMax: 10 * MINUTE_MS,

  // Rate limits.
  /** Longest window in which calls are counted. */
  rateLimitWindowMsMax: DAY_MS,
  /** Addresses or identities of one rate limit that are counted in memory. */
  rateLimitKeysMax: 100_000,
  /** Somebody may ask to be let into an organization again after so long. */
  accessRequestIntervalMs: DAY_MS,

  // Shares of the database connections of a node (ADR 18), in percent of its pool.
  /** Connections of one organization, of one person without an organization, or of callers that are not known yet. */
  databaseOrganizationPercentMax: 50,
  /** Connections in transactions: all of them together wait for locks, and leave the rest to reads. */
  databaseTransactionsPercentMax: 75,
  databaseOrganizationTransactionsPercentMax: 25,
  /** Connections of background jobs: garbage collection, retention, feeds, expiry. */
  databaseJobsPercentMax: 40,
  databaseJobTransactionsPercentMax: 25,
  /** Database operations that wait for a connection, and those of one share. */
  databaseWaitingMax: 4000,
  databaseWaitingPerOrganizationMax: 1000,
  /** How long a request waits for its turn to use a connection. */
  databaseWaitMsMax: 5 * SECOND_MS,
  /** A connection whose statement cannot be cancelled within this time is closed. */
  databaseCancelMsMax: 2 * SECOND_MS,

  /** A change that waited longer for others asks again what its caller may do. */
  grantsMaxAgeMs: SECOND_MS,

  // Tokens.
  /** Groups in the answer that says what a token allows. */
  whoAmIGroupsMax: 1000,
  /** A token of somebody else is not taken when it is older, however long its issuer lets it live (R14). */
  subjectTokenAgeMsMax: DAY_MS,
  accessTokenLifetimeMs: HOUR_MS,
  /** Tokens that tell a client who signed in. */
  idTokenLifetimeMs: 10 * MINUTE_MS,
  /** How long after a sign-in a client can renew its access token; renewing does not make it longer. */
  clientSessionMs: 30 * DAY_MS,
  /** Tokens that cloud providers get to see. */
  accountTokenLifetimeMs: 5 * MINUTE_MS,
  /** Tolerated difference between an issuer's clock and ours (R8). */
  clockSkewMs: 60 * SECOND_MS,
  bearerTokenCharsMax: 16 * KIB,
  /** Verified tokens that are remembered, and the characters of all of them together. */
  verifiedTokensCachedMax: 10_000,
  verifiedTokensCharsMax: 16 * MIB,

  // Signing in for a client (RFC 6749, RFC 8628).
  /** An address that an answer goes to, and any other parameter of an OAuth request. */
  redirectCharsMax: 2 * KIB,
  oauthParameterCharsMax: 4 * KIB,
  /** A code must be redeemed within this time (RFC 6749, section 4.1.2, recommends at most ten minutes). */
  authorizationCodeMs: MINUTE_MS,
  /** How long a device waits for somebody to confirm its code, and the least time between two of its questions. */
  deviceCodeMs: 15 * MINUTE_MS,
  deviceIntervalMs: 5 * SECOND_MS,
  /** What a headless sign-in came to waits so long for its client to fetch it. */
  headlessResultMs: 5 * MINUTE_MS,

  // The pages of the sign-in.
  /** Fields of one form, and the length of each: an OAuth request carries tokens. */
  formFieldsMax: 50,
  formFieldCharsMax: 16 * KIB,
  /** Of local accounts, in characters as people count them (NIST SP 800-63B: at least 8, and 64 must be possible). */
  passwordCharsMin: 12,
  passwordCharsMax: 1024,
  /** Of a password that somebody chooses, so much is looked at for whether it is easy to guess. */
  passwordCharsScored: 32,
  /** A password waits so long for its turn to be looked at. */
  passwordHashWaitMs: 10 * SECOND_MS,
  /** What somebody calls themselves, or a passkey. */
  accountNameCharsMax: 100,
  passkeysMax: 20,
  /** How long the link is good that makes the first account, and one to choose a password. */
  setupLinkMs: DAY_MS,
  /** Nodes that start within this time of each other print the same setup link. */
  setupLinkSharedMs: 10 * MINUTE_MS,
  /** Adding and removing ways to sign in asks for a sign-in that is no older. */
  recentSignInMs: 15 * MINUTE_MS,
  /** Between a page that asks for a passkey and its answer, and between a password and the passkey that goes with it. */
  passkeyStepMs: 5 * MINUTE_MS,
  /** Wrong guesses in a window: of one address at anything, of one address at one account, of all addresses at one account. */
  guessesPerAddressMax: 50,
  guessesPerAccountAndAddressMax: 10,
  guessesPerAccountMax: 100,
  guessWindowMs: 15 * MINUTE_MS,
  guessAccountWindowMs: MINUTE_MS,
  /** Steps of one kind that one address may begin in a window, none of which needs a sign-in: many people may share an address. */
  signInAttemptsPerAddressMax: 500,
  signInAttemptWindowMs: 15 * MINUTE_MS,

  // The audit log: refusals and exchanges wait in memory for a second.
  /** Exchanges that wait to be written; more are dropped while the database does not take them. */
  auditExchangesMax: 10_000,
  /** Different refusals in one second, of all, about one organization and of one caller; equal ones are counted as one. */
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
  /** An unknown `kid` makes us ask the issuer again, at most this often per issuer. */
  issuerKeysRefetchIntervalMs: 30 * SECOND_MS,
  issuersCachedMax: 1000,

  // The one port.
  /** All headers of one HTTP/1 or HTTP/2 request together. */
  headerBytesMax: 32 * KIB,
  /** A body of the REST API and one gRPC message. */
  apiBodyBytesMax: MIB,
  /**
   * Request bodies that wait in memory, of one connection and of all of them, until their requests are answered. One client address
   * never holds more than what it leaves free.
   */
  bufferedBytesPerConnectionMax: 40 * MIB,
  bufferedBytesMax: 128 * MIB,
  /** A body or message of a method that needs no token: a token of another issuer is the longest. */
  unauthenticatedBodyBytesMax: 64 * KIB,
  /** A message after decompression. */
  grpcMessageBytesMax: MIB,
  /** Longer JSON is parsed in steps, between which other requests run. */
  unslicedJsonBytesMax: MIB,
  /** Between two warnings of a proxy that is not trusted. */
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
  /** Headers must have arrived by then (slow senders). */
  headersTimeoutMs: 10 * SECOND_MS,
  /** A whole request, its body included, must have arrived by then. */
  requestTimeoutMs: 30 * SECOND_MS,
  /** The first bytes of a connection, by which HTTP/1 and HTTP/2 are told apart, must have arrived by then. */
  protocolTimeoutMs: 5 * SECOND_MS,
  /** A kept-alive connection without a request is closed. */
  idleConnectionMs: 75 * SECOND_MS,
  /** A handler that has not answered by then is given up with DEADLINE_EXCEEDED. */
  handlerTimeoutMs: 30 * SECOND_MS,
  concurrentStreamsMax: 250,
  /** Bytes of one HTTP/2 stream that a client may send ahead of their reader. */
  streamWindowBytes: 64 * KIB - 1,
  /** Header fields of one request; HTTP/1.1 and HTTP/2. */
  headerFieldsMax: 128,
  /** What the HTTP/2 library holds for one connection: streams, header tables, unsent frames. New streams are refused beyond it. */
  http2SessionMib: 10,
  /** Entries of one SETTINGS frame. */
  http2SettingsMax: 32,
  /** Frames of one connection that break the protocol, and streams that it opens beyond its limits: more end the connection. */
  http2InvalidFramesMax: 100,
  http2RejectedStreamsMax: 100,
  /** Streams that a client of one connection resets: in one go, and each second. More end the connection (CVE-2023-44487). */
  http2ResetsBurst: 300,
  http2ResetsPerSecond: 30,
  /** PING and SETTINGS frames of one connection in a window; more end the connection. */
  http2ControlFramesMax: 5000,
  http2ControlWindowMs: 10 * SECOND_MS,
  /** Open connections, and those of one address. Trusted proxies count for the first only. */
  connectionsMax: 10_000,
  connectionsPerAddressMax: 2000,
  /** Connections that have not sent enough to know their protocol, or not shaken hands: the oldest is closed for a new one. */
  undecidedConnectionsMax: 1000,
  /** Connections of one address that are ended for breaking or flooding HTTP/2: after so many in a window it gets no new ones. */
  abusiveConnectionsPerAddressMax: 20,
  abuseWindowMs: 10 * SECOND_MS,
  /** Requests that one HTTP/1.1 connection sends ahead of their replies. */
  pipelinedRequestsMax: 100,
  /** A client that reads nothing of its response for so long is disconnected. */
  stalledReplyMs: MINUTE_MS,
  /** Whole replies that their clients have not taken: beyond it those that wait the longest are cut off. */
  unreadReplyBytesMax: 64 * MIB,
  /** A body that is streamed ends when its client sends less than so many bytes in so long while it is waited for. */
  streamedBodyWindowMs: 30 * SECOND_MS,
  streamedBodyWindowBytesMin: 16 * KIB,
  /**
   * Open calls that may stay open forever and need no token: `Health/Watch` and reflection. Of the server, of one client address, and
   * of one connection.
   */
  streamingCallsMax: 1000,
  streamingCallsPerAddressMax: 100,
  streamingCallsPerConnectionMax: 20,
  /** A request message of `Health/Watch` and reflection, and of `Health/Check`, which no budget counts. */
  streamingMessageBytesMax: 16 * KIB,
  healthMessageBytesMax: KIB,
  /** Requests on one reflection stream. */
  reflectionRequestsMax: 1000,
  /**
   * A connection whose request was refused half-way keeps swallowing what the client still sends for so long: closing at once
   * would reset it, and a reset can overtake the reply that says why.
   */
  lingerMs: SECOND_MS,
  /** TCP asks a silent peer after this long whether it is still there. */
  tcpKeepAliveDelayMs: MINUTE_MS,
  /** A check of /readyz and gRPC health that takes longer has failed. */
  readinessCheckMs: 3 * SECOND_MS,
  /** Between two looks at readiness while `Health/Watch` calls are open. */
  healthWatchMs: 5 * SECOND_MS,
  /** Spans that wait for export when the server stops get this long. */
  traceFlushMs: 2 * SECOND_MS,
  /** Longer values of span attributes are cut. */
  spanAttributeCharsMax: 256,
  /** Lines of the access log that wait to be written; more are dropped. */
  accessLogBufferBytesMax: 4 * MIB,
  /** Waiting lines of the access log get this long to be written when the server stops. */
  accessLogFlushMs: SECOND_MS,
  /** Characters of a `user-agent` in the access log. */
  loggedUserAgentCharsMax: 120,
  /** A longer `x-request-id` of a client is replaced. */
  requestIdCharsMax: 128,
  /** Running requests get this long to finish when the server stops. */
  stopGraceMs: 10 * SECOND_MS,
  /** After SIGTERM: how long the port serves while `/readyz` is false, until it stops accepting connections (default). */
  drainDelayMs: 5 * SECOND_MS,
  /** A connection that has sent nothing when the port stops accepting may still send its request. */
  undecidedGraceMs: SECOND_MS / 2,
  /** A shutdown ends so long after the grace of running requests, whatever has not finished. */
  stopClosingMs: 10 * SECOND_MS,
  /** Requests that the log names when a shutdown does not finish. */
  unfinishedNamesMax: 20,
} as const satisfies Record<string, number>
