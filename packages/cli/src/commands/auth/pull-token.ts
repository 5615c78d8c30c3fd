import type { Identity } from '@berth/client/berth.ts'
import { dockerLogin } from '@berth/workloads/pull-secret.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { parseDurationOption } from '../../invocation/durations.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { listCommand, nameSort } from '../../invocation/list-command.ts'
import { descriptionOption, scopeOptions } from '../../invocation/options.ts'
import { formatTime } from '../../output/times.ts'

/** Commands that create and list pull tokens. */

const create: CommandDeclaration = {
  name: 'create',
  summary: 'Create a pull token; the password is shown once',
  formats: ['env'],
  options: [
    { flags: '--name <name>', summary: 'name', default: 'pull-token' },
    descriptionOption,
    { flags: '--parent <group>', summary: 'organization or folder that it can pull from' },
    { flags: '--repository <kind>', summary: 'kind of repository', choices: ['oci', 'apk'], default: 'oci' },
    { flags: '--save', summary: 'save it to the Docker configuration instead of printing it' },
    { flags: '--ttl <duration>', summary: 'lifetime, at most 8760h', default: '720h' },
  ],
  examples: [
    'berth auth pull-token create --parent my-org',
    'eval "$(berth auth pull-token create --parent my-org --ttl 24h -o env)"',
  ],
  async run(invocation) {
    const { settings, env, output } = invocation as AuthInvocation
    const { runPullTokenCreation } = await import('./create-pull-token.ts')
    const created = await runPullTokenCreation(invocation as AuthInvocation)
    if (invocation.flag('save')) {
      const { savePullToken } = await import('../../session/credentials/docker-config.ts')
      savePullToken(env, settings.registry, created.identity, created.token)
      return output.notice(`updated the Docker configuration for ${settings.registry}`)
    }
    if (invocation.option('output') === 'env') {
      process.stdout.write(
        `export BERTH_IDENTITY_ID=${created.identity}\nexport BERTH_IDENTITY_TOKEN=${created.token}\n`,
      )
      return
    }
    if (output.format !== 'table')
      return await output.item(created, {
        id: ({ identity }) => identity,
        columns: [
          { title: 'ID', value: ({ identity }) => identity },
          { title: 'EXPIRES', kind: 'time', value: ({ expires }) => expires },
        ],
      })
    const { registry } = settings
    process.stdout.write(`USERNAME  ${created.identity}\nPASSWORD  ${created.token}\n`)
    output.notice(
      `
The password expires at ${formatTime(created.expires)} and is not shown again. On the other machine, sign in with this command, paste the
password, and press Enter and Ctrl-D:

  ${dockerLogin(registry, created.identity)}

In a script, use -o env and keep the password out of the command line:

  printenv BERTH_IDENTITY_TOKEN | docker login ${registry} --username "$BERTH_IDENTITY_ID" --password-stdin`,
    )
  },
}

/** The filter of the API for keys that expire from now on and within some seconds. */
function expiryFilter(seconds: number) {
  const now = Date.now()
  const at = (ms: number) => new Date(ms).toISOString()
  return { expiresAfter: at(now), expiresBefore: at(now + seconds * 1000) }
}

/** Without a subcommand it creates a pull token. */
export const pullTokenCommand: CommandDeclaration = {
  ...create,
  name: 'pull-token',
  aliases: ['pull-tokens'],
  summary: 'Create and list pull tokens for machines without a sign-in',
  commands: [
    create,
    listCommand<Identity>({
      summary: 'List pull tokens',
      options: [
        ...scopeOptions,
        { flags: '--expired', summary: 'only expired pull tokens', conflicts: ['expiresWithin'] },
        { flags: '--expires-within <duration>', summary: 'only pull tokens that expire in this time' },
      ],
      examples: [
        'berth auth pull-token list --parent my-org',
        'berth auth pull-token list --expires-within 14d',
        'berth auth pull-token list --sort last-seen',
      ],
      serverSort: nameSort,
      async view(invocation) {
        const { viewWithRoles } = await import('../iam/identity-list.ts')
        return viewWithRoles(invocation, {
          titles: ['NAME', 'ID', 'GROUP', 'EXPIRES', 'LAST SEEN', 'DESCRIPTION'],
          empty: 'no pull tokens visible to you',
        })
      },
      async items(invocation, request) {
        const { listIdentities } = await import('../iam/identity-list.ts')
        const only = { type: 'pull_token', expired: invocation.flag('expired'), name: '' }
        const within = invocation.optionIfSet('expiresWithin')
        if (within === undefined) return listIdentities(invocation, only, request)
        const seconds = parseDurationOption('--expires-within', within)
        return listIdentities(invocation, only, { ...request, ...expiryFilter(seconds) })
      },
    }),
  ],
}
