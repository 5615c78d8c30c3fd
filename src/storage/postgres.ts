import { createHash } from 'node:crypto'
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
import { LRUCache } from 'lru-cache'
import pg from 'pg'
import { unavailable } from '../core/errors.ts'
import type { Db, EngineRules, StatementTimer } from './db.ts'

/**
 * PostgreSQL under Kysely. Kysely's own driver sends unnamed statements, which the server plans anew each time; named ones
 * carry two and a half times as many.
 */

const POOL_MAX = 16
const CONNECT_TIMEOUT_MS = 5000
/** Distinct statements that get a name; the server keeps each of them on every connection. */
const STATEMENTS_MAX = 300
const INT8_OID = 20

/** Milliseconds and counts stay far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID ? (text: string) => Number(text) : pg.types.getTypeParser(oid, format as 'text'),
}

export function openPostgres(connectionString: string, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max: POOL_MAX,
    types,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  // A connection that the server ends, idle or in use: the pool replaces it, and nobody listening would end the process.
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', onError))
  return pool
}

const RETRY_MS = 1000

/** Failures to reach the server become code 14, since the next try may find it again. */
async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw isUnreachable(error) ? unavailable('the database does not answer', RETRY_MS, error) : error
  }
}

/** Connection exceptions and shutdowns by SQLSTATE (PostgreSQL manual, appendix A), and what the system and pg say of sockets. */
function isUnreachable(error: unknown): boolean {
  const code = String(sqlState(error))
  if (/^(08...|57P0[123]|53300|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)/.test(code)) return true
  const message = error instanceof Error ? error.message : ''
  return /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
    message,
  )
}

export function postgresDialect(pool: pg.Pool, timer?: StatementTimer): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => postgresDriver(pool, timer),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  }
}

type Connection = DatabaseConnection & { readonly client: pg.PoolClient }

function postgresDriver(pool: pg.Pool, timer: StatementTimer | undefined): Driver {
  const connections = new WeakMap<pg.PoolClient, Connection>()
  const clientOf = (connection: DatabaseConnection) => (connection as Connection).client

  return {
    async init() {},
    async acquireConnection() {
      const client = await answered(pool.connect())
      let connection = connections.get(client)
      if (connection === undefined) {
        connection = connectionOf(client, timer)
        connections.set(client, connection)
      }
      return connection
    },
    async releaseConnection(connection) {
      clientOf(connection).release()
    },
    async beginTransaction(connection) {
      await answered(clientOf(connection).query('begin'))
    },
    async commitTransaction(connection) {
      await answered(clientOf(connection).query('commit'))
    },
    async rollbackTransaction(connection) {
      // A broken connection has rolled back by itself, and what broke it is the error to be told.
      await clientOf(connection)
        .query('rollback')
        .catch(() => undefined)
    },
    async destroy() {
      await pool.end()
    },
  }
}

function connectionOf(client: pg.PoolClient, timer: StatementTimer | undefined): Connection {
  return {
    client,
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const startMs = timer === undefined ? 0 : performance.now()
      const result = await answered(client.query(statement(query.sql, query.parameters)))
      timer?.(performance.now() - startMs)
      return { rows: result.rows as R[], numAffectedRows: BigInt(result.rowCount ?? 0) }
    },
    // biome-ignore lint/correctness/useYield: lists are paged, nothing streams
    async *streamQuery() {
      throw new Error('streaming is not used')
    },
  }
}

/** Reads on any connection: what needs no transaction need not go through Kysely's bookkeeping either. */
export function postgresReader(pool: pg.Pool, timer?: StatementTimer): Db['read'] {
  return async <R>(text: string, parameters: readonly unknown[]) => {
    const startMs = timer === undefined ? 0 : performance.now()
    const { rows } = await answered(pool.query(statement(text, parameters)))
    timer?.(performance.now() - startMs)
    return rows as R[]
  }
}

function statement(text: string, parameters: readonly unknown[]): pg.QueryConfig {
  const name = statementName(text)
  const values = parameters as unknown[]
  return name === undefined ? { text, values } : { name, text, values }
}

const names = new LRUCache<string, string>({ max: STATEMENTS_MAX })

/** A statement's name, or undefined once so many are named that the next one is likely a shape seen never again. */
function statementName(text: string): string | undefined {
  let name = names.get(text)
  if (name === undefined && names.size < STATEMENTS_MAX) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    names.set(text, name)
  }
  return name
}

/** By SQLSTATE (PostgreSQL manual, appendix A). */
export const rules: EngineRules = {
  isUniqueViolation: (error) => sqlState(error) === '23505',
  isTransient: (error) => sqlState(error) === '40001' || sqlState(error) === '40P01',
  // Data exceptions, integrity constraints, and what is longer than an index takes.
  isUnstorable: (error) => /^(22|23|54)...$/.test(String(sqlState(error))),
  lockForShare: ' for key share',
  lockForUpdate: ' for update',
  changesTogether: 1,
}

function sqlState(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
