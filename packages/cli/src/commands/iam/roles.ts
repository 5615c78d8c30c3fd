import type { Capability, Role } from '@berth/client/berth.ts'
import { filterItems } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { type ListRequest, listCommand, nameSort } from '../../invocation/list-command.ts'
import {
  descriptionOption,
  newNameOption,
  parentOption,
  readOptions,
  requireChange,
  scopeOptions,
} from '../../invocation/options.ts'
import { type Resource, resourceCommands, resourceList } from '../../invocation/resource-commands.ts'
import { readScope, resolveGroupUid, resolveRoleUid, resolveUid } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { parentUid } from '../../invocation/resource-uids.ts'
import { createdColumn, descriptionColumn, idColumn, loadGroups, nameColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

/** Roles: named sets of capabilities. */

/** Loaded on use: the names come from the schema, which is large. */
const loadCapabilityNames = () => import('./capability-names.ts')

type CapabilityName = (capability: Capability) => string

/** Lists show the first capabilities of a role; a single role shows all. */
const roleView = (
  names: ResourceNames,
  shortName: CapabilityName,
  shown = Number.POSITIVE_INFINITY,
): View<Role> => ({
  columns: [
    nameColumn,
    idColumn,
    {
      title: 'GROUP',
      kind: 'path',
      value: ({ uid }) => (isManaged({ uid }) ? 'managed' : names.groupPath(parentUid(uid))),
    },
    descriptionColumn,
    createdColumn,
    {
      title: 'CAPABILITIES',
      value: ({ capabilities }) => summarizeNames(capabilities.map(shortName), shown),
      sortValue: ({ capabilities }) => capabilities.length,
    },
  ],
  empty: 'no roles visible to you',
  load: loadGroups(names),
})

const SHOWN = 3

function summarizeNames(names: readonly string[], shown: number): string {
  const more = names.length - shown
  return more > 1 ? `${names.slice(0, shown).join(', ')} and ${more} more` : names.join(', ')
}

async function printRole(invocation: Invocation, role: Role): Promise<void> {
  const { capabilityName } = await loadCapabilityNames()
  await invocation.output.item(role, roleView(invocation.names, capabilityName))
}

const isManaged = ({ uid }: Pick<Role, 'uid'>) => !uid.includes('/')

/** Resolves a custom role. Throws a UsageError for a managed role, which cannot be changed. */
async function resolveCustomRoleUid(invocation: Invocation): Promise<string> {
  const word = invocation.argument(0)
  const uid = await resolveUid(invocation, word, {
    noun: 'role',
    list: (client, filter) => client.roles.all(filter),
    filter: (one) => word !== '' || !isManaged(one),
  })
  if (isManaged({ uid }))
    throw new UsageError(
      `${word} is a managed role, which cannot be changed; create a custom role with berth iam roles create`,
    )
  return uid
}

async function listRoles(invocation: Invocation, request: ListRequest): Promise<AsyncIterable<Role>> {
  const { parseCapabilities } = await loadCapabilityNames()
  const needed = parseCapabilities('--capabilities', invocation.optionValues('capabilities'))
  const name = invocation.option('name')
  const client = await invocation.client()
  const all = client.roles.all({
    orderBy: 'name',
    ...request,
    ...(await readScope(invocation)),
    ...(name === '' ? {} : { name }),
  })
  return filterItems(
    all,
    (one) =>
      (!invocation.flag('managed') || isManaged(one)) &&
      needed.every((capability) => one.capabilities.includes(capability)),
  )
}

const roleResource: Resource<Role> = {
  noun: 'role',
  plural: 'roles',
  command: 'berth iam roles',
  example: 'tagger',
  parameter: { name: 'ROLE', summary: 'uid or name' },
  view: (names) => roleView(names, String),
  list: listRoles,
  serverSort: nameSort,
  serverFilters: { name: 'name' },
  resolveUid: resolveCustomRoleUid,
  get: (client, uid) => client.roles.get(uid),
  delete: (client, uid) => client.roles.delete(uid),
  label: (role, names) => names.path(role),
}

const shared = resourceCommands(roleResource)

const commands: readonly (CommandDeclaration | CommandGroup)[] = [
  listCommand({
    ...resourceList(roleResource),
    options: [
      { flags: '--name <name>', summary: 'name' },
      {
        flags: '--capabilities <names>',
        summary: 'only roles with all of these capabilities',
        repeatable: true,
      },
      { flags: '--managed', summary: 'only managed roles', conflicts: ['parent'] },
      ...scopeOptions,
    ],
    examples: ['berth iam roles list', 'berth iam roles list --managed --capabilities tag.create'],
    view: async ({ names }) => roleView(names, (await loadCapabilityNames()).capabilityName, SHOWN),
  }),
  {
    name: 'create',
    summary: 'Create a role',
    parameters: [{ name: 'NAME', summary: 'name' }],
    options: [
      {
        flags: '--capabilities <names>',
        summary: 'capabilities, such as groups.list',
        repeatable: true,
      },
      parentOption,
      descriptionOption,
    ],
    examples: ['berth iam roles create tagger --capabilities tag.list,tag.create --parent my-org'],
    async run(invocation) {
      const { parseCapabilities: wireNames } = await loadCapabilityNames()
      const capabilities = wireNames('--capabilities', invocation.optionValues('capabilities'))
      if (capabilities.length === 0)
        throw new UsageError('--capabilities is required; list them with berth iam roles capabilities list')
      const name = invocation.argument(0) || (await invocation.prompt.input('Name of the role?', 'NAME'))
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const client = await invocation.client()
      const body = { name, capabilities, ...readOptions(invocation, 'description') }
      await printRole(invocation, await client.roles.create(group, body))
    },
  },
  {
    ...shared.describe,
    async run(invocation) {
      const uid = await resolveRoleUid(invocation, invocation.argument(0), { missing: 'ROLE' })
      await printRole(invocation, await (await invocation.client()).roles.get(uid))
    },
  },
  {
    name: 'update',
    summary: 'Change a role',
    parameters: [roleResource.parameter],
    options: [
      newNameOption,
      descriptionOption,
      {
        flags: '--capabilities <names>',
        summary: 'capabilities to set',
        repeatable: true,
        conflicts: ['addCapabilities', 'removeCapabilities'],
      },
      { flags: '--add-capabilities <names>', summary: 'capabilities to add', repeatable: true },
      { flags: '--remove-capabilities <names>', summary: 'capabilities to remove', repeatable: true },
    ],
    examples: ['berth iam roles update tagger --add-capabilities tag.delete'],
    async run(invocation) {
      const { parseCapabilities: wireNames } = await loadCapabilityNames()
      const all = wireNames('--capabilities', invocation.optionValues('capabilities'))
      const added = wireNames('--add-capabilities', invocation.optionValues('addCapabilities'))
      const removed = wireNames('--remove-capabilities', invocation.optionValues('removeCapabilities'))
      const uid = await resolveCustomRoleUid(invocation)
      const client = await invocation.client()
      const { value, etag } = await client.roles.get(uid).withResponse()
      const capabilities =
        all.length > 0
          ? all
          : [...new Set([...value.capabilities, ...added])].filter((one) => !removed.includes(one))
      const patch = requireChange({
        ...readOptions(invocation, 'name', 'description'),
        ...(all.length + added.length + removed.length === 0 ? {} : { capabilities }),
      })
      // The etag detects a concurrent change of the capabilities.
      await printRole(invocation, await client.roles.update(uid, patch, { ifMatch: etag }))
    },
  },
  { ...shared.delete, summary: 'Delete a role that is not in use' },
  {
    name: 'capabilities',
    aliases: ['capability', 'caps'],
    summary: 'List capabilities',
    commands: [
      listCommand({
        summary: 'List capabilities',
        options: [
          { flags: '--resources <names>', summary: 'resources, such as groups', repeatable: true },
          { flags: '--actions <names>', summary: 'actions, such as list', repeatable: true },
        ],
        examples: [
          'berth iam roles capabilities list',
          'berth iam roles capabilities list --actions delete -o id',
        ],
        view: () => capabilityView,
        items: listCapabilities,
      }),
    ],
  },
]

interface CapabilityRow {
  readonly name: string
  readonly resource: string
  readonly action: string
}

const capabilityView: View<CapabilityRow> = {
  columns: [
    { title: 'RESOURCE', value: ({ resource }) => resource },
    { title: 'ACTION', value: ({ action }) => action },
  ],
  id: ({ name }) => name,
  tree: { label: ({ name }) => name, uid: ({ name }) => name },
}

async function listCapabilities(invocation: Invocation): Promise<CapabilityRow[]> {
  const { capabilityNames } = await import('@berth/contract/capabilities.ts')
  const resources = invocation.optionValues('resources')
  const actions = invocation.optionValues('actions')
  const all = capabilityNames.map(({ name }) => {
    const mark = name.lastIndexOf('.')
    return { name, resource: name.slice(0, mark), action: name.slice(mark + 1) }
  })
  return all.filter(
    ({ resource, action }) =>
      (resources.length === 0 || resources.includes(resource)) &&
      (actions.length === 0 || actions.includes(action)),
  )
}

export const rolesGroup: CommandGroup = {
  name: 'roles',
  aliases: ['role'],
  summary: 'Manage roles',
  commands,
}
