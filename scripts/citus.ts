import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { startThrowAwayServer, type ThrowAwayServer } from './postgres.ts'

/** A Citus cluster for one run of the tests: a coordinator and two workers on loopback. */

export interface ThrowAwayCluster {
  /** The coordinator first, each with the name and password of a superuser. */
  readonly urls: readonly string[]
  /** Of the servers, for people. */
  readonly version: string
  stop(): Promise<void>
}

/** Whether the PostgreSQL of these server binaries has the extension. */
export function hasCitus(binaries: string): boolean {
  const asked = spawnSync(join(binaries, 'pg_config'), ['--pkglibdir'], { encoding: 'utf8' })
  return asked.status === 0 && existsSync(join(asked.stdout.trim(), 'citus.so'))
}

const SERVERS = 3

/** Of each server of a cluster. */
export const clusterSettings = {
  shared_preload_libraries: 'citus',
  // A transaction on several servers is prepared on each of them.
  max_prepared_transactions: 300,
  // Each database has a process that ends distributed deadlocks.
  max_worker_processes: 64,
  // Statements on several shards of a server use one connection. By default those that take 10 ms open up to 16, each with a process.
  'citus.max_adaptive_executor_pool_size': 1,
  'citus.node_conninfo': 'sslmode=disable',
  // Two on each worker: enough for statements that go to several, and quick to create.
  'citus.shard_count': 4,
}

/** Starts the servers. `createCitusDatabase` joins them, for each database. */
export async function startThrowAwayCluster(binaries: string, parent: string): Promise<ThrowAwayCluster> {
  // They connect to each other with it.
  const password = randomBytes(16).toString('hex')
  const started = await Promise.allSettled(
    Array.from({ length: SERVERS }, () =>
      startThrowAwayServer(binaries, parent, { password, settings: clusterSettings }),
    ),
  )
  const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()))
  }
  const failed = started.find((one) => one.status === 'rejected')
  if (failed !== undefined) {
    await stop()
    throw failed.reason
  }
  const [{ version }] = servers as [ThrowAwayServer]
  return { urls: servers.map(({ url }) => url), version, stop }
}
