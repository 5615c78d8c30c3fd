import { fullMethodName } from '../api/method-name.ts'
import { authorizationOf } from '../pipeline/authorization.ts'
import type { Call } from '../pipeline/call.ts'
import { recordEvent } from '../storage/changes/audit-events.ts'
import { recordChange, requireUnchangedRights } from '../storage/changes/mutation.ts'
import type { Tx } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'

/** Who changes the installation: a command of `berth admin`, or a caller of the operator API. */
export interface OperatorActor {
  /** uid of the identity, or `system`. */
  readonly uid: string
  /** Records a change of the resource `uid` in its transaction. */
  record(tx: Tx, uid: string): Promise<void>
}

/** `command`: as a user types it, such as `berth admin keys rotate`. */
export function commandActor({ clock }: Pick<Store, 'clock'>, command: string): OperatorActor {
  return {
    uid: 'system',
    record: (tx, uid) =>
      recordEvent(tx, {
        timeMs: clock(),
        actor: 'system',
        method: command,
        uid,
        requestId: '',
        address: '',
      }),
  }
}

export function callActor(store: Pick<Store, 'clock' | 'grantsIn'>, call: Call): OperatorActor {
  const { requestId, address } = call
  const authorization = authorizationOf(call)
  const mutator = { ...authorization, method: fullMethodName(call.requestedMethod), requestId, address }
  const authorizedMs = performance.now()
  return {
    uid: authorization.caller.identity,
    async record(tx, uid) {
      await requireUnchangedRights(store, tx, { ...mutator, authorizedMs })
      await recordChange(store, tx, mutator, uid)
    },
  }
}
