import { descendantRange, rootOf } from '../../../api/uid.ts'
import { lockVisibleOrganization } from '../../../iam/identities/organizations.ts'
import { insertRows } from '../../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Reader, type Tx } from '../../../storage/db.ts'
import { limitRoots, type NamedRoots } from '../../../storage/list/named-roots.ts'
import { lockResource } from '../../../storage/resource-rows.ts'
import type { CopyingOrganizationRow } from '../../../storage/schema/tables.ts'
import type { Store } from '../../../storage/store.ts'

/**
 * The organizations that have copies of repos of another one: there a distributed database finds the copies of a repo (ADR 114). The table never
 * lacks such an organization, for the same reason as `identity_organizations`; it has others until garbage collection.
 */

/** Adds the organization of a repo before it copies `source`. */
export async function recordCopyingOrganization(db: Db, tx: Tx, repo: string, source: string): Promise<void> {
  const [organization, root] = [rootOf(repo), rootOf(source)]
  if (organization === root) return
  await lockResource(db, tx, 'groups', organization, 'share')
  await insertRows(db, tx, 'copying_organizations', [{ root, organization }], { ifAbsent: true })
}

/**
 * Returns the roots of all copies of a repo, for a statement on a distributed database, and waits for transactions that add copies there.
 * Undefined on one server, where nodes of 0.6 add copies without the organization.
 */
export async function lockRootsOfCopies(db: Db, tx: Tx, source: string): Promise<NamedRoots> {
  if (!(await db.rules.isDistributed(db))) return undefined
  const rows = await tx
    .selectFrom('copying_organizations')
    .select('organization')
    .where('root', '=', rootOf(source))
    .orderBy('organization')
    .execute()
  // A transaction that has added a copy may have committed on the server of the source, and not yet on that of the copy.
  for (const { organization } of rows) await lockResource(db, tx, 'groups', organization, 'update')
  return limitRoots([rootOf(source), ...rows.map(({ organization }) => organization)])
}

const ROWS_PER_READ = 500

/** Finds rows of organizations that have no copy of a repo of the other one any more. */
export async function* findOrganizationsWithoutCopies(db: Db): AsyncGenerator<CopyingOrganizationRow> {
  for (let after: CopyingOrganizationRow | undefined; ; ) {
    const rows = await readRows(db, after)
    for (const row of rows) if (!(await hasCopies(db.kysely, row))) yield row
    if (rows.length < ROWS_PER_READ) return
    after = rows.at(-1)
  }
}

function readRows(db: Db, after: CopyingOrganizationRow | undefined): Promise<CopyingOrganizationRow[]> {
  let query = db.kysely.selectFrom('copying_organizations').selectAll()
  if (after !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('root', 'organization'), '>', tuple(after.root, after.organization)),
    )
  return query.orderBy('root').orderBy('organization').limit(ROWS_PER_READ).execute()
}

async function hasCopies(reader: Reader, { root, organization }: CopyingOrganizationRow): Promise<boolean> {
  const { from, to } = descendantRange(root)
  const copy = await reader
    .selectFrom('repos')
    .select('uid')
    .where('root', '=', organization)
    .where('source', '>=', from)
    .where('source', '<', to)
    .limit(1)
    .executeTakeFirst()
  return copy !== undefined
}

/** Deletes such a row, if it still is one. */
export async function deleteOrganizationWithoutCopies(
  { db }: Pick<Store, 'db'>,
  row: CopyingOrganizationRow,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    if (!(await lockVisibleOrganization(db, tx, row.organization))) return
    if (await hasCopies(tx, row)) return
    await tx
      .deleteFrom('copying_organizations')
      .where('root', '=', row.root)
      .where('organization', '=', row.organization)
      .execute()
  })
}
