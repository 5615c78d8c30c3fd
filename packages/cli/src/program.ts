import './node-20.ts'
import nodeModule from 'node:module'
import type { ServerPackage } from './server-package.ts'

/**
 * Runs the program `berth`, or the credential helper if Docker calls it by that name. Modules are imported on demand, because
 * `berth auth token` runs in shell prompts and loops.
 */
export async function runProgram(argv: readonly string[], server?: ServerPackage): Promise<void> {
  nodeModule.enableCompileCache?.() // since Node 22
  const [, program = '', ...args] = argv
  if (/[/\\]docker-credential-[^/\\]*$/.test(program)) {
    const { runCredentialHelper } = await import('./session/credentials/credential-helper.ts')
    process.exitCode = await runCredentialHelper(args[0], process.env)
    return
  }
  if (args[0] === 'auth' && args[1] === 'token') {
    const { findCachedToken } = await import('./session/cached-token.ts')
    const token = findCachedToken(args.slice(2), process.env)
    if (token !== undefined) {
      process.stdout.write(token)
      return
    }
  }
  const { main } = await import('./main.ts')
  await main(args, server)
}
