import type { Group } from '../../../client/berth.ts'
import type { CommandDeclaration, CommandGroup, OptionDeclaration } from '../client/command.ts'
import type { Invocation } from '../client/invocation.ts'
import { groupUid, organizations, organizationUid } from '../client/locate.ts'
import type { View } from '../client/output.ts'

/** Organizations and the folders in them: both are groups of the API. */

const view: View<Group> = {
  columns: [
    { title: 'ID', value: ({ uid }) => uid },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'DESCRIPTION', value: ({ description }) => description },
    { title: 'CREATED', value: ({ createTime = '' }) => createTime, wide: true },
  ],
  tree: { label: ({ name, uid }) => `[${name}] ${uid}`, uid: ({ uid }) => uid },
  empty: 'nothing that you may see',
}

export const yes: OptionDeclaration = { flags: '-y, --yes', summary: 'do not ask' }
const nameOption: OptionDeclaration = { flags: '-n, --name <name>', summary: 'new name' }
export const descriptionOption: OptionDeclaration = {
  flags: '-d, --description <text>',
  summary: 'description, one line',
}

/** Members of a patch: those options that were given. */
export function changes(invocation: Invocation, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = invocation.given(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

async function describe(invocation: Invocation, uid: string): Promise<void> {
  invocation.output.item(await (await invocation.client()).groups.get(uid), view)
}

async function update(invocation: Invocation, uid: string): Promise<void> {
  const client = await invocation.client()
  invocation.output.item(await client.groups.update(uid, changes(invocation, 'name', 'description')), view)
}

async function remove(invocation: Invocation, uid: string): Promise<void> {
  const client = await invocation.client()
  const { name } = await client.groups.get(uid)
  if (!(await invocation.ask.confirm(`Delete ${name} (${uid})?`))) return
  await client.groups.delete(uid)
  invocation.output.done(`deleted ${name} (${uid})`)
}

const organization = [{ name: 'ORGANIZATION', summary: 'its name or uid' }] as const
const folder = [
  { name: 'FOLDER', summary: 'its uid, or names from the organization down: my-org/team' },
] as const
const ofOrganization = (invocation: Invocation) =>
  organizationUid(invocation, invocation.word(0), 'ORGANIZATION')
const ofFolder = (invocation: Invocation) => groupUid(invocation, invocation.word(0), 'FOLDER')

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
    options: [descriptionOption],
    examples: ['berth iam organizations create my-org --description "Our images"'],
    async run(invocation) {
      const name = invocation.word(0) || (await invocation.ask.text('Name of the organization?', 'NAME'))
      const client = await invocation.client()
      const made = await client.groups.create('', { name, ...changes(invocation, 'description') })
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
    options: [nameOption, descriptionOption],
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
      const groups = client.groups.all(root === undefined ? {} : { uidp: { descendantsOf: root } })
      const tree = invocation.output.format === 'tree'
      await invocation.output.list(
        chosen(groups, (group) => tree || group.uid.includes('/')),
        view,
      )
    },
  },
  {
    name: 'create',
    summary: 'make a folder',
    parameters: [{ name: 'NAME', summary: 'its name' }],
    options: [
      { flags: '--parent <group>', summary: 'the organization or folder that it lies in' },
      descriptionOption,
    ],
    examples: [
      'berth iam folders create team --parent my-org',
      'berth iam folders create images --parent my-org/team -o id',
    ],
    async run(invocation) {
      const name = invocation.word(0) || (await invocation.ask.text('Name of the folder?', 'NAME'))
      const parent = await groupUid(invocation, invocation.text('parent'), '--parent')
      const client = await invocation.client()
      const made = await client.groups.create(parent, { name, ...changes(invocation, 'description') })
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
    options: [nameOption, descriptionOption],
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

export async function* chosen<T>(items: AsyncIterable<T>, keep: (item: T) => boolean): AsyncGenerator<T> {
  for await (const item of items) if (keep(item)) yield item
}
