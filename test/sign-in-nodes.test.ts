import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { countAttempt } from '@berth/server/signin/rate-limits/attempts.ts'
import { databases } from './support/database/databases.ts'
import { startNodes } from './support/server/nodes.ts'
import { openInvite } from './support/signin/invites.ts'
import { localAccount, sendForm, setPassword } from './support/signin/local-accounts.ts'
import { codeFlow, postForm, withQuery } from './support/signin/oauth.ts'
import { type WebBrowser, webBrowser } from './support/signin/web-browser.ts'

/** What is counted of guesses and of beginnings is counted for all nodes together. */

const { guessesPerAccountAndAddressMax, guessesPerAddressMax, signInAttemptsPerAddressMax } = limits

for (const database of databases) {
  test(`failed attempts and sign-in attempts at either of two nodes count at both (${database.name})`, async (t) => {
    const { all, advance } = await startNodes(t, database, 2, {
      env: { BERTH_TRUSTED_PROXIES: '127.0.0.0/8' },
    })
    const origins = all.map(({ origin }) => origin)
    const [one = '', other = ''] = origins
    const node = all[0]
    assert.ok(node)
    let hosts = 0
    const newAddress = () => `2001:db8:${(++hosts).toString(16)}::1`
    const browsers = (address: string) =>
      origins.map((origin) => webBrowser(origin, { headers: { 'x-forwarded-for': address } }))
    /** Sends concurrent guesses to the nodes in turn; returns the number of responses by status. */
    const guesses = async (
      times: number,
      address: string,
      send: (browser: WebBrowser) => Promise<number>,
    ) => {
      const answers = await Promise.all(
        Array.from({ length: times }, (_, n) => {
          const browser = webBrowser(n % 2 === 0 ? one : other, { headers: { 'x-forwarded-for': address } })
          return send(browser)
        }),
      )
      return Object.fromEntries(
        [...Map.groupBy(answers, (status) => status)].map(([status, those]) => [status, those.length]),
      )
    }

    await t.test('wrong passwords', async () => {
      const email = 'ada@example.com'
      const { account } = await localAccount(
        { url: one, berth: node.berth.berth },
        email,
        webBrowser(one, { headers: { 'x-forwarded-for': newAddress() } }),
      )
      assert.ok(account.id)
      const address = newAddress()
      const more = 4
      assert.deepEqual(
        await guesses(guessesPerAccountAndAddressMax + more, address, async (browser) => {
          return (await setPassword(browser, email, 'wrong wrong wrong')).status
        }),
        { 401: guessesPerAccountAndAddressMax, 429: more },
      )
      for (const browser of browsers(address)) assert.equal((await setPassword(browser, email)).status, 429)
      for (const browser of browsers(newAddress()))
        assert.equal((await setPassword(browser, email)).path, '/')
    })

    const kinds: readonly (readonly [string, number, (browser: WebBrowser) => Promise<number>])[] = [
      [
        'codes of devices',
        400,
        async (browser) =>
          (await sendForm(browser, await browser.open('/device'), '/device', { user_code: 'WDJB-MJHT' }))
            .status,
      ],
      ['codes of invites', 404, async (browser) => (await openInvite(browser, inviteLike())).status],
      ['codes of links', 404, async (browser) => (await browser.open('/setup?code=guessed')).status],
      [
        'passkeys',
        401,
        async (browser) =>
          (
            await browser.post('/sign-in/passkey', {
              ...(
                await browser.open('/sign-in')
              ).forms[0]?.fields,
              answer: '{}',
            })
          ).status,
      ],
    ]
    for (const [kind, wrong, send] of kinds) {
      await t.test(`wrong ${kind}`, async () => {
        const address = newAddress()
        const more = 6
        assert.deepEqual(await guesses(guessesPerAddressMax + more, address, send), {
          [wrong]: guessesPerAddressMax,
          429: more,
        })
        for (const browser of browsers(address)) assert.equal(await send(browser), 429)
        for (const browser of browsers(newAddress())) assert.equal(await send(browser), wrong)
        advance(limits.guessWindowMs)
        for (const browser of browsers(address)) assert.equal(await send(browser), wrong)
      })
    }

    await t.test('sign-in attempts', async () => {
      const address = newAddress()
      const begin = (what: 'sign-in' | 'device', from: number) =>
        countAttempt(all[from]?.berth.berth.installation.store ?? assert.fail(), what, address)
      for (let n = 0; n < signInAttemptsPerAddressMax; n++)
        for (const what of ['sign-in', 'device'] as const) await begin(what, n % 2)
      for (const [n, browser] of browsers(address).entries()) {
        const page = await browser.open(withQuery('/oauth/authorize', codeFlow().parameters))
        assert.equal(page.status, 429)
        const asked = { client_id: 'berth-cli' }
        const headers = { 'x-forwarded-for': address }
        const path = '/oauth/device_authorization'
        assert.equal((await postForm(origins[n] ?? '', path, asked, headers)).status, 429)
      }
    })
  })
}

/** Has the form of a code, and is none. */
function inviteLike(): string {
  return Buffer.from(JSON.stringify({ grp: 'ab'.repeat(20), keyId: 'none', code: 'none' })).toString('base64')
}
