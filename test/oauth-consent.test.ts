import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inTransaction } from '@berth/server/storage/db.ts'
import { endSessions } from '@berth/server/tokens/sessions/sessions.ts'
import {
  createSignedInBrowser,
  type Fields,
  type WebBrowser,
  type WebPage,
  webBrowser,
} from './support/browser/web-browser.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import {
  authorizationCodeOf,
  codeFlow,
  postForm,
  submitConsent,
  tokenRequest,
  withQuery,
} from './support/signin/oauth.ts'

const AUTHORIZATION_MS = 15 * 60 * 1000

for (const database of databases)
  describe(`consent on ${database.name}`, () => {
    let berth: TestBerth
    let browser: WebBrowser
    let other: string
    before(async () => {
      berth = await startTestBerth(database)
      browser = await createSignedInBrowser(berth, berth.owner)
      other = await createPerson(berth, { email: 'grace@example.com' })
    })
    after(() => berth.stop())

    const begin = (by: WebBrowser = browser): Promise<WebPage> =>
      by.open(withQuery('/oauth/authorize', codeFlow().parameters))
    const kept = async () =>
      (await berth.berth.installation.store.db.kysely.selectFrom('pending').select('kind').execute()).filter(
        ({ kind }) => kind === 'authorization_code',
      ).length

    /** Each is sent instead of the valid form, and must give no code. */
    const refused: readonly (readonly [
      what: string,
      send: (page: WebPage) => Promise<WebPage>,
      status: number,
    ])[] = [
      [
        'no form token',
        (page) => browser.submit(page, { form_token: undefined, decision: 'allow' }, own(page)),
        403,
      ],
      [
        'a form token that is made up',
        (page) => browser.submit(page, { form_token: 'a'.repeat(43), decision: 'allow' }, own(page)),
        403,
      ],
      [
        "another browser's form token",
        async (page) => {
          const elsewhere = await createSignedInBrowser(berth, other)
          const { forms } = await begin(elsewhere)
          const token = forms.at(-1)?.fields['form_token']
          return browser.submit(page, { form_token: token, decision: 'allow' }, own(page))
        },
        403,
      ],
      ['no decision', (page) => browser.submit(page, {}, own(page)), 400],
      ['a decision that there is not', (page) => browser.submit(page, { decision: 'yes' }, own(page)), 400],
      [
        'no request',
        (page) => browser.submit(page, { decision: 'allow', request: undefined }, own(page)),
        404,
      ],
      [
        'a request that is made up',
        (page) => browser.submit(page, { decision: 'allow', request: 'a'.repeat(43) }, own(page)),
        404,
      ],
      [
        "another browser's request",
        async (page) => {
          const elsewhere = await createSignedInBrowser(berth, other)
          const { forms } = await begin(elsewhere)
          return browser.submit(
            page,
            { decision: 'allow', request: forms.at(-1)?.fields['request'] },
            own(page),
          )
        },
        404,
      ],
      [
        'a request of which the browser has lost its cookie',
        (page) => {
          const flow = browser.cookies.get('berth-flow') ?? ''
          browser.cookies.set('berth-flow', 'b'.repeat(43))
          return submitConsent(browser, page).finally(() => browser.cookies.set('berth-flow', flow))
        },
        404,
      ],
    ]
    function own(page: WebPage): number {
      return page.forms.findIndex(({ action }) => action === '/oauth/continue')
    }
    for (const [what, send, status] of refused)
      test(`R40: a consent with ${what} gives no code (${refused.length} rows)`, async () => {
        const before = await kept()
        const page = await send(await begin())
        assert.equal(page.status, status, page.text)
        assert.equal(page.redirectedTo, undefined)
        assert.equal(await kept(), before)
      })

    test('R40: a consent is valid once: the same form again gives no second code', async () => {
      const page = await begin()
      assert.ok((await submitConsent(browser, page)).redirectedTo?.searchParams.get('code'))
      assert.equal((await submitConsent(browser, page)).status, 404)
    })

    test('R40: of 20 concurrent consents one gives a code', async () => {
      const page = await begin()
      const answers = await Promise.all(Array.from({ length: 20 }, () => submitConsent(browser, page)))
      assert.equal(answers.filter(({ redirectedTo: left }) => left?.searchParams.has('code')).length, 1)
    })

    test('R40: a denied request cannot be allowed afterwards', async () => {
      const page = await begin()
      await submitConsent(browser, page, 'deny')
      assert.equal((await submitConsent(browser, page)).status, 404)
    })

    test('R40: a stolen address of a request cannot be continued in another browser', async () => {
      const page = await begin()
      const elsewhere = await createSignedInBrowser(berth, other)
      assert.equal((await elsewhere.open(page.path)).status, 404)
      await begin(elsewhere)
      assert.equal((await elsewhere.open(page.path)).status, 404, 'also not with a flow of their own')
    })

    test('R40: a consent that was shown to one user is not accepted from another', async () => {
      const page = await begin()
      const mixed = await createSignedInBrowser(berth, other)
      mixed.cookies.set('berth-flow', browser.cookies.get('berth-flow') ?? '')
      assert.equal((await submitConsent(mixed, page)).status, 403)
    })

    test('"use another account" signs out and keeps the request', async () => {
      const mine = await createSignedInBrowser(berth, other)
      const page = await begin(mine)
      assert.ok(page.text.includes('grace'))
      const before = mine.cookies.get('berth')
      const asked = await submitConsent(mine, page, 'switch')
      assert.match(asked.path, /^\/sign-in\?request=/)
      assert.notEqual(mine.cookies.get('berth'), before)
      const { secret } = await createSignedInBrowser(berth, berth.owner).then(({ cookies }) => ({
        secret: cookies.get('berth'),
      }))
      mine.cookies.set('berth', secret ?? '')
      const again = await mine.open(page.path)
      assert.ok(again.text.includes('owner'), again.text)
      assert.ok((await submitConsent(mine, again)).redirectedTo?.searchParams.get('code'))
    })

    test('R12: signing out before the client redeems its code revokes the consent', async () => {
      const mine = await createSignedInBrowser(berth, other)
      const flow = codeFlow()
      const code = await authorizationCodeOf(mine, flow)
      const { store } = berth.berth.installation
      await inTransaction(store.db, (tx) => endSessions(tx, 'identity_uid', other))
      const { body } = await postForm(berth.url, '/oauth/token', tokenRequest(flow, code))
      assert.equal(body.error, 'invalid_grant')
    })

    test('R29: nothing of a request is markup on the pages', async () => {
      const hostile: Fields = { redirect: 'http://localhost:1/cb', client_id: '<script>alert(1)</script>"\'' }
      const page = await browser.open(withQuery('/oauth', hostile))
      assert.equal(page.status, 200)
      assert.ok(!page.html.includes('<script>alert'))
      assert.ok(page.text.includes('<script>alert(1)</script>'))
    })

    test('pages and responses cannot be cached or framed, and send no referrer', async () => {
      const page = await begin()
      for (const { headers } of [page, await webBrowser(berth.url, { follow: false }).open(page.path)]) {
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.equal(headers.get('referrer-policy'), 'no-referrer')
        assert.match(
          headers.get('content-security-policy') ?? '',
          /default-src 'none'.*frame-ancestors 'none'/,
        )
      }
    })

    test('R40: a request expires', async () => {
      const page = await begin()
      berth.advance(AUTHORIZATION_MS + 1)
      assert.equal((await browser.open(page.path)).status, 404)
      assert.equal((await submitConsent(browser, page)).status, 404)
    })

    test('every decision is in the audit log', async () => {
      await submitConsent(browser, await begin())
      const rows = await berth.berth.installation.store.db.kysely
        .selectFrom('audit_events')
        .select(['actor', 'parent', 'method'])
        .where('method', '=', 'berth.signin/AuthorizeClient')
        .execute()
      assert.ok(rows.some(({ actor, parent }) => actor === berth.owner && parent === berth.owner))
    })
  })
