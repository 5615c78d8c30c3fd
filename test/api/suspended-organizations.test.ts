import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService, OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { SetupError } from '@berth/server/config/setup-errors.ts'
import { organizationSettings, type StatusName } from '@berth/server/operator/organization-settings.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { insertResource } from '@berth/server/storage/resource-rows.ts'
import {
  apiOf,
  assertError,
  managedRole,
  newName,
  type Organization,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'

onEveryDatabase('a suspended organization', (cast) => {
  const put = ({ uid }: Pick<Organization, 'uid'>, status: StatusName) =>
    organizationSettings(cast().berth.berth.installation, uid, { status, limits: new Map() })

  test('R12: grants its members nothing from their next request on, until it is reactivated', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const member = await organization.member('viewer', team.uid)
    const narrowed = apiOf(cast().berth, await cast().berth.tokenOf(owner.uid, { scopes: [team.uid] }))
    const seen = async () => [
      (await owner.api.get(`iam/groups/${root}`)).status,
      (await member.api.get(`iam/groups/${team.uid}`)).status,
      (await narrowed.get(`iam/groups/${team.uid}`)).status,
      (await owner.api.get('iam/groups')).body.totalCount,
      (await owner.api.post(`iam/groups/${root}`, { name: newName('new') })).status,
    ]
    assert.deepEqual(await seen(), [200, 200, 200, '2', 200])
    await put(organization, 'suspended')
    assert.deepEqual(await seen(), [403, 403, 403, '0', 403])
    assertError(await owner.api.get(`iam/groups/${root}`), permissionDeniedError)
    const { getGroup } = GroupsService.method
    await assert.rejects(cast().grpc.call(getGroup, { uid: root }, { token: owner.api.token }), { code: 7 })
    await put(organization, 'ready')
    assert.deepEqual(await seen(), [200, 200, 200, '3', 200])
  })

  test('accepts no new members: its invites look as if they did not exist, until it is reactivated', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const invite = await owner.api.create(`iam/groupInvites/${root}`, {
      roleUid: managedRole('viewer'),
      ttl: '600s',
    })
    const newcomer = (await cast().organization()).owner
    const robot = await organization.member('viewer')
    await put(organization, 'suspended')
    for (const { api } of [newcomer, robot])
      assertError(await api.post('iam/groupInvites:accept', { code: invite.code }), {
        status: 404,
        code: 5,
        resource: ['iam.chainguard.dev/GroupInvite', '*'],
      })
    await put(organization, 'ready')
  })

  test('is open to the administrators of the platform, and all its groups show its status', async () => {
    const organization = await cast().organization()
    const { admin } = cast()
    const { uid: root } = organization
    const team = await organization.owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const inner = await organization.owner.api.create(`iam/groups/${team.uid}`, { name: 'inner' })
    await put(organization, 'suspended')
    for (const { uid } of [organization, team, inner]) {
      const { body } = await admin.get(`iam/groups/${uid}`)
      assert.equal(body.status, 'ORG_STATUS_SUSPENDED')
    }
    const later = await admin.create(`iam/groups/${inner.uid}`, { name: 'later' })
    assert.equal(later.status, 'ORG_STATUS_SUSPENDED')
    assert.ok((await admin.get(`iam/groups/${inner.uid}`)).body.updateTime > inner.updateTime)
    // Still output only in the API.
    const { body } = await admin.patch(`iam/groups/${root}`, { status: 'ORG_STATUS_READY' }, 'status')
    assert.equal(body.status, 'ORG_STATUS_SUSPENDED')
    await put(organization, 'ready')
    assert.equal((await admin.get(`iam/groups/${later.uid}`)).body.status, 'ORG_STATUS_READY')
  })

  test('does not affect what its members hold elsewhere', async () => {
    const [closed, open] = [await cast().organization(), await cast().organization()]
    const { admin, berth } = cast()
    const { store } = berth.berth.installation
    const person = store.uids.root()
    const now = store.clock()
    await inTransaction(store.db, (tx) =>
      insertResource(store.db, tx, 'identities', {
        root: person,
        uid: person,
        parent: '',
        name: 'ada',
        description: '',
        email: '',
        email_unverified: '',
        company: '',
        relationship: 0,
        relationship_data: new Uint8Array(0),
        issuer: '',
        subject: '',
        registered_through: '',
        keys_expire_ms: 0,
        last_seen_ms: now,
        created_ms: now,
        updated_ms: now,
      }),
    )
    for (const { uid } of [closed, open])
      await admin.create(`iam/roleBindings/${uid}`, { identityUid: person, roleUid: managedRole('viewer') })
    const api = apiOf(berth, await berth.tokenOf(person))
    await put(closed, 'suspended')
    const { body } = await api.get('iam/groups')
    assert.deepEqual(
      body.groups.map(({ uid }: { uid: string }) => uid),
      [open.uid],
    )
  })

  test('is recorded as done by the system, once for each change', async () => {
    const organization = await cast().organization()
    await put(organization, 'suspended')
    await put(organization, 'ready')
    const events = (await cast().auditEventsOf(organization.uid)).filter(({ actor }) => actor === 'system')
    assert.deepEqual(
      events.map(({ method }) => method),
      ['berth admin organization', 'berth admin organization'],
    )
  })

  test('a group that is created meanwhile is suspended with the rest', async () => {
    const organization = await cast().organization()
    const { admin } = cast()
    const { uid: root } = organization
    for (const status of ['suspended', 'ready', 'suspended'] as const) {
      await Promise.all([
        put(organization, status),
        ...Array.from({ length: 10 }, () => admin.create(`iam/groups/${root}`, { name: newName('new') })),
      ])
      const { kysely } = cast().berth.berth.installation.store.db
      const rows = await kysely.selectFrom('groups').select('status').where('root', '=', root).execute()
      const wanted = status === 'ready' ? OrgStatus.READY : OrgStatus.SUSPENDED
      assert.deepEqual([...new Set(rows.map((row) => row.status))], [wanted])
    }
  })

  test('is found by name, and other groups are not', async () => {
    const { owner, uid, name } = await cast().organization()
    const { installation } = cast().berth.berth
    const show = (text: string) => organizationSettings(installation, text, { limits: new Map() })
    const { usage, ...shown } = await show(name)
    assert.deepEqual(shown, { uid, name, status: 'ready', resourceLimits: {} })
    assert.deepEqual([usage.identities, usage.groups, usage.repos], [1, 0, 0])
    assert.deepEqual(await show(uid), await show(name))
    const team = await owner.api.create(`iam/groups/${uid}`, { name: 'team' })
    for (const text of ['team', team.uid, 'f'.repeat(40), ''])
      await assert.rejects(show(text), (error) => error instanceof SetupError, text)
    await cast().writesNothing(() => show(name))
  })
})
