import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { databases } from './support/database/databases.ts'
import { rawConnection } from './support/http/port.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import { localAccount } from './support/signin/local-accounts.ts'
import { postForm } from './support/signin/oauth.ts'
import { createSignedInBrowser, type WebBrowser, webBrowser } from './support/signin/web-browser.ts'

/** Pages and OAuth endpoints in the request pipeline: limits, authentication and authorization before the body, and observation. */

const cookieOf = (browser: WebBrowser) => `berth=${browser.cookies.get('berth')}`

const counted = async (url: string, method: string, code: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  const series = `berth_requests_total{method="${method}",protocol="rest",code="${code}"} `
  const line = text.split('\n').find((candidate) => candidate.startsWith(series))
  return Number(line?.slice(series.length) ?? 0)
}

for (const database of databases) {
  describe(`pages in the request pipeline (${database.name})`, () => {
    let berth: TestBerth
    before(async () => {
      berth = await startTestBerth(database)
    })
    after(() => berth.stop())

    test('R28: a form for signed-in users is rejected before its body arrives', async (t) => {
      const elsewhere = await createPerson(berth)
      const ofProvider = cookieOf(await createSignedInBrowser(berth, elsewhere, { method: 'provider' }))
      for (const path of ['/account/name', '/account/passkeys/options', '/account/sessions/end-others']) {
        const connection = await rawConnection(t, Number(new URL(berth.url).port))
        connection.socket.write(
          `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 60000\r\n\r\nname=`,
        )
        assert.match(await connection.until('\r\n\r\n'), /^HTTP\/1.1 401 /, path)
      }
      const connection = await rawConnection(t, Number(new URL(berth.url).port))
      connection.socket.write(
        `POST /account/password HTTP/1.1\r\nhost: a\r\ncookie: ${ofProvider}\r\ncontent-length: 60000\r\n\r\ncurrent=`,
      )
      assert.match(await connection.until('\r\n\r\n'), /^HTTP\/1.1 400 /)
    })

    test('pages of an account send signed-out browsers to the sign-in page, and their forms get an error', async () => {
      const browser = webBrowser(berth.url, { follow: false })
      for (const path of ['/account', '/account/delete']) {
        const page = await browser.open(path)
        assert.equal(page.status, 303, path)
        assert.equal(page.redirectedTo?.pathname, '/sign-in', path)
      }
      const refused = await browser.post('/account/name', { name: 'Eve' })
      assert.equal(refused.status, 401)
      assert.match(refused.text, /You are no longer signed in\. Sign in and try again\./)
    })

    test('every page and OAuth request is counted under its name, with the code of its response', async () => {
      const requests = [
        ['berth.signin/ShowSignIn', 'OK', () => fetch(`${berth.url}/sign-in`)],
        ['berth.signin/ShowAccount', 'UNAUTHENTICATED', () => fetch(`${berth.url}/account`)],
        ['berth.signin/ShowSetup', 'NOT_FOUND', () => fetch(`${berth.url}/setup?code=wrong`)],
        ['berth.signin/OpenInvite', 'PERMISSION_DENIED', () => webBrowser(berth.url).post('/invite', {})],
        ['berth.signin/Authorize', 'INVALID_ARGUMENT', () => fetch(`${berth.url}/oauth/authorize`)],
        ['berth.signin/IssueTokens', 'INVALID_ARGUMENT', () => postForm(berth.url, '/oauth/token', {})],
        ['berth.signin/CheckOrganization', 'OK', () => fetch(`${berth.url}/orgcheck?name=none.example`)],
        ['berth.registry.v1.Distribution/IssueToken', 'OK', () => fetch(`${berth.url}/token`)],
        [
          'berth.registry.v1.Distribution/IssueToken',
          'UNAUTHENTICATED',
          () => fetch(`${berth.url}/token`, { headers: { authorization: 'Basic eA==' } }),
        ],
      ] as const
      for (const [method, code, request] of requests) {
        const before = await counted(berth.url, method, code)
        await request()
        assert.equal(await counted(berth.url, method, code), before + 1, `${method} ${code}`)
      }
    })

    test('a form with the token of another browser is a denial in the audit log of its user', async () => {
      const { account, browser } = await localAccount(berth, 'denied@example.com')
      const refused = await browser.post('/account/name', { form_token: 'of another', name: 'Eve' })
      assert.equal(refused.status, 403)
      const { db } = berth.berth.installation.store
      const read = () =>
        db.kysely
          .selectFrom('audit_events')
          .select(['method', 'code'])
          .where('root', '=', account.identity_uid)
          .where('code', '!=', 0)
          .execute()
      let events = await read()
      // Denials are written a second at a time.
      for (let tries = 0; events.length === 0 && tries < 100; tries++) {
        await sleep(100)
        events = await read()
      }
      assert.deepEqual(
        events.map(({ method, code }) => [method, code]),
        [['berth.signin/UpdateAccount', 7]],
      )
    })
  })

  describe(`rate limits of pages (${database.name})`, () => {
    let berth: TestBerth
    before(async () => {
      berth = await startTestBerth(database, {
        env: {
          BERTH_RATE_LIMITS: 'read=2/1h,write=1000/1h',
          BERTH_RATE_LIMITS_ADDRESS: 'read=1000/1h,write=6/1h',
        },
      })
    })
    after(() => berth.stop())

    test('the pages of one user are limited together, in all browsers, and say when to try again', async () => {
      const identity = await createPerson(berth)
      const browsers = [
        await createSignedInBrowser(berth, identity),
        await createSignedInBrowser(berth, identity),
        await createSignedInBrowser(berth, identity),
      ]
      const [first, second, third] = await Promise.all(
        browsers.map((browser, at) => sleep(at).then(() => browser.open('/account'))),
      )
      const statuses = [first, second, third].map((page) => page?.status).sort()
      assert.deepEqual(statuses, [200, 200, 429])
      const limited = [first, second, third].find((page) => page?.status === 429)
      assert.match(limited?.text ?? '', /Too many attempts.*one identity may make 2 read calls in 3600 s/i)
      assert.ok(Number(limited?.headers.get('retry-after')) > 3000)
      assert.equal(limited?.headers.get('ratelimit-remaining'), '0')
      assert.match(limited?.headers.get('content-security-policy') ?? '', /default-src 'none'/)
      // Browsers without a signed-in user have no identity to count.
      for (let i = 0; i < 4; i++) assert.equal((await fetch(`${berth.url}/sign-in`)).status, 200)
    })

    test('the writes of one address are limited, forms and OAuth requests together, before anything is read', async (t) => {
      for (let i = 0; i < 6; i++)
        assert.equal((await postForm(berth.url, '/oauth/token', {})).status, 400, String(i))
      const limited = await postForm(berth.url, '/oauth/token', {})
      assert.equal(limited.status, 429)
      assert.equal(limited.body.error, 'temporarily_unavailable')
      assert.ok(Number(limited.headers.get('retry-after')) > 3000)
      assert.equal(limited.headers.get('cache-control'), 'no-store')
      const connection = await rawConnection(t, Number(new URL(berth.url).port))
      connection.socket.write('POST /sign-in/password HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n')
      assert.match(await connection.until('\r\n\r\n'), /^HTTP\/1.1 429 /)
    })
  })
}
