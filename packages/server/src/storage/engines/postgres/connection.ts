import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'
import { ApiError, unavailable } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import type { DatabaseAddress, SessionAttributes } from './address.ts'
import { detectDeadConnections, type MonitoredConnection } from './dead-connections.ts'
import {
  databaseFailure,
  isConnectionUnusable,
  isServerError,
  type Phase,
  READ_ONLY,
  ReadOnlyServer,
  ResponseTimeout,
  sqlState,
} from './errors.ts'

/**
 * Connections to PostgreSQL: no other code opens one. Every wait on a connection has a timeout, a connection with an expired timeout is
 * destroyed, and new connections use the server that the address requires.
 */

export interface ConnectionOptions {
  /** Connections at a time. */
  readonly max: number
  /** Receives what broke connections, idle or in use. */
  readonly onError: (error: Error) => void
}

export interface PostgresConnections {
  /** Takes a connection that works, as far as is known. Fails with code 14; its `release` gives it back. */
  acquire(): Promise<ServerConnection>
  /** As Db.readOnlyReason. */
  readOnlyReason(): Promise<string | undefined>
  /** Runs a SELECT within `limits.databaseValidateMs`, without waiting for the connections of requests. */
  probe(text: string): Promise<void>
  /** The same, and returns its rows. */
  readApart(text: string): Promise<readonly unknown[]>
  /** Whether the last server that a connection was opened to can have a distributed database. */
  hasCitus(): boolean
  counts(): { readonly total: number; readonly idle: number; readonly waiting: number }
  /** Ends all connections within twice `limits.databaseCloseMs`, those in use too. */
  close(): Promise<void>
}

/** Bounds that the server applies, in milliseconds. */
export interface StatementBounds {
  readonly statementMs: number
  /** Of the wait for one lock. */
  readonly lockMs: number
  /** Of a transaction without a statement, until it is rolled back and its locks are free. */
  readonly idleMs: number
}

export const requestBounds: StatementBounds = {
  statementMs: limits.databaseStatementMs,
  lockMs: limits.databaseLockMsMax,
  idleMs: limits.databaseIdleInTransactionMs,
}
export const backgroundBounds: StatementBounds = {
  statementMs: limits.databaseLongStatementMs,
  lockMs: limits.databaseLongLockMsMax,
  idleMs: limits.databaseLongIdleInTransactionMs,
}

const INT8_OID = 20
const SECOND_MS = 1000

/** Milliseconds and counts stay far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID ? (text: string) => Number(text) : pg.types.getTypeParser(oid, format as 'text'),
}

interface PoolOfConnection {
  /** Connections with a statement that waits for its response. */
  readonly busy: Set<ServerConnection>
  /** Called when a server refused to write. */
  onReadOnly(): void
}

/** A connection of a pool. */
export class ServerConnection extends pg.Client implements MonitoredConnection {
  /** Part of its `application_name`, by which another connection finds its session, also behind a pooler. */
  readonly traceId: string
  readonly server: Server
  readonly openedMs = performance.now()
  /** When the server last responded. */
  lastResponseMs = performance.now()
  /** Since when a statement waits for its response. */
  waitingSinceMs: number | undefined
  /** No pooler is between this node and the server: sessions are ours, and named statements stay. */
  isDirect = false
  /** The server has the extension Citus. */
  isDistributed = false
  /** The server shows the session to others under its trace id. */
  isTraceable = false
  isBroken = false
  /** The server is of the type that the address requires, and the session has its timeouts. */
  isPrepared = false
  /** The server's process for this session, as the handshake names it. */
  declare readonly processID: number | null
  /** Set by the pool while the connection is in use. */
  declare readonly release: (destroy?: boolean) => void
  readonly #pool: PoolOfConnection

  constructor(server: Server, pool: PoolOfConnection, { applicationName, connectMs }: DatabaseAddress) {
    const traceId = randomBytes(6).toString('hex')
    super({
      connectionString: server.url,
      types,
      application_name: `${applicationName ?? 'berth'} ${traceId}`,
      connectionTimeoutMillis: connectMs ?? limits.databaseConnectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: limits.databaseKeepAliveMs,
    })
    this.server = server
    this.traceId = traceId
    this.#pool = pool
  }

  /** Runs one statement within `ms`. Fails with an ApiError unless the failure is a bug. */
  async run(config: pg.QueryConfig, ms: number, phase: Phase = 'statement'): Promise<pg.QueryResult> {
    this.waitingSinceMs = performance.now()
    this.#pool.busy.add(this)
    const bounded = { ...config, query_timeout: ms }
    try {
      const result = await this.query(bounded)
      this.lastResponseMs = performance.now()
      return result
    } catch (error) {
      if (isConnectionUnusable(error)) this.destroy()
      else this.lastResponseMs = performance.now()
      if (sqlState(error) === '25006') this.#pool.onReadOnly()
      throw databaseFailure(error, phase) ?? error
    } finally {
      this.waitingSinceMs = undefined
      this.#pool.busy.delete(this)
    }
  }

  get bytesRead(): number {
    return (this.connection.stream as Socket).bytesRead
  }

  /** Breaks the connection without waiting for the other side; statements on it fail with the reason. */
  destroy(reason?: Error): void {
    this.isBroken = true
    this.connection.stream.destroy(reason)
  }

  override connect(): Promise<pg.Client>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const connected = super.connect().catch((error: unknown) => {
      // The socket would stay until the server gives up, and with it the process.
      this.destroy()
      throw error
    })
    if (callback === undefined) return connected
    // pg passes no error as undefined, its types say otherwise.
    connected.then(() => (callback as (error?: Error) => void)(), callback)
    return undefined
  }

  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | void {
    // pg waits for the other side to close, which may never respond.
    const timer = setTimeout(() => this.destroy(), limits.databaseCloseMs)
    timer.unref()
    this.once('end', () => clearTimeout(timer))
    return callback === undefined ? super.end() : super.end(callback)
  }
}

type Server = DatabaseAddress['servers'][number]

/** Opens connections to the servers of an address as they are needed. */
export function postgresConnections(
  address: DatabaseAddress,
  { max, onError }: ConnectionOptions,
): PostgresConnections {
  const servers = serverOrder(address.servers)
  const pool = connectionPool(address, servers, max, onError)
  // A separate connection, so that it is available when those of requests are not, and shows whether the path or the statement is at fault.
  const monitor = connectionPool(address, servers, 1, onError)
  const withMonitor = async <T>(work: (connection: ServerConnection) => Promise<T>) => {
    const connection = await monitor.acquire()
    try {
      return await work(connection)
    } finally {
      connection.release(connection.isBroken)
    }
  }
  const detector = detectDeadConnections(pool.busy, {
    async activeSessions(traceIds) {
      try {
        return await withMonitor((connection) => activeSessions(connection, traceIds))
      } catch (error) {
        if (isUnreachable(error)) return undefined
        throw error
      }
    },
    onUnreachable(silent) {
      for (const connection of silent)
        connection.destroy(
          new ResponseTimeout(`${connection.server.name} does not respond and cannot be reached`),
        )
    },
    async onDead(dead) {
      for (const connection of dead)
        connection.destroy(
          new ResponseTimeout(
            `${connection.server.name} runs no statement and did not respond to one: the connection is dead`,
          ),
        )
      // Idle ones have most likely died on the same path.
      pool.distrust()
      await withMonitor((connection) => endSessions(connection, dead))
    },
  })
  return {
    acquire: pool.acquire,
    async readOnlyReason() {
      try {
        const connection = await monitor.acquire()
        let isReleasedForGood = true
        try {
          isReleasedForGood = await isReadOnly(connection)
          if (!isReleasedForGood) return undefined
        } finally {
          // The address may lead to another server the next time.
          connection.release(isReleasedForGood || connection.isBroken)
        }
      } catch (error) {
        if (error instanceof Error && error.cause instanceof ReadOnlyServer) return READ_ONLY
        throw error
      }
      pool.abandon()
      return READ_ONLY
    },
    hasCitus: pool.hasCitus,
    readApart: (text) =>
      withMonitor(async (connection) => (await connection.run({ text }, limits.databaseValidateMs)).rows),
    async probe(text) {
      await withMonitor((connection) => connection.run({ text }, limits.databaseValidateMs))
    },
    counts: pool.counts,
    async close() {
      detector.stop()
      await Promise.all([pool.close(), monitor.close()])
    },
  }
}

interface ServerOrder {
  readonly length: number
  /** The server that the next connection is opened to. */
  next(): Server
  /** Passes to the server after this one. */
  failed(server: Server): void
}

/** The first server that works stays the first choice: those before it would cost a time-out for each connection. */
function serverOrder(servers: readonly Server[]): ServerOrder {
  let at = 0
  return {
    length: servers.length,
    next: () => servers[at] as Server,
    failed(server) {
      if (servers[at] === server) at = (at + 1) % servers.length
    },
  }
}

function connectionPool(
  address: DatabaseAddress,
  servers: ServerOrder,
  max: number,
  onError: (error: Error) => void,
) {
  const open = new Set<ServerConnection>()
  const busy = new Set<ServerConnection>()
  /** Connections that were opened before are not used again. */
  let abandonedMs = Number.NEGATIVE_INFINITY
  let hasCitus = false
  /** Connections that have not responded since are not used again. */
  let distrustedMs = Number.NEGATIVE_INFINITY
  let closing: Promise<void> | undefined
  const abandon = () => {
    // A new connection to `any` server leads to the same one.
    if (address.attributes !== 'any') abandonedMs = performance.now()
  }

  const Client = class extends ServerConnection {
    constructor() {
      super(servers.next(), { busy, onReadOnly: abandon }, address)
      open.add(this)
      // Nothing listens while it connects or is in use, and an error that nothing listens to would end the process.
      this.on('error', onError)
      this.once('end', () => open.delete(this))
      for (const event of ['error', 'errorMessage', 'end'])
        this.connection.once(event, () => this.isPrepared || servers.failed(this.server))
    }
  }
  const pool = new pg.Pool({
    Client,
    max,
    // For both of its waits: for a free connection, and for a new one, which has a bound of its own.
    connectionTimeoutMillis: Math.max(limits.databaseAcquireMs, (address.connectMs ?? 0) + SECOND_MS),
    idleTimeoutMillis: limits.databaseIdleMs,
    maxLifetimeSeconds: limits.databaseLifetimeMs / SECOND_MS,
    // The pool waits for it, and destroys the connection if it rejects.
    onConnect: async (client) => {
      const connection = client as ServerConnection
      try {
        await prepareSession(connection, address.attributes)
        hasCitus = connection.isDistributed
      } catch (error) {
        servers.failed(connection.server)
        throw error
      }
    },
  })
  pool.on('error', () => undefined) // of idle connections, which have listeners of their own

  const isUsable = async (connection: ServerConnection) => {
    const { lastResponseMs, openedMs, isBroken } = connection
    if (isBroken || openedMs < abandonedMs || lastResponseMs < distrustedMs) return false
    if (performance.now() - lastResponseMs < limits.databaseValidateAfterMs) return true
    try {
      await connection.run({ text: 'select 1' }, limits.databaseValidateMs)
      return true
    } catch (error) {
      onError(error as Error)
      distrustedMs = performance.now()
      return false
    }
  }

  return {
    busy: busy as ReadonlySet<ServerConnection>,
    async acquire(): Promise<ServerConnection> {
      const deadlineMs = performance.now() + limits.databaseAcquireMs
      // The error of a server says more than a missing response of another server.
      let serverError: unknown
      for (let failures = 0; ; ) {
        let connection: ServerConnection
        try {
          connection = (await pool.connect()) as pg.Client as ServerConnection
        } catch (error) {
          failures++
          if (isServerError(error)) serverError ??= error
          if (failures < servers.length && performance.now() < deadlineMs && !isPoolFull(error)) continue
          throw databaseFailure(serverError ?? error, 'connect')
        }
        if (await isUsable(connection)) return connection
        connection.release(true)
        if (performance.now() > deadlineMs) throw unavailable('the database does not respond', SECOND_MS)
      }
    },
    abandon,
    distrust() {
      distrustedMs = performance.now()
    },
    hasCitus: () => hasCitus,
    counts: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close(): Promise<void> {
      closing ??= closeWithin(pool, open)
      return closing
    },
  }
}

/** Whether nothing came from the server, not even a refusal. */
function isUnreachable(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : error
  return !isServerError(cause) && !isPoolFull(cause)
}

function isPoolFull(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('timeout exceeded when trying to connect')
}

async function closeWithin(pool: pg.Pool, open: ReadonlySet<ServerConnection>): Promise<void> {
  const ended = pool.end().then(() => true)
  if (await Promise.race([ended, sleep(limits.databaseCloseMs)])) return
  for (const connection of open) connection.destroy(new Error('the server is stopping'))
  await Promise.race([ended, sleep(limits.databaseCloseMs)])
}

function sleep(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(resolve, ms, false))
}

interface SessionRow {
  readonly pid: number
  readonly standby: boolean
  readonly read_only: boolean
  readonly distributed: boolean
  readonly traceable: boolean
}

/**
 * Checks the server and sets the timeouts of the session. A pooler that shares sessions is recognized by its process id, which it invents:
 * there no setting of a session is possible, and each transaction sets its own timeouts.
 */
async function prepareSession(connection: ServerConnection, attributes: SessionAttributes): Promise<void> {
  const { rows } = await connection.query<SessionRow>({
    text: `select pg_backend_pid() as pid, pg_is_in_recovery() as standby,
        current_setting('transaction_read_only')::boolean as read_only,
        current_setting('citus.propagate_set_commands', true) is not null as distributed,
        exists (select from pg_stat_activity where pid = pg_backend_pid() and application_name like $1) as traceable`,
    values: [`%${connection.traceId}%`],
    query_timeout: limits.databaseConnectMs,
  } as pg.QueryConfig)
  const [session] = rows
  if (session === undefined) throw new Error('the database does not describe its session')
  const isUnsuitable =
    attributes === 'read-write'
      ? session.standby || session.read_only
      : attributes === 'primary' && session.standby
  if (isUnsuitable) throw new ReadOnlyServer(`${connection.server.name} is not ${attributes}`)
  connection.isDirect = session.pid === connection.processID
  connection.isDistributed = session.distributed
  connection.isTraceable = session.traceable
  if (connection.isDirect) {
    const text = sessionBoundsSql(requestBounds)
    await connection.query({ text, query_timeout: limits.databaseConnectMs } as pg.QueryConfig)
    try {
      await connection.query({
        text: keepAliveSql,
        query_timeout: limits.databaseConnectMs,
      } as pg.QueryConfig)
    } catch (error) {
      // A system that cannot look at its sockets in this way refuses the settings.
      if (isConnectionUnusable(error)) throw error
    }
  }
  connection.isPrepared = true
  connection.lastResponseMs = performance.now()
}

/** `begin` with the bounds of its statements, in one message. */
export function beginStatement(
  { isDirect, isDistributed }: ServerConnection,
  bounds: StatementBounds,
): string {
  const statements = ['begin']
  if (!isDirect || bounds !== requestBounds) statements.push(transactionBoundsSql(bounds))
  // The other servers take no settings of a session. Their sessions may be idle for longer than this one, so they get no other bounds.
  if (isDistributed)
    statements.push(
      "set local citus.propagate_set_commands = 'local'",
      `set local lock_timeout = ${bounds.lockMs}`,
    )
  return statements.join('; ')
}

/** Bounds of this transaction alone. */
export function transactionBoundsSql(bounds: StatementBounds): string {
  return boundsSql('set local', bounds)
}

/** Timeouts of the session, if it is not shared. */
export function sessionBoundsSql(bounds: StatementBounds): string {
  return boundsSql('set', bounds)
}

function boundsSql(verb: 'set' | 'set local', { statementMs, lockMs, idleMs }: StatementBounds): string {
  return [
    `statement_timeout = ${statementMs}`,
    `lock_timeout = ${lockMs}`,
    `idle_in_transaction_session_timeout = ${idleMs}`,
    // To compile a statement takes longer than to run one of a request, and costs are often estimated too high.
    'jit = off',
  ]
    .map((setting) => `${verb} ${setting}`)
    .join('; ')
}

/**
 * Settings with which the server detects that this node is gone: while the session is idle, and while it runs a statement (from PostgreSQL
 * 14 on).
 */
const keepAliveSql = `
  set tcp_keepalives_idle = ${limits.databaseKeepAliveMs / SECOND_MS};
  set tcp_keepalives_interval = ${limits.databaseKeepAliveMs / SECOND_MS};
  set tcp_keepalives_count = 3;
  select set_config('client_connection_check_interval', '${limits.databaseDeadAfterMs}', false)
    where current_setting('client_connection_check_interval', true) is not null`

/** Which of these sessions run a statement, as the server sees it. */
async function activeSessions(
  connection: ServerConnection,
  traceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await connection.run(
    {
      // Where the server does not track activities, the state is another word: then nothing is known, and nothing dead.
      text: `select application_name as name from pg_stat_activity
        where application_name like any($1) and coalesce(state, '') not like 'idle%'`,
      values: [traceIds.map((id) => `%${id}%`)],
    },
    limits.databaseConnectMs,
  )
  return new Set(traceIds.filter((id) => rows.some(({ name }) => name.includes(id))))
}

/**
 * Ends the transactions of dead connections: the server does not learn that they are dead, and would keep their locks. Other sessions are
 * left: behind a pooler another client uses them by now.
 */
async function endSessions(
  connection: ServerConnection,
  dead: readonly { readonly traceId: string }[],
): Promise<void> {
  await connection.run(
    {
      text: `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like any($1) and state like 'idle in transaction%'`,
      values: [dead.map(({ traceId }) => `%${traceId}%`)],
    },
    limits.databaseConnectMs,
  )
}

async function isReadOnly(connection: ServerConnection): Promise<boolean> {
  const { rows } = await connection.run(
    {
      text: `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only`,
    },
    limits.databaseConnectMs,
  )
  return rows[0]?.read_only === true
}
