import { test } from 'node:test'
import { tableOwnership } from '@berth/server/storage/schema/table-ownership.ts'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { schemaAddressOf } from './support/database/databases.ts'
import { executeStatement } from './support/database/postgres-template.ts'
import { bearerOf } from './support/registry/registry.ts'
import { createCrossNodeWork, nodeClient } from './support/server/cross-node-work.ts'

/** A newer version migrates the database while this one runs. */

// SQLite prepares its statements again.
onEveryDatabase(
  'columns that a newer version adds',
  (cast) => {
    test('fail no request', async () => {
      const { berth } = cast()
      const registry = (await bearerOf(berth, berth.owner)).replace('Bearer ', '')
      const node = nodeClient(berth.url, { api: berth.token, registry })
      const work = createCrossNodeWork(berth.organization)
      // Every connection has plans of the statements.
      const run = () => Promise.all([1, 2, 3, 4].map(() => work.run(node, node)))
      await run()
      const address = schemaAddressOf(berth.berth.installation.store.db)
      for (const table of Object.keys(tableOwnership))
        await executeStatement(
          address,
          `alter table ${table} add column added_later integer not null default 0`,
        )
      await run()
      await work.verify(node)
    })
  },
  { only: 'servers' },
)
