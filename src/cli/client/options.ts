import type { OptionDeclaration } from './command.ts'
import { type Invocation, UsageError } from './invocation.ts'

/** Options that many commands have, and what a change is made of. */

export const yes: OptionDeclaration = { flags: '-y, --yes', summary: 'do not ask' }
export const newName: OptionDeclaration = { flags: '-n, --name <name>', summary: 'new name' }
export const description: OptionDeclaration = {
  flags: '-d, --description <text>',
  summary: 'description, one line',
}
/** Where something is put. */
export const parent: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'the organization or folder that it lies in',
}
/** Where something is looked for. */
export const inParent: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'the organization or folder to look in',
}
export const within: readonly OptionDeclaration[] = [
  inParent,
  { flags: '--no-recursive', summary: 'only what lies directly in the parent' },
]

/** Members of a body: those options that were given. */
export function given(invocation: Invocation, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = invocation.given(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/** A patch that changes something: nobody means to change nothing. */
export function change<T extends object>(patch: T): T {
  if (Object.keys(patch).length === 0) throw new UsageError('say what is to change; see --help')
  return patch
}

/** The value of an option that no picker can take the place of. */
export function needed(invocation: Invocation, option: string, flag: string): string {
  const value = invocation.text(option)
  if (value === '') throw new UsageError(`${flag} must be given`)
  return value
}
