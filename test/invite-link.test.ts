import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { apiOf, newName } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { type WebPage, webBrowser } from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { startBerthWithMail } from './support/mail/berth-with-mail.ts'
import type { MailServer } from './support/mail/mail-server.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createSession } from './support/signin/accounts.ts'
import { openInvite, startInvite } from './support/signin/invites.ts'
import {
  isSignedIn,
  localAccount,
  newLocalAccount,
  PASSWORD,
  sendForm,
} from './support/signin/local-accounts.ts'
import { submitConsent } from './support/signin/oauth.ts'

/** Invites for an email address: what proves that the address belongs to the user who accepts. */

const viewer = managedRoleByName.get('viewer')?.uid

interface Invite {
  readonly uid: string
  readonly code: string
  readonly link: string
}

const createInvite = async (berth: TestBerth, options: object): Promise<Invite> => {
  const body = { roleUid: viewer, ttl: '3600s', ...options }
  const api = apiOf(berth, await berth.tokenOf(berth.owner))
  return (await api.create(`iam/groupInvites/${berth.organization}`, body)) as unknown as Invite
}

const registerPathOf = ({ html }: WebPage) => /href="(\/sign-in\/register\?request=[\w-]+)"/.exec(html)?.[1]

for (const database of databases)
  describe(`invites for an email address (${database.name})`, () => {
    const clean = cleanups()
    let mail: MailServer
    let berth: TestBerth
    before(async () => {
      ;({ berth, mail } = await startBerthWithMail(database, clean))
    })
    after(() => clean.run())

    const kysely = () => berth.berth.installation.store.db.kysely
    const newEmail = () => `${newName('grace')}@example.com`
    const client = () =>
      webBrowser(berth.url, { headers: { 'x-forwarded-for': `2001:db8:${newName('').slice(1, 5)}::1` } })
    const invite = (email: string) => createInvite(berth, { email })
    const received = async (email: string) => new URL((await mail.next(email)).link).hash.slice(1)
    const identityOf = (email: string) =>
      kysely()
        .selectFrom('accounts')
        .innerJoin('identities', 'identities.uid', 'accounts.identity_uid')
        .select(['identities.uid', 'identities.email', 'identities.email_unverified'])
        .where('accounts.email', '=', email)
        .executeTakeFirstOrThrow()
    const hasJoined = async (identity: string) => {
      const token = await berth.tokenOf(identity)
      const reply = await call('GET', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, { token })
      return reply.status === 200
    }
    const makeUnverified = (identity: string, email: string) =>
      kysely()
        .updateTable('identities')
        .set({ email: '', email_unverified: email })
        .where('uid', '=', identity)
        .execute()

    test('the link of the email lets its reader create an account with this verified address, and join', async () => {
      const email = newEmail()
      await invite(email)
      const browser = client()
      const offer = await openInvite(browser, await received(email))
      assert.ok(offer.text.includes(`Only for ${email}`), offer.text)
      const form = await sendForm(browser, offer, '/invite', { step: 'register' })
      assert.match(form.path, /^\/sign-in\/register\?request=/)
      assert.match(form.html, /name="email"[^>]*readonly/)
      const fields = { name: 'Grace Hopper', email: 'eve@example.com', password: PASSWORD }
      const consent = await sendForm(browser, form, '/sign-in/register', fields)
      assert.match((await submitConsent(browser, consent)).text, /Welcome to default/)
      const { uid, ...addresses } = await identityOf(email)
      assert.deepEqual(addresses, { email, email_unverified: '' })
      assert.ok(await hasJoined(uid))
    })

    test('the code of the inviter creates no account, but sends the email, and shows the address in part', async () => {
      const email = newEmail()
      const { code, link } = await invite(email)
      await mail.next(email)
      const browser = client()
      const offer = await openInvite(browser, link)
      assert.ok(!offer.text.includes(email) && offer.text.includes('g…@example.com'), offer.text)
      assert.doesNotMatch(offer.text, /Create an account/)
      assert.equal(registerPathOf(await startInvite(client(), code)), undefined)
      const sent = await sendForm(browser, offer, '/invite', { step: 'mail' })
      assert.match(sent.text, /An email to g…@example\.com is on its way/)
      const page = await startInvite(browser, await received(email))
      assert.ok(registerPathOf(page), page.text)
    })

    test('the email is sent again within limits, and then names the next step', async () => {
      const email = newEmail()
      const { uid, code } = await invite(email)
      const browser = client()
      const offer = await openInvite(browser, code)
      const stateOf = async () =>
        (
          await kysely()
            .selectFrom('mails')
            .select('state')
            .where('root', '=', berth.organization)
            .where('uid', '=', uid)
            .executeTakeFirst()
        )?.state
      for (let n = 1; n < limits.inviteMailsPerRecipientMax; n++)
        assert.equal((await sendForm(browser, offer, '/invite', { step: 'mail' })).status, 200)
      const beyond = await sendForm(browser, offer, '/invite', { step: 'mail' })
      assert.equal(beyond.status, 429)
      assert.match(beyond.text, /Ask the person who invited you/)
      assert.match((await stateOf()) ?? '', /^(queued|sent)$/, 'the email that waits or was sent is kept')
      await eventually(async () => (await stateOf()) === 'sent')
      assert.equal((await sendForm(browser, offer, '/invite', { step: 'mail' })).status, 429)
      assert.equal(await stateOf(), 'sent')
    })

    test('R25: a proof is of one invite and one address', async () => {
      const [email, other] = [newEmail(), newEmail()]
      const [first, second] = [await invite(email), await invite(other)]
      const proof = (await received(email)).split('.').at(-1)
      await mail.next(other)
      for (const text of [`${second.code}.${proof}`, `${first.code}.${'A'.repeat(43)}`, `${first.code}.`])
        assert.equal(registerPathOf(await startInvite(client(), text)), undefined, text)
      const api = apiOf(berth, berth.token)
      assert.equal((await api.patch(`iam/groupInvites/${first.uid}`, { email: newEmail() })).status, 200)
      assert.equal(registerPathOf(await startInvite(client(), `${first.code}.${proof}`)), undefined)
    })

    test('a user with another account learns whom the invite is for, and can use another account', async () => {
      const email = newEmail()
      const { code } = await invite(email)
      const { browser, account } = await localAccount(berth, newEmail())
      const page = await startInvite(browser, code)
      assert.match(page.text, /This invite is for another account/)
      assert.ok(page.text.includes(account.email) && page.text.includes('g…@example.com'), page.text)
      assert.ok(!page.text.includes(email))
      const refused = await submitConsent(browser, page, 'allow')
      assert.match(refused.text, /is for another user/)
      const again = await startInvite(browser, code)
      assert.match((await submitConsent(browser, again, 'switch')).path, /^\/sign-in\?request=/)
      assert.equal(await hasJoined(account.identity_uid), false)
    })

    test('the link of the email is not enough for an account with another address', async () => {
      const email = newEmail()
      await invite(email)
      const { browser, account } = await localAccount(berth, newEmail())
      const page = await startInvite(browser, await received(email))
      assert.match(page.text, /This invite is for another account/)
      await submitConsent(browser, page, 'allow')
      assert.equal(await hasJoined(account.identity_uid), false)
    })

    test('an account with this address, unverified, joins with the link of the email only, which verifies the address', async () => {
      const email = newEmail()
      const { browser, account } = await localAccount(berth, email)
      await makeUnverified(account.identity_uid, email)
      const { code } = await invite(email)
      const text = await received(email)
      const page = await startInvite(browser, code)
      assert.match(page.text, /Confirm your email address/)
      assert.match((await submitConsent(browser, page, 'allow')).text, /is for another user/)
      const sent = await sendForm(browser, await startInvite(browser, code), '/invite', { step: 'mail' })
      assert.match(sent.text, /on its way/)
      // The user who created the account with this address.
      const earlier = await createSession(berth, {
        identity: account.identity_uid,
        voucher: { kind: 'account' },
      })
      await kysely()
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
      await submitConsent(browser, await startInvite(browser, text))
      const { uid, ...addresses } = await identityOf(email)
      assert.deepEqual(addresses, { email, email_unverified: '' })
      assert.ok(await hasJoined(uid))
      const passkeys = kysely().selectFrom('passkeys').select('id').where('account_id', '=', account.id)
      assert.deepEqual(await passkeys.execute(), [])
      const session = kysely().selectFrom('sessions').select('id').where('id', '=', earlier.id)
      assert.equal(await session.executeTakeFirst(), undefined)
      assert.ok(await isSignedIn(browser), 'the session that accepted continues')
    })

    test('a client accepts the code of the email as well', async () => {
      const email = newEmail()
      const account = await newLocalAccount(berth, email)
      await makeUnverified(account.identity_uid, email)
      await invite(email)
      const code = await received(email)
      const { id } = await createSession(berth, {
        identity: account.identity_uid,
        voucher: { kind: 'account' },
      })
      const token = await berth.tokenOf(account.identity_uid, { session: id })
      const url = `${berth.url}/iam/v2beta1/groupInvites:accept`
      const reply = await call('POST', url, { token, body: { code } })
      assert.equal(reply.status, 200, reply.text)
      assert.equal((await identityOf(email)).email, email)
    })
  })

describe('an invite for an email address on a server without a mail server', () => {
  const [database] = databases
  let berth: TestBerth
  before(async () => {
    berth = await startTestBerth(database ?? assert.fail())
  })
  after(() => berth.stop())

  test('names the command of the operator that creates the account', async () => {
    const { code } = await createInvite(berth, { email: 'grace@example.com' })
    const browser = webBrowser(berth.url)
    const offer = await openInvite(browser, code)
    assert.match(offer.text, /berth admin accounts create EMAIL/)
    const ignored = await sendForm(browser, offer, '/invite', { step: 'mail' })
    assert.equal(ignored.path, '/invite')
    assert.doesNotMatch(ignored.text, /on its way/)
  })
})
