import { type BerthClient, BerthError, type Identity, type IdentityInput } from '@berth/client/berth.ts'

/** For a creation that may be repeated because its outcome is unknown. */
export interface Repeatable {
  /** The same for each attempt. */
  readonly idempotencyKey: string
  /** Called when the creation has failed for certain: the next attempt needs another key. */
  readonly onFailed: () => void
}

/**
 * Creates an identity and grants its roles in its folder. Deletes the identity if a role cannot be granted. If the outcome of a repeatable creation
 * is unknown, nothing is deleted: the next attempt continues it.
 */
export async function createIdentityWithRoles(
  client: BerthClient,
  group: string,
  identity: IdentityInput,
  roleUids: readonly string[],
  repeatable?: Repeatable,
): Promise<Identity> {
  const key = repeatable?.idempotencyKey
  let created: Identity | undefined
  try {
    created = await client.identities.create(group, identity, { idempotencyKey: key })
    for (const [at, roleUid] of roleUids.entries())
      await client.roleBindings.create(
        group,
        { identityUid: created.uid, roleUid },
        { idempotencyKey: key && `${key}-${at}` },
      )
    return created
  } catch (error) {
    if (repeatable !== undefined && isOutcomeUnknown(error)) throw error
    repeatable?.onFailed()
    if (created !== undefined) await deleteIdentityWithBindings(client, created.uid)
    throw error
  }
}

/** Whether there was no response, or one that does not tell whether something was written. */
function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof BerthError) || error.status === 0 || error.status >= 500
}

export async function deleteIdentityWithBindings(client: BerthClient, uid: string): Promise<void> {
  const bindings: string[] = []
  for await (const binding of client.roleBindings.all({ identity: uid })) bindings.push(binding.uid)
  for (const binding of bindings) await client.roleBindings.delete(binding)
  await client.identities.delete(uid)
}
