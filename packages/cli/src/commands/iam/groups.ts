import type { BerthClient, Group } from '@berth/client/berth.ts'
import { filterItems } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, CommandGroup, Parameter } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import {
  descriptionOption,
  newNameOption,
  parentOption,
  readOptions,
  requireChange,
  yesOption,
} from '../../invocation/options.ts'
import {
  listOrganizations,
  resolveFolderUid,
  resolveGroupUid,
  resolveOrganizationUid,
} from '../../invocation/resource-lookup.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

/** Organizations and the folders in them: both are groups of the API. */

const groupView = (what: string): View<Group> => ({
  columns: [idColumn, nameColumn, descriptionColumn, createdColumn],
  tree: { label: ({ name, uid }) => `[${name}] ${uid}`, uid: ({ uid }) => uid },
  empty: `no ${what} that you may see`,
})
const organizationView = groupView('organizations')
const folderView = groupView('folders')

interface GroupKind {
  /** `a folder`. */
  readonly singular: string
  /** `berth iam folders`. */
  readonly command: string
  readonly parameters: readonly Parameter[]
  /** For examples. */
  readonly example: string
  readonly newName: string
  readonly resolveUid: (invocation: Invocation) => Promise<string>
}

/** What is done with one that there is. */
function sharedCommands({
  singular: one,
  command: words,
  parameters,
  example,
  newName: name,
  resolveUid: locate,
}: GroupKind): CommandDeclaration[] {
  return [
    {
      name: 'describe',
      aliases: ['get'],
      summary: `show ${one}`,
      parameters,
      examples: [`${words} describe ${example}`],
      async run(invocation) {
        const uid = await locate(invocation)
        invocation.output.item(await (await invocation.client()).groups.get(uid), organizationView)
      },
    },
    {
      name: 'update',
      summary: `change the name or the description of ${one}`,
      parameters,
      options: [newNameOption, descriptionOption],
      examples: [`${words} update ${example} --name ${name}`],
      async run(invocation) {
        const uid = await locate(invocation)
        const patch = requireChange(readOptions(invocation, 'name', 'description'))
        invocation.output.item(await (await invocation.client()).groups.update(uid, patch), organizationView)
      },
    },
    {
      name: 'delete',
      aliases: ['rm'],
      summary: `delete ${one}, which must be empty`,
      parameters,
      options: [yesOption],
      examples: [`${words} delete ${example} --yes`],
      async run(invocation) {
        const uid = await locate(invocation)
        const client = await invocation.client()
        const { name } = await client.groups.get(uid)
        await invocation.prompt.confirm(`Delete ${name} (${uid})?`)
        await client.groups.delete(uid)
        invocation.output.notice(`deleted ${name} (${uid})`)
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
    run: async (invocation) =>
      invocation.output.list(await listOrganizations(await invocation.client()), organizationView),
  },
  {
    name: 'create',
    summary: 'found an organization, which you then own',
    parameters: [{ name: 'NAME', summary: 'its name' }],
    options: [descriptionOption],
    examples: ['berth iam organizations create my-org --description "Our images"'],
    async run(invocation) {
      const name =
        invocation.argument(0) || (await invocation.prompt.input('Name of the organization?', 'NAME'))
      const client = await invocation.client()
      const made = await client.groups.create('', { name, ...readOptions(invocation, 'description') })
      invocation.output.item(made, organizationView)
    },
  },
  ...sharedCommands({
    singular: 'an organization',
    command: 'berth iam organizations',
    parameters: organization,
    example: 'my-org',
    newName: 'our-org',
    resolveUid: (invocation) => resolveOrganizationUid(invocation, invocation.argument(0), 'ORGANIZATION'),
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
      const word = invocation.argument(0)
      const root = word === '' ? undefined : await resolveGroupUid(invocation, word, 'ORGANIZATION')
      const tree = invocation.output.format === 'tree'
      await invocation.output.list(tree ? listTree(client, root) : listFolders(client, root), folderView)
    },
  },
  {
    name: 'create',
    summary: 'make a folder',
    parameters: [{ name: 'NAME', summary: 'its name' }],
    options: [parentOption, descriptionOption],
    examples: [
      'berth iam folders create team --parent my-org',
      'berth iam folders create images --parent my-org/team -o id',
    ],
    async run(invocation) {
      const name = invocation.argument(0) || (await invocation.prompt.input('Name of the folder?', 'NAME'))
      const parent = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const client = await invocation.client()
      const made = await client.groups.create(parent, { name, ...readOptions(invocation, 'description') })
      invocation.output.item(made, organizationView)
    },
  },
  ...sharedCommands({
    singular: 'a folder',
    command: 'berth iam folders',
    parameters: [{ name: 'FOLDER', summary: 'its uid, or names from the organization down: my-org/team' }],
    example: 'my-org/team',
    newName: 'crew',
    resolveUid: (invocation) => resolveFolderUid(invocation, invocation.argument(0)),
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

const descendantsFilter = (root: string | undefined) =>
  root === undefined ? {} : { uidp: { descendantsOf: root } }

function listFolders(client: BerthClient, root: string | undefined): AsyncIterable<Group> {
  return filterItems(client.groups.all(descendantsFilter(root)), ({ uid }) => uid.includes('/'))
}

/** Folders with what they hang from. */
async function* listTree(client: BerthClient, root: string | undefined): AsyncGenerator<Group> {
  if (root !== undefined) yield await client.groups.get(root)
  yield* client.groups.all(descendantsFilter(root))
}
