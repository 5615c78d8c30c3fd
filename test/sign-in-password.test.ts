import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { createAccount, setAccountDisabled } from '@berth/server/signin/accounts/accounts.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import type { AccountRow } from '@berth/server/storage/schema/tables.ts'
import { newName } from './support/api/api-fixture.ts'
import { type Fields, type WebBrowser, webBrowser } from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import {
  isSignedIn,
  localAccount,
  newLocalAccount,
  PASSWORD,
  passwordPath,
  sendForm,
  setPassword,
} from './support/signin/local-accounts.ts'

for (const database of databases) {
  describe(`signing in with a password (${database.name})`, () => {
    let berth: TestBerth
    let email: string
    let account: AccountRow
    before(async () => {
      berth = await startTestBerth(database, { env: { BERTH_TRUSTED_PROXIES: '127.0.0.0/8' } })
      email = `${newName('ada')}@example.com`
      ;({ account } = await localAccount(berth, email))
    })
    after(() => berth.stop())

    test('the correct password signs in, in any spelling of the address, and signing out ends the session', async () => {
      const browser = webBrowser(berth.url)
      const page = await setPassword(browser, ` ${email.toUpperCase()} `)
      assert.equal(page.path, '/')
      assert.equal((await browser.open('/sign-in')).path, '/')
      const secret = browser.cookies.get('berth') ?? ''
      const token = /name="form_token" value="([^"]+)"/.exec((await browser.open('/start')).html)?.[1]
      const out = await browser.post('/sign-out', { form_token: token })
      assert.match(out.text, /You are signed out/)
      assert.equal(await isSignedIn(browser), false)
      const thief = webBrowser(berth.url)
      thief.cookies.set('berth', secret)
      assert.equal(await isSignedIn(thief), false)
    })

    test('a wrong password and an unknown address get the same response', async () => {
      const [wrong, unknown] = [
        await setPassword(webBrowser(berth.url), email, 'another password'),
        await setPassword(webBrowser(berth.url), 'nobody@example.com', 'another password'),
      ]
      for (const page of [wrong, unknown]) {
        assert.equal(page.status, 401)
        assert.match(page.text, /Incorrect email or password\./)
      }
      assert.equal(wrong.text.replaceAll(email, ''), unknown.text.replaceAll('nobody@example.com', ''))
    })

    test('a cookie that was set before the sign-in is invalid after it (session fixation)', async () => {
      const planted = webBrowser(berth.url)
      await planted.open('/sign-in')
      const victim = webBrowser(berth.url)
      victim.cookies.set('berth', planted.cookies.get('berth') ?? '')
      await setPassword(victim, email)
      assert.ok(await isSignedIn(victim))
      assert.notEqual(victim.cookies.get('berth'), planted.cookies.get('berth'))
      assert.equal(await isSignedIn(planted), false)
    })

    test('signing in again ends the previous session', async () => {
      const browser = webBrowser(berth.url)
      await setPassword(browser, email)
      const earlier = webBrowser(berth.url)
      earlier.cookies.set('berth', browser.cookies.get('berth') ?? '')
      await setPassword(browser, email)
      assert.ok(await isSignedIn(browser))
      assert.equal(await isSignedIn(earlier), false)
    })

    test('R12: disabling an account ends its sessions immediately, and its correct password is rejected', async () => {
      const { store } = berth.berth.installation
      const eve = `${newName('eve')}@example.com`
      const { account: hers, browser } = await localAccount(berth, eve)
      const turn = (disabled: boolean) =>
        inTransaction(store.db, (tx) => setAccountDisabled(store, tx, hers, disabled))
      await turn(true)
      assert.equal(await isSignedIn(browser), false)
      const refused = await setPassword(browser, eve)
      assert.equal(refused.status, 403)
      assert.match(refused.text, /disabled/)
      assert.equal((await setPassword(webBrowser(berth.url), eve, 'wrong wrong wrong')).status, 401)
      await turn(false)
      assert.equal((await setPassword(browser, eve)).path, '/')
    })

    test('a sign-in renews a hash with outdated parameters', async () => {
      const { store } = berth.berth.installation
      const old = `${newName('old')}@example.com`
      // "purple wagon sings loudly" with 8 MiB and one pass.
      const { argon2Sync } = await import('node:crypto')
      const nonce = Buffer.from('0123456789abcdef')
      const tag = argon2Sync('argon2id', {
        message: PASSWORD,
        nonce,
        parallelism: 1,
        tagLength: 32,
        memory: 8192,
        passes: 1,
      })
      const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
      const passwordHash = `$argon2id$v=19$m=8192,t=1,p=1$${base64(nonce)}$${base64(tag)}`
      const { id } = await inTransaction(store.db, (tx) =>
        createAccount(store, tx, berth.url, { email: old, name: 'Old', passwordHash }),
      )
      const hash = async () =>
        (await store.db.kysely.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst())
          ?.password_hash ?? ''
      assert.equal((await setPassword(webBrowser(berth.url), old, 'not this password')).status, 401)
      assert.equal(await hash(), passwordHash)
      assert.equal((await setPassword(webBrowser(berth.url), old)).path, '/')
      assert.match(await hash(), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      assert.equal((await setPassword(webBrowser(berth.url), old)).path, '/')
    })

    describe('a link to choose a password', () => {
      test('works once, and signs its owner out everywhere else', async () => {
        const mine = `${newName('mia')}@example.com`
        const { account: hers, browser } = await localAccount(berth, mine)
        const row = await currentRow(berth, hers.id)
        const [path, other] = [await passwordPath(berth, row), await passwordPath(berth, row)]
        const named = webBrowser(berth.url)
        const refused = await named.submit(await named.open(path), { password: 'ada-lovelace-ada' })
        assert.match(`${refused.status} ${refused.text}`, /^400 .*name, your email/s)
        const opened = await Promise.all(
          [path, path, path, path].map(async (each) => {
            const one = webBrowser(berth.url)
            return { one, page: await one.open(each) }
          }),
        )
        const pages = await Promise.all(
          opened.map(({ one, page }) => one.submit(page, { password: 'another purple wagon' })),
        )
        assert.deepEqual(pages.map((page) => page.status).sort(), [200, 404, 404, 404])
        assert.equal(await isSignedIn(browser), false)
        assert.equal((await webBrowser(berth.url).open(path)).status, 404)
        assert.equal((await webBrowser(berth.url).open(other)).status, 404, 'another password is chosen')
        assert.equal((await setPassword(webBrowser(berth.url), mine)).status, 401)
        assert.equal((await setPassword(webBrowser(berth.url), mine, 'another purple wagon')).path, '/')
      })

      test('expires after setupLinkMs', async () => {
        const path = await passwordPath(berth, await newLocalAccount(berth, `${newName('late')}@example.com`))
        assert.equal((await webBrowser(berth.url).open(path)).status, 200)
        berth.advance(limits.setupLinkMs)
        assert.equal((await webBrowser(berth.url).open(path)).status, 404)
      })
    })

    const refusals: Readonly<Record<string, (browser: WebBrowser, good: Fields) => Promise<number>>> = {
      'no form token': async (browser, good) => status(browser, { ...good, form_token: undefined }),
      'an empty form token': async (browser, good) => status(browser, { ...good, form_token: '' }),
      'a wrong form token': async (browser, good) => status(browser, { ...good, form_token: 'x'.repeat(43) }),
      'the form token of another browser': async (browser, good) => {
        const other = await webBrowser(berth.url).open('/sign-in')
        return status(browser, { ...good, form_token: other.forms[0]?.fields['form_token'] })
      },
      'the form of this browser in another one': async (_, good) => status(webBrowser(berth.url), good),
      'a form token from before the sign-in': async (browser, good) => {
        const own = webBrowser(berth.url)
        const before = (await own.open('/sign-in')).forms[0]?.fields['form_token']
        await setPassword(own, email)
        return (await own.post('/sign-out', { form_token: before })).status === 403
          ? status(browser, { ...good, form_token: before })
          : 0
      },
      'another content type': async (browser, good) => raw(browser, JSON.stringify(good), 'application/json'),
      'a form with files': async (browser, good) => {
        const form = new FormData()
        for (const [name, value] of Object.entries(good)) form.append(name, value ?? '')
        return raw(browser, form)
      },
      'no content type': async (browser, good) =>
        raw(browser, Buffer.from(new URLSearchParams(good as Record<string, string>).toString())),
      'a form of 65 KiB': async (browser, good) =>
        raw(browser, new URLSearchParams({ ...good, more: 'x'.repeat(65 * 1024) } as Record<string, string>)),
      'a field of formFieldCharsMax and one more': async (browser, good) =>
        status(browser, { ...good, more: 'x'.repeat(limits.formFieldCharsMax + 1) }),
      'formFieldsMax fields and one more': async (browser, good) =>
        status(browser, {
          ...good,
          ...Object.fromEntries(Array.from({ length: limits.formFieldsMax }, (_, at) => [`f${at}`, ''])),
        }),
      'a request that never was': async (browser, good) =>
        status(browser, { ...good, request: 'x'.repeat(43) }),
      'no email': async (browser, good) => status(browser, { ...good, email: undefined }),
      'no password': async (browser, good) => status(browser, { ...good, password: undefined }),
      'the password of another user': async (browser, good) => {
        const other = `${newName('bob')}@example.com`
        await newLocalAccount(berth, other)
        return status(browser, { ...good, email: other })
      },
    }
    const status = async (browser: WebBrowser, fields: Fields) =>
      (await browser.post('/sign-in/password', fields)).status
    const raw = async (browser: WebBrowser, body: RequestInit['body'], type?: string) => {
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const answer = await fetch(`${berth.url}/sign-in/password`, {
        method: 'POST',
        body: body as string,
        headers: { cookie, ...(type === undefined ? {} : { 'content-type': type }) },
        redirect: 'manual',
      })
      return answer.status
    }

    test(`${Object.keys(refusals).length} invalid forms do not sign in`, async () => {
      // Each from an address of its own: wrong guesses are not what is tested here.
      let at = 1
      for (const [what, send] of Object.entries(refusals)) {
        at++
        const browser = webBrowser(berth.url, { headers: { 'x-forwarded-for': `192.0.2.${at}` } })
        const page = await browser.open('/sign-in')
        const good = { ...page.forms[0]?.fields, email, password: PASSWORD }
        const answered = await send(browser, good)
        assert.ok([400, 401, 403, 404, 413, 415].includes(answered), `${what}: ${answered}`)
        assert.equal(await isSignedIn(browser), false, what)
      }
    })

    test('successful and failed sign-ins are in the audit log', async () => {
      const { db } = berth.berth.installation.store
      await setPassword(webBrowser(berth.url), email)
      const readEvents = () =>
        db.kysely
          .selectFrom('audit_events')
          .select(['method', 'code'])
          .where('root', '=', account.identity_uid)
          .execute()
      // Failed ones are written within seconds.
      const events = await eventually(readEvents, (found) =>
        found.some(({ method, code }) => method === 'berth.signin/Password' && code === 16),
      )
      const methods = events.filter(({ code }) => code === 0).map(({ method }) => method)
      assert.ok(methods.includes('berth.signin/Password'))
      assert.ok(methods.includes('berth.signin/ChoosePassword'))
      assert.ok(methods.includes('berth.signin/SignOut'))
    })

    test('a form of an expired page gets an explanation', async () => {
      const browser = webBrowser(berth.url)
      await setPassword(browser, email)
      const page = await browser.open('/account')
      browser.cookies.clear()
      const answer = await sendForm(browser, page, '/account/name', { name: 'Eve' })
      assert.equal(answer.status, 401)
      assert.match(answer.text, /no longer signed in/)
    })
  })
}

async function currentRow({ berth }: TestBerth, id: string): Promise<AccountRow> {
  return berth.installation.store.db.kysely
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
}
