import type { OptionDeclaration } from './command-declaration.ts'
import { type Invocation, UsageError } from './invocation.ts'

/** Options that several commands share. */

export const yesOption: OptionDeclaration = { flags: '-y, --yes', summary: 'skip the confirmation prompt' }
export const newNameOption: OptionDeclaration = { flags: '-n, --name <name>', summary: 'new name' }
export const descriptionOption: OptionDeclaration = {
  flags: '-d, --description <text>',
  summary: 'description (one line)',
}
/** For commands that create a resource. */
export const parentOption: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'parent organization or folder',
}
/** For commands that list or find resources. */
export const parentFilterOption: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'organization or folder to search',
}
export const scopeOptions: readonly OptionDeclaration[] = [
  parentFilterOption,
  { flags: '--no-recursive', summary: 'only direct children of the parent' },
]

/** Returns the given options as fields of a request body. */
export function readOptions(invocation: Invocation, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = invocation.optionIfSet(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/** Returns the patch. Throws a UsageError if it is empty. */
export function requireChange<T extends object>(patch: T): T {
  if (Object.keys(patch).length === 0)
    throw new UsageError('no changes given: specify at least one option; see --help')
  return patch
}

/** Returns the value of an option that has no prompt. */
export function requireOption(invocation: Invocation, option: string, flag: string): string {
  const value = invocation.option(option)
  if (value === '') throw new UsageError(`${flag} is required`)
  return value
}
