import { CompiledQuery } from 'kysely'
import { limits } from '../config/limits.ts'
import { createVersionCache } from './cache/version-cache.ts'
import { executeIn } from './changes/transactions.ts'
import type { Db, Tx } from './db.ts'
import { type Engine, type SqlRules, sqlRules } from './engines/engine.ts'

export type SqlValue = string | number | Uint8Array

/**
 * SQL text with bound parameters, for the few statements whose shape depends on the request. Names of tables and columns come from constants
 * of the program only; every value is bound (R26, R27).
 */
export interface SqlText {
  /** Binds a value and returns its placeholder. Call it in the order of the placeholders in the text. */
  bind(value: SqlValue): string
  bindAll(values: readonly SqlValue[]): string
  readonly values: readonly SqlValue[]
  /** Differences between the engines. */
  readonly rules: SqlRules
}

export function sqlText(engine: Engine): SqlText {
  const rules = sqlRules[engine]
  const values: SqlValue[] = []
  const bind = (value: SqlValue) => {
    values.push(value)
    return rules.placeholder(values.length)
  }
  return { rules, values, bind, bindAll: (all) => all.map(bind).join(', ') }
}

/**
 * A column of few rows for `select distinct`. By its bare name, SQLite would read the whole index in the order of the column, to skip
 * repetitions, instead of looking the rows up.
 */
export const distinctText = (column: string): string => `distinct +${column} as ${column}`

/** Runs a statement in a transaction. */
export async function runInTransaction<R>(tx: Tx, text: string, sql: SqlText): Promise<R[]> {
  const { rows } = await executeIn<R>(tx, CompiledQuery.raw(text, sql.values as unknown[]))
  return rows
}

/** Runs a SELECT outside of transactions. */
export function runText<R>(db: Pick<Db, 'read'>, text: string, sql: SqlText): Promise<R[]> | R[] {
  return db.read<R>(text, sql.values)
}

/** Runs a SELECT that may take long; on SQLite in a reader thread. */
export async function runLongText<R>(db: Db, text: string, sql: SqlText): Promise<R[]> {
  return (await db.longRead(text, sql.values)) as R[]
}

const CACHED_RESULTS_MAX = 2000

const cachedRows = createVersionCache<unknown[]>({
  max: CACHED_RESULTS_MAX,
  // The values of a query come from requests.
  maxSize: limits.cachedQueriesCharsMax,
  sizeOf: (_, key) => key.length,
})

/**
 * Like runText, with a cache for queries that every page of a list repeats, such as its total: a result is reused until the database is
 * written to, where `Db.version` reports that. For few and small rows only.
 */
export async function runCachedText<R>(
  db: Db,
  text: string,
  sql: SqlText,
  { long = false }: { readonly long?: boolean } = {},
): Promise<R[]> {
  const run = () => (long ? runLongText<R>(db, text, sql) : runText<R>(db, text, sql))
  // JSON would escape values that are JSON themselves, which takes milliseconds for the ranges of a caller with thousands of scopes.
  const values = sql.values
    .map(String)
    .map((value, at) => `\n${typeof sql.values[at]} ${value.length} ${value}`)
  return (await cachedRows(db, text + values.join(''), run)) as R[]
}
