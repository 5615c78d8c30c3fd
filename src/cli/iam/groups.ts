import type { BerthClient, Group } from '../../../client/berth.ts'
import { chosen } from '../client/collect.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../client/columns.ts'
import type { CommandDeclaration, CommandGroup, Parameter } from '../client/command.ts'
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

interface Kind {
  /** `a folder`. */
  readonly one: string
  /** `berth iam folders`. */
  readonly words: string
  readonly parameters: readonly Parameter[]
  /** For examples. */
  readonly example: string
  readonly newName: string
  readonly locate: (invocation: Invocation) => Promise<string>
}

/** What is done with one that there is. */
function existing({ one, words, parameters, example, newName: name, locate }: Kind): CommandDeclaration[] {
  return [
    {
      name: 'describe',
      aliases: ['get'],
      summary: `show ${one}`,
      parameters,
      examples: [`${words} describe ${example}`],
      async run(invocation) {
        const uid = await locate(invocation)
        invocation.output.item(await (await invocation.client()).groups.get(uid), view)
      },
    },
    {
      name: 'update',
      summary: `change the name or the description of ${one}`,
      parameters,
      options: [newName, description],
      examples: [`${words} update ${example} --name ${name}`],
      async run(invocation) {
        const uid = await locate(invocation)
        const patch = change(given(invocation, 'name', 'description'))
        invocation.output.item(await (await invocation.client()).groups.update(uid, patch), view)
      },
    },
    {
      name: 'delete',
      aliases: ['rm'],
      summary: `delete ${one}, which must be empty`,
      parameters,
      options: [yes],
      examples: [`${words} delete ${example} --yes`],
      async run(invocation) {
        const uid = await locate(invocation)
        const client = await invocation.client()
        const { name } = await client.groups.get(uid)
        await invocation.ask.confirm(`Delete ${name} (${uid})?`)
        await client.groups.delete(uid)
        invocation.output.done(`deleted ${name} (${uid})`)
      },
    },
  ]
}

const organization = [{ name: 'ORGANIZATION', summary: 'its name or uid' }] as const

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
  ...existing({
    one: 'an organization',
    words: 'berth iam organizations',
    parameters: organization,
    example: 'my-org',
    newName: 'our-org',
    locate: (invocation) => organizationUid(invocation, invocation.word(0), 'ORGANIZATION'),
  }),
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
  ...existing({
    one: 'a folder',
    words: 'berth iam folders',
    parameters: [{ name: 'FOLDER', summary: 'its uid, or names from the organization down: my-org/team' }],
    example: 'my-org/team',
    newName: 'crew',
    locate: (invocation) => folderUid(invocation, invocation.word(0)),
  }),
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
