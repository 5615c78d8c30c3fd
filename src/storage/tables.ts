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
  created_ms: number
  updated_ms: number
}

export interface RepoRow extends Resource {
  catalog_tier: number
  /** A Repo message that carries bundles, aliases, tags, sync and overlay configuration. */
  configuration: Uint8Array
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

export interface AuditEventRow {
  /** Root of the uid that was changed. */
  root: string
  /** Sorts by time. */
  id: string
  time_ms: number
  /** uid of the identity that did it; `system` for the operator's own commands. */
  actor: string
  /** Full name of the method, e.g. `chainguard.platform.iam.v2beta1.GroupsService/CreateGroup`. */
  method: string
  uid: string
  /** RPC code: 0 for what was done. */
  outcome: number
  request_id: string
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
  platform_bindings: PlatformBindingRow
  counts: CountRow
  tombstones: TombstoneRow
  audit_events: AuditEventRow
  signing_keys: SigningKeyRow
  settings: SettingRow
}

/** The tables whose rows are resources of the tree: listed, counted, tombstoned. */
export const collections = ['groups', 'identities', 'roles', 'role_bindings', 'repos'] as const
export type Collection = (typeof collections)[number]
