import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { feedJob } from '@berth/server/advisories/feeds/feed-job.ts'
import { ApiError, Code } from '@berth/server/api/errors.ts'
import { RequestContext, runInContext } from '@berth/server/pipeline/request/request-context.ts'
import { gcJob, retentionJob } from '@berth/server/registry/jobs.ts'
import { type Db, inTransaction, openSqliteDb } from '@berth/server/storage/db.ts'
import {
  acquireJob,
  findDueJobs,
  JobInterrupted,
  type JobKind,
  type JobLease,
  JobLeaseLost,
  readJob,
  releaseOnFailure,
  scheduleJob,
} from '@berth/server/storage/jobs/job-leases.ts'
import { type JobDefinition, startJobScheduler } from '@berth/server/storage/jobs/job-scheduler.ts'
import { startQueueJob } from '@berth/server/storage/jobs/queue-job.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import type { AdvisoryFeedRow, RepoPolicyRow } from '@berth/server/storage/schema/tables.ts'
import { databases } from '../support/database/databases.ts'
import { onEveryEngine } from '../support/database/storage.ts'
import { eventually } from '../support/eventually.ts'

const newKind = (): JobKind => ({ name: randomBytes(8).toString('hex') })
/** Of a lease that is renewed soon. */
const RENEWED_MS = 2000
/** Of a lease that another process waits for: a busy machine does not keep a process from renewing it for as long. */
const NODE_LEASE_MS = 6000
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const onError = assert.ifError

onEveryEngine('jobs', (opened) => {
  const lease = (kind: JobKind, more: object = {}, due: object = {}) =>
    acquireJob({ db: opened(), clock: Date.now, onError, ...more }, kind, due)
  /** When the lease of a job ends. */
  const endOf = async (kind: JobKind) => Number((await readJob(opened(), kind))?.lease_ms)
  const renewed = async (kind: JobKind) => {
    const endMs = await endOf(kind)
    await eventually(
      () => endOf(kind),
      (laterMs) => laterMs > endMs,
    )
  }

  test('one run owns a job, and the next one continues where it ended', async () => {
    const kind = newKind()
    const first = await lease(kind)
    assert.equal(first?.position, '')
    assert.equal(await lease(kind), undefined)
    await first.requireHeld()
    await first.savePosition('a')
    await first.release({ succeededMs: 7, dueMs: 20 })
    const state = await readJob(opened(), kind)
    assert.deepEqual(
      [state?.runner, Number(state?.lease_ms), Number(state?.succeeded_ms), Number(state?.due_ms)],
      ['', 0, 7, 20],
    )
    assert.equal(await lease(kind, {}, { dueBy: 19 }), undefined)
    const second = await lease(kind, {}, { dueBy: 20 })
    assert.equal(second?.position, 'a')
    await second?.release()
  })

  test('a run whose lease is lost ends, and another run repeats its work', async (t) => {
    const kind = newKind()
    const db = opened()
    const [started, interrupted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const outcomes: unknown[] = []
    let runs = 0
    let isDone = false
    const job = startQueueJob({
      ...{ db, clock: Date.now, kind, span: 'test', pollMs: 10 },
      hasWork: async () => !isDone,
      async run(lease) {
        runs++
        if (runs === 1) {
          started.resolve()
          await interrupted.promise
        }
        await inTransaction(db, (tx) => lease.renew(tx))
        isDone = true
      },
      onRun: (outcome, error) => outcomes.push(error ?? outcome),
    })
    t.after(() => job.stop())
    await started.promise
    await db.kysely.deleteFrom('jobs').where('kind', '=', kind.name).execute()
    interrupted.resolve()
    await eventually(() => outcomes.length > 0)
    assert.deepEqual([runs, outcomes], [2, ['succeeded']])
  })

  test('a job that is rescheduled while it runs keeps the new time', async () => {
    const kind = newKind()
    await scheduleJob(opened(), kind, 1000)
    await scheduleJob(opened(), kind, 2000)
    const run = await lease(kind)
    assert.equal(run?.dueMs, 1000)
    await scheduleJob(opened(), kind, 500)
    await run?.release({ dueMs: 3000 })
    assert.equal(Number((await readJob(opened(), kind))?.due_ms), 500)
  })

  test('a lease is renewed; one that is not renewed can be taken over, and the run that lost it writes nothing', async () => {
    const kind = newKind()
    const first = await lease(kind, { leaseMs: RENEWED_MS })
    assert.ok(first !== undefined)
    await renewed(kind)

    // The clock of another node is ahead by more than the lease.
    const ahead = await lease(kind, { clock: () => Date.now() + 60_000 })
    assert.ok(ahead !== undefined)
    await assert.rejects(first.requireHeld(), JobLeaseLost)
    assert.equal(first.signal.aborted, true)
    const db = opened()
    await assert.rejects(
      inTransaction(db, (tx) => first.renew(tx)),
      JobInterrupted,
    )
    let wrote = false
    const write = async () => {
      wrote = true
    }
    await first.release({ dueMs: 1, position: 'stale', write })
    assert.equal(wrote, false)
    const state = await readJob(db, kind)
    assert.deepEqual([state?.runner, state?.position], [ahead.runner, ''])
    await ahead.release()
  })

  test('a lease that a request has acquired is renewed and released after the request was aborted', async () => {
    const kind = newKind()
    const request = new RequestContext()
    const first = await runInContext(request, () => lease(kind, { leaseMs: RENEWED_MS }))
    assert.ok(first !== undefined)
    const aborted = new ApiError(Code.CANCELLED, 'the client disconnected')
    request.abort(aborted)
    await renewed(kind)

    const fail = async () => request.throwIfAborted()
    await assert.rejects(
      runInContext(request, () => releaseOnFailure(first, fail)),
      aborted,
    )
    const next = await lease(kind)
    assert.ok(next !== undefined)
    await next.release()
  })

  test('a node with a slow clock does not take over a lease that is renewed', async () => {
    const kind = newKind()
    const first = await lease(kind, { leaseMs: RENEWED_MS })
    assert.equal(await lease(kind, { clock: () => Date.now() - 60_000 }), undefined)
    await first?.release()
  })

  /** Two nodes with the same kind. */
  const schedulers = (kind: JobKind, run: JobDefinition['run'], more: Partial<JobDefinition> = {}) =>
    [1, 2].map(() =>
      startJobScheduler(
        { db: opened(), clock: Date.now, onError },
        { kind, span: 'job test', pollMs: 5, run, onFailure: () => ({}), ...more },
      ),
    )

  test('of two schedulers one runs a due job, once per due time', async () => {
    const kind = newKind()
    let running = 0
    let runs = 0
    const nodes = schedulers(kind, async () => {
      assert.equal(++running, 1)
      await sleep(30)
      running--
      runs++
      return { dueMs: runs === 3 ? Number.MAX_SAFE_INTEGER : Date.now() }
    })
    await scheduleJob(opened(), kind, Date.now())
    await eventually(() => runs === 3)
    await sleep(50)
    for (const node of nodes) await node.stop()
    assert.equal(runs, 3)
  })

  test('a scheduler that stops interrupts its runs; their jobs are due immediately for another one', async () => {
    const kind = newKind()
    const interrupted: boolean[] = []
    const [one, two] = schedulers(
      kind,
      async ({ signal }: JobLease) => {
        // The signal may have been aborted before the run started.
        signal.throwIfAborted()
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        return {}
      },
      {
        onFailure(_, __, { isInterrupted }) {
          interrupted.push(isInterrupted)
          return {}
        },
      },
    )
    const dueMs = Date.now()
    await scheduleJob(opened(), kind, dueMs)
    const runner = async () => (await readJob(opened(), kind))?.runner ?? ''
    await eventually(async () => (await runner()) !== '')
    await Promise.all([one?.stop(), two?.stop()])
    // The second scheduler may have leased it between the two stops.
    assert.ok(interrupted.length >= 1 && interrupted.every((one) => one), String(interrupted))
    const state = await readJob(opened(), kind)
    assert.deepEqual([state?.runner, Number(state?.lease_ms), Number(state?.due_ms)], ['', 0, dueMs])
  })

  test('jobs of a resource run within the limits of the node and of an organization', async () => {
    const db = opened()
    const roots = [1, 2].map(() => randomBytes(20).toString('hex'))
    const rows = roots.flatMap((root) => [1, 2, 3].map(() => feedRow(root, { due_ms: 1 })))
    await inTransaction(db, (tx) => tx.insertInto('advisory_feeds').values(rows).execute())
    const most = { all: 0, organization: 0 }
    const running: string[] = []
    const ended = new Set<string>()
    const scheduler = startJobScheduler(
      { db, clock: Date.now, onError },
      {
        kind: feedJob,
        span: 'job test',
        pollMs: 5,
        concurrency: 3,
        concurrencyPerOrganization: 2,
        async run({ key }) {
          const root = key.slice(0, 40)
          running.push(root)
          most.all = Math.max(most.all, running.length)
          most.organization = Math.max(most.organization, running.filter((one) => one === root).length)
          await eventually(() => most.all === 3)
          // A fourth one would start now.
          await sleep(50)
          running.splice(running.indexOf(root), 1)
          ended.add(key)
          return { dueMs: Number.MAX_SAFE_INTEGER }
        },
        onFailure: () => ({}),
      },
    )
    await eventually(() => ended.size === rows.length)
    await scheduler.stop()
    assert.deepEqual(most, { all: 3, organization: 2 })
    assert.deepEqual(
      await db.kysely.selectFrom('jobs').select('key').where('kind', '=', feedJob.name).execute(),
      [],
    )
    await db.kysely.deleteFrom('advisory_feeds').execute()
  })

  test('a node of the previous release and this one never run the same feed, policy or registry job', async () => {
    const db = opened()
    const root = randomBytes(20).toString('hex')
    const feed = feedRow(root, { due_ms: 1 })
    const policy = policyRow(root, { due_ms: 1 })
    await inTransaction(db, async (tx) => {
      await tx.insertInto('advisory_feeds').values(feed).execute()
      await tx.insertInto('repo_policies').values(policy).execute()
    })
    await scheduleJob(db, gcJob, 1)
    const jobs = [
      { kind: feedJob, key: feed.uid, table: 'advisory_feeds' },
      { kind: retentionJob, key: policy.uid, table: 'repo_policies' },
      { kind: gcJob, key: '', table: 'registry_runs' },
    ] as const
    for (const { kind, key, table } of jobs) {
      const now = Date.now()
      /** What the previous release sends. */
      const leaseAsBefore = async () => {
        const { numUpdatedRows } = await db.kysely
          .updateTable(table as 'advisory_feeds')
          .set({ runner: 'previous', lease_ms: now + 60_000 })
          .where('due_ms', '<=', now)
          .where('lease_ms', '<=', now)
          .executeTakeFirst()
        return Number(numUpdatedRows)
      }
      const own = await lease(kind, {}, { key, dueBy: now })
      assert.ok(own !== undefined, kind.name)
      const held = await db.kysely.selectFrom('jobs').selectAll().where('kind', '=', kind.name).execute()
      assert.deepEqual(
        held.map(({ key, runner }) => [key, runner]),
        [[key, own.runner]],
      )
      assert.equal(await leaseAsBefore(), 0, kind.name)
      await own.release()
      assert.equal(await leaseAsBefore(), 1, kind.name)
      assert.deepEqual(await findDueJobs(db, kind, now, { max: 5 }), [], kind.name)
      assert.equal(await lease(kind, {}, { key, dueBy: now }), undefined, kind.name)
      const left = await db.kysely.selectFrom('jobs').select('key').where('kind', '=', kind.name).execute()
      assert.deepEqual(left, [], kind.name)
    }
    await db.kysely.deleteFrom('advisory_feeds').execute()
    await db.kysely.deleteFrom('repo_policies').execute()
  })

  test('a run whose resource is deleted or changed loses its lease, and another one may start immediately', async () => {
    const db = opened()
    const root = randomBytes(20).toString('hex')
    const feed = feedRow(root, { due_ms: 1 })
    await inTransaction(db, (tx) => tx.insertInto('advisory_feeds').values(feed).execute())
    const first = await lease(feedJob, {}, { key: feed.uid })
    assert.ok(first !== undefined)
    await db.kysely.updateTable('advisory_feeds').set({ runner: '', lease_ms: 0 }).execute()
    await assert.rejects(first.requireHeld(), JobLeaseLost)
    const second = await lease(feedJob, {}, { key: feed.uid })
    assert.ok(second !== undefined)
    await first.release()
    await second.requireHeld()
    await db.kysely.deleteFrom('advisory_feeds').execute()
    await assert.rejects(second.requireHeld(), JobLeaseLost)
    await second.release()
    assert.deepEqual(
      await db.kysely.selectFrom('jobs').select('key').where('kind', '=', feedJob.name).execute(),
      [],
    )
  })
})

for (const database of databases.filter(({ name }) => name !== 'pglite'))
  test(`a job of a node that is killed is taken over when the lease expires, where it was (${database.name})`, async (t) => {
    const { db, args } = await sharedDatabase(t, database)
    await migrate(db)
    const kind: JobKind = { name: 'test' }
    await scheduleJob(db, kind, 1)
    const start = async () => {
      const node = spawn(
        process.execPath,
        [
          new URL('../support/database/job-node.ts', import.meta.url).pathname,
          ...args,
          String(NODE_LEASE_MS),
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      t.after(() => node.kill('SIGKILL'))
      return node
    }
    const first = await start()
    await once(first.stdout, 'data')
    const held = await readJob(db, kind)
    assert.equal(held?.position, 'half')
    const second = await start()
    const later = await eventually(
      () => readJob(db, kind),
      (state) => Number(state?.lease_ms) > Number(held.lease_ms) + NODE_LEASE_MS,
    )
    assert.equal(later.runner, held.runner, 'the lease is renewed')
    first.kill('SIGKILL')
    await once(second.stdout, 'data')
    const taken = await readJob(db, kind)
    assert.notEqual(taken?.runner, held.runner)
    assert.equal(taken?.position, 'half')
    second.kill('SIGKILL')
    await once(second, 'exit')
  })

async function sharedDatabase(
  t: { after(work: () => unknown): void },
  { name }: (typeof databases)[number],
): Promise<{ readonly db: Db; readonly args: readonly string[] }> {
  if (name === 'sqlite') {
    const directory = mkdtempSync(join(tmpdir(), 'berth-test-'))
    const file = join(directory, 'berth.db')
    const db = await openSqliteDb(file)
    t.after(async () => {
      await db.close()
      rmSync(directory, { recursive: true })
    })
    return { db, args: ['sqlite', file] }
  }
  const database = databases.find((one) => one.name === name)
  const shared = await database?.share()
  const db = (await shared?.open()) as Db
  t.after(async () => {
    await db.close()
    await shared?.close()
  })
  assert.ok(db.source !== undefined && 'url' in db.source)
  return { db, args: ['postgres', db.source.url] }
}

function feedRow(root: string, more: Partial<AdvisoryFeedRow>): AdvisoryFeedRow {
  return {
    root,
    uid: `${root}/${randomBytes(8).toString('hex')}`,
    parent: root,
    url: randomBytes(8).toString('hex'),
    format: '',
    interval_ms: 1000,
    paused: 0,
    due_ms: 0,
    begun_ms: 0,
    succeeded_ms: 0,
    failures: 0,
    error: '',
    etag: '',
    last_modified: '',
    counts: new Uint8Array(0),
    requested_by: '',
    runner: '',
    lease_ms: 0,
    created_ms: 0,
    updated_ms: 0,
    ...more,
  }
}

function policyRow(root: string, more: Partial<RepoPolicyRow>): RepoPolicyRow {
  return {
    root,
    uid: `${root}/${randomBytes(8).toString('hex')}`,
    policy: new Uint8Array(0),
    updated_ms: 0,
    due_ms: 0,
    run: new Uint8Array(0),
    requested_by: '',
    runner: '',
    lease_ms: 0,
    ...more,
  }
}
