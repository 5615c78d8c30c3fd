import type {
  CommandBody,
  CommandDeclaration,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { requireOption, yesOption } from '../../invocation/options.ts'
import { formatPerson } from '../../invocation/resource-names.ts'
import { configureDockerCommand } from './configure-docker.ts'
import { pullTokenCommand } from './pull-token.ts'
import { fetchName, statusCommand } from './status.ts'

/** Commands for sign-in, tokens and registry credentials. Their implementation is loaded when they run. */

const personOptions: readonly OptionDeclaration[] = [
  { flags: '--headless', summary: 'sign in without a browser: confirm a code on another device' },
  {
    flags: '--identity-provider <provider>',
    summary: 'uid of an identity provider of an organization to sign in with',
    conflicts: ['orgName'],
  },
  { flags: '--org-name <name>', summary: 'organization whose identity provider to sign in with' },
  { flags: '--connection, --social-login <name>', summary: 'name of a sign-in provider of the installation' },
  { flags: '--invite-code <code>', summary: 'invite code to accept after sign-in' },
]

const workloadOptions: readonly OptionDeclaration[] = [
  { flags: '--identity <uid>', summary: 'identity to assume with the token of a workload' },
  {
    flags: '--identity-token <token|file>',
    summary: 'token of the workload (default: token of the CI system or cloud)',
  },
  { flags: '--prefer-ambient-credentials', summary: 'prefer the token of the CI system or cloud' },
]

const loginCommand: CommandDeclaration = {
  name: 'login',
  summary: 'Sign in as a user or as a workload',
  options: [
    {
      flags: '--audience <audience>',
      summary: 'token audience (repeatable; one token for each)',
      repeatable: true,
    },
    ...personOptions,
    ...workloadOptions,
    { flags: '--refresh', summary: 'refresh the token if possible, otherwise sign in' },
    { flags: '--refresh-only', summary: 'refresh the token; fail if that is not possible' },
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
    const { decodeClaims } = await import('../../session/token-cache.ts')
    const token = await login(invocation as AuthInvocation)
    const { sub, exp } = decodeClaims(token)
    const shown = { id: String(sub), expiry: new Date(Number(exp) * 1000).toISOString() }
    const { email, name } = decodeClaims(token)
    const person = formatPerson({
      name: typeof name === 'string' ? name : '',
      email: typeof email === 'string' ? email : '',
    })
    const renewed = invocation.flag('refresh') || invocation.flag('refreshOnly')
    const isPerson = !renewed && invocation.option('identity') === ''
    const auth = invocation as AuthInvocation
    const known = person || (isPerson && !auth.settings.token && (await fetchName(auth)))
    process.stderr.write(`Signed in as ${known || shown.id}.\n`)
    if (['json', 'yaml', 'id', 'csv'].includes(invocation.output.format))
      await invocation.output.item(shown, {
        id: ({ id }) => id,
        columns: [
          { title: 'ID', value: ({ id }) => id },
          { title: 'EXPIRES', kind: 'time', value: ({ expiry }) => expiry },
        ],
      })
    const { dockerHint } = await import('../../session/credentials/docker-config.ts')
    const hint = dockerHint(auth.env, auth.settings.registry)
    if (process.stderr.isTTY === true && !renewed && hint !== undefined) invocation.output.notice(hint)
  },
}

const logoutCommand: CommandDeclaration = {
  name: 'logout',
  summary: 'Sign out: revoke the sessions and delete the tokens',
  options: [
    { flags: '--audience <audience>', summary: 'delete only the token for this audience', repeatable: true },
  ],
  examples: ['berth auth logout', 'berth auth logout --audience registry.example.com'],
  async run(invocation) {
    const { logout } = await import('./logout.ts')
    await logout(invocation as AuthInvocation)
  },
}

const tokenCommand: CommandDeclaration = {
  name: 'token',
  summary: 'Print a token',
  options: [
    { flags: '--audience <audience>', summary: 'token audience', repeatable: true },
    { flags: '--scope <group>', summary: 'group to restrict the token to (repeatable)', repeatable: true },
    { flags: '--capabilities <names>', summary: 'capabilities to restrict the token to', repeatable: true },
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
    listCommand<{ readonly name: string }>({
      name: 'capabilities',
      summary: 'List the capabilities',
      examples: ['berth auth token capabilities', 'berth auth token capabilities -o json'],
      view: () => ({
        id: ({ name }) => name,
        columns: [{ title: 'CAPABILITY', value: ({ name }) => name }],
      }),
      items: async () => (await import('@berth/contract/capabilities.ts')).capabilityNames,
    }),
  ],
}

const explainCommand: CommandDeclaration = {
  name: 'explain',
  summary: 'Explain whether an identity accepts a token, condition by condition',
  options: [
    { flags: '--identity <uid>', summary: 'identity to assume' },
    { flags: '--identity-token <token|file>', summary: 'token of the workload' },
    {
      flags: '--identity-provider <provider>',
      summary: 'uid of the identity provider that issued the token',
    },
    {
      flags: '--target-audience <audience>',
      summary: 'audience that the exchange would request, such as the registry (default: the API)',
    },
  ],
  examples: [
    'berth auth explain --identity $IDENTITY --identity-token token.jwt',
    'berth auth explain --identity $IDENTITY --identity-token token.jwt --target-audience registry.example.com',
  ],
  async run(invocation) {
    const identity = requireOption(invocation, 'identity', '--identity')
    const token = requireOption(invocation, 'identityToken', '--identity-token')
    const { explainToken } = await import('./explain.ts')
    await explainToken(invocation, identity, token)
  },
}

const deleteAccountCommand: CommandDeclaration = {
  name: 'delete-account',
  summary: 'Delete your account and all its access',
  options: [yesOption],
  examples: ['berth auth delete-account --yes'],
  async run(invocation) {
    const { cache, settings } = invocation as AuthInvocation
    const client = await invocation.client()
    const { subject, email } = await client.auth.validate()
    const account = email === '' ? subject : email
    await invocation.prompt.confirm(`Delete your account ${account} and all its access?`)
    await client.auth.delete({ id: subject })
    const { refreshTokenKey } = await import('../../session/access-token.ts')
    cache.remove('refresh-token', refreshTokenKey(settings))
    cache.removeWhere(({ sub }) => sub === subject)
    invocation.output.notice(`deleted ${account}`)
  },
}

export const authCommands: CommandBody = {
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
