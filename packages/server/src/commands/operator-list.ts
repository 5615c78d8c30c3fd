import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import type { Invocation } from '@berth/cli/invocation/invocation.ts'
import { type ListDeclaration, listCommand, printList } from '@berth/cli/invocation/list-command.ts'
import type { Installation } from '../installation/installation.ts'
import { readConfigOrExit, reportFailure, withExistingInstallation } from './with-installation.ts'

/** Lists of `berth admin`, with the options of every list. */

type OperatorList<T extends object> = Omit<ListDeclaration<T>, 'items'>

/** Declares a list of rows that `read` returns; undefined after a failure that it has reported. */
export function operatorList<T extends object>(
  declaration: OperatorList<T>,
  read: (invocation: Invocation) => Promise<readonly T[] | undefined>,
): CommandDeclaration {
  const list = { ...declaration, items: (): readonly T[] => [] }
  return {
    ...listCommand(list),
    async run(invocation) {
      let rows: readonly T[] | undefined
      await reportFailure(async () => {
        rows = await read(invocation)
      })
      const found = rows
      if (found !== undefined) await printList(invocation, { ...list, items: () => found })
    },
  }
}

/** Declares a list of rows of an existing installation. */
export function installationList<T extends object>(
  declaration: OperatorList<T>,
  read: (installation: Installation, invocation: Invocation) => Promise<readonly T[]>,
): CommandDeclaration {
  return operatorList(declaration, async (invocation) => {
    let rows: readonly T[] | undefined
    await withExistingInstallation(readConfigOrExit(), async (installation) => {
      rows = await read(installation, invocation)
    })
    return rows
  })
}
