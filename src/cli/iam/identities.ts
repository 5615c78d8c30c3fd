import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { BerthClient, Identity, IdentityInput, RelationshipType } from '../../../client/berth.ts'
import { PULL_TOKEN_ISSUER } from '../auth/pull-token-issuer.ts'
import type { CommandDeclaration, CommandGroup, OptionDeclaration } from '../client/command.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import { groupUid, identityUid, roleUid, scopeOf } from '../client/locate.ts'
import type { View } from '../client/output.ts'
import { changes, chosen, descriptionOption, yes } from './groups.ts'

/** Identities: who may act, and which tokens of others speak for them. */

function typeOf(identity: Identity): string {
  if (identity.claimMatch !== undefined) return 'claim_match'
  if (identity.staticKeys !== undefined)
    return identity.staticKeys.issuer === PULL_TOKEN_ISSUER ? 'pull_token' : 'static'
  if (identity.awsIdentity !== undefined) return 'aws'
  return identity.servicePrincipal === undefined ? 'user' : 'service_principal'
}

const expiryOf = ({ staticKeys }: Identity) => staticKeys?.expirationTime ?? ''

function issuerOf({ claimMatch, staticKeys, awsIdentity }: Identity): string {
  if (awsIdentity !== undefined) return awsIdentity.arn ?? awsIdentity.arnPattern ?? ''
  return claimMatch?.issuer ?? claimMatch?.issuerPattern ?? staticKeys?.issuer ?? ''
}

export const identityView: View<Identity> = {
  columns: [
    { title: 'ID', value: ({ uid }) => uid },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'TYPE', value: typeOf },
    { title: 'DESCRIPTION', value: ({ description }) => description },
    { title: 'ISSUER', value: issuerOf },
    { title: 'EXPIRES', value: expiryOf },
    { title: 'LAST SEEN', value: ({ lastSeenTime = '' }) => lastSeenTime, wide: true },
  ],
  empty: 'no identities that you may see',
}

const parent: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'the organization or folder that it lies in',
}
const roles: OptionDeclaration = {
  flags: '--role <role>',
  summary: 'a role that it gets where it lies (repeatable)',
  repeatable: true,
}
const common = [parent, descriptionOption, roles] as const
const nameParameter = [{ name: 'NAME', summary: 'what to call it' }] as const

const matching: readonly OptionDeclaration[] = [
  { flags: '--identity-issuer <url>', summary: 'who signs the tokens', conflicts: ['identityIssuerPattern'] },
  { flags: '--identity-issuer-pattern <re2>', summary: 'the same as a pattern of the whole issuer' },
  { flags: '--subject <sub>', summary: 'the sub of the tokens', conflicts: ['subjectPattern'] },
  { flags: '--subject-pattern <re2>', summary: 'the same as a pattern of the whole sub' },
  { flags: '--claim-audience <aud>', summary: 'the aud of the tokens (default: the token service)' },
  { flags: '--audience-pattern <re2>', summary: 'the same as a pattern' },
  {
    flags: '--claim <name:value>',
    summary: 'a claim that the tokens have with this value (repeatable)',
    repeatable: true,
  },
  {
    flags: '--claim-pattern <name:re2>',
    summary: 'a claim whose value matches a pattern (repeatable)',
    repeatable: true,
  },
  {
    flags: '--issuer-keys <file>',
    summary: 'JWKS file with the keys that sign the tokens, instead of an issuer that is asked',
  },
  { flags: '--expiration <yyyy-mm-dd>', summary: 'until when those keys count (default: 30 days)' },
  { flags: '-f, --file <file>', summary: 'the identity as JSON or YAML, in the form of the API' },
]

/** `name:value` pairs as a map. */
function pairs(option: string, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    values.map((value) => {
      const mark = value.indexOf(':')
      if (mark < 1) throw new UsageError(`${option}: ${JSON.stringify(value)} must be NAME:VALUE`)
      return [value.slice(0, mark), value.slice(mark + 1)]
    }),
  )
}

function readFile(option: string, file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`${option}: ${(error as Error).message}`)
  }
}

const DAY_MS = 24 * 60 * 60 * 1000
const STATIC_DAYS = 30

/** The relationship that the options describe; undefined when none of them was given. */
function relationship(invocation: Invocation): Partial<IdentityInput> | undefined {
  const { given, text, list } = invocation
  const file = text('file')
  if (file !== '') return parse(readFile('--file', file)) as Partial<IdentityInput>
  const issuer = given('identityIssuer')
  const subject = given('subject')
  const keys = text('issuerKeys')
  if (keys !== '') {
    if (issuer === undefined || subject === undefined)
      throw new UsageError('--issuer-keys needs --identity-issuer and --subject')
    const until = text('expiration')
    const time = until === '' ? Date.now() + STATIC_DAYS * DAY_MS : Date.parse(`${until}T00:00:00Z`)
    if (Number.isNaN(time)) throw new UsageError('--expiration must be a date such as 2027-01-31')
    const audience = text('claimAudience')
    return {
      staticKeys: {
        issuer,
        subject,
        issuerKeys: readFile('--issuer-keys', keys),
        expirationTime: new Date(time).toISOString(),
        ...(audience === '' ? {} : { audiences: [audience] }),
      },
    }
  }
  const claims = pairs('--claim', list('claim'))
  const claimPatterns = pairs('--claim-pattern', list('claimPattern'))
  const parts = {
    issuer,
    issuerPattern: given('identityIssuerPattern'),
    subject,
    subjectPattern: given('subjectPattern'),
    audience: given('claimAudience'),
    audiencePattern: given('audiencePattern'),
    ...(Object.keys(claims).length === 0 ? {} : { claims }),
    ...(Object.keys(claimPatterns).length === 0 ? {} : { claimPatterns }),
  }
  return Object.values(parts).every((part) => part === undefined) ? undefined : { claimMatch: parts }
}

/** Makes an identity and gives it its roles; when one of them cannot be given, the identity does not stay behind. */
async function create(invocation: Invocation, related: Partial<IdentityInput>): Promise<void> {
  const name = invocation.word(0) || (await invocation.ask.text('Name of the identity?', 'NAME'))
  const group = await groupUid(invocation, invocation.text('parent'), '--parent')
  const given: string[] = []
  for (const role of invocation.list('role')) given.push(await roleUid(invocation, role, group))
  const client = await invocation.client()
  const made = await client.identities.create(group, {
    ...related,
    name,
    ...changes(invocation, 'description'),
  } as IdentityInput)
  try {
    for (const role of given)
      await client.roleBindings.create(group, { identityUid: made.uid, roleUid: role })
  } catch (error) {
    await removeWithBindings(client, made.uid)
    throw error
  }
  invocation.output.item(made, identityView)
}

async function removeWithBindings(client: BerthClient, uid: string): Promise<void> {
  const bindings: string[] = []
  for await (const binding of client.roleBindings.all({ identity: uid })) bindings.push(binding.uid)
  for (const binding of bindings) await client.roleBindings.delete(binding)
  await client.identities.delete(uid)
}

function needed(invocation: Invocation, option: string, flag: string): string {
  const value = invocation.text(option)
  if (value === '') throw new UsageError(`${flag} must be given`)
  return value
}

const GITHUB = 'https://token.actions.githubusercontent.com'

const createCommands: readonly CommandDeclaration[] = [
  {
    name: 'github',
    summary: 'an identity for workflows of a GitHub repository',
    parameters: nameParameter,
    options: [
      { flags: '--github-repo <owner/repo>', summary: 'the repository' },
      { flags: '--github-ref <ref>', summary: 'the ref that workflows run on (default: any)' },
      {
        flags: '--github-audience <aud>',
        summary: 'the audience that they ask for (default: the token service)',
      },
      ...common,
    ],
    examples: [
      'berth iam identities create github ci --github-repo acme/app --github-ref refs/heads/main --parent my-org --role registry.push',
    ],
    async run(invocation) {
      const repo = needed(invocation, 'githubRepo', '--github-repo')
      if (!/^[\w.-]+\/[\w.-]+$/.test(repo)) throw new UsageError('--github-repo must be OWNER/REPO')
      const ref = invocation.text('githubRef')
      const audience = invocation.text('githubAudience')
      await create(invocation, {
        claimMatch: {
          issuer: GITHUB,
          ...(ref === ''
            ? { subjectPattern: `repo:${escaped(repo)}:.+` }
            : { subject: `repo:${repo}:ref:${ref}` }),
          ...(audience === '' ? {} : { audience }),
        },
      } as Partial<IdentityInput>)
    },
  },
  {
    name: 'gitlab',
    summary: 'an identity for pipelines of a GitLab project',
    parameters: nameParameter,
    options: [
      { flags: '--project-path <group/project>', summary: 'the project' },
      {
        flags: '--ref-type <type>',
        summary: 'what pipelines run on',
        choices: ['branch', 'tag'],
        default: 'branch',
      },
      { flags: '--ref <name>', summary: 'the branch or tag (default: any)' },
      { flags: '--gitlab-url <url>', summary: 'the GitLab server', default: 'https://gitlab.com' },
      ...common,
    ],
    examples: [
      'berth iam identities create gitlab ci --project-path acme/app --ref main --parent my-org --role registry.push',
    ],
    async run(invocation) {
      const project = needed(invocation, 'projectPath', '--project-path')
      const ref = invocation.text('ref')
      const prefix = `project_path:${project}:ref_type:${invocation.text('refType')}:ref:`
      await create(invocation, {
        claimMatch: {
          issuer: invocation.text('gitlabUrl').replace(/\/$/, ''),
          ...(ref === '' ? { subjectPattern: `${escaped(prefix)}.+` } : { subject: prefix + ref }),
        },
      } as Partial<IdentityInput>)
    },
  },
  ...(['role', 'user'] as const).map(
    (kind): CommandDeclaration => ({
      name: `aws-${kind}`,
      summary: `an identity for an AWS ${kind}`,
      parameters: nameParameter,
      options: [
        { flags: '--aws-account-id <id>', summary: 'the account, 12 digits' },
        { flags: `--aws-${kind}-name <name>`, summary: `name of the ${kind}` },
        { flags: `--aws-${kind}-id <id>`, summary: `its unique id, ${kind === 'role' ? 'AROA…' : 'AIDA…'}` },
        { flags: '--aws-partition <partition>', summary: 'aws, aws-us-gov or aws-cn', default: 'aws' },
        ...common,
      ],
      examples: [
        `berth iam identities create aws-${kind} build --aws-account-id 123456789012 --aws-${kind}-name build --aws-${kind}-id ${kind === 'role' ? 'AROAEXAMPLEID' : 'AIDAEXAMPLEID'} --parent my-org`,
      ],
      async run(invocation) {
        const awsAccount = needed(invocation, 'awsAccountId', '--aws-account-id')
        const isRole = kind === 'role'
        const name = needed(invocation, isRole ? 'awsRoleName' : 'awsUserName', `--aws-${kind}-name`)
        const id = needed(invocation, isRole ? 'awsRoleId' : 'awsUserId', `--aws-${kind}-id`)
        const partition = invocation.text('awsPartition')
        await create(invocation, {
          awsIdentity: isRole
            ? {
                awsAccount,
                arnPattern: `arn:${partition}:sts::${awsAccount}:assumed-role/${escaped(name)}/(.+)`,
                userIdPattern: `${escaped(id)}:(.+)`,
              }
            : { awsAccount, arn: `arn:${partition}:iam::${awsAccount}:user/${name}`, userId: id },
        } as Partial<IdentityInput>)
      },
    }),
  ),
]

/** A text as a pattern of RE2 that matches it alone. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

const types: Readonly<Record<string, RelationshipType>> = {
  claim_match: 'RELATIONSHIP_TYPE_CLAIM_MATCH',
  static: 'RELATIONSHIP_TYPE_STATIC',
  pull_token: 'RELATIONSHIP_TYPE_STATIC',
  aws: 'RELATIONSHIP_TYPE_AWS_IDENTITY',
  service_principal: 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL',
}

const isExpired = (identity: Identity) => {
  const until = expiryOf(identity)
  return until !== '' && Date.parse(until) <= Date.now()
}

/** Also `berth auth pull-token list`. */
export async function* listed(
  invocation: Invocation,
  only: { readonly type: string; readonly expired: boolean; readonly name: string },
): AsyncGenerator<Identity> {
  const client = await invocation.client()
  const relationshipType = types[only.type]
  const all = client.identities.all({
    ...(await scopeOf(invocation)),
    ...(only.name === '' ? {} : { name: only.name }),
    ...(relationshipType === undefined ? {} : { relationshipType }),
  })
  yield* chosen(
    all,
    (identity) =>
      (only.type === '' || typeOf(identity) === only.type) && (!only.expired || isExpired(identity)),
  )
}

export const recursiveOption: OptionDeclaration = {
  flags: '--no-recursive',
  summary: 'only what lies directly in the parent',
}

const commands: readonly (CommandDeclaration | CommandGroup)[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list identities',
    options: [
      { flags: '--parent <group>', summary: 'the organization or folder to look in' },
      recursiveOption,
      { flags: '--name <name>', summary: 'only those of this name' },
      {
        flags: '--type, --relationship <type>',
        summary: 'only those of this kind',
        choices: Object.keys(types),
      },
      { flags: '--expired', summary: 'only those whose keys have expired' },
    ],
    examples: [
      'berth iam identities list --parent my-org',
      'berth iam identities list --type static --expired -o id',
    ],
    async run(invocation) {
      const only = {
        type: invocation.text('relationship'),
        expired: invocation.flag('expired'),
        name: invocation.text('name'),
      }
      await invocation.output.list(listed(invocation, only), identityView)
    },
  },
  {
    name: 'create',
    summary: 'make an identity that tokens may assume',
    commands: [
      {
        name: 'token',
        aliases: ['claims'],
        summary: 'an identity for tokens with these claims, or signed by these keys',
        parameters: nameParameter,
        options: [...matching, ...common],
        examples: [
          'berth iam identities create token deployer --identity-issuer https://issuer.example.com --subject deploy --parent my-org --role viewer',
          'berth iam identities create token robot --identity-issuer https://robots.example.com --subject r1 --issuer-keys keys.json --parent my-org',
        ],
        async run(invocation) {
          const related = relationship(invocation)
          if (related === undefined)
            throw new UsageError(
              'say which tokens may assume it: --identity-issuer and --subject, --issuer-keys or --file; or use create github, gitlab, aws-role, aws-user',
            )
          await create(invocation, related)
        },
      },
      ...createCommands,
    ],
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show an identity',
    parameters: [{ name: 'IDENTITY', summary: 'its uid or name' }],
    examples: ['berth iam identities describe ci -o yaml'],
    async run(invocation) {
      const uid = await identityUid(invocation, invocation.word(0))
      invocation.output.item(await (await invocation.client()).identities.get(uid), identityView)
    },
  },
  {
    name: 'update',
    summary: 'change an identity',
    parameters: [{ name: 'IDENTITY', summary: 'its uid or name' }],
    options: [{ flags: '-n, --name <name>', summary: 'new name' }, descriptionOption, ...matching],
    examples: ['berth iam identities update ci --subject repo:acme/app:ref:refs/heads/release'],
    async run(invocation) {
      const uid = await identityUid(invocation, invocation.word(0))
      const patch = { ...changes(invocation, 'name', 'description'), ...relationship(invocation) }
      if (Object.keys(patch).length === 0) throw new UsageError('say what is to change; see --help')
      const client = await invocation.client()
      invocation.output.item(
        await client.identities.update(uid, patch as Partial<IdentityInput>),
        identityView,
      )
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'delete an identity with its role bindings, or all whose keys have expired',
    parameters: [{ name: 'IDENTITY', summary: 'its uid or name' }],
    options: [
      { flags: '--expired', summary: 'all whose keys have expired' },
      { flags: '--parent <group>', summary: 'of this organization or folder alone' },
      yes,
    ],
    examples: [
      'berth iam identities delete ci',
      'berth iam identities delete --expired --parent my-org --yes',
    ],
    async run(invocation) {
      const client = await invocation.client()
      if (invocation.flag('expired')) {
        const expired: Identity[] = []
        for await (const one of listed(invocation, { type: '', expired: true, name: '' })) expired.push(one)
        if (expired.length === 0) return invocation.output.done('none has expired')
        if (!(await invocation.ask.confirm(`Delete ${expired.length} expired identities?`))) return
        for (const { uid } of expired) await removeWithBindings(client, uid)
        return invocation.output.done(`deleted ${expired.length} identities`)
      }
      const uid = await identityUid(invocation, invocation.word(0))
      const { name } = await client.identities.get(uid)
      if (!(await invocation.ask.confirm(`Delete ${name} (${uid}) and what is bound to it?`))) return
      await removeWithBindings(client, uid)
      invocation.output.done(`deleted ${name} (${uid})`)
    },
  },
]

export const identitiesGroup: CommandGroup = {
  name: 'identities',
  aliases: ['identity', 'id', 'ids'],
  summary: 'identities: who may act, and which tokens speak for them',
  commands,
}
