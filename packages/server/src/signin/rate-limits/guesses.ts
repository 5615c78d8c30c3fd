import { rateLimited } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'
import {
  decrementWindows,
  formatWait,
  incrementWindows,
  type WindowCounter,
  type WindowRate,
} from '../../storage/counts/windows.ts'
import { inTransaction } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'

/**
 * Limits guesses of passwords and codes, on all nodes together. Wrong guesses are counted by target and by client address (windows.ts); at
 * the limit a client waits for the end of the window. A guess is counted before it is checked, so that concurrent guesses do not exceed the
 * limit, and a correct one is subtracted again.
 */

/** Wrong guesses that are allowed in a window. */
const rates = {
  /** One address, for any target: a password, or the code of a link, an invite or a device. */
  address: { max: limits.guessesPerAddressMax, windowMs: limits.guessWindowMs },
  /** One address and one account. */
  'account from address': { max: limits.guessesPerAccountAndAddressMax, windowMs: limits.guessWindowMs },
  /** One account, from all addresses: a short window, because its owner has to wait too. */
  account: { max: limits.guessesPerAccountMax, windowMs: limits.guessAccountWindowMs },
} as const satisfies Record<string, WindowRate>

/** What a guess is counted for. */
export type GuessKey = readonly [rate: keyof typeof rates, of: string]

/** Keys for a code that belongs to no account. */
export function byAddress(address: string): GuessKey[] {
  return [['address', clientAddressKey(address)]]
}

/**
 * Keys for an account, by its id or email address. `known`: the owner has signed in from this address, and does not wait because of guesses
 * from others.
 */
export function byAccount(account: string, address: string, known: boolean): GuessKey[] {
  const from = clientAddressKey(address)
  return [
    ['address', from],
    ['account from address', `${from} ${account}`],
    ...(known ? [] : [['account', account] as const]),
  ]
}

/**
 * Returns the result of `check`; undefined is a wrong guess. Throws code 8 with the time to wait, without calling `check`, if the limit is
 * reached. An error of `check` does not count as a guess.
 */
export async function limitGuesses<T>(
  store: Pick<Store, 'db' | 'clock'>,
  keys: readonly GuessKey[],
  check: () => Promise<T | undefined>,
): Promise<T | undefined> {
  await countGuess(store, keys)
  let right = true
  try {
    const found = await check()
    right = found !== undefined
    return found
  } finally {
    if (right) await uncountGuess(store, keys)
  }
}

/** Counts a guess for each key, or for none if one of them is at its limit. */
async function countGuess(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  keys: readonly GuessKey[],
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const waitMs = await incrementWindows(tx, clock(), keys.map(toWindowCounter))
    if (waitMs > 0) throw rateLimited(`too many failed attempts. Try again ${formatWait(waitMs)}`, waitMs)
  })
}

async function uncountGuess({ db }: Pick<Store, 'db'>, keys: readonly GuessKey[]): Promise<void> {
  await inTransaction(db, (tx) => decrementWindows(tx, keys.map(toWindowCounter)))
}

function toWindowCounter([rate, of]: GuessKey): WindowCounter {
  return { rate: rates[rate], key: `${rate} ${of}` }
}
