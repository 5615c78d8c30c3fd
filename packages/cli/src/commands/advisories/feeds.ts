import { formats } from '@berth/advisory-formats/advisory-record.ts'
import type { AdvisoryFeed, AdvisoryFeedRun, ImportCounts } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import { formatDuration, parseDurationOption } from '../../invocation/durations.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { listCommand, timeSort } from '../../invocation/list-command.ts'
import { parentOption, requireChange, scopeOptions } from '../../invocation/options.ts'
import { type Resource, resourceCommands } from '../../invocation/resource-commands.ts'
import { readScope, resolveGroupUid, resolveUid } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { isUid } from '../../invocation/resource-uids.ts'
import { createdColumn, groupColumn, idColumn, loadGroups } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed } from '../../session/access-token.ts'
import { readRunFilters, runEndColumns, runOptions, runStartColumns } from '../runs.ts'

/** Feeds: URLs that the server polls for advisories. */

const feedState = ({ state }: AdvisoryFeed) => state.replace('STATE_', '').toLowerCase()

const feedView = (names: ResourceNames): View<AdvisoryFeed> => ({
  columns: [
    { title: 'URL', value: ({ url }) => url },
    groupColumn(names),
    idColumn,
    { title: 'STATE', kind: 'name', value: feedState },
    { title: 'LAST SUCCESS', kind: 'time', value: ({ lastSuccessTime = '' }) => lastSuccessTime },
    { title: 'NEXT', kind: 'time', value: ({ nextAttemptTime = '' }) => nextAttemptTime },
    { title: 'DOCUMENTS', value: ({ lastRun }) => (lastRun === undefined ? '' : String(lastRun.documents)) },
    { title: 'REJECTED', value: ({ lastRun }) => (lastRun?.rejected ? String(lastRun.rejected) : '') },
    { title: 'ERROR', kind: 'long', value: ({ lastError }) => lastError },
    { title: 'FAILURES', value: ({ failures }) => (failures > 0 ? String(failures) : ''), wide: true },
    { title: 'FORMAT', value: ({ format }) => format, wide: true },
    { title: 'INTERVAL', value: ({ interval = '' }) => formatDuration(interval), wide: true },
    { title: 'LAST RUN', kind: 'time', value: ({ lastAttemptTime = '' }) => lastAttemptTime, wide: true },
    { title: 'RESULT', kind: 'long', value: runResult, wide: true },
    createdColumn,
  ],
  tree: { label: (feed) => `${feed.url} ${feedState(feed)}`, uid: ({ uid }) => uid },
  empty: 'no feeds visible to you',
  load: loadGroups(names),
})

const runResult = ({ lastRun }: AdvisoryFeed): string => countsText(lastRun)

function countsText(counts: ImportCounts | undefined): string {
  if (counts === undefined) return ''
  const { created, updated, unchanged, withdrawn, covered, skipped } = counts
  const parts = { created, updated, unchanged, withdrawn, superseded: covered, skipped }
  return Object.entries(parts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}

async function resolveFeedUid(invocation: Invocation): Promise<string> {
  const word = invocation.argument(0)
  if (!word.includes('://')) {
    if (word !== '' && !isUid(word)) throw new UsageError('FEED must be a uid or URL')
    return resolveUid(invocation, word, {
      noun: 'feed',
      list: (client) => client.advisoryFeeds.all(),
      label: ({ url }) => url,
    })
  }
  const found = await toArray((await invocation.client()).advisoryFeeds.all({ url: word }))
  const [one, ...more] = found
  if (one === undefined) throw new UsageError(`no feed of ${word} found or visible to you`)
  if (more.length > 0)
    throw new UsageError(
      `several folders have a feed of ${word}: ${found.map(({ uid }) => uid).join(', ')}; use the uid`,
    )
  return one.uid
}

const feedOptions: readonly OptionDeclaration[] = [
  {
    flags: '--format <format>',
    summary: 'document format (default: detected for each document)',
    choices: formats,
  },
  { flags: '--every <duration>', summary: 'poll interval (5m-30d, default 1h)' },
]

function readFeedSettings(invocation: Invocation): { readonly format?: string; readonly interval?: string } {
  const every = invocation.option('every')
  const format = invocation.optionIfSet('format')
  return {
    ...(format !== undefined && { format }),
    ...(every !== '' && { interval: `${parseDurationOption('--every', every)}s` }),
  }
}

const wait: OptionDeclaration = {
  flags: '--wait',
  summary: 'wait until the run ends; exit code 1 if it fails',
}

const POLL_MS = 1000

/** Waits for the run that is due in `requested`: the end of a run sets another due time, and an earlier run does not. */
async function waitForRun(invocation: Invocation, requested: AdvisoryFeed): Promise<AdvisoryFeed> {
  const client = await invocation.client()
  for (;;) {
    const now = await client.advisoryFeeds.get(requested.uid)
    const state = feedState(now)
    const hasRun =
      ['failed', 'succeeded'].includes(state) && now.nextAttemptTime !== requested.nextAttemptTime
    if (state === 'paused' || hasRun) {
      invocation.output.progress('')
      return now
    }
    invocation.output.progress(`${state}: ${now.lastRun?.documents ?? 0} documents`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function printFeed(invocation: Invocation, shown: AdvisoryFeed): Promise<void> {
  const feed = invocation.flag('wait') ? await waitForRun(invocation, shown) : shown
  await invocation.output.item(feed, feedView(invocation.names))
  if (invocation.flag('wait') && feedState(feed) === 'failed') throw new CommandFailed(feed.lastError)
}

const feedResource: Resource<AdvisoryFeed> = {
  noun: 'feed',
  plural: 'feeds',
  command: 'berth advisories feeds',
  example: 'https://osv.example.com/npm/all.zip',
  parameter: { name: 'FEED', summary: 'uid or URL' },
  view: feedView,
  list: async (invocation, request) =>
    (await invocation.client()).advisoryFeeds.all({ ...request, ...(await readScope(invocation)) }),
  listOptions: scopeOptions,
  serverSort: { url: 'url', ...timeSort },
  serverFilters: { url: 'url' },
  resolveUid: resolveFeedUid,
  get: (client, uid) => client.advisoryFeeds.get(uid),
  delete: (client, uid) => client.advisoryFeeds.delete(uid),
  label: ({ url }) => url,
  deleteVerbs: { question: 'Remove the feed', done: 'removed' },
}

const feedParameters = [feedResource.parameter]
const shared = resourceCommands(feedResource)

const commands: readonly CommandDeclaration[] = [
  {
    name: 'add',
    aliases: ['create'],
    summary: 'Poll a URL for advisories',
    parameters: [
      { name: 'URL', summary: 'https URL of a document or an archive of documents', required: true },
    ],
    options: [
      { ...parentOption, summary: 'organization or folder of the advisories' },
      ...feedOptions,
      { flags: '--paused', summary: 'create the feed paused' },
      wait,
    ],
    examples: [
      'berth advisories feeds add https://osv.example.com/npm/all.zip --parent my-org/security --format osv --every 6h',
      'berth advisories feeds add https://www.cisa.gov/sites/default/files/feeds/known_exploited_vulnerabilities.json --parent my-org/security --every 6h',
      'berth advisories feeds add https://epss.empiricalsecurity.com/epss_scores-current.csv.gz --parent my-org/security --every 24h',
    ],
    async run(invocation) {
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const client = await invocation.client()
      const body = {
        url: invocation.argument(0),
        paused: invocation.flag('paused'),
        ...readFeedSettings(invocation),
      }
      await printFeed(invocation, await client.advisoryFeeds.create(group, body))
    },
  },
  {
    ...shared.list,
    summary: 'List feeds and their state',
    examples: [
      'berth advisories feeds list',
      'berth advisories feeds list --parent my-org -o wide',
      'berth advisories feeds list --filter state=failed',
    ],
  },
  {
    ...shared.describe,
    summary: 'Show a feed and its last run',
    examples: ['berth advisories feeds describe https://osv.example.com/npm/all.zip'],
    async run(invocation) {
      const found = await (await invocation.client()).advisoryFeeds.get(await resolveFeedUid(invocation))
      await invocation.output.item(found, feedView(invocation.names))
      for (const { name, line, reason } of found.lastRun?.rejections ?? [])
        invocation.output.notice(`rejected ${name}${line > 0 ? `:${line}` : ''}: ${reason}`)
    },
  },
  {
    name: 'update',
    summary: 'Change the interval or format of a feed',
    parameters: feedParameters,
    options: feedOptions,
    examples: ['berth advisories feeds update https://osv.example.com/npm/all.zip --every 30m'],
    async run(invocation) {
      const patch = requireChange(readFeedSettings(invocation))
      const uid = await resolveFeedUid(invocation)
      const client = await invocation.client()
      await invocation.output.item(await client.advisoryFeeds.update(uid, patch), feedView(invocation.names))
    },
  },
  {
    name: 'sync',
    summary: 'Poll a feed now',
    parameters: feedParameters,
    options: [{ flags: '--full', summary: 'download and import the feed even if it is unchanged' }, wait],
    examples: ['berth advisories feeds sync https://osv.example.com/npm/all.zip --wait'],
    async run(invocation) {
      const uid = await resolveFeedUid(invocation)
      const client = await invocation.client()
      const full = invocation.flag('full')
      await printFeed(invocation, await client.advisoryFeeds.syncAdvisoryFeed({ uid, full }))
    },
  },
  listCommand<AdvisoryFeedRun>({
    name: 'runs',
    summary: 'List the runs of a feed, newest first; scheduled runs without news are not recorded',
    parameters: feedParameters,
    options: runOptions,
    examples: [
      'berth advisories feeds runs https://osv.example.com/npm/all.zip',
      'berth advisories feeds runs https://osv.example.com/npm/all.zip --state failed --since 7d -o json',
    ],
    view: () => ({
      columns: [
        ...runStartColumns,
        { title: 'DOCUMENTS', value: ({ counts }) => (counts === undefined ? '' : String(counts.documents)) },
        { title: 'REJECTED', value: ({ counts }) => (counts?.rejected ? String(counts.rejected) : '') },
        { title: 'RESULT', kind: 'long', value: ({ counts }) => countsText(counts) },
        ...runEndColumns,
      ],
      id: ({ uid }) => uid,
      empty: 'no runs recorded',
    }),
    items: listRuns,
  }),
  {
    name: 'pause',
    summary: 'Pause a feed; stop its current run',
    parameters: feedParameters,
    examples: ['berth advisories feeds pause https://osv.example.com/npm/all.zip'],
    run: (invocation) => setPaused(invocation, true),
  },
  {
    name: 'resume',
    summary: 'Resume a paused feed',
    parameters: feedParameters,
    examples: ['berth advisories feeds resume https://osv.example.com/npm/all.zip'],
    run: (invocation) => setPaused(invocation, false),
  },
  {
    ...shared.delete,
    name: 'remove',
    aliases: ['rm', 'delete'],
    summary: 'Remove a feed; its advisories stay',
    examples: ['berth advisories feeds remove https://osv.example.com/npm/all.zip --yes'],
  },
]

async function* listRuns(invocation: Invocation): AsyncGenerator<AdvisoryFeedRun> {
  const feedUid = await resolveFeedUid(invocation)
  const client = await invocation.client()
  yield* client.advisoryFeeds.allAdvisoryFeedRuns({ feedUid, ...readRunFilters(invocation) })
}

async function setPaused(invocation: Invocation, paused: boolean): Promise<void> {
  const uid = await resolveFeedUid(invocation)
  const client = await invocation.client()
  await invocation.output.item(
    await client.advisoryFeeds.update(uid, { paused }, { updateMask: ['paused'] }),
    feedView(invocation.names),
  )
}

export const feedsGroup: CommandGroup = {
  name: 'feeds',
  aliases: ['feed'],
  summary: 'Manage feeds that the server polls for advisories',
  commands,
}
