/**
 * The data model. Every tenant table starts its keys and indexes with `root`, the first segment of the uid, so that the schema
 * can be spread over machines by organization. Times are milliseconds since 1970, flags are 0 or 1, and what the schema defines
 * as a message stays that message, in its binary form.
 */

/** What every resource of the tree has. `parent` is the uid without its last segment, '' for a root. */
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
  /** RelationshipType of the schema; 0 for the identity of a person. */
  relationship: number
  /** An Identity message that carries the relationship alone. */
  relationship_data: Uint8Array
  /** Exact issuer and subject, '' where the relationship has none. */
  issuer: string
  subject: string
  /** uid of the organization's identity provider through which the person was registered; '' for none on record. */
  registered_through: string
  last_seen_ms: number
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
  /** 1: made by the server for the creator of a root group; it goes when the group goes. */
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
  /** uid of the repo that this one copies; '' for one that copies none. */
  source: string
}

export interface IdentityProviderRow extends Resource {
  /** uid of the role that new users get. */
  default_role: string
  /** Of its configuration. */
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
  /** Only this address may accept; '' lets everyone who has the code. */
  email: string
  expires_ms: number
  single_use: number
  /** Names the invite inside its code. */
  key_id: string
  /** SHA-256 of the code. */
  code_hash: Uint8Array
  created_ms: number
  updated_ms: number
}

export interface TagRow {
  root: string
  uid: string
  /** The repo. */
  parent: string
  name: string
  /** '' for a tag that points at nothing yet, which only version 1 makes. */
  digest: string
  /** Which of the forms that lists leave out by default the name has, as bits: 1 referrer, 2 date, 4 epoch. */
  forms: number
  deprecated: number
  /** JSON array. */
  bundles: string
  created_ms: number
  updated_ms: number
}

/** That a tag pointed at a digest since a time, until the next one. */
export interface TagDigestRow {
  root: string
  /** The tag's. */
  uid: string
  since_ms: number
  /** '' for nothing. */
  digest: string
}

export interface DeploymentRow {
  root: string
  /** The repo's. */
  uid: string
  /** A Deployment message with the charts alone. */
  content: Uint8Array
}

/** How an organization wants its images copied. */
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

/** How many resources of a kind an organization may have. */
export interface ResourceLimitRow {
  root: string
  kind: string
  n: number
}

/** When somebody last asked to be let into an organization. */
export interface AccessRequestRow {
  root: string
  identity_uid: string
  requested_ms: number
}

/** What was answered to a create that its caller may send again. */
export interface IdempotencyKeyRow {
  /** uid of the identity. */
  caller: string
  key: string
  /** HMAC-SHA-256 of the method and the request. */
  request_hash: Uint8Array
  /** The answer, encrypted with the master key: it may hold what is shown only once. */
  answer: Uint8Array
  created_ms: number
}

/** Roles held on the platform itself, above every organization. */
export interface PlatformBindingRow {
  identity_uid: string
  role_uid: string
}

/** How many rows of `collection` have their uid in [start, the next start): what makes totals and deep skips cheap. */
export interface CountRow {
  root: string
  collection: string
  start: string
  n: number
}

/** uids that were in use once and must never name anything else (R23). */
export interface TombstoneRow {
  root: string
  uid: string
}

/** What happened, below what it is about. */
export interface AuditEventRow {
  root: string
  /** Time and chance, 16 hexadecimal digits: sorts by time. */
  id: string
  /** uid of what it is about. */
  parent: string
  /** `parent`, a slash and `id`: the database makes it. */
  uid: string
  created_ms: number
  /** uid of the identity that did it; `system` for the operator's own commands. */
  actor: string
  /** Full name of the method, e.g. `chainguard.platform.iam.v2beta1.GroupsService/CreateGroup`. */
  method: string
  /** RPC code: 0 for what was done. */
  code: number
  /** Why it was refused, '' for what was done. */
  reason: string
  request_id: string
  /** IP address that the request came from. */
  address: string
  /** Of the workload's own token, in exchanges. */
  issuer: string
  subject: string
  /** How many equal refusals it stands for. */
  n: number
}

export interface SigningKeyRow {
  kid: string
  /** Public JWK as JSON. */
  public_jwk: string
  /** Private JWK, encrypted with the master key. */
  private_jwk: Uint8Array
  created_ms: number
  /** Signs from here on; before, it is only published. */
  signs_from_ms: number
  /** No longer published from here on. */
  expires_ms: number
}

/** Somebody who signs in here, with a password or a passkey, instead of somewhere else. */
export interface AccountRow {
  /** 32 hexadecimal digits: the subject of the identity, whose issuer is the token service. */
  id: string
  identity_uid: string
  /** In lower case. */
  email: string
  name: string
  /** As packages/server/src/signin/passwords/password.ts writes it; '' where only passkeys are accepted. */
  password_hash: string
  /** 1: a password is not enough where there is a passkey. */
  passkey_required: number
  disabled: number
  created_ms: number
  updated_ms: number
}

export interface PasskeyRow {
  /** Credential id (WebAuthn), base64url. */
  id: string
  account_id: string
  /** What its owner calls it. */
  name: string
  /** COSE key. */
  public_key: Uint8Array
  counter: number
  /** JSON array. */
  transports: string
  created_ms: number
  last_used_ms: number
}

/** A person who is signed in: in a browser, or in a client that holds a refresh token. */
export interface SessionRow {
  /** 32 hexadecimal digits; tokens that came of the session name it. */
  id: string
  /** `browser` or `client`. */
  kind: string
  identity_uid: string
  /** Who vouched: `account`, `operator` or `organization`; '' for no record, which counts nowhere. */
  vouched_by: string
  /** uid of the organization's identity provider; '' where none vouched. */
  provider_uid: string
  /** The verified address that this provider stated; '' for none. */
  vouched_email: string
  method: string
  /** What the client calls itself; '' for browsers. */
  client: string
  /** JSON array: what tokens of a client session may be for. */
  audiences: string
  /** SHA-256 of the secret that its holder shows; a client's changes with every use. */
  secret_hash: Uint8Array
  address: string
  user_agent: string
  created_ms: number
  last_used_ms: number
  expires_ms: number
}

/** Groups of the identity provider that somebody was in when they signed in. */
export interface SessionGroupRow {
  session_id: string
  external_group_id: string
}

/** What a flow remembers between two requests, for whoever has the secret. */
export interface PendingRow {
  kind: string
  /** SHA-256 of the secret. */
  secret_hash: Uint8Array
  /** JSON, encrypted with the master key. */
  data: Uint8Array
  expires_ms: number
}

/** How often something was done: wrong guesses, sign-ins begun. By a hash of what was done, to what and by whom. */
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
  /** The package that the artifact was built from, '' where nobody says. */
  origin: string
  /** How its documents name the product, where that is more than the artifact's name. */
  product: string
  /** The same of the component. */
  component_product: string
  /** What it is known by to the documents of its group. */
  key: string
  /** SHA-256 of what the documents say of it. */
  record_hash: Uint8Array
  /** The rest, as an Advisory message. */
  content: Uint8Array
  created_ms: number
  updated_ms: number
  /** The texts that a free-text query looks through, in lower case. */
  search: string
  /** What OSV says beyond these columns, as vulnerabilities/carried-osv.ts packs it; empty for nothing. */
  osv: Uint8Array
}

/** An advisory that was taken back. */
export interface WithdrawnAdvisoryRow extends AdvisoryRow {
  deleted_ms: number
}

/** That an advisory has a value: what filters look up. */
export interface AdvisoryPostingRow {
  root: string
  /** Of which property and which value, as vulnerabilities/facets.ts makes it. */
  value: Uint8Array
  /** The advisory's uid without the root. */
  path: string
}

/** How many advisories of a group have a value, for values that many have. */
export interface AdvisoryPostingCountRow {
  root: string
  /** As in a posting, or all values of a property together. */
  value: Uint8Array
  /** The group's uid without the root. */
  parent: string
  n: number
}

/** How many advisories of a group have a part of a text that many have. */
export interface AdvisoryPartCountRow {
  root: string
  parent: string
  /** In lower case. */
  part: string
  n: number
  /** Of a part that was counted later it is higher. */
  number: number
}

/** The ends of the values that a free-text query finds, in lower case: a part of a value begins one of them. */
export interface AdvisorySuffixRow {
  root: string
  suffix: string
  /** As in a posting. */
  value: Uint8Array
}

/** A document that advisories come from, as it was published. */
export interface AdvisoryDocumentRow {
  root: string
  /** The group. */
  parent: string
  format: string
  id: string
  /** File name or address that it was last read from. */
  name: string
  /** SHA-256 of the document. */
  content_hash: Uint8Array
  /** When this version of it was made; 0: it does not say. */
  revision_ms: number
  imported_ms: number
  /** Keys of its advisories: a JSON array, compressed (deflate). */
  keys: Uint8Array
  /** What no field of an advisory holds: a JSON array. */
  unmapped: string
  /** Compressed (deflate). */
  content: Uint8Array
}

/** A group that advisories were imported into. Imports take it in turn. */
export interface AdvisoryGroupRow {
  root: string
  uid: string
  /** Grows with every document that changes something. */
  revision: number
  /** When that was. */
  changed_ms: number
  /** 1: everybody may read what it publishes. */
  public: number
  /** How it publishes: JSON, '' for what nobody has changed. */
  publication: string
}

/** Which documents tell of an advisory. */
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

/** What a document says of the severity of a vulnerability. */
export interface AdvisoryScoreRow {
  root: string
  alias: string
  /** The group. */
  parent: string
  /** The document's. */
  format: string
  id: string
  /** The component that it is about; '' for any. */
  component: string
  /** JSON array. */
  severities: string
}

/** An address that documents are read from again and again. */
export interface AdvisoryFeedRow {
  root: string
  uid: string
  /** The group. */
  parent: string
  url: string
  /** '' for each document by its content. */
  format: string
  interval_ms: number
  paused: number
  /** When the next run begins. */
  due_ms: number
  /** When the last run began and when the last good one ended; 0 before the first. */
  begun_ms: number
  succeeded_ms: number
  /** Runs that failed one after the other, and why the last did. */
  failures: number
  error: string
  /** The version that was read last, as its server names it. */
  etag: string
  last_modified: string
  /** An ImportCounts message of the last run that read something; empty before the first. */
  counts: Uint8Array
  /** The run that is under way, '' for none, and until when it is no other's unless it says that it lives. */
  runner: string
  lease_ms: number
  created_ms: number
  updated_ms: number
}

/** Bytes in the blob store. Whoever links a repo to them holds this row, and so does whoever takes them away. */
export interface BlobRow {
  digest: string
  size: number
  /** Where the blob store has them: another one each time that they are stored anew. */
  location: string
  created_ms: number
}

/** That a repo has a blob: bytes are reached through this alone (R31). */
export interface RepoBlobRow {
  root: string
  /** uid. */
  repo: string
  digest: string
  size: number
  /** When it was pushed or mounted last. */
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
  /** As lists of referrers have it. */
  artifact_type: string
  /** A JSON object; '' for none. */
  annotations: string
  created_ms: number
  /** When it was pushed last, or last lost a tag. */
  touched_ms: number
  /** The bytes that were pushed. */
  content: Uint8Array
}

/** What a manifest needs to be in its repo. */
export interface ManifestReferenceRow {
  root: string
  repo: string
  /** Of what is needed. */
  digest: string
  /** Digest of the manifest that needs it. */
  manifest: string
  /** `blob` or `manifest`. */
  kind: string
}

/** A blob that is being pushed in several requests. */
export interface UploadRow {
  root: string
  /** uid. */
  repo: string
  id: string
  /** uid of the identity that began it and that alone may go on with it. */
  identity: string
  /** Bytes that are stored; a request that writes the upload, or died, may have stored more. */
  size: number
  /** What the blob store remembers of it. */
  state: string
  /** The request that writes it, '' for none. */
  writer: string
  /** With a writer, the end of its lease; without one, how many bytes the last response confirmed (more than `size` in rows of 0.6). */
  lease_ms: number
  created_ms: number
  expires_ms: number
}

/** Long work on the registry as a whole, which one process at a time does. */
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

export interface RegistryRunRow {
  /** Of the work. */
  name: string
  /** The run that does it, '' for none, and until when it is no other's unless it says that it lives. */
  runner: string
  lease_ms: number
  due_ms: number
  /** When it was last done to its end; 0: never. */
  succeeded_ms: number
  /** Where the next run goes on; '' at the beginning. */
  position: string
}

/** What the repos of an organization hold together; of the digests that begin with one hex digit. */
export interface RegistryUsageRow {
  root: string
  part: string
  manifests: number
  /** Of blobs, each counted once however many repos have it. */
  bytes: number
}

/** What may become of the tags of a repo: has its uid, and goes with it. */
export interface RepoPolicyRow {
  root: string
  uid: string
  /** A RepoPolicy message that carries what was set. */
  policy: Uint8Array
  updated_ms: number
  /** When retention runs next; 0 while it is not enabled. */
  due_ms: number
  /** A RetentionRun message; empty before the first. */
  run: Uint8Array
  /** The run that is under way, '' for none, and until when it is no other's unless it says that it lives. */
  runner: string
  lease_ms: number
}

/** Facts about the installation as a whole. */
export interface SettingRow {
  name: string
  value: string
}

/** Names of organizations, which differ over the whole installation. */
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
  advisory_feeds: AdvisoryFeedRow
  identity_metadata: IdentityMetadataRow
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
  uploads: UploadRow
  jobs: JobRow
  registry_runs: RegistryRunRow
  registry_usage: RegistryUsageRow
  repo_policies: RepoPolicyRow
  settings: SettingRow
}

/** The tables whose rows are resources of the tree: listed, counted, tombstoned. */
export const resourceTables = [
  'groups',
  'identities',
  'roles',
  'role_bindings',
  'repos',
  'identity_providers',
  'external_group_role_mappings',
  'account_associations',
  'group_invites',
  'tags',
  'advisories',
  'advisory_feeds',
] as const
export type ResourceTable = (typeof resourceTables)[number]

/** What can be listed: besides the resources the audit events, which are too many and too fast to be counted as they come. */
export type ListedTable = ResourceTable | 'audit_events'
