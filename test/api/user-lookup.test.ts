import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdentitiesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { userUid } from '@berth/server/iam/identities/user-uid.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { deleteResource, insertResource } from '@berth/server/storage/resource-rows.ts'
import {
  apiOf,
  assertError,
  claimMatch,
  invalidFieldError,
  managedRole,
  newName,
  notFoundError,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'

const issuer = 'https://accounts.example'

onEveryDatabase('the uid of a user', (cast) => {
  const lookup = async (subject: string) =>
    (await cast().admin.get('iam/identities:lookupIdentity', { issuer, subject })).body

  /** As signing in for the first time makes one. */
  const register = async (uid: string, subject: string) => {
    const { store } = cast().berth.berth.installation
    const now = store.clock()
    await inTransaction(store.db, (tx) =>
      insertResource(store.db, tx, 'identities', {
        root: uid,
        uid,
        parent: '',
        name: 'ada lovelace',
        description: '',
        email: 'ada@example.com',
        email_unverified: '',
        company: '',
        relationship: 0,
        relationship_data: new Uint8Array(0),
        issuer,
        subject,
        registered_through: '',
        keys_expire_ms: 0,
        last_seen_ms: now,
        created_ms: now,
        updated_ms: now,
      }),
    )
  }
  const leave = (uid: string) => {
    const { db } = cast().berth.berth.installation.store
    return inTransaction(db, (tx) => deleteResource(db, tx, 'identities', uid))
  }

  test('every signed-in user may look it up, also before the first sign-in of that user', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/identities/${root}`, { name: 'nobody', claimMatch })
    const unprivileged = apiOf(cast().berth, await cast().berth.tokenOf(uid))
    const { status, body } = await unprivileged.get('iam/identities:lookupIdentity', {
      issuer,
      subject: 'ada',
    })
    assert.deepEqual([status, body], [200, { uid: userUid(issuer, 'ada', 0) }])
    const { lookupIdentity } = IdentitiesService.method
    const { token } = unprivileged
    const found = await cast().grpc.call(lookupIdentity, { issuer, subject: 'ada' }, { token })
    assert.equal(found.uid, body.uid)
  })

  test('it stays the same at the first sign-in, and a deleted user gets a new one (R23)', async () => {
    const subject = newName('ada')
    const first = await lookup(subject)
    await register(first.uid, subject)
    assert.deepEqual(await lookup(subject), first)
    const seen = new Set<string>()
    for (let generation = 0; generation < 20; generation++) {
      const { uid } = await lookup(subject)
      assert.equal(uid, userUid(issuer, subject, generation))
      seen.add(uid)
      if (generation > 0) await register(uid, subject)
      await leave(uid)
    }
    assert.equal(seen.size, 20)
  })

  test('issuer and subject is required and valid', async () => {
    const ask = (query: Record<string, string>) => cast().admin.get('iam/identities:lookupIdentity', query)
    assertError(await ask({}), invalidFieldError('issuer', 'subject'))
    assertError(await ask({ subject: 'ada' }), invalidFieldError('issuer'))
    assertError(await ask({ issuer }), invalidFieldError('subject'))
    for (const bad of [
      'accounts.example',
      'ftp://accounts.example',
      `https://${'a'.repeat(limits.issuerCharsMax)}`,
    ])
      assertError(await ask({ issuer: bad, subject: 'ada' }), invalidFieldError('issuer'))
    const subject = 's'.repeat(limits.claimCharsMax)
    assert.equal((await ask({ issuer, subject })).status, 200)
    assertError(await ask({ issuer, subject: `${subject}s` }), invalidFieldError('subject'))
  })

  test('a user can be bound from the first sign-in on, not before', async () => {
    const { owner, uid: root } = await cast().organization()
    const subject = newName('bob')
    const { uid } = await lookup(subject)
    const body = { identityUid: uid, roleUid: managedRole('viewer') }
    assertError(
      await owner.api.post(`iam/roleBindings/${root}`, body),
      notFoundError('iam.chainguard.dev/Identity', uid),
    )
    await register(uid, subject)
    assert.equal((await owner.api.post(`iam/roleBindings/${root}`, body)).status, 200)
  })

  test('a renamed user keeps the issuer and subject of their sign-in', async () => {
    const subject = newName('eve')
    const { uid } = await lookup(subject)
    await register(uid, subject)
    const { status, body } = await cast().admin.patch(
      `iam/identities/${uid}`,
      { name: 'eve', description: 'd' },
      '*',
    )
    assert.deepEqual([status, body.name, body.email], [200, 'eve', 'ada@example.com'])
    const { kysely } = cast().berth.berth.installation.store.db
    const row = await kysely
      .selectFrom('identities')
      .selectAll()
      .where('uid', '=', uid)
      .executeTakeFirstOrThrow()
    assert.deepEqual([row.issuer, row.subject, row.relationship], [issuer, subject, 0])
  })
})
