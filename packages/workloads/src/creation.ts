import type { BerthClient, Identity, IdentityInput } from '@berth/client/berth.ts'

/** Creates an identity and grants its roles in its folder. Deletes the identity if a role cannot be granted. */
export async function createIdentityWithRoles(
  client: BerthClient,
  group: string,
  identity: IdentityInput,
  roleUids: readonly string[],
): Promise<Identity> {
  const created = await client.identities.create(group, identity)
  try {
    for (const roleUid of roleUids)
      await client.roleBindings.create(group, { identityUid: created.uid, roleUid })
  } catch (error) {
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
