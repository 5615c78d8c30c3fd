import type { Bench, Result } from '../bench.ts'
import type { Statement } from '../children/berth.ts'
import type { Place } from '../configuration.ts'
import { goals } from '../goals.ts'
import { cycle, httpClient, httpLoad, type Load, request } from '../http-load.ts'
import { pagesOf, skipOf } from './pages.ts'
import { CONNECTIONS, getPaths, listPaths } from './rest-reads.ts'
import { shareOfCpu } from './share.ts'

const RECORDED = 50

/** REST Get and List on PostgreSQL against their own statements through `pg`; then the large lists. */
export async function measurePostgres(bench: Bench): Promise<Result[]> {
  const usual = await bench.postgresSet(bench.sizes.usual)
  if (usual === undefined) {
    bench.say('  no PostgreSQL here: neither BERTH_TEST_POSTGRES_URL nor server binaries; left out')
    return []
  }
  const results = [
    await againstSql(bench, usual, 'PostgreSQL: REST Get', getPaths(bench)),
    await againstSql(bench, usual, 'PostgreSQL: REST List, 50 groups', listPaths(bench)),
  ]
  await bench.stopChildren()
  if (bench.options.profile !== undefined) return results
  const large = await bench.startBerth((await bench.postgresSet(bench.sizes.large)) as Place)
  const small = await bench.startBerth((await bench.postgresSet(bench.sizes.small)) as Place)
  const time = (measured: { readonly latencyMs: number }) => measured.latencyMs
  results.push(...(await pagesOf(bench, 'postgres', 'PostgreSQL: ', large, small, time)))
  results.push(...(await skipOf(bench, 'postgres', 'PostgreSQL: ', large, time)))
  return results
}

async function againstSql(
  bench: Bench,
  place: Place,
  title: string,
  paths: readonly string[],
): Promise<Result> {
  const berth = await bench.startBerth(place)
  const { port, token } = berth.ready
  const requests = paths.map((path) => request('GET', path, { token }))
  const client = await httpClient(port)
  const recorded: Statement[][] = []
  for (const bytes of [requests[0] as Buffer, ...requests.slice(0, RECORDED)]) {
    await berth.ask('record')
    await client.send(bytes)
    recorded.push(await berth.ask<Statement[]>('recorded'))
  }
  client.close()
  // The first request may ask for more than the ones that follow.
  const sql = await bench.start<undefined>('pg', { url: place.databaseUrl, requests: recorded.slice(1) })
  bench.say(`  ${recorded[1]?.length} statements a request`)
  return shareOfCpu(
    bench,
    { work: 'postgres', title, goal: goals.postgres },
    {
      name: 'Berth',
      child: berth,
      load: (seconds) => httpLoad({ port, next: cycle(requests) }, CONNECTIONS, seconds),
    },
    {
      name: 'SQL alone',
      child: sql,
      load: (seconds) => sql.ask<Load>('run', { seconds, concurrency: CONNECTIONS }),
    },
  )
}
