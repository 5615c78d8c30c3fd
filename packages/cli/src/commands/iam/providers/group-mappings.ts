import type { BerthClient, ExternalGroupRoleMapping } from '@berth/client/berth.ts'
import type { CommandDeclaration, CommandGroup } from '../../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../../invocation/invocation.ts'
import { requireOption } from '../../../invocation/options.ts'
import { type Resource, resourceCommands } from '../../../invocation/resource-commands.ts'
import { readScope, resolveRoleUid, resolveUid } from '../../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../../invocation/resource-names.ts'
import { isUid } from '../../../invocation/resource-uids.ts'
import { createdColumn, idColumn } from '../../../output/columns.ts'
import type { View } from '../../../output/output.ts'

/** Roles for the members of a group at an identity provider. */

const mappingView = (names: ResourceNames): View<ExternalGroupRoleMapping> => ({
  columns: [
    { title: 'EXTERNAL GROUP', kind: 'name', value: ({ externalGroupId }) => externalGroupId },
    { title: 'ROLE', kind: 'name', value: ({ roleUid }) => names.roleName(roleUid) },
    { title: 'ORGANIZATION', kind: 'path', value: ({ scope }) => names.groupPath(scope) },
    {
      title: 'PROVIDER ID',
      kind: 'uid',
      value: ({ identityProviderUid }) => identityProviderUid,
      wide: true,
    },
    idColumn,
    createdColumn,
  ],
  empty: 'no group mappings visible to you',
  load: (mappings) =>
    names.load({
      groups: mappings.map(({ scope }) => scope),
      roles: mappings.map(({ roleUid }) => roleUid),
    }),
})

const providerOption = { flags: '--provider <provider>', summary: 'identity provider (uid or name)' }

const resolveProviderUid = (invocation: Invocation) =>
  resolveUid(invocation, requireOption(invocation, 'provider', '--provider'), {
    noun: 'provider',
    list: (client: BerthClient, filter) => client.identityProviders.all(filter),
  })

async function resolveMappingUid(invocation: Invocation): Promise<string> {
  const word = invocation.argument(0)
  if (!isUid(word))
    throw new UsageError(`${JSON.stringify(word)} is not a uid; list them with berth iam group-mappings list`)
  return word
}

const mappingResource: Resource<ExternalGroupRoleMapping> = {
  noun: 'group mapping',
  plural: 'group mappings',
  command: 'berth iam group-mappings',
  example: '$MAPPING',
  parameter: { name: 'MAPPING', summary: 'uid', required: true },
  view: mappingView,
  async list(invocation, request) {
    const client = await invocation.client()
    const provider = invocation.option('provider')
    const scope =
      provider === ''
        ? await readScope(invocation)
        : { uidp: { childrenOf: await resolveProviderUid(invocation) } }
    return client.externalGroupRoleMappings.all({ ...request, ...scope })
  },
  listOptions: [{ flags: '--parent <organization>', summary: 'organization' }, providerOption],
  resolveUid: resolveMappingUid,
  get: (client, uid) => client.externalGroupRoleMappings.get(uid),
  delete: (client, uid) => client.externalGroupRoleMappings.delete(uid),
  label: ({ externalGroupId, roleUid }, names) => `${externalGroupId} to ${names.roleName(roleUid)}`,
  deleteEffect: 'and take the role from the members of the group at their next sign-in',
}

const shared = resourceCommands(mappingResource)

const commands: readonly CommandDeclaration[] = [
  shared.list,
  {
    name: 'create',
    summary: 'Give the members of a group at an identity provider a role in the organization',
    options: [
      providerOption,
      { flags: '--external-group <group>', summary: 'value of the groups claim of the provider' },
      { flags: '--role <role>', summary: 'role (uid or name)' },
    ],
    examples: [
      'berth iam group-mappings create --provider okta --external-group platform-engineers --role editor',
    ],
    async run(invocation) {
      const externalGroupId = requireOption(invocation, 'externalGroup', '--external-group')
      const provider = await resolveProviderUid(invocation)
      const scope = provider.split('/')[0] ?? ''
      const roleUid = await resolveRoleUid(invocation, invocation.option('role'), {
        group: scope,
        missing: '--role',
      })
      const client = await invocation.client()
      const created = await client.externalGroupRoleMappings.create(provider, {
        externalGroupId,
        roleUid,
        scope,
      })
      await invocation.output.item(created, mappingView(invocation.names))
    },
  },
  shared.describe,
  shared.delete,
]

/** `berth iam group-mappings` */
export const groupMappingsGroup: CommandGroup = {
  name: 'group-mappings',
  aliases: ['group-mapping'],
  summary: 'Manage roles for groups of identity providers',
  commands,
}
