import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Invocation } from './invocation.ts'

/** How the commands that talk to a server are declared: what they are called, what they take, and what they do. */

export interface Parameter {
  /** `NAME`: shown in angle brackets when it must be given, in square ones when a picker or a default takes its place. */
  readonly name: string
  readonly summary: string
  readonly required?: boolean
  /** Takes all that is left. */
  readonly variadic?: boolean
}

export interface OptionDeclaration {
  /** As commander writes them: `-d, --description <text>`, `--yes`. */
  readonly flags: string
  readonly summary: string
  readonly choices?: readonly string[]
  readonly default?: string | boolean
  /** May be given several times; each value may hold several, separated by commas. */
  readonly repeatable?: boolean
  readonly conflicts?: readonly string[]
  readonly hidden?: boolean
}

export interface CommandDeclaration {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly summary: string
  readonly parameters?: readonly Parameter[]
  readonly options?: readonly OptionDeclaration[]
  /** Formats that this command alone has, beside those of all; 'any': its `--output` names a file. */
  readonly formats?: readonly string[] | 'any'
  /** Whole command lines. */
  readonly examples: readonly [string, ...string[]]
  readonly run: (invocation: Invocation) => Promise<void>
  /** Commands below one that does something by itself. */
  readonly commands?: readonly CommandDeclaration[]
}

export interface CommandGroup {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly summary: string
  readonly commands: readonly (CommandDeclaration | CommandGroup)[]
}

/** Makes what a command works with out of its words. */
export type CreateInvocation = (
  parameters: readonly (string | readonly string[])[],
  command: Command,
  formats: readonly string[] | 'any',
) => Invocation

export function addCommand(
  parent: Command,
  declaration: CommandDeclaration | CommandGroup,
  createInvocation: CreateInvocation,
): Command {
  const { name, aliases = [], summary } = declaration
  const command = parent
    .command(name)
    .description(summary)
    .aliases([...aliases])
  for (const inner of declaration.commands ?? []) addCommand(command, inner, createInvocation)
  if (!('run' in declaration)) return command
  for (const { name: word, summary, required = false, variadic = false } of declaration.parameters ?? []) {
    const dots = variadic ? '...' : ''
    command.argument(required ? `<${word}${dots}>` : `[${word}${dots}]`, summary)
  }
  for (const option of declaration.options ?? []) command.addOption(toOption(option))
  // Not of the program itself: commands about signing in, and the operator's, have one with a meaning of its own.
  if (!command.options.some(({ long }) => long === '--audience'))
    command.addOption(
      new Option('--audience <audience>', 'what the token is for (BERTH_AUDIENCE; default: the API)'),
    )
  command.addHelpText('after', `\nExamples:\n${declaration.examples.map((line) => `  ${line}\n`).join('')}`)
  command.action(async (...given: unknown[]) => {
    const words = given.slice(0, -2) as (string | readonly string[] | undefined)[]
    await declaration.run(
      createInvocation(
        words.map((word) => word ?? ''),
        command,
        declaration.formats ?? [],
      ),
    )
  })
  return command
}

function toOption({
  flags,
  summary,
  choices,
  default: preset,
  repeatable,
  conflicts,
  hidden,
}: OptionDeclaration) {
  const option = new Option(flags, summary)
  if (choices !== undefined && repeatable !== true) option.choices(choices)
  if (preset !== undefined) option.default(preset)
  if (conflicts !== undefined) option.conflicts([...conflicts])
  if (hidden === true) option.hideHelp()
  if (repeatable === true) {
    option.argParser((text: string, earlier: readonly string[] | undefined) => {
      const values = text.split(',').map((value) => value.trim())
      const wrong = values.find((value) => choices !== undefined && !choices.includes(value))
      if (wrong !== undefined) throw new InvalidArgumentError(`Allowed choices are ${choices?.join(', ')}.`)
      return [...(earlier ?? []), ...values]
    })
  }
  return option
}
