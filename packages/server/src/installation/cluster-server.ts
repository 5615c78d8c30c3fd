import { SetupError } from '../config/setup-errors.ts'
import type { Db } from '../storage/db.ts'

export interface WorkerProblem {
  readonly message: string
  /** What the operator should do: a sentence. */
  readonly action: string
}

/** Returns why nodes cannot use the server of the address: a worker of a distributed database. Undefined if they can. */
export async function findWorkerProblem(db: Db): Promise<WorkerProblem | undefined> {
  const server = await db.rules.findClusterServer(db)
  if (server === undefined || !server.isWorker) return undefined
  return {
    message: `${server.address ?? 'the server'} is a worker of a distributed database, which has no tables of the coordinator`,
    action: 'Set the address to the coordinator.',
  }
}

/** Throws a SetupError if the address of the database is that of a worker. */
export async function requireCoordinator(db: Db): Promise<void> {
  const problem = await findWorkerProblem(db)
  if (problem !== undefined) throw new SetupError(`BERTH_DATABASE_URL: ${problem.message}. ${problem.action}`)
}
