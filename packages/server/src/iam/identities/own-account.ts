import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import { create } from '@bufbuild/protobuf'
import { permissionDenied } from '../../api/errors.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { depthOf } from '../../api/uid.ts'
import { authorizationOf, isNarrowed, requireUserAuthority } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import { deleteResource, lockResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { removeIdentity } from '../identities.ts'
import { bindingsOf } from './organizations.ts'

/**
 * Users who delete their account: everything that belongs to their identity is deleted with it, except for requests for access, which
 * expire within a day. What they created in organizations stays; the audit log of each organization records that the role bindings were
 * deleted.
 */
export async function deleteOwnAccount(store: Store, call: Call, id: string) {
  const { db, clock } = store
  const { caller, grants } = authorizationOf(call)
  const { identity } = caller
  if (id !== identity) throw permissionDenied('callers can only delete their own account')
  if (depthOf(identity) > 0)
    throw permissionDenied('this identity belongs to a group; delete it as an identity of that group')
  if (isNarrowed(caller))
    throw permissionDenied('a token that is narrowed to scopes or capabilities cannot delete an account')
  requireUserAuthority(grants, 'delete the account')
  return mutate(store, call, async (tx) => {
    // A transaction that binds the identity waits here, and then finds it deleted.
    await lockResource(db, tx, 'identities', identity, 'update')
    const query = await bindingsOf(db, tx, identity)
    const bindings = await query.select('uid').orderBy('uid').execute()
    for (const { uid } of bindings) {
      await deleteResource(db, tx, 'role_bindings', uid)
      await recordEvent(tx, {
        timeMs: clock(),
        actor: identity,
        method: fullMethodName(call.requestedMethod),
        uid,
        requestId: call.requestId,
        address: call.address,
      })
    }
    await removeIdentity(db, tx, identity)
    return { uid: identity, response: create(EmptySchema) }
  })
}
