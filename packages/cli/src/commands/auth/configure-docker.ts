import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'

/** Configures container tools to use the sign-in of the command line. */

export const configureDockerCommand: CommandDeclaration = {
  name: 'configure-docker',
  summary: 'Configure Docker, Podman and other tools to use your sign-in for the registry',
  options: [
    {
      flags: '--pull-token',
      summary: 'create and save a pull token instead, for machines without a sign-in',
    },
    { flags: '--name <name>', summary: 'name of the pull token', default: 'pull-token' },
    { flags: '--parent <group>', summary: 'organization or folder that the pull token can pull from' },
    { flags: '--ttl <duration>', summary: 'lifetime of the pull token', default: '720h' },
  ],
  examples: ['berth auth configure-docker', 'berth auth configure-docker --pull-token --parent my-org'],
  async run(invocation) {
    const { env, settings, output } = invocation as AuthInvocation
    if (env['SUDO_USER'])
      output.notice(
        `this configures Docker for ${env['USER'] || 'root'}; to configure it for ${env['SUDO_USER']}, run the command without sudo`,
      )
    if (invocation.flag('pullToken')) {
      const { runPullTokenCreation } = await import('./create-pull-token.ts')
      const { savePullToken } = await import('../../session/credentials/docker-config.ts')
      const created = await runPullTokenCreation(invocation as AuthInvocation)
      savePullToken(env, settings.registry, created.identity, created.token)
    } else {
      const { configureHelper } = await import('../../session/credentials/docker-config.ts')
      const { linkHelper } = await import('../../session/credentials/link-helper.ts')
      configureHelper(env, settings.registry)
      const problem = linkHelper(env)
      if (problem !== undefined) output.notice(problem)
    }
    output.notice(`updated the Docker configuration for ${settings.registry}`)
  },
}
