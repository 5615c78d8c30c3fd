import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type pg from 'pg'
import { ApiError } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import { currentContext } from '../../../pipeline/request/request-context.ts'
import type { DatabaseMeter, Db, StatementOutcome } from '../../db.ts'
import type { EngineRules } from '../engine.ts'
import { cancelStatement } from './cancel-statement.ts'
import {
  backgroundBounds,
  beginStatement,
  type PostgresConnections,
  requestBounds,
  type ServerConnection,
  type StatementBounds,
  sessionBoundsSql,
} from './connection.ts'
import { type Permits, type Share, withPermit } from './connection-permits.ts'
import { isWorkerLost, sqlState } from './errors.ts'
import { withMigrationLock } from './migration-lock.ts'
import { postgresSql } from './sql.ts'
import { createStatementNames } from './statement-names.ts'
import {
  countPlacedTables,
  enableQueryFromAnyNode,
  findClusterServer,
  groupByServer,
  isDistributed,
  listSessions,
  placeTables,
} from './table-placement.ts'

/**
 * PostgreSQL driver for Kysely. Kysely's own driver sends unnamed statements, which the server plans every time; named statements allow two and
 * a half times the throughput.
 */

/** The purpose of statements: `background` has longer timeouts (`limits.databaseLongStatementMs`). */
export type Work = 'request' | 'background'

const boundsOf: Readonly<Record<Work, StatementBounds>> = {
  request: requestBounds,
  background: backgroundBounds,
}

/** The connections of a dialect or a reader. */
export interface ConnectionSource {
  readonly connections: PostgresConnections
  /** Acquired before a connection. */
  readonly permits: Permits
  readonly meter?: DatabaseMeter | undefined
}

export function postgresDialect(source: ConnectionSource, work: Work = 'request'): Dialect {
  return {
    createAdapter: () => new TransactionLockAdapter(),
    createDriver: () => postgresDriver(source, boundsOf[work]),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  }
}

/** Migrations take their lock for their transaction: poolers share sessions, and with them the locks of sessions. */
class TransactionLockAdapter extends PostgresAdapter {
  override async releaseMigrationLock(): Promise<void> {}
  override async acquireMigrationLock(): Promise<void> {}
}

type Connection = DatabaseConnection & {
  readonly connection: ServerConnection
  /** The share that its permit counts for. */
  share: Share
}

function postgresDriver({ connections, permits, meter }: ConnectionSource, bounds: StatementBounds): Driver {
  const wrapped = new WeakMap<ServerConnection, Connection>()
  const ms = bounds.statementMs + limits.databaseGraceMs
  const serverConnection = (connection: DatabaseConnection) => (connection as Connection).connection
  const setsSession = (connection: ServerConnection) => connection.isDirect && bounds !== requestBounds
  const acquire = async () => {
    const connection = await connections.acquire()
    if (!setsSession(connection)) return connection
    try {
      await connection.run({ text: sessionBoundsSql(bounds) }, ms)
      return connection
    } catch (error) {
      connection.release(true)
      throw error
    }
  }

  return {
    async init() {},
    async acquireConnection() {
      const startMs = performance.now()
      const share = await permits.acquire()
      try {
        const connection = await acquire()
        meter?.wait?.(performance.now() - startMs)
        let wrapper = wrapped.get(connection)
        if (wrapper === undefined) {
          wrapper = wrap(connection, { share, ms, meter })
          wrapped.set(connection, wrapper)
        }
        wrapper.share = share
        return wrapper
      } catch (error) {
        permits.release(share)
        throw error
      }
    },
    async releaseConnection(wrapper) {
      const connection = serverConnection(wrapper)
      if (setsSession(connection) && !connection.isBroken)
        await connection.run({ text: sessionBoundsSql(requestBounds) }, ms).catch(() => connection.destroy())
      connection.release(connection.isBroken)
      permits.release((wrapper as Connection).share)
    },
    async beginTransaction(wrapper) {
      const connection = serverConnection(wrapper)
      await connection.run({ text: beginStatement(connection, bounds) }, ms)
    },
    async commitTransaction(wrapper) {
      const { command } = await serverConnection(wrapper).run({ text: 'commit' }, ms, 'commit')
      // The server responds so to the commit of a transaction with a failed statement.
      if (command === 'ROLLBACK') throw new Error('a transaction with a failed statement was committed')
    },
    async rollbackTransaction(wrapper) {
      const connection = serverConnection(wrapper)
      // The server rolls back a broken connection, and the caller gets the error that broke it.
      if (!connection.isBroken)
        await connection.run({ text: 'rollback' }, limits.databaseGraceMs).catch(() => connection.destroy())
    },
    destroy: () => connections.close(),
  }
}

function wrap(
  connection: ServerConnection,
  {
    share,
    ms,
    meter,
  }: { readonly share: Share; readonly ms: number; readonly meter: DatabaseMeter | undefined },
): Connection {
  return {
    connection,
    share,
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const { sql, parameters } = query
      // A stale plan ends a transaction, so there is no second attempt.
      const config = hasAllColumns(sql) ? unnamed(sql, parameters) : statement(connection, sql, parameters)
      const result = await measured(meter, () => runCancellable(connection, config, ms))
      return { rows: result.rows as R[], numAffectedRows: BigInt(result.rowCount ?? 0) }
    },
    // biome-ignore lint/correctness/useYield: lists are paged, nothing streams
    async *streamQuery() {
      throw new Error('streaming is not used')
    },
  }
}

/** Returns a function that reads outside of transactions, without the overhead of Kysely. */
export function postgresReader(source: ConnectionSource): Db['read'] {
  const acquire = () => source.connections.acquire()
  return <R>(text: string, parameters: readonly unknown[]) =>
    withConnection(source, acquire, (connection) => readOn<R>(connection, text, parameters, source.meter))
}

/** Runs work with a connection, in the share of the current request. */
export function withConnection<T>(
  { permits, meter }: Pick<ConnectionSource, 'permits' | 'meter'>,
  acquire: () => Promise<ServerConnection>,
  work: (connection: ServerConnection) => Promise<T>,
): Promise<T> {
  const startMs = performance.now()
  return withPermit(permits, async () => {
    const connection = await acquire()
    meter?.wait?.(performance.now() - startMs)
    try {
      return await work(connection)
    } finally {
      connection.release(connection.isBroken)
    }
  })
}

/** Runs one SELECT outside of transactions. */
export async function readOn<R>(
  connection: ServerConnection,
  text: string,
  parameters: readonly unknown[],
  meter?: DatabaseMeter,
): Promise<R[]> {
  const ms = requestBounds.statementMs + limits.databaseGraceMs
  const run = (config: pg.QueryConfig) => measured(meter, () => runCancellable(connection, config, ms))
  const { rows } = await run(statement(connection, text, parameters)).catch((error) => {
    if (!isStalePlan(error)) throw error
    return run(unnamed(text, parameters))
  })
  return rows as R[]
}

async function measured<T>(meter: DatabaseMeter | undefined, work: () => Promise<T>): Promise<T> {
  if (meter === undefined) return work()
  const startMs = performance.now()
  try {
    const result = await work()
    meter.statement(performance.now() - startMs, 'ok')
    return result
  } catch (error) {
    meter.statement(performance.now() - startMs, outcomeOf(error))
    throw error
  }
}

/** ApiErrors are failures of the database and aborted requests. */
function outcomeOf(error: unknown): StatementOutcome {
  if (!(error instanceof ApiError)) return 'rejected'
  return error === currentContext()?.aborted ? 'cancelled' : 'failed'
}

/**
 * Runs one statement for the current request. If the client disconnects, cancels the statement and fails with the reason of the abort.
 * Settles when the connection is usable again or destroyed.
 */
async function runCancellable(
  connection: ServerConnection,
  statement: pg.QueryConfig,
  ms: number,
): Promise<pg.QueryResult> {
  const context = currentContext()
  if (context === undefined) return connection.run(statement, ms)
  context.throwIfAborted()
  const sent = connection.run(statement, ms)
  let cancelling: Promise<void> | undefined
  const stopListening = context.onAbort(() => {
    cancelling = cancelStatement(connection, sent)
  })
  try {
    return await sent
  } catch (error) {
    throw context.aborted ?? error
  } finally {
    stopListening()
    if (cancelling !== undefined) await cancelling
  }
}

const nameOf = createStatementNames()

/** Names the statement if the connection is direct: behind a pooler the next one can go to a session without the name. */
export function statement(
  { isDirect }: ServerConnection,
  text: string,
  parameters: readonly unknown[],
): pg.QueryConfig {
  const name = isDirect ? nameOf(text) : undefined
  return name === undefined ? unnamed(text, parameters) : { name, ...unnamed(text, parameters) }
}

function unnamed(text: string, parameters: readonly unknown[]) {
  return { text, values: parameters as unknown[] }
}

/** Returns whether the result would include a column that a newer version adds. */
function hasAllColumns(text: string): boolean {
  return /(?<!\bcount\()\*/.test(text)
}

/** Returns whether a newer version added a column to the result of a named statement: `cached plan must not change result type`. */
function isStalePlan(error: unknown): boolean {
  const cause = causeOf(error)
  return sqlState(cause) === '0A000' && (cause as { routine?: string }).routine === 'RevalidateCachedQuery'
}

/** By SQLSTATE (PostgreSQL manual, appendix A). */
export const rules: EngineRules = {
  ...postgresSql,
  isUniqueViolation: (error) => sqlState(error) === '23505',
  isTransient: (error) => /^(40001|40P01)$/.test(String(sqlState(causeOf(error)))),
  // Data exceptions, integrity constraints, and what is longer than an index takes.
  isUnstorable: (error) => /^(22|23|54)...$/.test(String(sqlState(error))),
  concurrentChanges: 1,
  isShared: true,
  listSessions,
  withMigrationLock,
  wholeSchema: async () => undefined,
  placeTables,
  isDistributed,
  groupByServer,
  isServerLost: (error) => isWorkerLost(causeOf(error)),
  countPlacedTables,
  findClusterServer,
  enableQueryFromAnyNode,
}

/** Returns the server's error, which is the cause of the driver's. */
export function causeOf(error: unknown): unknown {
  return error instanceof ApiError ? error.cause : error
}
