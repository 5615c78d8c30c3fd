import type { BerthClient } from '@berth/client/berth.ts'
import type { Property } from '../config/settings.ts'
import type { Output } from '../output/output.ts'
import type { ResourceNames } from './resource-names.ts'

/** The context of a running command: its arguments, the client of the server, and the output. */
export interface Invocation {
  /** The value of a parameter by its position; '' if not given. */
  argument(at: number): string
  /** All values of a variadic parameter. */
  variadicArgument(at: number): readonly string[]
  /** The value of an option; '' if not given. */
  option(option: string): string
  /** The value of an option; undefined if not given, for fields that may be set to ''. */
  optionIfSet(option: string): string | undefined
  optionValues(option: string): readonly string[]
  flag(option: string): boolean
  /** A property of the configuration; '' if not set. */
  property(name: Property): string
  /** Returns an authenticated client. Rejects with NotSignedIn (exit code 4) if there is no token. */
  client(): Promise<BerthClient>
  /** Names of the resources that results refer to by uid. */
  readonly names: ResourceNames
  readonly output: Output
  /** Asks on a terminal; elsewhere throws a UsageError that names the missing argument. */
  readonly prompt: Prompts
}

export interface Choice<T> {
  readonly name: string
  readonly description?: string
  readonly value: T
}

export interface Prompts {
  /** Lets the user choose one. `missing` names the argument that answers the question: `ORGANIZATION` or `--role`. */
  select<T>(question: string, missing: string, choices: () => Promise<readonly Choice<T>[]>): Promise<T>
  input(question: string, missing: string): Promise<string>
  /**
   * Returns with `--yes`, or when the user agrees on a terminal. Otherwise the command ends with exit code 2, so that the next command
   * in `berth … && …` does not run.
   */
  confirm(question: string): Promise<void>
}

/** Wrong usage of a command: reported in one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
