import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { apiOf } from './support/api/api-fixture.ts'
import { databases } from './support/database/databases.ts'
import { withoutPostgres } from './support/database/postgres.ts'
import { startWithWorkers } from './support/server/workers.ts'

/** Workers on PostgreSQL divide the connections of their server. */

const WAIT_MS_MAX = 60_000
const skip =
  (!databases.some(({ name }) => name === 'postgres') && 'not among BERTH_TEST_DATABASES') || withoutPostgres

test('workers share the connections that BERTH_DATABASE_POOL_MAX allows', { skip }, async (t) => {
  const poolMax = 5
  const server = await startWithWorkers(t, 'postgres', { BERTH_DATABASE_POOL_MAX: String(poolMax) })
  const origins = [await server.origin(1), await server.origin(2)]
  const openConnections = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    const counts = text.matchAll(/^berth_database_connections\{state="(?:used|idle)"\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  const apis = origins.map((url) => apiOf({ url }, server.tokens.api))
  // Two for each worker: the fifth one belongs to none.
  for (const endMs = Date.now() + WAIT_MS_MAX; ; await pause(50)) {
    const lists = apis.flatMap((api) => Array.from({ length: 20 }, () => api.get('iam/groups')))
    for (const { status } of await Promise.all(lists)) assert.equal(status, 200)
    const count = await openConnections()
    assert.ok(count <= 2 * Math.floor(poolMax / 2), `${count} connections`)
    if (count === 2 * Math.floor(poolMax / 2)) break
    assert.ok(Date.now() < endMs, `only ${count} connections`)
  }
})
