import type { OptionDeclaration } from './command-declaration.ts'
import { type Invocation, UsageError } from './invocation.ts'

/** Options that many commands have, and what a change is made of. */

export const yesOption: OptionDeclaration = { flags: '-y, --yes', summary: 'do not ask' }
export const newNameOption: OptionDeclaration = { flags: '-n, --name <name>', summary: 'new name' }
export const descriptionOption: OptionDeclaration = {
  flags: '-d, --description <text>',
  summary: 'description, one line',
}
/** Where something is put. */
export const parentOption: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'the organization or folder that it lies in',
}
/** Where something is looked for. */
export const parentFilterOption: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'the organization or folder to look in',
}
export const scopeOptions: readonly OptionDeclaration[] = [
  parentFilterOption,
  { flags: '--no-recursive', summary: 'only what lies directly in the parent' },
]

/** Members of a body: those options that were given. */
export function readOptions(invocation: Invocation, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = invocation.optionIfSet(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/** A patch that changes something: nobody means to change nothing. */
export function requireChange<T extends object>(patch: T): T {
  if (Object.keys(patch).length === 0) throw new UsageError('say what is to change; see --help')
  return patch
}

/** The value of an option that no picker can take the place of. */
export function requireOption(invocation: Invocation, option: string, flag: string): string {
  const value = invocation.option(option)
  if (value === '') throw new UsageError(`${flag} must be given`)
  return value
}
