import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { setAccountDisabled, updateAccount } from '@berth/server/signin/accounts/accounts.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import type { AccountRow } from '@berth/server/storage/schema/tables.ts'
import { newName } from './support/api/api-fixture.ts'
import { type WebPage, webBrowser } from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { startBerthWithMail } from './support/mail/berth-with-mail.ts'
import type { MailServer } from './support/mail/mail-server.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { insertPasskey } from './support/signin/accounts.ts'
import {
  isSignedIn,
  localAccount,
  newLocalAccount,
  PASSWORD,
  sendForm,
  setPassword,
} from './support/signin/local-accounts.ts'

const NEW_PASSWORD = 'quiet river under seven bridges'
const FORGOT = '/sign-in/forgot-password'
const RESET = '/sign-in/reset-password'

for (const database of databases)
  describe(`resetting a forgotten password by email (${database.name})`, () => {
    const clean = cleanups()
    let mail: MailServer
    let berth: TestBerth
    before(async () => {
      ;({ berth, mail } = await startBerthWithMail(database, clean))
    })
    after(() => clean.run())

    const kysely = () => berth.berth.installation.store.db.kysely
    const newEmail = () => `${newName('ada')}@example.com`
    /** Each client has an address of its own, because requests are limited by it. */
    const client = () =>
      webBrowser(berth.url, { headers: { 'x-forwarded-for': `2001:db8:${newName('').slice(1, 5)}::1` } })
    const request = async (email: string, browser = client()): Promise<WebPage> =>
      sendForm(browser, await browser.open(FORGOT), FORGOT, { email })
    /** Opens the link of an email, as a browser with scripts does. */
    const openLink = async (link: string, browser = client()) => {
      const { pathname, hash } = new URL(link)
      assert.equal(pathname, RESET)
      return {
        browser,
        page: await sendForm(browser, await browser.open(RESET), RESET, { code: hash.slice(1) }),
      }
    }
    const resetWith = async (link: string, password = NEW_PASSWORD) => {
      const { browser, page } = await openLink(link)
      assert.equal(page.status, 200, page.text)
      return { browser, page: await sendForm(browser, page, RESET, { password }) }
    }
    const linkFor = async (email: string) => {
      await request(email)
      return (await mail.next(email)).link
    }
    const changeAccount = (account: AccountRow, changed: Partial<AccountRow>) =>
      inTransaction(berth.berth.installation.store.db, (tx) =>
        updateAccount(berth.berth.installation.store, tx, account.id, changed),
      )
    const eventsOf = async ({ identity_uid }: AccountRow, method: string) =>
      (
        await kysely()
          .selectFrom('audit_events')
          .select('id')
          .where('root', '=', identity_uid)
          .where('method', '=', method)
          .execute()
      ).length

    test('the link sets a new password, signs in, ends all other sessions, and is recorded', async () => {
      const email = newEmail()
      const { account, browser: other } = await localAccount(berth, email)
      assert.match((await client().open('/sign-in')).html, /href="\/sign-in\/forgot-password"/)
      const link = await linkFor(email)
      const weak = await resetWith(link, 'short')
      assert.equal(weak.page.status, 400)
      const { browser, page } = await resetWith(link)
      assert.equal(page.path, '/account?done=password')
      assert.ok(await isSignedIn(browser))
      assert.equal(await isSignedIn(other), false)
      assert.equal((await setPassword(client(), email, PASSWORD)).status, 401)
      assert.equal((await setPassword(client(), email, NEW_PASSWORD)).path, '/')
      assert.match((await mail.next(email)).text, /password of your account .* was changed/)
      assert.equal(await eventsOf(account, 'berth.signin/ResetPassword'), 1)
      assert.equal(await eventsOf(account, 'berth.mail/SendPasswordReset'), 1)
    })

    test('the event of the email has the request and the address of the client', async () => {
      const email = newEmail()
      const { account } = await localAccount(berth, email)
      await linkFor(email)
      const read = () =>
        kysely()
          .selectFrom('audit_events')
          .select(['actor', 'request_id', 'address'])
          .where('root', '=', account.identity_uid)
          .where('method', '=', 'berth.mail/SendPasswordReset')
          .executeTakeFirst()
      await eventually(async () => (await read()) !== undefined)
      const event = (await read()) ?? assert.fail()
      assert.equal(event.actor, 'system')
      assert.match(event.address, /^2001:db8:/)
      assert.notEqual(event.request_id, '')
    })

    test('R42: the link works once, for 30 minutes, until another password is set, and its code is stored as a hash', async () => {
      const email = newEmail()
      await localAccount(berth, email)
      const [first, second] = [await linkFor(email), await linkFor(email)]
      const rows = await kysely()
        .selectFrom('pending')
        .selectAll()
        .where('kind', '=', 'reset-password')
        .execute()
      const code = new URL(first).hash.slice(1)
      assert.ok(rows.length > 0)
      for (const { data, secret_hash } of rows)
        for (const bytes of [data, secret_hash])
          assert.ok(!Buffer.from(bytes).toString('latin1').includes(code))
      await resetWith(first)
      await mail.next(email)
      for (const used of [first, second]) assert.equal((await openLink(used)).page.status, 404)
      const late = await linkFor(email)
      berth.advance(limits.passwordResetMs)
      const { page } = await openLink(late)
      assert.equal(page.status, 404)
      assert.match(page.text, /expired or was already used\. Request another email/)
    })

    test('R42: of ten concurrent uses of a link one succeeds', async () => {
      const email = newEmail()
      await localAccount(berth, email)
      const link = await linkFor(email)
      const opened = await Promise.all(Array.from({ length: 10 }, () => openLink(link)))
      const ends = await Promise.all(
        opened.map(({ browser, page }) => sendForm(browser, page, RESET, { password: NEW_PASSWORD })),
      )
      assert.equal(ends.filter(({ path }) => path.startsWith('/account')).length, 1)
    })

    test('the response is the same whether or not there is an account, and only an enabled account gets email', async () => {
      const [known, unknown, disabled] = [newEmail(), newEmail(), newEmail()]
      await localAccount(berth, known)
      const { account } = await localAccount(berth, disabled)
      const { store } = berth.berth.installation
      await inTransaction(store.db, (tx) => setAccountDisabled(store, tx, account, true))
      const pages = new Set<string>()
      for (const email of [unknown, disabled, known]) {
        const { status, text } = await request(` ${email.toUpperCase()} `)
        assert.equal(status, 200)
        pages.add(text.replace(email, ''))
      }
      assert.equal(pages.size, 1)
      await mail.next(known)
      await eventually(async () => {
        const left = await kysely()
          .selectFrom('mails')
          .select('uid')
          .where('kind', '=', 'password-reset')
          .execute()
        return left.length === 0
      })
      for (const email of [unknown, disabled])
        assert.equal(
          mail.received.some(({ to }) => to.includes(email)),
          false,
        )
    })

    test('an address gets at most three emails an hour, and the response stays the same', async () => {
      const email = newEmail()
      await localAccount(berth, email)
      const texts = new Set<string>()
      for (let n = 0; n <= limits.passwordResetsPerEmailMax; n++) texts.add((await request(email)).text)
      assert.equal(texts.size, 1)
      const queued = () => mail.received.filter(({ to }) => to.includes(email)).length
      await eventually(() => queued() >= limits.passwordResetsPerEmailMax)
      const marker = newEmail()
      await localAccount(berth, marker)
      await linkFor(marker)
      assert.equal(queued(), limits.passwordResetsPerEmailMax)
      berth.advance(limits.passwordResetWindowMs)
      await linkFor(email)
    })

    test('a client that requests too many gets a Retry-After time', async () => {
      const browser = client()
      for (let n = 0; n < limits.passwordResetsPerAddressMax; n++)
        assert.equal((await request(newEmail(), browser)).status, 200)
      const beyond = await request(newEmail(), browser)
      assert.equal(beyond.status, 429)
      assert.ok(Number(beyond.headers.get('retry-after')) > 0)
      assert.match(beyond.text, /too many password resets were requested from your network address/i)
    })

    test('an account that requires a passkey too does not sign in with the link alone', async () => {
      const email = newEmail()
      const { account } = await localAccount(berth, email)
      await addPasskey(account)
      await changeAccount(account, { passkey_required: 1 })
      const { browser, page } = await resetWith(await linkFor(email))
      assert.equal(page.path, '/sign-in?done=password')
      assert.match(page.text, /Your password was changed/)
      assert.equal(await isSignedIn(browser), false)
      assert.equal((await passkeysOf(account)).length, 1)
    })

    test('an account with a passkey and no password gets an email without a link', async () => {
      const email = newEmail()
      const account = await newLocalAccount(berth, email)
      await addPasskey(account)
      await request(email)
      const { text, link } = await mail.next(email)
      assert.equal(link, '')
      assert.match(text, /you sign in with a passkey/)
    })

    test('the link proves the address: it becomes verified, and passkeys that were registered before are removed', async () => {
      const email = newEmail()
      const { account } = await localAccount(berth, email)
      await addPasskey(account)
      await kysely()
        .updateTable('identities')
        .set({ email: '', email_unverified: email })
        .where('uid', '=', account.identity_uid)
        .execute()
      await resetWith(await linkFor(email))
      const identity = await kysely()
        .selectFrom('identities')
        .select(['email', 'email_unverified'])
        .where('uid', '=', account.identity_uid)
        .executeTakeFirstOrThrow()
      assert.deepEqual(identity, { email, email_unverified: '' })
      assert.deepEqual(await passkeysOf(account), [])
    })

    test('a wrong address is rejected, a form of another site too, and wrong codes are limited', async () => {
      const browser = client()
      assert.equal((await request('not an address', browser)).status, 400)
      assert.equal((await browser.post(FORGOT, { email: newEmail() })).status, 403)
      assert.equal((await browser.post(RESET, { code: 'x' })).status, 403)
      for (let n = 0; n < limits.guessesPerAddressMax; n++)
        await sendForm(browser, await browser.open(RESET), RESET, { code: `wrong${n}` })
      const limited = await sendForm(browser, await browser.open(RESET), RESET, { code: 'wrong' })
      assert.equal(limited.status, 429)
    })

    const addPasskey = ({ id }: AccountRow) => insertPasskey(berth, id)
    const passkeysOf = ({ id }: AccountRow) =>
      kysely().selectFrom('passkeys').select('id').where('account_id', '=', id).execute()
  })

describe('a server without a mail server', () => {
  const [database] = databases
  let berth: TestBerth
  before(async () => {
    berth = await startTestBerth(database ?? assert.fail())
  })
  after(() => berth.stop())

  test('the sign-in page and the page of forgotten passwords say to ask the operator', async () => {
    const browser = webBrowser(berth.url)
    const signIn = await browser.open('/sign-in')
    assert.match(signIn.text, /Forgot your password\? Ask the operator/)
    assert.doesNotMatch(signIn.html, /forgot-password/)
    const page = await browser.open(FORGOT)
    assert.match(page.text, /berth admin accounts reset-password EMAIL/)
    assert.deepEqual(page.forms, [])
  })
})
