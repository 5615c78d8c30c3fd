import { ROOT_CHARS } from '../core/uid.ts'
import type { Db } from './db.ts'
import { runLongText, sqlText } from './sql-text.ts'
import type { Tables } from './tables.ts'

/**
 * What each table's rows belong to. A node of the previous version that runs beside this one deletes resources without the tables that it
 * does not know; garbage collection finds such rows by this list. TypeScript asks for an entry for every new table.
 */

/** What rows can belong to. An organization is a group without a parent. */
export type Owner = 'repos' | 'groups' | 'organizations' | 'identities' | 'tags'

/** `by`: the column with the owner's uid. */
export interface Belonging {
  readonly of: Owner
  readonly by: string
}

type Belongs =
  | Belonging
  /** Resources, and what is written and deleted together with one: every version knows both. */
  | 'resource'
  /** The installation itself, accounts and sign-in: they end by themselves, or never. */
  | 'installation'
  /** Records that outlive what they are about. */
  | 'record'

const ofRepo = (by: 'uid' | 'repo'): Belonging => ({ of: 'repos', by })
const ofGroup = (by: 'uid' | 'parent'): Belonging => ({ of: 'groups', by })
const ofOrganization: Belonging = { of: 'organizations', by: 'root' }

export const belongings: Readonly<Record<keyof Tables, Belongs>> = {
  groups: 'resource',
  identities: 'resource',
  roles: 'resource',
  role_bindings: 'resource',
  repos: 'resource',
  identity_providers: 'resource',
  external_group_role_mappings: 'resource',
  account_associations: 'resource',
  group_invites: 'resource',
  tags: 'resource',
  advisories: 'resource',
  advisory_postings: 'resource',
  advisory_posting_counts: 'resource',
  advisory_suffixes: 'resource',
  advisory_feeds: 'resource',
  withdrawn_advisories: ofGroup('parent'),
  advisory_part_counts: ofGroup('parent'),
  advisory_documents: ofGroup('parent'),
  advisory_groups: ofGroup('uid'),
  advisory_sources: ofGroup('parent'),
  advisory_scores: ofGroup('parent'),
  tag_digests: { of: 'tags', by: 'uid' },
  repo_readmes: ofRepo('uid'),
  deployments: ofRepo('uid'),
  repo_policies: ofRepo('uid'),
  uploads: ofRepo('repo'),
  manifests: ofRepo('repo'),
  manifest_references: ofRepo('repo'),
  repo_blobs: ofRepo('repo'),
  identity_metadata: { of: 'identities', by: 'uid' },
  registry_settings: ofOrganization,
  registry_usage: ofOrganization,
  resource_limits: ofOrganization,
  access_requests: ofOrganization,
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
  registry_runs: 'installation',
  settings: 'installation',
}

export interface Orphans {
  readonly table: keyof Tables
  readonly belonging: Belonging
  /** uid of the owner that does not exist. */
  readonly owner: string
}

const OWNERS_AT_ONCE = 500

/** Owners that rows name and that do not exist, table by table. */
export async function* orphans(db: Db): AsyncGenerator<Orphans> {
  for (const [table, belonging] of Object.entries(belongings) as [keyof Tables, Belongs][]) {
    if (typeof belonging === 'string') continue
    for (const owner of await missingOwners(db, table, belonging)) yield { table, belonging, owner }
  }
}

/** At most `OWNERS_AT_ONCE`: what is left waits for the next collection. */
async function missingOwners(db: Db, table: keyof Tables, { of, by }: Belonging): Promise<string[]> {
  const sql = sqlText(db.engine)
  // Shorter values stand for all organizations.
  const text = `select distinct t.${by} as owner from ${table} as t where length(t.${by}) >= ${ROOT_CHARS}
    and not exists (select 1 from ${of === 'organizations' ? 'groups' : of} as o
      where o.root = substr(t.${by}, 1, ${ROOT_CHARS}) and o.uid = t.${by}) limit ${sql.bind(OWNERS_AT_ONCE)}`
  const rows = await runLongText<{ owner: string }>(db, text, sql)
  return rows.map(({ owner }) => owner)
}
