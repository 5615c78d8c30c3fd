import { type ColumnUpdateNode, type OperationNode, type RootOperationNode, TableNode } from 'kysely'
import type { Tables } from './tables.ts'

/**
 * Which writes of a table can change what callers may do, or how much they may create: `Db.version('access')` changes with them.
 * TypeScript requires an entry for every new table.
 */
export interface AccessWrites<T extends keyof Tables = keyof Tables> {
  readonly insert?: boolean
  readonly delete?: boolean
  /** Columns whose update changes access; `all`: any of them. */
  readonly update?: 'all' | readonly (keyof Tables[T])[]
}

const none: AccessWrites = {}
const all: AccessWrites = { insert: true, delete: true, update: 'all' }

export const accessWrites: { readonly [T in keyof Tables]: AccessWrites<T> } = {
  groups: { update: ['status'] },
  identities: { insert: true, delete: true, update: ['registered_through'] },
  roles: all,
  role_bindings: all,
  platform_bindings: all,
  external_group_role_mappings: { insert: true, delete: true },
  identity_providers: { delete: true },
  resource_limits: { insert: true, delete: true },
  // Whether an account is disabled.
  accounts: { update: 'all' },
  // No request has used a new session yet, and a session that is used keeps its access.
  sessions: { delete: true },
  session_groups: { insert: true, delete: true },
  organization_names: none,
  repos: none,
  account_associations: none,
  group_invites: none,
  tags: none,
  tag_digests: none,
  repo_readmes: none,
  deployments: none,
  registry_settings: none,
  advisories: none,
  withdrawn_advisories: none,
  advisory_postings: none,
  advisory_posting_counts: none,
  advisory_part_counts: none,
  advisory_suffixes: none,
  advisory_documents: none,
  advisory_groups: none,
  advisory_sources: none,
  advisory_scores: none,
  cve_blocks: none,
  vulnerability_records: none,
  record_segments: none,
  record_blocks: none,
  record_gaps: none,
  record_index_changes: none,
  advisory_feeds: none,
  identity_metadata: none,
  // Names where to look for bindings, which are written with it.
  identity_organizations: none,
  invited_organizations: none,
  copying_organizations: none,
  access_requests: none,
  idempotency_keys: none,
  counts: none,
  tombstones: none,
  audit_events: none,
  signing_keys: none,
  passkeys: none,
  pending: none,
  guesses: none,
  blobs: none,
  repo_blobs: none,
  manifests: none,
  manifest_references: none,
  manifest_contents: none,
  manifest_packages: none,
  manifest_documents: none,
  image_statements: none,
  image_reports: none,
  packages: none,
  advisory_packages: none,
  package_names: none,
  package_findings: none,
  vulnerability_ids: none,
  vulnerability_facts: none,
  finding_changes: none,
  tag_findings: none,
  scope_findings: none,
  finding_history_changes: none,
  uploads: none,
  jobs: none,
  mails: none,
  nodes: none,
  job_results: none,
  storage_runs: none,
  job_runs: none,
  registry_runs: none,
  registry_usage: none,
  usage_days: none,
  repo_usage_days: none,
  repo_policies: none,
  policies: none,
  policy_bindings: none,
  policy_overrides: none,
  policy_decisions: none,
  policy_revisions: none,
  signature_verifiers: none,
  image_signatures: none,
  signature_changes: none,
  settings: none,
}

/** Whether a statement can change access. Raw SQL that writes and names a table of access counts as such a statement. */
export function touchesAccess(query: RootOperationNode, text: string): boolean {
  switch (query.kind) {
    case 'SelectQueryNode':
      return false
    case 'InsertQueryNode': {
      const updates = query.onConflict?.updates ?? []
      return writesAny([query.into], ({ insert }) => insert === true) || updatesAny([query.into], updates)
    }
    case 'DeleteQueryNode':
      return writesAny(query.from.froms, (writes) => writes.delete === true)
    case 'UpdateQueryNode':
      return updatesAny([query.table], query.updates ?? [])
    default:
      return namesTableOfAccess(text)
  }
}

/** Tables that are not known by name count as tables of access. */
function writesAny(
  tables: readonly (OperationNode | undefined)[],
  test: (writes: AccessWrites) => boolean,
): boolean {
  return tables.some((node) => {
    const name = node !== undefined && TableNode.is(node) ? node.table.identifier.name : undefined
    const writes = name === undefined ? undefined : accessWritesOf(name)
    return writes === undefined || test(writes)
  })
}

function updatesAny(
  tables: readonly (OperationNode | undefined)[],
  updates: readonly ColumnUpdateNode[],
): boolean {
  return writesAny(
    tables,
    ({ update }) =>
      update === 'all' ||
      updates.some(({ column }) => {
        const name = columnName(column)
        return update !== undefined && (name === undefined || (update as readonly string[]).includes(name))
      }),
  )
}

function columnName(node: OperationNode): string | undefined {
  if (node.kind === 'ReferenceNode') return columnName((node as unknown as { column: OperationNode }).column)
  return node.kind === 'ColumnNode'
    ? (node as unknown as { column: { name: string } }).column.name
    : undefined
}

function accessWritesOf(table: string): AccessWrites | undefined {
  if (Object.hasOwn(accessWrites, table)) return accessWrites[table as keyof Tables] as AccessWrites
  return tablesWithoutRows.has(table) ? none : undefined
}

/** Tables of the migrator and of restores, which `Tables` does not have. */
const tablesWithoutRows = new Set(['migrations', 'migrations_lock'])

const tablesOfAccess = Object.entries(accessWrites).flatMap(([table, writes]) =>
  Object.keys(writes).length > 0 ? [table] : [],
)
const nameOfAccess = new RegExp(`\\b(?:${tablesOfAccess.join('|')})\\b`, 'i')

function namesTableOfAccess(text: string): boolean {
  return nameOfAccess.test(text)
}
