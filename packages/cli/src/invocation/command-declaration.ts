import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { Format } from '../config/settings.ts'
import type { Invocation } from './invocation.ts'

/** Declarations of commands: name, parameters, options and the function to run. */

export interface Parameter {
  /** `NAME`: shown in angle brackets if required, in square brackets if a prompt or a default replaces it. */
  readonly name: string
  readonly summary: string
  readonly required?: boolean
  /** Takes all remaining arguments. */
  readonly variadic?: boolean
  readonly choices?: readonly string[]
}

export interface OptionDeclaration {
  /** In the syntax of commander: `-d, --description <text>`, `--yes`. */
  readonly flags: string
  readonly summary: string
  readonly choices?: readonly string[]
  readonly default?: string | boolean
  /** May be given several times, each time with one or more comma-separated values. */
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
  /** Output formats that only this command has; 'any': its `--output` names a file. */
  readonly formats?: readonly string[] | 'any'
  /** Returns the output format if neither the command line nor the configuration has one. Default: table. */
  readonly defaultFormat?: (options: Readonly<Record<string, unknown>>) => Format
  /** Sends no requests to a server: it has no `--audience`. Applies to subcommands as well. */
  readonly local?: boolean
  /** Explanations in the help, before the examples. */
  readonly notes?: string
  /** Complete command lines. */
  readonly examples: readonly [string, ...string[]]
  readonly run: (invocation: Invocation) => Promise<void>
  /** Subcommands of a command that also runs by itself. */
  readonly commands?: readonly CommandDeclaration[]
}

export interface CommandGroup {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly summary: string
  readonly local?: boolean
  readonly commands: readonly (CommandDeclaration | CommandGroup)[]
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** A command or group without its name and summary, which the list of top-level commands has. */
export type CommandBody = DistributiveOmit<CommandDeclaration | CommandGroup, 'name' | 'aliases' | 'summary'>

/** Creates the invocation of a command from its arguments. */
export type CreateInvocation = (
  parameters: readonly (string | readonly string[])[],
  command: Command,
  declaration: Pick<CommandDeclaration, 'formats' | 'defaultFormat'>,
) => Invocation

export function addCommand(
  parent: Command,
  declaration: CommandDeclaration | CommandGroup,
  createInvocation: CreateInvocation,
): Command {
  const { name, aliases = [], summary, local = false } = declaration
  const command = parent
    .command(name)
    .description(summary)
    .aliases([...aliases])
  for (const inner of declaration.commands ?? []) addCommand(command, { local, ...inner }, createInvocation)
  if (!('run' in declaration)) {
    command.addHelpText('after', `\n${globalFlagsNote(local).trimEnd()}`)
    return command
  }
  for (const parameter of declaration.parameters ?? []) command.addArgument(toArgument(parameter))
  for (const option of declaration.options ?? []) command.addOption(toOption(option))
  // Not a global flag: the commands of `berth auth` and `berth admin` define their own.
  if (!local && !command.options.some(({ long }) => long === '--audience'))
    command.addOption(
      new Option('--audience <audience>', 'token audience (BERTH_AUDIENCE; default: the API)'),
    )
  const notes = declaration.notes === undefined ? '' : `\n${declaration.notes.trim()}\n`
  command.addHelpText(
    'after',
    `${notes}\n${globalFlagsNote(local)}\nExamples:\n${declaration.examples.map((line) => `  ${line}\n`).join('')}`,
  )
  command.action(async (...given: unknown[]) => {
    const words = given.slice(0, -2) as (string | readonly string[] | undefined)[]
    await declaration.run(
      createInvocation(
        words.map((word) => word ?? ''),
        command,
        declaration,
      ),
    )
  })
  return command
}

/** Subcommands accept the global flags, which the root help describes. */
function globalFlagsNote(local: boolean): string {
  const server = local ? '' : '--api, --issuer, --config, --profile, '
  return `Global flags, described in berth --help:\n  ${server}-o/--output, --json, --no-headers,\n  --log-level, --force-color, --no-color\n`
}

function toArgument({ name, summary, required = false, variadic = false, choices }: Parameter): Argument {
  const term = variadic ? `${name}...` : name
  const argument = new Argument(required ? `<${term}>` : `[${term}]`, summary)
  return choices === undefined ? argument : argument.choices(choices)
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
