import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import pg from 'pg'
import { clusterSettings, hasCitus } from '../../scripts/citus.ts'
import { findServerBinaries, startThrowAwayServer, type ThrowAwayServer } from '../../scripts/postgres.ts'
import { joinServers, urlOf } from '../../test/support/database/citus-databases.ts'
import { executeStatement } from '../../test/support/database/postgres-template.ts'
import { cpuOfTree } from '../children/processes.ts'
import { onAllCores } from '../cores.ts'
import { type CpuShare, createCpuShare } from './cpu-share.ts'

/** A Citus cluster: a coordinator and database workers, each of which gets the same share of a core while it is measured. */
export interface Cluster {
  readonly binaries: string
  /** Of the database, on the coordinator. */
  readonly url: string
  /** The processor time of each worker for each second; undefined: without a limit. */
  limitWorkers(cores: number | undefined): void
  /** Moves all shards of the last worker to the others. */
  drainLastWorker(): Promise<void>
  /** Collects the statistics of tables, whose shards were loaded or moved. */
  analyze(tables: readonly string[]): Promise<void>
  /** Microseconds of CPU so far. */
  cpu(): { readonly coordinator: number; readonly workers: number }
  sizeMb(): Promise<number>
  stop(): Promise<void>
}

const DATABASE = 'bench'
const SETTINGS = {
  ...clusterSettings,
  // Divides by one, two and three workers.
  'citus.shard_count': 12,
  wal_level: 'logical',
  shared_buffers: '1GB',
  maintenance_work_mem: '256MB',
  max_wal_size: '4GB',
  // What it does would be counted as work of the requests.
  autovacuum: 'off',
}

/** Throws an Error where there is no PostgreSQL with Citus. */
export async function startCluster(workers: number): Promise<Cluster> {
  const binaries = findServerBinaries()
  if (binaries === undefined || !hasCitus(binaries))
    throw new Error('there is no PostgreSQL with Citus; ../shared/tools/install-citus installs it')
  const password = randomBytes(16).toString('hex')
  const servers: ThrowAwayServer[] = []
  const shares: CpuShare[] = []
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()))
    for (const share of shares) share.remove()
  }
  try {
    for (let index = 0; index <= workers; index++) {
      const server = await startThrowAwayServer(binaries, tmpdir(), { password, settings: SETTINGS })
      servers.push(server)
      onAllCores(server.pid)
      if (index > 0) shares.push(createCpuShare(server.pid, `worker-${index}`))
    }
    const urls = servers.map(({ url }) => url)
    await Promise.all(urls.map((url) => executeStatement(url, `create database ${DATABASE}`)))
    await joinServers(urls, DATABASE)
    await distribute(urlOf(urls[0] as string, DATABASE))
    return clusterOf(binaries, servers, shares, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

function clusterOf(
  binaries: string,
  servers: readonly ThrowAwayServer[],
  shares: readonly CpuShare[],
  stop: () => Promise<void>,
): Cluster {
  const [coordinator, ...workers] = servers as [ThrowAwayServer, ...ThrowAwayServer[]]
  const url = urlOf(coordinator.url, DATABASE)
  const used = [...workers]
  return {
    binaries,
    url,
    stop,
    limitWorkers(cores) {
      for (const share of shares) share.limit(cores)
    },
    async drainLastWorker() {
      const { hostname, port } = new URL((used.pop() as ThrowAwayServer).url)
      await executeStatement(url, `select citus_drain_node('${hostname}', ${port}, 'block_writes')`)
    },
    analyze: (tables) => executeStatement(url, `vacuum analyze ${tables.join(', ')}`),
    cpu: () => ({
      coordinator: cpuOfTree(coordinator.pid),
      workers: workers.reduce((sum, { pid }) => sum + cpuOfTree(pid), 0),
    }),
    async sizeMb() {
      const sizes = await Promise.all(servers.map((server) => sizeMbOf(urlOf(server.url, DATABASE))))
      return sizes.reduce((sum, size) => sum + size, 0)
    },
  }
}

/** Migrates an empty database, which distributes its tables. */
async function distribute(url: string): Promise<void> {
  const db = await openPostgresDb(url, { onError() {} })
  try {
    await migrate(db)
  } finally {
    await db.close()
  }
}

async function sizeMbOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ mb: number }>(
      'select pg_database_size(current_database())::float / 1048576 as mb',
    )
    return rows[0]?.mb ?? Number.NaN
  } finally {
    await client.end()
  }
}
