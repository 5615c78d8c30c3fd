import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { gcJob, scrubJob } from '@berth/server/registry/jobs.ts'
import { acquireJob, readJob, scheduleJob } from '@berth/server/storage/jobs/job-leases.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import { createRegistryFixture, pushBlob } from '../support/registry/registry.ts'

const POLL_MS = 20

onEveryDatabase(
  'registry: schedule of garbage collection',
  (cast) => {
    test('one process at a time has the lease, and one that does not renew it for a minute loses it', async () => {
      const { db, clock } = cast().berth.berth.installation.store
      const onError = (error: unknown) => assert.fail(String(error))
      let aheadMs = 0
      const options = { db, clock: () => clock() + aheadMs, onError }
      // By its own clock: what it renews later is not ahead.
      const first = await acquireJob({ ...options, clock, leaseMs: 6000 }, scrubJob)
      assert.equal(await acquireJob(options, scrubJob), undefined)
      const endOfLease = async () => Number((await readJob(db, scrubJob))?.lease_ms)
      const endMs = await endOfLease()
      // It renews what it has.
      await eventually(endOfLease, (laterMs) => laterMs > endMs)
      await first?.savePosition('here')
      aheadMs = limits.registryRunLeaseMs
      const second = await acquireJob(options, scrubJob)
      assert.equal(second?.position, 'here')
      await eventually(async () => first?.signal.aborted === true)
      await first?.release({ position: 'nowhere' })
      await second?.release({ position: 'there' })
      const third = await acquireJob(options, scrubJob)
      assert.equal(third?.position, 'there')
      await third?.release()
      assert.equal(await acquireJob(options, scrubJob, { dueBy: clock() }), undefined)
      await scheduleJob(db, scrubJob, clock() - 1)
      await scheduleJob(db, scrubJob, clock() + 1000)
      const due = await acquireJob(options, scrubJob, { dueBy: clock() })
      assert.ok(due !== undefined)
      await due.release()
    })

    test('an aborted run ends after its batch, and the next one deletes the rest', async () => {
      const { berth } = cast()
      const { installation, blobs } = berth.berth
      const { owner, name, root } = await createRegistryFixture(cast())
      for (let n = 0; n < 3; n++) await pushBlob(owner, name, randomBytes(10))
      const run = { store: installation.store, blobs, graceMs: 0, dryRun: false, requireKnownStore: true }
      const end = new AbortController()
      const onProgress = () => end.abort(new Error('enough'))
      await assert.rejects(collectGarbage({ ...run, signal: end.signal, onProgress }), /enough/)
      const { db } = installation.store
      const left = await db.kysely
        .selectFrom('repo_blobs')
        .select('digest')
        .where('root', '=', root)
        .execute()
      assert.equal(left.length, 0)
      assert.equal((await collectGarbage(run)).blobs.count, 3)
    })

    test('the server runs it when it is due, logs it, and not before it is due again', async () => {
      const { berth } = cast()
      const { store } = berth.berth.installation
      const { owner, name, root } = await createRegistryFixture(cast())
      await pushBlob(owner, name, randomBytes(700))
      const links = () =>
        store.db.kysely.selectFrom('repo_blobs').select('digest').where('root', '=', root).execute()
      const metrics = async () => (await fetch(`${berth.url}/metrics`)).text()
      // A run that is first scheduled after the clock moved is due half a day later.
      await eventually(async () => Number((await readJob(store.db, gcJob))?.due_ms) < Number.MAX_SAFE_INTEGER)
      await sleep(3 * POLL_MS)
      assert.match(await metrics(), /^berth_registry_collection_last_success_timestamp_seconds 0$/m)
      assert.equal((await links()).length, 1)

      berth.advance(limits.gcGraceMsDefault + 1000)
      await eventually(async () => Number((await readJob(store.db, gcJob))?.succeeded_ms ?? 0) > 0)
      assert.equal((await links()).length, 0)
      await eventually(async () =>
        /^berth_registry_collections_total\{outcome="succeeded"\} 1$/m.test(await metrics()),
      )
      assert.match(await metrics(), /^berth_registry_collected_bytes_total\{kind="blobs"\} 700$/m)
      await sleep(5 * POLL_MS)
      assert.match(await metrics(), /^berth_registry_collections_total\{outcome="succeeded"\} 1$/m)
      const work = await readJob(store.db, gcJob)
      assert.deepEqual([work?.runner, Number(work?.lease_ms)], ['', 0])
      const waitMs = Number(work?.due_ms) - Number(work?.succeeded_ms)
      assert.ok(Math.abs(waitMs - 12 * 3_600_000) <= 0.05 * 12 * 3_600_000 + 1000, `${waitMs}`)
    })
  },
  { garbageCollection: { pollMs: POLL_MS }, env: { BERTH_COLLECTION_INTERVAL: '12h' } },
)
