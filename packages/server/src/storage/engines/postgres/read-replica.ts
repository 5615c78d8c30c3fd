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
import type { Db, ReplicaState } from '../../db.ts'
import type { ServerConnection } from './connection.ts'
import { withPermit } from './connection-permits.ts'
import { type ConnectionSource, causeOf, readOn, statement } from './driver.ts'
import { sqlState } from './errors.ts'

/**
 * Reads from a standby of the primary (BERTH_DATABASE_READ_URL, ADR 84). Each read asks the primary how far its log is on disk, and uses the
 * standby once it has replayed as much. So its rows include every change that was acknowledged before the read began, by any node. If the
 * standby is too far behind or does not respond, the primary serves the read, and all further ones until the standby is current again.
 */
export interface ReadReplica {
  /** Runs one SELECT outside of transactions. */
  readonly read: Db['read']
  readonly state: ReplicaState
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

const identityText =
  'select system_identifier::text as system, current_database()::text as database from pg_control_system()'
const positionText = `select pg_current_wal_flush_lsn()::text as position,
  exists (select from pg_extension where extname = 'citus') as distributed`
const replayText = `select pg_is_in_recovery() as standby,
  coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false) as current`

export function readReplica({ source, primary, onChange }: ReplicaOptions): ReadReplica {
  const { connections, permits, meter } = source
  const counts = { replica: 0, behind: 0, unavailable: 0 }
  /** Why reads go to the primary. */
  let problem: UnusableReplica | undefined = new UnusableReplica('it has not been checked yet')
  let nextCheck: NodeJS.Timeout | undefined
  let isClosed = false
  let identity: DatabaseIdentity | undefined
  const verified = new WeakSet<ServerConnection>()

  const readPosition = coalesceCalls(() =>
    runShared(async () => {
      const [row] = await primary<{ position: string; distributed: boolean }>(positionText, [])
      // The log of the coordinator does not contain the changes of the other servers.
      if (row?.distributed !== false) throw new UnusableReplica('the database is distributed (Citus)')
      return row.position
    }),
  )

  const verify = async (connection: ServerConnection) => {
    if (verified.has(connection)) return
    identity ??= (await primary<DatabaseIdentity>(identityText, []))[0]
    const { rows } = await connection.run({ text: identityText }, limits.databaseReplicaWaitMs)
    const [own] = rows as DatabaseIdentity[]
    if (own?.system !== identity?.system || own?.database !== identity?.database)
      throw new UnusableReplica(`${connection.server.name} does not follow this database`)
    verified.add(connection)
  }

  /** Waits until the server has replayed the log up to `position`. */
  const waitForReplay = async (connection: ServerConnection, position: string, endMs: number) => {
    await verify(connection)
    for (let pauseMs = 1; ; pauseMs *= 2) {
      const config = statement(connection, replayText, [position])
      const { rows } = await connection.run(config, limits.databaseReplicaWaitMs)
      const [state] = rows as { readonly standby: boolean; readonly current: boolean }[]
      if (state?.standby !== true) throw new UnusableReplica(`${connection.server.name} is not a standby`)
      if (state.current) return
      if (performance.now() + pauseMs > endMs)
        throw new UnusableReplica(
          `${connection.server.name} is more than ${limits.databaseReplicaWaitMs} ms behind the primary`,
          { isBehind: true },
        )
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  /** Returns a connection to a server that has replayed the log up to `position`. */
  const acquireCurrent = (position: string) =>
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
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })

  const withCurrent = async <T>(work: (connection: ServerConnection) => Promise<T> | T): Promise<T> => {
    const position = await readPosition()
    const startMs = performance.now()
    return withPermit(permits, async () => {
      const connection = await acquireCurrent(position)
      meter?.wait?.(performance.now() - startMs)
      try {
        return await work(connection)
      } finally {
        connection.release(connection.isBroken)
      }
    })
  }

  const setProblem = (found: UnusableReplica | undefined) => {
    if (found?.message !== problem?.message) onChange(found?.message)
    problem = found
  }
  const findServer = async () => {
    try {
      const url = await runShared(() => withCurrent(({ server }) => server.url))
      setProblem(undefined)
      return url
    } catch (error) {
      setProblem(toUnusable(error))
      return undefined
    }
  }
  const checkLater = () => {
    if (isClosed || nextCheck !== undefined) return
    nextCheck = setTimeout(async () => {
      await findServer()
      nextCheck = undefined
      if (problem !== undefined) checkLater()
    }, limits.databaseReplicaCheckMs)
    nextCheck.unref()
  }
  void findServer().then(() => problem !== undefined && checkLater())

  return {
    async read<R>(text: string, parameters: readonly unknown[]) {
      if (problem === undefined)
        try {
          const rows = await withCurrent((connection) => readOn<R>(connection, text, parameters, meter))
          counts.replica++
          return rows
        } catch (error) {
          if (!concernsReplica(error)) throw error
          // A statement that conflicts with the replay of a change says nothing of the next one.
          if (sqlState(causeOf(error)) !== SERIALIZATION_FAILURE) {
            setProblem(toUnusable(error))
            checkLater()
          }
        }
      counts[problem?.isBehind ? 'behind' : 'unavailable']++
      return primary<R>(text, parameters)
    },
    state: {
      reads: () => counts,
      async check() {
        await findServer()
        return problem?.message
      },
      async currentSource() {
        const url = problem === undefined ? await findServer() : undefined
        if (problem !== undefined) checkLater()
        return url === undefined ? undefined : { engine: 'postgres', url }
      },
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

/** Whether the primary may serve the read instead: not if its caller left, its statement took too long, or it is a bug. */
function concernsReplica(error: unknown): boolean {
  if (error instanceof UnusableReplica) return true
  if (!(error instanceof ApiError) || error === currentContext()?.aborted) return false
  return error.cause !== undefined && sqlState(error.cause) !== QUERY_CANCELED
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
