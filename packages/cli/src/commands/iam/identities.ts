import type { IdentityInput } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import {
  descriptionOption,
  newNameOption,
  readOptions,
  requireChange,
  scopeOptions,
  yesOption,
} from '../../invocation/options.ts'
import { resolveIdentityUid } from '../../invocation/resource-lookup.ts'
import { createCommands, deleteIdentityWithBindings } from './identity-creation.ts'
import { identityView, listIdentities, relationshipTypes, viewWithRoles } from './identity-list.ts'
import { matchingOptions, readRelationship } from './identity-matching.ts'

/** Identities: who may act, and which tokens of others speak for them. */

const commands: readonly (CommandDeclaration | CommandGroup)[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list identities',
    options: [
      ...scopeOptions,
      { flags: '--name <name>', summary: 'only those of this name' },
      {
        flags: '--type, --relationship <type>',
        summary: 'only those of this kind',
        choices: Object.keys(relationshipTypes),
      },
      { flags: '--expired', summary: 'only those whose keys have expired' },
    ],
    examples: [
      'berth iam identities list --parent my-org',
      'berth iam identities list --type static --expired -o id',
    ],
    async run(invocation) {
      const only = {
        type: invocation.option('relationship'),
        expired: invocation.flag('expired'),
        name: invocation.option('name'),
      }
      await invocation.output.list(listIdentities(invocation, only), await viewWithRoles(invocation))
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
      const uid = await resolveIdentityUid(invocation, invocation.argument(0))
      invocation.output.item(await (await invocation.client()).identities.get(uid), identityView)
    },
  },
  {
    name: 'update',
    summary: 'change an identity',
    parameters: [{ name: 'IDENTITY', summary: 'its uid or name' }],
    options: [newNameOption, descriptionOption, ...matchingOptions],
    examples: ['berth iam identities update ci --subject repo:acme/app:ref:refs/heads/release'],
    async run(invocation) {
      const uid = await resolveIdentityUid(invocation, invocation.argument(0))
      const patch = requireChange({
        ...readOptions(invocation, 'name', 'description'),
        ...readRelationship(invocation),
      })
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
      yesOption,
    ],
    examples: [
      'berth iam identities delete ci',
      'berth iam identities delete --expired --parent my-org --yes',
    ],
    async run(invocation) {
      const client = await invocation.client()
      if (invocation.flag('expired')) {
        const expired = await toArray(listIdentities(invocation, { type: '', expired: true, name: '' }))
        if (expired.length === 0) return invocation.output.notice('none has expired')
        const what = expired.length === 1 ? 'the expired identity' : `${expired.length} expired identities`
        const names = expired.map(({ name }) => name).join(', ')
        await invocation.prompt.confirm(`Delete ${what}: ${names}?`)
        for (const { uid } of expired) await deleteIdentityWithBindings(client, uid)
        return invocation.output.notice(`deleted ${what}`)
      }
      const uid = await resolveIdentityUid(invocation, invocation.argument(0))
      const { name } = await client.identities.get(uid)
      await invocation.prompt.confirm(`Delete ${name} (${uid}) and its role bindings?`)
      await deleteIdentityWithBindings(client, uid)
      invocation.output.notice(`deleted ${name} (${uid})`)
    },
  },
]

export const identitiesGroup: CommandGroup = {
  name: 'identities',
  aliases: ['identity', 'id', 'ids'],
  summary: 'identities: who may act, and which tokens speak for them',
  commands,
}
