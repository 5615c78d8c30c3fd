import type { CommandDeclaration, CommandGroup } from '@berth/cli/invocation/command-declaration.ts'
import type { View } from '@berth/cli/output/output.ts'
import { addOperator, listOperators, type OperatorSummary, removeOperator } from '../../operator/operators.ts'
import { jsonOption } from '../options.ts'
import { installationList, readConfigOrExit, withExistingInstallation } from '../with-installation.ts'

const view: View<OperatorSummary> = {
  columns: [
    { title: 'EMAIL', kind: 'name', value: ({ email }) => email },
    { title: 'NAME', kind: 'name', value: ({ name }) => name },
    { title: 'ROLE', kind: 'name', value: ({ role }) => role },
    { title: 'IDENTITY', kind: 'uid', value: ({ identity }) => identity },
  ],
  id: ({ identity }) => identity,
  empty: 'no operators',
}

const changeCommand = (
  name: 'add' | 'remove',
  summary: string,
  change: typeof addOperator,
  done: { readonly changed: string; readonly unchanged: string },
): CommandDeclaration => ({
  name,
  summary,
  parameters: [{ name: 'EMAIL', summary: 'email address of a local account', required: true }],
  options: [jsonOption],
  examples: [`berth admin operators ${name} ada@example.com`],
  run: ({ argument, output }) =>
    withExistingInstallation(readConfigOrExit(), async ({ store }) => {
      const email = argument(0)
      const isChanged = await change(store, email)
      output.result({ email, changed: isChanged }, `${email} ${isChanged ? done.changed : done.unchanged}\n`)
    }),
})

/** `berth admin operators`: users of the operator API. */
export const operatorsGroup: CommandGroup = {
  name: 'operators',
  summary: 'Manage who can use the operator API and its pages',
  commands: [
    installationList(
      {
        summary: 'List users with a role on the platform',
        options: [jsonOption],
        examples: ['berth admin operators list'],
        view: () => view,
      },
      ({ store }) => listOperators(store),
    ),
    changeCommand('add', 'Make the user of an account an operator', addOperator, {
      changed: 'is an operator now',
      unchanged: 'is an operator already',
    }),
    changeCommand('remove', 'Remove the role operator from the user of an account', removeOperator, {
      changed: 'is no longer an operator',
      unchanged: 'does not have the role operator',
    }),
  ],
}
