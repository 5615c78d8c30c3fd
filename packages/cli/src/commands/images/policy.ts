import type { RepoPolicy, RetentionInput, RetentionRule, RetentionVerdict } from '@berth/client/berth.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import { formatDuration, parseDurationOption } from '../../invocation/durations.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { requireChange, yesOption } from '../../invocation/options.ts'
import { resolveRepoUid } from '../../invocation/resource-lookup.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed } from '../../session/access-token.ts'

/** Policies of repos: which tags never move, and which go by themselves. */

const formatUntagged = ({ retention }: RepoPolicy) =>
  retention?.untaggedAfter === undefined ? '' : `deleted after ${formatDuration(retention.untaggedAfter)}`

const policyView: View<RepoPolicy> = {
  columns: [
    { title: 'REPO', kind: 'uid', value: ({ uid }) => uid },
    { title: 'IMMUTABLE', value: ({ immutableTags }) => immutableTags?.patterns.join(' ') ?? '' },
    { title: 'EXCEPT', value: ({ immutableTags }) => immutableTags?.exceptions.join(' ') ?? '' },
    { title: 'RETENTION', value: ({ retention }) => (retention?.enabled ? 'enabled' : 'not enabled') },
    {
      title: 'KEEPS',
      kind: 'long',
      value: ({ retention }) => retention?.rules.map(formatRule).join('; ') ?? '',
    },
    { title: 'UNTAGGED', value: formatUntagged },
    { title: 'NEXT RUN', kind: 'time', value: ({ nextRunTime = '' }) => nextRunTime },
    { title: 'LAST RUN', kind: 'time', value: ({ lastRun }) => lastRun?.endTime ?? '' },
    { title: 'DELETED', value: ({ lastRun }) => (lastRun === undefined ? '' : formatDeleted(lastRun)) },
    { title: 'ERROR', kind: 'long', value: ({ lastRun }) => lastRun?.error ?? '' },
    { title: 'CHANGED', kind: 'time', value: ({ updateTime = '' }) => updateTime, wide: true },
  ],
}

const verdictView: View<RetentionVerdict> = {
  columns: [
    { title: 'TAG', kind: 'name', value: ({ tag }) => tag },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'DELETED', value: ({ deleted }) => (deleted ? 'yes' : '') },
    { title: 'WHY', kind: 'long', value: ({ reason }) => reason },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime },
  ],
  id: ({ tag, digest }) => tag || digest,
  empty: 'nothing',
}

function formatDeleted({
  deletedTags,
  deletedManifests,
}: Readonly<Record<'deletedTags' | 'deletedManifests', number>>): string {
  return `${deletedTags} tags, ${deletedManifests} manifests`
}

/** As `--keep` takes it. */
function formatRule({ patterns, newest, youngerThan }: RetentionRule): string {
  return [
    ...patterns,
    ...(newest > 0 ? [`newest=${newest}`] : []),
    ...(youngerThan === undefined ? [] : [`younger=${formatDuration(youngerThan)}`]),
  ].join(' ')
}

function parseRule(text: string): RetentionRule {
  const patterns: string[] = []
  let rule: Omit<RetentionRule, 'patterns'> = { newest: 0 }
  for (const word of text.split(/\s+/).filter((word) => word !== '')) {
    const [, name, value = ''] = /^(newest|younger)=(.*)$/.exec(word) ?? []
    if (name === 'newest') {
      if (!/^[1-9]\d{0,5}$/.test(value)) throw new UsageError(`--keep: newest=${value} must be a number`)
      rule = { ...rule, newest: Number(value) }
    } else if (name === 'younger') rule = { ...rule, youngerThan: `${parseDurationOption('--keep', value)}s` }
    else patterns.push(word)
  }
  return { ...rule, patterns }
}

const repoParameters = [{ name: 'REPO', summary: 'its uid, name or path' }] as const
const resolveRepo = (invocation: Invocation) => resolveRepoUid(invocation, invocation.argument(0))

const retentionOptions: readonly OptionDeclaration[] = [
  {
    flags: '--keep <rule>',
    summary:
      'keep tags: patterns, newest=N, younger=AGE, all of which must hold; any rule keeps (repeatable)',
    repeatable: true,
  },
  { flags: '--keep-all', summary: 'no rules: all tags stay', conflicts: ['keep'] },
  {
    flags: '--untagged-after <age>',
    summary: 'delete manifests that no tag has named for so long; never: they stay',
  },
]

/** Of what was set so far, what the options make. Undefined where they say nothing. */
function readRetention(invocation: Invocation, current: RepoPolicy['retention']): RetentionInput | undefined {
  const keep = invocation.optionValues('keep')
  const untagged = invocation.option('untaggedAfter')
  const [enable, disable] = [invocation.flag('enable'), invocation.flag('disable')]
  if (keep.length === 0 && untagged === '' && !invocation.flag('keepAll') && !enable && !disable)
    return undefined
  const { untaggedAfter: before, ...rest } = current ?? { enabled: false, rules: [] }
  const untaggedAfter =
    untagged === ''
      ? before
      : `${untagged === 'never' ? 0 : parseDurationOption('--untagged-after', untagged)}s`
  return {
    enabled: enable || (rest.enabled && !disable),
    rules: invocation.flag('keepAll') ? [] : keep.length > 0 ? keep.map(parseRule) : rest.rules,
    ...(untagged !== 'never' && untaggedAfter !== undefined && { untaggedAfter }),
  }
}

function readImmutableTags(invocation: Invocation, current: RepoPolicy['immutableTags']) {
  if (invocation.flag('mutable')) return { patterns: [], exceptions: [] }
  const [patterns, exceptions] = [invocation.optionValues('immutable'), invocation.optionValues('except')]
  if (patterns.length === 0 && exceptions.length === 0) return undefined
  return {
    patterns: patterns.length > 0 ? patterns : (current?.patterns ?? []),
    exceptions: exceptions.length > 0 ? exceptions : (current?.exceptions ?? []),
  }
}

async function* listVerdicts(invocation: Invocation): AsyncGenerator<RetentionVerdict> {
  const client = await invocation.client()
  const uid = await resolveRepo(invocation)
  const retention = readRetention(invocation, (await client.repoPolicies.getRepoPolicy(uid)).retention)
  const asked = {
    uid,
    deletedOnly: invocation.flag('deleted'),
    pageSize: 200,
    ...(retention !== undefined && { retention }),
  }
  let pageToken = ''
  do {
    const page = await client.repoPolicies.previewRetention({ ...asked, pageToken })
    yield* page.verdicts
    pageToken = page.nextPageToken
    if (pageToken === '') invocation.output.notice(`${formatDeleted(page)} would be deleted`)
  } while (pageToken !== '')
}

const POLL_MS = 500

/** The policy after a run that began when it was asked for, or later. */
async function waitForRun(
  invocation: Invocation,
  uid: string,
  before: string | undefined,
): Promise<RepoPolicy> {
  const client = await invocation.client()
  for (;;) {
    const now = await client.repoPolicies.getRepoPolicy(uid)
    const isOver = now.lastRun?.endTime !== undefined && now.lastRun.beginTime !== before
    if (isOver || now.retention?.enabled !== true) {
      invocation.output.progress('')
      return now
    }
    invocation.output.progress('retention runs')
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

const commands: readonly CommandDeclaration[] = [
  {
    name: 'describe',
    aliases: ['get', 'show'],
    summary: 'show the policy of a repo, and what its last run came to',
    parameters: repoParameters,
    examples: [
      'berth images policy describe nginx',
      'berth images policy describe my-org/team/nginx -o json',
    ],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      invocation.output.item(await (await invocation.client()).repoPolicies.getRepoPolicy(uid), policyView)
    },
  },
  {
    name: 'set',
    aliases: ['update'],
    summary: 'change the policy of a repo; what is not named stays',
    parameters: repoParameters,
    options: [
      {
        flags: '--immutable <patterns>',
        summary: 'tags that nobody moves or deletes, * for all',
        repeatable: true,
      },
      { flags: '--except <patterns>', summary: 'of those, tags that may be moved', repeatable: true },
      { flags: '--mutable', summary: 'no tag is immutable', conflicts: ['immutable', 'except'] },
      ...retentionOptions,
      { flags: '--enable', summary: 'delete what no rule keeps, from now on' },
      { flags: '--disable', summary: 'delete nothing', conflicts: ['enable'] },
      yesOption,
    ],
    examples: [
      "berth images policy set nginx --immutable 'v*' --except 'v*-rc*'",
      "berth images policy set nginx --keep latest --keep 'main-* newest=10' --keep younger=30d --untagged-after 7d",
      'berth images policy set nginx --enable --yes',
    ],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      const client = await invocation.client()
      const current = await client.repoPolicies.getRepoPolicy(uid)
      const immutableTags = readImmutableTags(invocation, current.immutableTags)
      const retention = readRetention(invocation, current.retention)
      const patch = requireChange({
        ...(immutableTags !== undefined && { immutableTags }),
        ...(retention !== undefined && { retention }),
      })
      if ((retention ?? current.retention)?.enabled === true) {
        const deleted = await client.repoPolicies.previewRetention({ uid, ...patch, pageSize: 1 })
        await invocation.prompt.confirm(
          `Have retention delete ${formatDeleted(deleted)} of ${uid} now, and go on?`,
        )
      }
      const updateMask = Object.keys(patch)
      invocation.output.item(
        await client.repoPolicies.updateRepoPolicy(uid, patch, { updateMask }),
        policyView,
      )
    },
  },
  {
    name: 'preview',
    summary: 'tell what retention would delete, and why the rest stays',
    parameters: repoParameters,
    options: [{ flags: '--deleted', summary: 'only what would be deleted' }, ...retentionOptions],
    examples: [
      'berth images policy preview nginx --deleted',
      "berth images policy preview nginx --keep 'v*' --keep newest=5 -o csv",
    ],
    run: (invocation) => invocation.output.list(listVerdicts(invocation), verdictView),
  },
  {
    name: 'apply',
    aliases: ['run'],
    summary: 'have retention run now, and wait for it',
    parameters: repoParameters,
    options: [yesOption, { flags: '--no-wait', summary: 'do not wait' }],
    examples: ['berth images policy apply nginx --yes'],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      const client = await invocation.client()
      const { deletedTags, deletedManifests } = await client.repoPolicies.previewRetention({
        uid,
        pageSize: 1,
      })
      const what = formatDeleted({ deletedTags, deletedManifests })
      await invocation.prompt.confirm(`Delete ${what} of ${uid}?`)
      const { lastRun } = await client.repoPolicies.getRepoPolicy(uid)
      const asked = await client.repoPolicies.applyRetention({ uid })
      const after = invocation.flag('wait') ? await waitForRun(invocation, uid, lastRun?.beginTime) : asked
      invocation.output.item(after, policyView)
      if (invocation.flag('wait') && after.lastRun?.error) throw new CommandFailed(after.lastRun.error)
    },
  },
]

export const policyGroup: CommandGroup = {
  name: 'policy',
  aliases: ['policies'],
  summary: 'policies of repos: immutable tags, and what is deleted by itself',
  commands,
}
