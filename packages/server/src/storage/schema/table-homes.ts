import type { Tables } from './tables.ts'

/**
 * The home of each table in a database that is distributed over several servers (ADR 79). TypeScript requires an entry for every new table. A
 * database on one server ignores it.
 */

/** Rows are on a server by a hash of this column: statements that name an organization concern one server. */
interface Distributed {
  readonly distributedBy: 'root'
}

/** `reference`: every server has all rows, so that reads and joins are local and writes go everywhere. `local`: on the coordinator alone. */
export type TableHome = Distributed | 'reference' | 'local'

type Home<Row> = Row extends { root: string } ? Exclude<TableHome, 'local'> : Exclude<TableHome, Distributed>

/** Tables of one engine that no other code reads with the query builder. */
interface EngineTables {
  /** Counters of rate limits. */
  rate_limits: { readonly key: string; readonly points: number; readonly expire: number }
}

type AllTables = Tables & EngineTables

const byRoot = { distributedBy: 'root' } as const

export const tableHomes: { readonly [T in keyof AllTables]: Home<AllTables[T]> } = {
  // Bindings of any organization have roles of others, and a session is valid while the identity provider of any organization is.
  roles: 'reference',
  identity_providers: 'reference',
  // Each create reads those of the installation, which have no organization.
  resource_limits: 'reference',

  groups: byRoot,
  identities: byRoot,
  role_bindings: byRoot,
  repos: byRoot,
  external_group_role_mappings: byRoot,
  account_associations: byRoot,
  group_invites: byRoot,
  tags: byRoot,
  tag_digests: byRoot,
  repo_readmes: byRoot,
  deployments: byRoot,
  registry_settings: byRoot,
  advisories: byRoot,
  withdrawn_advisories: byRoot,
  advisory_postings: byRoot,
  advisory_posting_counts: byRoot,
  advisory_part_counts: byRoot,
  advisory_suffixes: byRoot,
  advisory_documents: byRoot,
  advisory_groups: byRoot,
  advisory_sources: byRoot,
  advisory_scores: byRoot,
  cve_blocks: byRoot,
  vulnerability_records: byRoot,
  record_segments: byRoot,
  record_blocks: byRoot,
  record_gaps: byRoot,
  record_index_changes: byRoot,
  advisory_feeds: byRoot,
  advisory_packages: byRoot,
  identity_metadata: byRoot,
  identity_organizations: byRoot,
  invited_organizations: byRoot,
  copying_organizations: byRoot,
  access_requests: byRoot,
  counts: byRoot,
  tombstones: byRoot,
  audit_events: byRoot,
  repo_blobs: byRoot,
  manifests: byRoot,
  manifest_references: byRoot,
  manifest_contents: byRoot,
  manifest_packages: byRoot,
  manifest_documents: byRoot,
  image_statements: byRoot,
  image_reports: byRoot,
  packages: byRoot,
  package_names: byRoot,
  package_findings: byRoot,
  vulnerability_ids: byRoot,
  vulnerability_facts: byRoot,
  finding_changes: byRoot,
  tag_findings: byRoot,
  scope_findings: byRoot,
  finding_history_changes: byRoot,
  uploads: byRoot,
  mails: byRoot,
  job_runs: byRoot,
  registry_usage: byRoot,
  usage_days: byRoot,
  repo_usage_days: byRoot,
  repo_policies: byRoot,
  policies: byRoot,
  policy_bindings: byRoot,
  policy_overrides: byRoot,
  policy_decisions: byRoot,
  policy_revisions: byRoot,
  signature_verifiers: byRoot,
  image_signatures: byRoot,
  signature_changes: byRoot,

  organization_names: 'reference',
  platform_bindings: 'reference',
  accounts: 'reference',

  // Written by requests of any organization, which must not fail with a server that has none of theirs.
  idempotency_keys: 'local',
  pending: 'local',
  guesses: 'local',
  rate_limits: 'local',
  signing_keys: 'local',
  settings: 'local',
  passkeys: 'local',
  sessions: 'local',
  session_groups: 'local',
  blobs: 'local',
  jobs: 'local',
  nodes: 'local',
  job_results: 'local',
  storage_runs: 'local',
  registry_runs: 'local',
}
