import type { Log } from '../runtime/log.ts'

/** Stops the parts of a process one after the other, each within its share of a deadline. */

export interface ShutdownStep {
  /** Names the part in log lines: `requests`, `database`. */
  readonly name: string
  run(): unknown
  /** Starts with the shutdown; the steps before it are not awaited. */
  readonly early?: boolean
  /** What the step still waits for, for the log line of a shutdown that does not finish. */
  readonly waitsFor?: () => readonly string[]
}

/** A shutdown that did not finish before its deadline. */
export class ShutdownTimeout extends Error {
  override readonly name = 'ShutdownTimeout'
  /** The steps that did not finish, each with what it waits for. */
  readonly unfinished: readonly string[]

  constructor(unfinished: readonly string[]) {
    super(`did not finish in time: ${unfinished.join(', ')}`)
    this.unfinished = unfinished
  }
}

/**
 * Runs every step, also after one that fails or hangs: a step gets half of the time that is left, so that one dead dependency does not
 * keep the others from being closed.
 * @param options.after the steps, except the early ones, wait for it; its own time is not counted
 * @param options.timeoutMs milliseconds for all steps together
 * @throws ShutdownTimeout if a step did not finish
 * @throws the error of the first step that failed
 */
export async function runShutdown(
  steps: readonly ShutdownStep[],
  {
    after,
    timeoutMs,
    log,
  }: {
    readonly after?: Promise<void> | undefined
    readonly timeoutMs: number
    readonly log: Pick<Log, 'error'>
  },
): Promise<void> {
  const started = new Map(steps.filter(({ early }) => early).map((step) => [step, start(step)]))
  await after
  const unfinished: string[] = []
  const failures: unknown[] = []
  const endMs = performance.now() + timeoutMs
  for (const step of steps) {
    const done = started.get(step) ?? start(step)
    try {
      if (await isDoneWithin(done, (endMs - performance.now()) / 2)) continue
      const waitsFor = step.waitsFor?.() ?? []
      unfinished.push(waitsFor.length === 0 ? step.name : `${step.name} (${waitsFor.join(', ')})`)
    } catch (err) {
      log.error({ err, step: step.name }, 'a part of the server could not be stopped')
      failures.push(err)
    }
  }
  if (unfinished.length > 0) throw new ShutdownTimeout(unfinished)
  if (failures.length > 0) throw failures[0]
}

function start(step: ShutdownStep): Promise<unknown> {
  const done = (async () => step.run())()
  // The failure of a step that nothing awaits any more must not end the process.
  done.catch(() => undefined)
  return done
}

async function isDoneWithin(done: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(timeoutMs, 0))
  })
  try {
    return await Promise.race([done.then(() => true), expired])
  } finally {
    clearTimeout(timer)
  }
}
