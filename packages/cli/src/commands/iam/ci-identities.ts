import type { Identity } from '@berth/client/berth.ts'
import { GITLAB_URL, platforms } from '@berth/workloads/platforms.ts'
import type { SnippetSystem } from '@berth/workloads/snippets.ts'
import { toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, OptionDeclaration } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { parentUid } from '../../invocation/resource-uids.ts'
import { snippetOf } from './ci-snippets.ts'
import { createIdentity, creationOptions, nameParameter, readRule } from './create-identity.ts'
import { identityView } from './identity-list.ts'

/** Identities for jobs of CI systems and clusters. Each command prints the workflow that uses the identity. */

interface CiSystem {
  readonly name: SnippetSystem
  readonly options: readonly OptionDeclaration[]
  readonly example: string
}

const snippetOption: OptionDeclaration = {
  flags: '--snippet',
  summary: 'print only the workflow, on standard output',
}

const systems: readonly CiSystem[] = [
  {
    name: 'github',
    options: [
      { flags: '--github-repo <owner/repo>', summary: 'repository' },
      { flags: '--github-ref <ref>', summary: 'ref that the workflows run on (default: any)' },
      { flags: '--github-audience <aud>', summary: 'audience of the tokens (default: the token service)' },
    ],
    example: '--github-repo acme/app --github-ref refs/heads/main',
  },
  {
    name: 'gitlab',
    options: [
      { flags: '--project-path <group/project>', summary: 'project path' },
      {
        flags: '--ref-type <type>',
        summary: 'type of ref that the pipelines run on',
        choices: ['branch', 'tag'],
        default: 'branch',
      },
      { flags: '--ref <name>', summary: 'branch or tag (default: any)' },
      { flags: '--gitlab-url <url>', summary: 'GitLab server URL', default: GITLAB_URL },
    ],
    example: '--project-path acme/app --ref main',
  },
  {
    name: 'buildkite',
    options: [
      { flags: '--pipeline <organization/pipeline>', summary: 'pipeline' },
      { flags: '--branch <name>', summary: 'branch that the pipeline runs on (default: any)' },
    ],
    example: '--pipeline acme/app --branch main',
  },
  {
    name: 'kubernetes',
    options: [
      { flags: '--service-account <namespace/name>', summary: 'service account' },
      {
        flags: '--cluster-issuer <url>',
        summary: 'issuer of the cluster: kubectl get --raw /.well-known/openid-configuration',
      },
    ],
    example: '--service-account production/app --cluster-issuer https://oidc.example.com/cluster',
  },
]

export const ciCommands: readonly CommandDeclaration[] = systems.map((system) => ({
  name: system.name,
  summary: `Create an identity for ${platforms[system.name].jobs}, and print the workflow that uses it`,
  parameters: nameParameter,
  options: [...system.options, ...creationOptions, snippetOption],
  examples: [
    `berth iam identities create ${system.name} ci ${system.example} --parent my-org --role registry.push`,
    `berth iam identities create ${system.name} ci ${system.example} --parent my-org --snippet`,
  ],
  async run(invocation) {
    const { output, names } = invocation
    const identity = await createIdentity(invocation, readRule(invocation, system.name))
    const snippet = () => snippetOf(invocation as AuthInvocation, system.name, identity)
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
