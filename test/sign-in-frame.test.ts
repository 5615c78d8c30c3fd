import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestBerth, type TestBerth } from './support/berth.ts'
import { databases } from './support/databases.ts'

/** What holds for every page of the sign-in. */

const [database] = databases
if (database === undefined) throw new Error('no database')

describe('the frame of the sign-in pages', () => {
  let berth: TestBerth
  before(async () => {
    berth = await startTestBerth(database)
  })
  after(() => berth.stop())

  test('a path that there is not gets a page that says so, under the strict policy', async () => {
    const answer = await fetch(`${berth.url}/sign-in/nowhere`)
    assert.equal(answer.status, 404)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(await answer.text(), /there is no such page/i)
    assert.equal(
      answer.headers.get('content-security-policy'),
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
    )
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  })

  test('the stylesheet may be kept for ever, and is confirmed by its tag', async () => {
    const page = await (await fetch(`${berth.url}/sign-in/nowhere`)).text()
    const path = /href="(\/sign-in\/assets\/[^"]+\.css)"/.exec(page)?.[1]
    const answer = await fetch(berth.url + path)
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/css/)
    assert.match(answer.headers.get('cache-control') ?? '', /immutable/)
    const etag = answer.headers.get('etag') ?? ''
    const again = await fetch(berth.url + path, { headers: { 'if-none-match': etag } })
    assert.equal(again.status, 304)
    const posted = await fetch(berth.url + path, { method: 'POST' })
    assert.equal(posted.status, 405)
    assert.equal(posted.headers.get('allow'), 'GET, HEAD')
  })
})
