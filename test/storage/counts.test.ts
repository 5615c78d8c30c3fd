import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { descendantRange, subtreeRange, type UidRange } from '@berth/server/api/uid.ts'
import { rangeCountSql, recount, skipByBuckets } from '@berth/server/storage/counts/row-counts.ts'
import type { Db } from '@berth/server/storage/db.ts'
import { runText, sqlText } from '@berth/server/storage/sql-text.ts'
import fc from 'fast-check'
import { runProperty } from '../support/api/paging.ts'
import {
  deleteAll,
  deleteRow,
  hierarchies,
  insertHierarchy,
  insertMany,
  insertOne,
} from '../support/database/hierarchy.ts'
import { onEveryEngine } from '../support/database/storage.ts'

const collection = 'repos'
const sizes = { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 }

async function counted(db: Db, range: UidRange): Promise<number> {
  const sql = sqlText(db.engine)
  const rows = await runText<{ n: number }>(db, `select ${rangeCountSql(sql, collection, range)} as n`, sql)
  return Number(rows[0]?.n)
}

async function uids(db: Db): Promise<string[]> {
  return (await db.kysely.selectFrom(collection).select('uid').execute()).map(({ uid }) => uid).sort()
}

const within =
  ({ from, to }: UidRange) =>
  (uid: string) =>
    uid >= from && uid < to

async function buckets(db: Db) {
  return db.kysely
    .selectFrom('counts')
    .selectAll()
    .where('collection', '=', collection)
    .orderBy('root')
    .orderBy('start')
    .execute()
}

/** Every bucket holds what it says, and every range the sum of it. */
async function assertExact(db: Db, groups: readonly string[]): Promise<void> {
  const all = await uids(db)
  const known = await buckets(db)
  for (const [at, { root, start, n }] of known.entries()) {
    const next = known[at + 1]
    const to = next?.root === root ? next.start : `${root}0`
    assert.equal(n, all.filter(within({ from: start, to })).length, `bucket ${start}`)
  }
  const ranges = [
    subtreeRange(''),
    ...groups.flatMap((group) => [subtreeRange(group), descendantRange(group)]),
    ...all.slice(0, 8).map((uid) => ({ from: `${uid}!`, to: `${uid.slice(0, 40)}0` })),
    ...all.slice(0, 8).map((uid) => ({ from: uid.slice(0, 40), to: uid })),
  ]
  for (const range of ranges)
    assert.equal(await counted(db, range), all.filter(within(range)).length, JSON.stringify(range))
}

onEveryEngine(
  'counters',
  (opened) => {
    test('every range count is the count of its rows, after any inserts and deletes', () =>
      runProperty(
        fc.tuple(hierarchies({ groups: 8, rows: 8 }), fc.array(fc.nat(1000), { maxLength: 30 })),
        async ([nodes, changes]) => {
          const db = opened()
          const groups = await insertHierarchy(db, collection, nodes)
          try {
            await assertExact(db, groups)
            for (const change of changes) {
              const mine = await uids(db)
              const victim = mine[change % Math.max(1, mine.length)]
              if (change % 3 > 0 && victim !== undefined) await deleteRow(db, collection, victim)
              else await insertOne(db, collection, groups[change % groups.length] as string)
            }
            await assertExact(db, groups)
            await recount(db, collection)
            await assertExact(db, groups)
          } finally {
            await deleteAll(db, groups)
          }
        },
        10,
      ))

    test('a growing bucket is split, and none exceeds its maximum', async () => {
      const db = opened()
      const [group = ''] = await insertHierarchy(db, collection, [{ parentIndex: undefined, rows: [] }])
      for (let n = 0; n < 40; n++) await insertOne(db, collection, group)
      const held = await buckets(db)
      assert.ok(held.length >= 10)
      assert.deepEqual(
        held.filter(({ n }) => n > sizes.bucketRowsMax),
        [],
      )
      await assertExact(db, [group])
      for (const uid of await uids(db)) await deleteRow(db, collection, uid)
      assert.ok((await buckets(db)).every(({ n }) => n === 0))
      await insertOne(db, collection, group)
      await assertExact(db, [group])
      await deleteAll(db, [group])
    })

    test('rows that are written together are counted together, in any buckets', async () => {
      const db = opened()
      const groups = await insertHierarchy(db, collection, [
        { parentIndex: undefined, rows: [] },
        { parentIndex: 0, rows: [] },
        { parentIndex: 0, rows: [] },
      ])
      let round = 0
      for (const count of [1, 3, 40, 0, 11, 2]) {
        // Names differ within a group.
        await insertMany(db, collection, groups, count, `${round++}`)
        await assertExact(db, groups)
        assert.ok((await buckets(db)).every(({ n }) => n <= sizes.bucketRowsMax))
      }
      await deleteAll(db, groups)
    })

    test('a skip by buckets stops at most one bucket before its row, up and down', async () => {
      const db = opened()
      const [group = '', child = ''] = await insertHierarchy(db, collection, [
        { parentIndex: undefined, rows: Array.from({ length: 15 }, () => ({ created: 0, updated: 0 })) },
        { parentIndex: 0, rows: Array.from({ length: 15 }, () => ({ created: 0, updated: 0 })) },
      ])
      for (const range of [subtreeRange(''), subtreeRange(group), descendantRange(child)]) {
        const all = (await uids(db)).filter(within(range))
        for (let skip = 0; skip <= all.length + 2; skip++) {
          for (const descending of [false, true]) {
            const { from, remaining } = await skipByBuckets(db, collection, range, skip, descending)
            const left = descending
              ? all.filter((uid) => uid < from).reverse()
              : all.filter((uid) => uid >= from)
            const wanted = descending ? all.toReversed().slice(skip) : all.slice(skip)
            assert.deepEqual(left.slice(remaining), wanted, `${skip} ${descending}`)
            assert.ok(remaining <= sizes.bucketRowsMax)
          }
        }
      }
      await deleteAll(db, [group])
    })

    test('concurrent writers leave every counter exact', async () => {
      const db = opened()
      for (let round = 0; round < 5; round++) {
        // An organization that has no bucket yet, so that the first ones meet there, too.
        const group = randomBytes(20).toString('hex')
        const planted = await Promise.all(Array.from({ length: 24 }, () => insertOne(db, collection, group)))
        await assertExact(db, [group])
        await Promise.all(
          planted.map(async (uid, at) => {
            if (at % 2 === 0) await deleteRow(db, collection, uid)
            else await Promise.all([insertOne(db, collection, group), insertOne(db, collection, group)])
          }),
        )
        await assertExact(db, [group])
        assert.equal((await uids(db)).length, 36)
        await deleteAll(db, [group])
      }
    })
  },
  sizes,
)
