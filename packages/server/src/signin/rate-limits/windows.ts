import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Tx } from '../../storage/db.ts'

/**
 * How often something was done, by whom or to what, counted for all nodes together: in windows of time that begin with the first.
 * One row for each that is counted, which the next window takes over; keys are hashed, since people type passwords where their name
 * belongs.
 */

/** So often in a window of time. */
export interface WindowRate {
  readonly max: number
  readonly windowMs: number
}

export interface WindowCounter {
  readonly rate: WindowRate
  readonly key: string
}

/**
 * Counts once for each of them, in the transaction. Returns how long to wait where one is used up: the transaction is to fail then, so
 * that waiting costs nobody anything. 0: nothing is.
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

/** Counts one less for each. */
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

/** `in a minute`, `in 5 minutes`. */
export function formatWait(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE_MS)
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`
}

const MINUTE_MS = 60_000

function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

/** So that two transactions never wait for each other. */
function sortByKey(counted: readonly WindowCounter[]): WindowCounter[] {
  return [...counted].sort((a, b) => (hashKey(a.key) < hashKey(b.key) ? -1 : 1))
}
