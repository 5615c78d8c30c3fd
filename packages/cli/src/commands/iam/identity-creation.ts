import type { BerthClient, IdentityInput } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, OptionDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { descriptionOption, parentOption, readOptions, requireOption } from '../../invocation/options.ts'
import { resolveGroupUid, resolveRoleUid } from '../../invocation/resource-lookup.ts'
import { identityView } from './identity-list.ts'
import { matchingOptions, readRelationship } from './identity-matching.ts'

/** `berth iam identities create …`: a command for each kind of token. */

const roleOption: OptionDeclaration = {
  flags: '--role <role>',
  summary: 'role to grant in the parent (repeatable)',
  repeatable: true,
}
const commonOptions = [parentOption, descriptionOption, roleOption] as const
const nameParameter = [{ name: 'NAME', summary: 'name' }] as const

/** Creates an identity and grants its roles. Deletes the identity if a role cannot be granted. */
async function createIdentity(invocation: Invocation, relationship: Partial<IdentityInput>): Promise<void> {
  const name = invocation.argument(0) || (await invocation.prompt.input('Name of the identity?', 'NAME'))
  const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
  const roleUids: string[] = []
  for (const role of invocation.optionValues('role'))
    roleUids.push(await resolveRoleUid(invocation, role, { group }))
  const client = await invocation.client()
  const created = await client.identities.create(group, {
    ...relationship,
    name,
    ...readOptions(invocation, 'description'),
  } as IdentityInput)
  try {
    for (const role of roleUids)
      await client.roleBindings.create(group, { identityUid: created.uid, roleUid: role })
  } catch (error) {
    await deleteIdentityWithBindings(client, created.uid)
    throw error
  }
  await invocation.output.item(created, identityView(invocation.names))
}

export async function deleteIdentityWithBindings(client: BerthClient, uid: string): Promise<void> {
  for (const binding of await toArray(client.roleBindings.all({ identity: uid })))
    await client.roleBindings.delete(binding.uid)
  await client.identities.delete(uid)
}

const GITHUB = 'https://token.actions.githubusercontent.com'

export const createCommands: readonly CommandDeclaration[] = [
  {
    name: 'token',
    aliases: ['claims'],
    summary: 'Create an identity for tokens with given claims or keys',
    parameters: nameParameter,
    options: [...matchingOptions, ...commonOptions],
    examples: [
      'berth iam identities create token deployer --identity-issuer https://issuer.example.com --subject deploy --parent my-org --role viewer',
      'berth iam identities create token robot --identity-issuer https://robots.example.com --subject r1 --issuer-keys keys.json --parent my-org',
    ],
    async run(invocation) {
      const relationship = readRelationship(invocation)
      if (relationship === undefined)
        throw new UsageError(
          'no tokens specified: give --identity-issuer and --subject, --issuer-keys or --file; or use create github, gitlab, aws-role, aws-user',
        )
      await createIdentity(invocation, relationship)
    },
  },
  {
    name: 'github',
    summary: 'Create an identity for workflows of a GitHub repository',
    parameters: nameParameter,
    options: [
      { flags: '--github-repo <owner/repo>', summary: 'repository' },
      { flags: '--github-ref <ref>', summary: 'ref that the workflows run on (default: any)' },
      {
        flags: '--github-audience <aud>',
        summary: 'audience of the tokens (default: the token service)',
      },
      ...commonOptions,
    ],
    examples: [
      'berth iam identities create github ci --github-repo acme/app --github-ref refs/heads/main --parent my-org --role registry.push',
    ],
    async run(invocation) {
      const repo = requireOption(invocation, 'githubRepo', '--github-repo')
      if (!/^[\w.-]+\/[\w.-]+$/.test(repo)) throw new UsageError('--github-repo must be OWNER/REPO')
      const ref = invocation.option('githubRef')
      if (ref !== '' && !/^refs\/(heads|tags)\/./.test(ref))
        throw new UsageError(`--github-ref must be a full ref such as refs/heads/${ref}`)
      const audience = invocation.option('githubAudience')
      await createIdentity(invocation, {
        claimMatch: {
          issuer: GITHUB,
          ...(ref === ''
            ? { subjectPattern: `repo:${escapePattern(repo)}:ref:refs/(heads|tags)/.+` }
            : { subject: `repo:${repo}:ref:${ref}` }),
          ...(audience === '' ? {} : { audience }),
        },
      } as Partial<IdentityInput>)
    },
  },
  {
    name: 'gitlab',
    summary: 'Create an identity for pipelines of a GitLab project',
    parameters: nameParameter,
    options: [
      { flags: '--project-path <group/project>', summary: 'project path' },
      {
        flags: '--ref-type <type>',
        summary: 'type of ref that the pipelines run on',
        choices: ['branch', 'tag'],
        default: 'branch',
      },
      { flags: '--ref <name>', summary: 'branch or tag (default: any)' },
      { flags: '--gitlab-url <url>', summary: 'GitLab server URL', default: 'https://gitlab.com' },
      ...commonOptions,
    ],
    examples: [
      'berth iam identities create gitlab ci --project-path acme/app --ref main --parent my-org --role registry.push',
    ],
    async run(invocation) {
      const project = requireOption(invocation, 'projectPath', '--project-path')
      const ref = invocation.option('ref')
      const prefix = `project_path:${project}:ref_type:${invocation.option('refType')}:ref:`
      await createIdentity(invocation, {
        claimMatch: {
          issuer: invocation.option('gitlabUrl').replace(/\/$/, ''),
          ...(ref === '' ? { subjectPattern: `${escapePattern(prefix)}.+` } : { subject: prefix + ref }),
        },
      } as Partial<IdentityInput>)
    },
  },
  ...(['role', 'user'] as const).map(
    (kind): CommandDeclaration => ({
      name: `aws-${kind}`,
      summary: `Create an identity for an AWS ${kind}`,
      parameters: nameParameter,
      options: [
        { flags: '--aws-account-id <id>', summary: 'account id (12 digits)' },
        { flags: `--aws-${kind}-name <name>`, summary: `${kind} name` },
        {
          flags: `--aws-${kind}-id <id>`,
          summary: `unique ${kind} id (${kind === 'role' ? 'AROA…' : 'AIDA…'})`,
        },
        {
          flags: '--aws-partition <partition>',
          summary: 'partition: aws, aws-us-gov or aws-cn',
          default: 'aws',
        },
        ...commonOptions,
      ],
      examples: [
        `berth iam identities create aws-${kind} build --aws-account-id 123456789012 --aws-${kind}-name build --aws-${kind}-id ${kind === 'role' ? 'AROAEXAMPLEID' : 'AIDAEXAMPLEID'} --parent my-org`,
      ],
      async run(invocation) {
        const awsAccount = requireOption(invocation, 'awsAccountId', '--aws-account-id')
        const isRole = kind === 'role'
        const name = requireOption(invocation, isRole ? 'awsRoleName' : 'awsUserName', `--aws-${kind}-name`)
        const id = requireOption(invocation, isRole ? 'awsRoleId' : 'awsUserId', `--aws-${kind}-id`)
        const partition = invocation.option('awsPartition')
        await createIdentity(invocation, {
          awsIdentity: isRole
            ? {
                awsAccount,
                arnPattern: `arn:${partition}:sts::${awsAccount}:assumed-role/${escapePattern(name)}/(.+)`,
                userIdPattern: `${escapePattern(id)}:(.+)`,
              }
            : { awsAccount, arn: `arn:${partition}:iam::${awsAccount}:user/${name}`, userId: id },
        } as Partial<IdentityInput>)
      },
    }),
  ),
]

/** Escapes a text as an RE2 pattern. */
function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
