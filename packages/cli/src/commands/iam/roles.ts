import type { Capability, Role } from '@berth/client/berth.ts'
import { filterItems } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import {
  descriptionOption,
  newNameOption,
  parentOption,
  readOptions,
  requireChange,
  scopeOptions,
} from '../../invocation/options.ts'
import { type Resource, resourceCommands } from '../../invocation/resource-commands.ts'
import { readScope, resolveGroupUid, resolveRoleUid, resolveUid } from '../../invocation/resource-lookup.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

/** Roles: named sets of capabilities. */

/** Loaded on use: the names come from the schema, which is large. */
const loadCapabilityNames = () => import('./capability-names.ts')

type CapabilityName = (capability: Capability) => string

/** Lists show the first capabilities of a role; a single role shows all. */
const roleView = (shortName: CapabilityName, shown = Number.POSITIVE_INFINITY): View<Role> => ({
  columns: [
    idColumn,
    nameColumn,
    descriptionColumn,
    createdColumn,
    {
      title: 'CAPABILITIES',
      value: ({ capabilities }) => summarizeNames(capabilities.map(shortName), shown),
    },
  ],
  empty: 'no roles visible to you',
})

const SHOWN = 3

function summarizeNames(names: readonly string[], shown: number): string {
  const more = names.length - shown
  return more > 1 ? `${names.slice(0, shown).join(', ')} and ${more} more` : names.join(', ')
}

async function printRole(invocation: Invocation, role: Role): Promise<void> {
  invocation.output.item(role, roleView((await loadCapabilityNames()).capabilityName))
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

const roleResource: Resource<Role> = {
  noun: 'role',
  plural: 'roles',
  command: 'berth iam roles',
  example: 'tagger',
  parameter: { name: 'ROLE', summary: 'uid or name' },
  view: roleView(String),
  list: async (invocation) => (await invocation.client()).roles.all(await readScope(invocation)),
  resolveUid: resolveCustomRoleUid,
  get: (client, uid) => client.roles.get(uid),
  delete: (client, uid) => client.roles.delete(uid),
}

const shared = resourceCommands(roleResource)

const commands: readonly (CommandDeclaration | CommandGroup)[] = [
  {
    ...shared.list,
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
    async run(invocation) {
      const { capabilityName: shortName, parseCapabilities: wireNames } = await loadCapabilityNames()
      const needed = wireNames('--capabilities', invocation.optionValues('capabilities'))
      const name = invocation.option('name')
      const client = await invocation.client()
      const all = client.roles.all({
        orderBy: 'name',
        ...(await readScope(invocation)),
        ...(name === '' ? {} : { name }),
      })
      const keep = (one: Role) =>
        (!invocation.flag('managed') || isManaged(one)) &&
        needed.every((capability) => one.capabilities.includes(capability))
      await invocation.output.list(filterItems(all, keep), roleView(shortName, SHOWN))
    },
  },
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
      {
        name: 'list',
        aliases: ['ls'],
        summary: 'List capabilities',
        options: [
          { flags: '--resources <names>', summary: 'resources, such as groups', repeatable: true },
          { flags: '--actions <names>', summary: 'actions, such as list', repeatable: true },
        ],
        examples: [
          'berth iam roles capabilities list',
          'berth iam roles capabilities list --actions delete -o id',
        ],
        async run(invocation) {
          const { capabilityNames } = await import('@berth/contract/capabilities.ts')
          const resources = invocation.optionValues('resources')
          const actions = invocation.optionValues('actions')
          const all = capabilityNames.map(({ name }) => {
            const mark = name.lastIndexOf('.')
            return { name, resource: name.slice(0, mark), action: name.slice(mark + 1) }
          })
          const kept = all.filter(
            ({ resource, action }) =>
              (resources.length === 0 || resources.includes(resource)) &&
              (actions.length === 0 || actions.includes(action)),
          )
          await invocation.output.list(kept, {
            columns: [
              { title: 'RESOURCE', value: ({ resource }) => resource },
              { title: 'ACTION', value: ({ action }) => action },
            ],
            id: ({ name }) => name,
            tree: { label: ({ name }) => name, uid: ({ name }) => name },
          })
        },
      },
    ],
  },
]

export const rolesGroup: CommandGroup = {
  name: 'roles',
  aliases: ['role'],
  summary: 'Manage roles',
  commands,
}
