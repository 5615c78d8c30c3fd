#!/usr/bin/env node
// Plain JavaScript for any Node version: an old one starts the project's own instead of failing on syntax.
// Modules are imported on demand, because `berth auth token` runs in shell prompts and loops.
const oldestMajor = 24

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  const { enableCompileCache } = process.getBuiltinModule('node:module')
  enableCompileCache()
  const args = process.argv.slice(2)
  // Docker calls its credential helper by this name.
  if (/[/\\]docker-credential-[^/\\]*$/.test(process.argv[1])) {
    const { runCredentialHelper } = await import('@berth/cli/session/credentials/credential-helper.ts')
    process.exitCode = await runCredentialHelper(args[0], process.env)
  } else if (args[0] !== 'auth' || args[1] !== 'token' || !(await printCachedToken(args.slice(2)))) {
    const { main } = await import('@berth/cli/main.ts')
    await main(args, {
      operatorCommands: () => import('@berth/server/commands/commands.ts'),
      fileFetcher: () => import('@berth/server/advisories/feeds/fetcher.ts'),
    })
  }
} else {
  const { spawn } = await import('node:child_process')
  const { existsSync } = await import('node:fs')
  const { fileURLToPath } = await import('node:url')
  const own = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))
  if (existsSync(own)) {
    const child = spawn(own, process.argv.slice(1), { stdio: 'inherit' })
    // Forward signals to the child. A terminal sends Ctrl-C to both processes itself.
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'])
      process.on(signal, () => {
        if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal)
      })
    child.on('exit', (status, signal) => {
      if (signal === null) process.exit(status)
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    })
  } else {
    process.stderr.write(
      `berth: requires Node.js ${oldestMajor} or newer, this is ${process.versions.node}; to use the version that the project includes, run npm ci and npx berth\n`,
    )
    process.exitCode = 1
  }
}

async function printCachedToken(args) {
  const { findCachedToken } = await import('@berth/cli/session/cached-token.ts')
  const token = findCachedToken(args, process.env)
  if (token !== undefined) process.stdout.write(token)
  return token !== undefined
}
