import type { BerthClient, Identity, IdentityInput } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { OptionDeclaration } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { descriptionOption, parentOption, readOptions } from '../../invocation/options.ts'
import { resolveGroupUid, resolveRoleUid } from '../../invocation/resource-lookup.ts'
import { identityView } from './identity-list.ts'

/** What the commands that create an identity share. */

const roleOption: OptionDeclaration = {
  flags: '--role <role>',
  summary: 'role to grant in the parent (repeatable)',
  repeatable: true,
}
export const creationOptions = [parentOption, descriptionOption, roleOption] as const
export const nameParameter = [{ name: 'NAME', summary: 'name' }] as const

/** Creates an identity and grants its roles. Deletes the identity if a role cannot be granted. */
export async function createIdentity(
  invocation: Invocation,
  relationship: Partial<IdentityInput>,
): Promise<Identity> {
  const name = invocation.argument(0) || (await invocation.prompt.input('Name of the identity?', 'NAME'))
  const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
  const roleUids: string[] = []
  for (const role of invocation.optionValues('role'))
    roleUids.push(await resolveRoleUid(invocation, role, { group }))
  const client = await invocation.client()
  const created = await client.identities.create(group, {
    ...relationship,
    name,
    ...readOptions(invocation, 'description'),
  } as IdentityInput)
  try {
    for (const role of roleUids)
      await client.roleBindings.create(group, { identityUid: created.uid, roleUid: role })
  } catch (error) {
    await deleteIdentityWithBindings(client, created.uid)
    throw error
  }
  return created
}

/** Creates an identity and prints it. */
export async function runCreation(
  invocation: Invocation,
  relationship: Partial<IdentityInput>,
): Promise<void> {
  await invocation.output.item(await createIdentity(invocation, relationship), identityView(invocation.names))
}

export async function deleteIdentityWithBindings(client: BerthClient, uid: string): Promise<void> {
  for (const binding of await toArray(client.roleBindings.all({ identity: uid })))
    await client.roleBindings.delete(binding.uid)
  await client.identities.delete(uid)
}

/** Escapes a text as an RE2 pattern. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
