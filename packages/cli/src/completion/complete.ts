import type { Argument, Command, Option } from 'commander'
import { formats } from '../config/settings.ts'
import { findValues, isFileKind } from './values.ts'

/** Finds the completions of a command line. */

/** A word to complete with, and its description. */
export interface Candidate {
  readonly value: string
  readonly description?: string
}

/** Offer the names of files. */
const FILES = ':files'

/** `words`: those after the program; the last one is being typed. Rejects if names cannot be read from the server. */
export async function complete(program: Command, words: readonly string[]): Promise<string[]> {
  const typed = words.at(-1) ?? ''
  const { command, operands, option } = readWords(program, words.slice(0, -1))
  const offer = async (candidates: Promise<readonly Candidate[]> | readonly Candidate[], prefix = '') =>
    selectMatches(await candidates, typed.slice(prefix.length)).map(({ value, description }) =>
      description ? `${prefix}${value}\t${firstLine(description)}` : prefix + value,
    )

  const [, flag = '', value = ''] = /^(--[\w-]+)=(.*)$/.exec(typed) ?? []
  const assigned = flag === '' ? undefined : findOption(command, flag)
  if (assigned !== undefined) return offer(valuesOf(program, words, assigned, value), `${flag}=`)
  if (option !== undefined)
    return isFileKind(placeholderOf(option)) ? [FILES] : offer(valuesOf(program, words, option, typed))
  if (typed.startsWith('-')) return offer(flagsOf(command))
  if (command.commands.length > 0 && operands.length === 0) {
    const commands = command.commands.map((inner) => ({
      value: inner.name(),
      description: inner.description(),
    }))
    return offer(command === program ? commands : [...commands, ...flagsOf(command).slice(-1)])
  }
  if (command.commands.length > 0 && command.registeredArguments.length === 0) return []
  const parameter = findParameter(command, operands.length)
  if (parameter === undefined) return offer(typed === '' ? flagsOf(command) : [])
  if (isFileKind(parameter.name())) return [FILES]
  const found = await offer(argumentValues(program, words, parameter, typed))
  return found.length === 0 && typed === '' ? offer(flagsOf(command)) : found
}

/** Candidates that start with what is typed, or else whose name does: `hello` completes to `my-org/team/hello`. */
function selectMatches(candidates: readonly Candidate[], typed: string): readonly Candidate[] {
  const found = candidates.filter(({ value }) => value.startsWith(typed))
  return found.length > 0 || typed === ''
    ? found
    : candidates.filter(({ value }) => value.slice(value.lastIndexOf('/') + 1).startsWith(typed))
}

/** Returns a parameter by its position; the last one may take all remaining arguments. */
function findParameter({ registeredArguments }: Command, at: number): Argument | undefined {
  const last = registeredArguments.at(-1)
  return registeredArguments[at] ?? (last?.variadic ? last : undefined)
}

interface ReadWords {
  readonly command: Command
  /** Arguments of the command. */
  readonly operands: readonly string[]
  /** The option whose value is being typed. */
  readonly option: Option | undefined
}

function readWords(program: Command, words: readonly string[]): ReadWords {
  let command = program
  let option: Option | undefined
  const operands: string[] = []
  for (const word of words) {
    if (option !== undefined) option = undefined
    else if (word.startsWith('-')) {
      const found = findOption(command, word)
      option = found?.required ? found : undefined
    } else {
      const inner =
        operands.length > 0
          ? undefined
          : command.commands.find((one) => one.name() === word || one.aliases().includes(word))
      if (inner === undefined) operands.push(word)
      else command = inner
    }
  }
  return { command, operands, option }
}

/** The options of a command and the global ones. */
function optionsOf(command: Command): Option[] {
  const own = command.options
  const root = rootOf(command)
  const shared = command === root ? [] : root.options.filter(({ long }) => long !== '--version')
  return [...own, ...shared.filter(({ long }) => !own.some((one) => one.long === long))].filter(
    ({ hidden }) => !hidden,
  )
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent)
}

function findOption(command: Command, flag: string): Option | undefined {
  return optionsOf(command).find(({ long, short }) => flag === long || flag === short)
}

function flagsOf(command: Command): Candidate[] {
  const flags = optionsOf(command).flatMap(({ long, description }) =>
    long ? [{ value: long, description }] : [],
  )
  return [...flags, { value: '--help', description: 'print the help' }]
}

/** `--parent <group>`: `group`. */
function placeholderOf({ flags }: Option): string {
  return /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? ''
}

function valuesOf(
  program: Command,
  words: readonly string[],
  option: Option,
  typed: string,
): Promise<readonly Candidate[]> | readonly Candidate[] {
  const choices = option.long === '--output' ? formats : option.argChoices
  if (choices !== undefined) return choices.map((value) => ({ value }))
  const kind = /capabilities$/.test(option.long ?? '') ? 'capability' : placeholderOf(option)
  return findValues(kind, typed, { program, words })
}

function argumentValues(
  program: Command,
  words: readonly string[],
  argument: Argument,
  typed: string,
): Promise<readonly Candidate[]> | readonly Candidate[] {
  if (argument.argChoices !== undefined) return argument.argChoices.map((value) => ({ value }))
  return findValues(argument.name(), typed, { program, words })
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').replaceAll(/\p{Cc}/gu, ' ')
}
