import type { BerthClient, Group, UIDPFilter } from '@berth/client/berth.ts'
import type { CommandBody } from '../invocation/command-declaration.ts'
import { type ListDeclaration, listCommand } from '../invocation/list-command.ts'
import { listOrganizations, resolveGroupUid } from '../invocation/resource-lookup.ts'
import type { ResourceNames } from '../invocation/resource-names.ts'
import type { View } from '../output/output.ts'

/** Resources of an organization or folder, and the limits of the organization. */

interface UsageRow {
  readonly uid: string
  readonly kind: string
  /** undefined: the caller cannot list this kind. */
  readonly used: number | undefined
  /** Limit of the whole organization; undefined without one. */
  readonly limit: number | undefined
}

interface CountRequest {
  readonly uidp: UIDPFilter
  readonly pageSize: number
}

type Count = (
  client: BerthClient,
  request: CountRequest,
) => Promise<{ readonly totalCount?: string | number }>

const everyTag = { includeDates: true, includeEpochs: true, includeReferrers: true }

/** By the name of the limit. */
const counts: Readonly<Record<string, Count>> = {
  groups: (client, request) => client.groups.list(request),
  repos: (client, request) => client.repos.list(request),
  tags: (client, request) => client.tags.list({ ...request, ...everyTag }),
  identities: (client, request) => client.identities.list(request),
  roles: (client, request) => client.roles.list(request),
  role_bindings: (client, request) => client.roleBindings.list(request),
  idps: (client, request) => client.identityProviders.list(request),
  group_invites: (client, request) => client.groupInvites.list(request),
  account_associations: (client, request) => client.accountAssociations.list(request),
  external_group_role_mappings: (client, request) => client.externalGroupRoleMappings.list(request),
  advisories: (client, request) => client.advisories.list(request),
  advisory_feeds: (client, request) => client.advisoryFeeds.list(request),
}

const PERMISSION_DENIED = 7

async function* countResources(client: BerthClient, uid: string): AsyncGenerator<UsageRow> {
  const limits: Record<string, number> = await readLimits(client, uid.split('/')[0] ?? uid)
  for (const [kind, count] of Object.entries(counts)) {
    const used = await count(client, { uidp: { descendantsOf: uid }, pageSize: 1 }).then(
      ({ totalCount = 0 }) => Number(totalCount),
      (error: { readonly code?: unknown }) => {
        if (error.code !== PERMISSION_DENIED) throw error
        return undefined
      },
    )
    yield { uid, kind, used, limit: limits[kind] }
    delete limits[kind]
  }
  // The API does not report how much of these is used.
  for (const [kind, limit] of Object.entries(limits)) yield { uid, kind, used: undefined, limit }
}

/** Empty for a caller who cannot see the organization. */
async function readLimits(client: BerthClient, organization: string): Promise<Record<string, number>> {
  for await (const { resourceLimits } of client.groups.all({ uidp: { ids: [organization] } }))
    return { ...resourceLimits }
  return {}
}

const usageView = (names: ResourceNames): View<UsageRow> => ({
  columns: [
    { title: 'GROUP', kind: 'path', value: ({ uid }) => names.groupPath(uid) },
    { title: 'RESOURCE', kind: 'name', value: ({ kind }) => kind },
    numberColumn('USED', ({ used }) => used, 'unknown'),
    numberColumn('LIMIT', ({ limit }) => limit, 'none'),
    {
      title: 'SHARE',
      value: (row) => (shareOf(row) === undefined ? '' : `${Math.round(shareOf(row) ?? 0)} %`),
      sortValue: (row) => shareOf(row) ?? -1,
    },
  ],
  id: ({ kind }) => kind,
  empty: 'no organizations visible to you',
  load: (rows) => names.load({ groups: rows.map(({ uid }) => uid) }),
})

function numberColumn(title: string, read: (row: UsageRow) => number | undefined, missing: string) {
  return {
    title,
    value: (row: UsageRow) => String(read(row) ?? missing),
    sortValue: (row: UsageRow) => read(row) ?? -1,
  }
}

function shareOf({ used, limit }: UsageRow): number | undefined {
  return used === undefined || limit === undefined || limit === 0 ? undefined : (used / limit) * 100
}

async function* listUsage(
  client: BerthClient,
  groups: AsyncIterable<Pick<Group, 'uid'>>,
): AsyncGenerator<UsageRow> {
  for await (const { uid } of groups) yield* countResources(client, uid)
}

const list: ListDeclaration<UsageRow> = {
  name: 'usage',
  aliases: [],
  summary: 'Show the number of resources of an organization or folder, and the limits of the organization',
  parameters: [{ name: 'GROUP', summary: 'organization or folder (default: all organizations)' }],
  notes: 'Operators see stored bytes and manifests with berth admin organization.',
  examples: ['berth usage', 'berth usage my-org', 'berth usage --sort "share desc" --limit 5'],
  view: ({ names }) => usageView(names),
  async items(invocation) {
    const client = await invocation.client()
    const word = invocation.argument(0)
    if (word === '') return listUsage(client, listOrganizations(client))
    return countResources(client, await resolveGroupUid(invocation, word, 'GROUP'))
  },
}

const { name: _, summary: __, ...usage } = listCommand(list)
export const usageCommand: CommandBody = usage
