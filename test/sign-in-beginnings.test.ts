import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { countAttempt } from '@berth/server/signin/rate-limits/attempts.ts'
import { createSignedInBrowser, webBrowser } from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { newClient } from './support/signin/headless.ts'
import { codeFlow, postForm, withQuery } from './support/signin/oauth.ts'

/** Limits of sign-in attempts from one address. */

const { signInAttemptsPerAddressMax, signInAttemptWindowMs } = limits

for (const database of databases) {
  describe(`sign-in attempts (${database.name})`, () => {
    let berth: TestBerth
    let hosts = 0
    before(async () => {
      berth = await startTestBerth(database, { env: { BERTH_TRUSTED_PROXIES: '127.0.0.0/8' } })
    })
    after(() => berth.stop())

    const newAddress = () => `2001:db8:${(++hosts).toString(16)}::1`
    const from = (address: string) =>
      webBrowser(berth.url, { headers: { 'x-forwarded-for': address }, follow: false })
    const store = () => berth.berth.installation.store
    const useUp = async (what: Parameters<typeof countAttempt>[1], address: string, left = 0) => {
      for (let n = left; n < signInAttemptsPerAddressMax; n++) await countAttempt(store(), what, address)
    }
    const kept = async () => {
      const { n } = await store()
        .db.kysely.selectFrom('pending')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow()
      return Number(n)
    }
    const flows: readonly (readonly [string, () => string])[] = [
      ['the code flow', () => withQuery('/oauth/authorize', codeFlow().parameters)],
      ['the browser flow', () => withQuery('/oauth', { redirect: 'http://127.0.0.1:49152/callback' })],
      ['the headless flow', () => `/oauth?headless_code=${newClient().code}`],
    ]

    test('signInAttemptsPerAddressMax from one address, in any flow; then a page with the time to wait, and nothing is stored', async () => {
      const address = newAddress()
      await useUp('sign-in', address, flows.length)
      for (const [name, path] of flows) assert.equal((await from(address).open(path())).status, 303, name)
      const before = await kept()
      for (const [name, path] of flows) {
        const page = await from(address).open(path())
        assert.equal(page.status, 429, name)
        assert.match(
          page.text,
          /Too many sign-in attempts from your network address. Try again in 15 minutes/,
        )
        const seconds = Number(page.headers.get('retry-after'))
        assert.ok(seconds > 0 && seconds <= signInAttemptWindowMs / 1000, String(seconds))
      }
      assert.equal(await kept(), before)
    })

    test('other addresses are not limited, nor is this one after signInAttemptWindowMs', async () => {
      const address = newAddress()
      await useUp('sign-in', address)
      const [[, path]] = flows as [(typeof flows)[number]]
      assert.equal((await from(address).open(path())).status, 429)
      assert.equal((await from(address.replace(/1$/, '2')).open(path())).status, 429, 'its /64')
      assert.equal((await from(newAddress()).open(path())).status, 303)
      berth.advance(signInAttemptWindowMs)
      assert.equal((await from(address).open(path())).status, 303)
    })

    test('a device gets an OAuth error with Retry-After, and has a limit separate from sign-ins', async () => {
      const address = newAddress()
      const ask = () =>
        postForm(
          berth.url,
          '/oauth/device_authorization',
          { client_id: 'berth-cli' },
          { 'x-forwarded-for': address },
        )
      await useUp('device', address, 1)
      assert.equal((await ask()).status, 200)
      const before = await kept()
      const { status, headers, body } = await ask()
      assert.deepEqual([status, body.error], [429, 'temporarily_unavailable'])
      assert.match(body.error_description ?? '', /too many sign-in attempts from your network address/)
      assert.ok(Number(headers.get('retry-after')) > 0)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(await kept(), before)
      const [[, path]] = flows as [(typeof flows)[number]]
      assert.equal((await from(address).open(path())).status, 303)
    })

    test('names of organizations and providers are counted before they are looked up', async () => {
      const address = newAddress()
      const { parameters } = codeFlow()
      const lookups = [
        withQuery('/sign-in/provider', { organization: 'default' }),
        withQuery('/sign-in/provider', { organization: 'unknown' }),
        withQuery('/sign-in/provider', { with: `${'a'.repeat(40)}/${'b'.repeat(16)}` }),
        withQuery('/orgcheck', { name: 'unknown' }),
        withQuery('/oauth/authorize', { ...parameters, idp_id: 'unknown' }),
        withQuery('/oauth', { redirect: 'http://127.0.0.1:49152/callback', idp_id: 'unknown' }),
        withQuery('/oauth', { headless_code: newClient().code, idp_id: 'unknown' }),
      ]
      await useUp('provider', address, lookups.length)
      for (const path of lookups) assert.notEqual((await from(address).open(path)).status, 429, path)
      for (const path of lookups) {
        const page = await from(address).open(path)
        assert.equal(page.status, 429, path)
        assert.ok(Number(page.headers.get('retry-after')) > 0)
      }
    })

    test('passkey challenges are counted, and concurrent ones do not exceed the limit', async () => {
      const address = newAddress()
      await useUp('passkey', address, 1)
      const browser = from(address)
      const page = await browser.open('/sign-in')
      const fields = page.forms[0]?.fields ?? {}
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => browser.post('/sign-in/passkey/options', fields)),
      )
      // At this address there are no passkeys, which is looked at afterwards.
      assert.deepEqual(answers.map(({ status }) => status).sort(), [
        400,
        ...Array.from({ length: 19 }, () => 429),
      ])
    })

    test('a signed-in user is limited too, because their requests are stored as well', async () => {
      const browser = await createSignedInBrowser(berth, berth.owner)
      await useUp('sign-in', '127.0.0.1')
      const [[, path]] = flows as [(typeof flows)[number]]
      assert.equal((await browser.open(path())).status, 429)
    })
  })
}
