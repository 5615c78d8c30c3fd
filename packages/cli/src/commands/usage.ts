import type { BerthClient, Group } from '@berth/client/berth.ts'
import { toArray } from '../invocation/async-iterables.ts'
import type { CommandBody } from '../invocation/command-declaration.ts'
import { type ListDeclaration, listCommand } from '../invocation/list-command.ts'
import { resolveGroupUid } from '../invocation/resource-lookup.ts'
import type { ResourceNames } from '../invocation/resource-names.ts'
import { parentUid } from '../invocation/resource-uids.ts'
import type { View } from '../output/output.ts'
import { formatSize } from '../output/sizes.ts'

/** Resources and stored bytes of an organization or folder, and the limits of the organization. */

interface UsageRow {
  readonly uid: string
  readonly kind: string
  /** undefined: the caller cannot list this kind. */
  readonly used: number | undefined
  /** Limit of the whole organization; undefined without one. */
  readonly limit: number | undefined
}

/** The row of stored bytes. */
const BYTES = 'stored_bytes'

async function* readUsage(
  client: BerthClient,
  groups: readonly Pick<Group, 'uid'>[],
): AsyncGenerator<UsageRow> {
  for (const { uid } of groups) {
    const { resources, storedBytes, storedBytesLimit } = await client.usage.getUsage({ uid })
    for (const { kind, used, limit } of resources)
      yield { uid, kind, used: numberOf(used), limit: numberOf(limit) }
    yield { uid, kind: BYTES, used: numberOf(storedBytes), limit: numberOf(storedBytesLimit) }
  }
}

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))

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
  empty: 'no organizations or folders visible to you',
  load: (rows) => names.load({ groups: rows.map(({ uid }) => uid) }),
})

function numberColumn(title: string, read: (row: UsageRow) => number | undefined, missing: string) {
  return {
    title,
    value: (row: UsageRow) => {
      const value = read(row)
      if (value === undefined) return missing
      return row.kind === BYTES ? formatSize(value) : String(value)
    },
    sortValue: (row: UsageRow) => read(row) ?? -1,
  }
}

function shareOf({ used, limit }: UsageRow): number | undefined {
  return used === undefined || limit === undefined || limit === 0 ? undefined : (used / limit) * 100
}

/** Organizations, and the folders of organizations that the caller cannot see. */
async function listTopmostGroups(client: BerthClient): Promise<Group[]> {
  const groups = await toArray(client.groups.all({ orderBy: 'name' }))
  const visible = new Set(groups.map(({ uid }) => uid))
  return groups.filter(({ uid }) => !visible.has(parentUid(uid)))
}

const list: ListDeclaration<UsageRow> = {
  name: 'usage',
  aliases: [],
  summary: 'Show resources and stored bytes of an organization or folder, and the limits of the organization',
  parameters: [{ name: 'GROUP', summary: 'organization or folder (default: everything visible to you)' }],
  examples: ['berth usage', 'berth usage my-org', 'berth usage --sort "share desc" --limit 5'],
  view: ({ names }) => usageView(names),
  async items(invocation) {
    const client = await invocation.client()
    const word = invocation.argument(0)
    const groups =
      word === ''
        ? await listTopmostGroups(client)
        : [{ uid: await resolveGroupUid(invocation, word, 'GROUP') }]
    return readUsage(client, groups)
  },
}

const { name: _, summary: __, ...usage } = listCommand(list)
export const usageCommand: CommandBody = usage
