import { sqlRules } from '../engines/engine.ts'
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

const types: Readonly<Record<string, ColumnType>> = {
  text: 'text',
  integer: 'integer',
  bigint: 'integer',
  blob: 'bytes',
  bytea: 'bytes',
}

/** The tables of an installation, by name. */
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

/** Names of all tables in the database, whatever they are. */
export async function readTableNames(db: DatabaseReader): Promise<string[]> {
  const rows = await db.read<{ name: string }>(sqlRules[db.engine].tableNamesQuery, [])
  return rows.map(({ name }) => name)
}
