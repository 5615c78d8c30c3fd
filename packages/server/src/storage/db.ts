import { randomBytes } from 'node:crypto'
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
import type { WriteLock } from './engines/sqlite/driver.ts'
import type { Tables } from './schema/tables.ts'
import { tracedDb, tracedDialect } from './tracing.ts'

/**
 * The database. Kysely's query builder is the storage interface; differences between the engines are members of `EngineRules`
 * (engines/engine.ts).
 */

export type { ClusterServer, Engine, EngineRules } from './engines/engine.ts'

export type Tx = Transaction<Tables>
/** Reads from the database, or from a transaction, which also sees its own writes. */
export type Reader = Kysely<Tables>

/** Thresholds above which work is done another way. Tests use smaller ones. */
export interface Sizes {
  /** Rows of a bucket before it is divided (counts/row-counts.ts): fewer buckets against shorter scans of one. */
  readonly bucketRowsMax: number
  /** Rows that a statement may read on the event loop (less than 1 ms); statements that read more run in a reader thread. */
  readonly rowsInlineMax: number
  /** Ranges of the tree in one statement; a list over more groups needs a sort. */
  readonly branchesMax: number
}

const sizes: Sizes = { bucketRowsMax: 2048, rowsInlineMax: 2000, branchesMax: 64 }

/** The database as another thread or process opens it. */
export type DbSource =
  | { readonly engine: 'sqlite'; readonly file: string }
  | { readonly engine: 'postgres'; readonly url: string }

export interface Db {
  readonly engine: Engine
  /** Identifies this process among those that use the database: 16 hexadecimal digits (storage/jobs/nodes.ts). */
  readonly node: string
  /** Undefined for a database in the memory of this process. */
  readonly source: DbSource | undefined
  readonly kysely: Kysely<Tables>
  readonly rules: EngineRules
  readonly sizes: Sizes
  /**
   * A number that changes with every write by any process: `any`, or only writes that can change access (schema/access-writes.ts). Rows that
   * were read under a number are current as long as it stays the same. Writes by other processes change it when the running code has returned or
   * awaited. Undefined if only a query could find out.
   */
  version(of: 'any' | 'access'): number | undefined
  /** Runs one SELECT outside of transactions; synchronously if it does not have to wait. */
  read<R>(sql: string, parameters: readonly unknown[]): Promise<R[]> | R[]
  /** Runs one transaction, which is committed before the promise is fulfilled. Call inTransaction instead. */
  readonly transaction: RunTransaction
  /** Runs one SELECT that may take long without blocking other requests. */
  longRead(sql: string, parameters: readonly unknown[]): Promise<unknown[]>
  /**
   * Returns why the database accepts no writes, as a sentence without a period; undefined if it does. Rejects if the database does not respond
   * within a few seconds. Does not wait for the connections of requests.
   */
  readOnlyReason(): Promise<string | undefined>
  /** Rejects if the coordinator of a distributed database does not respond within `limits.databaseValidateMs`. */
  probeCoordinator(): Promise<void>
  /**
   * Returns the server of a distributed database with the rows of an organization, without a statement; undefined if there is one server, and
   * until the node has read the servers. For up to `limits.databasePlacementMaxAgeMs` after its rows have moved, it is the old one.
   */
  serverOf(root: string): number | undefined
  /** The connections of this node, for the metrics. */
  pool(): PoolState
  /** The same database for background work, with longer timeouts: migrations, garbage collection, imports. */
  readonly background: Db
  /** A read replica of the database; undefined without one. */
  readonly replica: Replica | undefined
  close(): Promise<void>
}

export interface Replica {
  /**
   * The same database with reads outside of transactions that the replica serves. They include all changes that were acknowledged before,
   * and cost a short statement on the primary: for reads that cost more.
   */
  readonly db: Db
  reads(): ReplicaReads
  /** Returns why the replica cannot be used now, as a phrase; undefined if it can. */
  check(): Promise<string | undefined>
}

/** Since the start: reads by the server that served them. */
export interface ReplicaReads {
  readonly replica: number
  /** By the primary, because the replica was behind. */
  readonly behind: number
  /** By the primary, because the replica has changes that the primary does not have, or is of another database. */
  readonly diverged: number
  /** By the primary, for other reasons. */
  readonly unavailable: number
}

export interface PoolState {
  /** Connections in use and idle. */
  readonly total: number
  readonly idle: number
  /** Database operations that wait for a connection now. */
  readonly waiting: number
  /** Since the start: operations that failed because too many waited, or because they waited too long. */
  readonly refused: number
  /** Since the start: statements that were cancelled because their clients disconnected. */
  readonly cancelled: number
}

/** How a statement ended. `rejected`: because of its data, such as a duplicate key. `cancelled`: the client disconnected. */
export type StatementOutcome = 'ok' | 'rejected' | 'failed' | 'cancelled'

/** Receives how long statements took, and how long work waited for a connection of the pool, in milliseconds. */
export interface DatabaseMeter {
  statement(ms: number, outcome: StatementOutcome): void
  wait?(ms: number): void
}

/**
 * Creates a directory and its missing parents with mode 0700. One level at a time: on some file systems Node's recursive creation does not
 * terminate.
 */
export function makePrivateDirectory(path: string): void {
  if (existsSync(path)) return
  makePrivateDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have just created it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

const NODE_ID_BYTES = 8

function newNodeId(): string {
  return randomBytes(NODE_ID_BYTES).toString('hex')
}

const SQLITE_HEADER = 'SQLite format 3\0'

/** SQLite treats some damaged files as empty databases; such a file must not look like a new installation. */
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

export interface SqliteOptions {
  readonly meter?: DatabaseMeter | undefined
  readonly tracer?: Tracer | undefined
  /** Of a worker, which shares the database with the others. */
  readonly writeLock?: WriteLock | undefined
}

/** Opens or creates the SQLite database at `file`. */
export async function openSqliteDb(
  file: string,
  { meter, tracer, writeLock }: SqliteOptions = {},
): Promise<Db> {
  const [sqlite, { readerPool }, { openSqlite }] = await Promise.all([
    import('./engines/sqlite/driver.ts'),
    import('./engines/sqlite/reader-pool.ts'),
    import('./engines/sqlite/statements.ts'),
  ])
  makePrivateDirectory(dirname(file))
  requireSqliteFile(file)
  // SQLite gives the files beside it the same mode. Other users of the machine must not read them.
  closeSync(openSync(file, 'a', 0o600))
  const database = openSqlite(file)
  const {
    dialect,
    version,
    readNow,
    unsynced: allowLoss,
  } = sqlite.sqliteDialect(database, { meter, writeLock })
  const kysely = new Kysely<Tables>({
    dialect: tracer === undefined ? dialect : tracedDialect(dialect, 'sqlite', tracer),
  })
  const readers = readerPool(file)
  const db: Db = {
    engine: 'sqlite',
    node: newNodeId(),
    source: { engine: 'sqlite', file },
    kysely,
    rules: sqlite.rules,
    sizes,
    version,
    read: <R>(sql: string, parameters: readonly unknown[]) => readNow<R>(sql, parameters),
    transaction: groupCommit(kysely, { allowLoss, waitForLock: writeLock?.wait }),
    longRead: (sql, parameters) => readers.run(sql, parameters),
    async readOnlyReason() {
      await kysely.selectFrom('settings').select('name').limit(1).execute()
      return undefined
    },
    async probeCoordinator() {},
    serverOf: () => undefined,
    pool: () => ({ total: 1, idle: 1, waiting: 0, refused: 0, cancelled: 0 }),
    get background() {
      return db
    },
    replica: undefined,
    async close() {
      await readers.close()
      await kysely.destroy()
    },
  }
  return tracer === undefined ? db : tracedDb(db, tracer)
}

export interface ReplicaAddress {
  readonly url: string
  /** Whether this process stores the token that a replica needs before it is used. */
  readonly storesToken: boolean
  /** Receives why the replica is not used, as a phrase, and undefined when it is. */
  readonly onChange: (problem: string | undefined) => void
}

export interface PostgresOptions {
  /** Receives errors that broke connections, idle or in use. */
  readonly onError: (error: Error) => void
  readonly meter?: DatabaseMeter | undefined
  readonly tracer?: Tracer | undefined
  /** Connections of requests and background work together; `limits.databasePoolDefault` without it. */
  readonly poolMax?: number | undefined
  readonly replica?: ReplicaAddress | undefined
}

/** Reads a table of the coordinator. */
const COORDINATOR_PROBE = 'select name from settings limit 1'

/** Opens a PostgreSQL database. Throws an Error for an invalid address; fails on first use if the server is unreachable. */
export async function openPostgresDb(url: string, options: PostgresOptions): Promise<Db> {
  const [
    postgres,
    { postgresConnections },
    { parseDatabaseAddress },
    { cancelledStatements },
    { organizationServers },
  ] = await Promise.all([
    import('./engines/postgres/driver.ts'),
    import('./engines/postgres/connection.ts'),
    import('./engines/postgres/address.ts'),
    import('./engines/postgres/cancel-statement.ts'),
    import('./engines/postgres/organization-servers.ts'),
  ])
  const read = parseDatabaseAddress(url)
  if ('problem' in read) throw new Error(`the address of the database ${read.problem}`)
  const { onError, meter, tracer, poolMax: max = limits.databasePoolDefault, replica } = options
  const connections = postgresConnections(read.address, { max, onError })
  const shares = dividePool(max)
  const serverOf = organizationServers(connections)
  const connectionPermits = createPermits(shares.connections, serverOf)
  const transactionPermits = createPermits(shares.transactions, serverOf)
  const source = { connections, permits: connectionPermits, meter }
  const node = newNodeId()
  const openFor = (work: 'request' | 'background') => {
    const dialect = postgres.postgresDialect(source, work)
    const db = postgresLikeDb(
      tracer === undefined ? dialect : tracedDialect(dialect, 'postgresql', tracer),
      postgres.rules,
    )
    return {
      ...db,
      node,
      source: { engine: 'postgres', url },
      transaction: (...change) => withPermit(transactionPermits, () => db.transaction(...change)),
      readOnlyReason: () => connections.readOnlyReason(),
      async probeCoordinator() {
        if (await db.rules.isDistributed(db)) await connections.probe(COORDINATOR_PROBE)
      },
      serverOf,
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
  const primary = { ...openFor('request'), read: postgres.postgresReader(source), background }
  const db = replica === undefined ? primary : await withReplica(primary, replica, options)
  return tracer === undefined ? db : tracedDb(db, tracer)
}

/** Adds a read replica with as many connections as the primary has. */
async function withReplica(
  primary: Db,
  { url, storesToken, onChange }: ReplicaAddress,
  { onError, meter, tracer, poolMax: max = limits.databasePoolDefault }: PostgresOptions,
): Promise<Db> {
  const [{ readOnlyDialect, readReplica }, { postgresConnections }, { parseDatabaseAddress }] =
    await Promise.all([
      import('./engines/postgres/read-replica.ts'),
      import('./engines/postgres/connection.ts'),
      import('./engines/postgres/address.ts'),
    ])
  const parsed = parseDatabaseAddress(url, { isReplica: true })
  if ('problem' in parsed) throw new Error(`the address of the read replica ${parsed.problem}`)
  const { read, state, pool, close } = readReplica({
    source: {
      connections: postgresConnections(parsed.address, { max, onError }),
      permits: createPermits(dividePool(max).connections),
      meter,
    },
    primary,
    storesToken,
    onChange,
  })
  const dialect = readOnlyDialect(read)
  const kysely = new Kysely<Tables>({
    dialect: tracer === undefined ? dialect : tracedDialect(dialect, 'postgresql', tracer),
  })
  return {
    ...primary,
    replica: {
      ...state,
      db: { ...primary, kysely, read, longRead: async (sql, parameters) => read(sql, parameters) },
    },
    pool() {
      const [one, other] = [primary.pool(), pool()]
      return {
        total: one.total + other.total,
        idle: one.idle + other.idle,
        waiting: one.waiting + other.waiting,
        refused: one.refused + other.refused,
        cancelled: one.cancelled,
      }
    },
    async close() {
      await Promise.all([primary.close(), close()])
    },
  }
}

/** Opens a database with PostgreSQL's SQL through any Kysely dialect; tests use PGlite. */
export function postgresLikeDb(dialect: KyselyDialect, rules: EngineRules): Db {
  const kysely = new Kysely<Tables>({ dialect })
  const db: Db = {
    engine: 'postgres',
    node: newNodeId(),
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
    async probeCoordinator() {},
    serverOf: () => undefined,
    pool: () => ({ total: 1, idle: 0, waiting: 0, refused: 0, cancelled: 0 }),
    get background() {
      return db
    },
    replica: undefined,
    close: () => kysely.destroy(),
  }
  return db
}

/**
 * The same database for work that is done again if its result is lost: its commits do not wait for the disk. A result, and the end of the
 * work in the queue, must be written in one transaction: of two, PostgreSQL may lose the first alone if it fails over while the node runs.
 */
export function repeatableWork(db: Db): Db {
  const repeatable: Db = {
    ...db,
    transaction: (work, options) => db.transaction(work, { mayBeLost: true, ...options }),
    get background() {
      return repeatable
    },
  }
  return repeatable
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
 * Runs `work` in one transaction and commits it before the promise is fulfilled; durably, unless it may be lost. After a serialization failure
 * or deadlock it runs again, so `work` must have no effects besides those on `tx`; after the last attempt it fails with ABORTED.
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
