import type {
  FindingCount,
  FindingSummary,
  FindingSummaryHistoryEntry,
  TagFindingHistoryEntry,
  TagFindingSummary,
} from '@berth/client/berth.ts'
import { UsageError } from '../../invocation/invocation.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { parentFilterOption } from '../../invocation/options.ts'
import { resolveGroupUid, resolveRepoUid } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { parentUid } from '../../invocation/resource-uids.ts'
import { idColumn } from '../../output/columns.ts'
import { enumName } from '../../output/enum-names.ts'
import type { Column, View } from '../../output/output.ts'
import { repoOption, repoParameters, resolveRepo } from './repos/repos.ts'
import { findTag, referenceParameters } from './tags/tags.ts'

/** How many vulnerabilities repos and tags have. */

/** Severities with a column, and the values that it counts. */
const columns = [
  ['CRITICAL', ['CRITICAL']],
  ['HIGH', ['HIGH']],
  ['MEDIUM', ['MEDIUM']],
  ['LOW', ['LOW', 'NONE']],
  ['UNKNOWN', ['UNKNOWN']],
] as const

interface Counted {
  readonly counts: readonly FindingCount[]
}

function countColumns(): Column<Counted>[] {
  return columns.map(([title, severities]) => {
    const count = ({ counts }: Counted) =>
      counts
        .filter(
          ({ state, severity }) =>
            state !== 'STATE_NOT_AFFECTED' && severities.some((name) => severity === `SEVERITY_${name}`),
        )
        .reduce((sum, counted) => sum + Number(counted.count), 0)
    return { title, value: (row) => String(count(row)), sortValue: count }
  })
}

function numberColumn<T extends object>(title: string, read: (row: T) => string | undefined): Column<T> {
  return { title, value: (row) => read(row) ?? '', sortValue: (row) => Number(read(row)) }
}

const repoView = (names: ResourceNames): View<FindingSummary> => ({
  columns: [
    { title: 'REPO', kind: 'path', value: ({ uid }) => names.repoPath(uid) },
    ...countColumns(),
    numberColumn('EXPLOITED', ({ knownExploitedCount }) => knownExploitedCount),
    numberColumn('IMAGES', ({ imageCount }) => imageCount),
    numberColumn('NOT READ', ({ unreadImageCount }) => unreadImageCount),
    { ...idColumn, wide: true },
  ],
  empty: 'no repos visible to you',
  load: (found) => names.load({ repos: found.map(({ uid }) => uid) }),
})

export const vulnsByRepoCommand = listCommand<FindingSummary>({
  name: 'vulns-by-repo',
  summary: 'List repos with the number of vulnerabilities of their tagged images',
  options: [{ flags: '--parent <group>', summary: 'organization or folder, including its subfolders' }],
  notes: 'A vulnerability counts once in a repo. Those that do not affect the images do not count.',
  examples: [
    'berth images vulns-by-repo --parent my-org',
    "berth images vulns-by-repo --parent my-org --sort 'critical desc' --limit 10",
    "berth images vulns-by-repo --parent my-org --sort 'exploited desc' --limit 10",
  ],
  view: ({ names }) => repoView(names),
  async *items(invocation) {
    const client = await invocation.client()
    const uid = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    yield* client.findingSummaries.all({ uid })
  },
})

/** What is known about one vulnerability in a tag. */
function stateOf({ contentsState, matched, findings }: TagFindingSummary): string {
  if (contentsState === 'none') return 'not an image'
  if (contentsState !== 'read' || !matched) return 'unknown'
  const states = findings.map(({ state }) => enumName(state, 'STATE_'))
  return states.find((state) => state !== 'not-affected') ?? states[0] ?? 'not found'
}

const fixOf = ({ findings }: TagFindingSummary): string =>
  [...new Set(findings.map(({ fixedVersion }) => fixedVersion))].filter((version) => version !== '').join(' ')

const tagColumn: Column<TagFindingSummary> = { title: 'TAG', kind: 'name', value: ({ tag }) => tag }

const tagView: View<TagFindingSummary> = {
  id: ({ tag }) => tag,
  columns: [
    tagColumn,
    ...countColumns(),
    { title: 'CONTENTS', value: ({ contentsState }) => contentsState },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime },
    { title: 'DIGEST', value: ({ digest }) => digest, wide: true },
  ],
  empty: 'no tags',
}

const vulnerabilityView: View<TagFindingSummary> = {
  id: ({ tag }) => tag,
  columns: [
    tagColumn,
    { title: 'STATE', value: stateOf },
    {
      title: 'PACKAGES',
      value: ({ findings }) => findings.map(({ purl }) => purl.replace(/\?.*$/, '')).join(' '),
    },
    { title: 'FIXED', value: fixOf },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime },
    { title: 'DIGEST', value: ({ digest }) => digest, wide: true },
  ],
  empty: 'no tags',
}

export const vulnsByTagCommand = listCommand<TagFindingSummary>({
  name: 'vulns-by-tag',
  summary: 'List the tags of a repo with their number of vulnerabilities, or in which tags one is fixed',
  parameters: repoParameters,
  options: [{ flags: '--vulnerability <id>', summary: 'only this vulnerability, by its ID or an alias' }],
  notes:
    'With --vulnerability, STATE is `not found` for tags that do not have it: they are read and matched, and no package in them is affected.',
  examples: [
    'berth images vulns-by-tag my-org/app',
    'berth images vulns-by-tag my-org/app --vulnerability CVE-2024-6119',
    "berth images vulns-by-tag my-org/app --vulnerability CVE-2024-6119 --filter 'state=not found'",
  ],
  view: (invocation) => (invocation.option('vulnerability') === '' ? tagView : vulnerabilityView),
  async *items(invocation) {
    const client = await invocation.client()
    const uid = await resolveRepo(invocation)
    const vulnerability = invocation.option('vulnerability')
    yield* client.findingSummaries.allTagFindingSummaries({ uid, vulnerability })
  },
})

/** Of a tag, or of a repo or group. */
type HistoryEntry = Partial<TagFindingHistoryEntry & FindingSummaryHistoryEntry> &
  Pick<TagFindingHistoryEntry, 'critical' | 'high' | 'medium' | 'low' | 'none' | 'unknown'>

/** The columns of a summary, and the fields of an entry that they count. */
const historyColumns = columns.map(([title, severities]): Column<HistoryEntry> => {
  const fields = severities.map((name) => name.toLowerCase() as Lowercase<typeof name>)
  const count = (entry: HistoryEntry) => fields.reduce((sum, field) => sum + Number(entry[field]), 0)
  return { title, value: (entry) => String(count(entry)), sortValue: count }
})

const sinceColumn: Column<HistoryEntry> = {
  title: 'SINCE',
  kind: 'time',
  value: ({ time = '' }) => time,
}

const tagHistoryView: View<HistoryEntry> = {
  id: ({ time = '' }) => time,
  columns: [
    sinceColumn,
    ...historyColumns,
    { title: 'CONTENTS', value: ({ contentsState = '' }) => contentsState },
    { title: 'DIGEST', value: ({ digest = '' }) => digest, wide: true },
  ],
  empty: 'no history yet: an entry is added when the image is read and matched',
}

const summaryHistoryView: View<HistoryEntry> = {
  id: ({ time = '' }) => time,
  columns: [
    sinceColumn,
    ...historyColumns,
    numberColumn('IMAGES', ({ imageCount }) => imageCount),
    numberColumn('NOT READ', ({ unreadImageCount }) => unreadImageCount),
  ],
  empty: 'no history yet: an entry is added when an image with a tag is read and matched',
}

export const vulnsHistoryCommand = listCommand<HistoryEntry>({
  name: 'vulns-history',
  summary: 'List the number of vulnerabilities of a tag, a repo or a group over time, newest first',
  parameters: [{ ...referenceParameters[0], required: false }],
  options: [parentFilterOption, repoOption],
  notes: `Without a tag and --repo, it is the history of the organization or folder of --parent.

A row applies from its time until that of the row above. A row is added when the tag moves, or when advisories or VEX documents change what its image is affected by; of a group, after some minutes. Findings that do not affect the image do not count. In a repo or group, a vulnerability counts once for all images with a tag.`,
  examples: [
    'berth images vulns-history my-org/app:1.0',
    'berth images vulns-history my-org/app:latest --limit 30',
    'berth images vulns-history --repo my-org/app',
    'berth images vulns-history --parent my-org -o json',
  ],
  view: (invocation) => (invocation.argument(0) === '' ? summaryHistoryView : tagHistoryView),
  async *items(invocation) {
    const client = await invocation.client()
    const [reference, repo] = [invocation.argument(0), invocation.option('repo')]
    if (reference === '') {
      const uid =
        repo === ''
          ? await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
          : await resolveRepoUid(invocation, repo)
      yield* client.findingSummaries.allFindingSummaryHistory({ uid })
      return
    }
    if (repo !== '') throw new UsageError('specify a tag or --repo, not both')
    const { uid, name: tag } = await findTag(invocation, reference)
    yield* client.findingSummaries.allTagFindingHistory({ uid: parentUid(uid), tag })
  },
})
