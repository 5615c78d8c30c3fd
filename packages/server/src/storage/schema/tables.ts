import { resourceTables as tables } from '../../api/resource-limits.ts'

/**
 * The tables. Keys and indexes of tenant tables start with `root`, the first segment of the uid, so that the schema can be partitioned by
 * organization. Times are milliseconds since 1970, flags are 0 or 1, and messages of the API are stored in their binary form.
 *
 * One file has the tables of all domains, since one database has one schema (ADR 26).
 */

/** Columns of every resource of the tree. `parent` is the uid without its last segment, '' for a root. */
interface Resource {
  root: string
  uid: string
  parent: string
  name: string
  description: string
  created_ms: number
  updated_ms: number
}

export interface GroupRow extends Resource {
  verified: number
  /** OrgKind and OrgStatus of the schema; subgroups report their root's. */
  kind: number
  status: number
}

export interface IdentityRow extends Resource {
  email: string
  email_unverified: string
  company: string
  /** RelationshipType of the schema; 0 for the identity of a user. */
  relationship: number
  /** An Identity message that carries the relationship alone. */
  relationship_data: Uint8Array
  /** Exact issuer and subject, '' where the relationship has none. */
  issuer: string
  subject: string
  /** uid of the organization's identity provider through which the user was registered; '' for none on record. */
  registered_through: string
  last_seen_ms: number
  /** When the static keys expire; 0 for identities without. For lists: whether keys are valid is read from the relationship. */
  keys_expire_ms: number
}

export interface RoleRow extends Resource {
  /** JSON array of capability numbers, ascending. */
  capabilities: string
}

export interface RoleBindingRow {
  root: string
  uid: string
  /** The group. */
  parent: string
  identity_uid: string
  role_uid: string
  /** 1: created by the server for the creator of a root group, and deleted with the group. */
  automatic: number
  /** uid of the organization's identity provider through which the identity accepted it; '' for none on record. */
  accepted_through: string
  created_ms: number
  updated_ms: number
}

export interface RepoRow extends Resource {
  catalog_tier: number
  /** A Repo message that carries bundles, aliases, tags, sync and overlay configuration. */
  configuration: Uint8Array
  /** uid of the repo that this one copies; '' for none. */
  source: string
}

export interface IdentityProviderRow extends Resource {
  /** uid of the role that new users get. */
  default_role: string
  /** From its configuration. */
  issuer: string
  client_id: string
  /** An IdentityProvider message that carries the OIDC configuration alone, without the client secret. */
  configuration: Uint8Array
  /** Encrypted with the master key; empty where there is none. */
  client_secret: Uint8Array
  /** 1: sign-ins return to the redirect URI that providers shared before each had its own; 0: to its own. */
  shared_callback: number
}

export interface ExternalGroupRoleMappingRow {
  root: string
  uid: string
  /** The identity provider. */
  parent: string
  external_group_id: string
  role_uid: string
  /** uid of the group in which the role applies. */
  scope: string
  created_ms: number
  updated_ms: number
}

/** Its uid is the uid of the group that it belongs to; `parent` is that group's parent. */
export interface AccountAssociationRow extends Resource {
  /** An AccountAssociation message that carries the links to accounts alone. */
  configuration: Uint8Array
}

export interface GroupInviteRow {
  root: string
  uid: string
  parent: string
  role_uid: string
  /** The only address that may accept; '' for anyone with the code. */
  email: string
  expires_ms: number
  single_use: number
  /** Names the invite inside its code. */
  key_id: string
  /** SHA-256 of the code. */
  code_hash: Uint8Array
  /** uid of the identity that created it; '' if it is not recorded. */
  created_by: string
  created_ms: number
  updated_ms: number
}

export interface TagRow {
  root: string
  uid: string
  /** The repo. */
  parent: string
  name: string
  /** '' for a tag without a manifest, which only version 1 creates. */
  digest: string
  /** The forms of the name that lists leave out by default, as bits: 1 referrer, 2 date, 4 epoch. */
  forms: number
  deprecated: number
  /** JSON array. */
  bundles: string
  created_ms: number
  updated_ms: number
}

/** The digest of a tag since a time, until the next row. */
export interface TagDigestRow {
  root: string
  /** The tag's. */
  uid: string
  since_ms: number
  /** '' for none. */
  digest: string
  /** uid of the identity that moved the tag; '' if it is not recorded. */
  actor: string
}

export interface DeploymentRow {
  root: string
  /** The repo's. */
  uid: string
  /** A Deployment message with the charts alone. */
  content: Uint8Array
}

/** Settings of an organization for copies of images. */
export interface RegistrySettingsRow {
  root: string
  unique_tags: number
  grace_period: number
}

export interface RepoReadmeRow {
  root: string
  /** The repo's. */
  uid: string
  content: string
}

export interface IdentityMetadataRow {
  root: string
  /** The identity's. */
  uid: string
  /** An IdentityMetadata message. */
  metadata: Uint8Array
}

/**
 * An organization other than its own in which an identity has role bindings, or had some: garbage collection deletes the row later. A
 * distributed database reads the permissions of the identity from these organizations alone (ADR 86).
 */
export interface IdentityOrganizationRow {
  /** Of the identity. */
  root: string
  identity_uid: string
  /** uid. */
  organization: string
}

/**
 * An organization that has, or had, an invite for an email address: garbage collection deletes the row later. A distributed database finds the
 * invites for the address in these organizations alone (ADR 112).
 */
export interface InvitedOrganizationRow {
  /** A hash of the email address. */
  root: string
  /** uid. */
  organization: string
  /** When an invite got the address last. */
  invited_ms: number
}

/**
 * Another organization that has, or had, copies of a repo: garbage collection deletes the row later. A distributed database finds the copies in
 * these organizations alone (ADR 114).
 */
export interface CopyingOrganizationRow {
  /** The organization of the source; in a second row, `organization`. */
  root: string
  /** uid of the repo. */
  source: string
  /** uid. */
  organization: string
}

/** Limit of the number of resources of a kind in an organization. */
export interface ResourceLimitRow {
  root: string
  kind: string
  n: number
}

/** The last time that an identity requested access to an organization. */
export interface AccessRequestRow {
  root: string
  identity_uid: string
  requested_ms: number
}

/** The response to a create with an idempotency key. */
export interface IdempotencyKeyRow {
  /** uid of the identity. */
  caller: string
  key: string
  /** HMAC-SHA-256 of the method and the request. */
  request_hash: Uint8Array
  /** The response, encrypted with the master key, since it can have secrets that are shown only once. */
  answer: Uint8Array
  created_ms: number
}

/** Roles held on the platform itself, above every organization. */
export interface PlatformBindingRow {
  identity_uid: string
  role_uid: string
}

/** The number of rows of the table `collection` with a uid in [start, the next start): makes totals and deep skips cheap (ADR 2). */
export interface CountRow {
  root: string
  collection: string
  start: string
  n: number
}

/** uids that were in use and must never be used again (R23). */
export interface TombstoneRow {
  root: string
  uid: string
}

/** An audit event; its parent is its subject. */
export interface AuditEventRow {
  root: string
  /** Time and a serial number, 16 hexadecimal digits: sorts by time. */
  id: string
  /** uid of the subject. */
  parent: string
  /** `parent`, a slash and `id`; generated by the database. */
  uid: string
  created_ms: number
  /** uid of the caller; `system` for background work and commands of the operator. */
  actor: string
  /** Full name of the method, e.g. `chainguard.platform.iam.v2beta1.GroupsService/CreateGroup`. */
  method: string
  /** RPC code; 0 for success. */
  code: number
  /** Why it was denied; '' for success. */
  reason: string
  request_id: string
  /** IP address that the request came from. */
  address: string
  /** Of the subject token, in exchanges. */
  issuer: string
  subject: string
  /** The number of equal denials that it represents. */
  n: number
}

export interface SigningKeyRow {
  kid: string
  /** Public JWK as JSON. */
  public_jwk: string
  /** Private JWK, encrypted with the master key. */
  private_jwk: Uint8Array
  created_ms: number
  /** When it starts to sign; before, it is only published. */
  signs_from_ms: number
  /** When it is no longer published. */
  expires_ms: number
}

/** A local account, with a password or passkeys. */
export interface AccountRow {
  /** 32 hexadecimal digits: the subject of the identity, whose issuer is the token service. */
  id: string
  identity_uid: string
  /** In lower case. */
  email: string
  name: string
  /** As packages/server/src/signin/passwords/password.ts writes it; '' where only passkeys are accepted. */
  password_hash: string
  /** 1: a password alone does not suffice if there is a passkey. */
  passkey_required: number
  disabled: number
  created_ms: number
  updated_ms: number
}

export interface PasskeyRow {
  /** Credential id (WebAuthn), base64url. */
  id: string
  account_id: string
  /** The name that its owner chose. */
  name: string
  /** COSE key. */
  public_key: Uint8Array
  counter: number
  /** JSON array. */
  transports: string
  created_ms: number
  last_used_ms: number
}

/** A signed-in user: in a browser, or in a client with a refresh token. */
export interface SessionRow {
  /** 32 hexadecimal digits; tokens of the session have it as a claim. */
  id: string
  /** `browser` or `client`. */
  kind: string
  identity_uid: string
  /** Who vouched: `account`, `operator` or `organization`; '' for no record, which counts nowhere. */
  vouched_by: string
  /** uid of the organization's identity provider that vouched; '' for none. */
  provider_uid: string
  /** The verified address that this provider stated; '' for none. */
  vouched_email: string
  method: string
  /** The name that the client states; '' for browsers. */
  client: string
  /** JSON array: audiences that tokens of a client session may have. */
  audiences: string
  /** SHA-256 of the secret of the browser or client; a client's changes with every use. */
  secret_hash: Uint8Array
  address: string
  user_agent: string
  created_ms: number
  last_used_ms: number
  expires_ms: number
}

/** Groups of the identity provider that the user was a member of at sign-in. */
export interface SessionGroupRow {
  session_id: string
  external_group_id: string
}

/** State of a flow between two requests, identified by a secret. */
export interface PendingRow {
  kind: string
  /** SHA-256 of the secret. */
  secret_hash: Uint8Array
  /** JSON, encrypted with the master key. */
  data: Uint8Array
  expires_ms: number
}

/** Counters of wrong guesses and started sign-ins, by a hash of the action, its target and its client. */
export interface GuessRow {
  key: string
  n: number
  since_ms: number
}

/** An advisory with its events. */
export interface AdvisoryRow {
  root: string
  uid: string
  parent: string
  /** Form `CGA-xxxx-xxxx-xxxx`. */
  advisory_id: string
  artifact_name: string
  component_name: string
  /** The package that the artifact was built from; '' if unknown. */
  origin: string
  /** The product as its documents name it, if that is more than the artifact's name. */
  product: string
  /** The same of the component. */
  component_product: string
  /** Identifies it among the documents of its group. */
  key: string
  /** SHA-256 of its content in the documents. */
  record_hash: Uint8Array
  /** The rest, as an Advisory message. */
  content: Uint8Array
  created_ms: number
  updated_ms: number
  /** The texts that a free-text query searches, in lower case. */
  search: string
  /** OSV fields that no column has, as the OSV extension encodes them; empty for none. */
  osv: Uint8Array
}

/** A withdrawn advisory. */
export interface WithdrawnAdvisoryRow extends AdvisoryRow {
  deleted_ms: number
}

/** An entry of the inverted index: an advisory has a value. */
export interface AdvisoryPostingRow {
  root: string
  /** Key of the property and value (advisories/search/facets.ts). */
  value: Uint8Array
  /** The advisory's uid without the root. */
  path: string
}

/** The number of advisories of a group with a value, for frequent values. */
export interface AdvisoryPostingCountRow {
  root: string
  /** Key as in the inverted index, or of all values of a property. */
  value: Uint8Array
  /** The group's uid without the root. */
  parent: string
  n: number
}

/** The number of advisories of a group with a part of a text, for frequent parts. */
export interface AdvisoryPartCountRow {
  root: string
  parent: string
  /** In lower case. */
  part: string
  n: number
  /** Order in which parts were first counted. */
  number: number
}

/** Suffixes of the values that a free-text query finds, in lower case: every part of a value is a prefix of one. */
export interface AdvisorySuffixRow {
  root: string
  suffix: string
  /** Key as in the inverted index. */
  value: Uint8Array
}

/** A document that advisories come from, as it was published. */
export interface AdvisoryDocumentRow {
  root: string
  /** The group. */
  parent: string
  format: string
  id: string
  /** File name or URL that it was last read from. */
  name: string
  /** SHA-256 of the document. */
  content_hash: Uint8Array
  /** When this version was published, according to the document; 0: unknown. */
  revision_ms: number
  imported_ms: number
  /** Keys of its advisories: a JSON array, compressed (deflate). */
  keys: Uint8Array
  /** Fields of the document that no field of an advisory has: a JSON array. */
  unmapped: string
  /** Compressed (deflate). */
  content: Uint8Array
}

/** A group with imported advisories. Imports lock it. */
export interface AdvisoryGroupRow {
  root: string
  uid: string
  /** Increases with every document that changes the group. */
  revision: number
  /** When it last increased. */
  changed_ms: number
  /** 1: its published feeds are public. */
  public: number
  /** Publication settings: JSON, '' for the defaults. */
  publication: string
}

/** The documents of an advisory. */
export interface AdvisorySourceRow {
  root: string
  /** The group. */
  parent: string
  /** The advisory's. */
  key: string
  /** The document's. */
  format: string
  id: string
}

/** The severity of a vulnerability according to a document. */
export interface AdvisoryScoreRow {
  root: string
  alias: string
  /** The group. */
  parent: string
  /** The document's. */
  format: string
  id: string
  /** The component that it applies to; '' for any. */
  component: string
  /** JSON array. */
  severities: string
  /** Kinds of weaknesses, separated by spaces: `CWE-79 CWE-80`. */
  cwes: string
}

/** What a document says about a vulnerability: for searches. */
export interface VulnerabilityRecordRow {
  root: string
  /** The group. */
  parent: string
  /** Hash of the document and the vulnerability. */
  key: string
  /** The document's. */
  format: string
  document: string
  /** ID of the vulnerability. */
  id: string
  /** Separated by spaces. */
  aliases: string
  summary: string
  /** Names of packages: a JSON array. */
  packages: string
  severity: string
  /** Ten times the base score of CVSS; -1: unknown. */
  score: number
  /** Separated by spaces. */
  cwes: string
  /** 0: unknown. */
  published_ms: number
  modified_ms: number
  /** Details and notes, for excerpts. */
  text: string
  /** All texts that a search finds, in lower case. */
  search: string
  /** The segment of the index that has it; not positive: none yet. */
  segment: number
}

/** A segment of the index of the words of records. */
export interface RecordSegmentRow {
  root: string
  /** The group. */
  parent: string
  segment: number
  /** Records, with those that were deleted since. */
  records: number
}

/** A record of a segment that was replaced or deleted since. */
export interface RecordGapRow {
  root: string
  /** The group. */
  parent: string
  segment: number
  key: string
}

/** A group whose records changed since the index was last updated. */
export interface RecordIndexChangeRow {
  root: string
  /** The group. */
  parent: string
  /** Increased by each change. */
  revision: number
}

/** Words of the records of a segment. */
export interface RecordBlockRow {
  root: string
  /** The group. */
  parent: string
  segment: number
  /** -1: what lists filter and sort by. */
  block: number
  /** In the order of their bytes, separated by newlines. */
  words: string
  /** Positions of the records with each word. */
  postings: Uint8Array
}

/** What a catalog states about CVEs with neighbouring numbers. */
export interface CveBlockRow {
  root: string
  /** `CVE-2021-44` */
  block: string
  /** The group. */
  parent: string
  /** The document's: `kev` or `epss`. */
  format: string
  id: string
  /** A line for each CVE. */
  lines: string
}

/** A URL that documents are read from periodically. */
export interface AdvisoryFeedRow {
  root: string
  uid: string
  /** The group. */
  parent: string
  url: string
  /** '' to detect the format of each document. */
  format: string
  interval_ms: number
  paused: number
  /** When the next run is due. */
  due_ms: number
  /** When the last run started and when the last successful one ended; 0 for none. */
  begun_ms: number
  succeeded_ms: number
  /** Consecutive failed runs, and the reason of the last. */
  failures: number
  error: string
  /** The version that was read last, as its server identifies it. */
  etag: string
  last_modified: string
  /** An ImportCounts message of the last run that read something; empty before the first. */
  counts: Uint8Array
  /** uid of the identity that requested the run that is due; '' for the schedule. */
  requested_by: string
  /** The lease for nodes of the previous release, which do not read `jobs` (ADR 26). */
  runner: string
  lease_ms: number
  created_ms: number
  updated_ms: number
}

/** Bytes in the blob store. Transactions that link or delete them lock the row. */
export interface BlobRow {
  digest: string
  size: number
  /** Location in the blob store; it changes every time the bytes are stored again. */
  location: string
  created_ms: number
}

/** A link from a repo to a blob: bytes can be read only through a link (R31). */
export interface RepoBlobRow {
  root: string
  /** uid. */
  repo: string
  digest: string
  size: number
  /** When it was last pushed or mounted. */
  linked_ms: number
}

export interface ManifestRow {
  root: string
  /** uid. */
  repo: string
  digest: string
  media_type: string
  size: number
  /** Digest of the manifest that this one refers to; '' for none. */
  subject: string
  /** As in lists of referrers. */
  artifact_type: string
  /** A JSON object; '' for none. */
  annotations: string
  created_ms: number
  /** When it was last pushed or last lost a tag. */
  touched_ms: number
  /** The bytes that were pushed. */
  content: Uint8Array
}

/** A SignatureVerifier message with the method alone is its `method`. */
export interface SignatureVerifierRow extends Resource {
  method: Uint8Array
}

/** The verified signatures of an image in a repo. */
export interface ImageSignaturesRow {
  root: string
  /** uid. */
  repo: string
  /** Of the image. */
  digest: string
  /** Hash of what was verified: the manifests with signatures, and the verifiers. Another one means that the row is outdated. */
  inputs: string
  /** Time when the result may change without other inputs: a certificate or signature expires. 0: it does not. */
  until_ms: number
  /** An ImageSignatures message. */
  content: Uint8Array
}

/** Images whose signatures are to be verified. */
export interface SignatureChangeRow {
  root: string
  /** uid of the repo of the image; of a group or repo for all signed images in it. */
  scope: string
  /** '' for all signed images. */
  digest: string
  /** Number of changes. */
  revision: number
}

/** A blob or manifest that a manifest requires in its repo. */
export interface ManifestReferenceRow {
  root: string
  repo: string
  /** Digest of the required blob or manifest. */
  digest: string
  /** Digest of the manifest that requires it. */
  manifest: string
  /** `blob` or `manifest`. */
  kind: string
}

/** What a manifest contains, and the job that reads it (contents/). */
export interface ManifestContentsRow {
  root: string
  /** The key of its job: the organization and `id` as 12 hex digits. */
  uid: string
  /** A random number below 2^48, unique in the organization. */
  id: number
  /** uid. */
  repo: string
  digest: string
  /** `pending`, `backlog` (pending, and read after others), `read`, `failed`, or `none` for a manifest that is not an image. */
  state: string
  /** Continues "could not be read, because" if it failed. */
  reason: string
  /** `sbom` (attached to the image), `sbom-file` (in the image) or `layers`; '' before it is first read. */
  source: string
  /** Of the SBOM, such as `spdx-2.3`; '' without. */
  format: string
  /** As in os-release; '' without. */
  distribution_id: string
  distribution_version: string
  distribution_name: string
  /** `SUPPORT_END` of os-release; 0 without. */
  support_end_ms: number
  /** Distinct packages, of the last reading that succeeded, which stays while the manifest is read again. */
  packages: number
  problems: number
  /** Version of the reader of the last reading, which may have failed. */
  reader: number
  /** Readings since it became due that failed. */
  attempts: number
  /** When it was last read; 0: never. */
  read_ms: number
  due_ms: number
  runner: string
  lease_ms: number
}

/** A package that images of an organization contain. */
export interface PackageRow {
  root: string
  /** A random number below 2^48, unique in the organization. */
  id: number
  /** Hash of the other columns. */
  key: string
  /** Type, namespace and name as in the package URL. */
  type: string
  namespace: string
  name: string
  version: string
  /** The source package; '' if unknown. */
  origin_name: string
  origin_version: string
  purl: string
  architecture: string
  license: string
  /** ID and VERSION_ID of os-release, such as `alpine 3.20.1`, for packages of the distribution; '' for others. */
  distribution: string
  /** When it was matched with advisories for the first time; 0: not yet. */
  matched_ms: number
}

/** An advisory is about packages of a name. */
export interface AdvisoryPackageRow {
  root: string
  /** Type of the package URL and comparable name, as `apk/openssl`. */
  name: string
  /** Of the advisory. */
  uid: string
  /** The ecosystem that the advisory has data of, as `Debian:12`; '' for statements about single products. */
  ecosystem: string
}

/** A package is looked up by a name: its own, or the one of its source package. */
export interface PackageNameRow {
  root: string
  /** As in `advisory_packages`. */
  name: string
  /** `id` of the package. */
  package: number
}

/** A vulnerability of a package (findings/). */
export interface PackageFindingRow {
  root: string
  /** `id` of the package. */
  package: number
  /** The ID that names it: a CVE ID if it has one. */
  vulnerability: string
  /** `affected`, `not-affected`, `pending-upstream`, `under-investigation` or `unknown`. */
  state: string
  /** `critical`, `high`, `medium`, `low`, `none` or `unknown`. */
  severity: string
  /** Ten times the base score of CVSS; -1: unknown. */
  score: number
  /** '' if no fix is known. */
  fixed_version: string
  justification: string
  /** uid of the advisory that decides. */
  advisory: string
  /** The other IDs, separated by spaces. */
  aliases: string
  /** Kinds of weaknesses, separated by spaces. */
  cwes: string
  /** When the vulnerability was first found in the package. */
  found_ms: number
}

/** What catalogs state about a vulnerability that was found in a package. Those that no catalog lists have no row. */
export interface VulnerabilityFactsRow {
  root: string
  vulnerability: string
  /** Probability of exploitation (EPSS) and its percentile, in hundred thousandths; -1: unknown. */
  epss: number
  percentile: number
  /** 1: known to be exploited. */
  exploited: number
  /** What is known of it, as JSON; '' if it is not. */
  exploitation: string
}

/** An ID of a vulnerability. */
export interface VulnerabilityIdRow {
  root: string
  id: string
  /** The ID that names it in findings. */
  vulnerability: string
}

/** Advisories that changed: what they are about is matched again. */
export interface FindingChangeRow {
  root: string
  /**
   * `name apk/openssl`: the packages of a name. `id CVE-2024-1`: the packages with a vulnerability, whose scores changed. `catalogs`: the
   * facts of all vulnerabilities.
   */
  subject: string
  /** Group of the advisories. */
  parent: string
  /** Number of changes. */
  revision: number
}

/** Numbers of findings by severity. */
export interface SeverityColumns {
  critical: number
  high: number
  medium: number
  low: number
  none: number
  unknown: number
}

/** Findings of the image of a tag from a time until the next row, without those that do not affect it (ADR 75). */
export interface TagFindingsRow extends SeverityColumns {
  root: string
  /** uid. */
  tag: string
  time_ms: number
  /** '' for a tag without a manifest, which only version 1 creates. */
  digest: string
  /** `read`; `failed`: the image, or one of an index, cannot be read; `none`: not an image. */
  state: string
}

/** Different vulnerabilities in the tagged images of a repo or group from a time until the next row (ADR 78). */
export interface ScopeFindingsRow extends SeverityColumns {
  root: string
  /** uid. */
  scope: string
  time_ms: number
  images: number
  /** Of these, those whose contents are not known. */
  unread_images: number
}

/** Something whose findings may have changed: the history of what has them is continued. */
export interface FindingHistoryChangeRow {
  root: string
  /** `image`, `package`, `tag`, `repo` or `group`. */
  kind: string
  /** The `id` of contents or of a package; the uid of others. */
  subject: string
  /** Time of the first change. */
  changed_ms: number
  /** Number of changes. */
  revision: number
}

/** A manifest contains a package. */
export interface ManifestPackageRow {
  root: string
  /** `id` of the contents. */
  contents: number
  /** `id` of the package. */
  package: number
}

/** A document attached to an image states whether a vulnerability affects it. */
export interface ImageStatementRow {
  root: string
  /** `id` of the contents. */
  contents: number
  /** `id` of the package; 0 for the whole image. */
  package: number
  /** ID of the vulnerability, as it is stated. */
  vulnerability: string
  /** A state of findings. */
  state: string
  justification: string
}

/** A scanner found vulnerabilities in an image, by a report that is attached to it. */
export interface ImageReportRow {
  root: string
  /** `id` of the contents. */
  contents: number
  /** Of the document in `manifest_documents`. */
  position: number
  /** Name of the scanner in lower case. */
  scanner: string
  version: string
  /** `sarif`, `grype`, `trivy`, `cyclonedx` or `vuln-predicate`. */
  format: string
  /** When the report was written; if it does not say, when it was attached. */
  created_ms: number
  /** Of the vulnerability database; 0 if unknown. */
  database_ms: number
  /** Number of findings, and of those with each severity. */
  findings: number
  critical: number
  high: number
  medium: number
  low: number
  negligible: number
  unknown: number
  /** Number of findings in `content`. */
  stored: number
  /** The findings as JSON, compressed with zstd. */
  content: Uint8Array
}

/** A document about the contents of a manifest. */
export interface ManifestDocumentRow {
  root: string
  /** `id` of the contents. */
  contents: number
  /** 0 for the packages. */
  position: number
  /** `packages` and `metadata`: what was read, as JSON; `sbom`, `vex` or `report`: as it was given. */
  kind: string
  /** Such as `spdx-2.3`; '' for `packages` and `metadata`. */
  format: string
  /** Digest of the manifest that was attached; '' for documents that are not attached. */
  manifest: string
  /** Digest of the blob with the document, or with the attestation that contains it; '' for a file of the image. */
  blob: string
  /** In the image; '' for attached documents. */
  path: string
  /** Compressed with zstd; empty if the blob is the document. */
  content: Uint8Array
}

/** An upload of a blob in several requests. */
export interface UploadRow {
  root: string
  /** uid. */
  repo: string
  id: string
  /** uid of the identity that started it; no other one may continue it. */
  identity: string
  /** Stored bytes; a request that writes the upload, or that died, may have stored more. */
  size: number
  /** State of the blob store for it. */
  state: string
  /** The request that writes it, '' for none. */
  writer: string
  /** With a writer, the end of its lease; without one, how many bytes the last response confirmed (more than `size` in rows of 0.6). */
  lease_ms: number
  created_ms: number
  expires_ms: number
}

/** Email that is sent in the background; the mail room sends it. */
export interface MailRow {
  root: string
  /** The key of its job: the uid of the invite that it is about, or a root of its own. */
  uid: string
  /** `invite`, `password-reset` or `password-changed`. */
  kind: string
  /** `queued`, `sent` or `failed`. */
  state: string
  /** JSON, encrypted; empty when it is no longer queued. */
  data: Uint8Array
  attempts: number
  /** Why it was not sent, or why the last attempt failed; '' for no problem. */
  problem: string
  created_ms: number
  updated_ms: number
  /** No attempt starts from then on. */
  expires_ms: number
  due_ms: number
  runner: string
  lease_ms: number
}

/** A job that nodes run in the background; `storage/jobs/` leases it. */
export interface JobRow {
  /** Name of the kind, such as `retention`. */
  kind: string
  /** uid of the resource that it is for; '' for a kind with a single job. */
  key: string
  /** Identifies the run; '' while none has the job. */
  runner: string
  /** When the lease of the run expires unless it is renewed. */
  lease_ms: number
  due_ms: number
  /** End of the last successful run; 0: none. */
  succeeded_ms: number
  /** Where the next run continues; '' at the start. */
  position: string
}

/** A server process that uses the database. */
export interface NodeRow {
  /** `Db.node`. */
  id: string
  /** Host name. */
  name: string
  version: string
  base_url: string
  listen_address: string
  started_ms: number
  /** Last sign of life. */
  seen_ms: number
}

/** The last finished run of each kind of job. */
export interface JobResultRow {
  kind: string
  /** uid of the resource that it was for; '' for a kind with a single job. */
  key: string
  /** Id of the node. */
  node: string
  succeeded: number
  started_ms: number
  ended_ms: number
  /** Reason of the last failed run, and its end; '' and 0 if none failed. */
  error: string
  failed_ms: number
}

/** A run of garbage collection or scrub (registry/runs/). */
export interface StorageRunRow {
  id: string
  /** `collection` or `scrub`. */
  kind: string
  /** `running`, `succeeded`, `failed` or `cancelled`. */
  state: string
  dry_run: number
  /** uid of the identity that started it, or `system`. */
  actor: string
  /** Id of the node; of a command, an id that `nodes` does not have. */
  node: string
  started_ms: number
  updated_ms: number
  /** 0 while it runs. */
  ended_ms: number
  /** Progress: the step, and how much of it is done; `total` 0: unknown. */
  step: string
  done: number
  total: number
  /** JSON: counts and bytes by what was counted. */
  totals: string
  /** JSON array of the findings of a scrub. */
  findings: string
  /** '' unless it failed. */
  error: string
  /** 1: it was asked to end. */
  cancel: number
}

/** A run of a job of a resource (ADR 76). */
export interface JobRunRow {
  root: string
  /** The uid of the resource, and a segment. */
  uid: string
  /** uid of the resource, which is the key of the job. */
  parent: string
  /** Name of the kind of job. */
  kind: string
  /** `running`, `succeeded`, `failed` or `interrupted`. */
  state: string
  /** uid of the identity that requested it, or `system` for the schedule. */
  actor: string
  /** The run, as in the lease of the job. */
  runner: string
  started_ms: number
  /** 0 while it runs. */
  ended_ms: number
  /** JSON: a number by what was counted. */
  counts: string
  /** '' unless it failed. */
  error: string
}

/** Jobs of the registry as a whole (registry/jobs.ts). */
export interface RegistryRunRow {
  /** Name of the kind of job. */
  name: string
  /** The lease for nodes of the previous release, which do not read `jobs` (ADR 26). */
  runner: string
  lease_ms: number
  due_ms: number
  /** When it last succeeded; 0: never. */
  succeeded_ms: number
  /** Where the next run continues; '' at the start. */
  position: string
}

/** Storage usage of an organization; a row for the digests that start with one hex digit. */
export interface RegistryUsageRow {
  root: string
  part: string
  manifests: number
  /** Of blobs, each counted once however many repos have it. */
  bytes: number
}

/** What an organization used on one day (ADR 44). */
export interface UsageDayRow {
  root: string
  /** Days since 1970, in UTC. */
  day: number
  /** Levels; -1 if they were not recorded on this day. */
  stored_bytes: number
  manifests: number
  tags: number
  repos: number
  /** Manifests that clients downloaded. */
  pulls: number
  /** Manifests that clients uploaded. */
  pushes: number
}

/** Pulls and pushes of a repo on one day. */
export interface RepoUsageDayRow {
  root: string
  repo: string
  day: number
  pulls: number
  pushes: number
}

/** A policy at pull. System policies are at the root, and have their rules in the code. */
export interface PolicyRow extends Resource {
  /** CEL; '' for a system policy. */
  expression: string
}

/** Its parent is a group or a repo. */
export interface PolicyBindingRow {
  root: string
  uid: string
  parent: string
  /** uid. */
  policy: string
  /** PolicyMode of the schema. */
  mode: number
  /** A JSON object. */
  parameters: string
  created_ms: number
  updated_ms: number
}

/** Its parent is a group or a repo. */
export interface PolicyOverrideRow {
  root: string
  uid: string
  parent: string
  /** uid. */
  policy: string
  digest: string
  reason: string
  /** uid of an identity. */
  created_by: string
  created_ms: number
}

/** Its uid follows from the other columns, so that equal decisions are one row. */
export interface PolicyDecisionRow {
  root: string
  uid: string
  /** The repo. */
  parent: string
  /** Days since 1970, in UTC. */
  day: number
  digest: string
  /** uid. */
  policy: string
  policy_name: string
  /** PolicyMode and Result of the schema. */
  mode: number
  result: number
  reason: string
}

/** Changes with every write of the policies, bindings and overrides of an organization. */
export interface PolicyRevisionRow {
  root: string
  revision: number
}

/** What may become of the tags of a repo: has its uid, and goes with it. */
export interface RepoPolicyRow {
  root: string
  uid: string
  /** A RepoPolicy message with the fields that were set. */
  policy: Uint8Array
  updated_ms: number
  /** When retention runs next; 0 while it is not enabled. */
  due_ms: number
  /** A RetentionRun message; empty before the first. */
  run: Uint8Array
  /** uid of the identity that requested the run that is due; '' for the schedule. */
  requested_by: string
  /** The lease for nodes of the previous release, which do not read `jobs` (ADR 26). */
  runner: string
  lease_ms: number
}

/** Values that belong to the installation as a whole. */
export interface SettingRow {
  name: string
  value: string
}

/** Names of organizations, unique in the installation. */
export interface OrganizationNameRow {
  name: string
  uid: string
}

export interface Tables {
  groups: GroupRow
  organization_names: OrganizationNameRow
  identities: IdentityRow
  roles: RoleRow
  role_bindings: RoleBindingRow
  repos: RepoRow
  identity_providers: IdentityProviderRow
  external_group_role_mappings: ExternalGroupRoleMappingRow
  account_associations: AccountAssociationRow
  group_invites: GroupInviteRow
  tags: TagRow
  tag_digests: TagDigestRow
  repo_readmes: RepoReadmeRow
  deployments: DeploymentRow
  registry_settings: RegistrySettingsRow
  advisories: AdvisoryRow
  withdrawn_advisories: WithdrawnAdvisoryRow
  advisory_postings: AdvisoryPostingRow
  advisory_posting_counts: AdvisoryPostingCountRow
  advisory_part_counts: AdvisoryPartCountRow
  advisory_suffixes: AdvisorySuffixRow
  advisory_documents: AdvisoryDocumentRow
  advisory_groups: AdvisoryGroupRow
  advisory_sources: AdvisorySourceRow
  advisory_scores: AdvisoryScoreRow
  cve_blocks: CveBlockRow
  vulnerability_records: VulnerabilityRecordRow
  record_segments: RecordSegmentRow
  record_blocks: RecordBlockRow
  record_gaps: RecordGapRow
  record_index_changes: RecordIndexChangeRow
  advisory_feeds: AdvisoryFeedRow
  identity_metadata: IdentityMetadataRow
  identity_organizations: IdentityOrganizationRow
  invited_organizations: InvitedOrganizationRow
  copying_organizations: CopyingOrganizationRow
  resource_limits: ResourceLimitRow
  access_requests: AccessRequestRow
  idempotency_keys: IdempotencyKeyRow
  platform_bindings: PlatformBindingRow
  counts: CountRow
  tombstones: TombstoneRow
  audit_events: AuditEventRow
  signing_keys: SigningKeyRow
  accounts: AccountRow
  passkeys: PasskeyRow
  sessions: SessionRow
  session_groups: SessionGroupRow
  pending: PendingRow
  guesses: GuessRow
  blobs: BlobRow
  repo_blobs: RepoBlobRow
  manifests: ManifestRow
  manifest_references: ManifestReferenceRow
  manifest_contents: ManifestContentsRow
  manifest_packages: ManifestPackageRow
  manifest_documents: ManifestDocumentRow
  image_statements: ImageStatementRow
  image_reports: ImageReportRow
  packages: PackageRow
  advisory_packages: AdvisoryPackageRow
  package_names: PackageNameRow
  package_findings: PackageFindingRow
  vulnerability_ids: VulnerabilityIdRow
  vulnerability_facts: VulnerabilityFactsRow
  finding_changes: FindingChangeRow
  tag_findings: TagFindingsRow
  scope_findings: ScopeFindingsRow
  finding_history_changes: FindingHistoryChangeRow
  uploads: UploadRow
  jobs: JobRow
  mails: MailRow
  nodes: NodeRow
  job_results: JobResultRow
  storage_runs: StorageRunRow
  job_runs: JobRunRow
  registry_runs: RegistryRunRow
  registry_usage: RegistryUsageRow
  usage_days: UsageDayRow
  repo_usage_days: RepoUsageDayRow
  repo_policies: RepoPolicyRow
  policies: PolicyRow
  policy_bindings: PolicyBindingRow
  policy_overrides: PolicyOverrideRow
  policy_decisions: PolicyDecisionRow
  policy_revisions: PolicyRevisionRow
  signature_verifiers: SignatureVerifierRow
  image_signatures: ImageSignaturesRow
  signature_changes: SignatureChangeRow
  settings: SettingRow
}

export const resourceTables = tables
export type ResourceTable = (typeof resourceTables)[number]

/** Tables that can be listed: resources, audit events, decisions and runs, which are too many to be counted on insertion, and policies. */
export type ListedTable =
  | ResourceTable
  | 'audit_events'
  | 'policies'
  | 'policy_bindings'
  | 'policy_overrides'
  | 'policy_decisions'
  | 'job_runs'
