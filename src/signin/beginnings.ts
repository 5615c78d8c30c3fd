import { tooSoon } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { countedAddress } from '../limits/client-address.ts'
import { inTransaction } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { countInWindows, inMinutes } from './windows.ts'

/**
 * Anybody may begin to sign in, and each beginning is remembered until it expires: what one address makes the database remember is
 * bounded, on all nodes together, and costs nobody at other addresses anything.
 */

/** What is begun; each is bounded by itself, so that one does not keep anybody from another. */
export type Beginning = 'sign-in' | 'device' | 'provider' | 'departure' | 'passkey'

const rate = { max: limits.beginningsPerAddressMax, windowMs: limits.beginningWindowMs }

/** Counts one for the address. Rejects with code 8, and the time to wait. */
export async function countBeginning(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  what: Beginning,
  address: string,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const key = `begin ${what} ${countedAddress(address)}`
    const waitMs = await countInWindows(tx, clock(), [{ rate, key }])
    if (waitMs > 0)
      throw tooSoon(`too many sign-ins were begun from this address; try again ${inMinutes(waitMs)}`, waitMs)
  })
}
