import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { apiOf, newName } from './support/api/api-fixture.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { type MailServer, mailEnvironment, startMailServer } from './support/mail/mail-server.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Invites that the server sends by email, through a real mail server. */

const viewer = managedRoleByName.get('viewer')?.uid

interface Invite {
  readonly uid: string
  readonly code: string
  readonly link: string
  readonly mail?: { readonly state: string; readonly attempts: number; readonly problem: string }
}

for (const database of databases)
  describe(`invites by email (${database.name})`, () => {
    const clean = cleanups()
    let mail: MailServer
    let berth: TestBerth
    before(async () => {
      mail = await startMailServer(clean, { tls: 'none' })
      berth = await startTestBerth(database, { env: mailEnvironment(mail), mail: { pollMs: 50 } })
    })
    after(async () => {
      await berth?.stop()
      await clean.run()
    })

    // A new token, because the clock advances.
    const api = async () => apiOf(berth, await berth.tokenOf(berth.owner))
    const invite = async (options: object = {}): Promise<Invite> => {
      const body = { roleUid: viewer, ttl: '3600s', ...options }
      return (await (await api()).create(`iam/groupInvites/${berth.organization}`, body)) as unknown as Invite
    }
    const read = async ({ uid }: Pick<Invite, 'uid'>) =>
      (await (await api()).get(`iam/groupInvites/${uid}`)).body as unknown as Invite
    const waitForState = (invited: Invite, state: string) =>
      eventually(async () => (await read(invited)).mail?.state === state)
    test('the invite has a link with the code after #, and the email another one, which also contains a proof', async () => {
      const email = `${newName('grace')}@example.com`
      const invited = await invite({ email })
      assert.equal(invited.link, `${berth.url}/invite#${invited.code}`)
      assert.match(invited.mail?.state ?? '', /^STATE_(QUEUED|SENT)$/)
      const received = await mail.next(email)
      assert.match(
        received.link,
        new RegExp(`^${berth.url}/invite#${invited.code.replaceAll('=', '=')}\\.[\\w-]{43}$`),
      )
      for (const word of ['default', 'viewer', email]) assert.ok(received.text.includes(word), received.text)
      await waitForState(invited, 'STATE_SENT')
      const { code, link, mail: state } = await read(invited)
      assert.deepEqual([code, link, state?.attempts, state?.problem], ['', '', 1, ''])
      const row = await berth.berth.installation.store.db.kysely
        .selectFrom('mails')
        .selectAll()
        .where('uid', '=', invited.uid)
        .executeTakeFirstOrThrow()
      assert.equal(row.data.length, 0, 'the code is deleted when the email is sent')
    })

    test('an invite for anyone is not sent, and has a link', async () => {
      const invited = await invite()
      assert.equal(invited.mail, undefined)
      assert.equal(invited.link, `${berth.url}/invite#${invited.code}`)
      assert.equal((await read(invited)).mail, undefined)
    })

    test('the code of the email is stored encrypted while it waits', async () => {
      const email = `${newName('grace')}@example.com`
      mail.answer({ code: 451, text: 'later' })
      const refusedBefore = mail.refused.length
      const invited = await invite({ email })
      await mail.refusals(refusedBefore + 1)
      const row = await berth.berth.installation.store.db.kysely
        .selectFrom('mails')
        .selectAll()
        .where('uid', '=', invited.uid)
        .executeTakeFirstOrThrow()
      const text = Buffer.from(row.data).toString('latin1')
      assert.ok(row.data.length > 0 && !text.includes(invited.code) && !text.includes(email))
      await eventually(async () => ((await read(invited)).mail?.problem ?? '') !== '')
      berth.advance(limits.mailRetryMs)
      await mail.next(email)
    })

    test('a temporary failure is retried after a wait that doubles, and then the email is sent', async () => {
      const email = `${newName('grace')}@example.com`
      mail.answer({ code: 451, text: 'greylisted' }, { code: 421, text: 'busy' })
      const invited = await invite({ email })
      await eventually(async () => /451 greylisted/.test((await read(invited)).mail?.problem ?? ''))
      assert.equal((await read(invited)).mail?.state, 'STATE_QUEUED')
      berth.advance(limits.mailRetryMs)
      await eventually(async () => /421 busy/.test((await read(invited)).mail?.problem ?? ''))
      berth.advance(limits.mailRetryMs)
      assert.equal(
        mail.received.some(({ to }) => to.includes(email)),
        false,
        'the second wait is longer',
      )
      berth.advance(limits.mailRetryMs)
      await mail.next(email)
      await waitForState(invited, 'STATE_SENT')
      assert.equal((await read(invited)).mail?.attempts, 3)
      assert.ok(limits.mailRetryMsMax >= limits.mailRetryMs)
    })

    test('a permanent failure is not retried, and is in the invite, the audit log and the metrics', async () => {
      const email = `${newName('grace')}@example.com`
      mail.answer({ code: 550, text: 'no such user' })
      const invited = await invite({ email })
      await waitForState(invited, 'STATE_FAILED')
      const { mail: state } = await read(invited)
      assert.match(state?.problem ?? '', /550 no such user/)
      const event = await berth.berth.installation.store.db.kysely
        .selectFrom('audit_events')
        .selectAll()
        .where('parent', '=', invited.uid)
        .where('method', '=', 'berth.mail/SendInvite')
        .executeTakeFirstOrThrow()
      assert.deepEqual([event.actor, event.code, /550/.test(event.reason)], ['system', 14, true])
      await eventually(
        async () => (await fetch(`${berth.url}/metrics`)).text(),
        (metrics) => /berth_mails_total\{kind="invite",result="failed"\} [1-9]/.test(metrics),
      )
      await eventually(() => berth.warnings.some(({ message }) => message === 'an email was not sent'))
    })

    test('an email that could not be sent until its end is given up with its last problem', async () => {
      const email = `${newName('grace')}@example.com`
      mail.answer({ code: 451, text: 'never' })
      const invited = await invite({ email, ttl: '20s' })
      await waitForState(invited, 'STATE_FAILED')
      assert.match((await read(invited)).mail?.problem ?? '', /451 never/)
      assert.ok(limits.inviteMailMs < limits.inviteLifetimeMsMax)
    })

    test('an invite that is deleted, or is now for another address, is not sent', async () => {
      const [first, second] = [`${newName('grace')}@example.com`, `${newName('grace')}@example.com`]
      mail.answer({ code: 451, text: 'later' }, { code: 451, text: 'later' })
      const [deleted, changed] = [await invite({ email: first }), await invite({ email: second })]
      for (const one of [deleted, changed])
        await eventually(async () => /451/.test((await read(one)).mail?.problem ?? ''))
      assert.equal((await (await api()).delete(`iam/groupInvites/${deleted.uid}`)).status, 200)
      const patched = await (await api()).patch(`iam/groupInvites/${changed.uid}`, {
        email: 'other@example.com',
      })
      assert.equal(patched.status, 200, JSON.stringify(patched.body))
      berth.advance(limits.mailRetryMs)
      const last = `${newName('grace')}@example.com`
      await invite({ email: last })
      await mail.next(last)
      for (const address of [first, second, 'other@example.com'])
        assert.equal(
          mail.received.some(({ to }) => to.includes(address)),
          false,
          address,
        )
      assert.equal((await read(changed)).mail, undefined)
    })

    test('an inviter cannot flood an address: beyond the limit the invite is created, not sent, and says so', async () => {
      const email = `${newName('grace')}@example.com`
      for (let n = 0; n < limits.inviteMailsPerRecipientMax; n++)
        assert.notEqual((await invite({ email })).mail?.state, 'STATE_FAILED')
      const beyond = await invite({ email: email.toUpperCase() })
      assert.equal(beyond.mail?.state, 'STATE_FAILED')
      assert.match(beyond.mail?.problem ?? '', /too many invites were sent.*send the link yourself/)
      assert.ok(beyond.link !== '')
      berth.advance(limits.inviteMailWindowMs)
      assert.notEqual((await invite({ email })).mail?.state, 'STATE_FAILED')
    })

    test('a caller cannot send to many addresses, and an organization not even with many callers', async () => {
      berth.advance(limits.inviteMailWindowMs)
      const states: string[] = []
      for (let n = 0; n <= limits.inviteMailsPerCallerMax; n++)
        states.push((await invite({ email: `${newName('x')}@example.com` })).mail?.state ?? '')
      assert.equal(states.filter((state) => state === 'STATE_FAILED').length, 1)
      assert.equal(states.at(-1), 'STATE_FAILED')
      assert.ok(limits.inviteMailsPerOrganizationMax > limits.inviteMailsPerCallerMax)
    })
  })
