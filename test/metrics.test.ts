import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { FEEDS } from './support/advisories/feeds.ts'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { v1ClientOf } from './support/api/v1-client.ts'
import { urlOf } from './support/database/citus-databases.ts'
import { addressOf, serverDatabases } from './support/database/databases.ts'
import { serveBerth, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth } from './support/server/test-berth.ts'

/** The public port reports on the process; only the operator's own listener names tenants. */

const listener = { env: { BERTH_METRICS_LISTEN: '127.0.0.1:0' } }

for (const { title, options } of [
  { title: 'metrics without a listener of their own', options: {} },
  { title: 'metrics on a listener of their own', options: listener },
])
  onEveryDatabase(
    title,
    (cast) => {
      /** An organization with everything that metrics count, and all names and uids in it. */
      const tenant = async () => {
        const { uid, owner, member } = await cast().organization()
        const { api } = await member('advisories.admin')
        const feed = await api.create(`${FEEDS}/${uid}`, { url: 'https://feeds.example/all.zip' })
        const repo = await owner.api.create(`registry/repos/${uid}`, { name: 'metric-repo' })
        await v1ClientOf(cast(), owner.api).get('iam/groups')
        const { name } = (await owner.api.get(`iam/groups/${uid}`)).body
        return { names: [uid, owner.uid, feed.uid, repo.uid, name, 'feeds.example'], feed, owner }
      }

      if (options === listener) {
        test('R35: the public port has no /metrics, the listener has them with tenants, health and nothing else', async () => {
          const { berth } = cast()
          const { feed, owner } = await tenant()
          const hidden = await fetch(`${berth.url}/metrics`)
          assert.equal(hidden.status, 404)
          assert.doesNotMatch(await hidden.text(), /berth_/)
          assert.equal((await fetch(`${berth.url}/healthz`)).status, 200)

          const url = berth.berth.metricsUrl
          const text = await (await fetch(`${url}/metrics`)).text()
          assert.match(
            text,
            new RegExp(`^berth_v1_identity_calls_total\\{[^}]*identity="${owner.uid}"\\} 1$`, 'm'),
          )
          assert.match(
            text,
            new RegExp(`^berth_advisory_feed_last_success_\\w+\\{feed="${feed.uid}"\\} 0$`, 'm'),
          )
          assert.match(text, /^berth_requests_total\{/m)
          for (const path of ['/healthz', '/readyz'])
            assert.equal((await fetch(`${url}${path}`)).status, 200, path)
          for (const path of [
            '/',
            '/docs',
            '/openapi.json',
            '/iam/v2beta1/groups',
            '/v2/',
            '/sts/exchange',
            '/metrics/x',
          ]) {
            const answer = await fetch(`${url}${path}`, {
              headers: { authorization: `Bearer ${berth.token}` },
            })
            assert.equal(answer.status, 404, path)
          }
          assert.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 405)
        })
      } else {
        test('R35: /metrics on the public port names no tenant: no uid, no name, no address', async () => {
          const { berth } = cast()
          const { names } = await tenant()
          assert.equal(berth.berth.metricsUrl, undefined)
          const text = await (await fetch(`${berth.url}/metrics`)).text()
          assert.match(text, /^berth_v1_calls_total\{method="chainguard.platform.iam.Groups\/List"\} 1$/m)
          for (const name of names) assert.ok(!text.includes(name), name)
          assert.doesNotMatch(text, /="[^"\n]*[0-9a-f]{16}/, 'a uid in a label')
          const labels = new Set(
            [...text.matchAll(/^berth_\w+\{([^}]*)\}/gm)].flatMap(([, pairs = '']) =>
              [...pairs.matchAll(/(\w+)="/g)].map(([, label]) => label),
            ),
          )
          // A new label is a decision: it must not take its values from tenants.
          assert.deepEqual([...labels].sort(), [...known].filter((label) => labels.has(label)).sort())
        })
      }
    },
    options,
  )

const known = new Set([
  'directory',
  'method',
  'protocol',
  'code',
  'le',
  'class',
  'by',
  'state',
  'outcome',
  'result',
  'kind',
  'name',
  'metric',
  'version',
  'node',
  'directory',
  'direction',
  'operation',
  'why',
])

test('the listener of metrics closes with the server, and its address is in the log', async (t) => {
  const serving = await serveBerth(t, { BERTH_DATA_DIR: temporaryDirectory(t), ...listener.env })
  const [, url] = /"url":"(http:[^"]+)","msg":"serving metrics"/.exec(serving.output().stderr) ?? []
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
  serving.child.kill('SIGTERM')
  const { code } = await serving.finished
  assert.equal(code, 0)
  await assert.rejects(fetch(`${url}/readyz`))
})

const [database] = serverDatabases

test('without its database the server still serves metrics, with the last values that it read', {
  skip: database === undefined && 'no PostgreSQL server found',
}, async (t) => {
  assert.ok(database)
  const server = await startTestBerth(database)
  t.after(() => server.stop())
  const metrics = async () => {
    const reply = await fetch(`${server.url}/metrics`)
    assert.equal(reply.status, 200)
    return reply.text()
  }
  const kept = /^berth_registry_(manifests|linked_bytes|collection_last_success_timestamp_seconds) \d+$/gm
  assert.equal((await metrics()).match(kept)?.length, 3)

  const address = addressOf(server.berth.installation.store.db)
  const name = new URL(address).pathname.slice(1)
  const administrator = new pg.Client({ connectionString: urlOf(address, 'postgres') })
  await administrator.connect()
  try {
    await administrator.query(`alter database "${name}" allow_connections false`)
    await administrator.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      name,
    ])
    assert.equal((await metrics()).match(kept)?.length, 3)
    const text = await metrics()
    assert.equal(text.match(kept)?.length, 3)
    // Of the look before: a look may count its own failures after it has written the counter.
    assert.match(text, /^berth_metric_reads_failed_total\{metric="berth_registry_manifests"\} [1-9]\d*$/m)
    assert.match(text, /^process_resident_memory_bytes /m)
  } finally {
    await administrator.query(`alter database "${name}" allow_connections true`)
    await administrator.end()
  }
})
