import type { Command } from 'commander'
import { printResult } from './output.ts'
import { readConfigOrExit, withInstallation } from './with-installation.ts'

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database schema up to date, as serve does at its start')
    .option('--json', 'print the migrations that ran as JSON', false)
    .addHelpText('after', '\nExample:\n  BERTH_DATABASE_URL=postgres://berth@localhost/berth berth migrate\n')
    .action(({ json }: { json: boolean }) =>
      withInstallation(readConfigOrExit(), async ({ migrations }) => {
        const sentence = migrations.length === 0 ? 'the schema is up to date' : `ran ${migrations.join(', ')}`
        printResult(json, { migrations }, `${sentence}\n`)
      }),
    )
}
