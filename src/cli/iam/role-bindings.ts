import type { RoleBinding } from '../../../client/berth.ts'
import type { CommandDeclaration, CommandGroup } from '../client/command.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import { groupUid, identityUid, isUid, pickedUid, roleUid, scopeOf } from '../client/locate.ts'
import type { View } from '../client/output.ts'
import { yes } from './groups.ts'
import { recursiveOption } from './identities.ts'

/** Role bindings: who holds which role where. */

const view: View<RoleBinding> = {
  columns: [
    { title: 'ID', value: ({ uid }) => uid },
    {
      title: 'IDENTITY',
      value: ({ identity, identityUid }) => identity?.name || identity?.email || identityUid,
    },
    { title: 'ROLE', value: ({ role, roleUid }) => role?.name ?? roleUid },
    { title: 'GROUP', value: ({ group, uid }) => group?.name ?? groupOf(uid) },
    { title: 'IDENTITY ID', value: ({ identityUid }) => identityUid, wide: true },
  ],
  tree: {
    label: ({ identity, identityUid, role, roleUid, group }) =>
      `${group?.name ?? ''}: ${identity?.name || identityUid} is ${role?.name ?? roleUid}`,
    uid: ({ uid }) => uid,
  },
  empty: 'no role bindings that you may see',
}

const groupOf = (uid: string) => uid.slice(0, uid.lastIndexOf('/'))
const labelOf = ({ identity, identityUid, role, roleUid }: RoleBinding) =>
  `${identity?.name || identityUid} is ${role?.name ?? roleUid}`
const binding = [{ name: 'BINDING', summary: 'its uid' }] as const
const picked = (invocation: Invocation) =>
  pickedUid(invocation, invocation.word(0), 'binding', (client) => client.roleBindings.all(), labelOf)

const commands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list role bindings',
    options: [
      { flags: '--parent <group>', summary: 'only those in this organization or folder' },
      recursiveOption,
      { flags: '--identity <identity>', summary: 'only those of this identity' },
      { flags: '--role <role>', summary: 'only those of this role' },
    ],
    examples: ['berth iam role-bindings list --parent my-org', 'berth iam role-bindings list --role owner'],
    async run(invocation) {
      const identity = invocation.text('identity')
      const role = invocation.text('role')
      const filter = {
        ...(await scopeOf(invocation)),
        ...(identity === '' ? {} : { identity: await identityUid(invocation, identity) }),
        ...(role === '' ? {} : { role: await roleUid(invocation, role, '') }),
      }
      const client = await invocation.client()
      await invocation.output.list(client.roleBindings.all(filter), view)
    },
  },
  {
    name: 'create',
    summary: 'let an identity hold a role in an organization or folder, and in all below',
    options: [
      { flags: '--identity <identity>', summary: 'its uid or name' },
      { flags: '--role <role>', summary: 'its uid or name' },
      { flags: '--parent <group>', summary: 'where' },
    ],
    examples: ['berth iam role-bindings create --identity ci --role registry.push --parent my-org'],
    async run(invocation) {
      const group = await groupUid(invocation, invocation.text('parent'), '--parent')
      const identity = await identityUid(invocation, invocation.text('identity'), '', '--identity')
      const role = await roleUid(invocation, invocation.text('role'), group)
      const client = await invocation.client()
      const made = await client.roleBindings.create(group, { identityUid: identity, roleUid: role })
      invocation.output.item(made, view)
    },
  },
  {
    name: 'update',
    summary: 'give a binding another role or another identity',
    parameters: binding,
    options: [
      { flags: '--identity <identity>', summary: 'its uid or name' },
      { flags: '--role <role>', summary: 'its uid or name' },
    ],
    examples: ['berth iam role-bindings update $BINDING --role viewer'],
    async run(invocation) {
      const uid = await picked(invocation)
      const { text } = invocation
      if (text('identity') === '' && text('role') === '')
        throw new UsageError('say what is to change: --identity or --role')
      const patch = {
        ...(text('identity') === '' ? {} : { identityUid: await identityUid(invocation, text('identity')) }),
        ...(text('role') === '' ? {} : { roleUid: await roleUid(invocation, text('role'), groupOf(uid)) }),
      }
      const client = await invocation.client()
      invocation.output.item(await client.roleBindings.update(uid, patch), view)
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'take a role away',
    parameters: binding,
    options: [yes],
    examples: ['berth iam role-bindings delete $BINDING --yes'],
    async run(invocation) {
      const uid = await picked(invocation)
      const client = await invocation.client()
      const label = isUid(uid) ? labelOf(await client.roleBindings.get(uid)) : uid
      if (!(await invocation.ask.confirm(`End that ${label}?`))) return
      await client.roleBindings.delete(uid)
      invocation.output.done(`ended that ${label}`)
    },
  },
]

export const roleBindingsGroup: CommandGroup = {
  name: 'role-bindings',
  aliases: ['role-binding', 'rolebindings', 'bindings'],
  summary: 'role bindings: who holds which role where',
  commands,
}
