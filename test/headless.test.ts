import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import {
  createSignedInBrowser,
  type Fields,
  type WebBrowser,
  webBrowser,
} from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import { fetchHeadlessToken, newClient } from './support/signin/headless.ts'
import { claimsOf, submitConsent, withQuery } from './support/signin/oauth.ts'

for (const database of databases)
  describe(`the headless flow of the public SDK on ${database.name}`, () => {
    let berth: TestBerth
    let browser: WebBrowser
    before(async () => {
      berth = await startTestBerth(database)
      browser = await createSignedInBrowser(berth, berth.owner)
    })
    after(() => berth.stop())
    const resultOf = (code: string) => fetchHeadlessToken(berth.url, code)

    test('R36: the page shows the code and asks for consent; only the holder of the key can read the result', async () => {
      const client = newClient()
      const consent = await browser.open(`/oauth?headless_code=${client.code}`)
      assert.ok(consent.text.includes(client.code.slice(0, 8)), consent.text)
      assert.ok(!consent.text.includes(client.code))
      assert.equal(await resultOf(client.code), undefined, 'nothing is there before the consent')
      assert.match((await submitConsent(browser, consent)).text, /You are signed in/)

      const result = await resultOf(client.code)
      assert.ok(result)
      const claims = claimsOf(client.open(result))
      assert.equal(claims['iss'], berth.url)
      assert.equal(claims['sub'], berth.owner)
      assert.equal(claims['aud'], berth.url)
      assert.throws(() => newClient().open(result))
      assert.equal(await resultOf(client.code), undefined, 'it is fetched once')
    })

    test('R36: an address from an attacker does nothing without a consent', async () => {
      const { code } = newClient()
      assert.match(
        (await webBrowser(berth.url).open(`/oauth?headless_code=${code}`)).path,
        /^\/sign-in\?request=/,
      )
      await submitConsent(browser, await browser.open(`/oauth?headless_code=${code}`), 'deny')
      assert.equal(await resultOf(code), undefined)
    })

    test('R40: a code gets one result, of the first consent', async () => {
      const client = newClient()
      const other = await createSignedInBrowser(
        berth,
        await createPerson(berth, { email: 'grace@example.com' }),
      )
      const path = `/oauth?headless_code=${client.code}`
      const [first, second] = [await browser.open(path), await other.open(path)]
      await submitConsent(browser, first)
      assert.equal((await submitConsent(other, second)).status, 404)
      const result = await resultOf(client.code)
      assert.equal(result && claimsOf(client.open(result))['sub'], berth.owner)
    })

    const { code } = newClient()
    const refused: readonly (readonly [string, Fields])[] = [
      ['an empty code', { headless_code: '' }],
      ['a code that is too short', { headless_code: code.slice(1) }],
      ['a code that is too long', { headless_code: `${code}A` }],
      ['a padded code', { headless_code: `${code}=` }],
      ['a code in another alphabet', { headless_code: `${code.slice(0, 42)}/` }],
      ['a point of small order', { headless_code: 'A'.repeat(43) }],
      ['a redirect', { redirect: 'http://localhost:1/callback' }],
      ['an audience', { audience: 'x' }],
      ['an identity', { identity: 'a'.repeat(40) }],
      ['a scope', { scope: 'default' }],
      ['a refresh token', { create_refresh_token: 'true' }],
      ['an unknown organization', { idp_id: 'nobody' }],
      ['an identity provider and a client_id', { idp_id: 'default', client_id: 'auth0' }],
      ['a connection with a line break', { connection: 'a\nb' }],
    ]
    for (const [what, changed] of refused)
      test(`${what} is rejected on a page (${refused.length} rows)`, async () => {
        const { status, redirectedTo: left } = await browser.open(
          withQuery('/oauth', { headless_code: code, ...changed }),
        )
        assert.deepEqual([status, left], [400, undefined])
      })

    test('R40: two codes are rejected', async () => {
      const { status } = await browser.open(`/oauth?headless_code=${code}&headless_code=${newClient().code}`)
      assert.equal(status, 400)
    })

    test('R16: a result that was not fetched in time has expired', async () => {
      const client = newClient()
      await submitConsent(browser, await browser.open(`/oauth?headless_code=${client.code}`))
      berth.advance(limits.headlessResultMs + 1)
      assert.equal(await resultOf(client.code), undefined)
    })
  })
