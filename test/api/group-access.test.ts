import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  type Api,
  type ApiFixture,
  apiOf,
  assertError,
  claimMatch,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'

const none = notFoundError('iam.chainguard.dev/Group', '')
const BLOCKED = 'partner.example'

/** An organization named after a domain, verified by the operator. */
async function employer({ admin }: ApiFixture, domain = `${newName('works')}.example`) {
  const verified = { verified: true, kind: 'ORG_KIND_CUSTOMER' }
  const { uid } = await admin.create('iam/groups', { name: domain, ...verified })
  return { uid: uid as string, domain }
}

/** A user with a verified email address, whose identity is in an unrelated organization. */
async function person(cast: ApiFixture, email: string): Promise<{ readonly uid: string; readonly api: Api }> {
  const { uid: elsewhere } = await cast.organization()
  const { uid } = await cast.admin.create(`iam/identities/${elsewhere}`, { name: 'ada', claimMatch })
  const { kysely } = cast.berth.berth.installation.store.db
  await kysely.updateTable('identities').set({ email }).where('uid', '=', uid).execute()
  return { uid, api: apiOf(cast.berth, await cast.berth.tokenOf(uid)) }
}

const lookup = (api: Api) => api.get('iam/groups:lookupGroup')
const ask = (api: Api, uid: string) => api.post(`iam/groups/${uid}:requestGroupAccess`, {})
const eligible = async (api: Api) => (await api.get('iam/groups:checkEligibility')).body

onEveryDatabase(
  'the way into an organization',
  (cast) => {
    test('a user with an address of its domain finds a verified organization and requests access', async () => {
      const { uid, domain } = await employer(cast())
      const ada = await person(cast(), `ada@${domain.toUpperCase()}`)
      assert.deepEqual(await eligible(ada.api), { eligible: true })
      const found = await lookup(ada.api)
      assert.deepEqual(found.body, { group: (await cast().admin.get(`iam/groups/${uid}`)).body })
      const asked = await ask(ada.api, uid)
      assert.deepEqual([asked.status, asked.body], [200, {}])
      const [event] = (await cast().auditEventsOf(uid)).filter(({ actor }) => actor === ada.uid)
      assert.equal(event?.method, 'chainguard.platform.iam.v2beta1.GroupsService/RequestGroupAccess')
      // Nothing was granted.
      assert.equal((await ada.api.get(`iam/groups/${uid}`)).status, 403)
    })

    test('the same over gRPC', async () => {
      const { uid, domain } = await employer(cast())
      const { api } = await person(cast(), `ada@${domain}`)
      const { lookupGroup, requestGroupAccess, checkEligibility } = GroupsService.method
      const { grpc } = cast()
      const { token } = api
      assert.equal((await grpc.call(lookupGroup, {}, { token })).group?.uid, uid)
      assert.equal((await grpc.call(checkEligibility, {}, { token })).eligible, true)
      await grpc.call(requestGroupAccess, { groupUid: uid }, { token })
      await assert.rejects(grpc.call(requestGroupAccess, { groupUid: uid }, { token }), { code: 8 })
      await assert.rejects(grpc.call(requestGroupAccess, { groupUid: '' }, { token }), { code: 3 })
    })

    test('R35: every reason for finding none has the same response, byte for byte', async () => {
      const { uid } = await employer(cast())
      const { uid: blocked } = await employer(cast(), BLOCKED)
      const { uid: mail } = await employer(cast(), 'gmail.com')
      const domain = `${newName('plain')}.example`
      const { uid: plain } = await cast().admin.create('iam/groups', { name: domain })
      const suspended = await employer(cast())
      const { kysely } = cast().berth.berth.installation.store.db
      await kysely.updateTable('groups').set({ status: 3 }).where('uid', '=', suspended.uid).execute()
      const cases: readonly [email: string, group: string, eligible: boolean][] = [
        ['', uid, false],
        [`ada@${BLOCKED}`, blocked, false],
        ['ada@gmail.com', mail, false],
        // Not verified, suspended, without an organization, of another organization.
        [`ada@${domain}`, plain, true],
        [`ada@${suspended.domain}`, suspended.uid, true],
        ['ada@nobody.example', uid, true],
        ['ada@nobody.example', 'f'.repeat(40), true],
        ['ada@nobody.example', `${uid}/0123456789abcdef`, true],
      ]
      const answers = new Set<string>()
      for (const [email, group, wanted] of cases) {
        const { api } = await person(cast(), email)
        assert.deepEqual(await eligible(api), { eligible: wanted }, email)
        await cast().writesNothing(async () => {
          for (const reply of [await lookup(api), await ask(api, group)]) {
            assertError(reply, none)
            answers.add(reply.text)
          }
        })
      }
      assert.equal(answers.size, 1)
    })

    test('only the organization of the own domain accepts requests, checked each time', async () => {
      const [mine, theirs] = [await employer(cast()), await employer(cast())]
      const { api } = await person(cast(), `ada@${mine.domain}`)
      assertError(await ask(api, theirs.uid), none)
      assert.equal((await cast().admin.patch(`iam/groups/${mine.uid}`, { verified: false })).status, 200)
      assertError(await ask(api, mine.uid), none)
      assertError(await lookup(api), none)
      for (const bad of ['', 'x', `${mine.uid}/`])
        assertError(await ask(api, bad), invalidFieldError('groupUid'))
    })

    test('an unverified address counts as none', async () => {
      const { domain } = await employer(cast())
      const { uid, api } = await person(cast(), '')
      const { kysely } = cast().berth.berth.installation.store.db
      await kysely
        .updateTable('identities')
        .set({ email_unverified: `ada@${domain}` })
        .where('uid', '=', uid)
        .execute()
      assertError(await lookup(api), none)
    })

    test('accessRequestIntervalMs: a repetition too soon is rejected with the time of the next attempt', async () => {
      const { uid, domain } = await employer(cast())
      const { api } = await person(cast(), `ada@${domain}`)
      assert.equal((await ask(api, uid)).status, 200)
      const again = await cast().writesNothing(() => ask(api, uid))
      assert.deepEqual([again.status, again.body.code], [429, 8], again.text)
      const [, { '@type': type, retryDelay }] = again.body.details
      assert.equal(type, 'type.googleapis.com/google.rpc.RetryInfo')
      const seconds = Number.parseFloat(retryDelay)
      assert.ok(seconds > 0 && seconds <= limits.accessRequestIntervalMs / 1000, retryDelay)
      // Another user can request access meanwhile.
      assert.equal((await ask((await person(cast(), `bob@${domain}`)).api, uid)).status, 200)
      const { kysely } = cast().berth.berth.installation.store.db
      await kysely
        .updateTable('access_requests')
        .set((row) => ({ requested_ms: row('requested_ms', '-', limits.accessRequestIntervalMs) }))
        .execute()
      assert.equal((await ask(api, uid)).status, 200)
      assert.equal((await ask(api, uid)).status, 429)
    })

    test('of many concurrent requests one counts', async () => {
      const { uid, domain } = await employer(cast())
      const ada = await person(cast(), `ada@${domain}`)
      const replies = await Promise.all(Array.from({ length: 10 }, () => ask(ada.api, uid)))
      assert.deepEqual(replies.map(({ status }) => status).sort(), [
        200,
        ...Array.from({ length: 9 }, () => 429),
      ])
      assert.equal((await cast().auditEventsOf(uid)).filter(({ actor }) => actor === ada.uid).length, 1)
    })

    test('a request is deleted with its organization, and expires like others if its user is deleted', async () => {
      const { kysely } = cast().berth.berth.installation.store.db
      const left = async (uid: string) =>
        (await kysely.selectFrom('access_requests').selectAll().where('root', '=', uid).execute()).length
      const { uid, domain } = await employer(cast())
      const [ada, bob] = [await person(cast(), `ada@${domain}`), await person(cast(), `bob@${domain}`)]
      for (const { api } of [ada, bob]) await ask(api, uid)
      assert.equal((await cast().admin.delete(`iam/identities/${ada.uid}`)).status, 200)
      assert.equal(await left(uid), 2)
      assert.equal((await cast().admin.delete(`iam/groups/${uid}`)).status, 200)
      assert.equal(await left(uid), 0)
    })
  },
  { env: { BERTH_BLOCKED_EMAIL_DOMAINS: `${BLOCKED}, Other.example` } },
)
