import { databaseFile } from '@berth/server/installation/installation.ts'
import type { Bench, Result } from '../bench.ts'
import { parentsOf } from '../dataset.ts'
import { goals } from '../goals.ts'
import { httpLoad, type Load, request } from '../http-load.ts'
import { inTurn, type Measured } from '../rounds.ts'

const CONCURRENT = 16

/** REST Create against the row alone. Both wait for the disk, so what counts is how many get done in a second. */
export async function measureCreate(bench: Bench): Promise<Result[]> {
  const parents = parentsOf(bench.sizes.usual)
  const set = await bench.dataSet(bench.sizes.usual)
  const berth = await bench.startBerth(bench.copyOf(set))
  const { port, token } = berth.ready
  const insert = await bench.start<undefined>('insert', {
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
    load: (seconds: number) => httpLoad({ port, next }, connections, seconds),
  }))
  const measured = await inTurn(bench, [
    ...sides,
    {
      name: 'insert alone',
      child: insert,
      load: (seconds) => insert.ask<Load>('run', { seconds, concurrency: 1 }),
    },
  ])
  const [one, many, base] = measured as [Measured, Measured, Measured]
  const result = (title: string, ours: Measured): Result => ({
    work: 'create',
    title,
    value: ours.perSecond / base.perSecond,
    unit: 'share',
    goal: goals.create,
    ours,
    theirs: base,
    note: `by rate; by CPU ${(base.cpuUs / ours.cpuUs).toFixed(2)}`,
  })
  return [result('REST Create, one at a time', one), result(`REST Create, ${CONCURRENT} at a time`, many)]
}
