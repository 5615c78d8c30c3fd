import { CompiledQuery } from 'kysely'
import type { Db, Engine, Reader } from './db.ts'

/**
 * SQL text with bound parameters, for the few statements whose shape depends on the request. Names of tables and columns come
 * from constants of the program only; every value goes through `bind` (R26, R27).
 */
export interface SqlText {
  /** Binds a value and returns its placeholder. Call in the order in which the placeholders stand in the text. */
  bind(value: string | number): string
  bindAll(values: readonly (string | number)[]): string
  readonly values: readonly (string | number)[]
}

export function sqlText(engine: Engine): SqlText {
  const values: (string | number)[] = []
  const bind = (value: string | number) => {
    values.push(value)
    return engine === 'postgres' ? `$${values.length}` : '?'
  }
  return { values, bind, bindAll: (all) => all.map(bind).join(', ') }
}

/** Runs a text on the connection that `reader` stands for. */
export async function runText<R>(reader: Reader, text: string, sql: SqlText): Promise<R[]> {
  const { rows } = await reader.executeQuery<R>(CompiledQuery.raw(text, sql.values as unknown[]))
  return rows
}

/** Runs a SELECT that may take long; on SQLite in a reader thread. */
export async function runLongText<R>(db: Db, text: string, sql: SqlText): Promise<R[]> {
  return (await db.longRead(text, sql.values)) as R[]
}
