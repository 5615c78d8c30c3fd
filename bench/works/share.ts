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
  return shareOf({ work, title, goal: goals[work] }, mine, base)
}

/** The share of a baseline that was measured. */
export function shareOf(
  what: Pick<Result, 'work' | 'title' | 'goal'>,
  ours: Measured,
  theirs: Measured,
): Result {
  return { ...what, value: theirs.cpuUs / ours.cpuUs, unit: 'share', ours, theirs }
}
