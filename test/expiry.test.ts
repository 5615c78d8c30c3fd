import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Uid } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import { eventRow, insertEvents } from '@berth/server/storage/changes/audit-events.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { pendingStore } from '@berth/server/storage/pending-store.ts'
import type { JobRunRow } from '@berth/server/storage/schema/tables.ts'
import { apiOf, newName, onEveryDatabase } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { eventually } from './support/eventually.ts'
import { startTestBerth } from './support/server/test-berth.ts'
import { createPerson, createSession } from './support/signin/accounts.ts'

const DAY_MS = 24 * 60 * 60 * 1000

onEveryDatabase(
  'what expires',
  (cast) => {
    const db = () => cast().berth.berth.installation.store.db
    const record = (root: string, times: readonly number[]) =>
      inTransaction(db(), (tx) =>
        insertEvents(
          tx,
          db().engine,
          times.map((timeMs) =>
            eventRow({
              timeMs,
              actor: root,
              method: 'test.Service/Record',
              uid: root,
              requestId: '',
              address: '',
            }),
          ),
        ),
      )
    const timesOf = async (root: string) =>
      (
        await db()
          .kysely.selectFrom('audit_events')
          .select('created_ms')
          .where('root', '=', root)
          .where('method', '=', 'test.Service/Record')
          .execute()
      ).map(({ created_ms }) => Number(created_ms))

    test('runs are deleted after jobRunDays, and all but the latest jobRunsPerResourceMax; lost ones are interrupted', async () => {
      const { berth } = cast()
      const { clock, uids } = berth.berth.installation.store
      const { uid: root } = await cast().organization()
      const [few, many] = [uids.child(root as Uid), uids.child(root as Uid)]
      const now = clock()
      const row = (parent: Uid, startedMs: number, more: Partial<JobRunRow> = {}): JobRunRow => ({
        ...{ root, uid: uids.child(parent), parent, kind: 'retention', actor: 'system', runner: 'none' },
        ...{
          started_ms: startedMs,
          ended_ms: startedMs,
          counts: '{}',
          error: '',
          state: 'succeeded',
          ...more,
        },
      })
      const ageMs = limits.jobRunDays * DAY_MS
      const rows = [
        row(few, now - ageMs - 60_000),
        row(few, now - ageMs + 3_600_000),
        row(few, now - 1000, { state: 'running', ended_ms: 0 }),
        ...Array.from({ length: limits.jobRunsPerResourceMax + 20 }, (_, n) => row(many, now - 60_000 - n)),
      ]
      await inTransaction(db(), (tx) => tx.insertInto('job_runs').values(rows).execute())
      const runsOf = (parent: Uid) =>
        db()
          .kysely.selectFrom('job_runs')
          .select(['started_ms', 'state'])
          .where('root', '=', root)
          .where('parent', '=', parent)
          .orderBy('started_ms')
          .execute()
      await eventually(async () => {
        const kept = await runsOf(many)
        return kept.length === limits.jobRunsPerResourceMax && (await runsOf(few)).length === 2
      })
      await eventually(async () => (await runsOf(few)).at(-1)?.state === 'interrupted')
      assert.equal(Number((await runsOf(few))[0]?.started_ms), now - ageMs + 3_600_000)
      const oldest = Number((await runsOf(many))[0]?.started_ms)
      assert.equal(oldest, now - 60_000 - limits.jobRunsPerResourceMax + 1)
      assert.deepEqual(berth.errors, [])
    })

    test('what a sign-in left behind is deleted when it has expired: its steps, sessions with their groups, guesses', async () => {
      const { berth } = cast()
      const { store } = berth.berth.installation
      const [short, long] = [
        pendingStore<number>(store, 'short', -1),
        pendingStore<number>(store, 'long', 90 * DAY_MS),
      ]
      const kept = await long.add(1)
      for (let n = 0; n < 250; n++) await short.add(n)
      const identity = await createPerson(berth)
      const ended = await createSession(berth, { identity, groups: ['a', 'b'] }, { lifetimeMs: -1 })
      const lasting = await createSession(berth, { identity, groups: ['c'] }, { lifetimeMs: 90 * DAY_MS })
      const since = store.clock() - 2 * DAY_MS
      await inTransaction(db(), (tx) =>
        tx.insertInto('guesses').values({ key: 'someone', n: 3, since_ms: since }).execute(),
      )
      const rows = async () => {
        const { kysely } = db()
        const steps = await kysely.selectFrom('pending').select('kind').execute()
        const sessions = await kysely.selectFrom('sessions').select('id').execute()
        const groups = await kysely.selectFrom('session_groups').select('external_group_id').execute()
        const guesses = await kysely.selectFrom('guesses').select('key').execute()
        return { steps, sessions, groups, guesses }
      }
      await eventually(async () => {
        const { steps, sessions, groups, guesses } = await rows()
        return (
          steps.length === 1 &&
          guesses.length === 0 &&
          groups.length === 1 &&
          !sessions.some(({ id }) => id === ended.id)
        )
      })
      assert.ok((await rows()).sessions.some(({ id }) => id === lasting.id))
      assert.equal(await long.read(kept), 1)
    })

    test('a request for access is deleted after accessRequestIntervalMs, also of an identity that does not exist any more', async () => {
      const { clock } = cast().berth.berth.installation.store
      const { uid: root } = await cast().organization()
      const young = clock() - limits.accessRequestIntervalMs + DAY_MS / 2
      const rows = [
        { root, identity_uid: 'a'.repeat(40), requested_ms: clock() - limits.accessRequestIntervalMs },
        { root, identity_uid: 'b'.repeat(40), requested_ms: young },
      ]
      await inTransaction(db(), (tx) => tx.insertInto('access_requests').values(rows).execute())
      const left = () =>
        db().kysely.selectFrom('access_requests').select('identity_uid').where('root', '=', root).execute()
      await eventually(left, (found) => found.length === 1)
      assert.deepEqual(await left(), [{ identity_uid: 'b'.repeat(40) }])
    })

    test('events go when BERTH_AUDIT_RETENTION has passed, in every organization, and no earlier', async () => {
      const { berth } = cast()
      const roots = await Promise.all([0, 1, 2].map(async () => (await cast().organization()).uid))
      const now = berth.berth.installation.store.clock()
      // More than one step deletes, and many in one millisecond.
      const old = [
        ...Array.from({ length: 450 }, (_, n) => now - 31 * DAY_MS - n),
        ...Array.from({ length: 6 }, () => now - 40 * DAY_MS),
      ]
      const young = Array.from({ length: 250 }, (_, n) => now - 29 * DAY_MS - n)
      for (const root of roots) await record(root, [...young, ...old])
      await eventually(async () => {
        const left = await Promise.all(roots.map(timesOf))
        return left.every((times) => times.every((time) => time > now - 30 * DAY_MS))
      })
      for (const root of roots) assert.deepEqual((await timesOf(root)).sort(), young.toSorted())

      berth.advance(2 * DAY_MS)
      await eventually(async () => (await Promise.all(roots.map(timesOf))).flat().length === 0)
      const token = await berth.tokenOf(berth.owner)
      const { body } = await call('GET', `${berth.url}/audit/v1/events?method=CreateGroup`, { token })
      assert.ok(Number(body.totalCount) >= 3, 'what happened since is there')
      assert.deepEqual(berth.errors, [])
    })

    test('the stored response of an idempotency key is deleted after idempotencyKeyMaxAgeMs', async () => {
      const { berth } = cast()
      const create = async () => {
        const token = await berth.tokenOf(berth.owner)
        const reply = await call('POST', `${berth.url}/iam/v2beta1/groups`, {
          token,
          body: { name: newName('org') },
          headers: { 'idempotency-key': newName('key') },
        })
        assert.equal(reply.status, 200, reply.text)
      }
      const kept = async () =>
        (await db().kysely.selectFrom('idempotency_keys').select('created_ms').execute()).map(
          ({ created_ms }) => Number(created_ms),
        )
      for (let n = 0; n < 3; n++) await create()
      assert.equal((await kept()).length, 3)
      berth.advance(limits.idempotencyKeyMaxAgeMs)
      await create()
      await eventually(async () => (await kept()).length === 1)
      const [time = 0] = await kept()
      assert.ok(time > berth.berth.installation.store.clock() - limits.idempotencyKeyMaxAgeMs)
    })
  },
  { env: { BERTH_AUDIT_RETENTION: '30d' }, expiryIntervalMs: 20 },
)

test('with BERTH_AUDIT_RETENTION=forever no event is deleted, and stored responses still are', async (t) => {
  const berth = await startTestBerth(
    { name: 'sqlite', open: undefined },
    { env: { BERTH_AUDIT_RETENTION: 'forever' }, expiryIntervalMs: 20 },
  )
  t.after(() => berth.stop())
  const { db } = berth.berth.installation.store
  const reply = await call('POST', `${berth.url}/iam/v2beta1/groups`, {
    token: berth.token,
    body: { name: newName('org') },
    headers: { 'idempotency-key': 'once' },
  })
  assert.equal(reply.status, 200)
  const events = () => db.kysely.selectFrom('audit_events').select('uid').execute()
  const before = await events()
  berth.advance(5000 * DAY_MS)
  await eventually(
    async () => (await db.kysely.selectFrom('idempotency_keys').select('key').execute()).length === 0,
  )
  assert.deepEqual(await events(), before)
})

test('a database that fails does not end the deleting', async (t) => {
  const berth = await startTestBerth(
    { name: 'sqlite', open: undefined },
    { env: { BERTH_AUDIT_RETENTION: '1d' }, expiryIntervalMs: 20 },
  )
  t.after(() => berth.stop())
  const { db } = berth.berth.installation.store
  await apiOf(berth, berth.token).create('iam/groups', { name: newName('org') })
  const { read } = db
  Object.assign(db, {
    read: () => {
      throw new Error('out of order')
    },
  })
  berth.advance(2 * DAY_MS)
  await eventually(async () => berth.errors.length > 1)
  Object.assign(db, { read })
  await eventually(
    async () => (await db.kysely.selectFrom('audit_events').select('uid').execute()).length === 0,
  )
})
