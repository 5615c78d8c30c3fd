import { limits } from '../config/limits.ts'
import type { Db } from '../storage/db.ts'

/** Readiness: what /readyz and gRPC health report. */

/**
 * What a check found. `failed`: the server cannot serve, so balancers should send requests elsewhere. `warning`: it serves, and its
 * operator should read the message.
 */
export type ReadinessResult =
  | { readonly state: 'ok' }
  | { readonly state: 'warning' | 'failed'; readonly message: string; readonly cause?: unknown }

/** A check of something that requests need. Each has `limits.readinessCheckMs`; one that takes longer has failed. */
export interface ReadinessCheck {
  /** Names the check in responses, such as `database`. */
  readonly name: string
  run(): ReadinessResult | Promise<ReadinessResult>
}

/** The findings of one run of all checks, in the order of the checks. */
export interface Readiness {
  readonly ready: boolean
  readonly failed: readonly NamedResult[]
  readonly warnings: readonly NamedResult[]
}

interface NamedResult {
  readonly name: string
  readonly message: string
  readonly cause?: unknown
}

/** Returns a function that runs all checks at the same time. Calls that arrive during a run share it. It never rejects. */
export function createReadiness(checks: readonly ReadinessCheck[]): () => Promise<Readiness> {
  let running: Promise<Readiness> | undefined
  const run = async () => {
    const all = await Promise.all(
      checks.map(async (check) => ({ name: check.name, ...(await runWithTimeout(check)) })),
    )
    const failed = all.filter((finding) => finding.state === 'failed')
    return { ready: failed.length === 0, failed, warnings: all.filter(({ state }) => state === 'warning') }
  }
  return () => {
    running ??= run().finally(() => {
      running = undefined
    })
    return running as Promise<Readiness>
  }
}

async function runWithTimeout(
  check: ReadinessCheck,
): Promise<ReadinessResult & { readonly message: string }> {
  const { promise: late, resolve } = Promise.withResolvers<ReadinessResult>()
  const timer = setTimeout(
    () => resolve({ state: 'failed', message: `no response within ${limits.readinessCheckMs / 1000} s` }),
    limits.readinessCheckMs,
  )
  try {
    return { message: '', ...(await Promise.race([check.run(), late])) }
  } catch (cause) {
    return { state: 'failed', message: 'the check failed', cause }
  } finally {
    clearTimeout(timer)
  }
}

/** Fails if the database does not respond, or does not accept writes. */
export function databaseCheck(db: Pick<Db, 'readOnlyReason'>): ReadinessCheck {
  return {
    name: 'database',
    async run() {
      try {
        const message = await db.readOnlyReason()
        return message === undefined ? { state: 'ok' } : { state: 'failed', message }
      } catch (cause) {
        return { state: 'failed', message: 'the database does not respond', cause }
      }
    },
  }
}

/**
 * Warns if the coordinator of a distributed database does not respond to a node on a worker. All nodes see the same, and serve what does not
 * need the coordinator.
 */
export function coordinatorCheck(db: Pick<Db, 'probeCoordinator'>): ReadinessCheck {
  return {
    name: 'distributed database',
    async run() {
      try {
        await db.probeCoordinator()
        return { state: 'ok' }
      } catch (cause) {
        return { state: 'warning', message: 'the coordinator does not respond', cause }
      }
    },
  }
}

/** Reports what is degraded while the server serves: phrases, of which there are none if all is well. */
export function warningCheck(name: string, warnings: () => Promise<readonly string[]>): ReadinessCheck {
  return {
    name,
    async run() {
      const found = await warnings()
      return found.length === 0 ? { state: 'ok' } : { state: 'warning', message: found.join('; ') }
    },
  }
}
