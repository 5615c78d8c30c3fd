import type { Message } from '@bufbuild/protobuf'
import { accessOf } from '../core/allowed.ts'
import type { Call } from '../core/call.ts'
import type { ApiError } from '../core/errors.ts'
import { fullNameOf } from '../core/method-name.ts'
import { recordEvent } from './audit-events.ts'
import { inTransaction, type Tx } from './db.ts'
import { attemptOf } from './idempotency.ts'
import type { Store } from './store.ts'

/** What a change of a resource comes to: the answer, and the uid that the audit record names. */
export interface Changed<T> {
  readonly uid: string
  readonly answer: T
  /** Nothing was written, so there is nothing to record. */
  readonly unchanged?: boolean
}

/**
 * Runs a change and its audit record in one transaction: both are there, or neither. A create that is sent again with its key is
 * answered as the first time. `taken` makes the error for a name or key that is in use already.
 */
export async function mutate<T extends Message>(
  store: Pick<Store, 'db' | 'clock' | 'secretsKey'>,
  call: Call,
  work: (tx: Tx) => Promise<Changed<T>>,
  taken?: () => ApiError | Promise<ApiError>,
): Promise<T> {
  const { db, clock } = store
  const attempt = attemptOf(store, call)
  try {
    return await inTransaction(db, async (tx) => {
      const earlier = await attempt?.begin(tx)
      if (earlier !== undefined) return earlier as T
      const { uid, answer, unchanged } = await work(tx)
      if (!unchanged) {
        await recordEvent(tx, {
          timeMs: clock(),
          actor: accessOf(call).caller.identity,
          method: fullNameOf(call.method),
          uid,
          requestId: call.requestId,
          address: call.address,
        })
      }
      await attempt?.finish(tx, answer)
      return answer
    })
  } catch (error) {
    if (taken !== undefined && db.rules.isUniqueViolation(error)) throw await taken()
    throw error
  }
}
