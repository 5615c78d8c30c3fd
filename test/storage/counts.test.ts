import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { rangeBelow, rangeFrom, type UidRange } from '../../src/core/uid.ts'
import { rangeCount, recount, skipByBuckets } from '../../src/storage/counts.ts'
import type { Db } from '../../src/storage/db.ts'
import { runText, sqlText } from '../../src/storage/sql-text.ts'
import { clear, hierarchies, plant, plantMany, plantOne, uproot } from '../support/hierarchy.ts'
import { property } from '../support/paging.ts'
import { onEveryStorage } from '../support/storage.ts'

const collection = 'repos'
const sizes = { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 }

async function counted(db: Db, range: UidRange): Promise<number> {
  const sql = sqlText(db.engine)
  const rows = await runText<{ n: number }>(db, `select ${rangeCount(sql, collection, range)} as n`, sql)
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
    rangeFrom(''),
    ...groups.flatMap((group) => [rangeFrom(group), rangeBelow(group)]),
    ...all.slice(0, 8).map((uid) => ({ from: `${uid}!`, to: `${uid.slice(0, 40)}0` })),
    ...all.slice(0, 8).map((uid) => ({ from: uid.slice(0, 40), to: uid })),
  ]
  for (const range of ranges)
    assert.equal(await counted(db, range), all.filter(within(range)).length, JSON.stringify(range))
}

onEveryStorage(
  'counters',
  (opened) => {
    test('every range count is the count of its rows, whatever comes and goes', () =>
      property(
        fc.tuple(hierarchies({ groups: 8, rows: 8 }), fc.array(fc.nat(1000), { maxLength: 30 })),
        async ([nodes, changes]) => {
          const db = opened()
          const groups = await plant(db, collection, nodes)
          try {
            await assertExact(db, groups)
            for (const change of changes) {
              const mine = await uids(db)
              const victim = mine[change % Math.max(1, mine.length)]
              if (change % 3 > 0 && victim !== undefined) await uproot(db, collection, victim)
              else await plantOne(db, collection, groups[change % groups.length] as string)
            }
            await assertExact(db, groups)
            await recount(db, collection)
            await assertExact(db, groups)
          } finally {
            await clear(db, groups)
          }
        },
        10,
      ))

    test('a bucket that grows is cut, and none is larger than it may be', async () => {
      const db = opened()
      const [group = ''] = await plant(db, collection, [{ under: undefined, rows: [] }])
      for (let n = 0; n < 40; n++) await plantOne(db, collection, group)
      const held = await buckets(db)
      assert.ok(held.length >= 10)
      assert.deepEqual(
        held.filter(({ n }) => n > sizes.bucketRowsMax),
        [],
      )
      await assertExact(db, [group])
      for (const uid of await uids(db)) await uproot(db, collection, uid)
      assert.ok((await buckets(db)).every(({ n }) => n === 0))
      await plantOne(db, collection, group)
      await assertExact(db, [group])
      await clear(db, [group])
    })

    test('rows that are written together are counted together, in whichever buckets they fall', async () => {
      const db = opened()
      const groups = await plant(db, collection, [
        { under: undefined, rows: [] },
        { under: 0, rows: [] },
        { under: 0, rows: [] },
      ])
      let round = 0
      for (const count of [1, 3, 40, 0, 11, 2]) {
        // Names differ within a group.
        await plantMany(db, collection, groups, count, `${round++}`)
        await assertExact(db, groups)
        assert.ok((await buckets(db)).every(({ n }) => n <= sizes.bucketRowsMax))
      }
      await clear(db, groups)
    })

    test('a skip by buckets stops at most one bucket before its row, up and down', async () => {
      const db = opened()
      const [group = '', child = ''] = await plant(db, collection, [
        { under: undefined, rows: Array.from({ length: 15 }, () => ({ created: 0, updated: 0 })) },
        { under: 0, rows: Array.from({ length: 15 }, () => ({ created: 0, updated: 0 })) },
      ])
      for (const range of [rangeFrom(''), rangeFrom(group), rangeBelow(child)]) {
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
      await clear(db, [group])
    })

    test('many writers at once leave every counter exact', async () => {
      const db = opened()
      for (let round = 0; round < 5; round++) {
        // An organization that has no bucket yet, so that the first ones meet there, too.
        const group = randomBytes(20).toString('hex')
        const planted = await Promise.all(Array.from({ length: 24 }, () => plantOne(db, collection, group)))
        await assertExact(db, [group])
        await Promise.all(
          planted.map(async (uid, at) => {
            if (at % 2 === 0) await uproot(db, collection, uid)
            else await Promise.all([plantOne(db, collection, group), plantOne(db, collection, group)])
          }),
        )
        await assertExact(db, [group])
        assert.equal((await uids(db)).length, 36)
        await clear(db, [group])
      }
    })
  },
  sizes,
)
