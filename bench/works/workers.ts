import type { Bench, Result } from '../bench.ts'
import type { ServedReady } from '../children/served.ts'
import type { Place } from '../configuration.ts'
import { parentsOf } from '../dataset.ts'
import { cycle, flowLoad, httpLoad, type Load, request, requestHead } from '../http-load.ts'
import { inTurn, type Measured } from '../rounds.ts'
import { CONNECTIONS, getPaths, listPaths } from './rest-reads.ts'

const CONCURRENT = 16
/** Its reply closes the connection. */
const PROBE = requestHead('GET', '/healthz', ['connection: close'])

/** `berth serve` with two workers against one process, both on all cores, which the load generator uses too. */
export async function measureWorkers(bench: Bench): Promise<Result[]> {
  const sqlite = await bench.dataSet(bench.sizes.usual)
  const results = await onPlaces(bench, 'SQLite', bench.copyOf(sqlite), bench.copyOf(sqlite))
  await bench.stopChildren()
  const postgres = await bench.postgresSet(bench.sizes.usual)
  // Both serve the same database.
  return postgres === undefined
    ? results
    : [...results, ...(await onPlaces(bench, 'PostgreSQL', postgres, postgres))]
}

async function onPlaces(bench: Bench, engine: string, one: Place, two: Place): Promise<Result[]> {
  const start = (place: Place, workers: number) =>
    bench.start<ServedReady>('served', { ...place, env: { BERTH_WORKERS: String(workers) } }, 'any')
  const servers = [await start(two, 2), await start(one, 1)]
  const compare = async (title: string, load: (server: ServedReady, seconds: number) => Promise<Load>) => {
    const [ours, theirs] = (await inTurn(
      bench,
      servers.map((child, index) => ({
        name: `${2 - index} at ${title}`,
        child,
        load: (seconds: number) => load(child.ready, seconds),
      })),
    )) as [Measured, Measured]
    return {
      work: 'workers',
      title: `${engine}, two workers: ${title}`,
      value: ours.perSecond / theirs.perSecond,
      unit: 'share',
      ours,
      theirs,
      note: `by rate; by CPU ${(theirs.cpuUs / ours.cpuUs).toFixed(2)}`,
    } satisfies Result
  }
  const compareRequests = (title: string, connections: number, next: (token: string) => () => Buffer) =>
    compare(title, ({ port, token }, seconds) => httpLoad({ port, next: next(token) }, connections, seconds))
  const reads = (paths: readonly string[]) => (token: string) =>
    cycle(paths.map((path) => request('GET', path, { token })))
  const parents = parentsOf(bench.sizes.usual)
  const creates = (token: string) => () => {
    const body = JSON.stringify({ name: `new-${++last}`, description: 'A group made by the benchmark' })
    return request('POST', `/iam/v2beta1/groups/${parents[last % parents.length]}`, { token, body })
  }
  let last = 0
  return [
    await compareRequests('REST Get', CONNECTIONS, reads(getPaths(bench))),
    await compareRequests('REST List', CONNECTIONS, reads(listPaths(bench))),
    await compareRequests('REST Create, one at a time', 1, creates),
    await compareRequests(`REST Create, ${CONCURRENT} at a time`, CONCURRENT, creates),
    await compare('new connections', ({ port }, seconds) =>
      flowLoad(port, CONNECTIONS, seconds, async (client) => {
        const { status } = await client.send(PROBE)
        if (status !== 200) throw new Error(`the server answered ${status} under load`)
      }),
    ),
  ]
}
