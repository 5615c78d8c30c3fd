import { includesAll } from '@berth/contract/capabilities.ts'
import type { Message } from '@bufbuild/protobuf'
import { type ApiError, aborted } from '../../api/errors.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { limits } from '../../config/limits.ts'
import { type Authorization, authorizationOf } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { inTransaction, type Tx } from '../db.ts'
import type { Store } from '../store.ts'
import { recordEvent } from './audit-events.ts'
import { idempotentCreateOf } from './idempotency.ts'

/** The result of a change: the response, and the uid for the audit event. */
export interface MutationResult<T> {
  readonly uid: string
  readonly response: T
  /** Nothing was written, so no event is recorded. */
  readonly unchanged?: boolean
}

/**
 * Runs a change and records its audit event in one transaction. A create that is repeated with its idempotency key returns the first
 * response. Fails with code 10 if the change waited long and its caller lost rights meanwhile. `taken` returns the error for a name or key
 * that is in use.
 */
export async function mutate<T extends Message>(
  store: MutationStore & Pick<Store, 'secretsKey'>,
  call: Call,
  work: (tx: Tx) => Promise<MutationResult<T>>,
  alreadyExists?: () => ApiError | Promise<ApiError>,
): Promise<T> {
  const idempotentCreate = idempotentCreateOf(store, call)
  const { requestId, address } = call
  const by = { ...authorizationOf(call), method: fullMethodName(call.requestedMethod), requestId, address }
  try {
    return await mutateBy(store, by, async (tx) => {
      const earlier = await idempotentCreate?.claim(tx)
      if (earlier !== undefined) return { uid: '', response: earlier as T, unchanged: true }
      const changed = await work(tx)
      await idempotentCreate?.storeResponse(tx, changed.response)
      return changed
    })
  } catch (error) {
    if (alreadyExists !== undefined && store.db.rules.isUniqueViolation(error)) throw await alreadyExists()
    throw error
  }
}

type MutationStore = Pick<Store, 'db' | 'clock' | 'grantsIn'>

/** Who changes a resource, as the audit log records it. */
export interface Mutator extends Pick<Authorization, 'caller' | 'grants'> {
  /** When the caller was authorized, if that was before the call. */
  readonly authorizedMs?: number
  readonly method: string
  readonly requestId: string
  readonly address: string
}

/** Runs a change of a request that is not a call of the API, such as the deletion of a tag over OCI. */
export async function mutateBy<T>(
  store: MutationStore,
  mutator: Mutator,
  work: (tx: Tx) => Promise<MutationResult<T>>,
): Promise<T> {
  const { authorizedMs = performance.now() } = mutator
  return inTransaction(store.db, async (tx) => {
    const { uid, response: answer, unchanged } = await work(tx)
    await requireUnchangedRights(store, tx, { ...mutator, authorizedMs })
    if (!unchanged) await recordChange(store, tx, mutator, uid)
    return answer
  })
}

/** Records a further change of a transaction. */
export async function recordChange(
  { clock }: Pick<Store, 'clock'>,
  tx: Tx,
  { caller, method, requestId, address }: Omit<Mutator, 'grants'>,
  uid: string,
): Promise<void> {
  await recordEvent(tx, { timeMs: clock(), actor: caller.identity, method, uid, requestId, address })
}

/**
 * Checks the grants again after a long wait: callers are authorized before their change waits for locks or for its body. A caller whose own
 * rights changed meanwhile must repeat the request.
 */
export async function requireUnchangedRights(
  { grantsIn }: Pick<Store, 'grantsIn'>,
  tx: Tx,
  { caller, grants, authorizedMs }: Pick<Mutator, 'caller' | 'grants'> & { readonly authorizedMs: number },
): Promise<void> {
  if (performance.now() - authorizedMs <= limits.grantsMaxAgeMs) return
  const now = await grantsIn(tx, caller)
  if (
    now !== undefined &&
    grants.readableScopes.every((scope) => includesAll(now.at(scope), grants.at(scope)))
  )
    return
  throw aborted('the rights of the caller changed while this waited for other changes; try again')
}
