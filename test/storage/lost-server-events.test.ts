import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { createTransferCounter } from '@berth/server/registry/usage/transfer-counter.ts'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import pg from 'pg'
import { createApiFixture, managedRole, newName } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { nodeServer } from '../support/database/citus-databases.ts'
import { type ClusterDatabase, selectedCluster } from '../support/database/databases.ts'
import { type ClusterServers, connectToCoordinator, whileLost } from '../support/database/lost-server.ts'
import { eventually } from '../support/eventually.ts'
import { cleanups } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** Audit events and counts of organizations on several servers of a distributed database, while one of the servers is lost. */

const cluster = selectedCluster
/** How long events wait in memory. */
const FLUSH_MS = 1000
const COUNTS_FLUSH_MS = 100
const skip = cluster === undefined && 'no Citus cluster is selected'

describe('audit events while a server is lost', { skip }, () => {
  const t = cleanups()
  let database: ClusterDatabase
  let servers: ClusterServers
  let coordinator: pg.Client
  let berth: TestBerth
  let lost: string
  let reachable: string
  /** Tokens of their owners, and of a user without roles. */
  let ownerOfLost: string
  let ownerOfReachable: string
  let foreigner: string
  const open = () => openPostgresDb(database.urls[nodeServer] as string, { onError() {} })

  before(async () => {
    const { share } = cluster as NonNullable<typeof cluster>
    database = await share()
    t.after(() => database.close())
    const [first = '', one = '', other = ''] = database.urls
    servers = await connectToCoordinator(database.urls)
    t.after(() => servers.close())
    coordinator = new pg.Client({ connectionString: first })
    // Its database is dropped.
    coordinator.on('error', () => undefined)
    await coordinator.connect()
    t.after(() => coordinator.end().catch(() => undefined))
    berth = await startTestBerth({ name: 'citus', open })
    t.after(() => berth.stop())
    const { admin, grpc } = createApiFixture(berth)
    grpc.close()
    const createOrganization = async () => (await admin.create('iam/groups', { name: newName('org') })).uid
    reachable = await servers.createOn(one, createOrganization)
    lost = await servers.createOn(other, createOrganization)
    const createUser = () => servers.createOn(one, () => createPerson(berth))
    const createOwner = async (root: string) => {
      const user = await createUser()
      await admin.create(`iam/roleBindings/${root}`, { identityUid: user, roleUid: managedRole('owner') })
      return berth.tokenOf(user)
    }
    ownerOfLost = await createOwner(lost)
    ownerOfReachable = await createOwner(reachable)
    foreigner = await berth.tokenOf(await createUser())
  })
  after(() => t.run())

  /** Once: `call` repeats requests that fail with 503. Returns the id of the request. */
  const denyCreate = async (root: string): Promise<string> => {
    const reply = await fetch(`${berth.url}/iam/v2beta1/groups/${root}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${foreigner}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: newName('new') }),
    })
    assert.equal(reply.status, 403, await reply.text())
    return reply.headers.get('x-request-id') ?? ''
  }
  const readRequestIds = async (root: string, token: string): Promise<readonly string[]> => {
    const url = `${berth.url}/audit/v1/events?resource_uid=${root}&page_size=200`
    const { status, body } = await call('GET', url, { token })
    assert.equal(status, 200, JSON.stringify(body))
    return body.events.map(({ requestId }: { requestId: string }) => requestId)
  }
  const appears = (id: string, root: string, token: string) =>
    eventually(
      () => readRequestIds(root, token),
      (ids) => ids.includes(id),
    )
  const isStored = async (id: string) =>
    (await coordinator.query('select from audit_events where request_id = $1', [id])).rowCount === 1

  test('events of an organization on another server can be read, and the others appear when it is back', async () => {
    const waiting: string[] = []
    await whileLost(database.urls[2] ?? '', async () => {
      for (let n = 0; n < 3; n++) {
        waiting.push(await denyCreate(lost))
        await appears(await denyCreate(reachable), reachable, ownerOfReachable)
      }
    })
    const [first = ''] = waiting
    await appears(first, lost, ownerOfLost)
  })

  /** Runs work while writes to the rows of `lost` in a table do not get a response. */
  const whileFrozen = async (table: string, work: () => Promise<void>) => {
    const worker = new pg.Client({ connectionString: database.urls[2] })
    worker.on('error', () => undefined)
    await worker.connect()
    t.after(() => worker.end().catch(() => undefined))
    const { rows } = await coordinator.query(
      'select get_shard_id_for_distribution_column($1, $2::text)::text as shard',
      [table, lost],
    )
    await worker.query('set citus.enable_manual_changes_to_shards = on')
    await worker.query('begin')
    await worker.query(`lock table ${table}_${rows[0].shard} in access exclusive mode`)
    await work()
    await worker.query('rollback')
  }

  test('events are written while another server does not respond to writes (databaseStatementMs)', async () => {
    let waiting = ''
    await whileFrozen('audit_events', async () => {
      waiting = await denyCreate(lost)
      // The write of the event above has started.
      await sleep(2 * FLUSH_MS)
      const startMs = performance.now()
      await appears(await denyCreate(reachable), reachable, ownerOfReachable)
      const ms = performance.now() - startMs
      assert.ok(ms < limits.databaseStatementMs - 2 * FLUSH_MS, `${ms} ms`)
    })
    await appears(waiting, lost, ownerOfLost)
  })

  test('pulls are counted while another server does not respond to writes, also when the node stops', async () => {
    const { db, clock } = berth.berth.installation.store
    const counter = createTransferCounter({
      db,
      clock,
      flushMs: COUNTS_FLUSH_MS,
      onError() {},
      onDropped() {},
    })
    const pull = (root: string) => counter.countPull(`${root}/0123456789abcdef`)
    const pullsOf = async (root: string) => {
      const { rows } = await coordinator.query('select sum(pulls) as pulls from usage_days where root = $1', [
        root,
      ])
      return Number(rows[0]?.pulls)
    }
    let stopped = Promise.resolve()
    await whileFrozen('usage_days', async () => {
      pull(lost)
      await sleep(2 * COUNTS_FLUSH_MS)
      const startMs = performance.now()
      pull(reachable)
      await eventually(async () => (await pullsOf(reachable)) === 1)
      pull(reachable)
      stopped = counter.stop()
      await eventually(async () => (await pullsOf(reachable)) === 2)
      const ms = performance.now() - startMs
      // The write of the lost count waits for locks for this long, and is repeated.
      assert.ok(ms < 1.5 * limits.databaseLockMsMax, `${ms} ms`)
    })
    await stopped
  })

  test('a stop of the node writes the events of the other servers, and ends', async () => {
    let id = ''
    await whileLost(database.urls[2] ?? '', async () => {
      await denyCreate(lost)
      id = await denyCreate(reachable)
      await berth.stop()
    })
    await eventually(() => isStored(id))
    assert.ok(
      berth.warnings.some(({ message }) => message.startsWith('denials or exchanges are missing')),
      JSON.stringify(berth.warnings),
    )
  })
})
