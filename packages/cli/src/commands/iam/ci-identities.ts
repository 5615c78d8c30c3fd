import type { Identity, IdentityInput } from '@berth/client/berth.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, OptionDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { requireOption } from '../../invocation/options.ts'
import { parentUid } from '../../invocation/resource-uids.ts'
import { createSnippet, type SnippetSystem } from './ci-snippets.ts'
import { createIdentity, creationOptions, escapePattern, nameParameter } from './create-identity.ts'
import { identityView } from './identity-list.ts'

/** Identities for jobs of CI systems and clusters. Each command prints the workflow that uses the identity. */

interface CiSystem {
  readonly name: SnippetSystem
  /** `workflows of a GitHub repository`. */
  readonly jobs: string
  readonly options: readonly OptionDeclaration[]
  readonly example: string
  read(invocation: Invocation): IdentityInput['claimMatch'] & object
}

const snippetOption: OptionDeclaration = {
  flags: '--snippet',
  summary: 'print only the workflow, on standard output',
}

/** The exact subject, or a pattern for any ref. */
const anyOr = (exact: string, isExact: boolean, pattern: string) =>
  isExact ? { subject: exact } : { subjectPattern: pattern }

const systems: readonly CiSystem[] = [
  {
    name: 'github',
    jobs: 'workflows of a GitHub repository',
    options: [
      { flags: '--github-repo <owner/repo>', summary: 'repository' },
      { flags: '--github-ref <ref>', summary: 'ref that the workflows run on (default: any)' },
      { flags: '--github-audience <aud>', summary: 'audience of the tokens (default: the token service)' },
    ],
    example: '--github-repo acme/app --github-ref refs/heads/main',
    read(invocation) {
      const repo = requireOption(invocation, 'githubRepo', '--github-repo')
      if (!/^[\w.-]+\/[\w.-]+$/.test(repo)) throw new UsageError('--github-repo must be OWNER/REPO')
      const ref = invocation.option('githubRef')
      if (ref !== '' && !/^refs\/(heads|tags)\/./.test(ref))
        throw new UsageError(`--github-ref must be a full ref such as refs/heads/${ref}`)
      const audience = invocation.option('githubAudience')
      return {
        issuer: 'https://token.actions.githubusercontent.com',
        ...anyOr(
          `repo:${repo}:ref:${ref}`,
          ref !== '',
          `repo:${escapePattern(repo)}:ref:refs/(heads|tags)/.+`,
        ),
        ...(audience === '' ? {} : { audience }),
      }
    },
  },
  {
    name: 'gitlab',
    jobs: 'pipelines of a GitLab project',
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
    ],
    example: '--project-path acme/app --ref main',
    read(invocation) {
      const project = requireOption(invocation, 'projectPath', '--project-path')
      const ref = invocation.option('ref')
      const prefix = `project_path:${project}:ref_type:${invocation.option('refType')}:ref:`
      return {
        issuer: invocation.option('gitlabUrl').replace(/\/$/, ''),
        ...anyOr(prefix + ref, ref !== '', `${escapePattern(prefix)}.+`),
      }
    },
  },
  {
    name: 'buildkite',
    jobs: 'steps of a Buildkite pipeline',
    options: [
      { flags: '--pipeline <organization/pipeline>', summary: 'pipeline' },
      { flags: '--branch <name>', summary: 'branch that the pipeline runs on (default: any)' },
    ],
    example: '--pipeline acme/app --branch main',
    read(invocation) {
      const pipeline = requireOption(invocation, 'pipeline', '--pipeline')
      const [organization, name, ...rest] = pipeline.split('/')
      if (!organization || !name || rest.length > 0)
        throw new UsageError('--pipeline must be ORGANIZATION/PIPELINE')
      const branch = invocation.option('branch')
      const prefix = escapePattern(`organization:${organization}:pipeline:${name}:ref:refs/heads/${branch}`)
      return {
        issuer: 'https://agent.buildkite.com',
        subjectPattern: `${prefix}${branch === '' ? '.+' : ''}:commit:[0-9a-f]+:step:.*`,
      }
    },
  },
  {
    name: 'kubernetes',
    jobs: 'pods with a Kubernetes service account',
    options: [
      { flags: '--service-account <namespace/name>', summary: 'service account' },
      {
        flags: '--cluster-issuer <url>',
        summary: 'issuer of the cluster: kubectl get --raw /.well-known/openid-configuration',
      },
    ],
    example: '--service-account production/app --cluster-issuer https://oidc.example.com/cluster',
    read(invocation) {
      const account = requireOption(invocation, 'serviceAccount', '--service-account')
      if (!/^[a-z0-9-]+\/[a-z0-9.-]+$/.test(account))
        throw new UsageError('--service-account must be NAMESPACE/NAME')
      return {
        issuer: requireOption(invocation, 'clusterIssuer', '--cluster-issuer'),
        subject: `system:serviceaccount:${account.replace('/', ':')}`,
      }
    },
  },
]

export const ciCommands: readonly CommandDeclaration[] = systems.map((system) => ({
  name: system.name,
  summary: `Create an identity for ${system.jobs}, and print the workflow that uses it`,
  parameters: nameParameter,
  options: [...system.options, ...creationOptions, snippetOption],
  examples: [
    `berth iam identities create ${system.name} ci ${system.example} --parent my-org --role registry.push`,
    `berth iam identities create ${system.name} ci ${system.example} --parent my-org --snippet`,
  ],
  async run(invocation) {
    const { output, names } = invocation
    const identity = await createIdentity(invocation, { claimMatch: system.read(invocation) })
    const snippet = () => createSnippet(invocation as AuthInvocation, system.name, identity)
    if (invocation.flag('snippet')) return void process.stdout.write(await snippet())
    await output.item(identity, identityView(names))
    if (!output.isForPeople) return
    output.notice(`\nUse it like this:\n\n${await snippet()}`)
    // The workflow of Kubernetes pushes nothing.
    if (system.name !== 'kubernetes' && !(await canPush(invocation, identity))) {
      const group = names.groupPath(parentUid(identity.uid))
      output.notice(
        `\nNo role of ${identity.name} permits this push. To permit it:\n\n  berth iam role-bindings create --identity ${identity.uid} --role registry.push --parent ${JSON.stringify(group)}\n`,
      )
    }
  },
}))

async function canPush(invocation: Invocation, { uid }: Identity): Promise<boolean> {
  const client = await invocation.client()
  for (const { roleUid } of await toArray(client.roleBindings.all({ identity: uid }))) {
    const { capabilities } = await client.roles.get(roleUid)
    if (capabilities.includes('CAP_MANIFEST_CREATE')) return true
  }
  return false
}
