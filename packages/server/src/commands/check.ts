import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import { readEnvironment } from '../installation/environment.ts'
import { type CheckResult, checkInstallation } from '../operator/check.ts'
import { createLog } from '../telemetry/log.ts'
import { jsonOption } from './options.ts'
import { reportFailure } from './with-installation.ts'

/** `berth admin check`: checks the setup of the installation. */
export const checkCommand: CommandDeclaration = {
  name: 'check',
  summary: 'Check the configuration, database, blob store, keys, clock, disk and addresses',
  options: [jsonOption],
  notes: `
Run it with the environment of the server, which may be running. It changes nothing, except that it stores an object in
the bucket, if there is one, and deletes it.

Exit code 0: no check failed; there may be warnings. Exit code 1: a check failed.`,
  examples: ['berth admin check', `berth admin check --json | jq '.checks[] | select(.result != "ok")'`],
  run: ({ output }) =>
    reportFailure(async () => {
      const checks = await checkInstallation(readEnvironment(), createLog('silent'))
      output.result({ checks }, checks.map(formatCheck).join(''))
      if (checks.some(({ result }) => result === 'fail')) process.exitCode = 1
    }),
}

function formatCheck({ name, result, message, action }: CheckResult): string {
  const line = `${result.padEnd(4)}  ${name}: ${message}\n`
  return action === '' ? line : `${line}      ${action}\n`
}
