import type { AdvisoryFeed } from '../../../client/berth.ts'
import { formats } from '../../vulnerabilities/advisory-record.ts'
import { collect } from '../client/collect.ts'
import { createdColumn, idColumn } from '../client/columns.ts'
import type { CommandDeclaration, CommandGroup, OptionDeclaration } from '../client/command.ts'
import { seconds, spoken } from '../client/durations.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import { groupUid, isUid, scopeOf, uidOf } from '../client/locate.ts'
import { change, parent, within, yes } from '../client/options.ts'
import type { View } from '../client/output.ts'
import { Refused } from '../client/session.ts'

/** Feeds: addresses that the server reads advisories from by itself. */

const stateOf = ({ state }: AdvisoryFeed) => state.replace('STATE_', '').toLowerCase()

const view: View<AdvisoryFeed> = {
  columns: [
    idColumn,
    { title: 'ADDRESS', value: ({ url }) => url },
    { title: 'STATE', kind: 'name', value: stateOf },
    { title: 'LAST SUCCESS', kind: 'time', value: ({ lastSuccessTime = '' }) => lastSuccessTime },
    { title: 'NEXT', kind: 'time', value: ({ nextAttemptTime = '' }) => nextAttemptTime },
    { title: 'DOCUMENTS', value: ({ lastRun }) => (lastRun === undefined ? '' : String(lastRun.documents)) },
    { title: 'REJECTED', value: ({ lastRun }) => (lastRun?.rejected ? String(lastRun.rejected) : '') },
    { title: 'ERROR', kind: 'long', value: ({ lastError }) => lastError },
    { title: 'FAILURES', value: ({ failures }) => (failures > 0 ? String(failures) : ''), wide: true },
    { title: 'FORMAT', value: ({ format }) => format, wide: true },
    { title: 'INTERVAL', value: ({ interval = '' }) => spoken(interval), wide: true },
    { title: 'LAST RUN', kind: 'time', value: ({ lastAttemptTime = '' }) => lastAttemptTime, wide: true },
    { title: 'RESULT', kind: 'long', value: resultOf, wide: true },
    createdColumn,
  ],
  tree: { label: (feed) => `${feed.url} ${stateOf(feed)}`, uid: ({ uid }) => uid },
  empty: 'no feeds that you may see',
}

function resultOf({ lastRun }: AdvisoryFeed): string {
  if (lastRun === undefined) return ''
  const { created, updated, unchanged, withdrawn, covered, skipped } = lastRun
  const parts = { created, updated, unchanged, withdrawn, covered, skipped }
  return Object.entries(parts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}

const feed = [{ name: 'FEED', summary: 'its uid or address' }] as const
const pickedFeed = async (invocation: Invocation) => {
  const word = invocation.word(0)
  if (!word.includes('://')) {
    if (word !== '' && !isUid(word)) throw new UsageError('FEED must be a uid or an address')
    return uidOf(invocation, word, {
      what: 'feed',
      list: (client) => client.advisoryFeeds.all(),
      label: ({ url }) => url,
    })
  }
  const found = await collect((await invocation.client()).advisoryFeeds.all({ url: word }))
  const [one, ...more] = found
  if (one === undefined) throw new UsageError(`there is no feed of ${word} that you may see`)
  if (more.length > 0)
    throw new UsageError(
      `several folders have a feed of ${word}: ${found.map(({ uid }) => uid).join(', ')}; give the uid`,
    )
  return one.uid
}

const settings: readonly OptionDeclaration[] = [
  {
    flags: '--format <format>',
    summary: 'of its documents (default: each by its content)',
    choices: formats,
  },
  { flags: '--every <duration>', summary: 'from 5m to 30d (default 1h)' },
]

function settingsOf(invocation: Invocation): { readonly format?: string; readonly interval?: string } {
  const every = invocation.text('every')
  const format = invocation.given('format')
  return {
    ...(format !== undefined && { format }),
    ...(every !== '' && { interval: `${seconds('--every', every)}s` }),
  }
}

const wait: OptionDeclaration = { flags: '--wait', summary: 'until it was read; code 1 when that fails' }

const POLL_MS = 1000

/** The feed after the run that was asked for; `before`: when the one before began. */
async function awaited(
  invocation: Invocation,
  uid: string,
  before: string | undefined,
): Promise<AdvisoryFeed> {
  const client = await invocation.client()
  for (;;) {
    const now = await client.advisoryFeeds.get(uid)
    const isOver = ['failed', 'succeeded', 'paused'].includes(stateOf(now)) && now.lastAttemptTime !== before
    if (isOver) {
      invocation.output.progress('')
      return now
    }
    invocation.output.progress(`${stateOf(now)}: ${now.lastRun?.documents ?? 0} documents`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function show(invocation: Invocation, shown: AdvisoryFeed, before?: string): Promise<void> {
  const ended = invocation.flag('wait') ? await awaited(invocation, shown.uid, before) : shown
  invocation.output.item(ended, view)
  if (invocation.flag('wait') && stateOf(ended) === 'failed') throw new Refused(ended.lastError)
}

const commands: readonly CommandDeclaration[] = [
  {
    name: 'add',
    aliases: ['create'],
    summary: 'have the server read an address again and again',
    parameters: [
      { name: 'URL', summary: 'a document or an archive of documents, over https', required: true },
    ],
    options: [
      { ...parent, summary: 'the organization or folder that its advisories go to' },
      ...settings,
      { flags: '--paused', summary: 'do not read it yet' },
      wait,
    ],
    examples: [
      'berth advisories feeds add https://osv.example.com/npm/all.zip --parent my-org/security --format osv --every 6h',
    ],
    async run(invocation) {
      const group = await groupUid(invocation, invocation.text('parent'), '--parent')
      const client = await invocation.client()
      const body = { url: invocation.word(0), paused: invocation.flag('paused'), ...settingsOf(invocation) }
      await show(invocation, await client.advisoryFeeds.create(group, body))
    },
  },
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list feeds and how they are',
    options: within,
    examples: ['berth advisories feeds list', 'berth advisories feeds list --parent my-org -o wide'],
    async run(invocation) {
      const client = await invocation.client()
      await invocation.output.list(client.advisoryFeeds.all(await scopeOf(invocation)), view)
    },
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show a feed, and what became of its last run',
    parameters: feed,
    examples: ['berth advisories feeds describe https://osv.example.com/npm/all.zip'],
    async run(invocation) {
      const found = await (await invocation.client()).advisoryFeeds.get(await pickedFeed(invocation))
      invocation.output.item(found, view)
      for (const { name, line, reason } of found.lastRun?.rejections ?? [])
        invocation.output.done(`rejected ${name}${line > 0 ? `:${line}` : ''}: ${reason}`)
    },
  },
  {
    name: 'update',
    summary: 'change how often a feed is read, or as what',
    parameters: feed,
    options: settings,
    examples: ['berth advisories feeds update https://osv.example.com/npm/all.zip --every 30m'],
    async run(invocation) {
      const patch = change(settingsOf(invocation))
      const uid = await pickedFeed(invocation)
      const client = await invocation.client()
      invocation.output.item(await client.advisoryFeeds.update(uid, patch), view)
    },
  },
  {
    name: 'sync',
    summary: 'read a feed now',
    parameters: feed,
    options: [{ flags: '--full', summary: 'everything again, also what did not change' }, wait],
    examples: ['berth advisories feeds sync https://osv.example.com/npm/all.zip --wait'],
    async run(invocation) {
      const uid = await pickedFeed(invocation)
      const client = await invocation.client()
      const { lastAttemptTime } = await client.advisoryFeeds.get(uid)
      const full = invocation.flag('full')
      await show(invocation, await client.advisoryFeeds.syncAdvisoryFeed({ uid, full }), lastAttemptTime)
    },
  },
  {
    name: 'pause',
    summary: 'read a feed no more for now; a run ends at once',
    parameters: feed,
    examples: ['berth advisories feeds pause https://osv.example.com/npm/all.zip'],
    run: (invocation) => setPaused(invocation, true),
  },
  {
    name: 'resume',
    summary: 'read a feed again that is paused',
    parameters: feed,
    examples: ['berth advisories feeds resume https://osv.example.com/npm/all.zip'],
    run: (invocation) => setPaused(invocation, false),
  },
  {
    name: 'remove',
    aliases: ['rm', 'delete'],
    summary: 'remove a feed; the advisories that it brought stay',
    parameters: feed,
    options: [yes],
    examples: ['berth advisories feeds remove https://osv.example.com/npm/all.zip --yes'],
    async run(invocation) {
      const uid = await pickedFeed(invocation)
      const client = await invocation.client()
      const { url } = await client.advisoryFeeds.get(uid)
      await invocation.ask.confirm(`Remove the feed ${url} (${uid})?`)
      await client.advisoryFeeds.delete(uid)
      invocation.output.done(`removed ${url} (${uid})`)
    },
  },
]

async function setPaused(invocation: Invocation, paused: boolean): Promise<void> {
  const uid = await pickedFeed(invocation)
  const client = await invocation.client()
  invocation.output.item(await client.advisoryFeeds.update(uid, { paused }, { updateMask: ['paused'] }), view)
}

export const feedsGroup: CommandGroup = {
  name: 'feeds',
  aliases: ['feed'],
  summary: 'feeds: addresses that the server reads advisories from by itself',
  commands,
}
