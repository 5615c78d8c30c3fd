import type { Bench, Result } from '../bench.ts'
import { type Cluster, startCluster } from '../distributed/cluster.ts'
import { copyOrganizations } from '../distributed/copy.ts'
import { callerUid, FOLDERS, folderUid, organizationUid, RESOURCES, tables } from '../distributed/rows.ts'
import { httpLoad, medianOf, request } from '../http-load.ts'

const WORKERS = 3
/** So little that the workers are the limit, and not the coordinator, the server or the load on the same machine. */
const CORES_OF_WORKER = 0.1
const CONNECTIONS = 16
const CALLERS = 300
const WARM_UP_SECONDS = 3
const MIX = 'eight Gets, one List of 20 repos with its total, one Create'

/** Organizations on a distributed database, and a mix of requests with three, two and one database workers of the same share of a core. */
export async function measureDistributed(bench: Bench): Promise<Result[]> {
  const { organizations } = bench.options
  const cluster = await startCluster(WORKERS)
  try {
    const { ms, cpu } = await timed(cluster, () => copyOrganizations(cluster, organizations, bench.say))
    const sizeMb = await cluster.sizeMb()
    bench.say(
      `  ${organizations} organizations with ${RESOURCES} resources each: ${sizeMb.toFixed(0)} MB, copied in ${(ms / 1000).toFixed(0)} s` +
        ` with ${seconds(cpu.coordinator)} s of CPU on the coordinator and ${seconds(cpu.workers)} s on the workers`,
    )
    const target = await startMix(bench, cluster)
    const results: Result[] = [
      {
        work: 'distributed',
        title: `${organizations} organizations, in all databases`,
        value: sizeMb,
        unit: 'MB',
      },
    ]
    for (let workers = WORKERS; workers > 0; workers--) {
      if (workers < WORKERS) await drain(bench, cluster)
      results.push(await measureMix(bench, cluster, target, workers))
    }
    return results
  } finally {
    await bench.stopChildren()
    await cluster.stop()
  }
}

interface Target {
  readonly port: number
  next(): Buffer
}

/** Starts a Berth, and requests by callers of many organizations in turn. */
async function startMix(bench: Bench, { url }: Cluster): Promise<Target> {
  const { organizations } = bench.options
  const berth = await bench.startBerth({ dataDir: bench.scratch(), databaseUrl: url })
  const chosen = Array.from({ length: Math.min(CALLERS, organizations) }, (_, index) =>
    Math.floor((index * organizations) / Math.min(CALLERS, organizations)),
  )
  const tokens = await berth.ask<string[]>('tokensOf', chosen.map(callerUid))
  let sent = 0
  const next = () => {
    const turn = sent++
    const at = Math.floor(turn / 10) % chosen.length
    const organization = chosen[at] as number
    const token = tokens[at]
    const root = organizationUid(organization)
    switch (turn % 10) {
      case 8:
        return request('GET', `/registry/v2beta1/repos?uidp.descendants_of=${root}&page_size=20`, { token })
      case 9: {
        const body = JSON.stringify({ name: `new-${turn}`, description: 'A group of the benchmark' })
        return request('POST', `/iam/v2beta1/groups/${folderUid(organization, turn % FOLDERS)}`, {
          token,
          body,
        })
      }
      default:
        return request('GET', `/iam/v2beta1/groups/${folderUid(organization, turn % FOLDERS)}`, { token })
    }
  }
  return { port: berth.ready.port, next }
}

async function drain(bench: Bench, cluster: Cluster): Promise<void> {
  cluster.limitWorkers(undefined)
  const { ms } = await timed(cluster, () => cluster.drainLastWorker())
  bench.say(`  all shards of one worker moved to the others in ${(ms / 1000).toFixed(0)} s`)
}

async function measureMix(bench: Bench, cluster: Cluster, target: Target, workers: number): Promise<Result> {
  const { rounds, seconds: each } = bench.options
  cluster.limitWorkers(undefined)
  await cluster.analyze(Object.keys(tables))
  await httpLoad(target, CONNECTIONS, Math.min(WARM_UP_SECONDS, each))
  cluster.limitWorkers(CORES_OF_WORKER)
  const rates: number[] = []
  const coordinatorMs: number[] = []
  const workersMs: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const { value: load, cpu } = await timed(cluster, () => httpLoad(target, CONNECTIONS, each))
    rates.push(load.count / load.seconds)
    coordinatorMs.push(cpu.coordinator / 1000 / load.count)
    workersMs.push(cpu.workers / 1000 / load.count)
    bench.say(
      `  round ${round}, ${workers} of ${WORKERS} database workers: ${rates.at(-1)?.toFixed(0)} per second`,
    )
  }
  return {
    work: 'distributed',
    title: `requests, database workers with ${CORES_OF_WORKER} cores each: ${workers}`,
    value: medianOf(rates),
    unit: '/s',
    note: `${MIX}; ${medianOf(coordinatorMs).toFixed(2)} ms of CPU on the coordinator, ${medianOf(workersMs).toFixed(2)} ms on the workers`,
  }
}

async function timed<T>(cluster: Cluster, work: () => Promise<T>) {
  const before = cluster.cpu()
  const startMs = performance.now()
  const value = await work()
  const ms = performance.now() - startMs
  const after = cluster.cpu()
  const cpu = {
    coordinator: after.coordinator - before.coordinator,
    workers: after.workers - before.workers,
  }
  return { value, ms, cpu }
}

const seconds = (cpuUs: number) => (cpuUs / 1e6).toFixed(0)
