import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Tx } from '../db.ts'

/**
 * Counters in windows of time, for all nodes together. A window starts with the first count. Each key has one row, which the next window
 * reuses. Keys are hashed, because users type passwords into fields for names.
 */

/** Largest count in a window of time. */
export interface WindowRate {
  readonly max: number
  readonly windowMs: number
}

export interface WindowCounter {
  readonly rate: WindowRate
  readonly key: string
}

/**
 * Adds one to each counter, in the transaction. Returns the time to wait if one exceeds its limit; then the caller must roll back, so that
 * the attempt is not counted. 0: no limit is exceeded.
 */
export async function incrementWindows(
  tx: Tx,
  now: number,
  counted: readonly WindowCounter[],
): Promise<number> {
  let waitMs = 0
  for (const { rate, key } of sortByKey(counted)) {
    const over = sql<boolean>`guesses.since_ms <= ${now - rate.windowMs}`
    const { n, since_ms } = await tx
      .insertInto('guesses')
      .values({ key: hashKey(key), n: 1, since_ms: now })
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet({
          n: sql<number>`case when ${over} then 1 else guesses.n + 1 end`,
          since_ms: sql<number>`case when ${over} then ${now} else guesses.since_ms end`,
        }),
      )
      .returning(['n', 'since_ms'])
      .executeTakeFirstOrThrow()
    if (n > rate.max) waitMs = Math.max(waitMs, since_ms + rate.windowMs - now)
  }
  return waitMs
}

/** Subtracts one from each counter. */
export async function decrementWindows(tx: Tx, counted: readonly WindowCounter[]): Promise<void> {
  for (const { key } of sortByKey(counted)) {
    await tx
      .updateTable('guesses')
      .set({ n: sql<number>`n - 1` })
      .where('key', '=', hashKey(key))
      .where('n', '>', 0)
      .execute()
  }
}

/** Formats a time to wait as `in 1 minute` or `in 5 minutes`. */
export function formatWait(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE_MS)
  return minutes === 1 ? 'in 1 minute' : `in ${minutes} minutes`
}

const MINUTE_MS = 60_000

export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

/** Sorts counters, so that two transactions never wait for each other. */
function sortByKey(counted: readonly WindowCounter[]): WindowCounter[] {
  return [...counted].sort((a, b) => (hashKey(a.key) < hashKey(b.key) ? -1 : 1))
}
