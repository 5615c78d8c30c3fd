import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { unlinkBlobs } from '@berth/server/registry/quota/usage.ts'
import { type Db, inTransaction } from '@berth/server/storage/db.ts'
import { lockResource } from '@berth/server/storage/resource-rows.ts'
import { type ApiFixture, newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { PATIENCE_MS } from '../support/eventually.ts'
import { createRegistryFixture, digest, pushBlob } from '../support/registry/registry.ts'
import { newTraffic, runClients } from '../support/registry/registry-traffic.ts'
import { runScrub } from '../support/registry/scrub-check.ts'

/** Enough has happened; after so long, less is enough. */
const ENOUGH = { pushed: 40, collections: 2 }
const LEAST = { pushed: 6, collections: 1 }
const RUN_MS_MAX = 6000
const CLIENTS = 6

/** Pushes and deletes beside one collection after the other; then everything that was acknowledged is there. */
async function beside(cast: ApiFixture, graceMs: number) {
  const { owner, root } = await createRegistryFixture(cast)
  const names = Array.from({ length: 3 }, () => `${root}/${newName('repo')}`)
  const { blobs, installation } = cast.berth.berth
  const traffic = newTraffic()
  const endMs = performance.now() + RUN_MS_MAX
  let collections = 0
  let haveClientsEnded = false
  const has = ({ pushed, collections: runs }: typeof ENOUGH) =>
    traffic.pushed >= pushed && collections >= runs
  let taken = 0
  const isOver = () => {
    const nowMs = performance.now()
    const isEnough = has(nowMs > endMs ? LEAST : ENOUGH) && (graceMs > 0 || taken > 0)
    return isEnough || haveClientsEnded || nowMs > endMs + PATIENCE_MS
  }
  await Promise.all([
    runClients(traffic, CLIENTS, {
      client: owner,
      names,
      deletes: 0.3,
      isStopped: isOver,
      withoutGrace: graceMs === 0,
    }).finally(() => {
      haveClientsEnded = true
    }),
    (async () => {
      while (!isOver()) {
        const report = await collectGarbage({
          store: installation.store,
          blobs,
          graceMs,
          dryRun: false,
          requireKnownStore: true,
        })
        collections++
        taken += report.blobs.count
      }
    })(),
  ])
  for (const { name, digest: manifest, blobs: own } of traffic.acknowledged.values()) {
    assert.equal((await owner.request('GET', `${name}/manifests/${manifest}`)).status, 200)
    for (const blob of own) {
      const { status, bytes } = await owner.request('GET', `${name}/blobs/${digest(blob)}`)
      assert.ok(status === 200 && bytes.equals(blob), `${name} ${digest(blob)}: ${status}`)
    }
  }
  const { findings } = await runScrub(cast.berth, { orphanAgeMs: limits.untrackedBlobAgeMsMin })
  assert.deepEqual(findings, [])
  assert.ok(has(LEAST), `${traffic.pushed} pushes, ${collections} collections`)
  return { ...traffic, taken }
}

onEveryDatabase('registry: garbage collection during pushes', (cast) => {
  test('no push fails during garbage collection with a grace period', async () => {
    assert.equal((await beside(cast(), limits.gcGraceMsMin)).refused, 0)
  })

  test('an acknowledged manifest keeps its blobs, even without a grace period', async (t) => {
    const { pushed, refused, deleted, taken } = await beside(cast(), 0)
    t.diagnostic(`${pushed} manifests pushed, ${refused} refused, ${deleted} deleted, ${taken} blobs taken`)
    assert.ok(taken > 0)
  })

  test('a deletion of links and garbage collection do not deadlock', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const { blobs, installation } = cast().berth.berth
    const { store } = installation
    // A deadlock is retried, and reported here.
    const failures: unknown[] = []
    const db: Db = {
      ...store.db,
      transaction: (work, options) =>
        store.db.transaction(work, options).catch((error) => {
          failures.push(error)
          throw error
        }),
    }
    const digests: string[] = []
    for (let n = 0; n < 2; n++) digests.push(await pushBlob(owner, name, randomBytes(20)))
    // The other way round than a collection, which takes them in their order.
    const [last = '', first = ''] = digests.sort().reverse()
    const { repo } = await db.kysely
      .selectFrom('repo_blobs')
      .select('repo')
      .where('digest', 'in', digests)
      .executeTakeFirstOrThrow()
    const collected = await inTransaction(db, async (tx) => {
      await lockResource(db, tx, 'repos', repo, 'update')
      assert.deepEqual(await unlinkBlobs(db, tx, repo, [last]), [last])
      const collecting = collectGarbage({
        store: { ...store, db },
        blobs,
        graceMs: 0,
        dryRun: false,
        requireKnownStore: true,
      })
      collecting.catch(() => {})
      await pause(300)
      assert.deepEqual(await unlinkBlobs(db, tx, repo, [first]), [first])
      return { collecting }
    })
    await collected.collecting
    assert.deepEqual(failures, [])
  })
})
