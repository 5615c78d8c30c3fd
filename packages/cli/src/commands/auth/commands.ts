import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { requireOption, yesOption } from '../../invocation/options.ts'
import { configureDockerCommand } from './configure-docker.ts'
import { pullTokenCommand } from './pull-token.ts'
import { statusCommand } from './status.ts'

/** Signing in, and what comes of it. What each command needs is loaded when it runs. */

const personOptions: readonly OptionDeclaration[] = [
  { flags: '--headless', summary: 'without a browser here: confirm a code on another device' },
  {
    flags: '--identity-provider <uid>',
    summary: 'sign in with this identity provider of an organization',
    conflicts: ['orgName'],
  },
  { flags: '--org-name <name>', summary: "sign in with this organization's identity provider" },
  { flags: '--connection, --social-login <name>', summary: 'sign in with this provider of the operator' },
  { flags: '--invite-code <code>', summary: 'accept an invite as well' },
]

const workloadOptions: readonly OptionDeclaration[] = [
  { flags: '--identity <uid>', summary: 'assume this identity with a token of a workload' },
  {
    flags: '--identity-token <token|file>',
    summary: 'that token (default: of the CI system or cloud around)',
  },
  { flags: '--prefer-ambient-credentials', summary: 'take the token of the CI system or cloud first' },
]

const loginCommand: CommandDeclaration = {
  name: 'login',
  summary: 'sign in: a person with a browser, a workload with its token',
  options: [
    {
      flags: '--audience <audience>',
      summary: 'what the token is for (repeatable: a token for each)',
      repeatable: true,
    },
    ...personOptions,
    ...workloadOptions,
    { flags: '--refresh', summary: 'renew the token where that is possible, else sign in' },
    { flags: '--refresh-only', summary: 'renew the token or fail' },
  ],
  examples: [
    'berth auth login',
    'berth auth login --headless',
    'berth auth login --org-name my-org',
    'berth auth login --identity $IDENTITY --identity-token /var/run/secrets/tokens/berth',
    'berth auth login --audience http://127.0.0.1:8080 --audience registry.example.com',
  ],
  async run(invocation) {
    const { login } = await import('./login.ts')
    const { decodeClaims: claimsOf } = await import('../../session/token-cache.ts')
    const token = await login(invocation as AuthInvocation)
    const { sub, exp } = claimsOf(token)
    const shown = { id: String(sub), expiry: new Date(Number(exp) * 1000).toISOString() }
    process.stderr.write(`Valid! Id: ${shown.id}\n`)
    if (['json', 'yaml', 'id', 'csv'].includes(invocation.output.format))
      invocation.output.item(shown, {
        id: ({ id }) => id,
        columns: [
          { title: 'ID', value: ({ id }) => id },
          { title: 'EXPIRES', kind: 'time', value: ({ expiry }) => expiry },
        ],
      })
    const { dockerHint } = await import('../../session/credentials/docker-config.ts')
    const hint = dockerHint(
      (invocation as AuthInvocation).env,
      (invocation as AuthInvocation).settings.registry,
    )
    const renewed = invocation.flag('refresh') || invocation.flag('refreshOnly')
    if (process.stderr.isTTY === true && !renewed && hint !== undefined) invocation.output.notice(hint)
  },
}

const logoutCommand: CommandDeclaration = {
  name: 'logout',
  summary: 'sign out everywhere: end the sessions and forget their tokens',
  options: [{ flags: '--audience <audience>', summary: 'forget the token for this alone', repeatable: true }],
  examples: ['berth auth logout', 'berth auth logout --audience registry.example.com'],
  async run(invocation) {
    const { logout } = await import('./logout.ts')
    await logout(invocation as AuthInvocation)
  },
}

const tokenCommand: CommandDeclaration = {
  name: 'token',
  summary: 'print a token and nothing else',
  options: [
    { flags: '--audience <audience>', summary: 'what it is for', repeatable: true },
    { flags: '--scope <group>', summary: 'narrow it to this group (repeatable)', repeatable: true },
    { flags: '--capabilities <names>', summary: 'narrow it to these capabilities', repeatable: true },
  ],
  examples: [
    'curl -H "Authorization: Bearer $(berth auth token)" http://127.0.0.1:8080/iam/v2beta1/groups',
    'berth auth token --scope $GROUP --capabilities groups.list',
  ],
  async run(invocation) {
    const { printToken } = await import('./token.ts')
    await printToken(invocation as AuthInvocation)
  },
  commands: [
    {
      name: 'capabilities',
      summary: 'list what --capabilities takes',
      examples: ['berth auth token capabilities', 'berth auth token capabilities -o json'],
      async run({ output }) {
        const { capabilityNames } = await import('@berth/contract/capabilities.ts')
        await output.list(capabilityNames, {
          id: ({ name }) => name,
          columns: [{ title: 'CAPABILITY', value: ({ name }) => name }],
        })
      },
    },
  ],
}

const explainCommand: CommandDeclaration = {
  name: 'explain',
  summary: 'say which condition of an identity a token fails, condition by condition',
  options: [
    { flags: '--identity <uid>', summary: 'the identity that the token is to assume' },
    { flags: '--identity-token <token|file>', summary: 'the token' },
    { flags: '--identity-provider <uid>', summary: 'the identity provider that it comes from' },
  ],
  examples: ['berth auth explain --identity $IDENTITY --identity-token token.jwt'],
  async run(invocation) {
    const identity = requireOption(invocation, 'identity', '--identity')
    const token = requireOption(invocation, 'identityToken', '--identity-token')
    const { explainToken } = await import('./explain.ts')
    await explainToken(invocation, identity, token)
  },
}

const deleteAccountCommand: CommandDeclaration = {
  name: 'delete-account',
  summary: 'delete your own identity with all that is bound to it',
  options: [yesOption],
  examples: ['berth auth delete-account --yes'],
  async run(invocation) {
    const { cache, settings } = invocation as AuthInvocation
    const client = await invocation.client()
    const { subject } = await client.auth.validate()
    await invocation.prompt.confirm(`Delete your identity ${subject} with all that is bound to it?`)
    await client.auth.delete({ id: subject })
    const { refreshTokenKey: refreshKey } = await import('../../session/access-token.ts')
    cache.remove('refresh-token', refreshKey(settings))
    cache.removeWhere(({ sub }) => sub === subject)
    invocation.output.notice(`deleted ${subject}`)
  },
}

export const authGroup: CommandGroup = {
  name: 'auth',
  summary: 'sign in and out, tokens, registry credentials',
  commands: [
    loginCommand,
    logoutCommand,
    statusCommand,
    tokenCommand,
    explainCommand,
    configureDockerCommand,
    pullTokenCommand,
    deleteAccountCommand,
  ],
}
