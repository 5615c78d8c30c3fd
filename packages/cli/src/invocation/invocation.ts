import type { BerthClient } from '@berth/client/berth.ts'
import type { Property } from '../config/settings.ts'
import type { Output } from '../output/output.ts'

/** What a command works with: its words, the server, and where its answer goes. */
export interface Invocation {
  /** The word of a parameter by its place, '' when it was not given. */
  argument(at: number): string
  /** All words of a variadic parameter. */
  variadicArgument(at: number): readonly string[]
  /** The value of an option, '' when it was not given. */
  option(option: string): string
  /** The value of an option; undefined when it was not given, for what may be emptied. */
  optionIfSet(option: string): string | undefined
  optionValues(option: string): readonly string[]
  flag(option: string): boolean
  /** A property of the configuration, '' when nothing sets it. */
  property(name: Property): string
  /** Signed in; ends with exit code 4 when nobody is. */
  client(): Promise<BerthClient>
  readonly output: Output
  /** Asks on a terminal, ends with exit code 2 naming `missing` elsewhere. */
  readonly prompt: Prompts
}

export interface Choice<T> {
  readonly name: string
  readonly description?: string
  readonly value: T
}

export interface Prompts {
  /** One of what there is. `missing` names the word that would have said it: `ORGANIZATION` or `--role`. */
  select<T>(question: string, missing: string, choices: () => Promise<readonly Choice<T>[]>): Promise<T>
  input(question: string, missing: string): Promise<string>
  /**
   * Returns with `--yes`, or when somebody agrees on a terminal. Elsewhere, and when they do not, the command ends with exit code 2:
   * what comes after it, as in `berth … && …`, must not take for done what was not.
   */
  confirm(question: string): Promise<void>
}

/** A mistake in the words of a command: told in one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
