import type { Engine } from '../db.ts'
import type { DatabaseReader } from '../snapshot.ts'

/** What the database itself says of its tables, so that no table is forgotten that a later migration adds. */

export type ColumnType = 'text' | 'integer' | 'bytes'

export interface Column {
  readonly name: string
  readonly type: ColumnType
}

export interface Table {
  readonly name: string
  /** Those that are written; generated ones are left out. */
  readonly columns: readonly Column[]
}

/** Tables of the migrator, which the migrations of a restore fill. */
const migratorTables = new Set(['migrations', 'migrations_lock'])

/** Also written while a restore is not finished. */
export const UNFINISHED_RESTORE = 'unfinished_restore'

const queries: Readonly<Record<Engine, string>> = {
  sqlite: `select t.name as "table", c.name as "column", lower(c.type) as type
    from sqlite_schema t, pragma_table_xinfo(t.name) c
    where t.type = 'table' and t.name not like 'sqlite~_%' escape '~' and c.hidden = 0
    order by t.name, c.cid`,
  // Tables that are not logged are counters that a crash may lose.
  postgres: `select c.table_name as "table", c.column_name as "column", c.data_type as type
    from information_schema.columns as c
    join pg_class as t on t.relname = c.table_name and t.relnamespace = current_schema()::regnamespace
    where c.table_schema = current_schema() and t.relkind = 'r' and t.relpersistence = 'p' and c.is_generated = 'NEVER'
    order by c.table_name collate "C", c.ordinal_position`,
}

const types: Readonly<Record<string, ColumnType>> = {
  text: 'text',
  integer: 'integer',
  bigint: 'integer',
  blob: 'bytes',
  bytea: 'bytes',
}

/** The tables of an installation, by name. */
export async function readTables(db: DatabaseReader): Promise<Table[]> {
  const rows = await db.read<{ table: string; column: string; type: string }>(queries[db.engine], [])
  const tables = new Map<string, Column[]>()
  for (const { table, column, type } of rows) {
    if (migratorTables.has(table) || table === UNFINISHED_RESTORE) continue
    const known = types[type]
    if (known === undefined)
      throw new Error(`column ${table}.${column} has the type ${type}, which is unknown`)
    const columns = tables.get(table) ?? []
    columns.push({ name: column, type: known })
    tables.set(table, columns)
  }
  return [...tables].map(([name, columns]) => ({ name, columns }))
}

/** Names of all tables in the database, whatever they are. */
export async function readTableNames(db: DatabaseReader): Promise<string[]> {
  const text =
    db.engine === 'sqlite'
      ? `select name from sqlite_schema where type = 'table' and name not like 'sqlite~_%' escape '~' order by name`
      : 'select tablename as name from pg_tables where schemaname = current_schema() order by tablename'
  return (await db.read<{ name: string }>(text, [])).map(({ name }) => name)
}
