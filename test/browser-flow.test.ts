import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { apiOf } from './support/api/api-fixture.ts'
import {
  createSignedInBrowser,
  type Fields,
  type WebBrowser,
  webBrowser,
} from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { voucherOf } from './support/signin/accounts.ts'
import { claimsOf, submitConsent, withQuery } from './support/signin/oauth.ts'

const REDIRECT = 'http://localhost:49152/callback?token=true&error=true'

/** What the public SDK opens for a plain sign-in. */
function opened(changed: Fields = {}): string {
  return withQuery('/oauth', { exit: 'redirect', redirect: REDIRECT, client_id: 'auth0', ...changed })
}

/** Nothing goes to these addresses. */
const refusedRedirects: readonly (readonly [string, Fields])[] = [
  ['none', { redirect: undefined }],
  ['an empty one', { redirect: '' }],
  ['a path', { redirect: '/callback?token=true' }],
  ['one of another machine', { redirect: 'http://evil.example/callback?token=true' }],
  ['an https address', { redirect: 'https://app.example.com/callback?token=true' }],
  ['https of this machine', { redirect: 'https://localhost:49152/callback?token=true' }],
  ['no scheme', { redirect: '//localhost:49152/callback' }],
  ['slash and backslash', { redirect: '/\\localhost:49152/callback' }],
  ['loopback as user information', { redirect: 'http://localhost:49152@evil.example/callback' }],
  ['user information', { redirect: 'http://user@localhost:49152/callback' }],
  ['loopback as a prefix', { redirect: 'http://localhost.evil.example:49152/callback' }],
  ['127.0.0.1 as a prefix', { redirect: 'http://127.0.0.1.evil.example:49152/callback' }],
  ['an encoded at sign', { redirect: 'http://localhost%40evil.example/callback' }],
  ['an at sign that is encoded twice', { redirect: 'http://localhost%2540evil.example/callback' }],
  ['a tab', { redirect: 'http://local\thost:49152/callback' }],
  ['a line break', { redirect: 'http://localhost:49152/callback\n' }],
  ['a backslash', { redirect: 'http://localhost:49152\\@evil.example/callback' }],
  ['a fragment', { redirect: 'http://localhost:49152/callback#token=true' }],
  ['capitals', { redirect: 'HTTP://LOCALHOST:49152/callback' }],
  ['a script', { redirect: 'javascript:alert(1)' }],
  ['the address of any machine', { redirect: 'http://0.0.0.0:49152/callback' }],
]

/** Requests whose error is returned to the redirect URI, with status 400. */
const refused: readonly (readonly [string, Fields])[] = [
  ['another way out', { exit: 'page' }],
  ['an audience that is not ours', { audience: 'https://elsewhere.example.com' }],
  ['one audience of two that is not ours', { audience: 'BASE,https://elsewhere.example.com' }],
  ['skip_registration that is no boolean', { skip_registration: 'yes' }],
  ['create_refresh_token that is no boolean', { create_refresh_token: '1' }],
  ['an identity that is no uid', { identity: 'someone' }],
  ['a scope that is no uid and no name', { scope: 'A/B' }],
  [
    'an identity provider that there is not',
    { client_id: undefined, idp_id: `${'a'.repeat(40)}/${'b'.repeat(16)}` },
  ],
  ['an unknown organization', { client_id: undefined, idp_id: 'nobody' }],
  ['an organization whose name has a NUL', { client_id: undefined, idp_id: 'a\u0000' }],
  ['an identity provider and a client_id', { idp_id: 'default' }],
  [
    'an identity provider and a connection',
    { client_id: undefined, idp_id: 'default', connection: 'github' },
  ],
  ['a parameter that is too long', { screen_hint: 'a'.repeat(5000) }],
]

const repeated = [
  'exit',
  'client_id',
  'connection',
  'idp_id',
  'invite',
  'identity',
  'audience',
  'create_refresh_token',
]

for (const database of databases)
  describe(`the browser flow of the public SDK on ${database.name}`, () => {
    let berth: TestBerth
    let browser: WebBrowser
    before(async () => {
      berth = await startTestBerth(database)
      browser = await createSignedInBrowser(berth, berth.owner)
    })
    after(() => berth.stop())

    const get = async (token: string | null | undefined, path = '/iam/v2beta1/groups') =>
      (await fetch(berth.url + path, { headers: { authorization: `Bearer ${token}` } })).status
    const answerOf = async (changed: Fields = {}, decision = 'allow') => {
      const { redirectedTo: left, text } = await submitConsent(
        browser,
        await browser.open(opened(changed)),
        decision,
      )
      assert.ok(left, text)
      return left
    }

    test('the token replaces its parameter in the redirect URI, and the parameter for an error is removed', async () => {
      const consent = await browser.open(opened())
      for (const words of ['an application', 'auth0', 'this computer (localhost:49152)', 'one hour'])
        assert.ok(consent.text.includes(words), `${words} in: ${consent.text}`)
      const { redirectedTo: left } = await submitConsent(browser, consent)
      assert.equal(`${left?.origin}${left?.pathname}`, 'http://localhost:49152/callback')
      assert.deepEqual([...(left?.searchParams.keys() ?? [])], ['token'])
      const token = left?.searchParams.get('token') ?? ''
      assert.equal(await get(token), 200)
      assert.equal(claimsOf(token)['sub'], berth.owner)
      assert.equal(claimsOf(token)['aud'], berth.url)
    })

    test('audiences are joined by commas in one value, and the token is for all of them', async () => {
      const registry = new URL(berth.url).host
      const token = (await answerOf({ audience: `${berth.url},${registry}` })).searchParams.get('token')
      assert.deepEqual(claimsOf(token ?? '')['aud'], [berth.url, registry])
    })

    test('scopes repeat and are encoded twice; the token is limited to these groups', async () => {
      const encoded = encodeURIComponent(berth.organization)
      const left = await answerOf({ scope: encoded, create_refresh_token: 'true' })
      const token = left.searchParams.get('token') ?? ''
      assert.deepEqual((claimsOf(token)['berth'] as { scopes: string[] }).scopes, [berth.organization])
      assert.equal(left.searchParams.get('refresh_token'), null, 'what is narrowed is not renewed')
      assert.equal(await get(token), 200)
      const path = `${opened()}&scope=${encodeURIComponent(encoded)}&scope=default`
      const { redirectedTo: both } = await submitConsent(browser, await browser.open(path))
      const claims = claimsOf(both?.searchParams.get('token') ?? '')['berth'] as { scopes: string[] }
      assert.deepEqual(
        [...new Set(claims.scopes)],
        [berth.organization],
        'the name of an organization is its uid',
      )
    })

    test('an unknown group name is rejected after the consent', async () => {
      const left = await answerOf({ scope: 'nobody' })
      assert.equal(left.searchParams.get('status_code'), '400')
      assert.equal(left.searchParams.get('token'), null)
    })

    test('denying sends the client an error and no token', async () => {
      const left = await answerOf({}, 'deny')
      assert.deepEqual([...left.searchParams.keys()], ['error', 'status_code'])
      assert.equal(left.searchParams.get('status_code'), '403')
    })

    test('a signed-out user has to sign in first', async () => {
      assert.match((await webBrowser(berth.url).open(opened())).path, /^\/sign-in(\/provider)?\?.*request=/)
    })

    for (const [what, changed] of refusedRedirects)
      test(`R38: a redirect that is ${what} gets nothing, not even an error (${refusedRedirects.length} rows)`, async () => {
        const { status, redirectedTo: left } = await browser.open(opened(changed))
        assert.deepEqual([status, left], [400, undefined])
      })

    test('R38: two redirects get nothing', async () => {
      const { status, redirectedTo: left } = await browser.open(
        `${opened()}&redirect=${encodeURIComponent(REDIRECT)}`,
      )
      assert.deepEqual([status, left], [400, undefined])
    })

    for (const [what, changed] of refused)
      test(`${what}: rejected with 400, at the client's address (${refused.length} rows)`, async () => {
        const audience = changed['audience']?.replace('BASE', berth.url)
        const { redirectedTo: left, text } = await browser.open(opened({ ...changed, audience }))
        assert.equal(left?.searchParams.get('status_code'), '400', text)
        assert.ok((left?.searchParams.get('error') ?? 'true') !== 'true')
        assert.equal(left?.searchParams.get('token'), null)
      })

    for (const name of repeated)
      test(`R40: ${name} twice: rejected with 400 (${repeated.length} rows)`, async () => {
        const { redirectedTo: left } = await browser.open(`${opened()}&${name}=a&${name}=b`)
        assert.equal(left?.searchParams.get('status_code'), '400')
      })

    test('an identity that the user may assume replaces their own, and the token has the requested audience', async () => {
      const { uid } = await apiOf(berth, berth.token).create(`iam/identities/${berth.organization}`, {
        name: 'shared',
        claimMatch: { issuer: berth.url, subject: berth.owner },
      })
      const registry = new URL(berth.url).host
      const consent = await browser.open(
        opened({ identity: uid, audience: registry, create_refresh_token: 'true' }),
      )
      assert.ok(consent.text.includes(uid) && consent.text.includes('one hour'), consent.text)
      const { redirectedTo: left } = await submitConsent(browser, consent)
      const claims = claimsOf(left?.searchParams.get('token') ?? '')
      assert.equal(claims['sub'], uid)
      assert.equal(claims['aud'], registry)
      assert.equal(left?.searchParams.get('refresh_token'), null)
    })

    test('an identity that the user may not assume is rejected', async () => {
      const identity = `${berth.organization}/${'b'.repeat(16)}`
      const left = await answerOf({ identity })
      assert.equal(left.searchParams.get('status_code'), '403')
      assert.equal(left.searchParams.get('token'), null)
    })

    test('an invalid invite is rejected before the consent', async () => {
      const { redirectedTo: left } = await browser.open(opened({ invite: 'bm9uZQ==' }))
      assert.equal(left?.searchParams.get('status_code'), '403')
    })

    test('orgcheck returns whether a name is a verified organization with a provider', async () => {
      const check = async (query: string) => {
        const response = await fetch(`${berth.url}/orgcheck${query}`, {
          headers: { origin: 'https://elsewhere.example.com' },
        })
        assert.equal(response.headers.get('access-control-allow-origin'), null)
        return [response.status, await response.json()]
      }
      assert.deepEqual(await check('?name=default'), [200, false], 'no provider, not verified')
      const { db } = berth.berth.installation.store
      const viewer = managedRoleByName.get('viewer')?.uid
      const post = await fetch(`${berth.url}/iam/v2beta1/identityProviders/${berth.organization}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${berth.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          name: 'sso',
          defaultRole: viewer,
          oidc: { issuer: 'https://sso.example.com', clientId: 'berth', clientSecret: 'secret' },
        }),
      })
      assert.equal(post.status, 200, await post.clone().text())
      assert.deepEqual(await check('?name=default'), [200, false], 'not verified')
      await db.kysely
        .updateTable('groups')
        .set({ verified: 1 })
        .where('uid', '=', berth.organization)
        .execute()
      assert.deepEqual(await check('?name=default'), [200, true])
      assert.deepEqual(await check('?name=Default'), [200, false])
      assert.deepEqual(await check('?name=nobody'), [200, false])
      assert.deepEqual(await check('?name=%00'), [200, false])
      assert.deepEqual(await check('?name='), [400, false])
      assert.deepEqual(await check(''), [400, false])

      // The session here is of another provider, so it does not do.
      const { uid } = (await post.json()) as { uid: string }
      for (const idp of [uid, 'default'])
        assert.match(
          (await browser.open(opened({ client_id: undefined, idp_id: idp }))).path,
          /^\/sign-in(\/provider)?\?.*request=/,
        )
      const sso = await createSignedInBrowser(berth, berth.owner, {
        method: 'provider',
        voucher: voucherOf(uid),
      })
      const consent = await sso.open(opened({ client_id: undefined, idp_id: 'default' }))
      assert.equal(
        await get((await submitConsent(sso, consent)).redirectedTo?.searchParams.get('token')),
        200,
      )
    })
  })
