import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '../src/core/limits.ts'
import { startTestBerth, type TestBerth } from './support/berth.ts'
import { databases } from './support/databases.ts'
import {
  CLIENT,
  claimsOf,
  codeFlow,
  codeOf,
  decide,
  postForm,
  REDIRECT,
  redemption,
  withQuery,
} from './support/oauth.ts'
import { type Fields, signedInBrowser, type WebBrowser, webBrowser } from './support/web.ts'

const OTHER_CLIENT = 'portal'
const OTHER_REDIRECT = 'https://portal.example.com/done'

/** Of an authorization request, each wrong in one way: the error that the client is told. */
const refusedRequests: readonly (readonly [what: string, changed: Fields, error: string])[] = [
  ['no response_type', { response_type: undefined }, 'invalid_request'],
  ['an empty response_type', { response_type: '' }, 'invalid_request'],
  [
    'response_type token, which would put a token into an address',
    { response_type: 'token' },
    'unsupported_response_type',
  ],
  ['response_type id_token', { response_type: 'id_token' }, 'unsupported_response_type'],
  ['response_type "code token"', { response_type: 'code token' }, 'unsupported_response_type'],
  ['response_mode fragment', { response_mode: 'fragment' }, 'invalid_request'],
  ['response_mode form_post', { response_mode: 'form_post' }, 'invalid_request'],
  ['no state', { state: undefined }, 'invalid_request'],
  ['an empty state', { state: '' }, 'invalid_request'],
  ['a state with a line break', { state: 'a\nb' }, 'invalid_request'],
  ['no code_challenge', { code_challenge: undefined }, 'invalid_request'],
  ['a code_challenge that is too short', { code_challenge: 'a'.repeat(42) }, 'invalid_request'],
  ['a code_challenge that is too long', { code_challenge: 'a'.repeat(44) }, 'invalid_request'],
  ['a code_challenge in another alphabet', { code_challenge: '+'.repeat(43) }, 'invalid_request'],
  ['no code_challenge_method', { code_challenge_method: undefined }, 'invalid_request'],
  ['code_challenge_method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['code_challenge_method s256', { code_challenge_method: 's256' }, 'invalid_request'],
  ['a scope that is not known', { scope: 'openid everything' }, 'invalid_scope'],
  ['an audience that is not ours', { audience: 'https://elsewhere.example.com' }, 'invalid_target'],
  ['a request object', { request: 'e30.e30.' }, 'request_not_supported'],
  [
    'the address of a request object',
    { request_uri: 'https://elsewhere.example.com' },
    'request_uri_not_supported',
  ],
]

/** Where nobody knows whom to tell: a page, and no redirect. */
const strayRequests: readonly (readonly [what: string, changed: Fields])[] = [
  ['no client_id', { client_id: undefined }],
  ['an unknown client_id', { client_id: 'somebody' }],
  ['a client_id in capitals', { client_id: 'BERTH-CLI' }],
  ['no redirect_uri', { redirect_uri: undefined }],
  ["another client's redirect_uri", { redirect_uri: OTHER_REDIRECT }],
  ['another path', { redirect_uri: 'http://127.0.0.1:49152/other' }],
  ['another host', { redirect_uri: 'http://evil.example/callback' }],
  ['a redirect_uri with user information', { redirect_uri: 'http://127.0.0.1:49152@evil.example/callback' }],
  ['a redirect_uri with a backslash', { redirect_uri: 'http://127.0.0.1:49152\\@evil.example/callback' }],
  ['a redirect_uri with a tab', { redirect_uri: 'http://127.0.0.1:49152/\tcallback' }],
  ['a redirect_uri with a fragment', { redirect_uri: `${REDIRECT}#x` }],
  ['a redirect_uri with a query', { redirect_uri: `${REDIRECT}?x` }],
  ['a redirect_uri without a scheme', { redirect_uri: '//127.0.0.1:49152/callback' }],
]

/** Parameters that come twice. */
const repeated = ['state', 'response_type', 'code_challenge', 'code_challenge_method', 'scope', 'nonce']

/** Of a redemption, each wrong in one way. */
const refusedRedemptions: readonly (readonly [
  what: string,
  changed: Fields,
  error: string,
  status?: number,
])[] = [
  ['no grant_type', { grant_type: undefined }, 'invalid_request'],
  ['an unknown grant_type', { grant_type: 'password' }, 'unsupported_grant_type'],
  ['a grant_type that is a name of objects', { grant_type: 'constructor' }, 'unsupported_grant_type'],
  ['no client_id', { client_id: undefined }, 'invalid_request'],
  ['an unknown client_id', { client_id: 'somebody' }, 'invalid_client', 401],
  ["another client's id", { client_id: OTHER_CLIENT }, 'invalid_grant'],
  ['no code', { code: undefined }, 'invalid_request'],
  ['a code that is none', { code: 'a'.repeat(43) }, 'invalid_grant'],
  ['no redirect_uri', { redirect_uri: undefined }, 'invalid_request'],
  [
    'another redirect_uri of the client',
    { redirect_uri: 'http://127.0.0.1:49153/callback' },
    'invalid_grant',
  ],
  ["another client's redirect_uri", { redirect_uri: OTHER_REDIRECT }, 'invalid_grant'],
  ['no code_verifier', { code_verifier: undefined }, 'invalid_request'],
  ['a wrong code_verifier', { code_verifier: 'a'.repeat(43) }, 'invalid_grant'],
  ['a code_verifier that is too short', { code_verifier: 'a' }, 'invalid_grant'],
  ['an audience that was not agreed to', { audience: 'https://elsewhere.example.com' }, 'invalid_target'],
]

for (const database of databases)
  describe(`the authorization code flow on ${database.name}`, () => {
    let berth: TestBerth
    let browser: WebBrowser
    before(async () => {
      berth = await startTestBerth(database, {
        env: { BERTH_OAUTH_CLIENTS: `${OTHER_CLIENT}=${OTHER_REDIRECT}` },
      })
      browser = await signedInBrowser(berth, berth.owner)
    })
    after(() => berth.stop())
    const token = (fields: Fields) => postForm(berth.url, '/oauth/token', fields)

    test('R37: a code, redeemed with its verifier, gives a token that the API takes, and no address has a token in it', async () => {
      const flow = codeFlow({ scope: 'openid', nonce: 'n-1' })
      const consent = await browser.open(withQuery('/oauth/authorize', flow.parameters))
      assert.equal(consent.status, 200)
      for (const words of [
        'Berth command line',
        'owner',
        berth.url,
        'this computer (127.0.0.1:49152)',
        '30 days',
      ])
        assert.ok(consent.text.includes(words), `${words} in: ${consent.text}`)
      assert.match(
        consent.headers.get('content-security-policy') ?? '',
        /form-action 'self' http:\/\/127\.0\.0\.1:49152$/,
      )
      const { left } = await decide(browser, consent)
      assert.deepEqual([...(left?.searchParams.keys() ?? [])], ['code', 'state', 'iss'])
      assert.equal(left?.origin + (left?.pathname ?? ''), REDIRECT)
      assert.equal(left?.searchParams.get('state'), flow.state)
      assert.equal(left?.searchParams.get('iss'), berth.url)

      const { status, headers, body } = await token(redemption(flow, left?.searchParams.get('code') ?? ''))
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('pragma'), 'no-cache')
      assert.equal(headers.get('access-control-allow-origin'), null)
      assert.equal(body.token_type, 'Bearer')
      assert.ok([3599, 3600].includes(body.expires_in ?? 0))
      const groups = await fetch(`${berth.url}/iam/v2beta1/groups`, {
        headers: { authorization: `Bearer ${body.access_token}` },
      })
      assert.equal(groups.status, 200)
      const claims = claimsOf(body.id_token ?? '')
      assert.equal(claims['iss'], berth.url)
      assert.equal(claims['aud'], CLIENT)
      assert.equal(claims['sub'], berth.owner)
      assert.equal(claims['nonce'], 'n-1')
      assert.equal(Number(claims['exp']) - Number(claims['iat']), limits.idTokenLifetimeMs / 1000)
    })

    test('an ID token opens nothing', async () => {
      const flow = codeFlow({ scope: 'openid' })
      const { body } = await token(redemption(flow, await codeOf(browser, flow)))
      const groups = await fetch(`${berth.url}/iam/v2beta1/groups`, {
        headers: { authorization: `Bearer ${body.id_token}` },
      })
      assert.equal(groups.status, 401)
    })

    test('whoever is not signed in is asked to, and comes back to the consent', async () => {
      const stranger = webBrowser(berth.url, { follow: false })
      const first = await stranger.open(withQuery('/oauth/authorize', codeFlow().parameters))
      const consent = await stranger.open(first.left?.href ?? '')
      assert.match(consent.left?.pathname ?? '', /^\/sign-in$/)
      assert.ok(consent.left?.searchParams.get('request'))
    })

    test('whoever refuses sends the client an error with its state, and no code', async () => {
      const flow = codeFlow()
      const consent = await browser.open(withQuery('/oauth/authorize', flow.parameters))
      const { left } = await decide(browser, consent, 'refuse')
      assert.equal(left?.searchParams.get('error'), 'access_denied')
      assert.equal(left?.searchParams.get('state'), flow.state)
      assert.equal(left?.searchParams.get('code'), null)
    })

    for (const [what, changed, error] of refusedRequests)
      test(`R40: ${what}: ${error}, at the redirect (${refusedRequests.length} rows)`, async () => {
        const flow = codeFlow(changed)
        const { left, text } = await browser.open(withQuery('/oauth/authorize', flow.parameters))
        assert.equal(left?.searchParams.get('error'), error, text)
        assert.equal(left?.searchParams.get('code'), null)
        assert.equal(left?.searchParams.get('iss'), berth.url)
      })

    for (const name of repeated)
      test(`R40: ${name} twice: invalid_request, at the redirect`, async () => {
        const path = `${withQuery('/oauth/authorize', codeFlow().parameters)}&${name}=a&${name}=b`
        const { left } = await browser.open(path)
        assert.equal(left?.searchParams.get('error'), 'invalid_request')
        if (name === 'state') assert.equal(left?.searchParams.get('state'), null)
      })

    for (const [what, changed] of strayRequests)
      test(`R38: ${what}: a page, and no redirect (${strayRequests.length} rows)`, async () => {
        const { status, left, text } = await browser.open(
          withQuery('/oauth/authorize', codeFlow(changed).parameters),
        )
        assert.equal(status, 400)
        assert.equal(left, undefined)
        assert.match(text, /is not (a program|an address)|control characters/)
      })

    for (const name of ['client_id', 'redirect_uri'])
      test(`R38: ${name} twice: a page, and no redirect`, async () => {
        const { parameters } = codeFlow()
        const path = `${withQuery('/oauth/authorize', parameters)}&${name}=${encodeURIComponent(parameters[name] ?? '')}`
        const { status, left } = await browser.open(path)
        assert.deepEqual([status, left], [400, undefined])
      })

    for (const [what, changed, error, expected = 400] of refusedRedemptions)
      test(`R40: a redemption with ${what}: ${error} (${refusedRedemptions.length} rows)`, async () => {
        const flow = codeFlow()
        const { status, body, headers } = await token({
          ...redemption(flow, await codeOf(browser, flow)),
          ...changed,
        })
        assert.equal(body.error, error, JSON.stringify(body))
        assert.equal(status, expected)
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.deepEqual(Object.keys(body).sort(), ['error', 'error_description'])
      })

    for (const name of ['code', 'code_verifier', 'client_id', 'redirect_uri', 'grant_type'])
      test(`R40: a redemption with ${name} twice: invalid_request`, async () => {
        const flow = codeFlow()
        const fields = new URLSearchParams(
          redemption(flow, await codeOf(browser, flow)) as Record<string, string>,
        )
        fields.append(name, fields.get(name) ?? '')
        const { status, body } = await postForm(berth.url, '/oauth/token', fields)
        assert.deepEqual([status, body.error], [400, 'invalid_request'])
      })

    test('R40: a failed attempt uses up a code: whoever shows it without the verifier has stolen it', async () => {
      const flow = codeFlow()
      const code = await codeOf(browser, flow)
      assert.equal(
        (await token({ ...redemption(flow, code), code_verifier: 'a'.repeat(43) })).body.error,
        'invalid_grant',
      )
      assert.equal((await token(redemption(flow, code))).body.error, 'invalid_grant')
    })

    test('R40: a code that expired is refused', async () => {
      const flow = codeFlow()
      const code = await codeOf(browser, flow)
      berth.advance(limits.authorizationCodeMs + 1)
      assert.match((await token(redemption(flow, code))).body.error_description ?? '', /expired/)
    })

    test("R40: one person's code does not go with another's verifier", async () => {
      const [one, other] = [codeFlow(), codeFlow()]
      const code = await codeOf(browser, one)
      assert.equal((await token(redemption(other, code))).body.error, 'invalid_grant')
    })

    test('R40: of 20 redemptions at once one succeeds at most, and then the others end what it made', async () => {
      const flow = codeFlow()
      const code = await codeOf(browser, flow)
      const replies = await Promise.all(Array.from({ length: 20 }, () => token(redemption(flow, code))))
      assert.ok(replies.filter(({ status }) => status === 200).length <= 1)
      const left = await berth.berth.installation.store.db.kysely
        .selectFrom('sessions')
        .select('id')
        .where('kind', '=', 'client')
        .where('client', '=', CLIENT)
        .where('created_ms', '>', Date.now() + limits.authorizationCodeMs - 10_000)
        .execute()
      const sids = replies.flatMap(({ body }) =>
        body.access_token === undefined ? [] : [claimsOf(body.access_token)],
      )
      assert.deepEqual(left.length > 0 && sids.length === 0, false)
    })
  })
