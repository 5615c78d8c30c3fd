import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { managedRole, newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { createSignedInBrowser, type WebBrowser, webBrowser } from '../support/browser/web-browser.ts'
import { createPerson, createSession, endSession, voucherOf } from '../support/signin/accounts.ts'
import { localAccount, PASSWORD } from '../support/signin/local-accounts.ts'

/** The session of a browser as a credential of the REST API, and the attacks of ADR 42 on it. */

type Headers = Readonly<Record<string, string>>

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: assertions on JSON
  readonly body: any
}

/** `fetch` of Node sets headers of its own that only browsers may state. */
function send(url: string, method: string, headers: Headers, body?: object): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: { 'content-type': 'application/json', ...headers } })
    request.on('error', reject)
    request.on('response', async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      const isJson = String(response.headers['content-type']).includes('json')
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: isJson ? JSON.parse(text) : text,
      })
    })
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** What the page of the console knows of its user. */
async function sessionOf(browser: WebBrowser): Promise<Readonly<Record<string, string>>> {
  const { html, status } = await browser.open('/console')
  assert.equal(status, 200)
  const [, json = ''] = /<script type="application\/json" id="session">(.*?)<\/script>/s.exec(html) ?? []
  return JSON.parse(json)
}

const sameOrigin = { 'sec-fetch-site': 'same-origin' }

onEveryDatabase('the session of the console', (cast) => {
  const url = (path: string) => `${cast().berth.url}/${path.replace('/', '/v2beta1/')}`

  /** A signed-in browser, and the headers that its console sends. */
  const signedIn = async (identity: string, how: Parameters<typeof createSignedInBrowser>[2] = {}) => {
    const browser = await createSignedInBrowser(cast().berth, identity, how)
    const { csrfToken = '' } = await sessionOf(browser)
    const cookie = `berth=${browser.cookies.get('berth')}`
    const headers = { cookie, 'x-berth-csrf': csrfToken, ...sameOrigin }
    return { browser, cookie, csrfToken, headers }
  }
  const asOwner = async () => {
    const organization = await cast().organization()
    return { organization, ...(await signedIn(organization.owner.uid)) }
  }

  test('reads and changes as its user may, and the audit log names the user', async () => {
    const { organization, headers } = await asOwner()
    const created = await send(url(`iam/groups/${organization.uid}`), 'POST', headers, {
      name: newName('team'),
    })
    assert.equal(created.status, 200, JSON.stringify(created.body))
    assert.equal((await send(url(`iam/groups/${created.body.uid}`), 'GET', headers)).status, 200)
    assert.deepEqual(
      (await cast().auditEventsOf(created.body.uid)).map(({ actor }) => actor),
      [organization.owner.uid],
    )
    const who = await send(`${cast().berth.url}/auth/v1/ok`, 'GET', headers)
    assert.equal(who.status, 200)
    assert.equal(who.body.subject, organization.owner.uid)
    assert.ok(
      who.body.capabilities.some((held: { group?: { id: string } }) => held.group?.id === organization.uid),
    )
    const other = await cast().organization()
    assert.equal((await send(url(`iam/groups/${other.uid}`), 'GET', headers)).status, 403)
  })

  test('CSRF: the cookie alone, another token or another origin is no credential, for reads and changes', async () => {
    const { organization, headers, cookie, csrfToken } = await asOwner()
    const other = await asOwner()
    const address = url(`iam/groups/${organization.uid}`)
    const { origin } = new URL(address)
    const token = { 'x-berth-csrf': csrfToken }
    const refused: Record<string, Headers> = {
      'the cookie alone': { cookie },
      'without the form token': { cookie, ...sameOrigin },
      'an empty form token': { ...headers, 'x-berth-csrf': '' },
      'the form token of another session': { ...headers, 'x-berth-csrf': other.csrfToken },
      'the form token without the cookie': { ...token, ...sameOrigin },
      'no statement of the origin': { cookie, ...token },
      'a page of another site': { ...headers, 'sec-fetch-site': 'cross-site' },
      'a page of a sibling host': { ...headers, 'sec-fetch-site': 'same-site' },
      'an address that the user typed': { ...headers, 'sec-fetch-site': 'none' },
      'another site that states our origin': { ...headers, 'sec-fetch-site': 'cross-site', origin },
      'another origin': { cookie, ...token, origin: 'https://evil.example' },
      'an opaque origin': { cookie, ...token, origin: 'null' },
      'another origin and our referrer': {
        cookie,
        ...token,
        origin: 'https://evil.example',
        referer: `${origin}/console`,
      },
      'a host that begins like ours': { cookie, ...token, referer: `${origin}.evil.example/` },
      'our address in the path of another': { cookie, ...token, referer: `https://evil.example/${origin}` },
      'an Authorization header besides': { ...headers, authorization: 'Bearer x' },
      'an empty Authorization header': { ...headers, authorization: '' },
    }
    for (const [which, sent] of Object.entries(refused)) {
      assert.equal((await send(address, 'GET', sent)).status, 401, which)
      const changed = await send(address, 'PATCH', sent, { description: 'changed' })
      assert.equal(changed.status, 401, which)
    }
    assert.equal((await organization.owner.api.get(`iam/groups/${organization.uid}`)).body.description, '')
    // Plain http addresses: browsers state no Sec-Fetch-Site.
    assert.equal((await send(address, 'GET', { cookie, ...token, referer: `${origin}/console` })).status, 200)
    assert.equal(
      (await send(address, 'PATCH', { cookie, ...token, origin }, { description: 'x' })).status,
      200,
    )
  })

  test('only REST accepts the session: not the registry, its tokens, nor the exchange', async () => {
    const { headers } = await asOwner()
    const { url: server } = cast().berth
    assert.equal((await send(`${server}/v2/`, 'GET', headers)).status, 401)
    const token = await send(`${server}/token?service=x&scope=repository:a/b:push`, 'GET', headers)
    // An anonymous token at most.
    assert.ok(token.status !== 200 || token.body.token !== undefined)
    if (token.status === 200) {
      const [, claims = ''] = String(token.body.token).split('.')
      assert.doesNotMatch(Buffer.from(claims, 'base64url').toString(), /"push"/)
    }
    assert.equal((await send(`${server}/sts/exchange?aud=${server}`, 'POST', headers)).status, 401)
    await assert.rejects(
      cast().grpc.call(GroupsService.method.listGroups, {}, { metadata: headers }),
      (error: { code?: number }) => error.code === 16,
    )
  })

  test('ends with the session, from the next request on', async () => {
    const { organization, headers, browser, csrfToken: form_token } = await asOwner()
    const address = url(`iam/groups/${organization.uid}`)
    assert.equal((await send(address, 'GET', headers)).status, 200)
    assert.equal((await browser.post('/sign-out', { form_token })).path, '/sign-in?done=signed-out')
    assert.equal((await send(address, 'GET', headers)).status, 401)
    const identity = await createPerson(cast().berth)
    const { id, secret } = await createSession(
      cast().berth,
      { identity, method: 'password' },
      { kind: 'browser' },
    )
    const other = webBrowser(cast().berth.url)
    other.cookies.set('berth', secret)
    const { csrfToken = '' } = await sessionOf(other)
    const sent = { cookie: `berth=${secret}`, 'x-berth-csrf': csrfToken, ...sameOrigin }
    assert.equal((await send(url('iam/groups'), 'GET', sent)).status, 200)
    await endSession(cast().berth, id)
    assert.equal((await send(url('iam/groups'), 'GET', sent)).status, 401)
  })

  test('the secret of a client session is no cookie of a browser', async () => {
    const identity = await createPerson(cast().berth)
    const { secret } = await createSession(cast().berth, { identity })
    const { csrfToken } = await asOwner()
    const sent = { cookie: `berth=${secret}`, 'x-berth-csrf': csrfToken, ...sameOrigin }
    assert.equal((await send(url('iam/groups'), 'GET', sent)).status, 401)
  })

  test('session fixation: a cookie from before the sign-in is no session afterwards', async () => {
    const { berth } = cast()
    const { account } = await localAccount(berth, `${newName('ada')}@example.com`)
    const victim = webBrowser(berth.url)
    const page = await victim.open('/sign-in?request=/console')
    const planted = victim.cookies.get('berth') ?? ''
    const after = await victim.submit(page, { email: account.email, password: PASSWORD })
    assert.equal(after.path, '/console', after.text)
    const { csrfToken = '' } = await sessionOf(victim)
    assert.notEqual(victim.cookies.get('berth'), planted)
    for (const token of [csrfToken, page.forms[0]?.fields['form_token'] ?? '']) {
      const sent = { cookie: `berth=${planted}`, 'x-berth-csrf': token, ...sameOrigin }
      assert.equal((await send(url('iam/groups'), 'GET', sent)).status, 401)
    }
  })

  test('R12: a session through the provider of an organization is worth as much as its tokens', async () => {
    const [ours, theirs] = [await cast().organization(), await cast().organization()]
    const { uid: provider } = await ours.owner.api.create(`iam/identityProviders/${ours.uid}`, {
      name: newName('idp'),
      defaultRole: managedRole('viewer'),
      oidc: { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'correct horse' },
    })
    const identity = await createPerson(cast().berth, { voucher: voucherOf(provider) })
    for (const { uid } of [ours, theirs])
      await cast().admin.create(`iam/roleBindings/${uid}`, {
        identityUid: identity,
        roleUid: managedRole('owner'),
      })
    const bound = await signedIn(identity, { method: 'provider', voucher: voucherOf(provider) })
    assert.equal((await send(url(`iam/groups/${ours.uid}`), 'GET', bound.headers)).status, 200)
    assert.equal((await send(url(`iam/groups/${theirs.uid}`), 'GET', bound.headers)).status, 403)
    const everywhere = await signedIn(identity)
    assert.equal((await send(url(`iam/groups/${theirs.uid}`), 'GET', everywhere.headers)).status, 200)
    const { installation } = cast().berth.berth
    await organizationSettings(installation, ours.uid, { status: 'suspended', limits: new Map() })
    assert.equal((await send(url(`iam/groups/${ours.uid}`), 'GET', everywhere.headers)).status, 403)
    assert.equal((await ours.owner.api.delete(`iam/identityProviders/${provider}`)).status, 403)
    await organizationSettings(installation, ours.uid, { status: 'ready', limits: new Map() })
    assert.equal((await ours.owner.api.delete(`iam/identityProviders/${provider}`)).status, 200)
    assert.equal((await send(url(`iam/groups/${ours.uid}`), 'GET', bound.headers)).status, 401)
  })

  test('clickjacking and cross-origin reads: no page may frame the console, and no other origin reads it', async () => {
    const { browser } = await asOwner()
    const { headers } = await browser.open('/console')
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin')
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    assert.equal(headers.get('cache-control'), 'no-store')
    const policy = headers.get('content-security-policy') ?? ''
    for (const part of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "script-src 'self'",
      "base-uri 'none'",
    ])
      assert.ok(policy.split('; ').includes(part), part)
    assert.doesNotMatch(policy, /unsafe|\*|data:|http/)
    assert.equal(headers.get('access-control-allow-origin'), null)
    const missing = await send(`${cast().berth.url}/console-assets/none.js`, 'GET', {})
    assert.equal(missing.status, 404)
  })

  test('XSS: names of users cannot end the data in the page, and its files are what was built', async () => {
    const { browser } = await asOwner()
    const { html } = await browser.open('/console/%3C%2Fscript%3E%3Cscript%3Ealert(1)')
    assert.doesNotMatch(html, /alert\(1\)/)
    assert.doesNotMatch(html, /<script(?![^>]* src=)(?! type="application\/json")/)
  })

  test('login CSRF: a link to a provider with a page of the console asks before it signs in', async () => {
    const { owner, uid } = await cast().organization()
    const { uid: provider } = await owner.api.create(`iam/identityProviders/${uid}`, {
      name: newName('idp'),
      defaultRole: managedRole('viewer'),
      oidc: { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'correct horse' },
    })
    const browser = webBrowser(cast().berth.url, { follow: false })
    const asked = await browser.open(`/sign-in/provider?with=${provider}&request=%2Fconsole`)
    assert.equal(asked.status, 200)
    assert.equal(asked.redirectedTo, undefined)
  })

  test('a signed-out browser is sent to the sign-in, and returns to the page, never to another host', async () => {
    const { berth } = cast()
    const { account } = await localAccount(berth, `${newName('grace')}@example.com`)
    const browser = webBrowser(berth.url)
    const page = await browser.open('/console/folders/abc?tab=people')
    assert.match(page.path, /^\/sign-in\?request=/)
    const wrong = await browser.submit(page, { email: account.email, password: 'wrong' })
    assert.equal(wrong.status, 401)
    const after = await browser.submit(wrong, { email: account.email, password: PASSWORD })
    assert.equal(after.path, '/console/folders/abc?tab=people')
    const signedInAlready = await browser.open(`/sign-in?request=${encodeURIComponent('/console/x')}`)
    assert.equal(signedInAlready.path, '/console/x')
    for (const path of [
      '//evil.example',
      '/console.evil.example',
      '/consolex',
      '/console/\\evil',
      'https://evil.example',
    ]) {
      const refused = await webBrowser(berth.url).open(`/sign-in?request=${encodeURIComponent(path)}`)
      assert.equal(refused.status, 404, path)
    }
  })
})

onEveryDatabase(
  'the session of the console, with CORS',
  (cast) => {
    test('an origin that may call the API with tokens cannot use the session', async () => {
      const { url } = cast().berth
      const origin = 'https://portal.example'
      const preflight = await send(`${url}/iam/v2beta1/groups`, 'OPTIONS', {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-berth-csrf',
      })
      assert.doesNotMatch(String(preflight.headers['access-control-allow-headers']), /x-berth-csrf/)
      assert.equal(preflight.headers['access-control-allow-credentials'], undefined)
      const browser = await createSignedInBrowser(cast().berth, cast().berth.owner)
      const { csrfToken = '' } = await sessionOf(browser)
      const headers = { cookie: `berth=${browser.cookies.get('berth')}`, 'x-berth-csrf': csrfToken, origin }
      assert.equal((await send(`${url}/iam/v2beta1/groups`, 'GET', headers)).status, 401)
    })
  },
  { env: { BERTH_CORS_ORIGINS: 'https://portal.example' } },
)
