import { closeSync, existsSync, mkdirSync, openSync, readSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  CompiledQuery,
  Kysely,
  type Dialect as KyselyDialect,
  type SelectQueryBuilder,
  sql,
  type Transaction,
} from 'kysely'
import { aborted } from '../api/errors.ts'
import { limits } from '../config/limits.ts'
import type { Tracer } from '../runtime/tracer.ts'
import { groupCommit, type RunTransaction, type TransactionOptions } from './changes/group-commit.ts'
import type { Engine, EngineRules } from './engines/engine.ts'
import { createPermits, dividePool, withPermit } from './engines/postgres/connection-permits.ts'
import type { Tables } from './schema/tables.ts'
import { tracedDb, tracedDialect } from './tracing.ts'

/**
 * The database. Kysely's query builder is the storage interface; differences between the engines are members of `EngineRules`
 * (engines/engine.ts).
 */

export type { Engine, EngineRules } from './engines/engine.ts'

export type Tx = Transaction<Tables>
/** A place to read from: the database, or a transaction, which also sees its own writes. */
export type Reader = Kysely<Tables>

/** Where small work becomes large work, which is done another way. Tests have smaller ones. */
export interface Sizes {
  /** A bucket of counts.ts that grows beyond this is cut in half: weighs their number against the look into one. */
  readonly bucketRowsMax: number
  /** Rows that a statement may look at on the event loop; more go to a reader thread (below 1 ms here). */
  readonly rowsInlineMax: number
  /** Stretches of the tree in one statement; a caller bound to more groups than this pays for a sort. */
  readonly branchesMax: number
}

const sizes: Sizes = { bucketRowsMax: 2048, rowsInlineMax: 2000, branchesMax: 64 }

/** Where a thread of its own can read a database. */
export type DbSource =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string }

export interface Db {
  readonly engine: Engine
  /** Undefined for a database that lives in this process only. */
  readonly source: DbSource | undefined
  readonly kysely: Kysely<Tables>
  readonly rules: EngineRules
  readonly sizes: Sizes
  /**
   * A number that differs whenever something may have been written, by any process: anything at all, or what decides who may do
   * what. Undefined where only a query could tell. What was read under one number holds as long as the number stays.
   */
  version(of: 'any' | 'access'): number | undefined
  /** One SELECT outside of transactions; at once where nothing has to be waited for. */
  read<R>(sql: string, parameters: readonly unknown[]): Promise<R[]> | R[]
  /** One transaction, committed before the promise fulfils. For inTransaction below. */
  readonly transaction: RunTransaction
  /** Runs one SELECT that may take long without holding up other requests. */
  longRead(sql: string, parameters: readonly unknown[]): Promise<unknown[]>
  /**
   * Why the database accepts no writes, in a sentence without a full stop; undefined if it does. Rejects if it does not answer within a
   * few seconds. It never waits for the connections of requests.
   */
  readOnlyReason(): Promise<string | undefined>
  /** The connections of this node, for the metrics. */
  pool(): PoolState
  /** The same database for work that no request waits for, whose statements may take long: migrations, garbage collection, imports. */
  readonly background: Db
  close(): Promise<void>
}

export interface PoolState {
  /** Connections in use and idle. */
  readonly total: number
  readonly idle: number
  /** Database operations that wait for a connection now. */
  readonly waiting: number
  /** Since the start: operations that were refused because too many waited, or waited too long. */
  readonly refused: number
  /** Since the start: statements that were cancelled because their callers went away. */
  readonly cancelled: number
}

/** How a statement ended. `rejected`: its data was, as by a unique key. `cancelled`: the caller went away. */
export type StatementOutcome = 'ok' | 'rejected' | 'failed' | 'cancelled'

/** Receives how long statements took, and how long work waited for a connection of the pool, in milliseconds. */
export interface DatabaseMeter {
  statement(ms: number, outcome: StatementOutcome): void
  wait?(ms: number): void
}

/**
 * Makes a directory and what is missing above it, for this user alone. One level at a time: some file systems answer a recursive
 * request in a way that Node asks again for ever.
 */
export function makePrivateDirectory(path: string): void {
  if (existsSync(path)) return
  makePrivateDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another start may have made it in this moment.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

const SQLITE_HEADER = 'SQLite format 3\0'

/** SQLite takes a short file of anything for an empty database, and a damaged one must not pass for a first start. */
function requireSqliteFile(file: string): void {
  if (!existsSync(file)) return
  const opened = openSync(file, 'r')
  try {
    const header = Buffer.alloc(SQLITE_HEADER.length)
    const length = readSync(opened, header)
    if (length > 0 && header.toString('latin1') !== SQLITE_HEADER)
      throw new Error(`${file} is not a SQLite database`)
  } finally {
    closeSync(opened)
  }
}

/** Opens or creates the SQLite database at `file`. */
export async function openSqliteDb(file: string, meter?: DatabaseMeter, tracer?: Tracer): Promise<Db> {
  const [sqlite, { readerPool }] = await Promise.all([
    import('./engines/sqlite/driver.ts'),
    import('./engines/sqlite/reader-pool.ts'),
  ])
  makePrivateDirectory(dirname(file))
  requireSqliteFile(file)
  // SQLite gives the files beside it the same mode; what is in them is nobody else's on this machine.
  closeSync(openSync(file, 'a', 0o600))
  const database = sqlite.openSqlite(file)
  const { dialect, version, readNow, unsynced: allowLoss } = sqlite.sqliteDialect(database, meter)
  const kysely = new Kysely<Tables>({
    dialect: tracer === undefined ? dialect : tracedDialect(dialect, 'sqlite', tracer),
  })
  const readers = readerPool(file)
  const db: Db = {
    engine: 'sqlite',
    source: { engine: 'sqlite', file },
    kysely,
    rules: sqlite.rules,
    sizes,
    version,
    read: <R>(sql: string, parameters: readonly unknown[]) => readNow<R>(sql, parameters),
    transaction: groupCommit(kysely, allowLoss),
    longRead: (sql, parameters) => readers.run(sql, parameters),
    async readOnlyReason() {
      await kysely.selectFrom('settings').select('name').limit(1).execute()
      return undefined
    },
    pool: () => ({ total: 1, idle: 1, waiting: 0, refused: 0, cancelled: 0 }),
    get background() {
      return db
    },
    async close() {
      await readers.close()
      await kysely.destroy()
    },
  }
  return tracer === undefined ? db : tracedDb(db, tracer)
}

export interface PostgresOptions {
  /** Receives what broke connections, idle or in use. */
  readonly onError: (error: Error) => void
  readonly meter?: DatabaseMeter | undefined
  readonly tracer?: Tracer | undefined
  /** Connections of requests and background work together; `limits.databasePoolDefault` without it. */
  readonly poolMax?: number | undefined
}

/** Connects to PostgreSQL; fails on first use when it cannot be reached. Throws an Error for an address that cannot be read. */
export async function openPostgresDb(url: string, options: PostgresOptions): Promise<Db> {
  const [postgres, { postgresConnections }, { parseDatabaseAddress }, { cancelledStatements }] =
    await Promise.all([
      import('./engines/postgres/driver.ts'),
      import('./engines/postgres/connection.ts'),
      import('./engines/postgres/address.ts'),
      import('./engines/postgres/cancel-statement.ts'),
    ])
  const read = parseDatabaseAddress(url)
  if ('problem' in read) throw new Error(`the address of the database ${read.problem}`)
  const { onError, meter, tracer, poolMax: max = limits.databasePoolDefault } = options
  const connections = postgresConnections(read.address, { max, onError })
  const shares = dividePool(max)
  const connectionPermits = createPermits(shares.connections)
  const transactionPermits = createPermits(shares.transactions)
  const source = { connections, permits: connectionPermits, meter }
  const openFor = (work: 'request' | 'background') => {
    const dialect = postgres.postgresDialect(source, work)
    const db = postgresLikeDb(
      tracer === undefined ? dialect : tracedDialect(dialect, 'postgresql', tracer),
      postgres.rules,
    )
    return {
      ...db,
      source: { engine: 'postgres', url },
      transaction: (...change) => withPermit(transactionPermits, () => db.transaction(...change)),
      readOnlyReason: () => connections.readOnlyReason(),
      pool() {
        const { total, idle, waiting } = connections.counts()
        return {
          total,
          idle,
          waiting: waiting + connectionPermits.waiting + transactionPermits.waiting,
          refused: connectionPermits.refused + transactionPermits.refused,
          cancelled: cancelledStatements(),
        }
      },
      close: () => connections.close(),
    } satisfies Partial<Db>
  }
  const background: Db = {
    ...openFor('background'),
    get background() {
      return background
    },
  }
  const db = { ...openFor('request'), read: postgres.postgresReader(source), background }
  return tracer === undefined ? db : tracedDb(db, tracer)
}

/** A database that speaks PostgreSQL through any Kysely dialect; tests give it PGlite. */
export function postgresLikeDb(dialect: KyselyDialect, rules: EngineRules): Db {
  const kysely = new Kysely<Tables>({ dialect })
  const db: Db = {
    engine: 'postgres',
    source: undefined,
    kysely,
    rules,
    sizes,
    version: () => undefined,
    read: (sql, parameters) => readThrough(kysely, sql, parameters),
    transaction: (work, { mayBeLost = false } = {}) =>
      kysely.transaction().execute(async (tx) => {
        if (mayBeLost) await tx.executeQuery(CompiledQuery.raw('set local synchronous_commit = off'))
        return work(tx)
      }),
    longRead: (sql, parameters) => readThrough(kysely, sql, parameters),
    async readOnlyReason() {
      await readThrough(kysely, 'select 1', [])
      return undefined
    },
    pool: () => ({ total: 1, idle: 0, waiting: 0, refused: 0, cancelled: 0 }),
    get background() {
      return db
    },
    close: () => kysely.destroy(),
  }
  return db
}

async function readThrough<R>(
  kysely: Kysely<Tables>,
  sql: string,
  parameters: readonly unknown[],
): Promise<R[]> {
  const { rows } = await kysely.executeQuery<R>(CompiledQuery.raw(sql, parameters as unknown[]))
  return rows
}

/** A SELECT that locks its rows until the transaction ends. */
export function lockForUpdate<T extends keyof Tables, Row>(
  db: Pick<Db, 'rules'>,
  query: SelectQueryBuilder<Tables, T, Row>,
): SelectQueryBuilder<Tables, T, Row> {
  return query.modifyEnd(sql.raw(db.rules.lockForUpdate))
}

const ATTEMPTS_MAX = 8
const RETRY_PAUSE_MS = 5
const CONTENTION_RETRY_MS = 1000

/**
 * Runs `work` in one transaction and commits it before the promise fulfils: durably, unless it may be lost. A serialization failure or
 * deadlock runs it again, so `work` must do nothing but talk to `tx`; after the last attempt it fails with ABORTED.
 */
export async function inTransaction<T>(
  db: Db,
  work: (tx: Tx) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction(work, options)
    } catch (error) {
      if (!db.rules.isTransient(error)) throw error
      if (attempt === ATTEMPTS_MAX)
        throw aborted('another change to the same resources won; try again', error, CONTENTION_RETRY_MS)
      await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS * attempt * Math.random()))
    }
  }
}
