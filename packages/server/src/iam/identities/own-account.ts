import { create } from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
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

/**
 * People who leave: their identity goes with everything that hangs on it. What they made in organizations stays; each organization
 * finds in its audit log that the role bindings went.
 */
export async function deleteOwnAccount(store: Store, call: Call, id: string) {
  const { db, clock } = store
  const { caller, grants } = authorizationOf(call)
  const { identity } = caller
  if (id !== identity) throw permissionDenied('nobody deletes another account than their own')
  if (depthOf(identity) > 0)
    throw permissionDenied('this identity belongs to a group; delete it as an identity of that group')
  if (isNarrowed(caller))
    throw permissionDenied('a token that is narrowed to scopes or capabilities deletes no account')
  requireUserAuthority(grants, 'delete the account')
  return mutate(store, call, async (tx) => {
    // Whoever binds it waits here, and then finds it gone.
    await lockResource(db, tx, 'identities', identity, 'update')
    const bindings = await tx
      .selectFrom('role_bindings')
      .select('uid')
      .where('identity_uid', '=', identity)
      .orderBy('uid')
      .execute()
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
