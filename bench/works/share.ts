import type { Bench, Result } from '../bench.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'

/** Berth against a baseline: which share of its capacity is left, by CPU time per request. */
export async function shareOfCpu(
  bench: Bench,
  what: Pick<Result, 'work' | 'title' | 'goal'>,
  ours: Side,
  theirs: Side,
): Promise<Result> {
  const [mine, base] = (await inTurn(bench, [ours, theirs])) as [Measured, Measured]
  return shareOf(what, mine, base)
}

/** The share of a baseline that was measured. */
export function shareOf(
  what: Pick<Result, 'work' | 'title' | 'goal'>,
  ours: Measured,
  theirs: Measured,
): Result {
  return { ...what, value: theirs.cpuUs / ours.cpuUs, unit: 'share', ours, theirs }
}
