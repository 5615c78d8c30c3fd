import type { BerthClient, IdentityInput } from '../../../client/berth.ts'
import { collect } from '../client/collect.ts'
import type { CommandDeclaration, OptionDeclaration } from '../client/command.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import { groupUid, roleUid } from '../client/locate.ts'
import { description, given, needed, parent } from '../client/options.ts'
import { identityView } from './identity-list.ts'
import { matching, relationship } from './identity-matching.ts'

/** `berth iam identities create …`: an identity for each kind of token. */

const roles: OptionDeclaration = {
  flags: '--role <role>',
  summary: 'a role that it gets where it lies (repeatable)',
  repeatable: true,
}
const common = [parent, description, roles] as const
const nameParameter = [{ name: 'NAME', summary: 'what to call it' }] as const

/** Makes an identity and gives it its roles; when one of them cannot be given, the identity does not stay behind. */
async function create(invocation: Invocation, related: Partial<IdentityInput>): Promise<void> {
  const name = invocation.word(0) || (await invocation.ask.text('Name of the identity?', 'NAME'))
  const group = await groupUid(invocation, invocation.text('parent'), '--parent')
  const granted: string[] = []
  for (const role of invocation.list('role')) granted.push(await roleUid(invocation, role, { group }))
  const client = await invocation.client()
  const made = await client.identities.create(group, {
    ...related,
    name,
    ...given(invocation, 'description'),
  } as IdentityInput)
  try {
    for (const role of granted)
      await client.roleBindings.create(group, { identityUid: made.uid, roleUid: role })
  } catch (error) {
    await removeWithBindings(client, made.uid)
    throw error
  }
  invocation.output.item(made, identityView)
}

export async function removeWithBindings(client: BerthClient, uid: string): Promise<void> {
  for (const binding of await collect(client.roleBindings.all({ identity: uid })))
    await client.roleBindings.delete(binding.uid)
  await client.identities.delete(uid)
}

const GITHUB = 'https://token.actions.githubusercontent.com'

export const createCommands: readonly CommandDeclaration[] = [
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
      if (ref !== '' && !/^refs\/(heads|tags)\/./.test(ref))
        throw new UsageError(`--github-ref must be a whole ref, e.g. refs/heads/${ref}`)
      const audience = invocation.text('githubAudience')
      await create(invocation, {
        claimMatch: {
          issuer: GITHUB,
          ...(ref === ''
            ? { subjectPattern: `repo:${escaped(repo)}:ref:refs/(heads|tags)/.+` }
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
