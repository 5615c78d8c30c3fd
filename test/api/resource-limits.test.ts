import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import type { ResourceKind } from '@berth/server/api/resource-limits.ts'
import { applyGeneralLimits, organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { insertResource } from '@berth/server/storage/resource-rows.ts'
import { type ResourceTable, resourceTables } from '@berth/server/storage/schema/tables.ts'
import {
  alreadyExistsError,
  assertError,
  claimMatch,
  managedRole,
  newName,
  type Organization,
  onEveryDatabase,
  quotaExceededError,
} from '../support/api/api-fixture.ts'
import { rowOf } from '../support/database/hierarchy.ts'

const viewer = managedRole('viewer')
const identity = () => ({ name: newName('robot'), claimMatch })

onEveryDatabase('resource limits', (cast) => {
  const limit = (
    { uid }: Pick<Organization, 'uid'>,
    limits: Partial<Record<ResourceKind, number | undefined>>,
  ) =>
    organizationSettings(cast().berth.berth.installation, uid, {
      limits: new Map(Object.entries(limits) as [ResourceKind, number | undefined][]),
    })

  test('an organization can have as many resources as its limit, in any of its groups, and one more fails with code 8', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const { api } = owner
    const team = await api.create(`iam/groups/${root}`, { name: 'team' })
    const kinds: readonly [kind: ResourceKind, collection: string, body: () => Promise<object> | object][] = [
      ['identities', 'iam/identities', identity],
      ['roles', 'iam/roles', () => ({ name: newName('role'), capabilities: ['CAP_REPO_LIST'] })],
      [
        'role_bindings',
        'iam/roleBindings',
        async () => ({
          identityUid: (await api.create(`iam/identities/${root}`, identity())).uid,
          roleUid: viewer,
        }),
      ],
      ['repos', 'registry/repos', () => ({ name: newName('repo') })],
      ['groups', 'iam/groups', () => ({ name: newName('group') })],
    ]
    for (const [kind, collection, body] of kinds) {
      const listed = (await api.get(collection, { 'uidp.descendants_of': root })).body
      const n = Number(listed.totalCount) + 2
      await limit(organization, { [kind]: n })
      const made = [
        await api.create(`${collection}/${root}`, await body()),
        await api.create(`${collection}/${team.uid}`, await body()),
      ]
      for (const where of [root, team.uid]) {
        const more = await body()
        const refused = await cast().writesNothing(() => api.post(`${collection}/${where}`, more))
        assertError(refused, quotaExceededError(root))
        assert.match(refused.body.message, new RegExp(`^Resource exhausted: .* may hold ${n} `))
      }
      // What goes makes room; a limit below what is there keeps it.
      await api.delete(`${collection}/${made[1].uid}`)
      await api.create(`${collection}/${team.uid}`, await body())
      await limit(organization, { [kind]: 0 })
      assert.equal((await api.get(`${collection}/${made[0].uid}`)).status, 200)
      assertError(await api.post(`${collection}/${root}`, await body()), quotaExceededError(root))
      await limit(organization, { [kind]: undefined })
      await api.create(`${collection}/${root}`, await body())
    }
  })

  test('other errors are reported first, and other organizations are not affected', async () => {
    const [organization, other] = [await cast().organization(), await cast().organization()]
    const { owner, uid: root } = organization
    const { uid } = await owner.api.create(`registry/repos/${root}`, { name: 'nginx' })
    await limit(organization, { repos: 1, identities: 0 })
    assertError(
      await owner.api.post(`registry/repos/${root}`, { name: 'nginx' }),
      alreadyExistsError('registry.chainguard.dev/Repo', uid),
    )
    assert.equal((await owner.api.post(`registry/repos/${root}`, { name: '' })).body.code, 3)
    assert.equal((await other.owner.api.post(`registry/repos/${root}`, { name: 'x' })).body.code, 7)
    await other.owner.api.create(`registry/repos/${other.uid}`, { name: 'nginx' })
    await other.owner.api.create(`iam/identities/${other.uid}`, identity())
  })

  test('a batch beyond the limit creates nothing', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const robots: { uid: string }[] = []
    for (let at = 0; at < 3; at++) robots.push(await owner.api.create(`iam/identities/${root}`, identity()))
    const { totalCount } = (await owner.api.get('iam/roleBindings', { group: root })).body
    await limit(organization, { role_bindings: Number(totalCount) + 2 })
    const batch = (entries: typeof robots) =>
      owner.api.post('iam/roleBindings:batchCreate', {
        parent: root,
        roleUid: viewer,
        requests: entries.map(({ uid }) => ({ roleBinding: { identityUid: uid } })),
      })
    assertError(await cast().writesNothing(() => batch(robots)), quotaExceededError(root))
    assert.equal((await batch(robots.slice(1))).status, 200)
  })

  test('of many concurrent creates exactly as many succeed as the limit allows', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const groups = [
      root,
      ...(await Promise.all(
        ['a', 'b', 'c'].map(async (name) => (await owner.api.create(`iam/groups/${root}`, { name })).uid),
      )),
    ]
    // Once from the first of its kind on, and once more from there.
    for (const n of [5, 8]) {
      await limit(organization, { repos: n })
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          owner.api.post(`registry/repos/${groups[at % groups.length]}`, { name: newName('repo') }),
        ),
      )
      const { totalCount } = (await owner.api.get('registry/repos', { 'uidp.descendants_of': root })).body
      assert.equal(totalCount, String(n))
      assert.equal(replies.filter(({ status }) => status === 200).length, n === 5 ? 5 : 3)
      for (const reply of replies.filter(({ status }) => status !== 200))
        assertError(reply, quotaExceededError(root))
    }
  })

  test('an organization shows its limits, a group in it none; over gRPC too', async () => {
    const organization = await cast().organization()
    const { owner, uid: root } = organization
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const before = (await owner.api.get(`iam/groups/${root}`)).body
    assert.deepEqual([before.resourceLimits, team.resourceLimits], [{}, {}])
    await limit(organization, { groups: 3, idps: 1 })
    const { body } = await owner.api.get(`iam/groups/${root}`)
    assert.deepEqual(body.resourceLimits, { groups: 3, idps: 1 })
    assert.ok(body.updateTime > before.updateTime, 'another version')
    const listed = (await owner.api.get('iam/groups')).body.groups
    assert.deepEqual(
      listed.map(({ resourceLimits }: { resourceLimits: object }) => resourceLimits),
      [{ groups: 3, idps: 1 }, {}],
    )
    const updated = await owner.api.patch(`iam/groups/${root}`, { description: 'd' })
    assert.deepEqual(updated.body.resourceLimits, { groups: 3, idps: 1 })
    const { getGroup } = GroupsService.method
    const group = await cast().grpc.call(getGroup, { uid: root }, { token: owner.api.token })
    assert.deepEqual(group.resourceLimits, { groups: 3, idps: 1 })
    const [event] = (await cast().auditEventsOf(root)).filter(({ actor }) => actor === 'system')
    assert.equal(event?.method, 'berth admin organization')
    await limit(organization, { groups: undefined, idps: undefined })
    assert.deepEqual((await owner.api.get(`iam/groups/${root}`)).body.resourceLimits, {})
  })

  test('every kind can be limited', async () => {
    const { store } = cast().berth.berth.installation
    const kindOf: Partial<Record<ResourceTable, ResourceKind>> = { identity_providers: 'idps' }
    for (const collection of resourceTables) {
      const organization = await cast().organization()
      const { uid } = await organization.owner.api.create(`iam/groups/${organization.uid}`, { name: 'team' })
      const row = rowOf(
        collection,
        collection === 'account_associations' ? uid : `${uid}/${'0'.repeat(16)}`,
        {
          name: 'x',
        },
      )
      await limit(organization, { [kindOf[collection] ?? (collection as ResourceKind)]: 0 })
      await assert.rejects(
        inTransaction(store.db, (tx) => insertResource(store.db, tx, collection, row as never)),
        { code: 8 },
        collection,
      )
    }
  })

  test('limits are deleted with their organization', async () => {
    const { admin } = cast()
    const { uid } = await admin.create('iam/groups', { name: newName('gone') })
    await limit({ uid }, { groups: 3 })
    assert.equal((await admin.delete(`iam/groups/${uid}`)).status, 200)
    const { kysely } = cast().berth.berth.installation.store.db
    assert.deepEqual(
      await kysely.selectFrom('resource_limits').selectAll().where('root', '=', uid).execute(),
      [],
    )
  })
})

onEveryDatabase(
  'resource limits of the installation',
  (cast) => {
    test('apply to organizations without limits of their own, and never block the creation of one', async () => {
      const { admin, berth } = cast()
      const { uid } = await admin.create('iam/groups', { name: newName('small') })
      assert.deepEqual((await admin.get(`iam/groups/${uid}`)).body.resourceLimits, {
        groups: 1,
        role_bindings: 0,
        identities: 1,
      })
      assert.equal((await admin.get('iam/roleBindings', { group: uid })).body.totalCount, '1')
      await admin.create(`iam/groups/${uid}`, { name: 'one' })
      assertError(await admin.post(`iam/groups/${uid}`, { name: 'two' }), quotaExceededError(uid))
      const robot = await admin.create(`iam/identities/${uid}`, identity())
      assertError(await admin.post(`iam/identities/${uid}`, identity()), quotaExceededError(uid))
      const binding = { identityUid: robot.uid, roleUid: viewer }
      assertError(await admin.post(`iam/roleBindings/${uid}`, binding), quotaExceededError(uid))
      const { installation } = berth.berth
      const settings = await organizationSettings(installation, uid, {
        limits: new Map<ResourceKind, number>([
          ['role_bindings', 2],
          ['repos', 7],
        ]),
      })
      assert.deepEqual(settings.resourceLimits, { groups: 1, role_bindings: 2, identities: 1, repos: 7 })
      await admin.create(`iam/roleBindings/${uid}`, binding)
      // The next start may say otherwise.
      await applyGeneralLimits(installation, { identities: 2 })
      assert.deepEqual((await admin.get(`iam/groups/${uid}`)).body.resourceLimits, {
        role_bindings: 2,
        identities: 2,
        repos: 7,
      })
      await admin.create(`iam/groups/${uid}`, { name: 'two' })
    })
  },
  { env: { BERTH_RESOURCE_LIMITS: 'groups=1, identities=1,role_bindings=0' } },
)

onEveryDatabase(
  'resource limits over several buckets of counters',
  (cast) => {
    test('apply to concurrent creates', async () => {
      const { owner, uid } = await cast().organization()
      await organizationSettings(cast().berth.berth.installation, uid, { limits: new Map([['repos', 40]]) })
      const replies = await Promise.all(
        Array.from({ length: 60 }, () => owner.api.post(`registry/repos/${uid}`, { name: newName('repo') })),
      )
      assert.deepEqual(
        [200, 429].map((wanted) => replies.filter(({ status }) => status === wanted).length),
        [40, 20],
      )
    })
  },
  { sizes: { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 } },
)
