import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BlobStore } from '@berth/server/registry/blobs/blob-store.ts'
import { fileBlobs } from '@berth/server/registry/blobs/files/file-system.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { gcJob } from '@berth/server/registry/jobs.ts'
import { isFailure } from '@berth/server/registry/scrub/findings.ts'
import type { Db } from '@berth/server/storage/db.ts'
import { readJob } from '@berth/server/storage/jobs/job-leases.ts'
import { freePort } from '../../../scripts/free-port.ts'
import { assertCounts } from '../database/crash.ts'
import { openDatabaseAfterKill } from '../database/open-database.ts'
import { eventually } from '../eventually.ts'
import { type Cleanup, runBerth, serveBerth } from '../server/process.ts'
import { ociClient } from './registry.ts'
import { newTraffic, runClients, type Traffic } from './registry-traffic.ts'
import { runScrub } from './scrub-check.ts'

/** What goes on when the server is killed. */
export type InterruptedWork = 'pushes' | 'deletes' | 'collections'

const CLIENTS = 8
const REPOS = 4
/** Of a round that takes long: also on a busy machine, no kill hits an idle server. */
const PUSHES_MIN = 2
/** Reached only if something is wrong. */
const ROUND_MS_MAX = 10 * 60_000
const collectingServer = fileURLToPath(new URL('../server/gc-server.ts', import.meta.url))
/** Of the clock when everything is collected: bytes of unknown rows and uploads are old by then. */
const LATER_MS = 3 * 24 * 60 * 60 * 1000

export interface CrashResult extends Omit<Traffic, 'acknowledged'> {
  readonly survived: number
  /** Stored files that a kill left without a row, over all rounds. */
  readonly orphans: number
  /** Kills that hit a collection. */
  readonly interruptedCount: number
  /** Blobs that were collected after kills. */
  readonly collected: number
}

/**
 * Kills the server in the middle of its work, again and again, and looks each time: all that was acknowledged is there whole, database
 * and store agree, and after two collections nothing is stored that no manifest needs.
 */
export async function registryCrashRounds(
  t: Cleanup,
  env: Readonly<Record<string, string>> & { readonly BERTH_DATA_DIR: string },
  rounds: number,
  interrupted: InterruptedWork,
): Promise<CrashResult> {
  const host = `127.0.0.1:${await freePort()}`
  const settings = {
    ...env,
    BERTH_LISTEN: host,
    BERTH_LOG_LEVEL: 'error',
    BERTH_COLLECTION_INTERVAL: 'off',
  }
  const blobs = fileBlobs(join(env.BERTH_DATA_DIR, 'blobs'))
  const traffic = newTraffic()
  let [orphans, collected, cutShort, token, root] = [0, 0, 0, '', '']
  for (let round = 0; round < rounds; round++) {
    const program = interrupted === 'collections' ? { as: collectingServer } : {}
    const server = await serveBerth(t, settings, [], program)
    if (round === 0) {
      root = JSON.parse((await runBerth(t, ['admin', 'bootstrap', '--json'], settings)).stdout).organization
        .uid
      token = (await runBerth(t, ['admin', 'token', '--audience', host], settings)).stdout
    }
    const names = Array.from({ length: REPOS }, (_, at) => `${root}/repo-${at}`)
    let killed = false
    const clients = runClients(traffic, CLIENTS, {
      client: ociClient({ url: `http://${host}` }, `Bearer ${token}`),
      names,
      deletes: { pushes: 0.1, deletes: 0.7, collections: 0.4 }[interrupted],
      isStopped: () => killed,
      withoutGrace: interrupted === 'collections',
    })
    const done = () => (interrupted === 'pushes' ? traffic.pushed : traffic.deleted)
    const enough = done() + 1 + Math.floor(Math.random() * 12)
    const lateMs = Date.now() + 5000
    const pushed = traffic.pushed + PUSHES_MIN
    await eventually(() => done() >= enough || (Date.now() >= lateMs && traffic.pushed >= pushed), Boolean, {
      pollMs: 1,
      patienceMs: ROUND_MS_MAX,
    })
    await sleep(Math.random() * 30)
    server.child.kill('SIGKILL')
    killed = true
    const { signal, stderr } = await server.finished
    assert.equal(signal, 'SIGKILL', stderr)
    await clients
    assert.equal(stderr, '')
    // Opened while nothing runs: the journal is recovered here, as by the next start.
    const db = await openDatabaseAfterKill(settings)
    try {
      const run = await readJob(db, gcJob)
      if (run !== undefined && run.runner !== '') cutShort++
      const found = await assertConsistent(db, blobs, traffic)
      orphans += found.orphans
      collected += found.collected
    } finally {
      await db.close()
    }
  }
  const { acknowledged, ...numbers } = traffic
  return { ...numbers, survived: acknowledged.size, orphans, interruptedCount: cutShort, collected }
}

async function assertConsistent(db: Db, blobs: BlobStore, { acknowledged }: Traffic) {
  const { kysely } = db
  const there = { berth: { installation: { store: { db, clock: Date.now } }, blobs } }
  const rows = await kysely.selectFrom('manifests').select(['repo', 'digest', 'content']).execute()
  const repos = await kysely.selectFrom('repos').select(['uid', 'name']).execute()
  const nameOf = new Map(repos.map(({ uid, name }) => [uid, name]))
  const manifests = new Map(rows.map((row) => [`${nameOf.get(row.repo)}@${row.digest}`, row.content]))
  const assertAcknowledged = (when: string) => {
    for (const { name, digest, manifest } of acknowledged.values()) {
      const key = `${name.slice(name.lastIndexOf('/') + 1)}@${digest}`
      assert.ok(manifest.equals(manifests.get(key) ?? Buffer.of()), `${key} is lost ${when}`)
    }
  }
  assertAcknowledged('by the kill')
  // This proves that content of manifests exists, also of unknown ones.
  const { findings } = await runScrub(there)
  assert.deepEqual(
    findings.filter((finding) => isFailure(finding) || finding.kind === 'incomplete'),
    [],
  )
  for (const table of ['repos', 'tags'] as const) await assertCounts(kysely, table)

  let collected = 0
  for (let n = 0; n < 2; n++) {
    const store = { db, clock: () => Date.now() + LATER_MS }
    collected += (await collectGarbage({ store, blobs, graceMs: 0, dryRun: false, requireKnownStore: true }))
      .blobs.count
  }
  assert.deepEqual((await runScrub(there)).findings, [])
  const needed = await kysely
    .selectFrom('manifest_references')
    .select('digest')
    .distinct()
    .where('kind', '=', 'blob')
    .orderBy('digest')
    .execute()
  const stored = await kysely.selectFrom('blobs').select('digest').orderBy('digest').execute()
  assert.deepEqual(stored, needed)
  let files = 0
  for await (const _ of blobs.listBlobs()) files++
  assert.equal(files, stored.length)
  for await (const { id } of blobs.listUploads()) assert.fail(`the upload ${id} is left`)
  assert.deepEqual(await kysely.selectFrom('uploads').select('id').execute(), [])
  return { orphans: findings.length, collected }
}
