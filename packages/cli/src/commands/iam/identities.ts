import type { Identity, IdentityInput } from '@berth/client/berth.ts'
import { deleteIdentityWithBindings } from '@berth/workloads/creation.ts'
import { relationshipTypes } from '@berth/workloads/identity-kinds.ts'
import { type SnippetSystem, snippets } from '@berth/workloads/snippets.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { listCommand, nameSort } from '../../invocation/list-command.ts'
import {
  descriptionOption,
  newNameOption,
  readOptions,
  requireChange,
  scopeOptions,
  yesOption,
} from '../../invocation/options.ts'
import {
  deleteResource,
  type Resource,
  resourceCommands,
  resourceList,
} from '../../invocation/resource-commands.ts'
import { resolveIdentityUid } from '../../invocation/resource-lookup.ts'
import { snippetOf } from './ci-snippets.ts'
import { createCommands } from './identity-creation.ts'
import { identityView, listIdentities, viewWithRoles } from './identity-list.ts'
import { matchingOptions, readRelationship } from './identity-matching.ts'

/** Identities, and the tokens that may assume them. */

const identityResource: Resource<Identity> = {
  noun: 'identity',
  plural: 'identities',
  command: 'berth iam identities',
  example: 'ci',
  parameter: { name: 'IDENTITY', summary: 'uid or name' },
  view: identityView,
  list: (invocation, request) =>
    listIdentities(
      invocation,
      {
        type: invocation.option('relationship'),
        expired: invocation.flag('expired'),
        name: invocation.option('name'),
        namePrefix: invocation.option('namePrefix'),
      },
      request,
    ),
  serverSort: nameSort,
  resolveUid: (invocation) => resolveIdentityUid(invocation, invocation.argument(0)),
  get: (client, uid) => client.identities.get(uid),
  delete: deleteIdentityWithBindings,
  label: (identity, names) => names.path(identity),
  deleteEffect: 'and its role bindings',
}

const shared = resourceCommands(identityResource)

const commands: readonly (CommandDeclaration | CommandGroup)[] = [
  listCommand({
    ...resourceList(identityResource),
    options: [
      ...scopeOptions,
      { flags: '--name <name>', summary: 'name' },
      { flags: '--name-prefix <text>', summary: 'start of the name' },
      {
        flags: '--type, --relationship <type>',
        summary: 'identity type',
        choices: Object.keys(relationshipTypes),
      },
      { flags: '--expired', summary: 'only identities with expired keys' },
    ],
    view: (invocation) => viewWithRoles(invocation),
    examples: [
      'berth iam identities list --parent my-org',
      'berth iam identities list --type static --expired -o id',
      "berth iam identities list --sort last-seen --filter 'roles~owner'",
    ],
  }),
  {
    name: 'create',
    summary: 'Create an identity that tokens can assume',
    commands: createCommands,
  },
  {
    ...shared.describe,
    options: [
      {
        flags: '--snippet <system>',
        summary: 'print the workflow that uses the identity, instead of the identity',
        choices: Object.keys(snippets),
      },
    ],
    examples: ['berth iam identities describe ci', 'berth iam identities describe ci --snippet gitlab'],
    run: (invocation) =>
      invocation.option('snippet') === '' ? shared.describe.run(invocation) : printSnippetOf(invocation),
  },
  {
    name: 'update',
    summary: 'Change an identity',
    parameters: [identityResource.parameter],
    options: [newNameOption, descriptionOption, ...matchingOptions],
    examples: ['berth iam identities update ci --subject repo:acme/app:ref:refs/heads/release'],
    async run(invocation) {
      const uid = await identityResource.resolveUid(invocation)
      const patch = requireChange({
        ...readOptions(invocation, 'name', 'description'),
        ...readRelationship(invocation),
      })
      const client = await invocation.client()
      await invocation.output.item(
        await client.identities.update(uid, patch as Partial<IdentityInput>),
        identityView(invocation.names),
      )
    },
  },
  {
    ...shared.delete,
    summary: 'Delete an identity with its role bindings, or all with expired keys',
    options: [
      { flags: '--expired', summary: 'delete all identities with expired keys' },
      { flags: '--parent <group>', summary: 'organization or folder to search for expired identities' },
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
        if (expired.length === 0) return invocation.output.notice('no expired identities')
        const what = expired.length === 1 ? 'the expired identity' : `${expired.length} expired identities`
        const names = expired.map(({ name }) => name).join(', ')
        await invocation.prompt.confirm(`Delete ${what}: ${names}?`)
        for (const { uid } of expired) await deleteIdentityWithBindings(client, uid)
        return invocation.output.notice(`deleted ${what}`)
      }
      await deleteResource(invocation, identityResource)
    },
  },
]

async function printSnippetOf(invocation: Invocation): Promise<void> {
  const client = await invocation.client()
  const identity = await client.identities.get(await identityResource.resolveUid(invocation))
  const system = invocation.option('snippet') as SnippetSystem
  process.stdout.write(await snippetOf(invocation as AuthInvocation, system, identity))
}

export const identitiesGroup: CommandGroup = {
  name: 'identities',
  aliases: ['identity', 'id', 'ids'],
  summary: 'Manage identities and the tokens they accept',
  commands,
}
