import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type Db, openSqliteDb } from '../db.ts'
import { migrate, migrateTo, migrations } from './migrate.ts'

test('the row types are the migrated schema, column by column', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-test-'))
  const db = await openSqliteDb(join(directory, 'berth.db'))
  t.after(async () => {
    await db.close()
    rmSync(directory, { recursive: true })
  })
  await migrate(db)
  const { rows } = await sql<{ name: string; column: string; type: string }>`
    select t.name, c.name as "column", c.type from sqlite_schema t, pragma_table_xinfo(t.name) c
    where t.type = 'table' and t.name not like 'migrations%' and t.name not like 'sqlite%'`.execute(db.kysely)
  const types: Readonly<Record<string, string>> = { TEXT: 'string', INTEGER: 'number', BLOB: 'Uint8Array' }
  const migrated = rows.map((row) => `${row.name}.${row.column}: ${types[row.type.toUpperCase()]}`)
  assert.deepEqual(migrated.sort(), declaredColumns().sort())
})

test('a new SQLite database is what all migrations make of an empty one (npm run generate)', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-test-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const contentsAfter = async (name: string, prepare: (db: Db) => Promise<unknown>) => {
    const db = await openSqliteDb(join(directory, `${name}.db`))
    try {
      await prepare(db)
      const schema = await db.read<object>(
        'select type, name, tbl_name, sql from sqlite_schema order by name',
        [],
      )
      const rows = new Map<string, unknown>()
      for (const { name: table } of await db.read<{ name: string }>(db.rules.tableNamesQuery, []))
        rows.set(
          table,
          await db.read(
            table === 'migrations' ? 'select name from migrations' : `select * from "${table}"`,
            [],
          ),
        )
      return { schema, rows }
    } finally {
      await db.close()
    }
  }
  const created = await contentsAfter('created', async (db) => {
    assert.deepEqual(await migrate(db), Object.keys(migrations))
    assert.deepEqual(await migrate(db), [])
  })
  const migrated = await contentsAfter('migrated', async (db) => {
    await migrateTo(db, Object.keys(migrations).at(-1)!)
  })
  assert.deepEqual(created, migrated)
})

/** `table.column: type` of all that tables.ts declares. */
function declaredColumns(): string[] {
  const text = readFileSync(new URL('tables.ts', import.meta.url), 'utf8')
  const members = (name: string): [string, string][] => {
    const [, base, body = ''] =
      new RegExp(`interface ${name}(?: extends (\\w+))? {(.*?)^}`, 'ms').exec(text) ?? []
    const own = [...body.matchAll(/^ {2}(\w+): (\w+)$/gm)].map(
      ([, column = '', type = '']): [string, string] => [column, type],
    )
    return base === undefined ? own : [...members(base), ...own]
  }
  return members('Tables').flatMap(([table, row]) =>
    members(row).map(([column, type]) => `${table}.${column}: ${type}`),
  )
}
