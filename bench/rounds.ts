import type { Child } from './child.ts'
import type { HotFunction } from './children/control.ts'
import { type Load, medianOf } from './http-load.ts'
import type { Options } from './options.ts'

/** Sides are measured in turn, round after round, so that what disturbs the machine disturbs them alike. */

export interface Side {
  readonly name: string
  readonly child: Child
  /** How many times the usual warm-up it needs. */
  readonly warmUps?: number
  load(seconds: number): Promise<Load>
}

export interface Measured {
  readonly name: string
  /** Medians over the rounds. */
  readonly cpuUs: number
  readonly perSecond: number
  readonly latencyMs: number
  /** Share of one core that the process used. */
  readonly busy: number
  readonly rounds: readonly { readonly cpuUs: number; readonly perSecond: number }[]
}

const WARM_UP_SECONDS = 6

export interface Meter {
  readonly options: Options
  say(text: string): void
}

/** Measures every side; with `--profile` only the first one, whose hot functions go to standard error. */
export async function inTurn(
  meter: Meter,
  sides: readonly Side[],
  seconds?: number,
): Promise<readonly Measured[]> {
  const { options } = meter
  const each = seconds ?? options.seconds
  const warmUp = Math.min(WARM_UP_SECONDS, 3 * each)
  for (const side of sides) await side.load(warmUp * (side.warmUps ?? 1))
  if (options.profile !== undefined) await profile(meter, sides[0] as Side, each * 2)
  const found = sides.map(() => [] as (Load & { readonly cpuUs: number })[])
  for (let round = 1; round <= options.rounds; round++) {
    for (const [index, side] of sides.entries()) {
      const before = await side.child.cpu()
      const load = await side.load(each)
      const cpuUs = ((await side.child.cpu()) - before) / load.count
      found[index]?.push({ ...load, cpuUs })
      meter.say(
        `  round ${round} ${side.name}: ${cpuUs.toFixed(1)} us CPU, ${Math.round(load.count / load.seconds)} per second`,
      )
    }
  }
  return sides.map(({ name }, index) => {
    const rounds = found[index] ?? []
    const cpuUs = medianOf(rounds.map((round) => round.cpuUs))
    const perSecond = medianOf(rounds.map((round) => round.count / round.seconds))
    return {
      name,
      cpuUs,
      perSecond,
      latencyMs: medianOf(rounds.map((round) => round.latencyMs)),
      busy: (cpuUs * perSecond) / 1e6,
      rounds: rounds.map((round) => ({ cpuUs: round.cpuUs, perSecond: round.count / round.seconds })),
    }
  })
}

const HOT_FUNCTIONS = 25

async function profile(meter: Meter, side: Side, seconds: number): Promise<void> {
  await side.child.startProfile()
  const { count } = await side.load(seconds)
  const hot = await side.child.stopProfile()
  meter.say(profileText(side.name, hot, count))
}

function profileText(name: string, hot: readonly HotFunction[], count: number): string {
  const busy = hot.filter((one) => one.name !== '(idle)')
  const totalMs = busy.reduce((sum, one) => sum + one.selfMs, 0)
  const lines = busy.slice(0, HOT_FUNCTIONS).map((one) => {
    const us = ((one.selfMs * 1000) / count).toFixed(2).padStart(8)
    const share = ((100 * one.selfMs) / totalMs).toFixed(1).padStart(5)
    return `${us} us ${share} %  ${one.name}  ${one.at}`
  })
  const whole = ((totalMs * 1000) / count).toFixed(1)
  return `\n${name}: ${count} requests, ${whole} us each on the main thread; self time per request\n${lines.join('\n')}\n`
}

/** What a result says of two sides that are compared by their rates. */
export function rateRatio(ours: Measured, theirs: Measured, notes: readonly string[]) {
  const note = [`by rate; by CPU ${(theirs.cpuUs / ours.cpuUs).toFixed(2)}`, ...notes].filter(
    (one) => one !== '',
  )
  return {
    value: ours.perSecond / theirs.perSecond,
    unit: 'share' as const,
    ours,
    theirs,
    note: note.join('; '),
  }
}
