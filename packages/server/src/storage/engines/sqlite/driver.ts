import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  type RootOperationNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely'
import { LRUCache } from 'lru-cache'
import type { DatabaseMeter, Db } from '../../db.ts'
import { touchesAccess } from '../../schema/access-writes.ts'
import type { EngineRules } from '../engine.ts'
import { sqliteSql } from './sql.ts'
import { BUSY_TIMEOUT_MS, openSqlite, STATEMENTS_MAX, statementRunner } from './statements.ts'

/**
 * SQLite driver for Kysely. Kysely's own driver prepares every statement again, which costs more than a point read; this one caches prepared
 * statements by their text. One connection serves reads and writes: statements run synchronously, so a transaction delays others only by its
 * own work, and all share a page cache. While a long transaction yields to the event loop (runtime/event-loop.ts), others read committed data
 * through a second connection.
 */

const BUSY_POLL_MS_MAX = 50
const resolved = Promise.resolve()

/** The dialect, and the versions that move with the writes of this process or another (Db.version). */
export function sqliteDialect(
  database: Database.Database,
  {
    meter,
    writeLock = alwaysHeld,
  }: { readonly meter?: DatabaseMeter | undefined; readonly writeLock?: WriteLock | undefined } = {},
): {
  readonly dialect: Dialect
  readonly version: Db['version']
  /** Reads what is committed, without waiting. */
  readonly readNow: <R>(text: string, parameters: readonly unknown[]) => R[]
  /** Sets whether a power loss may undo the next transaction; a later synced commit makes it durable. */
  readonly unsynced: (mayBeLost: boolean) => void
} {
  const execute = statementRunner(database)
  const writes = { any: 0, access: 0 }
  const measured = <T>(work: () => T): T => {
    if (meter === undefined) return work()
    const startMs = performance.now()
    try {
      const result = work()
      meter.statement(performance.now() - startMs, 'ok')
      return result
    } catch (error) {
      const isRejected = String(errorCode(error)).startsWith('SQLITE_CONSTRAINT')
      meter.statement(performance.now() - startMs, isRejected ? 'rejected' : 'failed')
      throw error
    }
  }
  const run: Run = (text, parameters, query) => {
    const result = measured(() => execute(text, parameters))
    if (result.numAffectedRows !== undefined) {
      writes.any++
      if (query !== undefined && changesAccess(query, text)) {
        writes.access++
        isAccessWritten = true
      }
      // Reads between the write and its commit saw the old rows under the new number.
      if (text === 'commit' && isAccessWritten) {
        writes.access++
        isAccessWritten = false
      }
    }
    return result
  }
  // SQLite would wait for another process that writes by blocking the event loop, and with it the requests that only read.
  database.pragma('busy_timeout = 0')
  /** Reads wait in one case: another process repairs the database after a crash. */
  const read: Run = (text, parameters, query) => {
    try {
      return run(text, parameters, query)
    } catch (error) {
      if (!rules.isTransient(error)) throw error
      database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
      try {
        return run(text, parameters, query)
      } finally {
        database.pragma('busy_timeout = 0')
      }
    }
  }
  let isAccessWritten = false
  const accessByText = new LRUCache<string, boolean>({ max: STATEMENTS_MAX })
  const changesAccess = (query: RootOperationNode, text: string) => {
    let known = accessByText.get(text)
    if (known === undefined) {
      known = touchesAccess(query, text)
      accessByText.set(text, known)
    }
    return known
  }
  /** For reads of others during a transaction; opened when needed. */
  let committed: ReturnType<typeof statementRunner> | undefined
  let committedReader: Database.Database | undefined
  const readCommitted = (text: string, parameters: readonly unknown[]) => {
    committedReader ??= openSqlite(database.name, { readonly: true })
    committed ??= statementRunner(committedReader)
    return measured(() => committed?.(text, parameters) as ReturnType<typeof execute>)
  }
  // Changes when another connection commits; its own commits do not move it.
  const dataVersion = database.prepare('pragma data_version').pluck()
  /**
   * Undefined: must be read. Valid until the running code returns or awaits: a client that knows of a later commit sends its request afterwards,
   * and that request is handled later.
   */
  let readVersion: unknown
  const forgetVersion = () => {
    readVersion = undefined
  }
  const externalVersion = () => {
    if (readVersion === undefined) {
      readVersion = dataVersion.get()
      void resolved.then(forgetVersion)
    }
    return readVersion
  }
  let knownExternalVersion: unknown
  const mutex = createMutex()
  // A transaction is open only while the mutex is locked. Every read checks this, and the mutex costs less to check than the library.
  const isInTransaction = () => mutex.isLocked() && database.inTransaction
  let mayBeLost = false
  let isSynced = true
  /** Sets whether commits wait for the disk. The setting costs more than most statements, so it changes only when it must. */
  const syncCommits = (value: boolean) => {
    if (value !== isSynced) database.pragma(`synchronous = ${value ? 'FULL' : 'NORMAL'}`)
    isSynced = value
  }
  return {
    unsynced(value) {
      mayBeLost = value
    },
    readNow: <R>(text: string, parameters: readonly unknown[]) =>
      (isInTransaction() ? readCommitted(text, parameters) : read(text, parameters)).rows as R[],
    dialect: {
      createAdapter: () => new SqliteDriverAdapter(),
      createDriver: () =>
        sqliteDriver(database, {
          run,
          read,
          readCommitted,
          mutex,
          writeLock,
          hasEnded: () => !isInTransaction(),
          // Writes outside of transactions are always synced.
          beforeWrite(isTransaction) {
            syncCommits(!(isTransaction && mayBeLost))
            if (isTransaction) mayBeLost = false
          },
          close() {
            committedReader?.close()
            database.close()
          },
        }),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (db) => new SqliteIntrospector(db),
    },
    version(of) {
      const external = externalVersion()
      if (external !== knownExternalVersion) {
        knownExternalVersion = external
        // Any table may have been written. A sum of scaled numbers would round small changes away after two million commits of others.
        writes.any++
        writes.access++
      }
      return writes[of]
    },
  }
}

/** What this driver supports and Kysely's does not. */
class SqliteDriverAdapter extends SqliteAdapter {
  /** A migration that is killed leaves no changes, and other processes that migrate wait. */
  override get supportsTransactionalDdl(): boolean {
    return true
  }

  /** With false, Kysely lets each statement wait for the transactions of others. Here only writes wait for them (ADR 111). */
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/** Guards the connection, which may be inside a transaction. */
interface Mutex {
  isLocked(): boolean
  acquire(): Promise<void>
  release(): void
}

function createMutex(): Mutex {
  let held = false
  const waiting: (() => void)[] = []
  return {
    isLocked: () => held,
    async acquire() {
      if (held) await new Promise<void>((resolve) => waiting.push(resolve))
      held = true
    },
    release() {
      const next = waiting.shift()
      if (next === undefined) held = false
      else next()
    },
  }
}

/**
 * The lock for writes that the processes of a database share. That of SQLite would let a process wait by blocking it, with the requests of
 * others that only read.
 */
export interface WriteLock {
  /** Whether this process may write now without waiting. */
  readonly isHeld: boolean
  /** Waits until this process may write. */
  wait(): Promise<void>
  /** Waits, and keeps the lock until `finish`. */
  take(): Promise<void>
  finish(): void
}

/** For the only process that writes much. */
const alwaysHeld: WriteLock = { isHeld: true, async wait() {}, async take() {}, finish() {} }

const READS = /^\s*(?:select|with)\b/i

/** `query`: the statement as Kysely's tree; undefined for those of the driver itself. */
type Run = (text: string, parameters: readonly unknown[], query?: RootOperationNode) => QueryResult<unknown>

/** A connection of a transaction, or of single statements. */
class SqliteConnection implements DatabaseConnection {
  isInTransaction = false
  /** A failed statement of the transaction, after which SQLite may have rolled all of it back (full disk). */
  failure: unknown
  readonly #access: DriverContext

  constructor(access: DriverContext) {
    this.#access = access
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    const { run, read, readCommitted, mutex, writeLock, hasEnded, beforeWrite } = this.#access
    if (this.isInTransaction) return this.#inTransaction(sql, parameters, query) as QueryResult<R>
    if (READS.test(sql)) {
      const readNow = hasEnded() ? read : readCommitted
      return readNow(sql, parameters, query) as QueryResult<R>
    }
    const write = () => {
      beforeWrite(false)
      return run(sql, parameters, query) as QueryResult<R>
    }
    if (!mutex.isLocked() && writeLock.isHeld)
      try {
        return write()
      } catch (error) {
        if (!rules.isTransient(error)) throw error
      }
    await mutex.acquire()
    try {
      await writeLock.take()
      return await untilUnlocked(write)
    } finally {
      writeLock.finish()
      mutex.release()
    }
  }

  #inTransaction(
    sql: string,
    parameters: readonly unknown[],
    query: RootOperationNode,
  ): QueryResult<unknown> {
    const { run, hasEnded: isOver } = this.#access
    // The statement would run outside of the transaction.
    if (isOver()) throw this.failure
    try {
      return run(sql, parameters, query)
    } catch (error) {
      this.failure = error
      throw error
    }
  }

  // biome-ignore lint/correctness/useYield: SQLite lists are paged, nothing streams
  async *streamQuery(): AsyncGenerator<never> {
    throw new Error('streaming is not used on SQLite')
  }
}

interface DriverContext {
  /** Fails immediately while another process writes. */
  readonly run: Run
  readonly read: Run
  readonly writeLock: WriteLock
  readonly readCommitted: Run
  readonly mutex: Mutex
  /** Whether SQLite has ended the transaction. */
  readonly hasEnded: () => boolean
  /** Called before a transaction, and before a write outside of one. */
  readonly beforeWrite: (isTransaction: boolean) => void
  readonly close: () => void
}

/** Waits while another process writes, such as a command of an operator. */
async function untilUnlocked<T>(write: () => T): Promise<T> {
  const endMs = performance.now() + BUSY_TIMEOUT_MS
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, BUSY_POLL_MS_MAX)) {
    try {
      return write()
    } catch (error) {
      if (!rules.isTransient(error) || performance.now() >= endMs) throw error
    }
    await pause(pauseMs)
  }
}

function sqliteDriver(database: Database.Database, context: DriverContext): Driver {
  const { run, writeLock, mutex, beforeWrite, close } = context
  return {
    async init() {},
    async acquireConnection() {
      return new SqliteConnection(context)
    },
    async releaseConnection(connection) {
      if (!(connection as SqliteConnection).isInTransaction) return
      writeLock.finish()
      mutex.release()
    },
    async beginTransaction(connection: DatabaseConnection, _settings: TransactionSettings) {
      await mutex.acquire()
      ;(connection as SqliteConnection).isInTransaction = true
      beforeWrite(true)
      await writeLock.take()
      // IMMEDIATE: waits for other processes here, not at the first write.
      await untilUnlocked(() => run('begin immediate', []))
    },
    async commitTransaction(connection) {
      if (context.hasEnded()) throw (connection as SqliteConnection).failure
      run('commit', [])
    },
    async rollbackTransaction() {
      // A failed COMMIT or a full disk may have ended it already.
      if (database.inTransaction) run('rollback', [])
    },
    async destroy() {
      close()
    },
  }
}

export const rules: EngineRules = {
  ...sqliteSql,
  isUniqueViolation: (error) => {
    const code = errorCode(error)
    return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
  },
  isTransient: (error) => {
    const code = errorCode(error)
    return code === 'SQLITE_BUSY' || code === 'SQLITE_BUSY_SNAPSHOT'
  },
  isUnstorable: (error) => /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/.test(String(errorCode(error))),
  concurrentChanges: 16,
  isShared: false,
  // A migration holds the write lock of the file.
  withMigrationLock: ({ kysely }, run) => run(kysely),
  // Imported on demand: only a new database needs it.
  wholeSchema: async () => (await import('./schema.ts')).schema,
  async placeTables() {},
  isDistributed: () => false,
  groupByServer: async (_db, organizations) => [organizations],
  isServerLost: () => false,
  countPlacedTables: async () => undefined,
  findClusterServer: async () => undefined,
  listSessions: async () => [],
  async enableQueryFromAnyNode() {},
}

function errorCode(error: unknown): unknown {
  return error instanceof Database.SqliteError ? error.code : undefined
}
