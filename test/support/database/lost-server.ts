import pg from 'pg'
import { urlOf } from './citus-databases.ts'
import { executeStatement } from './postgres-template.ts'

/** Loses a server of a cluster, and finds out what is on it. */

export interface ClusterServers {
  /** Creates users or organizations until one is on the server. */
  createOn(server: string, create: () => Promise<string>): Promise<string>
  /** Whether a user or organization is on the server. */
  isOn(server: string, root: string): Promise<boolean>
  close(): Promise<void>
}

/** `urls`: of the servers; the first one is the coordinator. */
export async function connectToCoordinator([first = '']: readonly string[]): Promise<ClusterServers> {
  const coordinator = new pg.Client({ connectionString: first })
  // Its database is dropped.
  coordinator.on('error', () => undefined)
  await coordinator.connect()
  const portOf = async (root: string): Promise<string> => {
    const { rows } = await coordinator.query(
      `select nodeport as port from pg_dist_shard_placement
        where shardid = get_shard_id_for_distribution_column('groups', $1::text) limit 1`,
      [root],
    )
    return String(rows[0]?.port)
  }
  const isOn = async (server: string, root: string) => (await portOf(root)) === new URL(server).port
  return {
    isOn,
    async createOn(server, create) {
      for (;;) {
        const root = await create()
        if (await isOn(server, root)) return root
      }
    },
    close: () => coordinator.end().catch(() => undefined),
  }
}

/** Runs work while no connection to the server is possible. */
export async function whileLost(server: string, work: () => Promise<void>): Promise<void> {
  const name = new URL(server).pathname.slice(1)
  const maintenance = urlOf(server, 'postgres')
  await executeStatement(maintenance, `alter database ${name} allow_connections false`)
  try {
    await executeStatement(
      maintenance,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
    )
    await work()
  } finally {
    await executeStatement(maintenance, `alter database ${name} allow_connections true`)
  }
}
