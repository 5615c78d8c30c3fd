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
import { currentContext, runShared } from '../../../pipeline/request/request-context.ts'
import { coalesceCalls } from '../../../runtime/coalesce-calls.ts'
import type { Db, PoolState, Replica } from '../../db.ts'
import type { ServerConnection } from './connection.ts'
import { type ConnectionSource, causeOf, readOn, statement, withConnection } from './driver.ts'
import { sqlState } from './errors.ts'

/**
 * Reads from a standby of the primary (BERTH_DATABASE_READ_URL, ADR 84). Each read asks the primary how far its log is on disk, and uses the
 * standby once it has replayed as much. So its rows include every change that was acknowledged before the read began, by any node. If the
 * standby is too far behind or does not respond, the primary serves the read, and all further ones until the standby is current again.
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
  /** Reads from the primary. */
  readonly primary: Db['read']
  /** Receives why reads stop going to the replica, as a phrase, and undefined when they do so again. */
  readonly onChange: (problem: string | undefined) => void
}

/** A replica that cannot be used for a read. */
class UnusableReplica extends Error {
  override readonly name = 'UnusableReplica'
  readonly isBehind: boolean

  constructor(message: string, { isBehind = false } = {}) {
    super(message)
    this.isBehind = isBehind
  }
}

/** The same for all servers of one database, and different for any other. */
interface DatabaseIdentity {
  readonly system: string
  readonly database: string
}

/** A position in the log of the primary. After a failover, the log of another timeline may have other changes at the same position. */
interface LogPosition {
  readonly position: string
  readonly timeline: number
}

interface ReplayState {
  readonly standby: boolean
  readonly current: boolean
  /** Of the last checkpoint. */
  readonly same_timeline: boolean
}

const identityText =
  'select system_identifier::text as system, current_database()::text as database from pg_control_system()'
// The names of files of the log start with the timeline, in hexadecimal digits.
const positionText = `select position::text, ('x' || left(pg_walfile_name(position), 8))::bit(32)::int as timeline,
    exists (select from pg_extension where extname = 'citus') as distributed
  from pg_current_wal_flush_lsn() as position`
const replayText = `select pg_is_in_recovery() as standby,
    coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false) as current,
    timeline_id = $2::int as same_timeline
  from pg_control_checkpoint()`

export function readReplica({ source, primary, onChange }: ReplicaOptions): ReadReplica {
  const { connections, permits, meter } = source
  const counts = { replica: 0, behind: 0, unavailable: 0 }
  /** Why reads go to the primary. */
  let problem: UnusableReplica | undefined = new UnusableReplica('it has not been checked yet')
  let nextCheck: NodeJS.Timeout | undefined
  let isClosed = false
  let identity: DatabaseIdentity | undefined
  const verified = new WeakSet<ServerConnection>()

  /** Reads from the primary for all requests together. */
  const readShared = <R>(text: string) => runShared(() => primary<R>(text, []), SHARE)
  const readPosition = coalesceCalls(async (): Promise<LogPosition> => {
    try {
      const [row] = await readShared<LogPosition & { readonly distributed: boolean }>(positionText)
      // The log of the coordinator does not contain the changes of the other servers.
      if (row?.distributed !== false) throw new UnusableReplica('the database is distributed (Citus)')
      return row
    } catch (error) {
      throw toUnusable(error)
    }
  })

  const verify = async (connection: ServerConnection) => {
    if (verified.has(connection)) return
    identity ??= (await readShared<DatabaseIdentity>(identityText))[0]
    const { rows } = await connection.run({ text: identityText }, limits.databaseReplicaWaitMs)
    const [own] = rows as DatabaseIdentity[]
    if (own?.system !== identity?.system || own?.database !== identity?.database)
      throw new UnusableReplica(`${connection.server.name} does not follow this database`)
    verified.add(connection)
  }

  /** Waits until the server has replayed the log up to a position. */
  const waitForReplay = async (
    connection: ServerConnection,
    { position, timeline }: LogPosition,
    endMs: number,
  ) => {
    await verify(connection)
    for (let pauseMs = 1; ; pauseMs *= 2) {
      const config = statement(connection, replayText, [position, timeline])
      const { rows } = await connection.run(config, limits.databaseReplicaWaitMs)
      const [state] = rows as ReplayState[]
      if (state?.standby !== true) throw new UnusableReplica(`${connection.server.name} is not a standby`)
      if (!state.same_timeline)
        throw new UnusableReplica(`${connection.server.name} has no checkpoint since the last failover`)
      if (state.current) return
      if (performance.now() + pauseMs > endMs)
        throw new UnusableReplica(
          `${connection.server.name} is more than ${limits.databaseReplicaWaitMs} ms behind the primary`,
          { isBehind: true },
        )
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  /** Returns a connection to a server that has replayed the log up to a position. Fails with UnusableReplica. */
  const acquireCurrent = (position: LogPosition) =>
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
          await waitForReplay(connection, position, endMs)
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
    const position = await readPosition()
    const acquire = async () => {
      // Another read may have found it while this one waited.
      if (problem !== undefined && !isCheck) throw problem
      return acquireCurrent(position)
    }
    return withConnection(source, acquire, work)
  }

  const setProblem = (found: UnusableReplica | undefined) => {
    if (found?.message !== problem?.message) onChange(found?.message)
    problem = found
  }
  const check = async () => {
    try {
      await runShared(() => withCurrent(async () => undefined, { isCheck: true }), SHARE)
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
      counts[problem?.isBehind ? 'behind' : 'unavailable']++
      return primary<R>(text, parameters)
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

/** Of the database connections: a read of the position must not wait for one organization. */
const SHARE = 'read replica'

const QUERY_CANCELED = '57014'
const SERIALIZATION_FAILURE = '40001'

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
