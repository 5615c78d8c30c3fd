import type {
  RepoPolicy,
  RepoRetentionRun,
  RetentionInput,
  RetentionRule,
  RetentionVerdict,
} from '@berth/client/berth.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../../invocation/command-declaration.ts'
import { formatDuration, parseDurationOption } from '../../../invocation/durations.ts'
import { type Invocation, UsageError } from '../../../invocation/invocation.ts'
import { listCommand } from '../../../invocation/list-command.ts'
import { requireChange, yesOption } from '../../../invocation/options.ts'
import type { ResourceNames } from '../../../invocation/resource-names.ts'
import { idColumn } from '../../../output/columns.ts'
import type { View } from '../../../output/output.ts'
import { CommandFailed } from '../../../session/access-token.ts'
import { readRunFilters, runEndColumns, runOptions, runStartColumns } from '../../runs.ts'
import { repoParameters, resolveRepo } from './repos.ts'

/** Policies of repositories: immutable tags and retention. */

const formatUntagged = ({ retention }: RepoPolicy) =>
  retention?.untaggedAfter === undefined ? '' : `deleted after ${formatDuration(retention.untaggedAfter)}`

const policyView = (names: ResourceNames): View<RepoPolicy> => ({
  columns: [
    { title: 'REPO', kind: 'path', value: ({ uid }) => names.repoPath(uid) },
    idColumn,
    { title: 'IMMUTABLE', value: ({ immutableTags }) => immutableTags?.patterns.join(' ') ?? '' },
    { title: 'EXCEPT', value: ({ immutableTags }) => immutableTags?.exceptions.join(' ') ?? '' },
    { title: 'RETENTION', value: ({ retention }) => (retention?.enabled ? 'enabled' : 'not enabled') },
    {
      title: 'KEEP',
      kind: 'long',
      value: ({ retention }) => retention?.rules.map(formatRule).join('; ') ?? '',
    },
    { title: 'UNTAGGED', value: formatUntagged },
    { title: 'NEXT RUN', kind: 'time', value: ({ nextRunTime = '' }) => nextRunTime },
    { title: 'LAST RUN', kind: 'time', value: ({ lastRun }) => lastRun?.endTime ?? '' },
    { title: 'DELETED', value: ({ lastRun }) => (lastRun === undefined ? '' : formatCounts(lastRun)) },
    { title: 'ERROR', kind: 'long', value: ({ lastRun }) => lastRun?.error ?? '' },
    { title: 'CHANGED', kind: 'time', value: ({ updateTime = '' }) => updateTime, wide: true },
  ],
  load: (policies) => names.load({ repos: policies.map(({ uid }) => uid) }),
})

export const verdictView: View<RetentionVerdict> = {
  columns: [
    { title: 'TAG', kind: 'name', value: ({ tag }) => tag },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'DELETED', value: ({ deleted }) => (deleted ? 'yes' : '') },
    { title: 'REASON', kind: 'long', value: ({ reason }) => reason },
    { title: 'UPDATED', kind: 'time', value: ({ updateTime = '' }) => updateTime },
  ],
  id: ({ tag, digest }) => tag || digest,
  empty: 'no tags or manifests',
}

export function formatCounts({
  deletedTags,
  deletedManifests,
}: Readonly<Record<'deletedTags' | 'deletedManifests', number>>): string {
  return `${deletedTags} tags and ${deletedManifests} manifests`
}

/** Formats a rule in the syntax of `--keep`. */
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
      if (!/^[1-9]\d{0,5}$/.test(value))
        throw new UsageError(`--keep: newest=${value} must be a positive integer`)
      rule = { ...rule, newest: Number(value) }
    } else if (name === 'younger') rule = { ...rule, youngerThan: `${parseDurationOption('--keep', value)}s` }
    else patterns.push(word)
  }
  return { ...rule, patterns }
}

export async function loadRepoPath({ names }: Invocation, uid: string): Promise<string> {
  await names.load({ repos: [uid] })
  return names.repoPath(uid)
}

const retentionOptions: readonly OptionDeclaration[] = [
  {
    flags: '--keep <rule>',
    summary:
      'rule for tags to keep: patterns, newest=N and younger=AGE, all must match (repeatable; one matching rule is enough)',
    repeatable: true,
  },
  { flags: '--keep-all', summary: 'remove all rules and keep all tags', conflicts: ['keep'] },
  {
    flags: '--untagged-after <age>',
    summary: 'age after which untagged manifests are deleted, or never',
  },
]

/** Applies the options to the current retention. Returns undefined if none is given. */
function readRetention(invocation: Invocation, current: RepoPolicy['retention']): RetentionInput | undefined {
  const keep = invocation.optionValues('keep')
  const untagged = invocation.option('untaggedAfter')
  const [enable, disable] = [invocation.flag('enable'), invocation.flag('disable')]
  if (keep.length === 0 && untagged === '' && !invocation.flag('keepAll') && !enable && !disable)
    return undefined
  const { untaggedAfter: currentUntaggedAfter, ...rest } = current ?? { enabled: false, rules: [] }
  const untaggedAfter =
    untagged === ''
      ? currentUntaggedAfter
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
  const request = {
    uid,
    deletedOnly: invocation.flag('deleted'),
    pageSize: 200,
    ...(retention !== undefined && { retention }),
  }
  let pageToken = ''
  do {
    const page = await client.repoPolicies.previewRetention({ ...request, pageToken })
    yield* page.verdicts
    pageToken = page.nextPageToken
    if (pageToken === '') invocation.output.notice(`${formatCounts(page)} would be deleted`)
  } while (pageToken !== '')
}

async function* listRuns(invocation: Invocation): AsyncGenerator<RepoRetentionRun> {
  const repoUid = await resolveRepo(invocation)
  yield* (await invocation.client()).repoPolicies.allRetentionRuns({ repoUid, ...readRunFilters(invocation) })
}

const POLL_MS = 500

/** Waits for a run that started after the request. */
async function waitForRun(
  invocation: Invocation,
  uid: string,
  before: string | undefined,
): Promise<RepoPolicy> {
  const client = await invocation.client()
  for (;;) {
    const now = await client.repoPolicies.getRepoPolicy(uid)
    const hasEnded = now.lastRun?.endTime !== undefined && now.lastRun.beginTime !== before
    if (hasEnded || now.retention?.enabled !== true) {
      invocation.output.progress('')
      return now
    }
    invocation.output.progress('retention is running')
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

const commands: readonly CommandDeclaration[] = [
  {
    name: 'describe',
    aliases: ['get', 'show'],
    summary: 'Show the policy of a repo and its last retention run',
    parameters: repoParameters,
    examples: [
      'berth images policy describe nginx',
      'berth images policy describe my-org/team/nginx -o json',
    ],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      await invocation.output.item(
        await (await invocation.client()).repoPolicies.getRepoPolicy(uid),
        policyView(invocation.names),
      )
    },
  },
  {
    name: 'set',
    aliases: ['update'],
    summary: 'Change the policy of a repo; other settings stay unchanged',
    parameters: repoParameters,
    options: [
      {
        flags: '--immutable <patterns>',
        summary: 'patterns of immutable tags, * for all',
        repeatable: true,
      },
      {
        flags: '--except <patterns>',
        summary: 'patterns of tags excluded from --immutable',
        repeatable: true,
      },
      { flags: '--mutable', summary: 'make all tags mutable', conflicts: ['immutable', 'except'] },
      ...retentionOptions,
      { flags: '--enable', summary: 'enable retention: delete tags that no rule keeps' },
      { flags: '--disable', summary: 'disable retention', conflicts: ['enable'] },
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
        const verb = current.retention?.enabled ? 'Change' : 'Enable'
        await invocation.prompt.confirm(
          `${verb} retention on ${await loadRepoPath(invocation, uid)}? It deletes ${formatCounts(deleted)} now.`,
        )
      }
      const updateMask = Object.keys(patch)
      await invocation.output.item(
        await client.repoPolicies.updateRepoPolicy(uid, patch, { updateMask }),
        policyView(invocation.names),
      )
    },
  },
  listCommand({
    name: 'preview',
    summary: 'Preview what retention would delete, with the reasons',
    parameters: repoParameters,
    options: [{ flags: '--deleted', summary: 'show only what would be deleted' }, ...retentionOptions],
    examples: [
      'berth images policy preview nginx --deleted',
      "berth images policy preview nginx --keep 'v*' --keep newest=5 -o csv",
    ],
    view: () => verdictView,
    items: listVerdicts,
  }),
  {
    name: 'apply',
    aliases: ['run'],
    summary: 'Run retention now',
    parameters: repoParameters,
    options: [yesOption, { flags: '--no-wait', summary: 'do not wait for the run to end' }],
    examples: ['berth images policy apply nginx --yes'],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      const client = await invocation.client()
      const { deletedTags, deletedManifests } = await client.repoPolicies.previewRetention({
        uid,
        pageSize: 1,
      })
      const what = formatCounts({ deletedTags, deletedManifests })
      await invocation.prompt.confirm(`Delete ${what} from ${await loadRepoPath(invocation, uid)}?`)
      const { lastRun } = await client.repoPolicies.getRepoPolicy(uid)
      const policy = await client.repoPolicies.applyRetention({ uid })
      const after = invocation.flag('wait') ? await waitForRun(invocation, uid, lastRun?.beginTime) : policy
      await invocation.output.item(after, policyView(invocation.names))
      if (invocation.flag('wait') && after.lastRun?.error) throw new CommandFailed(after.lastRun.error)
    },
  },
  listCommand<RepoRetentionRun>({
    name: 'runs',
    aliases: ['history'],
    summary:
      'List the retention runs of a repo, newest first; scheduled runs that delete nothing are not recorded',
    parameters: repoParameters,
    options: runOptions,
    examples: [
      'berth images policy runs nginx',
      'berth images policy runs my-org/team/nginx --state failed --since 7d -o json',
    ],
    view: () => ({
      columns: [
        ...runStartColumns,
        { title: 'TAGS', value: ({ deletedTags }) => String(deletedTags) },
        { title: 'MANIFESTS', value: ({ deletedManifests }) => String(deletedManifests) },
        ...runEndColumns,
      ],
      id: ({ uid }) => uid,
      empty: 'no runs recorded',
    }),
    items: listRuns,
  }),
]

export const policyGroup: CommandGroup = {
  name: 'policy',
  aliases: ['policies'],
  summary: 'Manage immutable tags and retention of repositories',
  commands,
}
