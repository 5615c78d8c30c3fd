import { version } from '@berth/server/config/version.ts'
import { Command, CommanderError } from 'commander'
import { addCommand, type CommandDeclaration, type CommandGroup } from './invocation/command-declaration.ts'
import { addGlobalFlags, createInvoker, describeFailure, exitCodes } from './invocation/invoke.ts'
import { sanitizeText } from './output/text-width.ts'

/**
 * The command line. Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 could not connect, 4 not signed in. Only what a
 * command needs is loaded: the first word decides.
 */

type Load = (program: Command) => Promise<void>

const loadDeclared =
  (load: () => Promise<CommandDeclaration | CommandGroup>): Load =>
  async (program) => {
    addCommand(program, await load(), createInvoker(process.env))
  }

const commands: Readonly<Record<string, { readonly names: readonly string[]; readonly load: Load }>> = {
  auth: {
    names: [],
    load: loadDeclared(async () => (await import('./commands/auth/commands.ts')).authGroup),
  },
  iam: { names: [], load: loadDeclared(async () => (await import('./commands/iam/commands.ts')).iamGroup) },
  images: {
    names: ['image'],
    load: loadDeclared(async () => (await import('./commands/images/commands.ts')).imagesGroup),
  },
  advisories: {
    names: ['advisory'],
    load: loadDeclared(async () => (await import('./commands/advisories/commands.ts')).advisoriesGroup),
  },
  config: {
    names: [],
    load: loadDeclared(async () => (await import('./commands/config/commands.ts')).configGroup),
  },
  'kubelet-credential-provider': {
    names: [],
    load: loadDeclared(async () => (await import('./commands/auth/kubelet-command.ts')).kubeletCommand),
  },
  completion: {
    names: [],
    load: async (program) => (await import('./completion.ts')).addCompletionCommand(program, loadAllCommands),
  },
  serve: {
    names: [],
    load: async (program) =>
      (await import('@berth/server/operator/commands/serve.ts')).addServeCommand(program),
  },
  migrate: {
    names: [],
    load: async (program) =>
      (await import('@berth/server/operator/commands/migrate.ts')).addMigrateCommand(program),
  },
  admin: {
    names: [],
    load: async (program) =>
      (await import('@berth/server/operator/commands/admin.ts')).addAdminCommands(program),
  },
}

export async function main(args: readonly string[]): Promise<void> {
  // Whoever reads our output may have had enough of it, as head does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
  const program = createProgram()
  const first = args.find((word) => !word.startsWith('-')) ?? ''
  const wanted = Object.entries(commands).find(([name, { names }]) => name === first || names.includes(first))
  // A flag before the command may take a value that looks like one; then, and for help, all of them are there.
  if (wanted !== undefined && args[0] === first) await wanted[1].load(program)
  else await loadAllCommands(program)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    fail(error)
  }
}

/** All commands of the program, for help and completion. */
export async function loadAllCommands(program: Command = createProgram()): Promise<Command> {
  for (const { load } of Object.values(commands)) await load(program)
  return program
}

function createProgram(): Command {
  const program = new Command('berth')
    .description('Berth: a control plane for container images that you host yourself.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'berth: ')) })
  addGlobalFlags(program)
  return program.addHelpText(
    'after',
    `
Examples:
  berth serve                       serve on 127.0.0.1:8080, data in ./data
  berth auth login                  sign in with a browser
  berth iam folders list -o tree    what there is
  berth admin bootstrap --json      the first organization, its owner and a token
`,
  )
}

function fail(error: unknown): void {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage
    return
  }
  const failure = describeFailure(error)
  if (failure === undefined) throw error
  // What servers and files say must not move the cursor, colour the terminal or turn the line around.
  const lines = failure.lines
    .flatMap((line) => line.split('\n'))
    .map((line) => sanitizeText(line).trimEnd())
    .filter((line) => line !== '')
  process.stderr.write(`berth: ${lines.join('\n')}\n`)
  process.exitCode = failure.code
}
