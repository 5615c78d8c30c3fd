import type { Capability, Role } from '../../../client/berth.ts'
import { capabilityNames } from '../../core/capabilities.ts'
import { shortName, wireNames } from '../client/capability-names.ts'
import type { CommandDeclaration, CommandGroup } from '../client/command.ts'
import { UsageError } from '../client/invocation.ts'
import { groupUid, pickedUid, scopeOf } from '../client/locate.ts'
import type { View } from '../client/output.ts'
import { changes, chosen, descriptionOption, yes } from './groups.ts'
import { recursiveOption } from './identities.ts'

/** Roles: named sets of capabilities. */

const view: View<Role> = {
  columns: [
    { title: 'ID', value: ({ uid }) => uid },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'DESCRIPTION', value: ({ description }) => description },
    { title: 'CAPABILITIES', value: ({ capabilities }) => summary(capabilities) },
  ],
  empty: 'no roles that you may see',
}

const SHOWN = 3

function summary(capabilities: readonly Capability[]): string {
  const names = capabilities.map(shortName)
  const more = names.length - SHOWN
  return more > 1 ? `${names.slice(0, SHOWN).join(', ')} and ${more} more` : names.join(', ')
}

const isManaged = ({ uid }: Role) => !uid.includes('/')
const role = [{ name: 'ROLE', summary: 'its uid or name' }] as const

const commands: readonly (CommandDeclaration | CommandGroup)[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list roles',
    options: [
      { flags: '--name <name>', summary: 'only those of this name' },
      { flags: '--capabilities <names>', summary: 'only those that hold all of these', repeatable: true },
      { flags: '--managed', summary: 'only those that every installation has', conflicts: ['parent'] },
      { flags: '--parent <group>', summary: 'only those of this organization or folder' },
      recursiveOption,
    ],
    examples: ['berth iam roles list', 'berth iam roles list --managed --capabilities tag.create'],
    async run(invocation) {
      const needed = wireNames('--capabilities', invocation.list('capabilities'))
      const name = invocation.text('name')
      const client = await invocation.client()
      const all = client.roles.all({ ...(await scopeOf(invocation)), ...(name === '' ? {} : { name }) })
      const keep = (one: Role) =>
        (!invocation.flag('managed') || isManaged(one)) &&
        needed.every((capability) => one.capabilities.includes(capability))
      await invocation.output.list(chosen(all, keep), view)
    },
  },
  {
    name: 'create',
    summary: 'make a role',
    parameters: [{ name: 'NAME', summary: 'what to call it' }],
    options: [
      {
        flags: '--capabilities <names>',
        summary: 'what it lets its holders do, as groups.list',
        repeatable: true,
      },
      { flags: '--parent <group>', summary: 'the organization or folder that it lies in' },
      descriptionOption,
    ],
    examples: ['berth iam roles create tagger --capabilities tag.list,tag.create --parent my-org'],
    async run(invocation) {
      const capabilities = wireNames('--capabilities', invocation.list('capabilities'))
      if (capabilities.length === 0)
        throw new UsageError('--capabilities must be given; see berth iam roles capabilities list')
      const name = invocation.word(0) || (await invocation.ask.text('Name of the role?', 'NAME'))
      const group = await groupUid(invocation, invocation.text('parent'), '--parent')
      const client = await invocation.client()
      const body = { name, capabilities, ...changes(invocation, 'description') }
      invocation.output.item(await client.roles.create(group, body), view)
    },
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show a role',
    parameters: role,
    examples: ['berth iam roles describe viewer -o yaml'],
    async run(invocation) {
      const uid = await pickedUid(invocation, invocation.word(0), 'role', (client) => client.roles.all())
      invocation.output.item(await (await invocation.client()).roles.get(uid), view)
    },
  },
  {
    name: 'update',
    summary: 'change a role',
    parameters: role,
    options: [
      { flags: '-n, --name <name>', summary: 'new name' },
      descriptionOption,
      {
        flags: '--capabilities <names>',
        summary: 'all that it holds from now on',
        repeatable: true,
        conflicts: ['addCapabilities', 'removeCapabilities'],
      },
      { flags: '--add-capabilities <names>', summary: 'what it holds besides', repeatable: true },
      { flags: '--remove-capabilities <names>', summary: 'what it holds no more', repeatable: true },
    ],
    examples: ['berth iam roles update tagger --add-capabilities tag.delete'],
    async run(invocation) {
      const all = wireNames('--capabilities', invocation.list('capabilities'))
      const added = wireNames('--add-capabilities', invocation.list('addCapabilities'))
      const removed = wireNames('--remove-capabilities', invocation.list('removeCapabilities'))
      const uid = await pickedUid(invocation, invocation.word(0), 'role', (client) =>
        chosen(client.roles.all(), (one) => !isManaged(one)),
      )
      const client = await invocation.client()
      const { value, etag } = await client.roles.get(uid).withResponse()
      const capabilities =
        all.length > 0
          ? all
          : [...new Set([...value.capabilities, ...added])].filter((one) => !removed.includes(one))
      const patch = {
        ...changes(invocation, 'name', 'description'),
        ...(all.length + added.length + removed.length === 0 ? {} : { capabilities }),
      }
      if (Object.keys(patch).length === 0) throw new UsageError('say what is to change; see --help')
      // What it held was read a moment ago: a change in between must not be undone.
      invocation.output.item(await client.roles.update(uid, patch, { ifMatch: etag }), view)
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'delete a role that nothing uses',
    parameters: role,
    options: [yes],
    examples: ['berth iam roles delete tagger'],
    async run(invocation) {
      const uid = await pickedUid(invocation, invocation.word(0), 'role', (client) =>
        chosen(client.roles.all(), (one) => !isManaged(one)),
      )
      const client = await invocation.client()
      const { name } = await client.roles.get(uid)
      if (!(await invocation.ask.confirm(`Delete the role ${name} (${uid})?`))) return
      await client.roles.delete(uid)
      invocation.output.done(`deleted ${name} (${uid})`)
    },
  },
  {
    name: 'capabilities',
    aliases: ['capability', 'caps'],
    summary: 'what roles can hold',
    commands: [
      {
        name: 'list',
        aliases: ['ls'],
        summary: 'list capabilities',
        options: [
          { flags: '--resources <names>', summary: 'only those about these, as groups', repeatable: true },
          { flags: '--actions <names>', summary: 'only these actions, as list', repeatable: true },
        ],
        examples: [
          'berth iam roles capabilities list',
          'berth iam roles capabilities list --actions delete -o id',
        ],
        async run(invocation) {
          const resources = invocation.list('resources')
          const actions = invocation.list('actions')
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
  summary: 'roles: named sets of capabilities',
  commands,
}
