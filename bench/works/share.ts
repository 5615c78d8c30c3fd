import type { Bench, Result } from '../bench.ts'
import type { WorkName } from '../goals.ts'
import { goals } from '../goals.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'

/** Berth against a baseline: which share of its capacity is left, by CPU time per request. */
export async function shareOfCpu(
  bench: Bench,
  { work, title }: { readonly work: WorkName & keyof typeof goals; readonly title: string },
  ours: Side,
  theirs: Side,
): Promise<Result> {
  const [mine, base] = (await inTurn(bench, [ours, theirs])) as [Measured, Measured]
  return {
    work,
    title,
    value: base.cpuUs / mine.cpuUs,
    unit: 'share',
    goal: goals[work],
    ours: mine,
    theirs: base,
  }
}
