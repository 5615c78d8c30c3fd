import { rootOf, type Uid } from '../../api/uid.ts'
import { insertRows, readPages } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Reader, type Tx } from '../../storage/db.ts'
import { limitRoots, type NamedRoots } from '../../storage/list/named-roots.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { IdentityOrganizationRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'

/**
 * The organizations in which identities have role bindings, other than their own: there a distributed database reads their permissions
 * (ADR 86). The table never lacks an organization with a binding; it has others until garbage collection.
 *
 * In a distributed database, the two rows are on two servers, and become visible one after the other. So a binding is added under a lock of
 * its organization, which is on the server of the binding: garbage collection waits for it, and then sees the binding.
 */

/** Adds the organization of a group before identities are bound in it: one statement for all of them. */
export async function recordOrganization(
  db: Db,
  tx: Tx,
  group: Uid,
  identities: readonly string[],
): Promise<void> {
  const organization = rootOf(group)
  // In one order, so that two transactions that add the same rows do not deadlock.
  const others = [...new Set(identities)].filter((identity) => rootOf(identity) !== organization).sort()
  if (others.length === 0) return
  await lockResource(db, tx, 'groups', organization, 'share')
  const rows = others.map((identity) => ({ root: rootOf(identity), identity_uid: identity, organization }))
  await insertRows(db, tx, 'identity_organizations', rows, { ifAbsent: true })
}

/**
 * Returns the roots of all role bindings of an identity, for a statement on a distributed database. Undefined on one server, where nodes of
 * 0.6 add bindings without the organization.
 */
async function rootsOfBindings(db: Db, reader: Reader, identity: string): Promise<NamedRoots> {
  if (!(await db.rules.isDistributed(db))) return undefined
  const rows = await reader
    .selectFrom('identity_organizations')
    .select('organization')
    .where('root', '=', rootOf(identity))
    .where('identity_uid', '=', identity)
    .execute()
  return limitRoots([rootOf(identity), ...rows.map(({ organization }) => organization)])
}

/** Returns a query of the role bindings of an identity. */
export async function bindingsOf(db: Db, reader: Reader, identity: string) {
  const roots = await rootsOfBindings(db, reader, identity)
  const query = reader.selectFrom('role_bindings').where('identity_uid', '=', identity)
  return roots === undefined ? query : query.where('root', 'in', roots)
}

/** Deletes the organizations of an identity that is being deleted. */
export async function deleteIdentityOrganizations(tx: Tx, identity: string): Promise<void> {
  await tx
    .deleteFrom('identity_organizations')
    .where('root', '=', rootOf(identity))
    .where('identity_uid', '=', identity)
    .execute()
}

/** Finds rows of organizations in which the identity has no binding any more. */
export async function* findUnboundOrganizations(db: Db): AsyncGenerator<IdentityOrganizationRow> {
  for await (const rows of readPages<IdentityOrganizationRow>((after, limit) => readRows(db, after, limit)))
    yield* await withoutBindings(db.kysely, rows)
}

function readRows(
  db: Db,
  after: IdentityOrganizationRow | undefined,
  limit: number,
): Promise<IdentityOrganizationRow[]> {
  let query = db.kysely.selectFrom('identity_organizations').selectAll()
  if (after !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('root', 'identity_uid', 'organization'),
        '>',
        tuple(after.root, after.identity_uid, after.organization),
      ),
    )
  return query.orderBy('root').orderBy('identity_uid').orderBy('organization').limit(limit).execute()
}

async function withoutBindings(
  reader: Reader,
  rows: readonly IdentityOrganizationRow[],
): Promise<IdentityOrganizationRow[]> {
  if (rows.length === 0) return []
  const bound = await reader
    .selectFrom('role_bindings')
    .select(['root', 'identity_uid'])
    .distinct()
    .where(
      'root',
      'in',
      rows.map(({ organization }) => organization),
    )
    .where(
      'identity_uid',
      'in',
      rows.map(({ identity_uid }) => identity_uid),
    )
    .execute()
  const found = new Set(bound.map(({ root, identity_uid }) => `${root} ${identity_uid}`))
  return rows.filter(({ organization, identity_uid }) => !found.has(`${organization} ${identity_uid}`))
}

/** Deletes such a row, if it still is one. */
export async function deleteUnboundOrganization(
  { db }: Pick<Store, 'db'>,
  row: IdentityOrganizationRow,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    if (!(await lockVisibleOrganization(db, tx, row.organization))) return
    if ((await withoutBindings(tx, [row])).length === 0) return
    await tx
      .deleteFrom('identity_organizations')
      .where('root', '=', row.root)
      .where('identity_uid', '=', row.identity_uid)
      .where('organization', '=', row.organization)
      .execute()
  })
}

/**
 * Locks an organization until garbage collection has deleted what names it; it waits for transactions that add such rows. Returns false if
 * the organization has not become visible yet. A deleted organization never does, and needs no lock.
 */
export async function lockVisibleOrganization(db: Db, tx: Tx, organization: string): Promise<boolean> {
  if ((await lockResource(db, tx, 'groups', organization, 'update')) !== undefined) return true
  const deleted = await tx
    .selectFrom('tombstones')
    .select('uid')
    .where('root', '=', organization)
    .where('uid', '=', organization)
    .execute()
  return deleted.length > 0
}
