import { rateLimited } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'
import { inTransaction } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { decrementWindows, formatWait, incrementWindows, type WindowCounter, type WindowRate } from './windows.ts'

/**
 * Slows down whoever guesses passwords and codes, together on all nodes. Wrong guesses are counted by what they are aimed at and
 * where they come from (windows.ts); who used theirs up waits for the window to end. A guess counts as
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
} as const satisfies Record<string, WindowRate>

/** What a guess counts for. */
export type GuessKey = readonly [rate: keyof typeof rates, of: string]

/** For codes that name nobody; the address as `SessionPlace` has it. */
export function byAddress(address: string): GuessKey[] {
  return [['address', clientAddressKey(address)]]
}

/**
 * For an account by whatever name it goes. `known`: somebody signed in to it from this address before, and is not kept waiting for
 * what others guess.
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
 * What `check` finds; undefined is a wrong guess. Throws code 8 with the time to wait, without a check, for who guessed too often.
 * What `check` throws is no guess.
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

/** Counts a guess for each key, or, where one of them is used up, for none: waiting costs nobody else anything. */
async function countGuess(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  keys: readonly GuessKey[],
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const waitMs = await incrementWindows(tx, clock(), keys.map(toWindowCounter))
    if (waitMs > 0) throw rateLimited(`too many wrong guesses; try again ${formatWait(waitMs)}`, waitMs)
  })
}

async function uncountGuess({ db }: Pick<Store, 'db'>, keys: readonly GuessKey[]): Promise<void> {
  await inTransaction(db, (tx) => decrementWindows(tx, keys.map(toWindowCounter)))
}

function toWindowCounter([rate, of]: GuessKey): WindowCounter {
  return { rate: rates[rate], key: `${rate} ${of}` }
}
