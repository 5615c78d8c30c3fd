import type {
  AccessSource,
  ExplainAccessResponse,
  HiddenAccess,
  Member,
  MemberKind,
} from '@berth/client/berth.ts'
import type { CommandDeclaration, CommandGroup } from '../../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../../invocation/invocation.ts'
import { listCommand } from '../../../invocation/list-command.ts'
import { requireOption } from '../../../invocation/options.ts'
import {
  isNotFound,
  resolveGroupUid,
  resolveIdentityUid,
  resolveRepoUid,
  resolveRoleUid,
} from '../../../invocation/resource-lookup.ts'
import { formatPerson } from '../../../invocation/resource-names.ts'
import { isUid } from '../../../invocation/resource-uids.ts'
import type { View } from '../../../output/output.ts'
import { plural } from '../../../output/plural.ts'

/** Reports who can do what, and why. */

const placeParameter = { name: 'GROUP', summary: 'organization, folder or repo' } as const

const kinds: Readonly<Record<string, MemberKind>> = {
  user: 'MEMBER_KIND_USER',
  workload: 'MEMBER_KIND_WORKLOAD',
  'external-group': 'MEMBER_KIND_EXTERNAL_GROUP',
}

const formatKind = (kind: MemberKind): string =>
  Object.keys(kinds)
    .find((name) => kinds[name] === kind)
    ?.replace('-', ' ') ?? ''

/** `direct`, `acme` (an ancestor) or `group Engineers of corp`. */
function formatSource({
  kind,
  group,
  externalGroup,
  identityProvider,
  acceptedThrough,
}: AccessSource): string {
  if (kind === 'KIND_GROUP_MAPPING') return `group ${externalGroup} of ${identityProvider?.name ?? ''}`
  const where = kind === 'KIND_DIRECT' ? 'direct' : group?.name || group?.uid || ''
  return acceptedThrough === undefined
    ? where
    : `${where} (accepted through ${acceptedThrough.name || acceptedThrough.uid})`
}

const formatSources = (sources: readonly AccessSource[]) => sources.map(formatSource).join(', ')

const memberView: View<Member> = {
  columns: [
    { title: 'NAME', kind: 'name', value: (member) => formatPerson(member) || member.uid },
    { title: 'KIND', value: ({ kind }) => formatKind(kind) },
    { title: 'ROLE', kind: 'name', value: ({ role }) => role?.name ?? '' },
    { title: 'FROM', kind: 'name', value: ({ sources }) => formatSources(sources) },
    { title: 'LAST SEEN', kind: 'time', value: ({ lastSeenTime = '' }) => lastSeenTime, wide: true },
    { title: 'ID', kind: 'uid', value: ({ uid }) => uid, wide: true },
    { title: 'ROLE ID', kind: 'uid', value: ({ role }) => role?.uid ?? '', wide: true },
  ],
  empty: 'no one has a role here that you can read',
}

/** Resolves an organization, a folder or a repo. */
async function resolvePlaceUid(invocation: Invocation, at = 0): Promise<string> {
  const word = invocation.argument(at)
  return resolveGroupUid(invocation, word, 'GROUP').catch(async (error: unknown) => {
    if (!isNotFound(error)) throw error
    return resolveRepoUid(invocation, word).catch((failure: unknown) => {
      throw isNotFound(failure) ? error : failure
    })
  })
}

/** Resolves an identity by its uid, or by the name or email address of a workload or a user with a role in the organization. */
async function resolveCandidateUid(invocation: Invocation, place: string, word: string): Promise<string> {
  if (isUid(word)) return word
  const client = await invocation.client()
  const { identities } = await client.access.findCandidates({ uid: place, query: word })
  const found = identities.filter(({ name, email }) => name === word || email === word.toLowerCase())
  const [one, ...more] = found
  if (more.length > 0)
    throw new UsageError(
      `${JSON.stringify(word)} matches several: ${found.map(({ uid }) => uid).join(', ')}; use the uid`,
    )
  return one?.uid ?? resolveIdentityUid(invocation, word, '--identity')
}

interface MemberPage {
  readonly members: readonly Member[]
  readonly nextPageToken: string
  readonly hidden: readonly HiddenAccess[]
  readonly suspended: boolean
}

async function* readPages(
  { output }: Invocation,
  read: (pageToken: string) => Promise<MemberPage>,
): AsyncGenerator<Member> {
  let pageToken = ''
  const notices: string[] = []
  do {
    const page = await read(pageToken)
    if (pageToken === '') {
      if (page.suspended) notices.push('the organization is suspended: no role in it applies')
      notices.push(...page.hidden.map(formatHidden))
    }
    yield* page.members
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  for (const notice of notices) output.notice(notice)
}

function formatHidden({ group, role, users, workloads, externalGroups }: HiddenAccess): string {
  const counts = [
    formatCount(users, 'user'),
    formatCount(workloads, 'workload'),
    formatCount(externalGroups, 'external group'),
  ].filter((text) => text !== '')
  return `not shown: ${counts.join(', ')} with the role ${role} in ${group?.name || group?.uid}, whose role bindings you cannot read`
}

const formatCount = (n: number, noun: string) => (n === 0 ? '' : plural(n, noun))

const PAGE_SIZE = 200

/** Throws a UsageError for an unknown capability. Their names are not loaded to print a help. */
async function requireCapability(option: string, name: string): Promise<void> {
  const { parseCapabilities } = await import('../capability-names.ts')
  parseCapabilities(option, [name])
}

async function explain(invocation: Invocation): Promise<void> {
  const place = await resolvePlaceUid(invocation)
  const [capability, method] = [invocation.option('capability'), invocation.option('method')]
  if ((capability === '') === (method === '')) throw new UsageError('specify --capability or --method')
  if (capability !== '') await requireCapability('--capability', capability)
  const word = requireOption(invocation, 'identity', '--identity')
  const identity = await resolveCandidateUid(invocation, place, word)
  const client = await invocation.client()
  const result = await client.access.explainAccess({ uid: place, identity, capability, method })
  invocation.output.result(result, formatExplanation(result, word))
  if (result.outcome !== 'OUTCOME_ALLOWED') process.exitCode = 1
}

const notes = {
  NOTE_UNSPECIFIED: '',
  NOTE_ORGANIZATION_SUSPENDED: 'The organization is suspended: no role in it applies.',
  NOTE_OPERATOR_ONLY: 'Only the operator of the server can grant this.',
  NOTE_ANCESTORS_HIDDEN: 'You cannot read the role bindings of all ancestors.',
  NOTE_NO_CAPABILITY_REQUIRED: 'The method requires no capability.',
} as const

const outcomes = {
  OUTCOME_UNSPECIFIED: 'unknown',
  OUTCOME_ALLOWED: 'yes',
  OUTCOME_DENIED: 'no',
  OUTCOME_UNKNOWN: 'unknown: the roles that you can read do not suffice',
} as const

/** The result, each capability, each role with its sources, and what else applies, one in each line. */
function formatExplanation(result: ExplainAccessResponse, word: string): string {
  const name = (result.identity && formatPerson(result.identity)) || word
  const lines = [
    `${name}: ${outcomes[result.outcome]}`,
    ...result.capabilities.map(({ capability, held, roles }) =>
      held
        ? `  ✔ ${capability}${roles.length === 0 ? ': owners have it by a setting of the server' : `: ${roles.join(', ')}`}`
        : `  ✘ ${capability}`,
    ),
    ...result.roles.map(
      ({ role, sources, sufficient }) =>
        `  role ${role?.name}: ${formatSources(sources)}${sufficient ? '' : ' (does not suffice)'}`,
    ),
    ...result.signIns.map(
      ({ identityProvider, allowed }) =>
        `  signed in through ${identityProvider?.name || identityProvider?.uid}: ${allowed ? 'yes' : 'no'}`,
    ),
    ...result.notes.map((note) => `  ${notes[note]}`),
    ...(result.suggestedRoles.length === 0
      ? []
      : [`  Roles that suffice: ${result.suggestedRoles.join(', ')}`]),
  ]
  return `${lines.join('\n')}\n`
}

const commands: readonly CommandDeclaration[] = [
  listCommand<Member>({
    summary: 'List who has roles in an organization, a folder or a repo, and where each role comes from',
    parameters: [placeParameter],
    options: [
      { flags: '--query <text>', summary: 'part of the name or email address' },
      { flags: '--kind <kind>', summary: 'kind of members', choices: Object.keys(kinds) },
      { flags: '--role <role>', summary: 'role (uid or name)' },
      { flags: '--direct', summary: 'only roles in this group itself' },
    ],
    examples: ['berth iam access list my-org/team', 'berth iam access list my-org --kind user --role owner'],
    view: () => memberView,
    async items(invocation) {
      const uid = await resolvePlaceUid(invocation)
      const role = invocation.option('role')
      const client = await invocation.client()
      const kind = kinds[invocation.option('kind')]
      const request = {
        uid,
        query: invocation.option('query'),
        directOnly: invocation.flag('direct'),
        ...(kind !== undefined && { kind }),
        ...(role !== '' && { role: await resolveRoleUid(invocation, role, { group: uid }) }),
        pageSize: PAGE_SIZE,
      }
      return readPages(invocation, (pageToken) => client.access.findMembers({ ...request, pageToken }))
    },
  }),
  {
    name: 'explain',
    summary: 'Explain whether an identity can do something, and why. Sets exit code 1 if it cannot',
    parameters: [placeParameter],
    options: [
      { flags: '--identity <identity>', summary: 'uid, name or email address' },
      { flags: '--capability <capability>', summary: 'capability, such as repo.create' },
      {
        flags: '--method <method>',
        summary: 'method of the API, such as chainguard.platform.registry.v2beta1.ReposService/CreateRepo',
        conflicts: ['capability'],
      },
    ],
    examples: [
      'berth iam access explain my-org/team --identity ada@example.com --capability manifest.create',
      'berth iam access explain my-org/team/web --identity ci --capability repo.blobs.get --json',
    ],
    run: explain,
  },
  listCommand<Member>({
    name: 'who-can',
    summary: 'List who has a capability in an organization, a folder or a repo',
    parameters: [{ name: 'CAPABILITY', summary: 'such as repo.create', required: true }, placeParameter],
    examples: ['berth iam access who-can manifest.create my-org/team'],
    view: () => memberView,
    async items(invocation) {
      const capability = invocation.argument(0)
      await requireCapability('CAPABILITY', capability)
      const uid = await resolvePlaceUid(invocation, 1)
      const client = await invocation.client()
      return readPages(invocation, (pageToken) =>
        client.access.whoCan({ uid, capability, pageSize: PAGE_SIZE, pageToken }),
      )
    },
  }),
]

export const accessGroup: CommandGroup = {
  name: 'access',
  summary: 'Report who can do what, and why',
  commands,
}
