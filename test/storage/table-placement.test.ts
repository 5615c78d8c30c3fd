import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Db } from '@berth/server/storage/db.ts'
import { migrate, migrateTo, migrations } from '@berth/server/storage/schema/migrate.ts'
import { tableHomes } from '@berth/server/storage/schema/table-homes.ts'
import { sql } from 'kysely'
import { selectedCluster } from '../support/database/databases.ts'

/** Tables of a distributed database, which migrations create on the coordinator. */

const names = Object.keys(migrations)
/** Later migrations change placed tables. */
const FIRST_PLACED = '0027-signature-changes'
const root = 'a'.repeat(40)
const ORGANIZATIONS = 20

async function countRows(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ n: string }>`select count(*) as n from ${sql.table(table)}`.execute(db.kysely)
  return Number(rows[0]?.n)
}

/** Bytes of the rows that are on the coordinator outside of shards. */
async function localBytes(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ n: string }>`select pg_relation_size(${table}::regclass) as n`.execute(
    db.kysely,
  )
  return Number(rows[0]?.n)
}

async function shardIds(db: Db): Promise<string[]> {
  const { rows } = await sql<{
    id: string
  }>`select shardid::text as id from pg_dist_shard order by 1`.execute(db.kysely)
  return rows.map(({ id }) => id)
}

const skip = selectedCluster === undefined && 'no Citus cluster is selected'

describe('tables of a distributed database', { skip }, () => {
  const openEmpty = (): Promise<Db> => {
    if (selectedCluster?.openEmpty === undefined) throw new Error('no cluster')
    return selectedCluster.openEmpty()
  }

  test('rows that exist move to the servers, later migrations change placed tables, and nothing is placed twice', async (t) => {
    const db = await openEmpty()
    t.after(() => db.close())
    await migrateTo(db, FIRST_PLACED)
    for (let at = 0; at < ORGANIZATIONS; at++) {
      const uid = `${at.toString(16).padStart(2, '0')}${root.slice(2)}`
      const common = {
        root: uid,
        uid,
        parent: '',
        created_ms: 1,
        updated_ms: 1,
        name: `org-${at}`,
        description: '',
      }
      await db.kysely
        .insertInto('groups')
        .values({ ...common, verified: 0, kind: 0, status: 0 })
        .execute()
      await db.kysely
        .insertInto('roles')
        .values({ ...common, parent: uid, uid: `${uid}/1`, capabilities: '[]' })
        .execute()
      await db.kysely.insertInto('organization_names').values({ name: common.name, uid }).execute()
    }
    await db.kysely
      .insertInto('blobs')
      .values({ digest: 'sha256:0', size: 1, location: 'x', created_ms: 1 })
      .execute()
    const tag = { root, uid: `${root}/1/2`, parent: `${root}/1`, created_ms: 1, updated_ms: 1 }
    await db.kysely
      .insertInto('tags')
      .values({ ...tag, name: 'one', digest: 'sha256:0', forms: 0, deprecated: 0, bundles: '[]' } as never)
      .execute()
    await db.rules.placeTables(db)
    for (const table of ['groups', 'roles', 'organization_names', 'tags'] as const)
      assert.equal(await localBytes(db, table), 0, table)
    assert.ok((await localBytes(db, 'blobs')) > 0)
    const shards = await sql<{ n: string }>`select count(distinct nodeport) as n from citus_shards
      where table_name = 'groups'::regclass`.execute(db.kysely)
    assert.equal(Number(shards.rows[0]?.n), 2)

    assert.deepEqual(await migrate(db), names.slice(names.indexOf(FIRST_PLACED) + 1))
    for (const table of ['groups', 'roles', 'organization_names'] as const)
      assert.equal(await countRows(db, table), ORGANIZATIONS, table)
    // The migrations copy the tag and the groups from tables that were placed before.
    assert.equal(await countRows(db, 'finding_history_changes'), 1 + ORGANIZATIONS)
    assert.equal(await countRows(db, 'blobs'), 1)

    const homes = Object.values(tableHomes)
    const count = (isHome: (home: (typeof homes)[number]) => boolean) => homes.filter(isHome).length
    assert.deepEqual(await db.rules.countPlacedTables(db), {
      distributed: count((home) => typeof home === 'object'),
      reference: count((home) => home === 'reference'),
      local: count((home) => home === 'local'),
    })
    const before = await shardIds(db)
    assert.deepEqual(await migrate(db), [])
    assert.deepEqual(await shardIds(db), before)
  })

  test('nodes that start together place each table once', async (t) => {
    const db = await openEmpty()
    t.after(() => db.close())
    const [one, other] = await Promise.all([migrate(db), migrate(db)])
    assert.deepEqual([...(one ?? []), ...(other ?? [])].sort(), names)
    assert.equal(
      (await db.rules.countPlacedTables(db))?.reference,
      Object.values(tableHomes).filter((home) => home === 'reference').length,
    )
  })
})
