import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { descriptionOption, scopeOptions } from '../../invocation/options.ts'
import { formatTime } from '../../output/times.ts'

/** Pull tokens: made, shown once, listed. */

const create: CommandDeclaration = {
  name: 'create',
  summary: 'make one; the password is shown once',
  formats: ['env'],
  options: [
    { flags: '--name <name>', summary: 'what to call it', default: 'pull-token' },
    descriptionOption,
    { flags: '--parent <group>', summary: 'what it may pull from' },
    { flags: '--repository <kind>', summary: 'what it pulls', choices: ['oci', 'apk'], default: 'oci' },
    { flags: '--save', summary: "write it into Docker's configuration instead of showing it" },
    { flags: '--ttl <duration>', summary: 'how long it lasts, at most 8760h', default: '720h' },
  ],
  examples: [
    'berth auth pull-token create --parent my-org',
    'eval "$(berth auth pull-token create --parent my-org --ttl 24h -o env)"',
  ],
  async run(invocation) {
    const { settings, env, output } = invocation as AuthInvocation
    const { createPullToken } = await import('./create-pull-token.ts')
    const made = await createPullToken(invocation as AuthInvocation)
    if (invocation.flag('save')) {
      const { savePullToken } = await import('../../session/credentials/docker-config.ts')
      savePullToken(env, settings.registry, made.identity, made.token)
      return output.notice(`Updated auth config for ${settings.registry}`)
    }
    if (invocation.option('output') === 'env') {
      process.stdout.write(
        `export BERTH_IDENTITY_ID=${made.identity}\nexport BERTH_IDENTITY_TOKEN=${made.token}\n`,
      )
      return
    }
    if (output.format !== 'table')
      return output.item(made, {
        id: ({ identity }) => identity,
        columns: [
          { title: 'ID', value: ({ identity }) => identity },
          { title: 'EXPIRES', kind: 'time', value: ({ expires }) => expires },
        ],
      })
    process.stdout.write(
      `docker login "${settings.registry}" --username "${made.identity}" --password "${made.token}"\n`,
    )
    output.notice(`It lasts until ${formatTime(made.expires)} and is not shown again.`)
  },
}

/** By itself it makes one, as with the word for it. */
export const pullTokenCommand: CommandDeclaration = {
  ...create,
  name: 'pull-token',
  aliases: ['pull-tokens'],
  summary: 'user name and password for machines that pull without a sign-in',
  commands: [
    create,
    {
      name: 'list',
      aliases: ['ls'],
      summary: 'list pull tokens',
      options: [...scopeOptions, { flags: '--expired', summary: 'only those that have expired' }],
      examples: ['berth auth pull-token list --parent my-org'],
      async run(invocation) {
        const { listIdentities: listed, viewWithRoles } = await import('../iam/identity-list.ts')
        const only = { type: 'pull_token', expired: invocation.flag('expired'), name: '' }
        const view = await viewWithRoles(invocation, {
          titles: ['ID', 'NAME', 'DESCRIPTION', 'EXPIRES'],
          empty: 'no pull tokens that you may see',
        })
        await invocation.output.list(listed(invocation, only), view)
      },
    },
  ],
}
