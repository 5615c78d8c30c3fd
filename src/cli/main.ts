import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { addAdminCommands } from './admin.ts'
import { addMigrateCommand } from './migrate.ts'
import { addServeCommand } from './serve.ts'

/** The command line. Exit codes: 0 done, 1 refused or failed, 2 wrong usage. */

const USAGE_EXIT_CODE = 2

export async function main(args: readonly string[]): Promise<void> {
  const program = new Command('berth')
    .description('Berth: a control plane for container images that you host yourself.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'berth: ')) })
  addServeCommand(program)
  addMigrateCommand(program)
  addAdminCommands(program)
  program.addHelpText(
    'after',
    `
Examples:
  berth serve                       serve on 127.0.0.1:8080, data in ./data
  berth admin bootstrap --json      the first organization, its owner and a token
  berth admin token                 a token of the owner, for an hour
`,
  )
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : USAGE_EXIT_CODE
  }
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
