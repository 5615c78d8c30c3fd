import type { Command } from 'commander'
import { readEnvironment } from '../../installation/environment.ts'
import { createLog } from '../../telemetry/log.ts'
import { type CheckResult, checkInstallation } from '../check.ts'
import { printResult } from './output.ts'
import { reportFailure } from './with-installation.ts'

/** `berth admin check`: whether the installation is set up as it should be. */
export function addCheckCommand(admin: Command): void {
  admin
    .command('check')
    .description('check the configuration, database, blob store, keys, clock, disk and addresses')
    .option('--json', 'print JSON', false)
    .addHelpText('after', checkHelp)
    .action(({ json }: { json: boolean }) =>
      reportFailure(async () => {
        const checks = await checkInstallation(readEnvironment(), createLog('silent'))
        printResult(json, { checks }, checks.map(formatCheck).join(''))
        if (checks.some(({ result }) => result === 'fail')) process.exitCode = 1
      }),
    )
}

const checkHelp = `
May run beside the server, with the environment of the server. Changes nothing, except that it stores an object in the
bucket, if there is one, and deletes it.
Exit code 0: no check failed; there may be warnings. Exit code 1: a check failed.

Examples:
  berth admin check
  berth admin check --json | jq '.checks[] | select(.result != "ok")'
`

function formatCheck({ name, result, message, action }: CheckResult): string {
  const line = `${result.padEnd(4)}  ${name}: ${message}\n`
  return action === '' ? line : `${line}      ${action}\n`
}
