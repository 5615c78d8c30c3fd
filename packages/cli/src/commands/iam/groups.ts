import type { BerthClient, Group } from '@berth/client/berth.ts'
import type { CommandDeclaration, CommandGroup, Parameter } from '../../invocation/command-declaration.ts'
import { type ListRequest, nameSort } from '../../invocation/list-command.ts'
import {
  descriptionOption,
  newNameOption,
  parentOption,
  readOptions,
  requireChange,
} from '../../invocation/options.ts'
import { type Resource, type ResourceCommands, resourceCommands } from '../../invocation/resource-commands.ts'
import {
  resolveFolderUid,
  resolveGroupUid,
  resolveOrganizationUid,
} from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import {
  createdColumn,
  descriptionColumn,
  idColumn,
  loadGroups,
  nameColumn,
  pathColumn,
} from '../../output/columns.ts'
import type { Column, View } from '../../output/output.ts'

/** Organizations and folders: both are groups of the API. */

const groupView = (what: string, name: Column<Group>): View<Group> => ({
  columns: [name, idColumn, descriptionColumn, createdColumn],
  tree: { label: ({ name }) => name, uid: ({ uid }) => uid },
  empty: `no ${what} visible to you`,
})
const organizationView = () => groupView('organizations', nameColumn)
const folderView = (names: ResourceNames): View<Group> => ({
  ...groupView('folders', pathColumn(names, 'PATH')),
  load: loadGroups(names),
})

/** Commands that organizations and folders share. */
function groupCommands(
  resource: Resource<Group>,
  newName: string,
): ResourceCommands & { update: CommandDeclaration } {
  const { noun, command, example, parameter, view } = resource
  const article = noun === 'organization' ? 'an' : 'a'
  const shared = resourceCommands(resource)
  return {
    ...shared,
    update: {
      name: 'update',
      summary: `Change the name or description of ${article} ${noun}`,
      parameters: [parameter],
      options: [newNameOption, descriptionOption],
      examples: [`${command} update ${example} --name ${newName}`],
      async run(invocation) {
        const uid = await resource.resolveUid(invocation)
        const patch = requireChange(readOptions(invocation, 'name', 'description'))
        await invocation.output.item(
          await (await invocation.client()).groups.update(uid, patch),
          view(invocation.names),
        )
      },
    },
    delete: { ...shared.delete, summary: `Delete ${article} ${noun}, which must be empty` },
  }
}

const groupMethods = {
  get: (client: BerthClient, uid: string) => client.groups.get(uid),
  delete: (client: BerthClient, uid: string) => client.groups.delete(uid),
  label: (group: Group, names: ResourceNames) => names.path(group),
  serverSort: nameSort,
}

const organizationParameter: Parameter = { name: 'ORGANIZATION', summary: 'uid or name' }

const organizations = groupCommands(
  {
    noun: 'organization',
    plural: 'organizations',
    command: 'berth iam organizations',
    example: 'my-org',
    parameter: organizationParameter,
    view: organizationView,
    list: async (invocation, { orderBy = 'name', ...request }) =>
      (await invocation.client()).groups.all({ ...request, orderBy, uidp: { inRoot: true } }),
    serverFilters: { name: 'name' },
    resolveUid: (invocation) => resolveOrganizationUid(invocation, invocation.argument(0), 'ORGANIZATION'),
    ...groupMethods,
  },
  'our-org',
)

const organizationCommands: readonly CommandDeclaration[] = [
  organizations.list,
  {
    name: 'create',
    summary: 'Create an organization that you own',
    parameters: [{ name: 'NAME', summary: 'name' }],
    options: [descriptionOption],
    examples: ['berth iam organizations create my-org --description "Our images"'],
    async run(invocation) {
      const name =
        invocation.argument(0) || (await invocation.prompt.input('Name of the organization?', 'NAME'))
      const client = await invocation.client()
      const created = await client.groups.create('', { name, ...readOptions(invocation, 'description') })
      await invocation.output.item(created, organizationView())
    },
  },
  organizations.describe,
  organizations.update,
  organizations.delete,
]

const folders = groupCommands(
  {
    noun: 'folder',
    plural: 'the folders of one or all organizations',
    command: 'berth iam folders',
    example: 'my-org/team',
    parameter: { name: 'FOLDER', summary: 'uid or path, such as my-org/team' },
    view: folderView,
    async list(invocation, request) {
      const client = await invocation.client()
      const word = invocation.argument(0)
      const root = word === '' ? undefined : await resolveGroupUid(invocation, word, 'ORGANIZATION')
      const isTree = invocation.output.format === 'tree'
      return rememberNames(
        invocation.names,
        isTree ? listTree(client, root) : listFolders(client, root, request),
        ({ uid }) => isTree || uid.includes('/'),
      )
    },
    defaultSort: 'path',
    resolveUid: (invocation) => resolveFolderUid(invocation, invocation.argument(0)),
    ...groupMethods,
  },
  'crew',
)

const folderCommands: readonly CommandDeclaration[] = [
  {
    ...folders.list,
    parameters: [{ name: 'ORGANIZATION', summary: 'organization or folder (uid or path)' }],
    options: [...(folders.list.options ?? []), { flags: '--flat', summary: 'a table of paths, not a tree' }],
    defaultFormat: (options) =>
      ['sort', 'filter', 'limit', 'flat'].some((option) => Object.hasOwn(options, option)) ? 'table' : 'tree',
    examples: [
      'berth iam folders list my-org',
      'berth iam folders list my-org --flat',
      "berth iam folders list --sort 'created desc' --limit 10",
    ],
  },
  {
    name: 'create',
    summary: 'Create a folder',
    parameters: [{ name: 'NAME', summary: 'name' }],
    options: [parentOption, descriptionOption],
    examples: [
      'berth iam folders create team --parent my-org',
      'berth iam folders create images --parent my-org/team -o id',
    ],
    async run(invocation) {
      const name = invocation.argument(0) || (await invocation.prompt.input('Name of the folder?', 'NAME'))
      const parent = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const client = await invocation.client()
      const created = await client.groups.create(parent, { name, ...readOptions(invocation, 'description') })
      await invocation.output.item(created, folderView(invocation.names))
    },
  },
  folders.describe,
  folders.update,
  folders.delete,
]

export const organizationsGroup: CommandGroup = {
  name: 'organizations',
  aliases: ['organization', 'orgs', 'org'],
  summary: 'Manage organizations',
  commands: organizationCommands,
}

export const foldersGroup: CommandGroup = {
  name: 'folders',
  aliases: ['folder'],
  summary: 'Manage folders',
  commands: folderCommands,
}

const descendantsFilter = (root: string | undefined) =>
  root === undefined ? {} : { uidp: { descendantsOf: root } }

function listFolders(
  client: BerthClient,
  root: string | undefined,
  request: ListRequest,
): AsyncIterable<Group> {
  return client.groups.all({ ...request, ...descendantsFilter(root) })
}

/** Lists folders together with their organizations. */
async function* listTree(client: BerthClient, root: string | undefined): AsyncGenerator<Group> {
  if (root !== undefined) yield await client.groups.get(root)
  yield* client.groups.all(descendantsFilter(root))
}

/** Paths of folders need no further request for the groups of the list. */
async function* rememberNames(
  names: ResourceNames,
  groups: AsyncIterable<Group>,
  isShown: (group: Group) => boolean,
): AsyncGenerator<Group> {
  for await (const group of groups) {
    names.remember(group)
    if (isShown(group)) yield group
  }
}
