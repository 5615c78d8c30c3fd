import type { AccountAssociation, AccountAssociationInput, AccountProviderType } from '@berth/client/berth.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
  Parameter,
} from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { nameSort } from '../../invocation/list-command.ts'
import {
  descriptionOption,
  readOptions,
  requireOption,
  scopeOptions,
  yesOption,
} from '../../invocation/options.ts'
import { type Resource, resourceCommands } from '../../invocation/resource-commands.ts'
import { readScope, resolveGroupUid } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed } from '../../session/access-token.ts'

/** Account associations link cloud provider accounts to a group. A group has one association, with a part for each provider. */

interface Cloud {
  /** Name of the subcommand. */
  readonly name: 'aws' | 'gcp' | 'azure'
  readonly label: string
  readonly member: 'amazon' | 'google' | 'azure'
  readonly providerType: AccountProviderType
  readonly options: readonly OptionDeclaration[]
  read(invocation: Invocation): object
  readonly example: string
}

const clouds: readonly Cloud[] = [
  {
    name: 'aws',
    label: 'Amazon',
    member: 'amazon',
    providerType: 'ACCOUNT_PROVIDER_TYPE_AMAZON',
    options: [{ flags: '--account <id>', summary: 'account id (12 digits)' }],
    read: (invocation) => ({ account: requireOption(invocation, 'account', '--account') }),
    example: '--account 123456789012',
  },
  {
    name: 'gcp',
    label: 'Google',
    member: 'google',
    providerType: 'ACCOUNT_PROVIDER_TYPE_GOOGLE',
    options: [
      { flags: '--project-id <id>', summary: 'project id' },
      { flags: '--project-number <number>', summary: 'project number' },
    ],
    read: (invocation) => ({
      projectId: requireOption(invocation, 'projectId', '--project-id'),
      projectNumber: requireOption(invocation, 'projectNumber', '--project-number'),
    }),
    example: '--project-id acme --project-number 123456789',
  },
  {
    name: 'azure',
    label: 'Azure',
    member: 'azure',
    providerType: 'ACCOUNT_PROVIDER_TYPE_AZURE',
    options: [
      { flags: '--tenant-id <id>', summary: 'tenant id' },
      {
        flags: '--client-ids <component=id>',
        summary: 'client id of a component (repeatable)',
        repeatable: true,
      },
    ],
    read: (invocation) => ({
      tenantId: requireOption(invocation, 'tenantId', '--tenant-id'),
      clientIds: Object.fromEntries(
        invocation.optionValues('clientIds').map((pair) => {
          const mark = pair.indexOf('=')
          if (mark < 1) throw new UsageError(`--client-ids: ${JSON.stringify(pair)} must be COMPONENT=ID`)
          return [pair.slice(0, mark), pair.slice(mark + 1)]
        }),
      ),
    }),
    example:
      '--tenant-id 00000000-0000-0000-0000-000000000000 --client-ids ingester=11111111-1111-1111-1111-111111111111',
  },
]

const formatClientIds = (ids: Readonly<Record<string, string>>) =>
  Object.entries(ids)
    .map(([component, id]) => `${component}=${id}`)
    .join(', ')

const associationView = (names: ResourceNames): View<AccountAssociation> => ({
  columns: [
    { title: 'GROUP', kind: 'path', value: ({ uid }) => names.groupPath(uid) },
    nameColumn,
    idColumn,
    { title: 'AWS', value: ({ amazon }) => amazon?.account ?? '' },
    { title: 'GCP', value: ({ google }) => google?.projectId ?? '' },
    { title: 'GCP NUMBER', value: ({ google }) => google?.projectNumber ?? '', wide: true },
    { title: 'AZURE', value: ({ azure }) => azure?.tenantId ?? '' },
    { title: 'AZURE CLIENTS', value: ({ azure }) => formatClientIds(azure?.clientIds ?? {}), wide: true },
    { ...descriptionColumn, wide: true },
    createdColumn,
  ],
  empty: 'no cloud accounts visible to you',
  load: (associations) => names.load({ groups: associations.map(({ uid }) => uid) }),
})

const locationParameter: readonly Parameter[] = [{ name: 'LOCATION', summary: 'organization or folder' }]
const resolveLocation = (invocation: Invocation) =>
  resolveGroupUid(invocation, invocation.argument(0), 'LOCATION')

/** Returns the association of a group; undefined if there is none. */
async function findAssociation(invocation: Invocation, uid: string): Promise<AccountAssociation | undefined> {
  const client = await invocation.client()
  for await (const one of client.accountAssociations.all({ uidp: { ids: [uid] } })) return one
  return undefined
}

const associationResource: Resource<AccountAssociation> = {
  noun: 'cloud accounts',
  plural: 'the cloud accounts of groups',
  command: 'berth iam account-associations',
  example: 'my-org',
  parameter: { name: 'LOCATION', summary: 'organization or folder' },
  view: associationView,
  list: async (invocation, request) =>
    (await invocation.client()).accountAssociations.all({ ...request, ...(await readScope(invocation)) }),
  listOptions: scopeOptions,
  serverSort: nameSort,
  serverFilters: { name: 'name' },
  async resolveUid(invocation) {
    const uid = await resolveLocation(invocation)
    if ((await findAssociation(invocation, uid)) !== undefined) return uid
    throw new CommandFailed(
      `${invocation.argument(0) || uid} has no cloud accounts; link one with berth iam account-associations set`,
    )
  },
  get: (client, uid) => client.accountAssociations.get(uid),
  delete: (client, uid) => client.accountAssociations.delete(uid),
  label: ({ uid }, names) => names.groupPath(uid),
  deleteVerbs: { question: 'Unlink all cloud accounts from', done: 'unlinked the cloud accounts from' },
}

const shared = resourceCommands(associationResource)

const commands: readonly (CommandDeclaration | CommandGroup)[] = [
  {
    name: 'set',
    summary: 'Link a cloud account to a group',
    commands: clouds.map(
      (cloud): CommandDeclaration => ({
        name: cloud.name,
        summary: `Link an account of ${cloud.label}`,
        parameters: locationParameter,
        options: [
          ...cloud.options,
          { flags: '-n, --name <name>', summary: 'name of the association' },
          descriptionOption,
        ],
        examples: [`berth iam account-associations set ${cloud.name} my-org ${cloud.example}`],
        async run(invocation) {
          const part = { [cloud.member]: cloud.read(invocation) }
          const uid = await resolveLocation(invocation)
          const client = await invocation.client()
          const known = await findAssociation(invocation, uid)
          const fields = readOptions(invocation, 'name', 'description')
          const association = known
            ? await client.accountAssociations.update(uid, {
                ...part,
                ...fields,
              } as Partial<AccountAssociationInput>)
            : await client.accountAssociations.create(uid, {
                name: 'accounts',
                ...part,
                ...fields,
              } as AccountAssociationInput)
          await invocation.output.item(association, associationView(invocation.names))
        },
      }),
    ),
  },
  {
    name: 'unset',
    summary: 'Unlink a cloud account from a group',
    commands: clouds.map(
      (cloud): CommandDeclaration => ({
        name: cloud.name,
        summary: `Unlink the ${cloud.label} account`,
        parameters: locationParameter,
        options: [yesOption],
        examples: [`berth iam account-associations unset ${cloud.name} my-org --yes`],
        async run(invocation) {
          const uid = await resolveLocation(invocation)
          const client = await invocation.client()
          const current = await findAssociation(invocation, uid)
          const where = invocation.argument(0) || uid
          if (current?.[cloud.member] === undefined)
            throw new CommandFailed(`${where} has no ${cloud.label} account`)
          await invocation.prompt.confirm(`Unlink the ${cloud.label} account from ${where}?`)
          const parts = ['amazon', 'google', 'azure', 'github', 'chainguard'] as const
          const others = parts.filter((part) => part !== cloud.member && current[part] !== undefined)
          // An association must have an account: the last one deletes the association.
          if (others.length === 0) await client.accountAssociations.delete(uid)
          else await client.accountAssociations.update(uid, {}, { updateMask: [cloud.member] })
          invocation.output.notice(`unlinked the ${cloud.label} account from ${where}`)
        },
      }),
    ),
  },
  {
    name: 'check',
    summary: 'Check the access to a cloud account',
    commands: clouds.map(
      (cloud): CommandDeclaration => ({
        name: cloud.name,
        summary: `Check that Berth can access the ${cloud.label} account`,
        parameters: locationParameter,
        examples: [`berth iam account-associations check ${cloud.name} my-org`],
        async run(invocation) {
          const uid = await resolveLocation(invocation)
          const client = await invocation.client()
          const result = await client.accountAssociations.checkAccountAssociation({
            uid,
            providerType: cloud.providerType,
          })
          await invocation.output.item(
            { uid, ...result },
            {
              columns: [
                { title: 'STATUS', value: ({ status }) => status.replace('CHECK_STATUS_', '').toLowerCase() },
                { title: 'REASON', value: ({ reason }) => reason },
                { title: 'MESSAGE', value: ({ message }) => message },
              ],
            },
          )
          if (result.status !== 'CHECK_STATUS_READY') process.exitCode = 1
        },
      }),
    ),
  },
  shared.list,
  { ...shared.describe, summary: 'Show the cloud accounts of a group' },
  { ...shared.delete, summary: 'Unlink all cloud accounts from a group' },
]

export const accountAssociationsGroup: CommandGroup = {
  name: 'account-associations',
  aliases: ['account-association', 'associations'],
  summary: 'Manage the cloud accounts of groups',
  commands,
}
