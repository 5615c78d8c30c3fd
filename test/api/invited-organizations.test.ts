import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { InvitationsService } from '@berth/contract/gen/berth/iam/v1/invitations_pb.js'
import { randomUids, type Uid } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import { emailRoot, recordInvitedOrganization } from '@berth/server/iam/invites/invited-organizations.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import * as migration from '@berth/server/storage/migrations/0041-invited-organizations.ts'
import fc from 'fast-check'
import { type Api, apiOf, managedRole, newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { databases } from '../support/database/databases.ts'
import { collectBeforeCommit, collectNow } from '../support/registry/collection-run.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** The organizations that invited an email address, where a distributed database finds its invites. */

const ROUNDS = 5
const CONCURRENT = 5
const ADDRESSES = 3

const offer = { roleUid: managedRole('viewer'), ttl: '600s' }

const kinds = [
  'create',
  'create',
  'create v1',
  'change email',
  'extend',
  'delete',
  'accept',
  'delete organization',
  'collect',
] as const

const operation = fc.record({ kind: fc.constantFrom(...kinds), address: fc.nat(99), place: fc.nat(99) })
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

/** Each operation succeeds in one of them. */
const successfulRounds = [
  ['create', 'create v1', 'create', 'create v1', 'create'],
  ['accept'],
  ['change email', 'extend'],
  ['delete', 'collect'],
].map((round) => round.map((kind, at) => ({ kind, address: at, place: at }) as Operation))

const collect = async (berth: TestBerth, dryRun = false) => (await collectNow(berth, dryRun)).orphans.count

onEveryDatabase('organizations that invited an address', (cast) => {
  const db = () => cast().berth.berth.installation.store.db

  const invites = () => db().kysely.selectFrom('group_invites').selectAll().where('email', '<>', '').execute()
  const expected = async () =>
    new Set((await invites()).map(({ email, root }) => `${emailRoot(email)} ${root}`))
  const stored = async () => {
    const rows = await db().kysely.selectFrom('invited_organizations').selectAll().execute()
    return new Set(rows.map(({ root, organization }) => `${root} ${organization}`))
  }
  const person = async (email: string): Promise<Api> =>
    apiOf(cast().berth, await cast().berth.tokenOf(await createPerson(cast().berth, { email })))
  const newAddress = () => `${newName('ada')}@example.com`
  const invite = async (root: string, more: object): Promise<string> =>
    (await cast().admin.create(`iam/groupInvites/${root}`, { ...offer, ...more })).uid
  /** The same over REST and gRPC. */
  const received = async (api: Api): Promise<string[]> => {
    const { body, status, text } = await api.get('iam/groupInvites:findReceived')
    assert.equal(status, 200, text)
    const { findReceivedInvites } = InvitationsService.method
    const byGrpc = await cast().grpc.call(findReceivedInvites, {}, { token: api.token })
    const uids = body.invites.map(({ uid }: { uid: string }) => uid)
    assert.deepEqual(
      byGrpc.invites.map(({ uid }) => uid),
      uids,
    )
    assert.equal(byGrpc.more, body.more)
    return uids
  }
  const deleteOrganization = async (organization: string) => {
    const { admin } = cast()
    const list = async (path: string, of: string) =>
      (await admin.get(`iam/${path}`, { 'uidp.descendantsOf': organization, page_size: '200' })).body[of]
    for (const { uid } of await list('groupInvites', 'groupInvites'))
      await admin.delete(`iam/groupInvites/${uid}`)
    for (const { uid } of await list('roleBindings', 'roleBindings'))
      await admin.delete(`iam/roleBindings/${uid}`)
    for (const { uid } of await list('groups', 'groups')) await admin.delete(`iam/groups/${uid}`)
    return admin.delete(`iam/groups/${organization}`)
  }

  test('a user finds the open invites of several organizations, in any spelling of the address', async () => {
    const email = newAddress()
    const create = async () => (await cast().admin.create('iam/groups', { name: newName('org') })).uid
    const [first, second, third] = [await create(), await create(), await create()]
    const late = await invite(first, { email: email.toUpperCase(), ttl: '1200s' })
    const early = await invite(second, { email })
    await invite(second, { email: newAddress() })
    await invite(second, { email, ttl: '0.001s' })
    const deleted = await invite(third, { email })
    const gone = await invite(third, { email: email.replace('ada', 'Ada') })
    const api = await person(email)
    await cast().admin.delete(`iam/groupInvites/${deleted}`)
    await setTimeout(5)
    assert.deepEqual(await received(api), [early, gone, late])
    const reply = await deleteOrganization(third)
    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual(await received(api), [early, late])
    await collect(cast().berth)
    assert.deepEqual(await received(api), [early, late])
  })

  test('an invite that gets another address is found by its user, and no more by the one of before', async () => {
    const [email, other] = [newAddress(), newAddress()]
    const { uid: root } = await cast().organization()
    const uid = await invite(root, {})
    const [ada, bob] = [await person(email), await person(other)]
    assert.deepEqual(await received(ada), [])
    const change = (to: string) => cast().admin.patch(`iam/groupInvites/${uid}`, { email: to })
    for (const [to, ofAda, ofBob] of [
      [email, [uid], []],
      [other, [], [uid]],
      ['', [], []],
    ] as const) {
      assert.equal((await change(to)).status, 200)
      await collect(cast().berth)
      assert.deepEqual([await received(ada), await received(bob)], [ofAda, ofBob])
    }
  })

  test('the table has a hash instead of the address, and garbage collection deletes it with the last invite', async () => {
    const email = newAddress()
    const { uid: root } = await cast().organization()
    const [one, other] = [await invite(root, { email }), await invite(root, { email })]
    const rows = async () => {
      const { kysely } = db()
      return kysely.selectFrom('invited_organizations').selectAll().where('organization', '=', root).execute()
    }
    const [row] = await rows()
    assert.deepEqual(Object.keys(row ?? {}).toSorted(), ['invited_ms', 'organization', 'root'])
    assert.equal(row?.root, emailRoot(email.toUpperCase()))
    assert.match(row?.root ?? '', /^[0-9a-f]{40}$/)
    await cast().admin.delete(`iam/groupInvites/${one}`)
    await collect(cast().berth)
    assert.equal((await rows()).length, 1)
    await cast().admin.delete(`iam/groupInvites/${other}`)
    await collect(cast().berth)
    assert.deepEqual(await rows(), [])
  })

  test('a dry run of garbage collection counts rows and deletes none', async () => {
    const { uid: root } = await cast().organization()
    await collect(cast().berth)
    const uids = [await invite(root, { email: newAddress() }), await invite(root, { email: newAddress() })]
    for (const uid of uids) await cast().admin.delete(`iam/groupInvites/${uid}`)
    const before = await stored()
    assert.equal(await collect(cast().berth, true), uids.length)
    assert.deepEqual(await stored(), before)
    assert.equal(await collect(cast().berth), uids.length)
  })

  test('include each one that has an invite for it, and after garbage collection no others', async () => {
    const { admin } = cast()
    const succeeded = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(operation, { minLength: CONCURRENT, maxLength: CONCURRENT }), {
          minLength: ROUNDS,
          maxLength: ROUNDS,
        }),
        async (rounds) => {
          const addresses = Array.from({ length: ADDRESSES }, newAddress)
          const users = await Promise.all(addresses.map(person))
          const places: string[] = []
          for (let n = 0; n < 2; n += 1) {
            const { uid } = await admin.create('iam/groups', { name: newName('org') })
            places.push(uid, (await admin.create(`iam/groups/${uid}`, { name: 'folder' })).uid)
          }
          const run = async ({ kind, address, place: at }: Operation) => {
            const user = address % ADDRESSES
            const email = addresses[user] ?? ''
            const place = places[at % places.length] ?? ''
            const own = (await invites()).filter(({ parent }) => places.includes(parent))
            const uid = own[at % Math.max(own.length, 1)]?.uid ?? `${place}/${'0'.repeat(16)}`
            switch (kind) {
              case 'create':
                return admin.post(`iam/groupInvites/${place}`, { ...offer, email, singleUse: true })
              case 'create v1':
                return call('POST', `${cast().berth.url}/iam/v1/group_invites/${place}`, {
                  token: cast().berth.token,
                  body: { role: offer.roleUid, ttl: '600s', email: email.toUpperCase() },
                })
              case 'change email':
                return admin.patch(`iam/groupInvites/${uid}`, { email })
              case 'extend':
                return admin.patch(`iam/groupInvites/${uid}`, { ttl: '900s' })
              case 'delete':
                return admin.delete(`iam/groupInvites/${uid}`)
              case 'accept': {
                const api = users[user] as Api
                const { body } = await api.get('iam/groupInvites:findReceived')
                return api.post('iam/groupInvites:acceptReceived', { uid: body.invites?.[0]?.uid ?? uid })
              }
              case 'delete organization':
                return deleteOrganization(place.slice(0, 40))
              case 'collect':
                await collect(cast().berth)
                succeeded.add(kind)
                return undefined
            }
          }
          for (const round of rounds) {
            const replies = await Promise.all(round.map(run))
            for (const [at, reply] of replies.entries()) {
              // 503: a row stayed locked for too long, on a busy machine.
              assert.ok(reply === undefined || reply.status < 500 || reply.status === 503, reply?.text)
              if (reply?.status === 200) succeeded.add(String(round[at]?.kind))
            }
            const rows = await stored()
            assert.deepEqual(
              [...(await expected())].filter((row) => !rows.has(row)),
              [],
            )
          }
          await collect(cast().berth)
          assert.deepEqual([...(await stored())].sort(), [...(await expected())].sort())
        },
      ),
      { numRuns: 3, examples: [[successfulRounds]] },
    )
    for (const kind of ['create', 'create v1', 'change email', 'extend', 'delete', 'accept', 'collect'])
      assert.ok(succeeded.has(kind), kind)
  })

  test('that have not become visible yet are not deleted', async () => {
    const row = { root: emailRoot(newAddress()), organization: randomUids.root(), invited_ms: 1 }
    await db().kysely.insertInto('invited_organizations').values(row).execute()
    await collect(cast().berth)
    assert.ok((await stored()).has(`${row.root} ${row.organization}`))
    await db()
      .kysely.deleteFrom('invited_organizations')
      .where('root', '=', row.root)
      .where('organization', '=', row.organization)
      .execute()
  })

  test('a distributed database looks in the last ones (invitedOrganizationsMax), and reports that there are more', async () => {
    const email = newAddress()
    const { uid: root } = await cast().organization()
    const first = await invite(root, { email })
    const api = await person(email)
    const find = async () => (await api.get('iam/groupInvites:findReceived')).body
    assert.equal((await find()).more, false)
    const later = Date.now() + 60_000
    const others = Array.from({ length: limits.invitedOrganizationsMax }, (_, at) => ({
      root: emailRoot(email),
      organization: randomUids.root(),
      invited_ms: later + at,
    }))
    await db().kysely.insertInto('invited_organizations').values(others).execute()
    const isDistributed = await db().rules.isDistributed(db())
    const hidden = await find()
    assert.equal(hidden.more, isDistributed)
    assert.equal(hidden.invites.length, isDistributed ? 0 : 1)
    // A new invite is found again.
    await db()
      .kysely.updateTable('invited_organizations')
      .set({ invited_ms: 1 })
      .where('root', '=', emailRoot(email))
      .where('organization', '<>', root)
      .execute()
    const second = await invite(root, { email })
    assert.deepEqual((await received(api)).toSorted(), [first, second].toSorted())
    await db().kysely.deleteFrom('invited_organizations').where('root', '=', emailRoot(email)).execute()
  })
})

for (const database of databases) {
  test(`the migration adds the organizations of existing invites (${database.name})`, async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const { db } = berth.berth.installation.store
    const api = apiOf(berth, berth.token)
    const email = `${newName('ada')}@example.com`
    for (const to of [email, email.toUpperCase(), ''])
      await api.create(`iam/groupInvites/${berth.organization}`, { ...offer, email: to })
    await db.kysely.schema.dropTable('invited_organizations').execute()
    await migration.up(db.kysely as never, db.engine)
    const rows = await db.kysely.selectFrom('invited_organizations').selectAll().execute()
    assert.deepEqual(
      rows.map(({ root, organization }) => [root, organization]),
      [[emailRoot(email), berth.organization]],
    )
    // What a node of 0.6 did not write is added before the table is distributed.
    await db.kysely.deleteFrom('invited_organizations').execute()
    await db.rules.placeTables(db)
    const completed = await db.kysely.selectFrom('invited_organizations').select('root').execute()
    if (await db.rules.isDistributed(db)) assert.deepEqual(completed, [{ root: emailRoot(email) }])
  })
}

/** PGlite and SQLite have one transaction at a time. */
for (const database of databases.filter(({ name }) => ['postgres', 'citus'].includes(name))) {
  test(`the organization of an invite that becomes visible later is not deleted (${database.name})`, async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const { store } = berth.berth.installation
    const { db } = store
    const root = berth.organization
    const email = `${newName('ada')}@example.com`
    await inTransaction(db, (tx) => recordInvitedOrganization(store, tx, root as Uid, email))
    await collectBeforeCommit(berth, async (tx) => {
      await recordInvitedOrganization(store, tx, root as Uid, email)
      await tx
        .insertInto('group_invites')
        .values({
          root,
          uid: `${root}/${'0'.repeat(16)}`,
          parent: root,
          role_uid: offer.roleUid,
          email,
          expires_ms: 0,
          single_use: 0,
          key_id: 'key',
          code_hash: Buffer.from('x'),
          created_by: '',
          created_ms: 0,
          updated_ms: 0,
        })
        .execute()
    })
    const rows = await db.kysely
      .selectFrom('invited_organizations')
      .selectAll()
      .where('root', '=', emailRoot(email))
      .execute()
    assert.equal(rows.length, 1)
  })
}
