import type { RoleBinding } from '../../../client/berth.ts'
import { createdColumn, idColumn } from '../client/columns.ts'
import type { CommandDeclaration, CommandGroup } from '../client/command.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import { groupUid, identityUid, isUid, parentOf, roleUid, scopeOf, uidOf } from '../client/locate.ts'
import { within, yes } from '../client/options.ts'
import type { View } from '../client/output.ts'

/** Role bindings: who holds which role where. */

const identityOf = ({ identity, identityUid }: RoleBinding) =>
  identity?.name || identity?.email || identityUid
const roleOf = ({ role, roleUid }: RoleBinding) => role?.name ?? roleUid
const groupOf = ({ group, uid }: RoleBinding) => group?.name ?? parentOf(uid)
/** The identity provider of an organization that vouched; '' for none on record. */
const throughOf = ({ acceptedThrough }: RoleBinding) => acceptedThrough?.name || acceptedThrough?.uid || ''
const labelOf = (one: RoleBinding) => `${identityOf(one)}: ${roleOf(one)} in ${groupOf(one)}`

const view: View<RoleBinding> = {
  columns: [
    idColumn,
    { title: 'IDENTITY', kind: 'name', value: identityOf },
    { title: 'ROLE', kind: 'name', value: roleOf },
    { title: 'GROUP', kind: 'name', value: groupOf },
    { title: 'ACCEPTED THROUGH', kind: 'name', value: throughOf },
    { title: 'IDENTITY ID', kind: 'uid', value: ({ identityUid }) => identityUid, wide: true },
    { title: 'ROLE ID', kind: 'uid', value: ({ roleUid }) => roleUid, wide: true },
    createdColumn,
  ],
  tree: { label: labelOf, uid: ({ uid }) => uid },
  empty: 'no role bindings that you may see',
}

const binding = [{ name: 'BINDING', summary: 'its uid' }] as const

function picked(invocation: Invocation): Promise<string> {
  const word = invocation.word(0)
  if (word !== '' && !isUid(word))
    throw new UsageError(`${JSON.stringify(word)} is not a uid; see berth iam role-bindings list`)
  return uidOf(invocation, word, {
    what: 'binding',
    list: (client) => client.roleBindings.all(),
    label: labelOf,
  })
}

const commands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list role bindings',
    options: [
      ...within,
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
        ...(role === '' ? {} : { role: await roleUid(invocation, role) }),
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
      const identity = await identityUid(invocation, invocation.text('identity'), '--identity')
      const role = await roleUid(invocation, invocation.text('role'), { group })
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
        ...(text('role') === ''
          ? {}
          : { roleUid: await roleUid(invocation, text('role'), { group: parentOf(uid) }) }),
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
      const current = await client.roleBindings.get(uid)
      const what = `${roleOf(current)} in ${groupOf(current)} away from ${identityOf(current)}`
      await invocation.ask.confirm(`Take ${what}?`)
      await client.roleBindings.delete(uid)
      invocation.output.done(`took ${what}`)
    },
  },
]

export const roleBindingsGroup: CommandGroup = {
  name: 'role-bindings',
  aliases: ['role-binding', 'rolebindings', 'bindings'],
  summary: 'role bindings: who holds which role where',
  commands,
}
