import type { CommandBody } from '@berth/cli/invocation/command-declaration.ts'
import { jsonOption } from './options.ts'
import { readConfigOrExit, withInstallation } from './with-installation.ts'

export const migrateCommand: CommandBody = {
  options: [jsonOption],
  examples: ['BERTH_DATABASE_URL=postgres://berth@localhost/berth berth migrate'],
  run: ({ output }) =>
    withInstallation(readConfigOrExit(), async ({ migrations }) => {
      const text = migrations.length === 0 ? 'the schema is up to date' : `ran ${migrations.join(', ')}`
      output.result({ migrations }, `${text}\n`)
    }),
}
