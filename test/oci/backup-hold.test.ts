import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { backupJob } from '@berth/server/registry/jobs.ts'
import { acquireJob } from '@berth/server/storage/jobs/job-leases.ts'
import { onEveryStore } from '../support/api/api-fixture.ts'
import { createRegistryFixture, digest, pushBlob } from '../support/registry/registry.ts'

onEveryStore('registry: a running backup keeps stored bytes', (cast) => {
  test('garbage collection deletes links but keeps bytes while a backup runs, and deletes them afterwards', async () => {
    const { berth } = cast().berth
    const { blobs, installation } = berth
    const { db, clock } = installation.store
    const { owner, name } = await createRegistryFixture(cast())
    const loose = randomBytes(1000)
    const hex = (await pushBlob(owner, name, loose)).slice('sha256:'.length)
    const unknown = `sha256/00/${digest('unknown').slice('sha256:'.length)}.1-0011223344556677`.replace(
      '/00/',
      `/${digest('unknown').slice('sha256:'.length, 'sha256:'.length + 2)}/`,
    )
    const upload = { id: randomBytes(16).toString('hex'), size: 0, state: '' }
    await blobs.commit(upload, unknown)
    const stored = async () => {
      const found: string[] = []
      for await (const { location } of blobs.listBlobs())
        if (location.includes(hex) || location === unknown) found.push(location)
      return found.length
    }
    let held = 0
    const run = (afterMs: number) =>
      collectGarbage({
        store: { db, clock: () => clock() + afterMs },
        blobs,
        graceMs: 0,
        dryRun: false,
        requireKnownStore: false,
        onBackupRunning: () => held++,
      })
    const onError = (error: unknown) => assert.fail(String(error))
    // As long as the clock of the collection is ahead: what no row knows has an age then.
    const leaseMs = 3 * limits.untrackedBlobAgeMsMin
    const backup = await acquireJob({ db, clock, leaseMs, onError }, backupJob)
    assert.ok(backup)
    const { links, blobs: removed } = await run(limits.untrackedBlobAgeMsMin + 1000)
    assert.deepEqual([links.count, removed.count, held, await stored()], [1, 0, 1, 2])
    assert.equal(await acquireJob({ db, clock, onError }, backupJob), undefined, 'one backup at a time')
    await backup.release()
    await run(limits.untrackedBlobAgeMsMin + 1000)
    assert.deepEqual([held, await stored()], [1, 0])
  })

  test('the lease of a backup that died expires', async () => {
    const { berth } = cast().berth
    const { blobs, installation } = berth
    const { db, clock } = installation.store
    const { owner, name } = await createRegistryFixture(cast())
    await pushBlob(owner, name, randomBytes(1000))
    const dead = await acquireJob({ db, clock, onError: () => undefined }, backupJob)
    const store = { db, clock: () => clock() + limits.registryRunLeaseMs + 1000 }
    const report = await collectGarbage({ store, blobs, graceMs: 0, dryRun: false, requireKnownStore: false })
    assert.equal(report.blobs.count, 1)
    await dead?.release()
  })
})
