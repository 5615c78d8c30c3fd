import { rateLimited } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'
import { formatWait, incrementWindows } from '../../storage/counts/windows.ts'
import { inTransaction } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'

/**
 * Limits sign-in attempts per client address, on all nodes together. Anyone can start a sign-in, and each is stored until it expires, so the
 * limit bounds what one address can store, without an effect on other addresses.
 */

/** Kinds of attempts. Each has a limit of its own. */
export type AttemptKind = 'sign-in' | 'device' | 'provider' | 'departure' | 'passkey'

const rate = { max: limits.signInAttemptsPerAddressMax, windowMs: limits.signInAttemptWindowMs }

/** Counts an attempt of an address. Rejects with code 8 and the time to wait. */
export async function countAttempt(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  kind: AttemptKind,
  address: string,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const key = `begin ${kind} ${clientAddressKey(address)}`
    const waitMs = await incrementWindows(tx, clock(), [{ rate, key }])
    if (waitMs > 0)
      throw rateLimited(
        `too many sign-in attempts from this address. Try again ${formatWait(waitMs)}`,
        waitMs,
      )
  })
}
