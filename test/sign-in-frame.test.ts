import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newName } from './support/api/api-fixture.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { openInvite } from './support/signin/invites.ts'
import { localAccount, sendForm, setPassword, setupPath } from './support/signin/local-accounts.ts'
import { type WebBrowser, type WebPage, webBrowser } from './support/signin/web-browser.ts'

/** What holds for every page of the sign-in. */

const [database] = databases
if (database === undefined) throw new Error('no database')

const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

const pages = [
  '/sign-in',
  '/sign-in?again',
  '/sign-in?done=signed-out',
  '/sign-in?request=unknown',
  '/sign-in/nowhere',
  '/sign-in/second-factor',
  '/sign-in/register?request=x',
  '/sign-in/choose-password?code=x',
  '/sign-in/provider?with=x',
  '/sign-in/password',
  '/sign-out',
  '/setup',
  '/setup?code=x',
  '/account',
  '/account/delete',
  '/account/nowhere',
  '/account/passkeys/options',
  '/device',
  '/invite',
  '/oauth/continue?request=x',
  '/oauth/callback?state=x',
]

const postOnly = [
  '/sign-in/password',
  '/sign-in/passkey',
  '/sign-in/passkey/options',
  '/sign-in/second-factor/options',
  '/sign-out',
  '/account/name',
  '/account/password',
  '/account/second-factor',
  '/account/passkeys',
  '/account/passkeys/rename',
  '/account/passkeys/remove',
  '/account/sessions/end',
  '/account/sessions/end-others',
]

const MARK = `"'><img src=x onerror=alert(1)><script>alert(2)</script>&amp;`

describe('the layout of the sign-in pages', () => {
  let berth: TestBerth
  let setup: string
  before(async () => {
    berth = await startTestBerth(database)
    setup = await setupPath(berth)
  })
  after(() => berth.stop())

  test(`${pages.length} pages, found or not, have the strict policy and are not cached`, async () => {
    for (const path of pages) {
      const answer = await fetch(berth.url + path, { redirect: 'manual' })
      assert.ok(answer.status < 500, `${path}: ${answer.status}`)
      assert.equal(answer.headers.get('content-security-policy'), POLICY, path)
      assert.equal(answer.headers.get('cache-control'), 'no-store', path)
      assert.equal(answer.headers.get('referrer-policy'), 'no-referrer', path)
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', path)
      assert.equal(answer.headers.get('x-frame-options'), 'DENY', path)
      const html = await answer.text()
      if (html !== '')
        assert.match(answer.headers.get('content-type') ?? '', /^text\/html; charset=utf-8$/i, path)
      assert.doesNotMatch(html, /<script(?![^>]*\bsrc="\/)[^>]*>|<style|\son\w+=|style="/i, path)
      assert.doesNotMatch(html, /(src|href|action)="(?!\/)/, `${path} leads elsewhere`)
    }
    assert.deepEqual(berth.errors, [])
  })

  test('an unknown path gets an error page', async () => {
    const page = await webBrowser(berth.url).open('/sign-in/nowhere')
    assert.equal(page.status, 404)
    assert.match(page.text, /This page does not exist/)
  })

  test(`${postOnly.length} paths for forms only, and one without forms, reject other methods`, async () => {
    for (const path of postOnly) {
      const answer = await fetch(berth.url + path, { redirect: 'manual' })
      assert.equal(answer.status, 405, path)
      assert.equal(answer.headers.get('allow'), 'POST', path)
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await fetch(`${berth.url}/sign-in`, { method })
      assert.equal(answer.status, 405, method)
      assert.equal(answer.headers.get('allow'), 'GET, HEAD', method)
    }
    const head = await fetch(`${berth.url}/sign-in`, { method: 'HEAD' })
    assert.equal(head.status, 200)
  })

  test('the stylesheet and scripts can be cached indefinitely, and are revalidated by their ETags', async () => {
    const page = await (await fetch(`${berth.url}/sign-in`)).text()
    const [, css = ''] = /href="(\/sign-in\/assets\/[^"]+\.css)"/.exec(page) ?? []
    const types = {
      'berth.css': /^text\/css/,
      'passkey.js': /^text\/javascript/,
      'webauthn.js': /^text\/javascript/,
    }
    for (const [name, type] of Object.entries(types)) {
      const address = berth.url + css.replace('berth.css', name)
      const answer = await fetch(address)
      assert.equal(answer.status, 200, name)
      assert.match(answer.headers.get('content-type') ?? '', type)
      assert.match(answer.headers.get('cache-control') ?? '', /immutable/)
      const etag = answer.headers.get('etag') ?? ''
      assert.equal((await fetch(address, { headers: { 'if-none-match': etag } })).status, 304)
      assert.equal((await fetch(address, { headers: { 'if-none-match': '"other"' } })).status, 200)
    }
    for (const path of [
      '/sign-in/assets/',
      '/sign-in/assets/x/berth.css',
      css.replace('berth.css', '..%2fapp.ts'),
    ])
      assert.equal((await fetch(berth.url + path)).status, 404, path)
  })

  test('the cookie is HttpOnly, and over https limited to this host', async () => {
    const plain = (await fetch(`${berth.url}/sign-in`)).headers.getSetCookie()
    assert.equal(plain.length, 1)
    assert.match(plain[0] ?? '', /^berth=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; SameSite=Lax$/)
    const behind = await startTestBerth(database, { env: { BERTH_AUTH_URL: 'https://login.example' } })
    try {
      const [cookie] = (await fetch(`${behind.url}/sign-in`)).headers.getSetCookie()
      assert.match(
        cookie ?? '',
        /^__Host-berth=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      )
    } finally {
      await behind.stop()
    }
  })

  test('R39: links and forms do not follow the Host header', async () => {
    const { request } = await import('node:http')
    const { port } = new URL(berth.url)
    const html = await new Promise<string>((resolve, reject) => {
      const options = {
        port,
        path: '/sign-in',
        headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
      }
      request(options, (response) => {
        let text = ''
        response.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text))
      })
        .on('error', reject)
        .end()
    })
    assert.match(html, /Sign in/)
    assert.doesNotMatch(html, /evil/)
  })

  const quoted = encodeURIComponent(MARK)
  const reflections: Readonly<Record<string, (browser: WebBrowser) => Promise<WebPage>>> = {
    'the email of a failed sign-in': (browser) => setPassword(browser, MARK, 'wrong wrong wrong'),
    'the request of a sign-in': (browser) => browser.open(`/sign-in?request=${quoted}`),
    'the news of a sign-in': (browser) => browser.open(`/sign-in?done=${quoted}&again=${quoted}`),
    'a path': (browser) => browser.open(`/sign-in/${quoted}`),
    'the code of a setup link': (browser) => browser.open(`/setup?code=${quoted}`),
    'the fields of a setup': async (browser) => {
      const page = await browser.open(setup)
      return browser.submit(page, { name: MARK, email: MARK, organization: MARK, password: MARK })
    },
    'the code of a password link': (browser) => browser.open(`/sign-in/choose-password?code=${quoted}`),
    'the request of a second factor': (browser) => browser.open(`/sign-in/second-factor?request=${quoted}`),
    'the name of a provider': (browser) => browser.open(`/sign-in/provider?with=${quoted}`),
    'the name of an organization': (browser) => browser.open(`/sign-in/provider?organization=${quoted}`),
    'the error of a provider': (browser) => browser.open(`/oauth/callback?error=${quoted}&state=${quoted}`),
    'the code of an invite': (browser) => openInvite(browser, MARK),
    'the code of a reset': async (browser) =>
      sendForm(browser, await browser.open('/sign-in/reset-password'), '/sign-in/reset-password', {
        code: MARK,
      }),
    'the code of a device': (browser) => browser.open(`/device?user_code=${quoted}`),
    'the news of an account': async (browser) => {
      await localAccount(berth, `${newName('ada')}@example.com`, browser)
      return browser.open(`/account?done=${quoted}`)
    },
    'a name and a browser': async () => {
      const own = webBrowser(berth.url, { headers: { 'user-agent': MARK } })
      await localAccount(berth, `${newName('ada')}@example.com`, own)
      return sendForm(own, await own.open('/account'), '/account/name', { name: MARK })
    },
    'the address that deletes an account': async (browser) => {
      await localAccount(berth, `${newName('ada')}@example.com`, browser)
      const page = await browser.open('/account/delete')
      return sendForm(browser, page, '/account/delete', { email: MARK })
    },
  }
  test(`R29: ${Object.keys(reflections).length} untrusted texts are escaped on the page that contains them`, async () => {
    for (const [what, reflect] of Object.entries(reflections)) {
      const { html, status } = await reflect(webBrowser(berth.url))
      assert.ok(status < 500, `${what}: ${status}`)
      assert.match(html, /<main>/, what)
      assert.doesNotMatch(
        html,
        /<img(?! src="\/sign-in\/assets\/)|<script(?! (?:defer|type="module") src="\/sign-in\/)|onerror=alert\(1\)>/i,
        what,
      )
    }
    assert.deepEqual(berth.errors, [])
  })
})

test('an internal error is logged, and the page shows only the request id', async () => {
  const berth = await startTestBerth(database)
  try {
    const { kysely } = berth.berth.installation.store.db
    await kysely.schema.alterTable('sessions').renameTo('elsewhere').execute()
    const browser = webBrowser(berth.url)
    browser.cookies.set('berth', 'x'.repeat(43))
    const page = await browser.open('/sign-in')
    assert.equal(page.status, 500)
    const id = page.headers.get('x-request-id') ?? '?'
    assert.equal(page.text, `Something went wrong The server failed on request ${id}. Go to the start page`)
    assert.equal(berth.errors.length, 1)
    assert.equal(page.headers.get('content-security-policy'), POLICY)
    await kysely.schema.alterTable('elsewhere').renameTo('sessions').execute()
  } finally {
    await berth.stop()
  }
})
