import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { randomUids } from '@berth/server/api/uid.ts'
import { createAuditRecorder } from '@berth/server/audit/recorder.ts'
import { limits } from '@berth/server/config/limits.ts'
import { currentContext } from '@berth/server/pipeline/request/request-context.ts'
import type { AuditEvent } from '@berth/server/storage/changes/audit-events.ts'
import type { Db } from '@berth/server/storage/db.ts'
import { databaseFailure } from '@berth/server/storage/engines/postgres/errors.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { startTestBerth } from './support/server/test-berth.ts'

/** The recorder on a database of its own, where the front door cannot reach its bounds in a test's time. */

async function started(t: TestContext, database = databases[0]) {
  if (database === undefined) throw new Error('no database to test on')
  const berth = await startTestBerth(database)
  t.after(() => berth.stop())
  const real = berth.berth.installation.store.db
  const state = {
    fails: false,
    /** Transactions to come that are committed, without a response. */
    unconfirmed: 0,
    waitFor: Promise.resolve(),
    errors: 0,
    written: 0,
    dropped: 0,
    /** By organization, as in a distributed database. */
    servers: new Map<string, number>(),
    lostServer: 0,
  }
  const db: Db = {
    ...real,
    transaction: async (work) => {
      await state.waitFor
      const server = state.servers.get(currentContext()?.rowsOf ?? '')
      if (state.fails || server === state.lostServer) throw new Error('out of order')
      const result = await real.transaction(work)
      if (state.unconfirmed === 0) return result
      state.unconfirmed--
      throw databaseFailure(Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 'commit')
    },
    serverOf: (root) => state.servers.get(root),
  }
  const audit = createAuditRecorder({
    db,
    onError: () => {
      state.errors++
    },
    onWritten: (events) => {
      state.written += events
    },
    onDropped: (events) => {
      state.dropped += events
    },
  })
  t.after(() => audit.stop())
  const uid = randomBytes(20).toString('hex')
  const event = (more: Partial<AuditEvent> = {}): AuditEvent => ({
    timeMs: 1_800_000_000_000,
    actor: uid,
    method: 'test.Service/Call',
    uid,
    requestId: 'r',
    address: '192.0.2.1',
    ...more,
  })
  const rows = () =>
    real.kysely
      .selectFrom('audit_events')
      .selectAll()
      .where('method', 'like', 'test.Service/%')
      .orderBy('reason')
      .execute()
  return { audit, state, event, rows }
}

const token = { issuer: 'https://issuer.example', subject: 'job' }

for (const database of databases) {
  test(`any number of events about one thing in one millisecond are all written (${database.name})`, async (t) => {
    const { audit, event, rows, state } = await started(t, database)
    for (let n = 0; n < 2000; n++) audit.recordExchange(event(), token)
    await audit.stop()
    assert.deepEqual([(await rows()).length, state.written, state.errors], [2000, 2000, 0])
  })
}

for (const database of databases) {
  test(`events of a transaction whose outcome is unknown are stored once (${database.name})`, async (t) => {
    const { audit, event, rows, state } = await started(t, database)
    state.unconfirmed = 2
    const foreign = { uid: randomUids.root() }
    for (let n = 0; n < 40; n++) audit.recordExchange(event({ requestId: `first ${n}` }), token)
    audit.recordDenial(event(foreign), { code: 7, reason: 'foreign' })
    audit.recordDenial(event(), { code: 7, reason: 'equal' })
    audit.recordDenial(event(), { code: 7, reason: 'equal' })
    await eventually(() => state.errors === 1)
    for (let n = 0; n < 100; n++) audit.recordExchange(event({ requestId: `later ${n}` }), token)
    await eventually(() => state.errors === 2)
    await eventually(() => state.written === 142)
    const written = await rows()
    assert.deepEqual([written.length, new Set(written.map(({ id }) => id)).size], [142, 142])
    assert.deepEqual(
      written.slice(-2).map(({ reason, n }) => [reason, Number(n)]),
      [
        ['equal', 2],
        ['foreign', 1],
      ],
    )
    assert.equal(new Set(written.map(({ request_id }) => request_id)).size, 141)
  })
}

for (const database of databases) {
  test(`an event that no database can store does not block the others (${database.name})`, async (t) => {
    const { audit, event, rows, state } = await started(t, database)
    for (let n = 0; n < 100; n++) {
      audit.recordExchange(event(), token)
      if (n % 40 === 7) audit.recordExchange(event({ method: null as never }), token)
    }
    audit.recordDenial(event({ method: null as never }), { code: 7, reason: 'bad' })
    audit.recordDenial(event(), { code: 7, reason: 'good' })
    await audit.stop()
    const written = await rows()
    assert.deepEqual([written.length, state.written, state.dropped], [101, 101, 4])
    assert.ok(written.every(({ reason }) => reason !== 'bad'))
  })

  test(`control characters of others are left out (${database.name})`, async (t) => {
    const { audit, event, rows } = await started(t, database)
    const foreign = { issuer: 'https://issuer\u0000.example', subject: 'job\r\n\u007f1' }
    audit.recordDenial(event({ address: '\u0000192.0.2.1' }), {
      code: 7,
      reason: 'a\u0000b\u001fc',
      token: foreign,
    })
    audit.recordDenial(event(), {
      code: 7,
      reason: 'abc',
      token: { issuer: 'https://issuer.example', subject: 'job1' },
    })
    audit.recordExchange(event({ requestId: 'r\t' }), foreign)
    await audit.stop()
    assert.deepEqual(
      (await rows()).map(({ reason, issuer, subject, address, request_id, n }) => [
        reason,
        issuer,
        subject,
        address,
        request_id,
        Number(n),
      ]),
      [
        ['', 'https://issuer.example', 'job1', '192.0.2.1', 'r', 1],
        ['abc', 'https://issuer.example', 'job1', '192.0.2.1', 'r', 2],
      ],
    )
  })
}

test('the end waits for all that was recorded before it, also while something else was being written', async (t) => {
  const { audit, event, rows, state } = await started(t)
  const early = limits.auditExchangesMax / 2
  const gate = Promise.withResolvers<void>()
  state.waitFor = gate.promise
  for (let n = 0; n < early; n++) audit.recordExchange(event(), token)
  for (let n = 0; n < early; n++) audit.recordExchange(event(), token)
  const stopped = audit.stop()
  gate.resolve()
  await stopped
  assert.equal(state.written, 2 * early)
  assert.equal((await rows()).length, 2 * early)
})

test('events that differ only in actor, address, reason or method are not counted as one', async (t) => {
  const { audit, event, rows } = await started(t)
  const refusals = [
    event(),
    event({ method: 'test.Service/Other' }),
    event({ address: '192.0.2.2' }),
    event({ uid: `${event().uid}/0123456789abcdef` }),
  ]
  for (let n = 0; n < 3; n++) {
    for (const refusal of refusals) audit.recordDenial(refusal, { code: 7, reason: 'a' })
    audit.recordDenial(event(), { code: 16, reason: 'a' })
    audit.recordDenial(event(), { code: 7, reason: 'b' })
    audit.recordDenial(event(), { code: 7, reason: 'a', token })
  }
  await audit.stop()
  const written = await rows()
  assert.deepEqual(
    written.map(({ n }) => Number(n)),
    Array.from({ length: 7 }, () => 3),
  )
})

test('beyond auditDenialsMax, auditDenialsPerOrganizationMax and auditDenialsPerActorMax refusals are counted and not kept', async (t) => {
  const { audit, event, rows, state } = await started(t)
  const someone = () => randomBytes(20).toString('hex')
  const [here, actor] = [someone(), someone()]
  const refuse = (about: Partial<AuditEvent>, reason = 'a') =>
    audit.recordDenial(event(about), { code: 7, reason })
  for (let n = 0; n < limits.auditDenialsPerOrganizationMax + 5; n++) refuse({ uid: here, actor: someone() })
  assert.equal(state.dropped, 5)
  for (let n = 0; n < limits.auditDenialsPerActorMax + 5; n++) refuse({ uid: someone(), actor }, `${n}`)
  assert.equal(state.dropped, 10)
  const kept = limits.auditDenialsPerOrganizationMax + limits.auditDenialsPerActorMax
  for (let n = 0; n < limits.auditDenialsMax - kept; n++) refuse({ uid: someone(), actor: someone() })
  assert.equal(state.dropped, 10)
  refuse({ uid: someone(), actor: someone() })
  assert.equal(state.dropped, 11)
  await audit.stop()
  assert.equal((await rows()).length, limits.auditDenialsMax)
  assert.equal(state.written, limits.auditDenialsMax)
})

test('one more refusal of a kind that is there already is counted with it, however many there are', async (t) => {
  const { audit, event, rows, state } = await started(t)
  const refuse = (n: number) => audit.recordDenial(event(), { code: 7, reason: `reason ${n}` })
  for (let n = 0; n < limits.auditDenialsPerActorMax; n++) refuse(n)
  refuse(0)
  assert.equal(state.dropped, 0)
  await audit.stop()
  assert.equal((await rows()).find(({ reason }) => reason === 'reason 0')?.n, 2)
})

test('a database that fails gets later what it did not take, up to auditExchangesMax', async (t) => {
  const { audit, event, rows, state } = await started(t)
  state.fails = true
  audit.recordDenial(event(), { code: 7, reason: 'kept' })
  for (let n = 0; n < 100; n++) audit.recordExchange(event({ timeMs: 1_800_000_000_000 + n }), token)
  await eventually(() => state.errors > 1)
  assert.deepEqual([state.written, state.dropped], [0, 0])
  for (let n = 0; n < limits.auditExchangesMax; n++)
    audit.recordExchange(event({ timeMs: 1_800_000_001_000 + n }), token)
  const { errors } = state
  await eventually(() => state.errors > errors)
  assert.equal(state.dropped, 101)
  state.fails = false
  await eventually(() => state.written === limits.auditExchangesMax)
  assert.equal((await rows()).length, limits.auditExchangesMax)
})

test('exchanges of a lost server are at most half of auditExchangesMax, and those of others are written', async (t) => {
  const { audit, event, rows, state } = await started(t)
  const [lost, reachable] = [randomUids.root(), randomUids.root()]
  state.servers = new Map([
    [lost, 1],
    [reachable, 2],
  ])
  state.lostServer = 1
  const max = limits.auditExchangesMax
  const record = (uid: string, n: number) => {
    for (let at = 0; at < n; at++) audit.recordExchange(event({ uid, actor: uid }), token)
  }
  record(lost, max)
  assert.equal(state.dropped, max / 2)
  for (let written = max / 4; written <= max; written += max / 4) {
    record(reachable, max / 4)
    await eventually(() => state.written === written)
  }
  assert.equal(state.dropped, max / 2)
  assert.ok(state.errors > 0)
  state.lostServer = 0
  await audit.stop()
  const written = await rows()
  assert.equal(written.filter(({ root }) => root === lost).length, max / 2)
  assert.deepEqual([written.length, state.written, state.dropped], [1.5 * max, 1.5 * max, max / 2])
})

test('denials of a lost server leave capacity for those of others (auditDenialsMax)', async (t) => {
  const { audit, event, state } = await started(t)
  const of = (server: number) => {
    const uid = randomUids.root()
    state.servers.set(uid, server)
    return uid
  }
  const deny = (uid: string) => audit.recordDenial(event({ uid, actor: uid }), { code: 7, reason: 'a' })
  for (let n = 0; n < limits.auditDenialsMax; n++) deny(of(1))
  const { dropped } = state
  assert.equal(dropped, limits.auditDenialsMax / 2)
  for (let n = 0; n < limits.auditDenialsMax / 4; n++) deny(of(2))
  assert.equal(state.dropped, dropped)
})

test('a denial about an organization that does not exist is written on the server of the actor', async (t) => {
  const { audit, event, rows, state } = await started(t)
  const [actor, unknown, waiting] = [randomUids.root(), randomUids.root(), randomUids.root()]
  state.servers = new Map([
    [unknown, 1],
    [actor, 2],
    [waiting, 1],
  ])
  audit.recordDenial(event({ actor, uid: unknown }), { code: 7, reason: 'attributed' })
  audit.recordDenial(event({ actor: waiting, uid: waiting }), { code: 7, reason: 'of a lost server' })
  state.lostServer = 1
  await audit.stop()
  assert.deepEqual(
    (await rows()).map(({ root, parent, reason }) => [root, parent, reason]),
    [[actor, actor, 'attributed']],
  )
  assert.equal(state.dropped, 1)
})
