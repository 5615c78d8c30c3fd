import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zipOf } from './support/archives.ts'
import { apiOf } from './support/cast.ts'
import { startNodes } from './support/feed-nodes.ts'
import { startFeedServer } from './support/feed-server.ts'
import { countOf, FEEDS, feedOnce, osvRecord } from './support/feeds.ts'
import { withoutPostgres } from './support/postgres.ts'

/** Of several nodes one reads a feed, and another goes on when that one ends, well or badly. */

const DOCUMENTS = 500
const LONG_LEASE_MS = 10 * 60 * 1000

for (const [engine, how, signal, leaseMs] of [
  ['sqlite', 'is killed', 'SIGKILL', 3000],
  ['postgres', 'is killed', 'SIGKILL', 3000],
  ['sqlite', 'is stopped', 'SIGTERM', LONG_LEASE_MS],
] as const)
  test(`a feed is read by one node, and by another when that one ${how} (${engine})`, {
    skip: engine === 'postgres' && withoutPostgres,
  }, async (t) => {
    const server = await startFeedServer(t)
    const records = Array.from({ length: DOCUMENTS }, (_, at) => osvRecord(at))
    const files = records.map((record, at) => ({ name: `${at}.json`, content: JSON.stringify(record) }))
    server.files.set('/all.zip', zipOf(files))
    const { start, organization, token } = await startNodes(t, engine, [String(leaseMs)])
    const first = await start()
    const here = apiOf(first, token)
    const { uid } = await here.made(`${FEEDS}/${organization}`, { url: `${server.url}/all.zip` })
    await feedOnce(here, uid, ({ state }) => state === 'STATE_RUNNING')
    for (let looks = 0; (await countOf(here, organization)) < 20; looks++) assert.ok(looks < 1000)
    const second = await start()
    assert.equal(server.requests.length, 1)

    first.child.kill(signal)
    await first.finished
    const there = apiOf(second, token)
    const done = await countOf(there, organization)
    assert.ok(done >= 20 && done < DOCUMENTS, String(done))
    const feed = await feedOnce(there, uid, ({ state }) => state === 'STATE_SUCCEEDED')
    assert.equal(await countOf(there, organization), DOCUMENTS)
    assert.deepEqual(
      [feed.lastRun.documents, feed.lastRun.unchanged, feed.lastRun.created],
      [DOCUMENTS, done, DOCUMENTS - done],
    )
    // The file was there already, whole.
    assert.deepEqual(
      server.requests.map(({ headers }) => headers.range !== undefined),
      [false, true],
    )
  })
