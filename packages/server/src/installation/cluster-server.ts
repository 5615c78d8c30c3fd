import { SetupError } from '../config/setup-errors.ts'
import type { ClusterServer, Db } from '../storage/db.ts'
import { migrationState, NewerDatabase } from '../storage/schema/migrate.ts'

/** Nodes whose database address is that of a worker of a distributed database (query from any node, ADR 97). */

/** Returns whether the address of the database is that of a worker. Throws a SetupError if nodes cannot use this worker. */
export async function usesWorker(db: Db): Promise<boolean> {
  const server = await db.rules.findClusterServer(db)
  if (server === undefined || !server.isWorker) return false
  const { unknown } = await migrationState(db)
  if (unknown.length > 0) throw new NewerDatabase(unknown)
  const problem = await findWorkerProblem(db, server)
  if (problem !== undefined) throw setupError(problem)
  return true
}

/** Throws a SetupError if the address of the database is that of a worker. `work`: what needs the coordinator. */
export async function requireCoordinator(db: Db, work: string): Promise<void> {
  const server = await db.rules.findClusterServer(db)
  if (server === undefined || !server.isWorker) return
  throw setupError({
    message: `${nameOf(server)}, and ${work} needs the coordinator`,
    action: 'Set the address to the coordinator.',
  })
}

/** Lets nodes use the workers of a distributed database. Throws a SetupError where that is not possible. */
export async function enableQueryFromAnyNode(db: Db): Promise<void> {
  const server = await db.rules.findClusterServer(db)
  if (server === undefined)
    throw new SetupError(
      '--query-from-any-node is for a distributed database: this one does not have the extension Citus',
    )
  await requireCoordinator(db, '--query-from-any-node')
  if (server.address === undefined)
    throw new SetupError(
      'the workers of the distributed database do not know its coordinator. Run select citus_set_coordinator_host(...) on the coordinator',
    )
  await db.rules.enableQueryFromAnyNode(db.background)
}

export interface WorkerProblem {
  readonly message: string
  /** What the operator should do: a sentence. */
  readonly action: string
}

/** Returns why nodes cannot use a server; undefined if they can, and for the coordinator. */
export async function findWorkerProblem(db: Db, server: ClusterServer): Promise<WorkerProblem | undefined> {
  if (!server.isWorker) return undefined
  if (server.absentTables.includes('migrations'))
    return {
      message: `${nameOf(server)}, which has no tables of the coordinator`,
      action:
        'Set the address to the coordinator, or let nodes use the workers: run berth migrate --query-from-any-node with the address of the coordinator.',
    }
  const { missing } = await migrationState(db)
  if (missing.length === 0 && server.absentTables.length === 0) return undefined
  return {
    message: `${nameOf(server)}, whose schema is not up to date`,
    action: 'Run berth migrate with the address of the coordinator.',
  }
}

function nameOf({ address }: ClusterServer): string {
  return `${address ?? 'the server'} is a worker of a distributed database`
}

function setupError({ message, action }: WorkerProblem): SetupError {
  return new SetupError(`BERTH_DATABASE_URL: ${message}. ${action}`)
}
