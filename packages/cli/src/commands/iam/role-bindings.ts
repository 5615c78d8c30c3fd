import type { RoleBinding } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import type { ListRequest } from '../../invocation/list-command.ts'
import { requireOption, scopeOptions, yesOption } from '../../invocation/options.ts'
import { type Resource, resourceCommands } from '../../invocation/resource-commands.ts'
import {
  readScope,
  resolveGroupUid,
  resolveIdentityUid,
  resolveRoleUid,
  resolveUid,
} from '../../invocation/resource-lookup.ts'
import { formatPerson, type ResourceNames } from '../../invocation/resource-names.ts'
import { isUid, parentUid } from '../../invocation/resource-uids.ts'
import { createdColumn, groupColumn, idColumn, loadGroups } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

/** Role bindings: grants of a role to an identity in a group. */

const identityOf = ({ identity, identityUid }: RoleBinding) =>
  (identity && formatPerson(identity)) || identityUid
const roleOf = ({ role, roleUid }: RoleBinding) => role?.name ?? roleUid
/** The identity provider that the invite was accepted through; '' if none is recorded. */
const acceptedThroughText = ({ acceptedThrough }: RoleBinding) =>
  acceptedThrough?.name || acceptedThrough?.uid || ''

const labelOf = (binding: RoleBinding, names: ResourceNames) =>
  `${roleOf(binding)} in ${names.groupPath(parentUid(binding.uid))} from ${identityOf(binding)}`

const bindingView = (names: ResourceNames): View<RoleBinding> => ({
  columns: [
    { title: 'IDENTITY', kind: 'name', value: identityOf },
    { title: 'ROLE', kind: 'name', value: roleOf },
    groupColumn(names),
    { title: 'ACCEPTED THROUGH', kind: 'name', value: acceptedThroughText },
    // A binding has no name.
    { ...idColumn, wide: false },
    { title: 'IDENTITY ID', kind: 'uid', value: ({ identityUid }) => identityUid, wide: true },
    { title: 'ROLE ID', kind: 'uid', value: ({ roleUid }) => roleUid, wide: true },
    createdColumn,
  ],
  tree: {
    label: (one) => `${identityOf(one)}: ${roleOf(one)} in ${names.groupPath(parentUid(one.uid))}`,
    uid: ({ uid }) => uid,
  },
  empty: 'no role bindings visible to you',
  load: loadGroups(names),
})

const bindingOptions: readonly OptionDeclaration[] = [
  { flags: '--identity <identity>', summary: 'identity (uid or name)' },
  { flags: '--role <role>', summary: 'role (uid or name)' },
]

async function listBindings(
  invocation: Invocation,
  request: ListRequest,
): Promise<AsyncIterable<RoleBinding>> {
  const [identity, role] = [invocation.option('identity'), invocation.option('role')]
  const client = await invocation.client()
  return client.roleBindings.all({
    ...request,
    ...(await readScope(invocation)),
    ...(identity === '' ? {} : { identity: await resolveIdentityUid(invocation, identity) }),
    ...(role === '' ? {} : { role: await resolveRoleUid(invocation, role) }),
  })
}

async function resolveBindingUid(invocation: Invocation): Promise<string> {
  const word = invocation.argument(0)
  if (word !== '' && !isUid(word))
    throw new UsageError(`${JSON.stringify(word)} is not a uid; list them with berth iam role-bindings list`)
  const { names } = invocation
  return resolveUid(invocation, word, {
    noun: 'binding',
    async *list(client) {
      const bindings = await toArray(client.roleBindings.all())
      await loadGroups(names)(bindings)
      yield* bindings
    },
    label: (binding) => bindingView(names).tree?.label(binding) ?? binding.uid,
  })
}

/** Finds the binding to revoke: by its uid, or by its identity, role and group. */
async function resolveRevokedUid(invocation: Invocation): Promise<string> {
  if (invocation.argument(0) !== '' || invocation.option('identity') === '')
    return resolveBindingUid(invocation)
  requireOption(invocation, 'role', '--role')
  const group = await resolveGroupUid(invocation, requireOption(invocation, 'parent', '--parent'), 'GROUP')
  const found = await toArray(await listBindings(invocation, { group }))
  const [one] = found
  if (one === undefined) throw new UsageError('no such role binding found or visible to you')
  return one.uid
}

const bindingResource: Resource<RoleBinding> = {
  noun: 'role binding',
  plural: 'role bindings',
  command: 'berth iam role-bindings',
  example: '$BINDING',
  parameter: { name: 'BINDING', summary: 'uid' },
  view: bindingView,
  list: listBindings,
  listOptions: [...scopeOptions, ...bindingOptions],
  serverSort: { created: 'created_at', id: 'uid' },
  resolveUid: resolveRevokedUid,
  get: (client, uid) => client.roleBindings.get(uid),
  delete: (client, uid) => client.roleBindings.delete(uid),
  label: labelOf,
  deleteVerbs: { question: 'Revoke', done: 'revoked' },
}

const shared = resourceCommands(bindingResource)

const commands: readonly CommandDeclaration[] = [
  {
    ...shared.list,
    examples: [
      'berth iam role-bindings list --parent my-org',
      'berth iam role-bindings list --role owner --filter group=my-org',
    ],
  },
  {
    name: 'create',
    summary: 'Grant a role to an identity in an organization or folder, and in everything it contains',
    options: [...bindingOptions, { flags: '--parent <group>', summary: 'organization or folder' }],
    examples: ['berth iam role-bindings create --identity ci --role registry.push --parent my-org'],
    async run(invocation) {
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const identity = await resolveIdentityUid(invocation, invocation.option('identity'), '--identity')
      const role = await resolveRoleUid(invocation, invocation.option('role'), { group })
      const client = await invocation.client()
      const created = await client.roleBindings.create(group, { identityUid: identity, roleUid: role })
      await invocation.output.item(created, bindingView(invocation.names))
    },
  },
  shared.describe,
  {
    name: 'update',
    summary: 'Change the role or identity of a binding',
    parameters: [bindingResource.parameter],
    options: bindingOptions,
    examples: ['berth iam role-bindings update $BINDING --role viewer'],
    async run(invocation) {
      const uid = await resolveBindingUid(invocation)
      const { option: text } = invocation
      if (text('identity') === '' && text('role') === '')
        throw new UsageError('no changes given: specify --identity or --role')
      const patch = {
        ...(text('identity') === ''
          ? {}
          : { identityUid: await resolveIdentityUid(invocation, text('identity')) }),
        ...(text('role') === ''
          ? {}
          : { roleUid: await resolveRoleUid(invocation, text('role'), { group: parentUid(uid) }) }),
      }
      const client = await invocation.client()
      await invocation.output.item(
        await client.roleBindings.update(uid, patch),
        bindingView(invocation.names),
      )
    },
  },
  {
    ...shared.delete,
    summary: 'Revoke a role',
    options: [...bindingOptions, { flags: '--parent <group>', summary: 'organization or folder' }, yesOption],
    examples: [
      'berth iam role-bindings delete $BINDING --yes',
      'berth iam role-bindings delete --identity ci --role registry.push --parent my-org',
    ],
  },
]

export const roleBindingsGroup: CommandGroup = {
  name: 'role-bindings',
  aliases: ['role-binding', 'rolebindings', 'bindings'],
  summary: 'Manage role bindings',
  commands,
}
