import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import pg from 'pg'
import { createApiFixture, managedRole, newName } from '../support/api/api-fixture.ts'
import { capabilitiesJson } from '../support/api/tenant.ts'
import { nodeServer, urlOf } from '../support/database/citus-databases.ts'
import { type ClusterDatabase, selectedCluster } from '../support/database/databases.ts'
import { executeStatement } from '../support/database/postgres-template.ts'
import { eventually } from '../support/eventually.ts'
import { cleanups } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** A user with roles on a server of a distributed database that is lost, and on one that is not (ADR 93). */

const cluster = selectedCluster
const skip = cluster === undefined && 'no Citus cluster is selected'

describe('roles on a lost server', { skip }, () => {
  const t = cleanups()
  let database: ClusterDatabase
  let coordinator: pg.Client
  let berth: TestBerth
  /** Of the user. */
  let token: string
  let lost: string
  let reachable: string

  const portOf = async (root: string): Promise<string> => {
    const { rows } = await coordinator.query(
      `select nodeport as port from pg_dist_shard_placement
        where shardid = get_shard_id_for_distribution_column('groups', $1::text) limit 1`,
      [root],
    )
    return String(rows[0]?.port)
  }
  /** Creates until one is on the server. */
  const createOn = async (server: string, create: () => Promise<string>) => {
    for (;;) {
      const root = await create()
      if ((await portOf(root)) === new URL(server).port) return root
    }
  }

  before(async () => {
    const { share } = cluster as NonNullable<typeof cluster>
    database = await share()
    t.after(() => database.close())
    const [first = '', one = '', other = ''] = database.urls
    coordinator = new pg.Client({ connectionString: first })
    // Its database is dropped.
    coordinator.on('error', () => undefined)
    await coordinator.connect()
    t.after(() => coordinator.end().catch(() => undefined))
    const open = () => openPostgresDb(database.urls[nodeServer] as string, { onError() {} })
    berth = await startTestBerth({ name: 'citus', open })
    t.after(() => berth.stop())
    const { admin, grpc } = createApiFixture(berth)
    grpc.close()
    const createOrganization = async () => (await admin.create('iam/groups', { name: newName('org') })).uid
    reachable = await createOn(one, createOrganization)
    lost = await createOn(other, createOrganization)
    const user = await createOn(one, () => createPerson(berth))
    for (const root of [reachable, lost])
      await admin.create(`iam/roleBindings/${root}`, { identityUid: user, roleUid: managedRole('owner') })
    token = await berth.tokenOf(user)
  })
  after(() => t.run())

  /** Runs work while no connection to the server is possible. */
  const whileLost = async (server: string, work: () => Promise<void>) => {
    const name = new URL(server).pathname.slice(1)
    const maintenance = urlOf(server, 'postgres')
    await executeStatement(maintenance, `alter database ${name} allow_connections false`)
    try {
      await executeStatement(
        maintenance,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      )
      await work()
    } finally {
      await executeStatement(maintenance, `alter database ${name} allow_connections true`)
    }
  }

  /** Once: `call` repeats requests that fail with 503. */
  const post = async (path: string, bearer: string, body: object) => {
    const reply = await fetch(`${berth.url}/iam/v2beta1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: newName('new'), ...body }),
    })
    return { status: reply.status, text: await reply.text() }
  }

  test('changes of tables that are on every server fail for all, with 503, until it is back', async () => {
    const capabilities = capabilitiesJson('groups.list')
    const changes = [
      () => post('groups', berth.token, {}),
      () => post(`roles/${reachable}`, berth.token, { capabilities }),
    ]
    await whileLost(database.urls[2] ?? '', async () => {
      for (const change of changes) {
        const { status, text } = await change()
        assert.equal(status, 503, text)
      }
    })
    for (const change of changes) await eventually(async () => (await change()).status === 200)
  })

  test('a change in an organization on another server succeeds, also if it waits (grantsMaxAgeMs)', async () => {
    const create = (root: string) => post(`groups/${root}`, token, {})
    for (const root of [reachable, lost]) await eventually(async () => (await create(root)).status === 200)
    await whileLost(database.urls[2] ?? '', async () => {
      await eventually(async () => (await create(lost)).status === 503)
      assert.equal((await create(reachable)).status, 200)

      await coordinator.query('begin')
      await coordinator.query('select from groups where root = $1 and uid = $1 for update', [reachable])
      const waiting = create(reachable)
      await sleep(limits.grantsMaxAgeMs + limits.databaseLostServerMs)
      await coordinator.query('rollback')
      const reply = await waiting
      assert.equal(reply.status, 200, reply.text)
    })
    await eventually(async () => (await create(lost)).status === 200)
  })
})
