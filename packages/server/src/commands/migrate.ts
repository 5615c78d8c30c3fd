import type { CommandBody } from '@berth/cli/invocation/command-declaration.ts'
import { jsonOption } from './options.ts'
import { readConfigOrExit, withInstallation } from './with-installation.ts'

export const migrateCommand: CommandBody = {
  options: [jsonOption],
  examples: ['BERTH_DATABASE_URL=postgres://berth@localhost/berth berth migrate'],
  run: ({ output }) =>
    withInstallation(readConfigOrExit(), async ({ migrations, store: { db } }) => {
      const tables = await db.rules.countPlacedTables(db)
      const lines = [migrations.length === 0 ? 'the schema is up to date' : `ran ${migrations.join(', ')}`]
      if (tables !== undefined)
        lines.push(
          `the database is distributed: ${tables.distributed} tables by their key, ${tables.reference} on every server, ${tables.local} on the coordinator`,
        )
      output.result({ migrations, tables }, `${lines.join('\n')}\n`)
    }),
}
