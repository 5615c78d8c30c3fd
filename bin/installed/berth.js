#!/usr/bin/env node
// The program of the package berth. The commands of the API run with any supported Node; those that load the server need Node 24, which the
// optional dependencies of the package contain.
import { createRequire } from 'node:module'
import { runProgram } from '@berth/cli/program.ts'
import { restartWith, stopWithParent } from '../restart.js'

const oldestMajor = 24
const isOld = Number(process.versions.node.split('.')[0]) < oldestMajor

stopWithParent()
// Without `await`, which the bundle of this program cannot have here.
void runProgram(process.argv, {
  needsRestart: isOld,
  operatorCommands: () => (isOld ? restart() : import('@berth/server/commands/commands.ts')),
  fileFetcher: () => (isOld ? restart() : import('@berth/server/advisories/feeds/fetcher.ts')),
})

async function restart() {
  const { platform, arch, versions } = process
  const name = `node-${platform}-${arch}`
  try {
    return await restartWith(createRequire(import.meta.url).resolve(`${name}/bin/node`))
  } catch (error) {
    const { CommandFailed } = await import('@berth/cli/session/access-token.ts')
    throw new CommandFailed(
      `this command requires Node.js ${oldestMajor} or newer, this is ${versions.node}, and the package ${name} cannot be used (${error.code ?? error}); install Node.js ${oldestMajor}, or install berth with its optional dependencies`,
    )
  }
}
