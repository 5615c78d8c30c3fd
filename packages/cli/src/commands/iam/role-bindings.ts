import type { RoleBinding } from '@berth/client/berth.ts'
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { scopeOptions, yesOption } from '../../invocation/options.ts'
import {
  isUid,
  parentUid,
  readScope,
  resolveGroupUid,
  resolveIdentityUid,
  resolveRoleUid,
  resolveUid,
} from '../../invocation/resource-lookup.ts'
import { createdColumn, idColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

/** Role bindings: grants of a role to an identity in a group. */

const identityOf = ({ identity, identityUid }: RoleBinding) =>
  identity?.name || identity?.email || identityUid
const roleOf = ({ role, roleUid }: RoleBinding) => role?.name ?? roleUid
const groupOf = ({ group, uid }: RoleBinding) => group?.name ?? parentUid(uid)
/** The identity provider that the invite was accepted through; '' if none is recorded. */
const acceptedThroughText = ({ acceptedThrough }: RoleBinding) =>
  acceptedThrough?.name || acceptedThrough?.uid || ''
const labelOf = (one: RoleBinding) => `${identityOf(one)}: ${roleOf(one)} in ${groupOf(one)}`

const view: View<RoleBinding> = {
  columns: [
    idColumn,
    { title: 'IDENTITY', kind: 'name', value: identityOf },
    { title: 'ROLE', kind: 'name', value: roleOf },
    { title: 'GROUP', kind: 'name', value: groupOf },
    { title: 'ACCEPTED THROUGH', kind: 'name', value: acceptedThroughText },
    { title: 'IDENTITY ID', kind: 'uid', value: ({ identityUid }) => identityUid, wide: true },
    { title: 'ROLE ID', kind: 'uid', value: ({ roleUid }) => roleUid, wide: true },
    createdColumn,
  ],
  tree: { label: labelOf, uid: ({ uid }) => uid },
  empty: 'no role bindings visible to you',
}

const bindingParameters = [{ name: 'BINDING', summary: 'uid' }] as const

function resolveBindingUid(invocation: Invocation): Promise<string> {
  const word = invocation.argument(0)
  if (word !== '' && !isUid(word))
    throw new UsageError(`${JSON.stringify(word)} is not a uid; list them with berth iam role-bindings list`)
  return resolveUid(invocation, word, {
    noun: 'binding',
    list: (client) => client.roleBindings.all(),
    label: labelOf,
  })
}

const commands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'List role bindings',
    options: [
      ...scopeOptions,
      { flags: '--identity <identity>', summary: 'identity (uid or name)' },
      { flags: '--role <role>', summary: 'role (uid or name)' },
    ],
    examples: ['berth iam role-bindings list --parent my-org', 'berth iam role-bindings list --role owner'],
    async run(invocation) {
      const identity = invocation.option('identity')
      const role = invocation.option('role')
      const filter = {
        ...(await readScope(invocation)),
        ...(identity === '' ? {} : { identity: await resolveIdentityUid(invocation, identity) }),
        ...(role === '' ? {} : { role: await resolveRoleUid(invocation, role) }),
      }
      const client = await invocation.client()
      await invocation.output.list(client.roleBindings.all(filter), view)
    },
  },
  {
    name: 'create',
    summary: 'Grant a role to an identity in an organization or folder, and in everything it contains',
    options: [
      { flags: '--identity <identity>', summary: 'identity (uid or name)' },
      { flags: '--role <role>', summary: 'role (uid or name)' },
      { flags: '--parent <group>', summary: 'organization or folder' },
    ],
    examples: ['berth iam role-bindings create --identity ci --role registry.push --parent my-org'],
    async run(invocation) {
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const identity = await resolveIdentityUid(invocation, invocation.option('identity'), '--identity')
      const role = await resolveRoleUid(invocation, invocation.option('role'), { group })
      const client = await invocation.client()
      const created = await client.roleBindings.create(group, { identityUid: identity, roleUid: role })
      invocation.output.item(created, view)
    },
  },
  {
    name: 'update',
    summary: 'Change the role or identity of a binding',
    parameters: bindingParameters,
    options: [
      { flags: '--identity <identity>', summary: 'identity (uid or name)' },
      { flags: '--role <role>', summary: 'role (uid or name)' },
    ],
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
      invocation.output.item(await client.roleBindings.update(uid, patch), view)
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'Revoke a role',
    parameters: bindingParameters,
    options: [yesOption],
    examples: ['berth iam role-bindings delete $BINDING --yes'],
    async run(invocation) {
      const uid = await resolveBindingUid(invocation)
      const client = await invocation.client()
      const current = await client.roleBindings.get(uid)
      const what = `${roleOf(current)} in ${groupOf(current)} from ${identityOf(current)}`
      await invocation.prompt.confirm(`Revoke ${what}?`)
      await client.roleBindings.delete(uid)
      invocation.output.notice(`revoked ${what}`)
    },
  },
]

export const roleBindingsGroup: CommandGroup = {
  name: 'role-bindings',
  aliases: ['role-binding', 'rolebindings', 'bindings'],
  summary: 'Manage role bindings',
  commands,
}
