import Database from 'better-sqlite3'
import type { QueryResult } from 'kysely'
import { LRUCache } from 'lru-cache'
import { planStabilizer } from './stable-plans.ts'

/** Connections and their statements, without the query builder: a thread that reads loads this alone. */

export const STATEMENTS_MAX = 500
/** Changes wait for so long while another process writes. */
export const BUSY_TIMEOUT_MS = 5000

export function openSqlite(file: string, options: { readonly?: boolean } = {}): Database.Database {
  const isReadonly = options.readonly ?? false
  const database = new Database(file, { readonly: isReadonly, timeout: BUSY_TIMEOUT_MS })
  if (!isReadonly) {
    database.pragma('journal_mode = WAL')
    // Acknowledged commits survive a power loss.
    database.pragma('synchronous = FULL')
    database.pragma('foreign_keys = ON')
  }
  // SQLite looks through the whole cache after each commit that has split a page.
  database.pragma(`cache_size = ${isReadonly ? -65536 : -16384}`) // KiB
  database.pragma('mmap_size = 1073741824') // bytes; reads beyond the page cache skip a copy
  database.pragma('temp_store = MEMORY')
  return database
}

/** Starts a text of several statements, such as the whole schema. */
const SCRIPT = '-- script;\n'

/** Rows of one statement, from a cache of prepared statements. A script has none. */
export function statementRunner(database: Database.Database) {
  const statements = new LRUCache<string, Database.Statement>({ max: STATEMENTS_MAX })
  const stabilize = planStabilizer(database)
  return (text: string, parameters: readonly unknown[]): QueryResult<unknown> => {
    let statement = statements.get(text)
    if (statement === undefined) {
      if (text.startsWith(SCRIPT)) {
        database.exec(text)
        return { rows: [], numAffectedRows: 0n }
      }
      statement = database.prepare(stabilize(text))
      statements.set(text, statement)
    }
    if (statement.reader) {
      const rows = statement.all(parameters)
      // RETURNING makes a write a reader.
      return statement.readonly ? { rows } : { rows, numAffectedRows: BigInt(rows.length) }
    }
    const { changes } = statement.run(parameters)
    return { rows: [], numAffectedRows: BigInt(changes) }
  }
}
