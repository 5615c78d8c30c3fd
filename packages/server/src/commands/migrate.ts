import type { CommandBody } from '@berth/cli/invocation/command-declaration.ts'
import { enableQueryFromAnyNode } from '../installation/cluster-server.ts'
import { jsonOption } from './options.ts'
import { readConfigOrExit, withInstallation } from './with-installation.ts'

export const migrateCommand: CommandBody = {
  options: [
    {
      flags: '--query-from-any-node',
      summary: 'allow nodes to connect to workers of a distributed database (Citus)',
    },
    jsonOption,
  ],
  examples: [
    'BERTH_DATABASE_URL=postgres://berth@localhost/berth berth migrate',
    'BERTH_DATABASE_URL=postgres://berth@coordinator/berth berth migrate --query-from-any-node',
  ],
  run: ({ output, flag }) =>
    withInstallation(readConfigOrExit(), async ({ migrations, store: { db } }) => {
      if (flag('queryFromAnyNode')) await enableQueryFromAnyNode(db)
      const server = await db.rules.findClusterServer(db)
      const queryFromAnyNode = server === undefined ? undefined : server.absentTables.length === 0
      const tables = await db.rules.countPlacedTables(db)
      const lines = [migrations.length === 0 ? 'the schema is up to date' : `ran ${migrations.join(', ')}`]
      if (tables !== undefined)
        lines.push(
          `the database is distributed: ${tables.distributed} tables by their key, ${tables.reference} on every server, ${tables.local} on the coordinator`,
        )
      if (queryFromAnyNode) lines.push('nodes can use its workers')
      output.result({ migrations, tables, queryFromAnyNode }, `${lines.join('\n')}\n`)
    }),
}
