import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { newName } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { createResource } from './support/api/tenant.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { startInvite } from './support/signin/invites.ts'
import { localAccount, newLocalAccount, PASSWORD, sendForm } from './support/signin/local-accounts.ts'
import { codeFlow, withQuery } from './support/signin/oauth.ts'
import { type WebBrowser, type WebPage, webBrowser } from './support/signin/web-browser.ts'

for (const database of databases) {
  describe(`creating an account with an invite (${database.name})`, () => {
    let berth: TestBerth
    before(async () => {
      berth = await startTestBerth(database)
    })
    after(() => berth.stop())

    const invite = async (email = ''): Promise<string> =>
      (
        await createResource(berth, `/iam/v2beta1/groupInvites/${berth.organization}`, {
          roleUid: managedRoleByName.get('viewer')?.uid,
          ttl: '3600s',
          ...(email === '' ? {} : { email }),
        })
      ).code
    /** Up to the sign-in page. */
    const follow = async (browser: WebBrowser, code: string): Promise<WebPage> => {
      return startInvite(browser, code)
    }
    const registerPath = (page: WebPage) =>
      /href="(\/sign-in\/register\?request=[\w-]+)"/.exec(page.html)?.[1]

    test('the holder of an invite creates an account, accepts, and joins with an unverified address', async () => {
      const browser = webBrowser(berth.url)
      const signIn = await follow(browser, await invite())
      const path = registerPath(signIn)
      assert.ok(path, signIn.text)
      const email = `${newName('grace')}@example.com`
      const fields = { name: 'Grace Hopper', email, password: PASSWORD }
      const short = await sendForm(browser, await browser.open(path), '/sign-in/register', {
        ...fields,
        password: 'short',
      })
      assert.equal(short.status, 400)
      const consent = await sendForm(browser, short, '/sign-in/register', fields)
      assert.match(consent.path, /^\/oauth\/continue\?/, consent.text)
      await browser.submit(consent, { decision: 'allow' }, 0)
      const account = await berth.berth.installation.store.db.kysely
        .selectFrom('accounts')
        .innerJoin('identities', 'identities.uid', 'accounts.identity_uid')
        .select(['identities.uid', 'identities.email', 'identities.email_unverified'])
        .where('accounts.email', '=', email)
        .executeTakeFirstOrThrow()
      assert.deepEqual([account.email, account.email_unverified], ['', email])
      const token = await berth.tokenOf(account.uid)
      const group = await call('GET', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, { token })
      assert.equal(group.status, 200)
    })

    test('an invite for one address, a flow without one, a wrong request and another browser create no account', async () => {
      const forOne = webBrowser(berth.url)
      assert.equal(registerPath(await follow(forOne, await invite('grace@example.com'))), undefined)
      const plain = webBrowser(berth.url)
      const page = await plain.open(withQuery('/oauth/authorize', codeFlow().parameters))
      assert.equal(registerPath(page), undefined)
      const request = new URL(page.path, berth.url).searchParams.get('request')
      assert.equal((await plain.open(`/sign-in/register?request=${request}`)).status, 403)
      assert.equal((await plain.open('/sign-in/register?request=none')).status, 404)
      assert.equal((await plain.open('/sign-in/register')).status, 404)
      const own = webBrowser(berth.url)
      const path = registerPath(await follow(own, await invite())) ?? ''
      assert.equal((await own.open(path)).status, 200)
      assert.equal((await webBrowser(berth.url).open(path)).status, 404)
    })

    test('an address that has an account is rejected', async () => {
      const email = `${newName('ada')}@example.com`
      await newLocalAccount(berth, email)
      const browser = webBrowser(berth.url)
      const path = registerPath(await follow(browser, await invite())) ?? ''
      const answer = await sendForm(browser, await browser.open(path), '/sign-in/register', {
        name: 'Eve',
        email: email.toUpperCase(),
        password: PASSWORD,
      })
      assert.equal(answer.status, 400)
      assert.match(answer.text, /An account with this email address already exists/)
    })

    test('a password based on the name of its owner, or of the organization of the invite, is rejected', async () => {
      const browser = webBrowser(berth.url)
      const path = registerPath(await follow(browser, await invite())) ?? ''
      const { body } = await call('GET', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, {
        token: berth.token,
      })
      for (const password of ['ada-lovelace-ada', `${body.name}-lovelace-${body.name}`]) {
        const answer = await sendForm(browser, await browser.open(path), '/sign-in/register', {
          name: 'Ada Lovelace',
          email: `${newName('ada')}@example.com`,
          password,
        })
        assert.match(`${answer.status} ${answer.text}`, /^400 .*name, your email/s, password)
      }
    })

    test('a user with an account signs in within the flow of an invite and gets to the consent', async () => {
      const email = `${newName('ada')}@example.com`
      await localAccount(berth, email)
      const browser = webBrowser(berth.url)
      const page = await follow(browser, await invite())
      const wrong = await sendForm(browser, page, '/sign-in/password', {
        email,
        password: 'wrong wrong wrong',
      })
      assert.equal(wrong.status, 401)
      const consent = await sendForm(browser, wrong, '/sign-in/password', { email, password: PASSWORD })
      assert.match(consent.path, /^\/oauth\/continue\?/, consent.text)
    })
  })
}
