import type { BerthClient, Group } from '../../../client/berth.ts'
import { chosen } from '../client/collect.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../client/columns.ts'
import type { CommandDeclaration, CommandGroup } from '../client/command.ts'
import type { Invocation } from '../client/invocation.ts'
import { folderUid, groupUid, organizations, organizationUid } from '../client/locate.ts'
import { change, description, given, newName, parent, yes } from '../client/options.ts'
import type { View } from '../client/output.ts'

/** Organizations and the folders in them: both are groups of the API. */

const viewOf = (what: string): View<Group> => ({
  columns: [idColumn, nameColumn, descriptionColumn, createdColumn],
  tree: { label: ({ name, uid }) => `[${name}] ${uid}`, uid: ({ uid }) => uid },
  empty: `no ${what} that you may see`,
})
const view = viewOf('organizations')
const foldersView = viewOf('folders')

async function describe(invocation: Invocation, uid: string): Promise<void> {
  invocation.output.item(await (await invocation.client()).groups.get(uid), view)
}

async function update(invocation: Invocation, uid: string): Promise<void> {
  const patch = change(given(invocation, 'name', 'description'))
  const client = await invocation.client()
  invocation.output.item(await client.groups.update(uid, patch), view)
}

async function remove(invocation: Invocation, uid: string): Promise<void> {
  const client = await invocation.client()
  const { name } = await client.groups.get(uid)
  await invocation.ask.confirm(`Delete ${name} (${uid})?`)
  await client.groups.delete(uid)
  invocation.output.done(`deleted ${name} (${uid})`)
}

const organization = [{ name: 'ORGANIZATION', summary: 'its name or uid' }] as const
const folder = [
  { name: 'FOLDER', summary: 'its uid, or names from the organization down: my-org/team' },
] as const
const ofOrganization = (invocation: Invocation) =>
  organizationUid(invocation, invocation.word(0), 'ORGANIZATION')
const ofFolder = (invocation: Invocation) => folderUid(invocation, invocation.word(0))

const organizationCommands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list the organizations that you may see',
    examples: ['berth iam organizations list', 'berth iam organizations list -o json'],
    run: async (invocation) => invocation.output.list(await organizations(await invocation.client()), view),
  },
  {
    name: 'create',
    summary: 'found an organization, which you then own',
    parameters: [{ name: 'NAME', summary: 'its name' }],
    options: [description],
    examples: ['berth iam organizations create my-org --description "Our images"'],
    async run(invocation) {
      const name = invocation.word(0) || (await invocation.ask.text('Name of the organization?', 'NAME'))
      const client = await invocation.client()
      const made = await client.groups.create('', { name, ...given(invocation, 'description') })
      invocation.output.item(made, view)
    },
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show an organization',
    parameters: organization,
    examples: ['berth iam organizations describe my-org'],
    run: async (invocation) => describe(invocation, await ofOrganization(invocation)),
  },
  {
    name: 'update',
    summary: 'change the name or the description of an organization',
    parameters: organization,
    options: [newName, description],
    examples: ['berth iam organizations update my-org --description "Our images"'],
    run: async (invocation) => update(invocation, await ofOrganization(invocation)),
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'delete an organization, which must be empty',
    parameters: organization,
    options: [yes],
    examples: ['berth iam organizations delete my-org --yes'],
    run: async (invocation) => remove(invocation, await ofOrganization(invocation)),
  },
]

const folderCommands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list the folders of an organization, or of all that you may see',
    parameters: organization,
    examples: ['berth iam folders list my-org', 'berth iam folders list my-org -o tree'],
    async run(invocation) {
      const client = await invocation.client()
      const word = invocation.word(0)
      const root = word === '' ? undefined : await groupUid(invocation, word, 'ORGANIZATION')
      const tree = invocation.output.format === 'tree'
      await invocation.output.list(tree ? whole(client, root) : folders(client, root), foldersView)
    },
  },
  {
    name: 'create',
    summary: 'make a folder',
    parameters: [{ name: 'NAME', summary: 'its name' }],
    options: [parent, description],
    examples: [
      'berth iam folders create team --parent my-org',
      'berth iam folders create images --parent my-org/team -o id',
    ],
    async run(invocation) {
      const name = invocation.word(0) || (await invocation.ask.text('Name of the folder?', 'NAME'))
      const parent = await groupUid(invocation, invocation.text('parent'), '--parent')
      const client = await invocation.client()
      const made = await client.groups.create(parent, { name, ...given(invocation, 'description') })
      invocation.output.item(made, view)
    },
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show a folder',
    parameters: folder,
    examples: ['berth iam folders describe my-org/team'],
    run: async (invocation) => describe(invocation, await ofFolder(invocation)),
  },
  {
    name: 'update',
    summary: 'change the name or the description of a folder',
    parameters: folder,
    options: [newName, description],
    examples: ['berth iam folders update my-org/team --name team-a'],
    run: async (invocation) => update(invocation, await ofFolder(invocation)),
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'delete a folder, which must be empty',
    parameters: folder,
    options: [yes],
    examples: ['berth iam folders delete my-org/team --yes'],
    run: async (invocation) => remove(invocation, await ofFolder(invocation)),
  },
]

export const organizationsGroup: CommandGroup = {
  name: 'organizations',
  aliases: ['organization', 'orgs', 'org'],
  summary: 'organizations: what everything else lies in',
  commands: organizationCommands,
}

export const foldersGroup: CommandGroup = {
  name: 'folders',
  aliases: ['folder'],
  summary: 'folders: groups inside an organization',
  commands: folderCommands,
}

const below = (root: string | undefined) => (root === undefined ? {} : { uidp: { descendantsOf: root } })

function folders(client: BerthClient, root: string | undefined): AsyncIterable<Group> {
  return chosen(client.groups.all(below(root)), ({ uid }) => uid.includes('/'))
}

/** Folders with what they hang from. */
async function* whole(client: BerthClient, root: string | undefined): AsyncGenerator<Group> {
  if (root !== undefined) yield await client.groups.get(root)
  yield* client.groups.all(below(root))
}
