import type { BerthClient, Identity, IdentityInput } from '@berth/client/berth.ts'

/** For a creation that may be repeated because its outcome is unknown. */
export interface Repeatable {
  /** The same for each attempt. */
  readonly idempotencyKey: string
  /** Called before the identity is deleted because a role cannot be granted: the next attempt needs another key. */
  readonly onUndo: () => void
}

/** Creates an identity and grants its roles in its folder. Deletes the identity if a role cannot be granted. */
export async function createIdentityWithRoles(
  client: BerthClient,
  group: string,
  identity: IdentityInput,
  roleUids: readonly string[],
  repeatable?: Repeatable,
): Promise<Identity> {
  const key = repeatable?.idempotencyKey
  const created = await client.identities.create(group, identity, { idempotencyKey: key })
  try {
    for (const [at, roleUid] of roleUids.entries())
      await client.roleBindings.create(
        group,
        { identityUid: created.uid, roleUid },
        { idempotencyKey: key && `${key}-${at}` },
      )
  } catch (error) {
    repeatable?.onUndo()
    await deleteIdentityWithBindings(client, created.uid)
    throw error
  }
  return created
}

export async function deleteIdentityWithBindings(client: BerthClient, uid: string): Promise<void> {
  const bindings: string[] = []
  for await (const binding of client.roleBindings.all({ identity: uid })) bindings.push(binding.uid)
  for (const binding of bindings) await client.roleBindings.delete(binding)
  await client.identities.delete(uid)
}
