import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { zipOf } from './support/archives.ts'
import { apiOf } from './support/cast.ts'
import { startFeedServer } from './support/feed-server.ts'
import { countOf, FEEDS, feedOnce, osvRecord } from './support/feeds.ts'
import { freePort, startPostgres, withoutPostgres } from './support/postgres.ts'
import { runBerth, spawnBerth, temporaryDirectory } from './support/process.ts'

/** Of several nodes one reads a feed, and another goes on when that one ends, well or badly. */

const node = fileURLToPath(new URL('support/feed-node.ts', import.meta.url))
const DOCUMENTS = 700
const LONG_LEASE_MS = 10 * 60 * 1000

async function startNodes(t: TestContext, engine: 'sqlite' | 'postgres', leaseMs: number) {
  const dataDir = temporaryDirectory(t)
  const shared = {
    BERTH_DATA_DIR: dataDir,
    BERTH_BASE_URL: 'http://berth.test',
    BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
    BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.0/8',
    ...(engine === 'postgres' ? { BERTH_DATABASE_URL: (await startPostgres(t)).url } : {}),
  }
  const start = async () => {
    const listen = `127.0.0.1:${await freePort()}`
    const running = spawnBerth(t, [String(leaseMs)], { ...shared, BERTH_LISTEN: listen }, { as: node })
    const { child } = running
    if (child.stdout !== null && !running.output().stdout.includes('ready'))
      await Promise.race([once(child.stdout, 'data'), running.finished])
    assert.match(running.output().stdout, /^ready /, running.output().stderr)
    return { ...running, url: `http://${listen}` }
  }
  const { stdout } = await runBerth(t, ['admin', 'bootstrap', '--json'], shared)
  const { organization, token } = JSON.parse(stdout)
  return { start, organization: organization.uid as string, token: token as string }
}

for (const [engine, how, signal, leaseMs] of [
  ['sqlite', 'is killed', 'SIGKILL', 1000],
  ['postgres', 'is killed', 'SIGKILL', 1000],
  ['sqlite', 'is stopped', 'SIGTERM', LONG_LEASE_MS],
] as const)
  test(`a feed is read by one node, and by another when that one ${how} (${engine})`, {
    skip: engine === 'postgres' && withoutPostgres,
  }, async (t) => {
    const server = await startFeedServer(t)
    const records = Array.from({ length: DOCUMENTS }, (_, at) => osvRecord(at))
    const files = records.map((record, at) => ({ name: `${at}.json`, content: JSON.stringify(record) }))
    server.files.set('/all.zip', zipOf(files))
    const { start, organization, token } = await startNodes(t, engine, leaseMs)
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
