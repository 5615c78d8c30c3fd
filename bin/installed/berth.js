#!/usr/bin/env node
// The program of the package berth. The commands of the API run with any supported Node; those that load the server need Node 24, which the
// optional dependencies of the package contain.
import { createRequire } from 'node:module'
import { runProgram } from '@berth/cli/program.ts'
import { restartWith, stopWithParent } from '../restart.js'

const oldestMajor = 24
/** As of Node. */
const UNSETTLED_EXIT_CODE = 13
const isOld = Number(process.versions.node.split('.')[0]) < oldestMajor

stopWithParent()
let isDone = false
// The bundle of this program cannot have a top-level `await`, after which Node reports a promise that is never settled.
process.once('beforeExit', () => {
  if (isDone) return
  process.stderr.write('berth: the command ended before its work was done\n')
  process.exitCode = UNSETTLED_EXIT_CODE
})
void runProgram(process.argv, {
  needsRestart: isOld,
  operatorCommands: () => (isOld ? restart() : import('@berth/server/commands/commands.ts')),
  fileFetcher: () => (isOld ? restart() : import('@berth/server/advisories/feeds/fetcher.ts')),
}).finally(() => {
  isDone = true
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
