import { rootOf } from '../../../api/uid.ts'
import { readPages, upsertRows } from '../../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Reader, type Tx } from '../../../storage/db.ts'
import { limitRoots, type NamedRoots } from '../../../storage/list/named-roots.ts'
import type { CopyingOrganizationRow } from '../../../storage/schema/tables.ts'
import type { Store } from '../../../storage/store.ts'

/**
 * The other organizations that have copies of a repo: there a distributed database finds them (ADR 114). The table never lacks such an
 * organization; it has others until garbage collection.
 *
 * In a distributed database, a copy and the row of its source are on two servers, and become visible one after the other. So there is a second
 * row on the server of the copy. Each transaction that adds a copy, or must see all of them, writes it first, and thereby waits for the
 * others.
 */

type Pair = Pick<CopyingOrganizationRow, 'source' | 'organization'>

/** Adds the organization of a repo before it copies `source`. */
export async function recordCopyingOrganization(db: Db, tx: Tx, repo: string, source: string): Promise<void> {
  const pair = { source, organization: rootOf(repo) }
  if (pair.organization === rootOf(source)) return
  await lockPair(db, tx, pair)
  await write(db, tx, { root: rootOf(source), ...pair })
}

/** Until the transaction ends, no other one adds copies of the repo to the organization, or deletes the row of its source. */
async function lockPair(db: Db, tx: Tx, pair: Pair): Promise<void> {
  await write(db, tx, { root: pair.organization, ...pair })
}

/** Waits for other transactions that write the row or delete it, also if it is not visible yet. */
async function write(db: Db, tx: Tx, row: CopyingOrganizationRow): Promise<void> {
  await upsertRows(db, tx, 'copying_organizations', [row], {
    key: ['root', 'source', 'organization'],
    values: ['organization'],
  })
}

/**
 * Waits for transactions that add copies of a locked repo, and returns the roots of all its copies, for a statement on a distributed database.
 * Undefined if there are too many for a statement, and on one server, where nodes of 0.6 add copies without the organization.
 */
export async function readRootsOfCopies(db: Db, tx: Tx, source: string): Promise<NamedRoots> {
  if (!(await db.rules.isDistributed(db))) return undefined
  const rows = await tx
    .selectFrom('copying_organizations')
    .select('organization')
    .where('root', '=', rootOf(source))
    .where('source', '=', source)
    .orderBy('organization')
    .execute()
  for (const { organization } of rows) await lockPair(db, tx, { source, organization })
  return limitRoots([rootOf(source), ...rows.map(({ organization }) => organization)])
}

/** Finds rows of organizations that have no copy of the repo any more. */
export async function* findOrganizationsWithoutCopies(db: Db): AsyncGenerator<CopyingOrganizationRow> {
  for await (const rows of readPages<CopyingOrganizationRow>((after, limit) => readRows(db, after, limit)))
    yield* await withoutCopies(db.kysely, rows)
}

function readRows(
  db: Db,
  after: CopyingOrganizationRow | undefined,
  limit: number,
): Promise<CopyingOrganizationRow[]> {
  // Not the second row of each, which is deleted with it.
  let query = db.kysely.selectFrom('copying_organizations').selectAll().whereRef('root', '<>', 'organization')
  if (after !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('root', 'source', 'organization'),
        '>',
        tuple(after.root, after.source, after.organization),
      ),
    )
  return query.orderBy('root').orderBy('source').orderBy('organization').limit(limit).execute()
}

async function withoutCopies<P extends Pair>(reader: Reader, pairs: readonly P[]): Promise<P[]> {
  if (pairs.length === 0) return []
  const organizations = pairs.map(({ organization }) => organization)
  const sources = pairs.map(({ source }) => source)
  const copied = await reader
    .selectFrom('repos')
    .select(['root', 'source'])
    .distinct()
    .where('root', 'in', organizations)
    .where('source', 'in', sources)
    .execute()
  const found = new Set(copied.map(({ root, source }) => `${root} ${source}`))
  return pairs.filter(({ organization, source }) => !found.has(`${organization} ${source}`))
}

/** Deletes both rows of a repo and an organization, if it still has no copy. */
export async function deleteOrganizationWithoutCopies(
  { db }: Pick<Store, 'db'>,
  { source, organization }: Pair,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lockPair(db, tx, { source, organization })
    if ((await withoutCopies(tx, [{ source, organization }])).length === 0) return
    await tx
      .deleteFrom('copying_organizations')
      .where('root', 'in', [rootOf(source), organization])
      .where('source', '=', source)
      .where('organization', '=', organization)
      .execute()
  })
}
