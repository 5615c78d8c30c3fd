import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildZip } from './support/advisories/archives.ts'
import { startNodes } from './support/advisories/feed-nodes.ts'
import { startFeedServer } from './support/advisories/feed-server.ts'
import { countAdvisories, FEEDS, osvRecord, waitForFeed } from './support/advisories/feeds.ts'
import { type Api, apiOf } from './support/api/api-fixture.ts'
import { withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'

/** One of several nodes runs a feed, and another continues when that one ends or dies. */

/** So many that the import is not done when its node ends. */
const DOCUMENTS = 500
const FEED_COUNT = 6
const LONG_LEASE_MS = 10 * 60 * 1000

function archive(count: number): Buffer {
  const records = Array.from({ length: count }, (_, at) => osvRecord(at))
  return buildZip(records.map((record, at) => ({ name: `${at}.json`, content: JSON.stringify(record) })))
}

test('one of two nodes runs a feed', { skip: withoutPostgres }, async (t) => {
  const server = await startFeedServer(t)
  const { start, organization, token } = await startNodes(t, 'postgres', [String(LONG_LEASE_MS)])
  const [here, there] = (await Promise.all([start(), start()])).map((node) => apiOf(node, token)) as [
    Api,
    Api,
  ]
  const paths = Array.from({ length: FEED_COUNT }, (_, at) => `/${at}.zip`)
  for (const path of paths) server.files.set(path, archive(3))
  const added = paths.map((path) => here.create(`${FEEDS}/${organization}`, { url: server.url + path }))
  for (const { uid } of await Promise.all(added))
    await waitForFeed(there, uid, ({ state }) => state === 'STATE_SUCCEEDED')
  assert.deepEqual(server.requests.map(({ path }) => path).sort(), paths)
})

for (const [engine, how, signal, leaseMs] of [
  ['sqlite', 'is killed', 'SIGKILL', 3000],
  ['postgres', 'is killed', 'SIGKILL', 3000],
  ['sqlite', 'is stopped', 'SIGTERM', LONG_LEASE_MS],
] as const)
  test(`a feed is run by one node, and by another when that one ${how} (${engine})`, {
    skip: engine === 'postgres' && withoutPostgres,
  }, async (t) => {
    const server = await startFeedServer(t)
    server.files.set('/all.zip', archive(DOCUMENTS))
    const { start, organization, token } = await startNodes(t, engine, [String(leaseMs)])
    const first = await start()
    const here = apiOf(first, token)
    const { uid } = await here.create(`${FEEDS}/${organization}`, { url: `${server.url}/all.zip` })
    await waitForFeed(here, uid, ({ state }) => state === 'STATE_RUNNING')
    await eventually(
      () => countAdvisories(here, organization),
      (count) => count >= 20,
      { pollMs: 1 },
    )
    first.child.kill(signal)
    await first.finished
    const there = apiOf(await start(), token)
    const done = await countAdvisories(there, organization)
    assert.ok(done >= 20 && done < DOCUMENTS, String(done))
    const feed = await waitForFeed(there, uid, ({ state }) => state === 'STATE_SUCCEEDED')
    assert.equal(await countAdvisories(there, organization), DOCUMENTS)
    assert.deepEqual(
      [feed.lastRun.documents, feed.lastRun.unchanged, feed.lastRun.created],
      [DOCUMENTS, done, DOCUMENTS - done],
    )
    const { body } = await there.get('vulnerabilities/advisoryFeedRuns', { feedUid: uid })
    assert.deepEqual(
      body.advisoryFeedRuns.map((run: { state: string }) => run.state),
      ['STATE_SUCCEEDED', 'STATE_INTERRUPTED'],
    )
    const [last, interrupted] = body.advisoryFeedRuns
    assert.equal(last.actor, interrupted.actor, 'the run continues what a person requested')
    assert.ok(interrupted.endTime <= last.startTime)
    // The file was there already, whole.
    assert.deepEqual(
      server.requests.map(({ headers }) => headers.range !== undefined),
      [false, true],
    )
  })
