import type { RepoSummary } from '@berth/client/berth.ts'
import { listCommand, nameSort } from '../../../invocation/list-command.ts'
import { scopeOptions } from '../../../invocation/options.ts'
import { readScope } from '../../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../../invocation/resource-names.ts'
import { idColumn, loadGroups, pathColumn } from '../../../output/columns.ts'
import type { View } from '../../../output/output.ts'
import { formatSize } from '../../../output/sizes.ts'

/** What repositories contain, and who can pull from them. */

const summaryView = (names: ResourceNames): View<RepoSummary> => ({
  columns: [
    pathColumn(names, 'REPO'),
    idColumn,
    {
      title: 'SIZE',
      value: ({ storedBytes }) => (storedBytes === undefined ? '' : formatSize(Number(storedBytes))),
      sortValue: ({ storedBytes }) => Number(storedBytes ?? 0),
    },
    {
      title: 'TAGS',
      value: ({ tagCount = '' }) => tagCount,
      sortValue: ({ tagCount }) => Number(tagCount ?? 0),
    },
    {
      title: 'MANIFESTS',
      value: ({ manifestCount = '' }) => manifestCount,
      sortValue: ({ manifestCount }) => Number(manifestCount ?? 0),
    },
    { title: 'PUSHED', kind: 'time', value: ({ lastPushTime = '' }) => lastPushTime },
    { title: 'VISIBILITY', value: (summary) => (summary.public ? 'public' : 'private') },
    {
      title: 'POLICY',
      value: ({ immutableTags, retentionEnabled }) =>
        [...(immutableTags ? ['immutable tags'] : []), ...(retentionEnabled ? ['retention'] : [])].join(', '),
    },
  ],
  empty: 'no repos visible to you',
  load: loadGroups(names),
})

export const repoSummaryCommand = listCommand<RepoSummary>({
  name: 'summary',
  summary: 'List repos with their size, tags, last push, visibility and policy',
  options: [...scopeOptions, { flags: '--name-prefix <text>', summary: 'start of the name' }],
  examples: [
    'berth images repos summary --parent my-org',
    "berth images repos summary --parent my-org --sort 'size desc' --limit 10",
    'berth images repos summary --parent my-org --sort pushed',
  ],
  view: ({ names }) => summaryView(names),
  serverSort: { ...nameSort, size: 'stored_bytes', pushed: 'last_push_time' },
  defaultSort: 'repo',
  async items(invocation, request) {
    const client = await invocation.client()
    const namePrefix = invocation.option('namePrefix')
    return client.repoSummaries.all({
      orderBy: 'name',
      ...request,
      ...(await readScope(invocation)),
      ...(namePrefix !== '' && { namePrefix }),
    })
  },
})
