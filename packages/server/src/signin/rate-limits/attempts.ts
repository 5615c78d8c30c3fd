import { rateLimited } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'
import { inTransaction } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { formatWait, incrementWindows } from './windows.ts'

/**
 * Anybody may begin to sign in, and each beginning is remembered until it expires: what one address makes the database remember is
 * bounded, on all nodes together, and costs nobody at other addresses anything.
 */

/** What is begun; each is bounded by itself, so that one does not keep anybody from another. */
export type AttemptKind = 'sign-in' | 'device' | 'provider' | 'departure' | 'passkey'

const rate = { max: limits.signInAttemptsPerAddressMax, windowMs: limits.signInAttemptWindowMs }

/** Counts one for the address. Rejects with code 8, and the time to wait. */
export async function countAttempt(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  what: AttemptKind,
  address: string,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const key = `begin ${what} ${clientAddressKey(address)}`
    const waitMs = await incrementWindows(tx, clock(), [{ rate, key }])
    if (waitMs > 0)
      throw rateLimited(
        `too many sign-ins were begun from this address; try again ${formatWait(waitMs)}`,
        waitMs,
      )
  })
}
