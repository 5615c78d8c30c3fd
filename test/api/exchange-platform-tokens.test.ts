import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { capabilityByName, capabilitySetOf } from '@berth/contract/capabilities.ts'
import { limits } from '@berth/server/config/limits.ts'
import { accountTokens } from '@berth/server/tokens/cloud-account-token.ts'
import { issueIdToken } from '@berth/server/tokens/id-token.ts'
import { decodeJwt } from 'jose'
import { newName } from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { bindRole, createGroup, createIdentity } from '../support/api/tenant.ts'
import { databases } from '../support/database/databases.ts'
import { cleanups } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { createPerson, createSession, endSession } from '../support/signin/accounts.ts'
import { type ExchangeParameters, exchange, statusOf } from '../support/tokens/exchange.ts'
import { newSigner, signJws, startIssuer } from '../support/tokens/issuer.ts'

/** Tokens of the server itself, shown for further ones: whatever comes of them is no wider and lives no longer. */

const REGISTRY = 'registry.test'
const capabilities = (...names: string[]) =>
  capabilitySetOf(names.flatMap((name) => capabilityByName(name) ?? []))

for (const database of databases) {
  describe(`exchange of platform tokens on ${database.name}`, () => {
    const suite = cleanups()
    let berth: TestBerth
    let organization: string
    let one: string
    let two: string
    let below: string
    /** Holds viewer in the organization. */
    let identity: string
    /** Can be assumed with any token of the server. */
    let shared: string

    before(async () => {
      berth = await startTestBerth(database, { env: { BERTH_REGISTRY_HOST: REGISTRY } })
      organization = berth.organization
      one = await createGroup(berth, organization, 'one')
      two = await createGroup(berth, organization, 'two')
      below = await createGroup(berth, one, 'below')
      identity = await createIdentity(berth, organization)
      shared = await createIdentity(berth, organization, {
        claimMatch: { issuer: berth.url, subjectPattern: '[0-9a-f/]+' },
      })
      for (const uid of [identity, shared]) await bindRole(berth, organization, uid, 'viewer')
    })
    after(async () => {
      await berth.stop()
      await suite.run()
    })

    const shown = (token: string, asked: ExchangeParameters = {}) =>
      exchange(berth.url, token, { aud: berth.url, identity, ...asked })
    const statusAt = async (path: string, token: string) =>
      (await call('GET', `${berth.url}/iam/v2beta1/${path}`, { token })).status
    const ownClaimOf = ({ body }: RestReply) => decodeJwt(body.token)['berth']

    test('a token gives another one for its own identity, by name or without, for any of our audiences', async () => {
      const token = await berth.tokenOf(identity)
      for (const asked of [{}, { identity: '' }, { aud: REGISTRY }, { aud: [berth.url, REGISTRY] }]) {
        const reply = await shown(token, asked)
        assert.equal(reply.status, 200, reply.text)
        const { sub, aud, act } = decodeJwt(reply.body.token) as Record<string, unknown>
        assert.equal(sub, identity)
        assert.deepEqual(aud, 'aud' in asked ? asked.aud : berth.url)
        assert.deepEqual(act, { iss: berth.url, sub: identity, aud: berth.url })
      }
    })

    test('a token that is exchanged for an access token expires with it, so that it cannot be renewed', async () => {
      const token = await berth.tokenOf(identity)
      const { exp = 0 } = decodeJwt(token)
      const first = await shown(token)
      assert.equal(decodeJwt(first.body.token).exp, exp)
      const second = await shown(first.body.token, { identity: shared })
      assert.equal(decodeJwt(second.body.token).exp, exp)
      assert.equal(new Date(second.body.expiry).getTime(), exp * 1000)
    })

    const both = ['groups.list', 'identity.list']
    /** The narrowing of the token that is shown, what is asked for, and what is left. */
    const table: readonly [Narrowed, Narrowed, Narrowed][] = [
      [{}, {}, {}],
      [{}, { scopes: ['one'] }, { scopes: ['one'] }],
      [{ scopes: ['one'] }, {}, { scopes: ['one'] }],
      [{ scopes: ['one'] }, { scopes: ['one', 'two'] }, { scopes: ['one'] }],
      [{ scopes: ['organization'] }, { scopes: ['one'] }, { scopes: ['one'] }],
      [{ scopes: ['one'] }, { scopes: ['organization'] }, { scopes: ['one'] }],
      [{ scopes: ['one'] }, { scopes: ['below', 'two'] }, { scopes: ['below'] }],
      [{ scopes: ['one', 'two'] }, { scopes: ['organization'] }, { scopes: ['one', 'two'] }],
      [{ scopes: ['one'] }, { scopes: ['two'] }, { scopes: [] }],
      [{ cap: both }, {}, { cap: both }],
      [{}, { cap: ['groups.list'] }, { cap: ['groups.list'] }],
      [{ cap: ['groups.list'] }, { cap: both }, { cap: ['groups.list'] }],
      [{ cap: ['groups.list'] }, { cap: ['identity.list'] }, { cap: [] }],
      [
        { scopes: ['one'], cap: both },
        { scopes: ['organization'], cap: ['groups.list', 'roles.list'] },
        { scopes: ['one'], cap: ['groups.list'] },
      ],
    ]
    interface Narrowed {
      readonly scopes?: readonly ('organization' | 'one' | 'two' | 'below')[]
      readonly cap?: readonly string[]
    }
    test(`${table.length} narrowings: an exchanged token is never wider, for its own identity and another`, async () => {
      const uids = { organization, one, two, below }
      const uidsOf = ({ scopes }: Narrowed) => scopes?.map((name) => uids[name])
      for (const [of, asked, left] of table) {
        const name = JSON.stringify([of, asked])
        const token = await berth.tokenOf(identity, {
          ...(of.scopes && { scopes: uidsOf(of) ?? [] }),
          ...(of.cap && { capabilities: capabilities(...of.cap) }),
        })
        for (const assumed of [identity, shared]) {
          const reply = await shown(token, {
            identity: assumed,
            ...(asked.scopes && { scopes: uidsOf(asked) ?? [] }),
            ...(asked.cap && { cap: asked.cap }),
          })
          assert.equal(reply.status, 200, reply.text)
          const may = (group: string, capability: string) =>
            (left.scopes === undefined ||
              (uidsOf(left) ?? []).some((scope) => group === scope || group.startsWith(`${scope}/`))) &&
            (left.cap === undefined || left.cap.includes(capability))
          for (const group of [organization, one, two, below]) {
            const status = await statusAt(`groups/${group}`, reply.body.token)
            assert.equal(status, may(group, 'groups.list') ? 200 : 403, `${name} ${group}`)
          }
          const status = await statusAt(`identities/${identity}`, reply.body.token)
          assert.equal(status, may(organization, 'identity.list') ? 200 : 403, name)
        }
      }
    })

    test('R12: a token of a session gives tokens that end with the session, also of a shared identity', async () => {
      const person = await createPerson(berth)
      await bindRole(berth, organization, person, 'viewer')
      const session = await createSession(berth, { identity: person })
      const token = await berth.tokenOf(person, { session: session.id })
      const own = await shown(token, { identity: '' })
      const other = await shown(own.body.token, { identity: shared })
      for (const reply of [own, other]) {
        assert.deepEqual(ownClaimOf(reply), { sid: session.id })
        assert.equal(await statusAt('groups', reply.body.token), 200)
      }
      await endSession(berth, session.id)
      for (const reply of [own, other]) assert.equal(await statusAt('groups', reply.body.token), 401)
      for (const gone of [token, own.body.token])
        assert.equal(statusOf(await shown(gone, { identity: shared })), '401/16')
    })

    test('R12: the token of a deleted identity is rejected', async () => {
      const uid = await createIdentity(berth, organization)
      const token = await berth.tokenOf(uid)
      assert.equal(statusOf(await shown(token, { identity: shared })), 'ok')
      await call('DELETE', `${berth.url}/iam/v2beta1/identities/${uid}`, { token: berth.token })
      const reply = await shown(token, { identity: shared })
      assert.equal(statusOf(reply), '401/16')
      assert.match(reply.body.message, /no longer exists/)
    })

    test('an identity accepts tokens of the server like those of any issuer', async () => {
      const only = await createIdentity(berth, organization, {
        claimMatch: { issuer: berth.url, subject: identity },
      })
      assert.equal(statusOf(await shown(await berth.tokenOf(identity), { identity: only })), 'ok')
      assert.equal(statusOf(await shown(await berth.tokenOf(shared), { identity: only })), '403/7')
      assert.equal(statusOf(await shown(await berth.tokenOf(identity), { identity: berth.owner })), '403/7')
      assert.equal(statusOf(await shown(await berth.tokenOf(shared))), '403/7')
    })

    const idToken = (audiences: string[], session: string | undefined, person: string) => {
      const { installation, addresses } = berth.berth
      return issueIdToken(
        { keys: installation.keys, issuer: addresses.authUrl, clock: installation.store.clock },
        { identity: person, audiences, session, email: '', name: '', nonce: '', signedInMs: Date.now() },
      )
    }

    test('an ID token for the token service gives a token of an hour, one only for a client gives none', async () => {
      const person = await createPerson(berth)
      const { id } = await createSession(berth, { identity: person })
      const proof = await idToken([berth.url], id, person)
      const { iat = 0 } = decodeJwt(proof)
      const reply = await shown(proof, { identity: '' })
      assert.equal(reply.status, 200, reply.text)
      const { exp = 0, sub } = decodeJwt(reply.body.token)
      // Of the hour after it, that is.
      assert.deepEqual([exp - iat, sub], [limits.accessTokenLifetimeMs / 1000, person])
      assert.deepEqual(ownClaimOf(reply), { sid: id })
      assert.equal(
        statusOf(await shown(await idToken(['berth-cli'], id, person), { identity: '' })),
        '401/16',
      )
    })

    test('R6, R7: tokens that only resemble ours are rejected', async () => {
      const { installation, addresses } = berth.berth
      const deps = { keys: installation.keys, issuer: addresses.authUrl, clock: installation.store.clock }
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: berth.url, sub: identity, aud: berth.url, iat: now, exp: now + 300 }
      const foreign = newSigner('k')
      const [{ kid = '' } = {}] = (await installation.keys.published()).keys
      for (const [name, token, expected] of [
        ['for the registry alone', await berth.tokenOf(identity, { audiences: [REGISTRY] }), '401/16'],
        ['for a cloud account', await accountTokens(deps).issue(organization, berth.url), '403/7'],
        [
          'signed by another issuer',
          await signJws(claims, foreign.privateKey, { kid, typ: 'at+jwt' }),
          '401/16',
        ],
        [
          'signed with an unknown key',
          await signJws(claims, foreign.privateKey, { kid: 'k', typ: 'at+jwt' }),
          '401/16',
        ],
        ['without a key id', await signJws(claims, foreign.privateKey, { typ: 'at+jwt' }), '401/16'],
      ] as const) {
        const reply = await shown(token)
        assert.equal(statusOf(reply), expected, `${name}: ${reply.text}`)
      }
      const account = await shown(await accountTokens(deps).issue(organization, berth.url), {
        identity: shared,
      })
      assert.equal(statusOf(account), '401/16')
      const expired = await berth.tokenOf(identity)
      berth.advance(limits.accessTokenLifetimeMs + 1000)
      try {
        assert.equal(statusOf(await shown(expired)), '401/16')
      } finally {
        berth.advance(-limits.accessTokenLifetimeMs - 1000)
      }
    })
  })

  describe(`scopes and capabilities of an exchange on ${database.name}`, () => {
    const suite = cleanups()
    let berth: TestBerth
    let sign: () => Promise<string>
    let trusting: object

    before(async () => {
      const issuer = await startIssuer(suite)
      berth = await startTestBerth(database)
      sign = () => issuer.sign({ aud: berth.url })
      trusting = { claimMatch: { issuer: issuer.name, subjectPattern: '.*' } }
    })
    after(async () => {
      await berth.stop()
      await suite.run()
    })
    /** Bindings at groups, the scopes asked for, and where which of the two roles can be used then. */
    const cases: readonly [string, Bound, readonly Place[], Bound][] = [
      // The example of the public contract: rb1 at foo, rb2 at foo/bar.
      [
        'both scopes',
        { foo: ['rb1'], bar: ['rb2'] },
        ['foo', 'bar'],
        { foo: ['rb1'], bar: ['rb1', 'rb2'], deep: ['rb1', 'rb2'] },
      ],
      [
        'the lower scope',
        { foo: ['rb1'], bar: ['rb2'] },
        ['bar'],
        { bar: ['rb1', 'rb2'], deep: ['rb1', 'rb2'] },
      ],
      [
        'the upper scope',
        { foo: ['rb1'], bar: ['rb2'] },
        ['foo'],
        { foo: ['rb1'], bar: ['rb1'], deep: ['rb1'] },
      ],
      [
        'no scope',
        { foo: ['rb1'], bar: ['rb2'] },
        [],
        { foo: ['rb1'], bar: ['rb1', 'rb2'], deep: ['rb1', 'rb2'] },
      ],
      ['inherited from far above', { root: ['rb1'] }, ['deep'], { deep: ['rb1'] }],
      ['a sibling', { foo: ['rb1'] }, ['other'], {}],
      [
        'a sibling and one that counts',
        { root: ['rb1'], bar: ['rb2'] },
        ['other', 'deep'],
        { other: ['rb1'], deep: ['rb1', 'rb2'] },
      ],
    ]
    type Place = 'root' | 'foo' | 'bar' | 'deep' | 'other'
    type Bound = Partial<Record<Place, readonly ('rb1' | 'rb2')[]>>

    test(`${cases.length} combinations of bindings and scopes give what the public contract says`, async () => {
      const { organization } = berth
      const foo = await createGroup(berth, organization, newName('foo'))
      const bar = await createGroup(berth, foo, 'bar')
      const deep = await createGroup(berth, bar, 'deep')
      const other = await createGroup(berth, organization, newName('other'))
      const uids: Record<Place, string> = { root: organization, foo, bar, deep, other }
      const role = async (capability: string) =>
        (
          await call('POST', `${berth.url}/iam/v2beta1/roles/${organization}`, {
            token: berth.token,
            body: { name: newName('role'), capabilities: [capability] },
          })
        ).body.uid as string
      const roles = { rb1: await role('CAP_IAM_GROUPS_LIST'), rb2: await role('CAP_IAM_IDENTITY_LIST') }
      for (const [name, bound, scopes, expected] of cases) {
        const identity = await createIdentity(berth, organization, trusting)
        for (const [place, names] of Object.entries(bound))
          for (const binding of names) await bindRole(berth, uids[place as Place], identity, roles[binding])
        const { body } = await exchange(berth.url, await sign(), {
          aud: berth.url,
          identity,
          scopes: scopes.map((place) => uids[place]),
        })
        const list = async (path: string, key: string, place: Place) => {
          const url = `${berth.url}/iam/v2beta1/${path}`
          const reply = await call('GET', url, { token: body.token })
          return reply.status === 200 ? key : `${place} ${reply.status}`
        }
        for (const place of Object.keys(uids) as Place[]) {
          const may = expected[place] ?? []
          const group = await list(`groups/${uids[place]}`, 'ok', place)
          assert.equal(group === 'ok', may.includes('rb1'), `${name}: rb1 at ${place}: ${group}`)
          // An unknown identity is 404 for callers who may see identities here, and 403 for all others.
          const found = await list(`identities/${uids[place]}/${'0'.repeat(16)}`, 'ok', place)
          assert.equal(found.endsWith('404'), may.includes('rb2'), `${name}: rb2 at ${place}: ${found}`)
        }
      }
    })
  })
}

for (const database of databases)
  test(`a token for the registry alone cannot be exchanged with the default settings either (${database.name})`, async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const { registryHost } = berth.berth.addresses
    assert.equal(registryHost, new URL(berth.url).host)
    const identity = await createIdentity(berth, berth.organization)
    const shown = async (audiences: string[]) => {
      const token = await berth.tokenOf(identity, { audiences })
      return statusOf(await exchange(berth.url, token, { aud: berth.url, identity }))
    }
    assert.equal(await shown([registryHost]), '401/16')
    assert.equal(await shown([berth.url, registryHost]), 'ok')
    const token = await berth.tokenOf(identity, { audiences: [registryHost] })
    assert.equal((await call('GET', `${berth.url}/iam/v2beta1/groups`, { token })).status, 401)
  })
