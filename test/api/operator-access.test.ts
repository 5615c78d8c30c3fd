import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capabilityByName, capabilitySetOf } from '@berth/contract/capabilities.ts'
import { OperatorSessionsService } from '@berth/contract/gen/berth/operator/v1/sessions_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { managedRole, onEveryDatabase } from '../support/api/api-fixture.ts'
import {
  assertFails,
  createOperator,
  makeOperator,
  newAccount,
  operatorApi,
} from '../support/api/operator.ts'
import { createPerson, createSession, voucherOf } from '../support/signin/accounts.ts'

/** Who can use the operator API: a role on the platform, and nothing else. */

const reads = [
  'accounts',
  'organizations',
  'sessions',
  'signingKeys',
  'storage',
  'storage/runs',
  'jobs',
  'mails',
  'nodes',
]

onEveryDatabase('access to the operator API', (cast) => {
  test('the administrator of the platform and operators read everything; owners and strangers nothing', async () => {
    const { berth } = cast()
    const operator = await createOperator(berth)
    const { owner } = await cast().organization()
    for (const path of reads) {
      assert.equal((await operatorApi(berth, berth.token).get(path)).status, 200, path)
      assert.equal((await operator.api.get(path)).status, 200, path)
      const denied = await operatorApi(berth, owner.api.token).get(path)
      assert.equal(denied.status, 403, path)
      assert.match(denied.body.message, /operator\.get/)
      const stranger = operatorApi(berth, await berth.tokenOf(await createPerson(berth)))
      assert.equal((await stranger.get(path)).status, 403, path)
    }
    const { sessions } = await cast().grpc.call(
      OperatorSessionsService.method.listSessions,
      { identityUid: operator.identity },
      { token: operator.api.token },
    )
    assert.deepEqual(
      sessions.map(({ id, current }) => [id, current]),
      [[operator.id, true]],
    )
  })

  test('the role operator gives nothing in organizations', async () => {
    const { berth } = cast()
    const organization = await cast().organization()
    const { identity } = await createOperator(berth)
    const token = await berth.tokenOf(identity)
    const api = await fetch(`${berth.url}/iam/v2beta1/groups/${organization.uid}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(api.status, 403)
  })

  test('groups, custom roles and invites cannot hold it, even if an administrator asks', async () => {
    const { admin } = cast()
    const { uid, owner } = await cast().organization()
    const roleUid = managedRole('operator')
    for (const api of [admin, owner.api]) {
      const identityUid = owner.uid
      const bound = await api.post(`iam/roleBindings/${uid}`, { identityUid, roleUid })
      assertFails(bound, 403, 7, /cannot be granted in a group/)
      const invited = await api.post(`iam/groupInvites/${uid}`, { roleUid, ttl: '3600s' })
      assertFails(invited, 403, 7, /cannot be granted in a group/)
      const custom = await api.post(`iam/roles/${uid}`, {
        name: 'x',
        capabilities: ['operator.get', 'internal'],
      })
      assert.equal(custom.status, 400, custom.text)
    }
  })

  test('a row that says otherwise does not count', async () => {
    const { berth } = cast()
    const { uid } = await cast().organization()
    const identity = await createPerson(berth)
    const { kysely } = berth.berth.installation.store.db
    const row = { root: uid, uid: `${uid}/0123456789abcdef`, parent: uid, identity_uid: identity }
    await kysely
      .insertInto('role_bindings')
      .values({
        ...row,
        role_uid: managedRole('operator'),
        automatic: 0,
        accepted_through: '',
        created_ms: 0,
        updated_ms: 0,
      })
      .execute()
    const organization = { root: identity, identity_uid: identity, organization: uid }
    await kysely.insertInto('identity_organizations').values(organization).execute()
    assert.equal((await operatorApi(berth, await berth.tokenOf(identity)).get('accounts')).status, 403)
    await kysely.deleteFrom('role_bindings').where('uid', '=', row.uid).where('root', '=', uid).execute()
  })

  test('narrowed tokens, and sessions through the provider of an organization, do not reach it', async () => {
    const { berth } = cast()
    const { identity } = await createOperator(berth)
    const { uid, owner } = await cast().organization()
    const capabilities = capabilitySetOf([capabilityByName('operator.get') ?? 0])
    for (const options of [{ capabilities }, { scopes: [uid] }, { scopes: [uid], capabilities }]) {
      const narrowed = operatorApi(berth, await berth.tokenOf(identity, options))
      assert.equal((await narrowed.get('accounts')).status, 403)
    }
    const { uid: provider } = await owner.api.create(`iam/identityProviders/${uid}`, {
      name: 'idp',
      defaultRole: managedRole('viewer'),
      oidc: { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'correct horse' },
    })
    const { id } = await createSession(
      berth,
      { identity, method: 'provider', voucher: voucherOf(provider) },
      { kind: 'browser' },
    )
    const through = operatorApi(berth, await berth.tokenOf(identity, { session: id }))
    assert.equal((await through.get('accounts')).status, 403)
  })

  test('dangerous changes need a sign-in in a browser in the last 15 minutes', async () => {
    const { berth } = cast()
    const operator = await createOperator(berth)
    const client = await operator.session('client')
    const { uid } = await cast().organization()
    const { account } = await newAccount(berth)
    const changes = [
      ['signingKeys:rotate', {}],
      [`organizations/${uid}:suspend`, {}],
      [`organizations/${uid}:activate`, {}],
      [`organizations/${uid}:setLimits`, { limits: [{ kind: 'repos', max: '3' }] }],
      [`accounts/${account.identity_uid}:suspend`, {}],
      [`accounts/${account.identity_uid}:activate`, {}],
      [`accounts/${account.identity_uid}:resetPassword`, {}],
      ['sessions:endAll', { identityUid: account.identity_uid }],
    ] as const
    for (const [path, body] of changes) {
      const denied = await client.api.post(path, body)
      assertFails(denied, 400, 9, /signed in to the console/)
      assert.match(denied.text, /RECENT_SIGN_IN_REQUIRED/)
      const done = await operator.api.post(path, body)
      assert.equal(done.status, 200, done.text)
    }
    berth.advance(limits.recentSignInMs + 1000)
    assertFails(await operator.api.post('signingKeys:rotate'), 400, 9, /15 minutes/)
    const shell = operatorApi(berth, await berth.tokenOf(operator.identity, { isFromServer: true }))
    assert.equal((await shell.post('signingKeys:rotate')).status, 200)
    // As after an exchange of an ID token, which can be old.
    const exchanged = operatorApi(berth, await berth.tokenOf(operator.identity))
    assert.equal((await exchanged.get('signingKeys')).status, 200)
    assertFails(await exchanged.post('signingKeys:rotate'), 400, 9, /15 minutes/)
  })

  test('an operator cannot take over the account of another operator; an administrator can', async () => {
    const { berth } = cast()
    const operator = await createOperator(berth)
    const { account } = await newAccount(berth)
    const uid = account.identity_uid
    await makeOperator(berth, uid)
    for (const verb of ['resetPassword', 'suspend', 'activate'])
      assertFails(await operator.api.post(`accounts/${uid}:${verb}`), 403, 7, /administrator of the platform/)
    assertFails(await operator.api.delete(`accounts/${uid}`), 403, 7, /administrator of the platform/)
    const admin = operatorApi(berth, berth.token)
    assert.equal((await admin.post(`accounts/${uid}:resetPassword`)).status, 200)
    const own = operatorApi(berth, await berth.tokenOf(uid, { isFromServer: true }))
    assertFails(await own.delete(`accounts/${uid}`), 400, 9, /your own account/)
  })
})

onEveryDatabase(
  'the operator API, disabled',
  (cast) => {
    test('says so, to operators only', async () => {
      const { berth } = cast()
      const off = await operatorApi(berth, berth.token).get('accounts')
      assertFails(off, 400, 9, /BERTH_OPERATOR_API/)
      const { owner } = await cast().organization()
      assert.equal((await operatorApi(berth, owner.api.token).get('accounts')).status, 403)
    })
  },
  { env: { BERTH_OPERATOR_API: 'false' } },
)
