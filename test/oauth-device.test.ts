import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { formatUserCode, newUserCode } from '@berth/server/signin/oauth/device/user-code.ts'
import { apiOf } from './support/api/api-fixture.ts'
import {
  createSignedInBrowser,
  type Fields,
  type WebBrowser,
  webBrowser,
} from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import {
  authorizationCodeOf,
  CLIENT,
  claimsOf,
  codeFlow,
  postForm,
  submitConsent,
  type TokenReply,
  tokenRequest,
  withQuery,
} from './support/signin/oauth.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

interface Waiting {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly expires_in: number
  readonly interval: number
}

for (const database of databases)
  describe(`the device grant on ${database.name}`, () => {
    let berth: TestBerth
    let browser: WebBrowser
    before(async () => {
      berth = await startTestBerth(database, {
        env: { BERTH_OAUTH_CLIENTS: 'portal=https://portal.example.com/done' },
      })
      browser = await createSignedInBrowser(berth, berth.owner)
    })
    after(() => berth.stop())

    const begin = async (fields: Fields = {}) => {
      const { status, body } = await postForm(berth.url, '/oauth/device_authorization', {
        client_id: CLIENT,
        scope: 'openid email profile offline_access',
        ...fields,
      })
      assert.equal(status, 200, JSON.stringify(body))
      return body as unknown as Waiting
    }
    const poll = (waiting: Waiting, fields: Fields = {}): Promise<TokenReply> =>
      postForm(berth.url, '/oauth/token', {
        grant_type: GRANT,
        client_id: CLIENT,
        device_code: waiting.device_code,
        ...fields,
      })
    /** As a person does it who types the code. */
    const typeCode = async (code: string, by: WebBrowser = browser) =>
      by.submit(await by.open('/device'), { user_code: code }, -1)

    test('a device shows a code, the user enters and confirms it, and the device gets its tokens once', async () => {
      const waiting = await begin()
      assert.match(waiting.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
      assert.equal(waiting.verification_uri, `${berth.url}/device`)
      assert.equal(waiting.expires_in, limits.deviceCodeMs / 1000)
      assert.equal(waiting.interval, limits.deviceIntervalMs / 1000)
      assert.equal((await poll(waiting)).body.error, 'authorization_pending')

      const consent = await typeCode(waiting.user_code.toLowerCase().replace('-', ' '))
      for (const words of [waiting.user_code, 'Berth command line', '127.0.0.1', 'UTC', 'owner'])
        assert.ok(consent.text.includes(words), `${words} in: ${consent.text}`)
      const done = await submitConsent(browser, consent)
      assert.match(done.text, /Device connected/)

      const { status, body } = await poll(waiting)
      assert.equal(status, 200, JSON.stringify(body))
      const groups = await fetch(`${berth.url}/iam/v2beta1/groups`, {
        headers: { authorization: `Bearer ${body.access_token}` },
      })
      assert.equal(groups.status, 200)
      const claims = claimsOf(body.id_token ?? '')
      assert.deepEqual(claims['aud'], [CLIENT, berth.url])
      assert.equal(claims['sub'], berth.owner)
      assert.equal((await poll(waiting)).body.error, 'invalid_grant', 'it is used up')
    })

    test('the token service exchanges the ID token of a device, but none that is only for a client', async () => {
      const { uid } = await apiOf(berth, berth.token).create(`iam/identities/${berth.organization}`, {
        name: 'shared',
        claimMatch: { issuer: berth.url, subject: berth.owner },
      })
      const waiting = await begin()
      await submitConsent(browser, await typeCode(waiting.user_code))
      const { body } = await poll(waiting)
      const exchange = (bearer: string | undefined) =>
        fetch(`${berth.url}/sts/exchange?${new URLSearchParams({ aud: berth.url, identity: uid })}`, {
          headers: { authorization: `Bearer ${bearer}` },
        })
      const reply = await exchange(body.id_token)
      assert.equal(reply.status, 200, await reply.clone().text())
      assert.equal(claimsOf(((await reply.json()) as { token: string }).token)['sub'], uid)

      const flow = codeFlow({ scope: 'openid' })
      const other = await postForm(
        berth.url,
        '/oauth/token',
        tokenRequest(flow, await authorizationCodeOf(browser, flow)),
      )
      assert.notEqual((await exchange(other.body.id_token)).status, 200)
    })

    test('R36: the address with the code fills in the form, and asks for consent all the same', async () => {
      const waiting = await begin()
      const page = await browser.open(waiting.verification_uri_complete)
      assert.equal(page.path, `/device?user_code=${waiting.user_code}`)
      assert.equal(page.forms.at(-1)?.fields['user_code'], waiting.user_code)
      assert.equal((await poll(waiting)).body.error, 'authorization_pending')
      const consent = await browser.submit(page, {}, page.forms.length - 1)
      assert.match(consent.path, /^\/oauth\/continue/)
      berth.advance(limits.deviceIntervalMs)
      assert.equal(
        (await poll(waiting)).body.error,
        'authorization_pending',
        'nothing is given before the consent',
      )
    })

    test('R36: an address from an attacker does not authorize a device: the page describes the request', async () => {
      const waiting = await begin()
      const stranger = webBrowser(berth.url)
      const page = await stranger.submit(await stranger.open(waiting.verification_uri_complete), {}, -1)
      assert.match(page.path, /^\/sign-in\?request=/)
    })

    test('denying the request ends the wait', async () => {
      const waiting = await begin()
      await submitConsent(browser, await typeCode(waiting.user_code), 'deny')
      assert.equal((await poll(waiting)).body.error, 'access_denied')
      assert.equal((await poll(waiting)).body.error, 'access_denied', 'and it stays so')
    })

    test('a device that polls too often gets slow_down, and each time waits five seconds longer', async () => {
      const waiting = await begin()
      const after = (ms: number) => {
        berth.advance(ms)
        return poll(waiting).then(({ body }) => body.error)
      }
      assert.equal(await after(0), 'authorization_pending')
      assert.equal(await after(0), 'slow_down')
      assert.equal(await after(limits.deviceIntervalMs), 'slow_down', 'ten seconds are asked for now')
      assert.equal(await after(15_000), 'authorization_pending')
    })

    const refusedBeginnings: readonly (readonly [string, Fields, string, number])[] = [
      ['no client_id', { client_id: undefined }, 'invalid_client', 401],
      ['an unknown client_id', { client_id: 'someone' }, 'invalid_client', 401],
      ['a scope that is not known', { scope: 'openid everything' }, 'invalid_scope', 400],
      ['an audience that is not ours', { audience: 'https://elsewhere.example.com' }, 'invalid_target', 400],
      ['a scope with a line break', { scope: 'openid\n' }, 'invalid_request', 400],
    ]
    for (const [what, fields, error, status] of refusedBeginnings)
      test(`a device with ${what} gets no code: ${error} (${refusedBeginnings.length} rows)`, async () => {
        const reply = await postForm(berth.url, '/oauth/device_authorization', {
          client_id: CLIENT,
          ...fields,
        })
        assert.deepEqual([reply.status, reply.body.error], [status, error])
      })

    const refusedPolls: readonly (readonly [string, Fields, string, number])[] = [
      ['no device_code', { device_code: undefined }, 'invalid_request', 400],
      ['a device_code that is none', { device_code: 'a'.repeat(43) }, 'invalid_grant', 400],
      ['no client_id', { client_id: undefined }, 'invalid_request', 400],
      ['an unknown client_id', { client_id: 'someone' }, 'invalid_client', 401],
      ["another client's id", { client_id: 'portal' }, 'invalid_grant', 400],
      [
        'an audience that was not agreed to',
        { audience: 'https://elsewhere.example.com' },
        'invalid_target',
        400,
      ],
    ]
    for (const [what, fields, error, status] of refusedPolls)
      test(`R40: a connected device gets nothing with ${what}: ${error} (${refusedPolls.length} rows)`, async () => {
        const waiting = await begin()
        await submitConsent(browser, await typeCode(waiting.user_code))
        const reply = await poll(waiting, fields)
        assert.deepEqual([reply.status, reply.body.error], [status, error])
      })

    test('R40: a user code is not accepted as a device_code', async () => {
      const waiting = await begin()
      await submitConsent(browser, await typeCode(waiting.user_code))
      for (const code of [waiting.user_code, waiting.user_code.replace('-', '')])
        assert.equal((await poll(waiting, { device_code: code })).body.error, 'invalid_grant')
    })

    for (const name of ['device_code', 'client_id', 'grant_type'])
      test(`R40: ${name} twice: invalid_request`, async () => {
        const waiting = await begin()
        const fields = new URLSearchParams({
          grant_type: GRANT,
          client_id: CLIENT,
          device_code: waiting.device_code,
        })
        fields.append(name, fields.get(name) ?? '')
        assert.equal((await postForm(berth.url, '/oauth/token', fields)).body.error, 'invalid_request')
      })

    for (const typed of ['', 'WDJB', 'WDJB-MJHT', 'AEIOUAEI', '<b>WDJB</b>', 'x'.repeat(5000)])
      test(`a code without a waiting device is rejected: ${typed.slice(0, 20)}`, async () => {
        const page = await typeCode(typed)
        assert.equal(page.status, 400)
        assert.match(page.text, /Code not recognized/)
        assert.ok(!page.html.includes('<b>WDJB'))
      })

    test('R40: a code is confirmed once, and rejected afterwards', async () => {
      const waiting = await begin()
      const other = await createSignedInBrowser(
        berth,
        await createPerson(berth, { email: 'grace@example.com' }),
      )
      const [first, second] = [await typeCode(waiting.user_code), await typeCode(waiting.user_code, other)]
      await submitConsent(browser, first)
      assert.equal((await submitConsent(other, second)).status, 404)
      assert.equal((await typeCode(waiting.user_code, other)).status, 400)
      const { body } = await poll(waiting)
      assert.equal(claimsOf(body.access_token ?? '')['sub'], berth.owner)
    })

    test('R40: of 20 concurrent polls with one code, one gets tokens', async () => {
      const waiting = await begin()
      await submitConsent(browser, await typeCode(waiting.user_code))
      const replies = await Promise.all(Array.from({ length: 20 }, () => poll(waiting)))
      assert.equal(replies.filter(({ status }) => status === 200).length, 1)
      for (const { status, body } of replies) if (status !== 200) assert.equal(body.error, 'invalid_grant')
    })

    test('R16: a code that was not confirmed in time has expired, for the device and for the user', async () => {
      const waiting = await begin()
      const consent = await typeCode(waiting.user_code)
      berth.advance(limits.deviceCodeMs + 1)
      assert.equal((await poll(waiting)).body.error, 'expired_token')
      assert.equal((await typeCode(waiting.user_code)).status, 400)
      assert.equal((await submitConsent(browser, consent)).status, 404)
    })

    test('R16: a confirmed code that was not fetched in time has expired', async () => {
      const waiting = await begin()
      await submitConsent(browser, await typeCode(waiting.user_code))
      berth.advance(limits.deviceCodeMs + 1)
      assert.equal((await poll(waiting)).body.error, 'expired_token')
    })

    test('R36: guesses of codes are limited, also for a correct one, until the window ends', async () => {
      const waiting = await begin()
      const page = await browser.open('/device')
      const guess = (code: string) => browser.submit(page, { user_code: code }, -1)
      berth.advance(limits.guessWindowMs)
      const fresh = await begin()
      const statuses = []
      for (let guesses = 0; guesses < limits.guessesPerAddressMax; guesses++)
        statuses.push((await guess(formatUserCode(newUserCode()))).status)
      assert.deepEqual([...new Set(statuses)], [400])
      const late = await guess(fresh.user_code)
      assert.equal(late.status, 429)
      assert.ok(Number(late.headers.get('retry-after')) > 0)
      berth.advance(limits.guessWindowMs)
      assert.equal((await guess(waiting.user_code)).status, 400, 'it has expired by then')
      assert.match((await guess((await begin()).user_code)).path, /^\/oauth\/continue/)
    })

    test('the page rejects a form of another site', async () => {
      const waiting = await begin()
      const page = await browser.post('/device', { user_code: waiting.user_code })
      assert.equal(page.status, 403)
      assert.equal((await browser.open(withQuery('/device', { user_code: '"><script>' }))).status, 200)
    })
  })
