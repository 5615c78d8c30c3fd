import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Db, openSqliteDb } from '@berth/server/storage/db.ts'
import { migrateTo, migrations } from '@berth/server/storage/schema/migrate.ts'

/**
 * `node scripts/generate-sqlite-schema.ts [file]`: generates storage/engines/sqlite/schema.ts, what all migrations create in an empty SQLite
 * database. New databases are created from it (storage/schema/create-schema.ts).
 */

const [, , file = 'packages/server/src/storage/engines/sqlite/schema.ts'] = process.argv
const names = Object.keys(migrations)
const directory = mkdtempSync(join(tmpdir(), 'berth-schema-'))
const db = await openSqliteDb(join(directory, 'berth.db'))
try {
  await migrateTo(db, names.at(-1)!)
  const statements = [...(await readDefinitions(db)), ...(await readRows(db))]
  const list = (texts: readonly string[]) => texts.map((text) => `    ${JSON.stringify(text)},\n`).join('')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(
    file,
    `// Generated from storage/migrations/ by scripts/generate-sqlite-schema.ts: do not edit.
import type { WholeSchema } from '../engine.ts'

export const schema: WholeSchema = {
  migrations: [
${list(names)}  ],
  script: [
${list(['-- script', ...statements])}  ].join(';\\n'),
}
`,
  )
} finally {
  await db.close()
  rmSync(directory, { recursive: true })
}

/** Returns tables and indexes in the order of their creation: tables before their indexes. */
async function readDefinitions({ read }: Db): Promise<string[]> {
  const rows = await read<{ sql: string }>(
    `select sql from sqlite_schema where sql is not null and name not like 'sqlite~_%' escape '~' order by rowid`,
    [],
  )
  return rows.map((row) => row.sql)
}

/** Returns statements that insert the rows that migrations create. Their names are inserted with the time by create-schema.ts. */
async function readRows({ read, rules }: Db): Promise<string[]> {
  const statements: string[] = []
  for (const { name } of await read<{ name: string }>(rules.tableNamesQuery, [])) {
    if (name === 'migrations') continue
    const columns = await read<{ name: string }>('select name from pragma_table_info(?)', [name])
    const values = columns.map((column) => `quote("${column.name}")`).join(` || ', ' || `)
    for (const row of await read<{ row: string }>(`select ${values} as "row" from "${name}"`, []))
      statements.push(
        `insert into "${name}" (${columns.map((column) => `"${column.name}"`).join(', ')}) values (${row.row})`,
      )
  }
  return statements
}
