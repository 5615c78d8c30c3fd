import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { apiOf, newName } from './support/api/api-fixture.ts'
import {
  createSignedInBrowser,
  type WebBrowser,
  type WebPage,
  webBrowser,
} from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import { openInvite, startInvite } from './support/signin/invites.ts'
import { codeFlow, postForm, submitConsent, tokenRequest, withQuery } from './support/signin/oauth.ts'

const viewer = managedRoleByName.get('viewer')?.uid

interface Invite {
  readonly uid: string
  readonly code: string
  readonly link: string
}

for (const database of databases)
  describe(`invites in the browser on ${database.name}`, () => {
    let berth: TestBerth
    before(async () => {
      berth = await startTestBerth(database)
    })
    after(() => berth.stop())

    const invite = async (options: object = {}): Promise<Invite> => {
      const body = { roleUid: viewer, ttl: '3600s', ...options }
      const made = await apiOf(berth, berth.token).create(`iam/groupInvites/${berth.organization}`, body)
      return made as unknown as Invite
    }
    const guest = async (email = `${newName('guest')}@example.com`) => {
      const identity = await createPerson(berth, { email })
      return { identity, email, browser: await createSignedInBrowser(berth, identity) }
    }
    const rolesOf = async (identity: string) => {
      const { body } = await apiOf(berth, berth.token).get('iam/roleBindings', {
        'uidp.children_of': berth.organization,
      })
      const bindings = body.roleBindings as { identityUid: string; role: { name: string } }[]
      return bindings.filter(({ identityUid }) => identityUid === identity).map(({ role }) => role.name)
    }
    /** Opens the invite and continues to the consent page. */
    const come = startInvite

    test('the holder of the code sees the offer, accepts it, and has the role', async () => {
      const { code } = await invite({ singleUse: true })
      const { browser, identity, email } = await guest()
      const consent = await come(browser, code)
      for (const words of ['default', 'viewer', email]) assert.ok(consent.text.includes(words), consent.text)
      assert.deepEqual(await rolesOf(identity), [], 'nothing is accepted before')
      const done = await submitConsent(browser, consent)
      assert.match(done.text, /Welcome to default.*the role viewer/)
      assert.match(done.html, /<a href="\/">Continue with the next steps<\/a>/)
      assert.deepEqual(await rolesOf(identity), ['viewer'])
      const late = await guest()
      assert.equal((await openInvite(late.browser, code)).status, 404, 'it was for one use')
    })

    test('the whole link can be pasted, too', async () => {
      const { link } = await invite()
      const { browser, identity } = await guest()
      await submitConsent(browser, await openInvite(browser, ` ${link} `))
      assert.deepEqual(await rolesOf(identity), ['viewer'])
    })

    test('a signed-out user sees the offer, and has to sign in first', async () => {
      const { code } = await invite()
      const offer = await openInvite(webBrowser(berth.url), code)
      for (const word of ['default', 'viewer', 'Invited by', 'Expires', 'Create an account'])
        assert.ok(offer.text.includes(word), offer.text)
      assert.match((await come(webBrowser(berth.url), code)).path, /^\/sign-in\?request=/)
    })

    test('declining does not join', async () => {
      const { code } = await invite()
      const { browser, identity } = await guest()
      await submitConsent(browser, await come(browser, code), 'deny')
      assert.deepEqual(await rolesOf(identity), [])
    })

    test('a user who already holds the role is welcome all the same', async () => {
      const { code } = await invite()
      const { browser, identity } = await guest()
      for (let times = 0; times < 2; times++)
        assert.match((await submitConsent(browser, await come(browser, code))).text, /Welcome to default/)
      assert.deepEqual(await rolesOf(identity), ['viewer'])
    })

    test('R25: an invite for one address cannot be accepted by an account with another address', async () => {
      const mine = await guest()
      const { code } = await invite({ email: mine.email.toUpperCase() })
      const other = await guest()
      const refused = await submitConsent(other.browser, await come(other.browser, code))
      assert.match(refused.text, /invalid, has expired, was already used, or is for another user/)
      assert.deepEqual(await rolesOf(other.identity), [])
      await submitConsent(mine.browser, await come(mine.browser, code))
      assert.deepEqual(await rolesOf(mine.identity), ['viewer'])
    })

    test('R25: an unverified address does not match an invite', async () => {
      const email = `${newName('guest')}@example.com`
      const identity = await createPerson(berth, { email })
      await berth.berth.installation.store.db.kysely
        .updateTable('identities')
        .set({ email: '', email_unverified: email })
        .where('uid', '=', identity)
        .execute()
      const { code } = await invite({ email })
      const browser = await createSignedInBrowser(berth, identity)
      await submitConsent(browser, await come(browser, code))
      assert.deepEqual(await rolesOf(identity), [])
    })

    test('R25: of 10 concurrent acceptances of a single-use invite one succeeds', async () => {
      const { code } = await invite({ singleUse: true })
      const guests = await Promise.all(Array.from({ length: 10 }, () => guest()))
      const consents = await Promise.all(guests.map(({ browser }) => come(browser, code)))
      await Promise.all(
        guests.map(({ browser }, at) => submitConsent(browser, consents[at] ?? assert.fail())),
      )
      const joined = (await Promise.all(guests.map(({ identity }) => rolesOf(identity)))).flat()
      assert.deepEqual(joined, ['viewer'])
    })

    const wrongCodes: readonly (readonly [string, () => Promise<string>])[] = [
      ['made up', async () => Buffer.from('{"grp":"x"}').toString('base64')],
      ['no base64', async () => '<script>'],
      ['too long', async () => 'a'.repeat(5000)],
      ['with another last character', async () => `${(await invite()).code.slice(0, -3)}A==`],
      [
        'of an invite that was deleted',
        async () => {
          const { uid, code } = await invite()
          assert.equal((await apiOf(berth, berth.token).delete(`iam/groupInvites/${uid}`)).status, 200)
          return code
        },
      ],
    ]
    for (const [what, make] of wrongCodes)
      test(`R25: a code that is ${what} gets the same response as every wrong one (${wrongCodes.length} rows)`, async () => {
        const { browser } = await guest()
        const page = await openInvite(browser, await make())
        assert.equal(page.status, 404)
        assert.match(
          page.text,
          /The invite is invalid, has expired, was already used, or is for another user/,
        )
        assert.ok(!page.html.includes('<script>'))
      })

    test('R16: an invite that expires between the offer and the consent is not accepted', async () => {
      const { code } = await invite({ ttl: '60s' })
      const { browser, identity } = await guest()
      const consent = await come(browser, code)
      berth.advance(61_000)
      assert.match((await submitConsent(browser, consent)).text, /invalid, has expired/)
      assert.deepEqual(await rolesOf(identity), [])
    })

    test('an invite that is deleted between the offer and the consent is not accepted', async () => {
      const { uid, code } = await invite()
      const { browser, identity } = await guest()
      const consent = await come(browser, code)
      await apiOf(berth, berth.token).delete(`iam/groupInvites/${uid}`)
      await submitConsent(browser, consent)
      assert.deepEqual(await rolesOf(identity), [])
    })

    test('the page rejects a form of another site', async () => {
      const { code } = await invite()
      const { browser } = await guest()
      assert.equal((await browser.post('/invite', { code, step: 'accept' })).status, 403)
    })

    test('a client of the SDK sends an invite: the consent shows it, and the token is issued after it was accepted', async () => {
      const { code } = await invite()
      const { browser, identity } = await guest()
      const path = withQuery('/oauth', {
        exit: 'redirect',
        redirect: 'http://localhost:49152/callback?token=true&error=true',
        client_id: 'auth0',
        invite: code,
      })
      const consent = await browser.open(path)
      assert.ok(consent.text.includes('You also receive') && consent.text.includes('viewer'), consent.text)
      const { redirectedTo: left } = await submitConsent(browser, consent)
      assert.ok(left?.searchParams.get('token'))
      assert.deepEqual(await rolesOf(identity), ['viewer'])
    })

    test('an invite for another user, sent by a client, gives no token', async () => {
      const { code } = await invite({ email: 'someone@example.com' })
      const { browser } = await guest()
      const path = withQuery('/oauth', {
        exit: 'redirect',
        redirect: 'http://localhost:49152/callback?token=true&error=true',
        client_id: 'auth0',
        invite: code,
      })
      const { redirectedTo: left } = await submitConsent(browser, await browser.open(path))
      assert.equal(left?.searchParams.get('token'), null)
      assert.equal(left?.searchParams.get('status_code'), '403')
    })

    describe('a new user', () => {
      const PASSWORD = 'seven tame herons wade'
      const secretOf = (page: WebPage) => new URL(page.path, berth.url).searchParams.get('request') ?? ''
      const register = async (browser: WebBrowser, signIn: WebPage, email: string) => {
        const form = await browser.open(withQuery('/sign-in/register', { request: secretOf(signIn) }))
        assert.equal(form.status, 200, form.text)
        return browser.submit(form, { name: 'Grace', email, password: PASSWORD }, -1)
      }

      test('creates an account with a valid invite, accepts it, and has the role', async () => {
        const { code } = await invite({ singleUse: true })
        const browser = webBrowser(berth.url)
        const signIn = await come(browser, code)
        assert.match(signIn.html, /href="\/sign-in\/register\?request=/)
        const email = `${newName('new')}@example.com`
        const consent = await register(browser, signIn, email)
        assert.match(consent.path, /^\/oauth\/continue/, consent.text)
        assert.match((await submitConsent(browser, consent)).text, /Welcome to default/)
        const account = await berth.berth.installation.store.db.kysely
          .selectFrom('accounts')
          .select('identity_uid')
          .where('email', '=', email)
          .executeTakeFirstOrThrow()
        assert.deepEqual(await rolesOf(account.identity_uid), ['viewer'])

        const later = webBrowser(berth.url)
        const flow = codeFlow()
        const again = await later.open(withQuery('/oauth/authorize', flow.parameters))
        const back = await later.submit(again, { email, password: PASSWORD })
        const { redirectedTo: left } = await submitConsent(later, back)
        const fields = tokenRequest(flow, left?.searchParams.get('code') ?? '')
        assert.equal(
          (await postForm(berth.url, '/oauth/token', fields)).status,
          200,
          'and signs in with it from then on',
        )
      })

      test('R25: creates none with an invite for one address: holding the code does not prove that the address is theirs', async () => {
        const email = `${newName('new')}@example.com`
        const { code } = await invite({ email })
        const browser = webBrowser(berth.url)
        const signIn = await come(browser, code)
        assert.ok(!signIn.html.includes('/sign-in/register'))
        const path = withQuery('/sign-in/register', { request: secretOf(signIn) })
        assert.equal((await browser.open(path)).status, 403)
      })

      test('creates none without an invite, with a used one, or in another browser', async () => {
        const stranger = webBrowser(berth.url)
        const plain = await stranger.open(withQuery('/oauth/authorize', codeFlow().parameters))
        assert.equal(
          (await stranger.open(withQuery('/sign-in/register', { request: secretOf(plain) }))).status,
          403,
        )
        assert.equal((await stranger.open('/sign-in/register')).status, 404)

        const { code, uid } = await invite()
        const signIn = await come(stranger, code)
        const path = withQuery('/sign-in/register', { request: secretOf(signIn) })
        assert.equal((await webBrowser(berth.url).open(path)).status, 404)
        const form = await stranger.open(path)
        await apiOf(berth, berth.token).delete(`iam/groupInvites/${uid}`)
        const email = `${newName('new')}@example.com`
        const fields = { name: 'Grace', email, password: PASSWORD }
        assert.equal((await stranger.submit(form, fields, -1)).status, 403)
      })

      test('R25: an unverified address does not accept an invite for it', async () => {
        const email = `${newName('new')}@example.com`
        const [open, locked] = [await invite(), await invite({ email })]
        const browser = webBrowser(berth.url)
        await submitConsent(browser, await register(browser, await come(browser, open.code), email))
        const refused = await submitConsent(browser, await come(browser, locked.code))
        assert.match(refused.text, /is for another user/)
      })
    })

    test('accepting is in the audit log, with the binding that it created', async () => {
      const { code } = await invite()
      const { browser, identity } = await guest()
      await submitConsent(browser, await come(browser, code))
      const rows = await berth.berth.installation.store.db.kysely
        .selectFrom('audit_events')
        .select(['parent', 'root'])
        .where('method', '=', 'berth.signin/AcceptInvite')
        .where('actor', '=', identity)
        .execute()
      assert.ok(rows.some(({ root, parent }) => root === berth.organization && parent !== root))
    })
  })
