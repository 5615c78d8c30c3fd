import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { tooSoon } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { countedAddress } from '../limits/client-address.ts'
import { inTransaction } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'

/**
 * Slows down whoever guesses passwords and codes, together on all nodes. Wrong guesses are counted by what they are aimed at and
 * where they come from, in windows that begin with the first; who used theirs up waits for the window to end. A guess counts as
 * wrong before it is looked at, so that many at once do not slip through, and a right one is taken back.
 */

/** How many wrong guesses each may make in a window. */
const rates = {
  /** One address, whatever it guesses: a password, a code of a link, an invite, a device. */
  address: { max: limits.guessesPerAddressMax, windowMs: limits.guessWindowMs },
  /** One address at one account. */
  'account from address': { max: limits.guessesPerAccountAndAddressMax, windowMs: limits.guessWindowMs },
  /** All addresses at one account: a short window, since it keeps its owner waiting as well. */
  account: { max: limits.guessesPerAccountMax, windowMs: limits.guessAccountWindowMs },
} as const

/** What a guess counts for. */
export type GuessKey = readonly [rate: keyof typeof rates, of: string]

/** For codes that name nobody; the address as `SessionPlace` has it. */
export function byAddress(address: string): GuessKey[] {
  return [['address', countedAddress(address)]]
}

/**
 * For an account by whatever name it goes. `known`: somebody signed in to it from this address before, and is not kept waiting for
 * what others guess.
 */
export function byAccount(account: string, address: string, known: boolean): GuessKey[] {
  const from = countedAddress(address)
  return [
    ['address', from],
    ['account from address', `${from} ${account}`],
    ...(known ? [] : [['account', account] as const]),
  ]
}

/**
 * What `check` finds; undefined is a wrong guess. Throws code 8 with the time to wait, without a check, for who guessed too often.
 * What `check` throws is no guess.
 */
export async function guess<T>(
  store: Pick<Store, 'db' | 'clock'>,
  keys: readonly GuessKey[],
  check: () => Promise<T | undefined>,
): Promise<T | undefined> {
  await count(store, keys)
  let right = true
  try {
    const found = await check()
    right = found !== undefined
    return found
  } finally {
    if (right) await takeBack(store, keys)
  }
}

/** Counts a guess for each key, or, where one of them is used up, for none: waiting costs nobody else anything. */
async function count({ db, clock }: Pick<Store, 'db' | 'clock'>, keys: readonly GuessKey[]): Promise<void> {
  await inTransaction(db, async (tx) => {
    const now = clock()
    let waitMs = 0
    // In one order, so that two transactions never wait for each other.
    for (const key of sorted(keys)) {
      const { max, windowMs } = rates[key[0]]
      const over = sql<boolean>`guesses.since_ms <= ${now - windowMs}`
      const { n, since_ms } = await tx
        .insertInto('guesses')
        .values({ key: keyText(key), n: 1, since_ms: now })
        .onConflict((conflict) =>
          conflict.column('key').doUpdateSet({
            n: sql<number>`case when ${over} then 1 else guesses.n + 1 end`,
            since_ms: sql<number>`case when ${over} then ${now} else guesses.since_ms end`,
          }),
        )
        .returning(['n', 'since_ms'])
        .executeTakeFirstOrThrow()
      if (n > max) waitMs = Math.max(waitMs, since_ms + windowMs - now)
    }
    if (waitMs > 0) throw tooSoon(`too many wrong guesses; try again ${inWords(waitMs)}`, waitMs)
  })
}

async function takeBack({ db }: Pick<Store, 'db'>, keys: readonly GuessKey[]): Promise<void> {
  await inTransaction(db, async (tx) => {
    for (const key of sorted(keys)) {
      await tx
        .updateTable('guesses')
        .set({ n: sql<number>`n - 1` })
        .where('key', '=', keyText(key))
        .where('n', '>', 0)
        .execute()
    }
  })
}

/** People type passwords where their name belongs: what was typed is not kept. */
function keyText([rate, of]: GuessKey): string {
  return createHash('sha256').update(`${rate} ${of}`).digest('base64url')
}

function sorted(keys: readonly GuessKey[]): GuessKey[] {
  return [...keys].sort((a, b) => (keyText(a) < keyText(b) ? -1 : 1))
}

const MINUTE_MS = 60_000

function inWords(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE_MS)
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`
}
