import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomUids, rootOf, type Uid } from '@berth/server/api/uid.ts'
import { recordOrganization } from '@berth/server/iam/identities/organizations.ts'
import fc from 'fast-check'
import { type Api, apiOf, managedRole, newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { databases } from '../support/database/databases.ts'
import { collectBeforeCommit, collectNow } from '../support/registry/collection-run.ts'
import { startTestBerth } from '../support/server/test-berth.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** The organizations of users, where a distributed database reads their permissions. */

const ROUNDS = 6
const CONCURRENT = 5
const USERS = 3

const kinds = [
  'bind',
  'bind',
  'batch',
  'rebind',
  'unbind',
  'unbind',
  'accept',
  'create organization',
  'delete organization',
  'delete user',
  'collect',
] as const

const operation = fc.record({ kind: fc.constantFrom(...kinds), user: fc.nat(99), place: fc.nat(99) })
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never
/** They succeed, whatever is generated afterwards. */
const firstRound = (['bind', 'batch', 'accept'] as const).map(
  (kind, at): Operation => ({ kind, user: at, place: at }),
)

const roles = ['viewer', 'editor'].map(managedRole)

interface User {
  readonly uid: string
  readonly api: Api
}

onEveryDatabase('organizations of users', (cast) => {
  const db = () => cast().berth.berth.installation.store.db

  const bindings = async () => {
    const rows = await db()
      .kysely.selectFrom('role_bindings')
      .select(['uid', 'root', 'parent', 'identity_uid'])
      .execute()
    return rows.filter((row) => row.root !== rootOf(row.identity_uid))
  }
  const expected = async () =>
    new Set((await bindings()).map(({ identity_uid, root }) => `${identity_uid} ${root}`))
  const stored = async () => {
    const rows = await db().kysely.selectFrom('identity_organizations').selectAll().execute()
    for (const { root, identity_uid } of rows) assert.equal(root, rootOf(identity_uid))
    return new Set(rows.map(({ identity_uid, organization }) => `${identity_uid} ${organization}`))
  }
  const newUser = async (): Promise<User> => {
    const uid = await createPerson(cast().berth)
    return { uid, api: apiOf(cast().berth, await cast().berth.tokenOf(uid)) }
  }
  const newOrganization = async () => {
    const { admin } = cast()
    const { uid } = await admin.create('iam/groups', { name: newName('org') })
    const folder = await admin.create(`iam/groups/${uid}`, { name: 'folder' })
    return [uid as string, folder.uid as string]
  }

  test('include each one in which they have a binding, and after garbage collection no others', async () => {
    const { admin } = cast()
    const succeeded = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(operation, { minLength: CONCURRENT, maxLength: CONCURRENT }), {
          minLength: ROUNDS,
          maxLength: ROUNDS,
        }),
        async (rounds) => {
          const users = await Promise.all(Array.from({ length: USERS }, newUser))
          const places = (await Promise.all([newOrganization(), newOrganization()])).flat()
          const run = async ({
            kind,
            user: atUser,
            place: atPlace,
          }: Operation): Promise<RestReply | undefined> => {
            const { uid: identityUid, api } = users[atUser % users.length] as User
            const place = places[atPlace % places.length] as string
            const [roleUid = ''] = roles.slice(atPlace % roles.length)
            const own = (await bindings()).filter(({ parent }) => places.includes(parent))
            const bound = own[atPlace % Math.max(own.length, 1)]?.uid ?? `${place}/${'0'.repeat(16)}`
            switch (kind) {
              case 'bind':
                return admin.post(`iam/roleBindings/${place}`, { identityUid, roleUid })
              case 'batch':
                return admin.post('iam/roleBindings:batchCreate', {
                  parent: place,
                  roleUid,
                  requests: users.map(({ uid }) => ({ roleBinding: { identityUid: uid } })),
                })
              case 'rebind':
                return admin.patch(`iam/roleBindings/${bound}`, { identityUid })
              case 'unbind':
                return admin.delete(`iam/roleBindings/${bound}`)
              case 'accept': {
                // Has no role yet.
                const user = await newUser()
                users[atUser % users.length] = user
                const { status, body } = await admin.post(`iam/groupInvites/${place}`, {
                  roleUid,
                  ttl: '600s',
                })
                return status === 200
                  ? user.api.post('iam/groupInvites:accept', { code: body.code })
                  : undefined
              }
              case 'create organization':
                places.push(...(await newOrganization()))
                succeeded.add(kind)
                return undefined
              case 'delete organization': {
                const organization = rootOf(place)
                for (const { uid, root } of await bindings())
                  if (root === organization) await admin.delete(`iam/roleBindings/${uid}`)
                for (const { uid } of (await admin.get('iam/groups', { 'uidp.descendantsOf': organization }))
                  .body.groups)
                  await admin.delete(`iam/groups/${uid}`)
                return admin.delete(`iam/groups/${organization}`)
              }
              case 'delete user': {
                const reply = await call('DELETE', `${cast().berth.url}/auth/v1/delete/${identityUid}`, {
                  token: api.token,
                })
                users[atUser % users.length] = await newUser()
                return reply
              }
              case 'collect':
                await collectNow(cast().berth)
                succeeded.add(kind)
                return undefined
            }
          }
          for (const round of [firstRound, ...rounds]) {
            const replies = await Promise.all(round.map(run))
            for (const [at, reply] of replies.entries()) {
              // 503: a row stayed locked for too long, on a busy machine.
              assert.ok(reply === undefined || reply.status < 500 || reply.status === 503, reply?.text)
              if (reply?.status === 200) succeeded.add(String(round[at]?.kind))
            }
            const rows = await stored()
            const missing = [...(await expected())].filter((row) => !rows.has(row))
            assert.deepEqual(missing, [])
            for (const { uid, api } of users) {
              const { body } = await api.get('iam/groups')
              const visible = new Set(body.groups.map((group: { uid: string }) => group.uid))
              for (const { parent, identity_uid } of await bindings())
                if (identity_uid === uid) assert.ok(visible.has(parent), `${uid} does not see ${parent}`)
            }
          }
          await collectNow(cast().berth)
          assert.deepEqual([...(await stored())].sort(), [...(await expected())].sort())
        },
      ),
      { numRuns: 3 },
    )
    for (const { kind } of firstRound) assert.ok(succeeded.has(kind), kind)
  })

  test('that have not become visible yet are not deleted', async () => {
    const identity_uid = await createPerson(cast().berth)
    const row = { root: rootOf(identity_uid), identity_uid, organization: randomUids.root() }
    await db().kysely.insertInto('identity_organizations').values(row).execute()
    await collectNow(cast().berth)
    assert.ok((await stored()).has(`${identity_uid} ${row.organization}`))
    await db().kysely.deleteFrom('identity_organizations').where('identity_uid', '=', identity_uid).execute()
  })
})

/** PGlite and SQLite have one transaction at a time. */
for (const database of databases.filter(({ name }) => ['postgres', 'citus'].includes(name))) {
  test(`the organization of a binding that becomes visible later is not deleted (${database.name})`, async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const { db } = berth.berth.installation.store
    const identity_uid = await createPerson(berth)
    const root = berth.organization
    await db.kysely
      .insertInto('identity_organizations')
      .values({ root: identity_uid, identity_uid, organization: root })
      .execute()
    await collectBeforeCommit(berth, async (tx) => {
      await recordOrganization(db, tx, root as Uid, [identity_uid])
      await tx
        .insertInto('role_bindings')
        .values({
          root,
          uid: `${root}/${'0'.repeat(16)}`,
          parent: root,
          identity_uid,
          role_uid: managedRole('viewer'),
          automatic: 0,
          accepted_through: '',
          created_ms: 0,
          updated_ms: 0,
        })
        .execute()
    })
    const rows = await db.kysely
      .selectFrom('identity_organizations')
      .selectAll()
      .where('identity_uid', '=', identity_uid)
      .execute()
    assert.equal(rows.length, 1)
  })
}
