import { randomUUID } from 'node:crypto'
import {
  type CompiledQuery,
  type Dialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import { ApiError } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import { currentContext, nodeShares, runShared } from '../../../pipeline/request/request-context.ts'
import { coalesceCalls } from '../../../runtime/coalesce-calls.ts'
import type { Db, PoolState, Replica, ReplicaReads } from '../../db.ts'
import type { ServerConnection } from './connection.ts'
import { type ConnectionSource, causeOf, readOn, statement, withConnection } from './driver.ts'
import { sqlState } from './errors.ts'

/**
 * Reads from a standby of the primary (BERTH_DATABASE_READ_URL, ADR 84). Each read asks the primary how far its log is on disk, and uses the
 * standby once it has replayed as much. So its rows include every change that was acknowledged before the read began, by any node. If the
 * standby is too far behind or does not respond, the primary serves the read, and all further ones until the standby is current again.
 *
 * A position says nothing about a standby of another history: a restore or a failover can put the log back. So the primary has a replication
 * token, a random value that a node replaces after each start of the server, and a standby is used only if its rows have the same token.
 */
export interface ReadReplica {
  /** Runs one SELECT outside of transactions. */
  readonly read: Db['read']
  readonly state: Omit<Replica, 'db'>
  pool(): Pick<PoolState, 'total' | 'idle' | 'waiting' | 'refused'>
  close(): Promise<void>
}

export interface ReplicaOptions {
  /** The connections of the replica. */
  readonly source: ConnectionSource
  readonly primary: Pick<Db, 'read' | 'kysely'>
  /** Whether this process replaces the replication token when it is invalid. */
  readonly storesToken: boolean
  /** Receives why reads stop going to the replica, as a phrase, and undefined when they do so again. */
  readonly onChange: (problem: string | undefined) => void
}

/** A replica that cannot be used for a read. */
class UnusableReplica extends Error {
  override readonly name = 'UnusableReplica'
  readonly outcome: Exclude<keyof ReplicaReads, 'replica'>

  constructor(message: string, outcome: UnusableReplica['outcome'] = 'unavailable') {
    super(message)
    this.outcome = outcome
  }
}

/** The same for all servers of one database, and different for any other. */
interface DatabaseIdentity {
  readonly system: string
  readonly database: string
}

/** What the primary returns in one statement. */
interface PrimaryRow {
  /** In its log, on disk. */
  readonly position: string
  /** Less than the position that was read before. */
  readonly is_earlier: boolean
  readonly token: string | null
  /** When the server was started, in seconds. */
  readonly started: string
  readonly distributed: boolean
}

interface PrimaryState extends Pick<PrimaryRow, 'position' | 'token' | 'started'> {
  /** Undefined while the token is invalid. */
  readonly identity: DatabaseIdentity | undefined
}

interface ReplayState {
  readonly standby: boolean
  readonly current: boolean
  readonly same_token: boolean
}

/** The replication token: when the primary was started, a space, and a random value. */
const TOKEN = 'replication_token'

const identityText =
  'select system_identifier::text as system, current_database()::text as database from pg_control_system()'
// A token whose commit a statement sees is on disk before the position that the statement then reads.
const primaryText = `select position::text, position < $1::pg_lsn as is_earlier,
    extract(epoch from pg_postmaster_start_time())::text as started,
    (select value from settings where name = '${TOKEN}') as token,
    exists (select from pg_extension where extname = 'citus') as distributed
  from pg_current_wal_flush_lsn() as position`
const replayText = `select pg_is_in_recovery() as standby,
    coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false) as current,
    coalesce((select value = $2::text from settings where name = '${TOKEN}'), false) as same_token`

export function readReplica({ source, primary, storesToken, onChange }: ReplicaOptions): ReadReplica {
  const { connections, permits, meter } = source
  const counts = { replica: 0, behind: 0, diverged: 0, unavailable: 0 }
  /** Why reads go to the primary. */
  let problem: UnusableReplica | undefined = new UnusableReplica('it has not been checked yet')
  let nextCheck: NodeJS.Timeout | undefined
  let isClosed = false
  /** Of the primary, when it was last asked. */
  let last: Pick<PrimaryRow, 'position' | 'token'> = { position: '0/0', token: null }
  /** A token under which the log went back. */
  let invalidToken: string | undefined
  /** Of the primary that has this token. */
  let identity: (DatabaseIdentity & { readonly token: string }) | undefined
  const identities = new WeakMap<ServerConnection, DatabaseIdentity>()

  /** Reads from the primary for all requests together. */
  const readShared = <R>(text: string, parameters: readonly unknown[] = []) =>
    runShared(() => primary.read<R>(text, parameters), nodeShares.replica)
  const readPrimary = coalesceCalls(async (): Promise<PrimaryState> => {
    try {
      const [row] = await readShared<PrimaryRow>(primaryText, [last.position])
      // The log of the coordinator does not contain the changes of the other servers.
      if (row?.distributed !== false) throw new UnusableReplica('the database is distributed (Citus)')
      const { position, token, started } = row
      // A virtual machine that continues from a snapshot of its memory keeps the start of the server.
      if (row.is_earlier && token !== null && token === last.token) invalidToken = token
      last = row
      if (token === null || token === invalidToken || !token.startsWith(`${started} `))
        return { position, token, started, identity: undefined }
      if (identity?.token !== token) {
        const [own] = await readShared<DatabaseIdentity>(identityText)
        identity = { ...(own as DatabaseIdentity), token }
      }
      return { position, token, started, identity }
    } catch (error) {
      if (sqlState(causeOf(error)) === UNDEFINED_TABLE)
        throw new UnusableReplica('the database has not been migrated yet')
      throw toUnusable(error)
    }
  })
  /** Stores a valid token, if no other node has done so. */
  const replaceToken = async ({ token, started }: PrimaryState) => {
    const { kysely } = primary
    const value = `${started} ${randomUUID()}`
    const change =
      token === null
        ? kysely
            .insertInto('settings')
            .values({ name: TOKEN, value })
            .onConflict((conflict) => conflict.column('name').doNothing())
        : kysely.updateTable('settings').set({ value }).where('name', '=', TOKEN).where('value', '=', token)
    await change.execute()
  }

  /** Fails if the server is not one of the database of the primary. */
  const compareIdentity = async (connection: ServerConnection, expected: DatabaseIdentity | undefined) => {
    let own = identities.get(connection)
    if (own === undefined) {
      const { rows } = await connection.run({ text: identityText }, limits.databaseReplicaWaitMs)
      own = rows[0] as DatabaseIdentity
      identities.set(connection, own)
    }
    if (own.system !== expected?.system || own.database !== expected.database)
      throw new UnusableReplica(`${connection.server.name} does not follow this database`, 'diverged')
  }

  /** Waits until the server has replayed the log of the primary up to a position. */
  const waitForReplay = async (connection: ServerConnection, state: PrimaryState, endMs: number) => {
    await compareIdentity(connection, state.identity)
    const { name } = connection.server
    let wasCurrent = false
    for (let pauseMs = 1; ; pauseMs *= 2) {
      const config = statement(connection, replayText, [state.position, state.token])
      const { rows } = await connection.run(config, limits.databaseReplicaWaitMs)
      const [replay] = rows as ReplayState[]
      if (replay?.standby !== true) throw new UnusableReplica(`${name} is not a standby`)
      if (replay.current && replay.same_token) return
      // A statement may read its rows before its position, so the next one decides.
      if (wasCurrent)
        throw new UnusableReplica(`${name} has changes that the primary does not have`, 'diverged')
      wasCurrent = replay.current
      if (!wasCurrent && performance.now() + pauseMs > endMs) {
        const more = replay.same_token ? '' : ' and has not followed it since its start'
        throw new UnusableReplica(
          `${name} is more than ${limits.databaseReplicaWaitMs} ms behind the primary${more}`,
          'behind',
        )
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  /** Returns a connection to a server that has replayed the log of the primary up to a position. Fails with UnusableReplica. */
  const acquireCurrent = (state: PrimaryState) =>
    new Promise<ServerConnection>((resolve, reject) => {
      let isLate = false
      // Longer than the waits inside of it, whose errors say more.
      const timer = setTimeout(() => {
        isLate = true
        reject(new UnusableReplica('it does not respond'))
      }, 2 * limits.databaseReplicaWaitMs)
      const acquire = async () => {
        const endMs = performance.now() + limits.databaseReplicaWaitMs
        const connection = await connections.acquire()
        try {
          await waitForReplay(connection, state, endMs)
        } catch (error) {
          // The address may lead to another server the next time.
          connection.release(true)
          throw error
        }
        if (isLate) connection.release(connection.isBroken)
        return connection
      }
      acquire()
        .then(resolve, (error) => reject(toUnusable(error)))
        .finally(() => clearTimeout(timer))
    })

  /** `isCheck`: also while the replica is not used. */
  const withCurrent = async <T>(
    work: (connection: ServerConnection) => Promise<T>,
    { isCheck = false } = {},
  ): Promise<T> => {
    const state = await readPrimary()
    if (state.identity === undefined)
      throw new UnusableReplica(
        'no node has stored a replication token since the primary was started; one that runs does so within seconds',
      )
    const acquire = async () => {
      // Another read may have found it while this one waited.
      if (problem !== undefined && !isCheck) throw problem
      return acquireCurrent(state)
    }
    return withConnection(source, acquire, work)
  }

  const setProblem = (found: UnusableReplica | undefined) => {
    if (found?.message !== problem?.message) onChange(found?.message)
    problem = found
  }
  const check = async () => {
    try {
      await runShared(async () => {
        const state = await readPrimary()
        if (storesToken && state.identity === undefined) await replaceToken(state)
        await withCurrent(async () => undefined, { isCheck: true })
      }, nodeShares.replica)
      setProblem(undefined)
    } catch (error) {
      setProblem(toUnusable(error))
    }
    return problem?.message
  }
  const checkLater = () => {
    if (isClosed || nextCheck !== undefined) return
    nextCheck = setTimeout(async () => {
      await check()
      nextCheck = undefined
      if (problem !== undefined) checkLater()
    }, limits.databaseReplicaCheckMs)
    nextCheck.unref()
  }
  void check().then(() => problem !== undefined && checkLater())

  return {
    async read<R>(text: string, parameters: readonly unknown[]) {
      if (problem === undefined)
        try {
          const rows = await withCurrent((connection) => readOn<R>(connection, text, parameters, meter))
          counts.replica++
          return rows
        } catch (error) {
          // The caller left, or the statement would take too long on the primary, too.
          if (error === currentContext()?.aborted || sqlState(causeOf(error)) === QUERY_CANCELED) throw error
          if (concernsServer(error)) {
            setProblem(toUnusable(error))
            checkLater()
          }
        }
      counts[problem?.outcome ?? 'unavailable']++
      return primary.read<R>(text, parameters)
    },
    state: { reads: () => counts, check },
    pool() {
      const { total, idle, waiting } = connections.counts()
      return { total, idle, waiting: waiting + permits.waiting, refused: permits.refused }
    },
    async close() {
      isClosed = true
      clearTimeout(nextCheck)
      await connections.close()
    },
  }
}

const QUERY_CANCELED = '57014'
const SERIALIZATION_FAILURE = '40001'
const UNDEFINED_TABLE = '42P01'

/**
 * Whether further reads would fail, too. Not if too many reads wait for connections, or if a statement fails: it may conflict with the replay
 * of a change.
 */
function concernsServer(error: unknown): boolean {
  if (error instanceof UnusableReplica) return true
  return (
    error instanceof ApiError && error.cause !== undefined && sqlState(error.cause) !== SERIALIZATION_FAILURE
  )
}

function toUnusable(error: unknown): UnusableReplica {
  if (error instanceof UnusableReplica) return error
  const cause = causeOf(error)
  return new UnusableReplica(cause instanceof Error ? cause.message : String(cause))
}

/** Kysely over a function that reads. Its writes fail. */
export function readOnlyDialect(read: Db['read']): Dialect {
  const connection = {
    async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
      if (query.kind !== 'SelectQueryNode' && query.kind !== 'RawNode')
        throw new Error(`a write outside of a transaction: ${query.kind}`)
      return { rows: await read<R>(sql, parameters) }
    },
    // biome-ignore lint/correctness/useYield: lists are paged, nothing streams
    async *streamQuery(): AsyncGenerator<never> {
      throw new Error('streaming is not used')
    },
  }
  const refuse = async () => {
    throw new Error('transactions use the primary')
  }
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => ({
      async init() {},
      acquireConnection: async () => connection,
      beginTransaction: refuse,
      commitTransaction: refuse,
      rollbackTransaction: refuse,
      async releaseConnection() {},
      async destroy() {},
    }),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  }
}
