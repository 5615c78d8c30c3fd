import { yieldToEventLoop } from '../runtime/event-loop.ts'
import type { Db, Tx } from './db.ts'
import type { Tables } from './schema/tables.ts'
import { runInTransaction, type SqlText, type SqlValue, sqlText } from './sql-text.ts'

/** Reads and writes thousands of rows of a table in few statements. */

/** Bound values in one statement; both engines accept more. */
const VALUES_MAX = 2000

/** Rows of a page. */
const PAGE_ROWS = 500

/** Reads all rows in pages. `read` returns at most `limit` rows, in the order of a key, that follow the row `after`. */
export async function* readPages<Row>(
  read: (after: Row | undefined, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let after: Row | undefined; ; ) {
    const page = await read(after, PAGE_ROWS)
    yield page
    if (page.length < PAGE_ROWS) return
    after = page.at(-1)
  }
}

/** Inserts rows; `ifAbsent`: rows whose key exists stay unchanged. */
export async function insertRows<T extends keyof Tables & string>(
  db: Db,
  tx: Tx,
  table: T,
  rows: readonly Tables[NoInfer<T>][],
  { ifAbsent = false }: { readonly ifAbsent?: boolean } = {},
): Promise<void> {
  await insertWith(db, tx, table, rows, ifAbsent ? ' on conflict do nothing' : '')
}

/** Inserts rows; of those whose key exists, the `values` columns are replaced. */
export async function upsertRows<T extends keyof Tables & string>(
  db: Db,
  tx: Tx,
  table: T,
  rows: readonly Tables[NoInfer<T>][],
  { key, values }: { readonly key: readonly string[]; readonly values: readonly string[] },
): Promise<void> {
  const replaced = values.map((column) => `${column} = excluded.${column}`)
  await insertWith(db, tx, table, rows, onConflict(key, replaced))
}

/** The end of a statement that inserts rows: what is set in those whose key exists. */
const onConflict = (key: readonly string[], sets: readonly string[]): string =>
  ` on conflict (${key.join(', ')}) do update set ${sets.join(', ')}`

async function insertWith(
  db: Db,
  tx: Tx,
  table: string,
  rows: readonly object[],
  end: string,
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.keys(first)
  for (const batch of batches(rows, columns.length)) {
    const sql = sqlText(db.engine)
    const values = batch.map((row) => `(${bindRow(sql, row, columns)})`).join(', ')
    await yieldToEventLoop()
    await runInTransaction(tx, `insert into ${table} (${columns.join(', ')}) values ${values}${end}`, sql)
  }
}

/** Adds to the `numbers` columns of rows, and inserts the rows that do not exist. */
export async function incrementRows<T extends keyof Tables & string>(
  db: Db,
  tx: Tx,
  table: T,
  rows: readonly Tables[NoInfer<T>][],
  { key, numbers }: { readonly key: readonly string[]; readonly numbers: readonly string[] },
): Promise<void> {
  const sums = numbers.map((column) => `${column} = ${table}.${column} + excluded.${column}`)
  await insertWith(db, tx, table, rows, onConflict(key, sums))
}

/**
 * Returns the keys that exist in a table; all keys have the same columns. `lock`: their rows are not deleted before the transaction ends, and
 * rows that another transaction has locked are left out.
 */
export async function existingKeys<T extends keyof Tables & string, K extends keyof Tables[T] & string>(
  db: Db,
  tx: Tx,
  table: T,
  keys: readonly Pick<Tables[T], K>[],
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<Pick<Tables[T], K>[]> {
  const [first] = keys
  if (first === undefined) return []
  const columns = Object.keys(first)
  const found: Pick<Tables[T], K>[] = []
  // A distributed database locks rows of one organization in a statement.
  const parts = lock ? [...Map.groupBy(keys, (key) => (key as { root?: string }).root).values()] : [keys]
  for (const batch of parts.flatMap((part) => [...batches(part, columns.length)])) {
    const sql = sqlText(db.engine)
    await yieldToEventLoop()
    const text = `select ${columns.join(', ')} from ${table} where ${isOneOf(sql, batch, columns)}${lock ? db.rules.lockForShareSkipping : ''}`
    found.push(...(await runInTransaction<Pick<Tables[T], K>>(tx, text, sql)))
  }
  return found
}

/** Deletes the rows with these keys; all keys have the same columns. */
export async function deleteRows<T extends keyof Tables & string>(
  db: Db,
  tx: Tx,
  table: T,
  keys: readonly Partial<Tables[NoInfer<T>]>[],
): Promise<void> {
  const [first] = keys
  if (first === undefined) return
  const columns = Object.keys(first)
  for (const batch of batches(keys, columns.length)) {
    const sql = sqlText(db.engine)
    await yieldToEventLoop()
    await runInTransaction(tx, `delete from ${table} where ${isOneOf(sql, batch, columns)}`, sql)
  }
}

function isOneOf(sql: SqlText, keys: readonly object[], columns: readonly string[]): string {
  const values = keys.map((key) => `(${bindRow(sql, key, columns)})`).join(', ')
  return `(${columns.join(', ')}) in (${sql.rules.rowListKeyword}${values})`
}

function bindRow(sql: SqlText, row: object, columns: readonly string[]): string {
  return sql.bindAll(columns.map((column) => (row as Readonly<Record<string, SqlValue>>)[column] as SqlValue))
}

function* batches<T>(all: readonly T[], columns: number): Generator<readonly T[]> {
  const size = Math.max(1, Math.floor(VALUES_MAX / columns))
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size)
}
