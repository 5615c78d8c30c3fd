import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { bindRole, createGroup, createOrganization, createResource } from '../support/api/tenant.ts'
import { databases } from '../support/database/databases.ts'
import { cleanups, temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { createPerson } from '../support/signin/accounts.ts'
import { type ExchangeParameters, exchange, statusOf } from '../support/tokens/exchange.ts'
import { startIssuer, type TestIssuer } from '../support/tokens/issuer.ts'

/** ID tokens of people, exchanged by themselves: the token says who, where no identity is named. */

const CLIENT = 'berth-at-the-provider'

for (const database of databases) {
  describe(`exchange of people's ID tokens on ${database.name}`, () => {
    const suite = cleanups()
    let berth: TestBerth
    /** Of the operator, for all users. */
    let operator: TestIssuer
    /** Of one organization. */
    let company: TestIssuer

    before(async () => {
      operator = await startIssuer(suite)
      company = await startIssuer(suite)
      const file = join(temporaryDirectory(suite), 'providers.json')
      writeFileSync(file, JSON.stringify([{ name: 'sso', issuer: operator.name, clientId: CLIENT }]))
      berth = await startTestBerth(database, {
        env: { BERTH_SIGN_IN_PROVIDERS_FILE: file, BERTH_OPEN_ORGANIZATIONS: 'true' },
      })
    })
    after(async () => {
      await berth.stop()
      await suite.run()
    })

    const shown = (token: string, asked: ExchangeParameters = {}) =>
      exchange(berth.url, token, { aud: berth.url, ...asked })
    const personOf = async (issuer: TestIssuer) => {
      const subject = newName('ada')
      return { subject, uid: await createPerson(berth, { issuer: issuer.name, subject }) }
    }

    test('the ID token of a user who has signed in before assumes their identity', async () => {
      const { uid, subject } = await personOf(operator)
      await bindRole(berth, berth.organization, uid, 'viewer')
      for (const asked of [{}, { identity: uid }]) {
        const reply = await shown(await operator.sign({ sub: subject, aud: CLIENT }), asked)
        assert.equal(reply.status, 200, reply.text)
        const claims = decodeJwt(reply.body.token)
        assert.equal(claims.sub, uid)
        assert.deepEqual(claims['act'], { iss: operator.name, sub: subject, aud: CLIENT })
        const groups = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: reply.body.token })
        assert.equal(groups.body.groups.length, 1)
      }
    })

    test('R1, R10, R40: tokens of other users, or for other clients, are rejected', async () => {
      const { uid, subject } = await personOf(operator)
      const other = await personOf(operator)
      const stranger = await startIssuer(suite)
      const elsewhere = await createPerson(berth, { issuer: stranger.name, subject })
      const signed = (claims: object = {}) => operator.sign({ sub: subject, aud: CLIENT, ...claims })
      const asked = operator.requests.length
      const table: readonly [string, string, ExchangeParameters, string][] = [
        ['unknown subject', await signed({ sub: 'nobody' }), {}, '403/7'],
        ['no subject here', await signed({ sub: `${subject}x` }), { identity: uid }, '403/7'],
        ['for another client', await signed({ aud: 'another-app' }), {}, '403/7'],
        ['without an audience', await signed({ aud: undefined }), {}, '403/7'],
        ['for the API', await signed({ aud: berth.url }), {}, '403/7'],
        ['for two, without a party', await signed({ aud: [CLIENT, 'another-app'] }), {}, '403/7'],
        [
          'for two, of the other',
          await signed({ aud: [CLIENT, 'another-app'], azp: 'another-app' }),
          {},
          '403/7',
        ],
        ['for two, of ours', await signed({ aud: [CLIENT, 'another-app'], azp: CLIENT }), {}, 'ok'],
        ['another person', await signed(), { identity: other.uid }, '403/7'],
        ['the same subject elsewhere', await signed(), { identity: elsewhere }, '403/7'],
        ['expired', await signed({ exp: Math.floor(Date.now() / 1000) - 1 }), {}, '401/16'],
        [
          'unsigned by them',
          await stranger.sign({ iss: operator.name, sub: subject, aud: CLIENT }),
          {},
          '401/16',
        ],
        ['of another issuer', await stranger.sign({ sub: subject, aud: CLIENT }), {}, '403/7'],
        [
          'of another issuer, by name',
          await stranger.sign({ sub: subject, aud: CLIENT }),
          { identity: elsewhere },
          '403/7',
        ],
        [
          'through no provider',
          await signed(),
          { identity_provider: `${berth.organization}/${'0'.repeat(16)}` },
          '403/7',
        ],
        [
          'through a provider that is none',
          await signed(),
          { identity_provider: berth.organization },
          '403/7',
        ],
      ]
      const denials = new Set<string>()
      for (const [name, token, more, expected] of table) {
        const reply = await shown(token, more)
        assert.equal(statusOf(reply), expected, `${name}: ${reply.text}`)
        if (expected === '403/7') denials.add(reply.text)
      }
      assert.equal(denials.size, 1)
      assert.deepEqual(stranger.requests, [])
      assert.ok(operator.requests.length - asked <= 2)
    })

    /** An organization whose people sign in with the company's provider. */
    const organized = async (more: object = {}) => {
      const organization = await createOrganization(berth, newName('org'))
      const provider = await createResource(berth, `/iam/v2beta1/identityProviders/${organization}`, {
        name: 'company login',
        defaultRole: managedRole('viewer'),
        oidc: {
          issuer: company.name,
          clientId: CLIENT,
          clientSecret: 'correct horse',
          groupsClaim: 'teams',
          ...more,
        },
      })
      return { organization, provider: provider.uid as string }
    }

    test('R22: an ID token of an organization’s provider counts only in that organization, with the groups that it names', async () => {
      const { organization, provider } = await organized()
      const { uid, subject } = await personOf(company)
      const elsewhere = await createOrganization(berth, newName('org'))
      const below = await createGroup(berth, organization, 'below')
      await bindRole(berth, elsewhere, uid, 'owner')
      await bindRole(berth, below, uid, 'viewer')
      await createResource(berth, `/iam/v2beta1/externalGroupRoleMappings/${provider}`, {
        externalGroupId: 'admins',
        roleUid: managedRole('owner'),
        scope: organization,
      })
      const use = async (teams: unknown, more: ExchangeParameters = {}) => {
        const token = await company.sign({ sub: subject, aud: CLIENT, teams })
        const reply = await shown(token, { identity_provider: provider, ...more })
        assert.equal(reply.status, 200, reply.text)
        assert.equal(decodeJwt(reply.body.token).sub, uid)
        const statusAt = async (group: string) =>
          (await call('GET', `${berth.url}/iam/v2beta1/groups/${group}`, { token: reply.body.token })).status
        return Promise.all([organization, below, elsewhere].map(statusAt))
      }
      assert.deepEqual(await use(['admins', 'others']), [200, 200, 403])
      assert.deepEqual(await use('admins'), [200, 200, 403])
      assert.deepEqual(await use(['others']), [403, 200, 403])
      assert.deepEqual(await use(undefined, { identity: uid }), [403, 200, 403])
      assert.deepEqual(await use(['admins'], { scopes: [below, elsewhere] }), [403, 200, 403])
      assert.deepEqual(await use(['admins'], { scopes: [elsewhere] }), [403, 403, 403])
      const odd = await company.sign({ sub: subject, aud: CLIENT, teams: [{ name: 'admins' }] })
      assert.equal(statusOf(await shown(odd, { identity_provider: provider })), '401/16')
    })

    test('such a token neither deletes the account nor creates an organization, and an invite that it accepts records its provider', async () => {
      const { organization, provider } = await organized()
      const { uid, subject } = await personOf(company)
      const elsewhere = await createOrganization(berth, newName('org'))
      await bindRole(berth, organization, uid, 'owner')
      const invite = await createResource(berth, `/iam/v2beta1/groupInvites/${elsewhere}`, {
        roleUid: managedRole('viewer'),
        ttl: '3600s',
      })
      const idToken = await company.sign({ sub: subject, aud: CLIENT })
      const { token } = (await shown(idToken, { identity_provider: provider })).body
      const again = (await shown(token, { identity: uid })).body.token
      for (const bounded of [token, again]) {
        for (const [method, path, body] of [
          ['DELETE', `/auth/v1/delete/${uid}`, undefined],
          ['POST', '/iam/v2beta1/groups', { name: newName('org') }],
        ] as const) {
          const reply = await call(method, `${berth.url}${path}`, { token: bounded, ...(body && { body }) })
          assert.equal(reply.status, 403, `${path}: ${reply.text}`)
        }
      }
      const accept = `${berth.url}/iam/v2beta1/groupInvites:accept`
      const joined = await call('POST', accept, { token: again, body: { code: invite.code } })
      assert.equal(joined.body.roleBinding.acceptedThrough.uid, provider, joined.text)
    })

    test('R12: deleting the provider ends its sessions and tokens, and rejects new ones', async () => {
      const { organization, provider } = await organized()
      const { uid, subject } = await personOf(company)
      await bindRole(berth, organization, uid, 'viewer')
      const token = await company.sign({ sub: subject, aud: CLIENT })
      const reply = await shown(token, { identity_provider: provider })
      const status = async () =>
        (await call('GET', `${berth.url}/iam/v2beta1/groups/${organization}`, { token: reply.body.token }))
          .status
      assert.equal(await status(), 200)
      const gone = await call('DELETE', `${berth.url}/iam/v2beta1/identityProviders/${provider}`, {
        token: berth.token,
      })
      assert.equal(gone.status, 200)
      assert.equal(await status(), 401)
      assert.equal(statusOf(await shown(token, { identity_provider: provider })), '403/7')
    })

    test('R40: a provider vouches only for its own users', async () => {
      const { provider } = await organized()
      const other = await organized({ clientId: 'another-app' })
      const { uid, subject } = await personOf(company)
      const everyone = await personOf(operator)
      const token = await company.sign({ sub: subject, aud: CLIENT })
      for (const [name, shownToken, asked, expected] of [
        ['its own', token, { identity_provider: provider }, 'ok'],
        ['no provider named', token, {}, '403/7'],
        ['no provider named, by identity', token, { identity: uid }, '403/7'],
        ['a provider with another client', token, { identity_provider: other.provider }, '403/7'],
        [
          'another issuer',
          await operator.sign({ sub: everyone.subject, aud: CLIENT }),
          { identity_provider: provider },
          '403/7',
        ],
        ['another person', token, { identity_provider: provider, identity: everyone.uid }, '403/7'],
        ['a token of ours', await berth.tokenOf(uid), { identity_provider: provider }, '403/7'],
        ['a workload identity', token, { identity_provider: provider, identity: berth.owner }, '403/7'],
        [
          'an unknown user',
          await company.sign({ sub: 'nobody', aud: CLIENT }),
          { identity_provider: provider },
          '403/7',
        ],
      ] as const) {
        assert.equal(statusOf(await shown(shownToken, asked)), expected, name)
      }
    })
  })
}
