import { type Command, CommanderError } from 'commander'
import { createProgram, loadAllCommands, withoutHelpSuggestion } from './commands.ts'
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
  let program: Command | undefined
  try {
    program = await createProgram(args, server)
    await program.parseAsync(expandHelp(program, args), { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && program !== undefined)
      for (const line of await suggestions(error, program, server)) process.stderr.write(`${line}\n`)
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
    command = subcommand(command, word)
    if (command === undefined) return words
  }
  return [...words, '--help']
}

/** Commands or options that a word may mean; more would not help. */
const SUGGESTIONS_MAX = 3

/** Returns what to try after a wrong command line, as far as commander has not printed a suggestion. */
async function suggestions(
  { code, message }: CommanderError,
  program: Command,
  server?: ServerPackage,
): Promise<readonly string[]> {
  if (/^commander\.(help|version)/.test(code) || withoutHelpSuggestion(message).includes('(Did you mean '))
    return []
  const [, word = ''] = /'([^']*)'/.exec(message) ?? []
  const command = commandOf(program)
  let found: readonly string[] = []
  if (code === 'commander.unknownOption') found = optionsWith(command, word)
  if (code === 'commander.unknownCommand' && command === program)
    found = pathsTo(await loadAllCommands(server), word)
  if (found.length > 0 && found.length <= SUGGESTIONS_MAX) return [`(Did you mean ${found.join(' or ')}?)`]
  const help = `see ${pathOf(command)} --help`
  return [command.name() === 'serve' ? `the settings of the server are environment variables: ${help}` : help]
}

/** The command that was parsed, as far as the arguments name one. Commander keeps its operands there. */
function commandOf(program: Command): Command {
  const [name = ''] = program.args
  const next = subcommand(program, name)
  return next === undefined ? program : commandOf(next)
}

const subcommand = (command: Command, word: string): Command | undefined =>
  command.commands.find((one) => one.name() === word || one.aliases().includes(word))

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`

/** Returns the options of which a word is a part, such as `--github-repo` for `--repo=acme/app`. */
function optionsWith(command: Command, option: string): string[] {
  const word = option.replace(/^-+|=.*$/gs, '')
  return command.options.flatMap(({ long, hidden }) =>
    long !== undefined && !hidden && long.slice(2).split('-').includes(word) ? [long] : [],
  )
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
