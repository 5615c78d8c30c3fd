import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'

/** How container tools are told to get their credentials here. */

export const configureDockerCommand: CommandDeclaration = {
  name: 'configure-docker',
  summary: 'let docker, podman and others use your sign-in for the registry',
  options: [
    {
      flags: '--pull-token',
      summary: 'make a pull token and save that instead, for machines without a sign-in',
    },
    { flags: '--name <name>', summary: 'what to call the pull token', default: 'pull-token' },
    { flags: '--parent <group>', summary: 'what the pull token may pull from' },
    { flags: '--ttl <duration>', summary: 'how long the pull token lasts', default: '720h' },
  ],
  examples: ['berth auth configure-docker', 'berth auth configure-docker --pull-token --parent my-org'],
  async run(invocation) {
    const { env, settings, output } = invocation as AuthInvocation
    if (env['SUDO_USER'])
      output.notice(
        `this configures Docker for ${env['USER'] || 'root'}, not for ${env['SUDO_USER']}; run it without sudo for the latter`,
      )
    if (invocation.flag('pullToken')) {
      const { createPullToken } = await import('./create-pull-token.ts')
      const { savePullToken } = await import('../../session/credentials/docker-config.ts')
      const made = await createPullToken(invocation as AuthInvocation)
      savePullToken(env, settings.registry, made.identity, made.token)
    } else {
      const { configureHelper: useHelper } = await import('../../session/credentials/docker-config.ts')
      const { linkHelper } = await import('../../session/credentials/link-helper.ts')
      useHelper(env, settings.registry)
      const problem = linkHelper(env)
      if (problem !== undefined) output.notice(problem)
    }
    output.notice(`Updated auth config for ${settings.registry}`)
  },
}
