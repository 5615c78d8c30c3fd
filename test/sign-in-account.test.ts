import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { accountById } from '@berth/server/signin/accounts/accounts.ts'
import type { AccountRow } from '@berth/server/storage/schema/tables.ts'
import { newName } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson, createSession } from './support/signin/accounts.ts'
import { isSignedIn, localAccount, PASSWORD, sendForm, setPassword } from './support/signin/local-accounts.ts'
import {
  createSignedInBrowser,
  type Fields,
  type WebBrowser,
  webBrowser,
} from './support/signin/web-browser.ts'

for (const database of databases) {
  describe(`the account page (${database.name})`, () => {
    let berth: TestBerth
    let email: string
    let account: AccountRow
    let browser: WebBrowser
    before(async () => {
      berth = await startTestBerth(database)
    })
    after(() => berth.stop())
    beforeEach(async () => {
      email = `${newName('ada')}@example.com`
      ;({ account, browser } = await localAccount(berth, email))
    })

    const send = async (action: string, fields: Fields = {}, from = browser) =>
      sendForm(from, await from.open('/account'), action, fields)
    const row = () => accountById(berth.berth.installation.store.db.kysely, account.id)
    const formToken = async (of: WebBrowser) =>
      (await of.open('/account')).forms.find(({ fields }) => fields['form_token'])?.fields['form_token']

    test('shows the profile and changes the name', async () => {
      const page = await browser.open('/account')
      for (const part of ['Ada Lovelace', email, account.identity_uid])
        assert.ok(page.text.includes(part), part)
      assert.match((await send('/account/name', { name: 'Countess of Lovelace' })).text, /Name saved/)
      assert.equal((await row())?.name, 'Countess of Lovelace')
      for (const name of ['', ' ', 'a\nb', 'x'.repeat(limits.accountNameCharsMax + 1)])
        assert.equal((await send('/account/name', { name })).status, 400, name)
    })

    test('explains why browsers do not support passkeys at this address, and how to fix it', async () => {
      const page = await browser.open('/account')
      assert.match(
        page.text,
        /only for a host name, and the address of this server, http:\/\/127\.0\.0\.1:\d+, has an IP address/,
      )
      assert.match(page.text, /set BERTH_AUTH_URL to an address such as https:/)
      assert.ok(page.forms.every(({ action }) => action !== '/account/passkeys'))
      const token = { form_token: await formToken(browser) }
      for (const path of ['/account/passkeys/options', '/sign-in/passkey/options']) {
        const refused = await browser.post(path, token)
        assert.equal(refused.status, 400, path)
        assert.match(refused.text, /Browsers support passkeys only for a host name/)
      }
    })

    test('explains it also when a passkey for another address is required', async () => {
      const { kysely } = berth.berth.installation.store.db
      await kysely
        .insertInto('passkeys')
        .values({
          id: newName('passkey'),
          account_id: account.id,
          name: 'laptop',
          public_key: new Uint8Array(1),
          counter: 0,
          transports: '[]',
          created_ms: 0,
          last_used_ms: 0,
        })
        .execute()
      await kysely.updateTable('accounts').set({ passkey_required: 1 }).where('id', '=', account.id).execute()
      const page = await setPassword(webBrowser(berth.url), email)
      assert.equal(page.path, '/sign-in/second-factor')
      assert.match(page.text, /Browsers support passkeys only for a host name/)
    })

    test('changing the password requires the current one, and ends all other sessions', async () => {
      const other = webBrowser(berth.url)
      await setPassword(other, email)
      const client = await createSession(berth, { identity: account.identity_uid, method: 'password' })
      const next = 'a different long password'
      assert.equal(
        (await send('/account/password', { current: 'not the password', password: next })).status,
        401,
      )
      assert.equal((await send('/account/password', { current: PASSWORD, password: 'short' })).status, 400)
      const named = await send('/account/password', { current: PASSWORD, password: 'ada-lovelace-ada' })
      assert.match(`${named.status} ${named.text}`, /^400 .*name, your email/s)
      assert.ok(await isSignedIn(other))
      const saved = await send('/account/password', { current: PASSWORD, password: next })
      assert.match(saved.text, /Password saved/)
      assert.ok(await isSignedIn(browser))
      assert.equal(await isSignedIn(other), false)
      const rows = await berth.berth.installation.store.db.kysely
        .selectFrom('sessions')
        .select('id')
        .where('id', '=', client.id)
        .execute()
      assert.equal(rows.length, 0)
      assert.equal((await setPassword(webBrowser(berth.url), email)).status, 401)
      assert.equal((await setPassword(webBrowser(berth.url), email, next)).path, '/')
    })

    test('R12: sessions of browsers and clients are listed, and can be ended singly or all but the current one', async () => {
      const phone = webBrowser(berth.url, {
        headers: { 'user-agent': 'Mozilla/5.0 (Android) Firefox/140.0' },
      })
      await setPassword(phone, email)
      const { id } = await createSession(berth, { identity: account.identity_uid, method: 'password' })
      const token = await berth.tokenOf(account.identity_uid, { session: id } as object)
      assert.equal((await call('GET', `${berth.url}/iam/v2beta1/groups`, { token })).status, 200)

      const page = await browser.open('/account')
      assert.match(page.text, /Firefox on Android/)
      assert.match(page.text, /berth-cli 192\.0\.2\.7/)
      assert.equal(page.text.match(/\(this browser\)/g)?.length, 1)
      const ended = await send('/account/sessions/end', { id })
      assert.match(ended.text, /Session ended/)
      assert.doesNotMatch(ended.text, /berth-cli/)
      assert.equal((await call('GET', `${berth.url}/iam/v2beta1/groups`, { token })).status, 401)
      assert.ok(await isSignedIn(phone))
      await send('/account/sessions/end-others')
      assert.equal(await isSignedIn(phone), false)
      assert.ok(await isSignedIn(browser))
      const [own] = (await browser.open('/account')).forms.filter(({ action }) =>
        action.endsWith('sessions/end'),
      )
      assert.match((await send('/account/sessions/end', own?.fields)).text, /You are signed out/)
      assert.equal(await isSignedIn(browser), false)
    })

    test('deleting the account requires its address and a sign-in within recentSignInMs, and deletes everything', async () => {
      const page = await browser.open('/account/delete')
      assert.equal(
        (await sendForm(browser, page, '/account/delete', { email: 'eve@example.com' })).status,
        400,
      )
      berth.advance(limits.recentSignInMs)
      const again = await sendForm(browser, page, '/account/delete', { email })
      assert.match(again.text, /Sign in again to continue/)
      await setPassword(browser, email)
      const sent = await sendForm(browser, await browser.open('/account/delete'), '/account/delete', {
        email: email.toUpperCase(),
      })
      assert.match(sent.text, /Your account was deleted/)
      assert.equal(await isSignedIn(browser), false)
      assert.equal(await row(), undefined)
      assert.equal((await setPassword(webBrowser(berth.url), email)).status, 401)
      const token = await berth.tokenOf(berth.owner)
      const identity = `${berth.url}/iam/v2beta1/identities/${account.identity_uid}`
      assert.equal((await call('GET', identity, { token })).status, 404)
    })

    test('a user of a provider sees their sessions, but no password settings', async () => {
      const identity = await createPerson(berth, { email: 'grace@example.com' })
      const guest = await createSignedInBrowser(berth, identity, { method: 'provider' })
      const page = await guest.open('/account')
      assert.match(page.text, /grace@example\.com/)
      assert.doesNotMatch(page.text, /Change your password|Delete your account|Passkeys/)
      const form_token = await formToken(guest)
      for (const path of ['name', 'password', 'passkeys', 'delete'])
        assert.equal((await guest.post(`/account/${path}`, { form_token, name: 'Eve' })).status, 400, path)
    })

    test('every change is an event of the audit log', async () => {
      await send('/account/name', { name: 'Countess' })
      await send('/account/password', { current: PASSWORD, password: 'a different long password' })
      await setPassword(webBrowser(berth.url), email, 'a different long password')
      await send('/account/sessions/end-others')
      const events = await berth.berth.installation.store.db.kysely
        .selectFrom('audit_events')
        .select(['method', 'actor', 'address'])
        .where('root', '=', account.identity_uid)
        .execute()
      const methods = events.map(({ method }) => method)
      for (const method of ['UpdateAccount', 'ChangePassword', 'EndSession'])
        assert.ok(methods.includes(`berth.signin/${method}`), method)
      assert.ok(events.every(({ actor, address }) => actor === account.identity_uid && address !== ''))
    })

    /** Requests of a user with another account. */
    const crossings: Readonly<Record<string, () => Promise<[path: string, fields: Fields]>>> = {
      'end a session of another user': async () => {
        const { id } = await createSession(berth, { identity: account.identity_uid, method: 'password' })
        return ['/account/sessions/end', { id }]
      },
      'end a session that never was': async () => ['/account/sessions/end', { id: '0'.repeat(32) }],
      'end no session': async () => ['/account/sessions/end', {}],
      'rename the passkey of another user': async () => [
        '/account/passkeys/rename',
        { id: await passkeyOf(), name: 'mine' },
      ],
      'remove the passkey of another user': async () => [
        '/account/passkeys/remove',
        { id: await passkeyOf() },
      ],
      'add a passkey without being asked for one': async () => [
        '/account/passkeys',
        { name: 'x', answer: '{}' },
      ],
      'add a passkey that is no JSON': async () => ['/account/passkeys', { name: 'x', answer: '{' }],
      'ask for a passkey as well without having one': async () => [
        '/account/second-factor',
        { required: 'yes' },
      ],
      'delete the account of another user': async () => ['/account/delete', { email }],
      'use the form token of another user': async () => [
        '/account/name',
        { name: 'Eve', form_token: await formToken(browser) },
      ],
      'use no form token': async () => ['/account/name', { name: 'Eve', form_token: undefined }],
    }
    const passkeyOf = async () => {
      const id = newName('passkey')
      await berth.berth.installation.store.db.kysely
        .insertInto('passkeys')
        .values({
          id,
          account_id: account.id,
          name: 'hers',
          public_key: new Uint8Array(1),
          counter: 0,
          transports: '[]',
          created_ms: 0,
          last_used_ms: 0,
        })
        .execute()
      return id
    }

    test(`${Object.keys(crossings).length} forms about objects of other users, or unknown ones, change nothing`, async () => {
      const { browser: eve } = await localAccount(berth, `${newName('eve')}@example.com`)
      for (const [what, make] of Object.entries(crossings)) {
        const [path, fields] = await make()
        const answer = await eve.post(path, { form_token: await formToken(eve), ...fields })
        assert.ok([400, 403, 404].includes(answer.status), `${what}: ${answer.status} ${answer.text}`)
      }
      assert.ok(await isSignedIn(browser))
      const { kysely } = berth.berth.installation.store.db
      const passkeys = await kysely
        .selectFrom('passkeys')
        .select('name')
        .where('account_id', '=', account.id)
        .execute()
      assert.deepEqual(passkeys, [{ name: 'hers' }, { name: 'hers' }])
      const sessions = await kysely
        .selectFrom('sessions')
        .select('id')
        .where('identity_uid', '=', account.identity_uid)
        .execute()
      assert.equal(sessions.length, 2)
    })

    test('a signed-out user gets the sign-in page, and forms of the account are rejected', async () => {
      const stranger = webBrowser(berth.url)
      assert.equal((await stranger.open('/account')).path, '/sign-in')
      assert.equal((await stranger.open('/account/delete')).path, '/sign-in')
      const form_token = (await stranger.open('/sign-in')).forms[0]?.fields['form_token']
      for (const path of [
        'name',
        'password',
        'second-factor',
        'passkeys',
        'passkeys/options',
        'passkeys/rename',
        'passkeys/remove',
        'sessions/end',
        'sessions/end-others',
        'delete',
      ])
        assert.equal((await stranger.post(`/account/${path}`, { form_token })).status, 401, path)
    })
  })
}
