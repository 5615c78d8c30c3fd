import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { subtreeRange } from '@berth/server/api/uid.ts'
import { type Db, openSqliteDb } from '@berth/server/storage/db.ts'
import { type ColumnCondition, indexHint, orderText, whereOf } from '@berth/server/storage/list/list-sql.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import { sqlText } from '@berth/server/storage/sql-text.ts'
import { CompiledQuery } from 'kysely'

// Which index SQLite takes for a page of tags and for counting them, in an organization that may have millions.

const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
let db: Db
before(async () => {
  db = await openSqliteDb(join(dataDir, 'berth.db'))
  await migrate(db)
})
after(async () => {
  await db.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const branches = [{ range: subtreeRange('aa'.repeat(20)) }]
const usual: ColumnCondition = { column: 'forms', values: [0] }
const some: ColumnCondition = { column: 'forms', values: [0, 1, 2, 3] }
const digest: ColumnCondition = { column: 'digest', values: [`sha256:${'0'.repeat(64)}`] }
const name: ColumnCondition = { column: 'name', values: ['latest'] }
const since: ColumnCondition = { column: 'updated_ms', comparison: '>', value: 5 }

const cases: readonly [conditions: readonly ColumnCondition[], order: string, page: RegExp, count: RegExp][] =
  [
    [[usual, digest], 'uid', /tags_by_digest \(.*digest=\?/, /COVERING INDEX tags_by_digest/],
    [[some, digest], 'uid', /tags_by_digest \(.*digest=\?/, /COVERING INDEX tags_by_digest/],
    [[digest], 'uid', /tags_by_digest \(.*digest=\?/, /COVERING INDEX tags_by_digest/],
    [[usual, name], 'uid', /tags_by_name \(.*name=\?/, /COVERING INDEX tags_by_name/],
    [[usual], 'updated_ms', /tags_by_updated/, /COVERING INDEX tags_by_forms/],
    [[some], 'name', /tags_by_name/, /COVERING INDEX tags_by_forms/],
    [[since, usual], 'uid', /SEARCH/, /COVERING INDEX tags_by_updated \(.*updated_ms>\?/],
  ]

test('tags are found, sorted and counted by an index', async () => {
  for (const [conditions, column, page, count] of cases) {
    const order = [
      { column, descending: false },
      ...(column === 'uid' ? [] : [{ column: 'uid', descending: false }]),
    ]
    const question = { table: 'tags' as const, branches, conditions, order }
    const planOf = async (select: string, rest: string) => {
      const sql = sqlText('sqlite')
      const text = `explain query plan ${select} where ${whereOf(sql, question, branches)}${rest}`
      const { rows } = await db.kysely.executeQuery<{ detail: string }>(
        CompiledQuery.raw(text, [...sql.values]),
      )
      return rows.map(({ detail }) => detail).join('\n')
    }
    const what = JSON.stringify([conditions, column])
    const sorted = ` order by ${orderText(order, { oneRoot: true, sorted: false })} limit 51`
    const found = await planOf(`select * from tags${indexHint(db, question, branches)}`, sorted)
    assert.match(found, page, what)
    assert.doesNotMatch(found, /TEMP B-TREE/, what)
    assert.match(await planOf('select count(*) from tags', ''), count, what)
  }
})
