import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { accountOfIdentity, deleteAccount } from '@berth/server/signin/accounts/accounts.ts'
import { createSetupLink } from '@berth/server/signin/accounts/one-time-links.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { call } from './support/api/rest.ts'
import { webBrowser } from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { isSignedIn, PASSWORD, setPassword, setupPath } from './support/signin/local-accounts.ts'

const ada = { name: 'Ada Lovelace', email: 'Ada@Example.com', password: PASSWORD }

for (const database of databases) {
  describe(`the owner account (${database.name})`, () => {
    let berth: TestBerth
    before(async () => {
      berth = await startTestBerth(database)
    })
    after(() => berth.stop())
    // Without an account everything begins again: the owner's identity waits for the next one.
    afterEach(async () => {
      const { store } = berth.berth.installation
      await inTransaction(store.db, async (tx) => {
        const account = await accountOfIdentity(tx, berth.owner)
        if (account !== undefined) await deleteAccount(store, tx, account)
        await tx.deleteFrom('pending').execute()
      })
    })

    const setup = async (path: string, fields: Record<string, string | undefined> = {}) => {
      const browser = webBrowser(berth.url)
      const page = await browser.open(path)
      const answer = page.forms.length === 0 ? page : await browser.submit(page, { ...ada, ...fields })
      return { browser, page, answer }
    }

    test('R41: a link creates one account; of ten concurrent attempts none creates another, nor does an earlier link', async () => {
      const [earlier, path] = [await setupPath(berth), await setupPath(berth)]
      assert.equal((await setup(earlier)).page.status, 404)
      const attempts = await Promise.all(
        Array.from({ length: 10 }, (_, at) => setup(path, { email: `person${at}@example.com` })),
      )
      const made = attempts.filter(({ answer }) => answer.path === '/?done=setup')
      assert.equal(made.length, 1)
      for (const { answer } of attempts) assert.ok([200, 404].includes(answer.status), answer.text)
      for (const used of [path, earlier]) assert.equal((await setup(used)).page.status, 404)
      const { store } = berth.berth.installation
      assert.equal(await createSetupLink(store, berth.url), undefined)
    })

    test('R41: of a link only a hash is stored, and it is valid for setupLinkMs', async () => {
      const path = await setupPath(berth)
      const code = path.split('code=')[1] ?? ''
      const rows = await berth.berth.installation.store.db.kysely.selectFrom('pending').selectAll().execute()
      assert.equal(rows.length, 1)
      for (const { secret_hash, data } of rows)
        for (const bytes of [secret_hash, data])
          assert.ok(!Buffer.from(bytes).toString('latin1').includes(code))
      berth.advance(limits.setupLinkMs - 60_000)
      assert.equal((await setup(path, { password: 'short' })).answer.status, 400)
      berth.advance(60_000)
      assert.equal((await setup(path)).page.status, 404)
    })

    test('an invalid form does not use up the link', async () => {
      const path = await setupPath(berth)
      const wrong: Record<string, [Record<string, string>, RegExp]> = {
        'no name': [{ name: ' ' }, /Your name must/],
        'no address': [{ email: 'ada' }, /email address must/],
        'a short password': [{ password: 'elevenchars' }, /at least 12 characters/],
        'a password of one letter': [{ password: 'aaaaaaaaaaaaaaaa' }, /repeat/],
        'the address as password': [{ password: 'ada@example.com' }, /not based on your name/],
        'the name as password': [{ password: 'ada-lovelace-ada' }, /not based on your name/],
        'the organization as password': [
          { organization: 'engines', password: 'engines-ada-2026' },
          /name of your organization/,
        ],
        'an organization with capitals': [{ organization: 'ACME' }, /organization name is invalid/],
      }
      for (const [what, [fields, problem]] of Object.entries(wrong)) {
        const { answer } = await setup(path, fields)
        assert.equal(answer.status, 400, what)
        assert.match(answer.text, problem, what)
      }
      assert.equal((await setup(path)).answer.path, '/?done=setup')
    })

    test('the holder of the link becomes the owner of the installation', async () => {
      const { browser, page, answer } = await setup(await setupPath(berth), { organization: 'acme' })
      assert.equal(page.forms[0]?.fields['organization'], 'default')
      assert.equal(answer.path, '/?done=setup')
      assert.match((await browser.open('/start')).text, /Welcome, Ada Lovelace .*ada@example\.com/)
      assert.ok((await browser.open('/account')).text.includes(berth.owner))

      const owner = await call('GET', `${berth.url}/iam/v2beta1/identities/${berth.owner}`, {
        token: await berth.tokenOf(berth.owner),
      })
      assert.equal(owner.body.email, 'ada@example.com')
      assert.equal(owner.body.name, 'ada lovelace')
      const organization = await call('GET', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, {
        token: await berth.tokenOf(berth.owner),
      })
      assert.equal(organization.body.name, 'acme')
      assert.ok(await isSignedIn(browser))
      assert.equal((await setPassword(webBrowser(berth.url), 'ada@example.com')).path, '/')
    })

    test('after that account is deleted, the next is for the same owner, whose organization keeps its name', async () => {
      const { browser, page, answer } = await setup(await setupPath(berth), { organization: 'other' })
      assert.equal(page.forms[0]?.fields['organization'], undefined)
      assert.equal(answer.path, '/?done=setup')
      assert.ok((await browser.open('/account')).text.includes(berth.owner))
      const organization = await call('GET', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, {
        token: await berth.tokenOf(berth.owner),
      })
      assert.equal(organization.body.name, 'acme')
    })
  })
}
