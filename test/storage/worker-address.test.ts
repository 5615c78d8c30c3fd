import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runAdmin } from '../support/database/backups.ts'
import { isQueryFromAnyNodeEnabled } from '../support/database/citus-databases.ts'
import { selectedCluster } from '../support/database/databases.ts'
import { runBerth, temporaryDirectory } from '../support/server/process.ts'

/** Nodes and commands whose database address is a worker of a distributed database. */

const cluster = selectedCluster

const skip =
  (cluster === undefined && 'no Citus cluster is selected') ||
  (isQueryFromAnyNodeEnabled && 'nodes can use the workers of this cluster')

describe('the address of a worker', { skip }, () => {
  for (const [state, create] of [
    ['migrated', cluster?.share],
    ['empty', cluster?.shareEmpty],
  ] as const)
    test(`is rejected with what to do (${state} database)`, async (t) => {
      assert.ok(create)
      const database = await create()
      t.after(() => database.close())
      const env = {
        BERTH_DATA_DIR: temporaryDirectory(t),
        BERTH_DATABASE_URL: database.urls[1] ?? '',
        BERTH_LISTEN: '127.0.0.1:0',
      }
      const problem =
        /127\.0\.0\.1:\d+ is a worker of a distributed database, which has no tables of the coordinator\.? Set the address to the coordinator, or let nodes use the workers: run berth migrate --query-from-any-node with the address of the coordinator\./
      for (const command of [['serve'], ['migrate'], ['migrate', '--query-from-any-node']]) {
        const { code, stderr } = await runBerth(t, command, env)
        assert.equal(code, 1, stderr)
        assert.match(stderr, problem)
      }
      const { code, json } = await runAdmin(t, env, 'check', '--json')
      assert.equal(code, 1)
      const found = json.checks.find(({ name }: { name: string }) => name === 'database')
      assert.equal(found.result, 'fail')
      assert.match(`${found.message} ${found.action}`, problem)
    })
})
