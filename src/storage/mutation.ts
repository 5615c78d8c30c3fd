import type { Message } from '@bufbuild/protobuf'
import { accessOf } from '../core/allowed.ts'
import type { Call } from '../core/call.ts'
import { includesAll } from '../core/capabilities.ts'
import { type ApiError, aborted } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
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
 * answered as the first time. One that waited long is not made when its caller lost rights meanwhile: code 10. `taken` makes the
 * error for a name or key that is in use already.
 */
export async function mutate<T extends Message>(
  store: Pick<Store, 'db' | 'clock' | 'secretsKey' | 'grantsIn'>,
  call: Call,
  work: (tx: Tx) => Promise<Changed<T>>,
  taken?: () => ApiError | Promise<ApiError>,
): Promise<T> {
  const { db, clock } = store
  const attempt = attemptOf(store, call)
  const startMs = performance.now()
  try {
    return await inTransaction(db, async (tx) => {
      const earlier = await attempt?.begin(tx)
      if (earlier !== undefined) return earlier as T
      const { uid, answer, unchanged } = await work(tx)
      if (performance.now() - startMs > limits.grantsMaxAgeMs) await requireRightsStill(store, tx, call)
      if (!unchanged) {
        await recordEvent(tx, {
          timeMs: clock(),
          actor: accessOf(call).caller.identity,
          method: fullNameOf(call.called),
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

/**
 * A caller is judged before its change takes its turn, which may come late where many wait for the same rows. Whoever changes
 * their own rights after such a wait is asked to do it again.
 */
async function requireRightsStill({ grantsIn }: Pick<Store, 'grantsIn'>, tx: Tx, call: Call): Promise<void> {
  const { caller, grants } = accessOf(call)
  const now = await grantsIn(tx, caller)
  const scopes = [...grants.holdings.keys()]
  if (now !== undefined && scopes.every((scope) => includesAll(now.at(scope), grants.at(scope)))) return
  throw aborted('the rights of the caller changed while this waited for other changes; try again')
}
