import type { BerthClient, Binding, Decision, Override, PolicyMode } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { requireOption, scopeOptions, yesOption } from '../../invocation/options.ts'
import { readScope } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { parentUid } from '../../invocation/resource-uids.ts'
import type { View } from '../../output/output.ts'
import { readParameters, resolvePolicy, resolveTarget } from './lookup.ts'
import { policyParameter } from './policies.ts'

/** Commands that apply policies: bindings, overrides, and the decisions that follow. */

const modes: Readonly<Record<string, PolicyMode>> = {
  enforced: 'POLICY_MODE_ENFORCED',
  'dry-run': 'POLICY_MODE_DRY_RUN',
}

const modeText = (mode: PolicyMode) => (mode === 'POLICY_MODE_ENFORCED' ? 'enforced' : 'dry-run')

const targetParameter = { name: 'TARGET', summary: 'organization, folder or repo (uid or path)' }

type PolicyNames = ReadonlyMap<string, string>

async function readPolicyNames(client: BerthClient): Promise<PolicyNames> {
  return new Map((await toArray(client.policies.all())).map(({ id, name }) => [id, name]))
}

/** Loads the paths of the groups and repos that contain the items. */
function loadParents(names: ResourceNames) {
  return (items: readonly { readonly id: string }[]) => {
    const uids = items.map(({ id }) => parentUid(id))
    return names.load({ groups: uids, repos: uids })
  }
}

const bindingView = (names: ResourceNames, policies: PolicyNames): View<Binding> => ({
  columns: [
    { title: 'TARGET', kind: 'path', value: ({ id }) => names.resourcePath(parentUid(id)) },
    { title: 'POLICY', kind: 'name', value: ({ policy }) => policies.get(policy) ?? policy },
    { title: 'MODE', value: ({ mode }) => modeText(mode) },
    {
      title: 'PARAMETERS',
      value: ({ parameters }) =>
        Object.entries(parameters)
          .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(',') : String(value)}`)
          .join(' '),
    },
    { title: 'ID', kind: 'uid', value: ({ id }) => id },
  ],
  id: ({ id }) => id,
  empty: 'no bindings visible to you: no policy applies',
  load: loadParents(names),
})

export const bindingCommands: readonly CommandDeclaration[] = [
  {
    name: 'bind',
    summary: 'Apply a policy to an organization, a folder or a repo',
    parameters: [policyParameter, targetParameter],
    options: [
      {
        flags: '--mode <mode>',
        summary: 'what a denial does',
        choices: Object.keys(modes),
        default: 'enforced',
      },
      {
        flags: '--parameter <name=value>',
        summary: 'value of a parameter; a list has commas (repeatable)',
        repeatable: true,
      },
    ],
    notes: 'Start with --mode dry-run, and read berth policies decisions before you enforce a policy.',
    examples: [
      'berth policies bind highest-severity my-org --mode dry-run --parameter severity=critical',
      "berth policies bind tag-pattern my-org/team/app --parameter 'patterns=v*,release-*'",
    ],
    async run(invocation) {
      const policy = await resolvePolicy(invocation, invocation.argument(0), 'POLICY')
      const target = await resolveTarget(invocation, invocation.argument(1), 'TARGET')
      const parameters = readParameters(invocation.optionValues('parameter'), policy.parameterSchemas)
      const mode = modes[invocation.option('mode')] ?? 'POLICY_MODE_ENFORCED'
      const client = await invocation.client()
      const binding = await client.bindings.create(target, { policy: policy.id, mode, parameters })
      await invocation.output.item(
        binding,
        bindingView(invocation.names, new Map([[policy.id, policy.name]])),
      )
    },
  },
  {
    name: 'unbind',
    summary: 'Delete a binding',
    parameters: [{ name: 'BINDING', summary: 'id', required: true }],
    options: [yesOption],
    examples: ['berth policies unbind 7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745/0c9be4172fa8d356 --yes'],
    async run(invocation) {
      const id = invocation.argument(0)
      await invocation.prompt.confirm(`Delete the binding ${id}?`)
      await (await invocation.client()).bindings.delete(id)
      invocation.output.notice(`deleted ${id}`)
    },
  },
  listCommand<Binding>({
    name: 'bindings',
    summary: 'List bindings',
    options: scopeOptions,
    examples: ['berth policies bindings', 'berth policies bindings --parent my-org'],
    view: async (invocation) =>
      bindingView(invocation.names, await readPolicyNames(await invocation.client())),
    serverSort: { id: 'id', created: 'created_at', updated: 'updated_at' },
    items: async (invocation, request) =>
      (await invocation.client()).bindings.all({ ...request, ...(await readScope(invocation)) }),
  }),
]

const results: Readonly<Record<string, Decision['result']>> = {
  allowed: 'RESULT_ALLOWED',
  denied: 'RESULT_DENIED',
  error: 'RESULT_ERROR',
}

const resultText = (result: Decision['result']) => result.replace('RESULT_', '').toLowerCase()

const dayText = ({ pulledOn }: Decision): string => {
  const { year = 0, month = 0, day = 0 } = pulledOn ?? {}
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}

const decisionView = (names: ResourceNames): View<Decision> => ({
  columns: [
    { title: 'DAY', value: dayText },
    { title: 'REPO', kind: 'path', value: ({ repoId }) => names.repoPath(repoId) },
    { title: 'POLICY', kind: 'name', value: ({ policyName }) => policyName },
    { title: 'MODE', value: ({ mode }) => modeText(mode) },
    { title: 'RESULT', value: ({ result }) => resultText(result) },
    { title: 'DIGEST', kind: 'uid', value: ({ digest }) => digest },
    { title: 'REASON', kind: 'long', value: ({ reason }) => reason },
    { title: 'ID', kind: 'uid', value: ({ id }) => id, wide: true },
  ],
  id: ({ id }) => id,
  empty: 'no decisions: no policy applied to a pull',
  load: (items) => names.load({ repos: items.map(({ repoId }) => repoId) }),
})

/** Reads a day such as 2026-11-23. */
function readDay(invocation: Invocation, option: string) {
  const text = invocation.option(option)
  if (text === '') return undefined
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year === undefined) throw new UsageError(`--${option} must be a day such as 2026-11-23`)
  return { year: Number(year), month: Number(month), day: Number(day) }
}

/** The client writes nested fields as parameters such as `since.year`. */
async function listDecisions(invocation: Invocation, request: object) {
  const client = await invocation.client()
  const word = invocation.option('policy')
  const policy = word === '' ? undefined : await resolvePolicy(invocation, word, '--policy')
  const since = readDay(invocation, 'since')
  const until = readDay(invocation, 'until')
  const mode = modes[invocation.option('mode')]
  const result = results[invocation.option('result')]
  const digest = invocation.option('digest')
  return client.decisions.all({
    ...request,
    ...(await readScope(invocation)),
    ...(policy !== undefined && { policyId: policy.id }),
    ...(mode !== undefined && { mode }),
    ...(result !== undefined && { result }),
    ...(digest !== '' && { digest }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  })
}

export const decisionsCommand: CommandDeclaration = listCommand<Decision>({
  name: 'decisions',
  summary: 'List decisions about pulls',
  options: [
    { flags: '--policy <policy>', summary: 'policy (id or name)' },
    { flags: '--mode <mode>', summary: 'mode of the binding', choices: Object.keys(modes) },
    { flags: '--result <result>', summary: 'result', choices: Object.keys(results) },
    { flags: '--digest <digest>', summary: 'digest of the manifest' },
    { flags: '--since <day>', summary: 'first day, such as 2026-11-23' },
    { flags: '--until <day>', summary: 'last day' },
    ...scopeOptions,
  ],
  examples: [
    'berth policies decisions --result denied --since 2026-11-01',
    'berth policies decisions --parent my-org --mode dry-run',
  ],
  view: ({ names }) => decisionView(names),
  serverSort: { day: 'pulled_on', id: 'id' },
  items: listDecisions,
})

const overrideView = (names: ResourceNames, policies: PolicyNames): View<Override> => ({
  columns: [
    { title: 'TARGET', kind: 'path', value: ({ id }) => names.resourcePath(parentUid(id)) },
    { title: 'POLICY', kind: 'name', value: ({ policyId }) => policies.get(policyId) ?? policyId },
    { title: 'DIGEST', kind: 'uid', value: ({ digest }) => digest },
    { title: 'REASON', kind: 'long', value: ({ reason }) => reason },
    { title: 'CREATED BY', value: ({ createdBy }) => names.identityName(createdBy) },
    { title: 'CREATED', kind: 'time', value: ({ createdAt = '' }) => createdAt, wide: true },
    { title: 'ID', kind: 'uid', value: ({ id }) => id },
  ],
  id: ({ id }) => id,
  empty: 'no overrides visible to you',
  async load(items) {
    await loadParents(names)(items)
    await names.load({ identities: items.map(({ createdBy }) => createdBy) })
  },
})

export const overridesGroup: CommandGroup = {
  name: 'overrides',
  aliases: ['override'],
  summary: 'Let single digests pass a policy',
  commands: [
    listCommand<Override>({
      summary: 'List overrides',
      options: scopeOptions,
      examples: ['berth policies overrides list'],
      view: async (invocation) =>
        overrideView(invocation.names, await readPolicyNames(await invocation.client())),
      serverSort: { id: 'id', created: 'created_at' },
      items: async (invocation, request) =>
        (await invocation.client()).overrides.all({ ...request, ...(await readScope(invocation)) }),
    }),
    {
      name: 'create',
      summary: 'Let a digest pass a policy',
      parameters: [targetParameter],
      options: [
        { flags: '--policy <policy>', summary: 'policy (id or name)' },
        { flags: '--digest <digest>', summary: 'digest of the manifest; that of an index covers its images' },
        { flags: '--reason <text>', summary: 'why the image may be pulled' },
      ],
      examples: [
        'berth policies overrides create my-org/team/app --policy signed-by --digest sha256:4e07... --reason "fixed in the next release"',
      ],
      async run(invocation) {
        const digest = requireOption(invocation, 'digest', '--digest')
        const reason = requireOption(invocation, 'reason', '--reason')
        const { id: policyId, name } = await resolvePolicy(
          invocation,
          requireOption(invocation, 'policy', '--policy'),
          '--policy',
        )
        const target = await resolveTarget(invocation, invocation.argument(0), 'TARGET')
        const client = await invocation.client()
        await invocation.output.item(
          await client.overrides.create(target, { policyId, digest, reason }),
          overrideView(invocation.names, new Map([[policyId, name]])),
        )
      },
    },
    {
      name: 'delete',
      aliases: ['rm'],
      summary: 'Delete an override',
      parameters: [{ name: 'OVERRIDE', summary: 'id', required: true }],
      options: [yesOption],
      examples: [
        'berth policies overrides delete 7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745/ae41d7093b6c52f8 --yes',
      ],
      async run(invocation) {
        const id = invocation.argument(0)
        await invocation.prompt.confirm(`Delete the override ${id}?`)
        await (await invocation.client()).overrides.delete(id)
        invocation.output.notice(`deleted ${id}`)
      },
    },
  ],
}
