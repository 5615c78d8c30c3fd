import { databaseFile } from '@berth/server/installation/installation.ts'
import type { Bench, Result } from '../bench.ts'
import type { InsertReady } from '../children/insert.ts'
import { parentsOf } from '../dataset.ts'
import { type Goal, goals } from '../goals.ts'
import { httpLoad, type Load, request } from '../http-load.ts'
import { inTurn, type Measured } from '../rounds.ts'

const CONCURRENT = 16
/** One at a time, V8 optimizes for about 20 s. */
const WARM_UPS = 3

/**
 * REST Create against the row alone. Both wait for the disk, so what counts is how many get done in a second. The same row for each request
 * of a bare HTTP server shows how much of the baseline HTTP leaves.
 */
export async function measureCreate(bench: Bench): Promise<Result[]> {
  const parents = parentsOf(bench.sizes.usual)
  const set = await bench.dataSet(bench.sizes.usual)
  const berth = await bench.startBerth(bench.copyOf(set))
  const { port, token } = berth.ready
  const insert = await bench.start<InsertReady>('insert', {
    file: databaseFile(bench.copyOf(set).dataDir),
    parents,
  })
  let last = 0
  const next = () => {
    const parent = parents[++last % parents.length]
    const body = JSON.stringify({ name: `new-${last}`, description: 'A group made by the benchmark' })
    return request('POST', `/iam/v2beta1/groups/${parent}`, { token, body })
  }
  const sides = [1, CONCURRENT].map((connections) => ({
    name: `Berth, ${connections} at a time`,
    child: berth,
    warmUps: WARM_UPS,
    load: (seconds: number) => httpLoad({ port, next }, connections, seconds),
  }))
  const measured = await inTurn(bench, [
    ...sides,
    {
      name: 'insert alone',
      child: insert,
      load: (seconds) => insert.ask<Load>('run', { seconds, concurrency: 1 }),
    },
    {
      name: 'insert for each HTTP request, 1 at a time',
      child: insert,
      warmUps: WARM_UPS,
      load: (seconds) => httpLoad({ port: insert.ready.port, next }, 1, seconds),
    },
  ])
  const [one, many, base, bareHttp] = measured as [Measured, Measured, Measured, Measured]
  const result = (title: string, ours: Measured, goal?: Goal): Result => ({
    work: 'create',
    title,
    value: ours.perSecond / base.perSecond,
    unit: 'share',
    goal,
    ours,
    theirs: base,
    note: `by rate; by CPU ${(base.cpuUs / ours.cpuUs).toFixed(2)}`,
  })
  return [
    result('REST Create, one at a time', one, goals.create),
    result(`REST Create, ${CONCURRENT} at a time`, many, goals.create),
    result('insert for each request of bare HTTP, one at a time', bareHttp),
  ]
}
