import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomUids } from '@berth/server/api/uid.ts'
import { organizationServers } from '@berth/server/storage/engines/postgres/organization-servers.ts'
import { selectedCluster } from '../support/database/databases.ts'
import { eventually } from '../support/eventually.ts'

const skip = selectedCluster === undefined && 'no Citus cluster is selected'
const ORGANIZATIONS = 200

test('a node computes the same servers of organizations as the distributed database', { skip }, async (t) => {
  if (selectedCluster?.open === undefined) throw new Error('no cluster')
  const db = await selectedCluster.open()
  t.after(() => db.close())
  const serverOf = organizationServers({
    hasCitus: () => true,
    readApart: async (text) => db.read(text, []),
  })
  const roots = Array.from({ length: ORGANIZATIONS }, () => randomUids.root())
  await eventually(() => serverOf(roots[0]!) !== undefined)
  const computed = [...Map.groupBy(roots, serverOf).values()]
  const placed = await db.rules.groupByServer(db, roots)
  const sorted = (groups: readonly (readonly string[])[]) => groups.map((of) => of.toSorted()).toSorted()
  assert.deepEqual(sorted(computed), sorted(placed))
  assert.equal(serverOf('not a uid'), undefined)
})
