import type { IdentityInput } from '../../../client/berth.ts'
import { collect } from '../client/collect.ts'
import type { CommandDeclaration, CommandGroup } from '../client/command.ts'
import { identityUid } from '../client/locate.ts'
import { change, description, given, newName, within, yes } from '../client/options.ts'
import { createCommands, removeWithBindings } from './identity-creation.ts'
import { identityView, listed, types, viewWithRoles } from './identity-list.ts'
import { matching, relationship } from './identity-matching.ts'

/** Identities: who may act, and which tokens of others speak for them. */

const commands: readonly (CommandDeclaration | CommandGroup)[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list identities',
    options: [
      ...within,
      { flags: '--name <name>', summary: 'only those of this name' },
      {
        flags: '--type, --relationship <type>',
        summary: 'only those of this kind',
        choices: Object.keys(types),
      },
      { flags: '--expired', summary: 'only those whose keys have expired' },
    ],
    examples: [
      'berth iam identities list --parent my-org',
      'berth iam identities list --type static --expired -o id',
    ],
    async run(invocation) {
      const only = {
        type: invocation.text('relationship'),
        expired: invocation.flag('expired'),
        name: invocation.text('name'),
      }
      await invocation.output.list(listed(invocation, only), await viewWithRoles(invocation))
    },
  },
  {
    name: 'create',
    summary: 'make an identity that tokens may assume',
    commands: createCommands,
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show an identity',
    parameters: [{ name: 'IDENTITY', summary: 'its uid or name' }],
    examples: ['berth iam identities describe ci -o yaml'],
    async run(invocation) {
      const uid = await identityUid(invocation, invocation.word(0))
      invocation.output.item(await (await invocation.client()).identities.get(uid), identityView)
    },
  },
  {
    name: 'update',
    summary: 'change an identity',
    parameters: [{ name: 'IDENTITY', summary: 'its uid or name' }],
    options: [newName, description, ...matching],
    examples: ['berth iam identities update ci --subject repo:acme/app:ref:refs/heads/release'],
    async run(invocation) {
      const uid = await identityUid(invocation, invocation.word(0))
      const patch = change({ ...given(invocation, 'name', 'description'), ...relationship(invocation) })
      const client = await invocation.client()
      invocation.output.item(
        await client.identities.update(uid, patch as Partial<IdentityInput>),
        identityView,
      )
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'delete an identity with its role bindings, or all whose keys have expired',
    parameters: [{ name: 'IDENTITY', summary: 'its uid or name' }],
    options: [
      { flags: '--expired', summary: 'all whose keys have expired' },
      { flags: '--parent <group>', summary: 'of this organization or folder alone' },
      yes,
    ],
    examples: [
      'berth iam identities delete ci',
      'berth iam identities delete --expired --parent my-org --yes',
    ],
    async run(invocation) {
      const client = await invocation.client()
      if (invocation.flag('expired')) {
        const expired = await collect(listed(invocation, { type: '', expired: true, name: '' }))
        if (expired.length === 0) return invocation.output.done('none has expired')
        const what = expired.length === 1 ? 'the expired identity' : `${expired.length} expired identities`
        const names = expired.map(({ name }) => name).join(', ')
        await invocation.ask.confirm(`Delete ${what}: ${names}?`)
        for (const { uid } of expired) await removeWithBindings(client, uid)
        return invocation.output.done(`deleted ${what}`)
      }
      const uid = await identityUid(invocation, invocation.word(0))
      const { name } = await client.identities.get(uid)
      await invocation.ask.confirm(`Delete ${name} (${uid}) and its role bindings?`)
      await removeWithBindings(client, uid)
      invocation.output.done(`deleted ${name} (${uid})`)
    },
  },
]

export const identitiesGroup: CommandGroup = {
  name: 'identities',
  aliases: ['identity', 'id', 'ids'],
  summary: 'identities: who may act, and which tokens speak for them',
  commands,
}
