import { type Command, CommanderError } from 'commander'
import { createProgram, loadAllCommands } from './commands.ts'
import { describeFailure, exitCodes } from './invocation/invoke.ts'
import { sanitizeText } from './output/text-width.ts'
import type { ServerPackage } from './server-package.ts'

/** Runs the command line. Exit codes: 0 success, 1 failed or denied, 2 wrong usage, 3 server unreachable, 4 not signed in. */
export async function main(args: readonly string[], server?: ServerPackage): Promise<void> {
  // The reader of a pipe may close it early, as head does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
  if (args[0] === '__complete') return printCompletions(args.slice(1), server)
  try {
    const program = await createProgram(args, server)
    await program.parseAsync(expandHelp(program, args), { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) await suggest(error, args, server)
    fail(error)
  }
}

/** Prints the completions of a command line for a shell. A failure offers nothing. */
async function printCompletions(words: readonly string[], server?: ServerPackage): Promise<void> {
  try {
    const { complete } = await import('./completion/complete.ts')
    const lines = await complete(await createProgram(words, server), words)
    process.stdout.write(lines.map((line) => `${line}\n`).join(''))
  } catch {}
}

/** `help iam roles` is `iam roles --help`; an unknown command is reported as such. */
function expandHelp(program: Command, args: readonly string[]): readonly string[] {
  const [first, ...words] = args
  if (first !== 'help' || words.length === 0 || words.some((word) => word.startsWith('-'))) return args
  let command: Command | undefined = program
  for (const word of words) {
    if (command.commands.length === 0) break
    command = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (command === undefined) return words
  }
  return [...words, '--help']
}

/** Commands that a word may mean; more would not help. */
const SUGGESTIONS_MAX = 3

/** Adds what commander does not know to the error that it has printed. */
async function suggest({ code }: CommanderError, args: readonly string[], server?: ServerPackage) {
  const [first = ''] = args
  if (code === 'commander.unknownOption' && first === 'serve')
    process.stderr.write('the settings of the server are environment variables: see berth serve --help\n')
  if (code !== 'commander.unknownCommand') return
  const found = pathsTo(await loadAllCommands(server), first)
  if (found.length > 0 && found.length <= SUGGESTIONS_MAX)
    process.stderr.write(`(Did you mean ${found.join(' or ')}?)\n`)
}

/** Returns the full names of the subcommands with a name, such as `berth auth login`. */
function pathsTo(program: Command, name: string): string[] {
  const below = (command: Command, path: string): string[] =>
    command.commands.flatMap((one) => [
      ...([one.name(), ...one.aliases()].includes(name) ? [`${path} ${one.name()}`] : []),
      ...below(one, `${path} ${one.name()}`),
    ])
  return below(program, program.name())
}

function fail(error: unknown): void {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage
    return
  }
  const failure = describeFailure(error)
  if (failure === undefined) throw error
  // Texts of servers and files must not contain terminal control or bidirectional characters.
  const lines = failure.lines
    .flatMap((line) => line.split('\n'))
    .map((line) => sanitizeText(line).trimEnd())
    .filter((line) => line !== '')
  process.stderr.write(`berth: ${lines.join('\n')}\n`)
  process.exitCode = failure.code
}
