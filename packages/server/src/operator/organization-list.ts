import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { sql } from 'kysely'
import type { CursorValue } from '../api/page-tokens.ts'
import type { ResourceLimits } from '../api/resource-limits.ts'
import { limits } from '../config/limits.ts'
import { managedRoleByName } from '../iam/managed-roles.ts'
import { readUsageOf } from '../registry/quota/usage.ts'
import { readCountsOf, readOwnLimits } from '../storage/counts/resource-limits.ts'
import { readIdentityRoots } from '../storage/list/named-roots.ts'
import type { Store } from '../storage/store.ts'

/** Organizations for operators: owners, usage and limits of a page, in a constant number of statements. */

export interface OrganizationOverview {
  readonly uid: string
  readonly name: string
  readonly isSuspended: boolean
  readonly createdMs: number
  readonly owners: readonly OwnerRow[]
  /** Number of resources by kind. */
  readonly usage: ResourceLimits
  readonly ownLimits: ResourceLimits
}

interface OwnerRow {
  readonly organization: string
  readonly uid: string
  readonly name: string
  readonly email: string
}

export interface OrganizationFilter {
  /** Part of the name, or the uid; '' for all. */
  readonly query?: string
  readonly suspended?: boolean
  /** uid of one organization. */
  readonly uid?: string
}

const MIB = 1024 * 1024

/** Lists organizations by name. */
export async function listOrganizations(
  { db }: Pick<Store, 'db'>,
  { query = '', suspended = false, uid }: OrganizationFilter,
  { max, after }: { readonly max: number; readonly after?: readonly CursorValue[] | undefined },
): Promise<readonly OrganizationOverview[]> {
  let rowsQuery = db.kysely
    .selectFrom('organization_names as o')
    .innerJoin('groups as g', (join) => join.onRef('g.root', '=', 'o.uid').onRef('g.uid', '=', 'o.uid'))
    .select(['o.uid', 'o.name', 'g.status', 'g.created_ms'])
  if (uid !== undefined) rowsQuery = rowsQuery.where('o.uid', '=', uid)
  if (query !== '') {
    const like = `%${query.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
    rowsQuery = rowsQuery.where((row) =>
      row.or([sql<boolean>`o.name like ${like} escape '\\'`, row('o.uid', '=', query)]),
    )
  }
  if (suspended) rowsQuery = rowsQuery.where('g.status', '=', OrgStatus.SUSPENDED)
  const [last] = after ?? []
  if (last !== undefined) rowsQuery = rowsQuery.where('o.name', '>', String(last))
  const rows = await rowsQuery.orderBy('o.name').limit(max).execute()

  const uids = rows.map((row) => row.uid)
  const counts = await readCountsOf(db.kysely, uids)
  const usages = await readUsageOf(db.kysely, uids)
  const ownLimits = await readOwnLimits(db.kysely, uids)
  const owners = await readOwners(db, uids)
  return rows.map(({ uid, name, status, created_ms }) => {
    const { manifests = 0, bytes = 0 } = usages.get(uid) ?? {}
    return {
      uid,
      name,
      isSuspended: status === OrgStatus.SUSPENDED,
      createdMs: Number(created_ms),
      owners: owners.filter(({ organization }) => organization === uid),
      usage: {
        ...Object.fromEntries(counts.get(uid) ?? []),
        manifests,
        storage_mib: Math.ceil(bytes / MIB),
      },
      ownLimits: ownLimits.get(uid) ?? {},
    }
  })
}

/** Reads the first owners of each organization. */
async function readOwners(db: Store['db'], uids: readonly string[]): Promise<readonly OwnerRow[]> {
  const owner = managedRoleByName.get('owner')?.uid ?? ''
  if (uids.length === 0) return []
  const roots = await readIdentityRoots(
    db,
    (text) => `select identity_uid from role_bindings
      where root in (${text.bindAll(uids)}) and parent in (${text.bindAll(uids)}) and role_uid = ${text.bind(owner)}`,
  )
  const numbered = db.kysely
    .selectFrom('role_bindings as b')
    .select(['b.parent as organization', 'b.identity_uid'])
    .select(sql<number>`row_number() over (partition by b.parent order by b.uid)`.as('position'))
    .where('b.root', 'in', uids)
    .where('b.parent', 'in', uids)
    .where('b.role_uid', '=', owner)
  return db.kysely
    .selectFrom(numbered.as('n'))
    .innerJoin('identities as i', (join) =>
      join
        .on('i.root', '=', sql<string>`substr(n.identity_uid, 1, 40)`)
        .onRef('i.uid', '=', 'n.identity_uid'),
    )
    .select(['n.organization', 'i.uid', 'i.name', 'i.email'])
    .where('n.position', '<=', limits.ownersShownMax)
    .$if(roots !== undefined, (query) => query.where('i.root', 'in', roots ?? []))
    .orderBy('n.organization')
    .orderBy('n.position')
    .execute()
}
