import { ROOT_CHARS } from '../../api/uid.ts'
import type { Db } from '../db.ts'
import { runLongText, sqlText } from '../sql-text.ts'
import { type ResourceTable, resourceTables, type Tables } from './tables.ts'

/**
 * The owners of the rows of each table. A node of the previous version that runs beside this one deletes resources without their rows in tables
 * that it does not know; garbage collection finds those by this list. TypeScript requires an entry for every new table.
 */

/** Owners of rows. An organization is a group without a parent. */
export type OwnerTable = 'repos' | 'groups' | 'organizations' | 'identities' | 'tags'

/** `column`: contains the uid of the owner. */
export interface Ownership {
  readonly ownerTable: OwnerTable
  readonly column: string
}

type TableOwnership =
  | Ownership
  /** Resources, and rows that are written and deleted together with one: every version knows both. */
  | 'resource'
  /** Rows of the installation, of accounts and of sign-in: they expire, or stay. */
  | 'installation'
  /** Records that stay after their subject is deleted. */
  | 'record'
  /** Rows for which garbage collection has a step of its own. */
  | 'collected'

const ownedByRepo = (by: 'uid' | 'repo'): Ownership => ({ ownerTable: 'repos', column: by })
const ownedByGroup = (by: 'uid' | 'parent'): Ownership => ({ ownerTable: 'groups', column: by })
const ownedByOrganization: Ownership = { ownerTable: 'organizations', column: 'root' }

const ownershipOfOthers: Readonly<Record<Exclude<keyof Tables, ResourceTable>, TableOwnership>> = {
  advisory_postings: 'resource',
  advisory_posting_counts: 'resource',
  advisory_suffixes: 'resource',
  withdrawn_advisories: ownedByGroup('parent'),
  advisory_part_counts: ownedByGroup('parent'),
  advisory_documents: ownedByGroup('parent'),
  advisory_groups: ownedByGroup('uid'),
  advisory_sources: ownedByGroup('parent'),
  advisory_scores: ownedByGroup('parent'),
  cve_blocks: ownedByGroup('parent'),
  vulnerability_records: ownedByGroup('parent'),
  record_segments: ownedByGroup('parent'),
  record_blocks: ownedByGroup('parent'),
  record_gaps: ownedByGroup('parent'),
  record_index_changes: ownedByGroup('parent'),
  tag_digests: { ownerTable: 'tags', column: 'uid' },
  repo_readmes: ownedByRepo('uid'),
  deployments: ownedByRepo('uid'),
  repo_policies: ownedByRepo('uid'),
  image_signatures: ownedByRepo('repo'),
  // Of a repo, or of a group whose verifiers changed.
  signature_changes: ownedByOrganization,
  uploads: ownedByRepo('repo'),
  manifests: ownedByRepo('repo'),
  manifest_references: ownedByRepo('repo'),
  manifest_contents: ownedByRepo('repo'),
  manifest_packages: ownedByOrganization,
  manifest_documents: ownedByOrganization,
  image_statements: ownedByOrganization,
  image_reports: ownedByOrganization,
  packages: ownedByOrganization,
  advisory_packages: 'resource',
  package_names: ownedByOrganization,
  package_findings: ownedByOrganization,
  vulnerability_ids: ownedByOrganization,
  vulnerability_facts: ownedByOrganization,
  finding_changes: ownedByOrganization,
  tag_findings: { ownerTable: 'tags', column: 'tag' },
  // Of a repo or of a group.
  scope_findings: ownedByOrganization,
  finding_history_changes: ownedByOrganization,
  repo_blobs: ownedByRepo('repo'),
  policies: ownedByGroup('parent'),
  // In a group or in a repo.
  policy_bindings: ownedByOrganization,
  policy_overrides: ownedByOrganization,
  policy_decisions: ownedByOrganization,
  policy_revisions: ownedByOrganization,
  identity_metadata: { ownerTable: 'identities', column: 'uid' },
  identity_organizations: { ownerTable: 'identities', column: 'identity_uid' },
  invited_organizations: 'collected',
  copying_organizations: 'collected',
  registry_settings: ownedByOrganization,
  registry_usage: ownedByOrganization,
  usage_days: ownedByOrganization,
  repo_usage_days: ownedByRepo('repo'),
  // Of a feed or of a repo.
  job_runs: ownedByOrganization,
  resource_limits: ownedByOrganization,
  access_requests: ownedByOrganization,
  counts: 'record',
  tombstones: 'record',
  audit_events: 'record',
  idempotency_keys: 'record',
  platform_bindings: 'installation',
  organization_names: 'installation',
  signing_keys: 'installation',
  accounts: 'installation',
  passkeys: 'installation',
  sessions: 'installation',
  session_groups: 'installation',
  pending: 'installation',
  guesses: 'installation',
  blobs: 'installation',
  jobs: 'installation',
  mails: 'installation',
  nodes: 'installation',
  job_results: 'installation',
  storage_runs: 'installation',
  registry_runs: 'installation',
  settings: 'installation',
}

export const tableOwnership: Readonly<Record<keyof Tables, TableOwnership>> = {
  ...(Object.fromEntries(resourceTables.map((table) => [table, 'resource'])) as Record<
    ResourceTable,
    'resource'
  >),
  ...ownershipOfOthers,
}

export interface OrphanedRows {
  readonly table: keyof Tables
  readonly ownership: Ownership
  /** uid of the owner that does not exist. */
  readonly owner: string
}

const OWNERS_PER_TABLE_MAX = 500

/** Finds owners that rows name and that do not exist, table by table. */
export async function* findOrphanedRows(db: Db): AsyncGenerator<OrphanedRows> {
  for (const [table, belonging] of Object.entries(tableOwnership) as [keyof Tables, TableOwnership][]) {
    if (typeof belonging === 'string') continue
    for (const owner of await missingOwners(db, table, belonging))
      yield { table, ownership: belonging, owner }
  }
}

/** Finds at most `OWNERS_PER_TABLE_MAX`; the next garbage collection finds more. */
async function missingOwners(
  db: Db,
  table: keyof Tables,
  { ownerTable: of, column: by }: Ownership,
): Promise<string[]> {
  const sql = sqlText(db.engine)
  // Shorter values mean all organizations.
  // A distributed database does not accept `not exists` for a table that every server has.
  const text = `select distinct t.${by} as owner from ${table} as t
    left join ${of === 'organizations' ? 'groups' : of} as o on o.root = t.root and o.uid = t.${by}
    where length(t.${by}) >= ${ROOT_CHARS} and t.root = substr(t.${by}, 1, ${ROOT_CHARS}) and o.uid is null
    limit ${sql.bind(OWNERS_PER_TABLE_MAX)}`
  const rows = await runLongText<{ owner: string }>(db, text, sql)
  return rows.map(({ owner }) => owner)
}
