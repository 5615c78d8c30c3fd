import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { limits } from '@berth/server/config/limits.ts'
import { emailRoot } from '@berth/server/iam/invites/invited-organizations.ts'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import pg from 'pg'
import { type Api, apiOf, createApiFixture, managedRole, newName } from '../support/api/api-fixture.ts'
import { capabilitiesJson } from '../support/api/tenant.ts'
import { nodeServer } from '../support/database/citus-databases.ts'
import { type ClusterDatabase, selectedCluster } from '../support/database/databases.ts'
import { type ClusterServers, connectToCoordinator, whileLost } from '../support/database/lost-server.ts'
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
  let servers: ClusterServers
  let coordinator: pg.Client
  let berth: TestBerth
  /** Of the user. */
  let token: string
  let lost: string
  let reachable: string

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
    const open = () => openPostgresDb(database.urls[nodeServer] as string, { onError() {} })
    berth = await startTestBerth({ name: 'citus', open })
    t.after(() => berth.stop())
    const { admin, grpc } = createApiFixture(berth)
    grpc.close()
    const createOrganization = async () => (await admin.create('iam/groups', { name: newName('org') })).uid
    reachable = await servers.createOn(one, createOrganization)
    lost = await servers.createOn(other, createOrganization)
    const user = await servers.createOn(one, () => createPerson(berth))
    for (const root of [reachable, lost])
      await admin.create(`iam/roleBindings/${root}`, { identityUid: user, roleUid: managedRole('owner') })
    token = await berth.tokenOf(user)
  })
  after(() => t.run())

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

  test('a change of a catalog field fails, with 503, only if a copy is on the server', async () => {
    const { admin, grpc } = createApiFixture(berth)
    grpc.close()
    const create = async (root: string, more: object = {}): Promise<string> =>
      (await admin.create(`registry/repos/${root}`, { name: newName('repo'), ...more })).uid
    const [alone, copied] = [await create(reachable), await create(reachable)]
    const identityUid = await servers.createOn(database.urls[1] ?? '', () => createPerson(berth))
    for (const role of ['owner', 'catalog.admin'])
      await admin.create(`iam/roleBindings/${reachable}`, { identityUid, roleUid: managedRole(role) })
    const api = apiOf(berth, await berth.tokenOf(identityUid))
    const copy = await create(lost, { syncConfig: { source: copied } })
    const change = async (repo: string) =>
      (await api.patch(`registry/repos/${repo}`, { catalogTier: 'CATALOG_TIER_BASE' })).status
    await whileLost(database.urls[2] ?? '', async () => {
      await eventually(async () => (await change(copied)) === 503)
      assert.equal(await change(alone), 200)
    })
    await eventually(async () => (await change(copied)) === 200)
    assert.equal((await admin.get(`registry/repos/${copy}`)).body.catalogTier, 'CATALOG_TIER_BASE')
  })

  test('the invites of organizations on other servers are found, and the response reports that there may be more', async () => {
    const [, one = '', other = ''] = database.urls
    const { admin, grpc } = createApiFixture(berth)
    grpc.close()
    const createInviter = async (server: string) => {
      const identityUid = await servers.createOn(server, () => createPerson(berth))
      await admin.create(`iam/roleBindings/${reachable}`, { identityUid, roleUid: managedRole('owner') })
      return apiOf(berth, await berth.tokenOf(identityUid))
    }
    const [near, far] = [await createInviter(one), await createInviter(other)]
    /** A user on the server that is not lost, and the organizations of its address on this server. */
    const createInvited = async (server: string) => {
      let email = ''
      await servers.createOn(server, async () => {
        email = `${newName('ada')}@example.com`
        return emailRoot(email)
      })
      const uid = await servers.createOn(one, () => createPerson(berth, { email }))
      return { email, api: apiOf(berth, await berth.tokenOf(uid)) }
    }
    const invite = async (by: Api, root: string, email: string): Promise<string> =>
      (await by.create(`iam/groupInvites/${root}`, { email, roleUid: managedRole('viewer'), ttl: '600s' }))
        .uid
    const find = async ({ api }: { readonly api: Api }) => {
      const { status, body, text } = await api.get('iam/groupInvites:findReceived')
      assert.equal(status, 200, text)
      return {
        uids: body.invites.map(({ uid }: { uid: string }) => uid),
        named: body.invites.map(({ inviter: name }: { inviter: string }) => name !== ''),
        more: body.more,
      }
    }
    const [ada, bob, eve] = [await createInvited(one), await createInvited(one), await createInvited(other)]
    const uids = [
      await invite(far, reachable, ada.email),
      await invite(admin, lost, ada.email),
      await invite(near, reachable, bob.email),
    ]
    const ofEve = await invite(admin, reachable, eve.email)
    const untilFound = (user: { readonly api: Api }, expected: Awaited<ReturnType<typeof find>>) =>
      eventually(
        () => find(user),
        (found) => isDeepStrictEqual(found, expected),
      )
    const all = { uids: uids.slice(0, 2), named: [true, true], more: false }
    const ofBob = { uids: uids.slice(2), named: [true], more: false }
    await untilFound(ada, all)
    // Connections to the server end some time after it is lost.
    await whileLost(other, async () => {
      await untilFound(ada, { uids: uids.slice(0, 1), named: [false], more: true })
      await untilFound(eve, { uids: [], named: [], more: true })
      assert.deepEqual(await find(bob), ofBob)
    })
    await untilFound(ada, all)
    await eventually(
      () => find(eve),
      ({ uids: found }) => isDeepStrictEqual(found, [ofEve]),
    )
  })
})
