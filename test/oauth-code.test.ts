import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import {
  createSignedInBrowser,
  type Fields,
  type WebBrowser,
  webBrowser,
} from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import {
  authorizationCodeOf,
  CLIENT,
  claimsOf,
  codeFlow,
  postForm,
  REDIRECT,
  submitConsent,
  tokenRequest,
  withQuery,
} from './support/signin/oauth.ts'

const OTHER_CLIENT = 'portal'
const OTHER_REDIRECT = 'https://portal.example.com/done'

/** Authorization requests that are each invalid in one way, and the error that the client gets. */
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
  ['prompt=none', { prompt: 'none' }, 'interaction_required'],
  ['a request object', { request: 'e30.e30.' }, 'request_not_supported'],
  [
    'the address of a request object',
    { request_uri: 'https://elsewhere.example.com' },
    'request_uri_not_supported',
  ],
]

/** Requests without a valid redirect URI: an error page, and no redirect. */
const strayRequests: readonly (readonly [what: string, changed: Fields])[] = [
  ['no client_id', { client_id: undefined }],
  ['an unknown client_id', { client_id: 'someone' }],
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
  ['an unknown client_id', { client_id: 'someone' }, 'invalid_client', 401],
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
      browser = await createSignedInBrowser(berth, berth.owner)
    })
    after(() => berth.stop())
    const token = (fields: Fields) => postForm(berth.url, '/oauth/token', fields)
    const refresh = (text: string | undefined, changed: Fields = {}) =>
      token({ grant_type: 'refresh_token', client_id: CLIENT, refresh_token: text, ...changed })
    const revoke = (fields: Fields) => postForm(berth.url, '/oauth/revoke', { client_id: CLIENT, ...fields })
    const apiStatus = async (bearer: string | undefined) =>
      (await fetch(`${berth.url}/iam/v2beta1/groups`, { headers: { authorization: `Bearer ${bearer}` } }))
        .status

    test('R37: a code, redeemed with its verifier, gives a token that the API accepts, and no address contains a token', async () => {
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
      const { redirectedTo: left } = await submitConsent(browser, consent)
      assert.deepEqual([...(left?.searchParams.keys() ?? [])], ['code', 'state', 'iss'])
      assert.equal(left?.origin + (left?.pathname ?? ''), REDIRECT)
      assert.equal(left?.searchParams.get('state'), flow.state)
      assert.equal(left?.searchParams.get('iss'), berth.url)

      const { status, headers, body } = await token(tokenRequest(flow, left?.searchParams.get('code') ?? ''))
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('pragma'), 'no-cache')
      assert.equal(headers.get('access-control-allow-origin'), null)
      assert.equal(body.token_type, 'Bearer')
      assert.ok(Math.abs(3595 - (body.expires_in ?? 0)) <= 5, String(body.expires_in))
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

    test('an ID token contains the time of the sign-in, not of the consent (OpenID Connect Core 1.0 section 2)', async () => {
      const signedInS = Math.floor(berth.berth.installation.store.clock() / 1000)
      const early = await createSignedInBrowser(berth, berth.owner)
      berth.advance(3 * 60 * 60 * 1000)
      try {
        const flow = codeFlow({ scope: 'openid' })
        const { body } = await token(tokenRequest(flow, await authorizationCodeOf(early, flow)))
        const claims = claimsOf(body.id_token ?? '')
        assert.ok(Math.abs(Number(claims['auth_time']) - signedInS) < 60, String(claims['auth_time']))
        assert.ok(Number(claims['iat']) - signedInS > 3 * 60 * 60 - 60)
      } finally {
        berth.advance(-3 * 60 * 60 * 1000)
      }
    })

    test('an ID token is not accepted as an access token', async () => {
      const flow = codeFlow({ scope: 'openid' })
      const { body } = await token(tokenRequest(flow, await authorizationCodeOf(browser, flow)))
      const groups = await fetch(`${berth.url}/iam/v2beta1/groups`, {
        headers: { authorization: `Bearer ${body.id_token}` },
      })
      assert.equal(groups.status, 401)
    })

    test('a signed-out user has to sign in, and returns to the consent', async () => {
      const stranger = webBrowser(berth.url, { follow: false })
      const first = await stranger.open(withQuery('/oauth/authorize', codeFlow().parameters))
      const consent = await stranger.open(first.redirectedTo?.href ?? '')
      assert.match(consent.redirectedTo?.pathname ?? '', /^\/sign-in$/)
      assert.ok(consent.redirectedTo?.searchParams.get('request'))
    })

    test('denying sends the client an error with its state, and no code', async () => {
      const flow = codeFlow()
      const consent = await browser.open(withQuery('/oauth/authorize', flow.parameters))
      const { redirectedTo: left } = await submitConsent(browser, consent, 'deny')
      assert.equal(left?.searchParams.get('error'), 'access_denied')
      assert.equal(left?.searchParams.get('state'), flow.state)
      assert.equal(left?.searchParams.get('code'), null)
    })

    for (const [what, changed, error] of refusedRequests)
      test(`R40: ${what}: ${error}, at the redirect (${refusedRequests.length} rows)`, async () => {
        const flow = codeFlow(changed)
        const { redirectedTo: left, text } = await browser.open(
          withQuery('/oauth/authorize', flow.parameters),
        )
        assert.equal(left?.searchParams.get('error'), error, text)
        assert.equal(left?.searchParams.get('code'), null)
        assert.equal(left?.searchParams.get('iss'), berth.url)
      })

    for (const name of repeated)
      test(`R40: ${name} twice: invalid_request, at the redirect`, async () => {
        const path = `${withQuery('/oauth/authorize', codeFlow().parameters)}&${name}=a&${name}=b`
        const { redirectedTo: left } = await browser.open(path)
        assert.equal(left?.searchParams.get('error'), 'invalid_request')
        if (name === 'state') assert.equal(left?.searchParams.get('state'), null)
      })

    for (const [what, changed] of strayRequests)
      test(`R38: ${what}: a page, and no redirect (${strayRequests.length} rows)`, async () => {
        const {
          status,
          redirectedTo: left,
          text,
        } = await browser.open(withQuery('/oauth/authorize', codeFlow(changed).parameters))
        assert.equal(status, 400)
        assert.equal(left, undefined)
        assert.match(text, /(unknown client_id)|not registered|control characters/i)
      })

    for (const name of ['client_id', 'redirect_uri'])
      test(`R38: ${name} twice: a page, and no redirect`, async () => {
        const { parameters } = codeFlow()
        const path = `${withQuery('/oauth/authorize', parameters)}&${name}=${encodeURIComponent(parameters[name] ?? '')}`
        const { status, redirectedTo: left } = await browser.open(path)
        assert.deepEqual([status, left], [400, undefined])
      })

    for (const [what, changed, error, expected = 400] of refusedRedemptions)
      test(`R40: a redemption with ${what}: ${error} (${refusedRedemptions.length} rows)`, async () => {
        const flow = codeFlow()
        const { status, body, headers } = await token({
          ...tokenRequest(flow, await authorizationCodeOf(browser, flow)),
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
          tokenRequest(flow, await authorizationCodeOf(browser, flow)) as Record<string, string>,
        )
        fields.append(name, fields.get(name) ?? '')
        const { status, body } = await postForm(berth.url, '/oauth/token', fields)
        assert.deepEqual([status, body.error], [400, 'invalid_request'])
      })

    test('R40: a failed attempt uses up a code, because a caller without the verifier has stolen it', async () => {
      const flow = codeFlow()
      const code = await authorizationCodeOf(browser, flow)
      assert.equal(
        (await token({ ...tokenRequest(flow, code), code_verifier: 'a'.repeat(43) })).body.error,
        'invalid_grant',
      )
      assert.equal((await token(tokenRequest(flow, code))).body.error, 'invalid_grant')
    })

    test('R40: an expired code is rejected', async () => {
      const flow = codeFlow()
      const code = await authorizationCodeOf(browser, flow)
      berth.advance(limits.authorizationCodeMs + 1)
      assert.match((await token(tokenRequest(flow, code))).body.error_description ?? '', /expired/)
    })

    test('R40: the code of one flow cannot be redeemed with the verifier of another', async () => {
      const [one, other] = [codeFlow(), codeFlow()]
      const code = await authorizationCodeOf(browser, one)
      assert.equal((await token(tokenRequest(other, code))).body.error, 'invalid_grant')
    })

    test('R40: no other secret of a sign-in is accepted as a code, nor a code as one of them', async () => {
      const flow = codeFlow()
      const consent = await browser.open(withQuery('/oauth/authorize', flow.parameters))
      const request = consent.forms.at(-1)?.fields['request'] ?? ''
      const secrets = [request, browser.cookies.get('berth') ?? '', browser.cookies.get('berth-flow') ?? '']
      for (const secret of secrets)
        assert.equal((await token(tokenRequest(flow, secret))).body.error, 'invalid_grant')
      const code = (await submitConsent(browser, consent)).redirectedTo?.searchParams.get('code') ?? ''
      assert.equal((await browser.open(withQuery('/oauth/continue', { request: code }))).status, 404)
      const device = {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: CLIENT,
        device_code: code,
      }
      assert.equal((await token(device)).body.error, 'invalid_grant')
      assert.equal((await refresh(code)).body.error, 'invalid_grant')
      assert.equal((await token(tokenRequest(flow, code))).status, 200, 'and none of that used it up')
    })

    test('R40: a replayed code gives nothing, and ends the session that it started', async () => {
      const flow = codeFlow()
      const code = await authorizationCodeOf(browser, flow)
      const { body } = await token(tokenRequest(flow, code))
      assert.equal(await apiStatus(body.access_token), 200)
      assert.equal((await token(tokenRequest(flow, code))).body.error, 'invalid_grant')
      assert.equal(await apiStatus(body.access_token), 401)
      assert.equal((await refresh(body.refresh_token)).body.error, 'invalid_grant')
    })

    test('R40: also if the caller knows only the code, and after an hour less a second', async () => {
      const flow = codeFlow()
      const code = await authorizationCodeOf(browser, flow)
      const { body } = await token(tokenRequest(flow, code))
      berth.advance(59 * 60 * 1000)
      assert.equal(await apiStatus(body.access_token), 200)
      await token({ ...tokenRequest(flow, code), code_verifier: 'a'.repeat(43), redirect_uri: 'x' })
      assert.equal(await apiStatus(body.access_token), 401)
    })

    test('R40: of 20 concurrent redemptions at most one succeeds, and the others end its session', async () => {
      const flow = codeFlow()
      const code = await authorizationCodeOf(browser, flow)
      const replies = await Promise.all(Array.from({ length: 20 }, () => token(tokenRequest(flow, code))))
      const given = replies.filter(({ status }) => status === 200)
      assert.ok(given.length <= 1)
      for (const { body } of given) assert.equal(await apiStatus(body.access_token), 401)
      for (const { status, body } of replies) if (status !== 200) assert.equal(body.error, 'invalid_grant')
    })

    describe('the refresh token', () => {
      const given = async () => {
        const flow = codeFlow({ audience: berth.url })
        const { body } = await token(tokenRequest(flow, await authorizationCodeOf(browser, flow)))
        assert.ok(body.access_token && body.refresh_token)
        return { access: body.access_token, refresh: body.refresh_token }
      }

      test('R13: gives new tokens once; the second use ends the session', async () => {
        const first = await given()
        const { status, body, headers } = await refresh(first.refresh)
        assert.equal(status, 200, JSON.stringify(body))
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.deepEqual(Object.keys(body).sort(), [
          'access_token',
          'expires_in',
          'refresh_token',
          'token_type',
        ])
        assert.equal(await apiStatus(body.access_token), 200)
        assert.equal((await refresh(first.refresh)).body.error, 'invalid_grant')
        assert.equal(await apiStatus(body.access_token), 401)
        assert.equal((await refresh(body.refresh_token)).body.error, 'invalid_grant')
      })

      const refused: readonly (readonly [string, Fields, string, number])[] = [
        ['no refresh_token', { refresh_token: undefined }, 'invalid_request', 400],
        ['one that is made up', { refresh_token: 'eyJhIjoxfQ==' }, 'invalid_grant', 400],
        ['no client_id', { client_id: undefined }, 'invalid_request', 400],
        ['an unknown client_id', { client_id: 'someone' }, 'invalid_client', 401],
        ["another client's id", { client_id: OTHER_CLIENT }, 'invalid_grant', 400],
        [
          'an audience that was not agreed to',
          { audience: 'https://elsewhere.example.com' },
          'invalid_target',
          400,
        ],
        ['a scope that is not known', { scope: 'everything' }, 'invalid_scope', 400],
      ]
      for (const [what, changed, error, status] of refused)
        test(`is not used up by an attempt with ${what}: ${error} (${refused.length} rows)`, async () => {
          const first = await given()
          const reply = await refresh(first.refresh, changed)
          assert.deepEqual([reply.status, reply.body.error], [status, error])
          assert.equal((await refresh(first.refresh)).status, 200)
        })

      test('ends with its session when a client revokes it, and so do the access tokens (RFC 7009)', async () => {
        for (const kind of ['refresh', 'access'] as const) {
          const first = await given()
          const reply = await revoke({ token: first[kind], token_type_hint: 'x' })
          assert.deepEqual([reply.status, reply.body], [200, {}])
          assert.equal(await apiStatus(first.access), 401)
          assert.equal((await refresh(first.refresh)).body.error, 'invalid_grant')
          assert.equal((await revoke({ token: first[kind] })).status, 200, 'again: the answer is the same')
        }
      })

      const notRevoked: readonly (readonly [string, Fields, number, string | undefined])[] = [
        ['no token', { token: undefined }, 400, 'invalid_request'],
        ['a token that is none', { token: 'x' }, 200, undefined],
        ['no client_id', { client_id: undefined }, 400, 'invalid_request'],
        ['an unknown client_id', { client_id: 'someone' }, 401, 'invalid_client'],
        ["another client's id", { client_id: OTHER_CLIENT }, 400, 'invalid_grant'],
      ]
      for (const [what, changed, status, error] of notRevoked)
        test(`is not revoked with ${what} (${notRevoked.length} rows)`, async () => {
          const first = await given()
          const reply = await revoke({ token: first.refresh, ...changed })
          assert.deepEqual([reply.status, reply.body.error], [status, error])
          assert.equal((await refresh(first.refresh)).status, 200)
        })
    })

    for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/device_authorization']) {
      test(`${path} reports errors in JSON, for any request`, async () => {
        const send = async (init: RequestInit) => {
          const response = await fetch(berth.url + path, { method: 'POST', ...init })
          const body = (await response.json()) as { error: string }
          return [response.status, body.error]
        }
        assert.deepEqual(await send({ body: '{}', headers: { 'content-type': 'application/json' } }), [
          400,
          'invalid_request',
        ])
        assert.deepEqual(
          await send({
            body: 'x'.repeat(100_000),
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
          }),
          [400, 'invalid_request'],
        )
        assert.deepEqual(
          await send({ body: new URLSearchParams(), headers: { authorization: 'Basic YmVydGgtY2xpOg==' } }),
          [401, 'invalid_client'],
        )
        // Parameters in an address are not read: addresses are logged.
        const { status } = await fetch(`${berth.url}${path}?client_id=${CLIENT}`, {
          method: 'POST',
          body: new URLSearchParams(),
        })
        assert.ok(status === 400 || status === 401)
      })

      test(`${path} is for POST, and pages of other origins cannot read it`, async () => {
        assert.equal((await fetch(berth.url + path)).status, 405)
        for (const method of ['OPTIONS', 'POST']) {
          const response = await fetch(berth.url + path, {
            method,
            headers: { origin: 'https://elsewhere.example.com', 'access-control-request-method': 'POST' },
          })
          assert.equal(response.headers.get('access-control-allow-origin'), null)
        }
      })
    }

    test('R39: no address contains values of the Host header or of proxies', async () => {
      const { hostname, port } = new URL(berth.url)
      const forged = await rawGet(hostname, Number(port), '/.well-known/openid-configuration')
      assert.ok(!forged.includes('evil.example'))
      for (const endpoint of ['authorize', 'token', 'device_authorization', 'revoke'])
        assert.ok(forged.includes(`${berth.url}/oauth/${endpoint}`), endpoint)
      const { parameters } = codeFlow()
      for (const path of [
        withQuery('/oauth/authorize', parameters),
        withQuery('/oauth/authorize', { ...parameters, scope: 'x' }),
        '/device',
      ])
        assert.ok(!(await rawGet(hostname, Number(port), path)).includes('evil.example'), path)
    })
  })

/** Asks in the name of another host; resolves to the whole answer. */
function rawGet(host: string, port: number, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(port, host)
  let text = ''
  socket.setEncoding('utf8').on('data', (part) => {
    text += part
  })
  socket.on('end', () => resolve(text)).on('error', reject)
  const headers = [
    'Host: evil.example',
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: https',
    'Forwarded: host=evil.example',
  ]
  socket.write(`GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  return promise
}
