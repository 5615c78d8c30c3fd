import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { sessionBySecret } from '@berth/server/tokens/sessions/sessions.ts'
import { apiOf, managedRole, newName, onEveryDatabase } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { startTestBerth } from './support/server/test-berth.ts'
import {
  createAccount,
  createPerson,
  createSession,
  endSession,
  voucherOf,
} from './support/signin/accounts.ts'

/** Access tokens that came of a session: they end with it, and have the roles of its groups. */

const oidc = { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'correct horse' }

onEveryDatabase('the access token of a session', (cast) => {
  /** A user with a role in an organization, and the API as they see it through a session. */
  const signedIn = async (role = 'viewer') => {
    const organization = await cast().organization()
    const identity = await createPerson(cast().berth)
    const binding = await cast().admin.create(`iam/roleBindings/${organization.uid}`, {
      identityUid: identity,
      roleUid: managedRole(role),
    })
    const session = await createSession(cast().berth, { identity })
    const api = apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: session.id }))
    const group = `iam/groups/${organization.uid}`
    return { organization, identity, binding, session, api, group }
  }
  /** A user of an organization's identity provider who has access through groups only. */
  const fromProvider = async (groups: readonly string[]) => {
    const organization = await cast().organization()
    const { api: owner } = organization.owner
    const provider = await owner.create(`iam/identityProviders/${organization.uid}`, {
      name: 'login',
      defaultRole: managedRole('viewer'),
      oidc,
    })
    const map = (externalGroupId: string, role: string) =>
      owner.create(`iam/externalGroupRoleMappings/${provider.uid}`, {
        externalGroupId,
        roleUid: managedRole(role),
        scope: organization.uid,
      })
    const identity = await createPerson(cast().berth)
    const session = await createSession(cast().berth, { identity, voucher: voucherOf(provider.uid), groups })
    const api = apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: session.id }))
    const group = `iam/groups/${organization.uid}`
    return { organization, owner, provider: provider.uid as string, map, identity, session, api, group }
  }
  const assertEnded = async (api: ReturnType<typeof apiOf>, path: string) => {
    const reply = await api.get(path)
    assert.deepEqual([reply.status, reply.body.code], [401, 16], reply.text)
    assert.match(reply.body.message, /session .* has ended/)
    const { getGroup } = GroupsService.method
    const uid = path.replace('iam/groups/', '')
    await assert.rejects(cast().grpc.call(getGroup, { uid }, { token: api.token }), { code: 16 })
  }

  test('R12: ends with its session, by REST and gRPC, while others of the same person go on', async () => {
    const { identity, session, api, group } = await signedIn()
    const other = await createSession(cast().berth, { identity })
    const second = apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: other.id }))
    const without = apiOf(cast().berth, await cast().berth.tokenOf(identity))
    for (const each of [api, second, without]) assert.equal((await each.get(group)).status, 200)
    await endSession(cast().berth, session.id)
    await assertEnded(api, group)
    for (const each of [second, without]) assert.equal((await each.get(group)).status, 200)
    assert.equal(
      (await call('GET', `${cast().berth.url}/audit/v1/events:export`, { token: api.token })).status,
      401,
    )
  })

  test('R16: ends when its session expires, whatever has been cleared away', async () => {
    const { identity, group } = await signedIn()
    const session = await createSession(cast().berth, { identity }, { lifetimeMs: 60_000 })
    const api = apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: session.id }))
    assert.equal((await api.get(group)).status, 200)
    cast().berth.advance(61_000)
    await assertEnded(api, group)
  })

  test('a session that never was opens nothing', async () => {
    const { identity, group } = await signedIn()
    const token = await cast().berth.tokenOf(identity, { session: 'f'.repeat(32) })
    await assertEnded(apiOf(cast().berth, token), group)
  })

  test('R12: a disabled account ends the API use of its sessions, also of one that begins in that moment', async () => {
    const { identity, api, group } = await signedIn()
    const account = await createAccount(cast().berth, identity)
    assert.equal((await api.get(group)).status, 200)
    const { kysely } = cast().berth.berth.installation.store.db
    await kysely.updateTable('accounts').set({ disabled: 1 }).where('id', '=', account).execute()
    await assertEnded(api, group)
    const late = await createSession(cast().berth, { identity })
    await assertEnded(apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: late.id })), group)
    const { store } = cast().berth.berth.installation
    const browser = await createSession(cast().berth, { identity }, { kind: 'browser' })
    assert.equal(await sessionBySecret(store, 'browser', browser.secret), undefined)
  })

  test('a deleted role binding is gone for it too', async () => {
    const { binding, api, group } = await signedIn()
    assert.equal((await api.get(group)).status, 200)
    await cast().admin.delete(`iam/roleBindings/${binding.uid}`)
    assert.equal((await api.get(group)).status, 403)
  })

  test('R12: deleting the identity ends its sessions and deletes its account and passkeys', async () => {
    const { identity, binding, api, group } = await signedIn()
    const account = await createAccount(cast().berth, identity)
    assert.equal((await api.get(group)).status, 200)
    await cast().admin.delete(`iam/roleBindings/${binding.uid}`)
    const reply = await cast().admin.delete(`iam/identities/${identity}`)
    assert.equal(reply.status, 200, reply.text)
    await assertEnded(api, group)
    const { kysely } = cast().berth.berth.installation.store.db
    const left = [
      ...(await kysely.selectFrom('sessions').select('id').where('identity_uid', '=', identity).execute()),
      ...(await kysely.selectFrom('accounts').select('id').where('id', '=', account).execute()),
      ...(await kysely.selectFrom('passkeys').select('id').where('account_id', '=', account).execute()),
    ]
    assert.deepEqual(left, [])
  })

  test('R12: deleting the identity provider ends the sessions that came through it, and their groups', async () => {
    const { owner, provider, session, identity, api, group } = await fromProvider(['devs'])
    assert.equal((await api.get(group)).status, 403)
    assert.equal((await owner.delete(`iam/identityProviders/${provider}`)).status, 200)
    await assertEnded(api, group)
    const { kysely } = cast().berth.berth.installation.store.db
    for (const [table, column] of [
      ['sessions', 'id'],
      ['session_groups', 'session_id'],
    ] as const)
      assert.deepEqual(
        await kysely
          .selectFrom(table as 'session_groups')
          .select(column as 'session_id')
          .where(column as 'session_id', '=', session.id)
          .execute(),
        [],
      )
    // A sign-in that was under way in that moment.
    const late = await createSession(cast().berth, { identity, voucher: voucherOf(provider) })
    await assertEnded(apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: late.id })), group)
  })

  test('has the roles that are mapped to the groups of its session, from the next request on', async () => {
    const { api, group, map, owner, provider } = await fromProvider(['devs', 'ops'])
    assert.equal((await api.get(group)).status, 403)
    const mapping = await map('devs', 'viewer')
    assert.equal((await api.get(group)).status, 200)
    assert.equal((await api.patch(group, { description: 'x' })).status, 403)
    await map('others', 'owner')
    assert.equal((await api.patch(group, { description: 'x' })).status, 403)
    await map('ops', 'owner')
    assert.equal((await api.patch(group, { description: 'x' })).status, 200)
    await owner.delete(`iam/externalGroupRoleMappings/${mapping.uid}`)
    assert.equal((await api.get(group)).status, 200)
    const names = (await owner.get('iam/externalGroupRoleMappings', { identity_provider_uid: provider })).body
      .externalGroupRoleMappings
    for (const { uid } of names) await owner.delete(`iam/externalGroupRoleMappings/${uid}`)
    assert.equal((await api.get(group)).status, 403)
  })

  test('R22: groups are those of the latest sign-in, not those of an earlier one', async () => {
    const { identity, provider, api, group, map } = await fromProvider(['devs'])
    await map('devs', 'viewer')
    assert.equal((await api.get(group)).status, 200)
    const next = await createSession(cast().berth, {
      identity,
      voucher: voucherOf(provider),
      groups: ['guests'],
    })
    const now = apiOf(cast().berth, await cast().berth.tokenOf(identity, { session: next.id }))
    assert.equal((await now.get(group)).status, 403)
  })

  test('groups give nothing beyond the provider that named them, the person and the narrowing of the token', async () => {
    const here = await fromProvider(['devs'])
    const there = await fromProvider(['devs'])
    await here.map('devs', 'viewer')
    assert.equal((await here.api.get(here.group)).status, 200)
    assert.equal((await there.api.get(here.group)).status, 403)
    const { berth } = cast()
    const tokens = {
      'of the same person without the session': await berth.tokenOf(here.identity),
      'of another user with the session': await berth.tokenOf(there.identity, { session: here.session.id }),
      'narrowed to another group': await berth.tokenOf(here.identity, {
        session: here.session.id,
        scopes: [there.organization.uid],
      }),
      'narrowed to no capability': await berth.tokenOf(here.identity, {
        session: here.session.id,
        capabilities: 0n,
      }),
    }
    for (const [which, token] of Object.entries(tokens))
      assert.equal((await apiOf(berth, token).get(here.group)).status, 403, which)
  })

  test('groups give nothing in an organization that is suspended', async () => {
    const { api, group, map, organization } = await fromProvider(['devs'])
    await map('devs', 'viewer')
    assert.equal((await api.get(group)).status, 200)
    const { installation } = cast().berth.berth
    await organizationSettings(installation, organization.uid, { status: 'suspended', limits: new Map() })
    assert.equal((await api.get(group)).status, 403)
    await organizationSettings(installation, organization.uid, { status: 'ready', limits: new Map() })
    assert.equal((await api.get(group)).status, 200)
  })

  test('R19: a user who has a role through a group can grant no more than that role', async () => {
    const { api, map, organization } = await fromProvider(['admins'])
    const role = await organization.owner.api.create(`iam/roles/${organization.uid}`, {
      name: newName('binder'),
      capabilities: ['CAP_IAM_ROLE_BINDINGS_CREATE', 'CAP_IAM_GROUPS_LIST'],
    })
    await organization.owner.api.create(
      `iam/externalGroupRoleMappings/${(await map('x', 'viewer')).identityProviderUid}`,
      { externalGroupId: 'admins', roleUid: role.uid, scope: organization.uid },
    )
    const to = (roleUid: string) =>
      api.post(`iam/roleBindings/${organization.uid}`, { identityUid: organization.owner.uid, roleUid })
    assert.equal((await to(managedRole('editor'))).status, 403)
    assert.equal((await to(role.uid)).status, 200)
  })
})

test('a session costs no statement more than a token without one', async (t) => {
  let statements = 0
  const berth = await startTestBerth(
    { name: 'sqlite', open: undefined },
    {
      meter: {
        statement: () => {
          statements++
        },
      },
      // Nothing else asks meanwhile.
      keysIntervalMs: 60_000,
    },
  )
  t.after(() => berth.stop())
  const identity = await createPerson(berth)
  const admin = apiOf(berth, berth.token)
  const { uid } = await admin.create('iam/groups', { name: newName('org') })
  await admin.create(`iam/roleBindings/${uid}`, { identityUid: identity, roleUid: managedRole('viewer') })
  const { id } = await createSession(berth, { identity })
  const costOf = async (token: string) => {
    await apiOf(berth, token).get(`iam/groups/${uid}`)
    // What was remembered of the caller is not any more.
    await createPerson(berth)
    const before = statements
    assert.equal((await apiOf(berth, token).get(`iam/groups/${uid}`)).status, 200)
    const cold = statements
    await apiOf(berth, token).get(`iam/groups/${uid}`)
    return [cold - before, statements - cold]
  }
  const without = await costOf(await berth.tokenOf(identity))
  assert.deepEqual(await costOf(await berth.tokenOf(identity, { session: id })), without)
  assert.ok((without[1] ?? 0) < (without[0] ?? 0), 'what a caller may do is remembered')
})
