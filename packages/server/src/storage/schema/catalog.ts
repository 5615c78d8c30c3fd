import { sqlRules } from '../engines/engine.ts'
import type { DatabaseReader } from '../snapshot.ts'

/** Reads tables and columns from the catalog of the database, so that backups include tables that later migrations add. */

export type ColumnType = 'text' | 'integer' | 'bytes'

export interface Column {
  readonly name: string
  readonly type: ColumnType
}

export interface Table {
  readonly name: string
  /** Without generated columns. */
  readonly columns: readonly Column[]
}

/** Tables of the migrator, which the migrations of a restore write. */
export const migratorTables: ReadonlySet<string> = new Set(['migrations_lock', 'migrations'])

/** The table that exists during a restore. */
export const UNFINISHED_RESTORE = 'unfinished_restore'

const types: Readonly<Record<string, ColumnType>> = {
  text: 'text',
  integer: 'integer',
  bigint: 'integer',
  blob: 'bytes',
  bytea: 'bytes',
}

/** Lists the tables of an installation by name. */
export async function readTables(db: DatabaseReader): Promise<Table[]> {
  const rows = await db.read<{ table: string; column: string; type: string }>(
    sqlRules[db.engine].columnsQuery,
    [],
  )
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

/** Lists the names of all tables in the database. */
export async function readTableNames(db: DatabaseReader): Promise<string[]> {
  const rows = await db.read<{ name: string }>(sqlRules[db.engine].tableNamesQuery, [])
  return rows.map(({ name }) => name)
}
