import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { hashKey } from '@berth/server/storage/counts/windows.ts'
import {
  type Api,
  type ApiFixture,
  apiOf,
  createApiFixture,
  managedRole,
  newName,
} from './support/api/api-fixture.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { type MailServer, mailEnvironment, startMailServer } from './support/mail/mail-server.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth } from './support/server/test-berth.ts'

/** Limits on invites that the server sends by email. */

const POLL_MS = 20

for (const database of databases)
  describe(`limits on invites by email (${database.name})`, () => {
    const clean = cleanups()
    let mail: MailServer
    let cast: ApiFixture
    before(async () => {
      mail = await startMailServer(clean, { tls: 'none', holds: true })
      const env = mailEnvironment(mail)
      cast = createApiFixture(await startTestBerth(database, { env, mail: { pollMs: POLL_MS } }))
    })
    after(async () => {
      cast?.grpc.close()
      await cast?.berth.stop()
      await clean.run()
    })

    const store = () => cast.berth.berth.installation.store
    const invite = async (api: Api, organization: string, email = `${newName('x')}@example.com`) => {
      const body = { roleUid: managedRole('viewer'), ttl: '3600s', email }
      const made = await api.create(`iam/groupInvites/${organization}`, body)
      return made as { uid: string; link: string; mail: { state: string; problem: string } }
    }

    test('a node sends a bounded number at the same time, and fewer about one organization', async () => {
      const perOrganization = limits.mailConcurrencyPerOrganizationMax
      const emails = new Map<string, string>()
      const inviteMany = async () => {
        const { uid, owner } = await cast.organization()
        for (let n = 0; n <= limits.mailConcurrencyMax; n++) {
          const email = `${newName('x')}@example.com`
          emails.set(email, uid)
          await invite(owner.api, uid, email)
        }
      }
      const heldBy = () => [...Map.groupBy(mail.held, (email) => emails.get(email)).values()]
      const settle = async (count: number) => {
        await eventually(async () => mail.held.length >= count)
        await sleep(10 * POLL_MS)
        assert.equal(mail.held.length, count)
      }
      await inviteMany()
      await settle(perOrganization)
      await inviteMany()
      await settle(Math.min(2 * perOrganization, limits.mailConcurrencyMax))
      await inviteMany()
      await settle(limits.mailConcurrencyMax)
      for (const held of heldBy()) assert.ok(held.length <= perOrganization)
      assert.ok(perOrganization < limits.mailConcurrencyMax, 'one organization does not delay the others')
      mail.release()
      for (const email of emails.keys()) await mail.next(email)
    })

    test('while too many emails wait, an invite is created and not sent, and says so; later ones are sent', async () => {
      const { uid, owner } = await cast.organization()
      const { kysely } = store().db
      const queued = kysely.selectFrom('mails').selectAll().where('state', '=', 'queued')
      await eventually(async () => (await queued.execute()).length === 0)
      const first = await invite(owner.api, uid)
      assert.notEqual(first.mail.state, 'STATE_FAILED')
      const model = await kysely
        .selectFrom('mails')
        .selectAll()
        .where('uid', '=', first.uid)
        .executeTakeFirstOrThrow()
      await eventually(async () => (await queued.execute()).length === 0)
      const due_ms = store().clock() + limits.inviteLifetimeMsMax
      const waiting = Array.from({ length: limits.mailQueueMax - 1 }, (_, n) => ({
        ...model,
        uid: `${uid}/${String(n).padStart(16, '0')}`,
        state: 'queued',
        runner: '',
        lease_ms: 0,
        due_ms,
      }))
      for (let at = 0; at < waiting.length; at += 1000)
        await kysely
          .insertInto('mails')
          .values(waiting.slice(at, at + 1000))
          .execute()
      const email = `${newName('x')}@example.com`
      const last = await invite(owner.api, uid, email)
      assert.notEqual(last.mail.state, 'STATE_FAILED', 'the last that fits')
      await mail.next(email)
      await eventually(async () => (await queued.execute()).length === waiting.length)
      await kysely
        .insertInto('mails')
        .values({ ...(waiting[0] as typeof model), uid: `${uid}/ffffffffffffffff` })
        .execute()
      const beyond = await invite(owner.api, uid)
      assert.equal(beyond.mail.state, 'STATE_FAILED')
      assert.match(
        beyond.mail.problem,
        new RegExp(`too many emails are waiting \\(${limits.mailQueueMax}\\)`),
      )
      assert.ok(beyond.link !== '')
      await kysely.deleteFrom('mails').where('due_ms', '=', due_ms).execute()
      assert.notEqual((await invite(owner.api, uid)).mail.state, 'STATE_FAILED')
    })

    test('all callers of an organization together have a limit, other organizations have their own', async () => {
      const { uid, owner, member } = await cast.organization()
      const colleague = await member('owner')
      const other = await cast.organization()
      assert.notEqual((await invite(owner.api, uid)).mail.state, 'STATE_FAILED')
      // As if other callers had invited in the meantime.
      const counter = store()
        .db.kysely.updateTable('guesses')
        .set({ n: limits.inviteMailsPerOrganizationMax - 1 })
        .where('key', '=', hashKey(`invite mail of ${uid}`))
      assert.equal(Number((await counter.executeTakeFirst()).numUpdatedRows), 1)
      assert.notEqual((await invite(colleague.api, uid)).mail.state, 'STATE_FAILED', 'the last that fits')
      for (const { api } of [owner, colleague]) {
        const beyond = await invite(api, uid)
        assert.equal(beyond.mail.state, 'STATE_FAILED')
        assert.match(beyond.mail.problem, /too many invites were sent.*in this organization/)
        assert.ok(beyond.link !== '')
      }
      assert.notEqual((await invite(other.owner.api, other.uid)).mail.state, 'STATE_FAILED')
      cast.berth.advance(limits.inviteMailWindowMs)
      // A new token, because the clock advanced.
      const later = apiOf(cast.berth, await cast.berth.tokenOf(owner.uid))
      assert.notEqual((await invite(later, uid)).mail.state, 'STATE_FAILED')
    })
  })
