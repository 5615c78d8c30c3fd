#!/usr/bin/env node
// The program in a clone. Plain JavaScript for any Node version: an old one starts the project's own, which runs TypeScript.
// Packages contain the programs in bin/installed/ instead.
import { restartWith, stopWithParent } from './restart.js'

const oldestMajor = 24

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  stopWithParent()
  const { runProgram } = await import('@berth/cli/program.ts')
  await runProgram(process.argv, {
    operatorCommands: () => import('@berth/server/commands/commands.ts'),
    fileFetcher: () => import('@berth/server/advisories/feeds/fetcher.ts'),
  })
} else {
  const { existsSync } = await import('node:fs')
  const { fileURLToPath } = await import('node:url')
  const own = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))
  if (existsSync(own)) {
    await restartWith(own)
  } else {
    process.stderr.write(
      `berth: requires Node.js ${oldestMajor} or newer, this is ${process.versions.node}; to use the version that the project includes, run npm ci and npx berth\n`,
    )
    process.exitCode = 1
  }
}
