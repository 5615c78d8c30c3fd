import type { OptionDeclaration } from '@berth/cli/invocation/command-declaration.ts'

/** Options that several commands share. */

export const jsonOption: OptionDeclaration = { flags: '--json', summary: 'same as -o json' }
export const dryRunOption: OptionDeclaration = {
  flags: '--dry-run',
  summary: 'show what would change without changing anything',
}
