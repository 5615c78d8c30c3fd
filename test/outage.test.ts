import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { call } from './support/api/rest.ts'
import { urlOf } from './support/database/citus-databases.ts'
import { addressOf, serverDatabases } from './support/database/databases.ts'
import { startTestBerth } from './support/server/test-berth.ts'

const [server] = serverDatabases

test('a database that drops all connections costs the calls that ran, with code 14, and nothing more', {
  skip: server === undefined && 'no PostgreSQL server found',
}, async (t) => {
  assert.ok(server)
  const berth = await startTestBerth(server)
  t.after(() => berth.stop())
  const url = `${berth.url}/iam/v2beta1/groups`
  const address = addressOf(berth.berth.installation.store.db)
  const database = new URL(address).pathname.slice(1)
  let running = true
  const seen = new Set<string>()
  const callers = Array.from({ length: 16 }, async (_, caller) => {
    for (let n = 0; running; n++) {
      const made = caller % 4 === 0
      const path = made ? `${url}/${berth.organization}` : url
      const body = { name: `g-${caller}-${n}` }
      const reply = await call(made ? 'POST' : 'GET', path, { token: berth.token, ...(made && { body }) })
      seen.add(`${reply.status}/${reply.body.code ?? 0}`)
      if (reply.status === 503) assert.equal(reply.headers.get('retry-after'), '1')
    }
  })
  const client = new pg.Client({ connectionString: urlOf(address, 'postgres') })
  await client.connect()
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      database,
    ])
  }
  running = false
  await Promise.all(callers)
  await client.end()
  assert.deepEqual(
    [...seen].filter((answer) => answer !== '200/0' && answer !== '503/14'),
    [],
  )
  assert.equal((await call('GET', url, { token: berth.token })).status, 200)
})
