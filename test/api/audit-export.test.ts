import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { eventRow, insertEvents } from '@berth/server/storage/changes/audit-events.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { type Api, assertError, invalidFieldError, onEveryDatabase } from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { http2Request, http2Session } from '../support/http/port.ts'
import { readLiveMemory } from '../support/live-memory.ts'

const PATH = '/audit/v1/events:export'
const ORIGIN = 'https://console.example.com'

type Event = Readonly<Record<string, string | number>>

const eventsIn = (text: string): Event[] => {
  assert.ok(text === '' || text.endsWith('\n'), 'a line ends with its line break')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

onEveryDatabase(
  'the export of the audit log',
  (cast) => {
    const exported = async ({ token }: Pick<Api, 'token'>, query: Record<string, string> = {}) => {
      const response = await fetch(`${cast().berth.url}${PATH}?${new URLSearchParams(query)}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      const text = await response.text()
      assert.equal(response.status, 200, text)
      assert.equal(response.headers.get('content-type'), 'application/x-ndjson')
      assert.equal(response.headers.get('cache-control'), 'no-store')
      assert.equal(response.headers.get('content-length'), null)
      return eventsIn(text)
    }
    const refused = async (token: string | undefined, query: string, method = 'GET'): Promise<RestReply> => {
      const response = await fetch(`${cast().berth.url}${PATH}${query}`, {
        method,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      })
      const { status, headers } = response
      const text = await response.text()
      return { status, headers, text, body: JSON.parse(text) }
    }

    /** All that a list gives, page by page. */
    const listed = async ({ token }: Pick<Api, 'token'>, query: Record<string, string> = {}) => {
      const events: Event[] = []
      let pageToken = ''
      do {
        const search = new URLSearchParams({
          ...query,
          order_by: 'created_at',
          page_size: '7',
          page_token: pageToken,
        })
        const reply = await call('GET', `${cast().berth.url}/audit/v1/events?${search}`, { token })
        assert.equal(reply.status, 200, reply.text)
        events.push(...reply.body.events)
        pageToken = reply.body.nextPageToken
      } while (pageToken !== '')
      return events
    }

    /** Records that happened long ago, so that nothing else comes between them. */
    const recorded = async (uid: string, count: number, reason = '') => {
      const { db } = cast().berth.berth.installation.store
      const rows = Array.from({ length: count }, (_, n) => ({
        ...eventRow({
          timeMs: 1_000_000 + n,
          actor: 'system',
          method: 'test.Service/Method',
          uid,
          requestId: String(n),
          address: '',
        }),
        reason,
      }))
      for (let at = 0; at < rows.length; at += 4000)
        await inTransaction(db, (tx) => insertEvents(tx, db.engine, rows.slice(at, at + 4000)))
    }

    /** How many pages were asked for so far, by whomever. */
    const pagesAsked = async () => {
      const text = await (await fetch(`${cast().berth.url}/metrics`)).text()
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith('berth_requests_total{') && line.includes('/ListAuditEvents"'))
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    }
    const pagesSettled = async () => {
      let pages = -1
      for (let now = await pagesAsked(); now !== pages; now = await pagesAsked()) {
        pages = now
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      return pages
    }

    /** An export whose client does not read until the test starts it. */
    const opened = (t: TestContext, { token }: Pick<Api, 'token'>): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` }
        const request = httpRequest(`${cast().berth.url}${PATH}`, { headers, agent: false }, (reply) => {
          reply.on('error', () => undefined)
          resolve(reply)
        })
        t.after(() => request.destroy())
        request.on('error', reject)
        request.end()
      })

    test('has the events of the list, oldest first, with any filter', async () => {
      const organization = await cast().organization()
      const { owner, uid } = organization
      const other = await organization.member('owner')
      const one = await owner.api.create(`iam/groups/${uid}`, { name: 'one' })
      cast().berth.advance(10)
      for (let n = 0; n < 5; n++) await other.api.create(`iam/groups/${one.uid}`, { name: `below-${n}` })
      await other.api.patch(`iam/groups/${one.uid}`, { description: 'd' })
      const all = await listed(owner.api, { code: '0' })
      assert.ok(all.length > 9)
      const at = String(all.at(-3)?.['createTime'])
      for (const filter of [
        { code: '0' },
        { actor: other.uid },
        { method: 'CreateGroup' },
        { resource_uid: one.uid },
        { 'uidp.descendants_of': one.uid },
        { since: at, code: '0' },
        { until: at, code: '0' },
        { since: at, actor: other.uid, method: 'UpdateGroup', resourceUid: one.uid },
      ] as Record<string, string>[]) {
        const wanted = await listed(owner.api, filter)
        assert.ok(wanted.length > 0, JSON.stringify(filter))
        assert.deepEqual(await exported(owner.api, filter), wanted)
      }
      assert.deepEqual(await exported(owner.api, { method: 'NoSuchMethod' }), [])
    })

    test('has no events of another tenant', async () => {
      const { owner, uid } = await cast().organization()
      const stranger = await cast().organization()
      for (const event of await exported(stranger.owner.api))
        assert.equal(String(event['resourceUid']).split('/')[0], stranger.uid)
      assert.deepEqual(await exported(stranger.owner.api, { resource_uid: uid }), [])
      assert.deepEqual(await exported(stranger.owner.api, { 'uidp.descendants_of': uid }), [])
      assert.ok((await exported(owner.api, { resource_uid: uid })).length > 0)
    })

    test('rejects the same requests as the list, with the usual errors', async () => {
      const organization = await cast().organization()
      const viewer = await organization.member('viewer')
      const { token } = organization.owner.api
      const anonymous = await refused(undefined, '?page_size=1')
      assertError(anonymous, { status: 401, code: 16 })
      assert.match(anonymous.headers.get('www-authenticate') ?? '', /^Bearer realm=/)
      assertError(await refused('nonsense', ''), { status: 401, code: 16 })
      // A list is never denied: it shows what the caller may read, which is nothing here.
      assert.deepEqual(await exported(viewer.api), [])
      for (const [query, ...fields] of [
        ['since=yesterday', 'since'],
        ['code=x', 'code'],
        ['actor=x', 'actor'],
        ['resource_uid=x', 'resource_uid'],
        ['uidp.descendants_of=x', 'uidp.descendants_of'],
        ['actor=a&actor=b', 'actor'],
        ['page_size=10', 'page_size'],
        ['pageSize=-1', 'page_size'],
        ['page_token=x', 'page_token'],
        ['skip=1', 'skip'],
        ['order_by=uid', 'order_by'],
        ['page_size=1&skip=1&order_by=uid&page_token=x', 'page_size', 'page_token', 'order_by', 'skip'],
      ] as const)
        assertError(await refused(token, `?${query}`), invalidFieldError(...fields))
      for (const method of ['POST', 'DELETE', 'PATCH'])
        assert.equal((await refused(token, '', method)).status, 405)
    })

    test('supports HEAD without the lines, HTTP/2, and pages of the listed origins', async (t) => {
      const { owner, uid } = await cast().organization()
      const authorization = `Bearer ${owner.api.token}`
      const address = `${cast().berth.url}${PATH}?resource_uid=${uid}`
      const head = await fetch(address, { method: 'HEAD', headers: { authorization } })
      assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'application/x-ndjson'])
      assert.equal(await head.text(), '')
      const second = await http2Request(http2Session(t, cast().berth.url), {
        ':path': `${PATH}?resource_uid=${uid}`,
        authorization,
      })
      assert.deepEqual(eventsIn(second.body.toString()), await listed(owner.api, { resource_uid: uid }))
      const page = await fetch(address, { headers: { authorization, origin: ORIGIN } })
      assert.equal(page.headers.get('access-control-allow-origin'), ORIGIN)
      await page.text()
      const preflight = await fetch(address, {
        method: 'OPTIONS',
        headers: { origin: ORIGIN, 'access-control-request-method': 'GET' },
      })
      assert.deepEqual(
        [preflight.status, preflight.headers.get('access-control-allow-origin')],
        [204, ORIGIN],
      )
    })

    test('ends, although events arrive faster than they are read', async (t) => {
      const { owner, uid } = await cast().organization()
      await recorded(uid, 1000, 'x'.repeat(8000))
      const before = await listed(owner.api, { resource_uid: uid, code: '0' })
      const reply = await opened(t, owner.api)
      await pagesSettled()
      for (let n = 0; n < 5; n++) await owner.api.create(`iam/groups/${uid}`, { name: `later-${n}` })
      const events = eventsIn(await collected(reply))
      assert.equal(events.filter((event) => event['resourceUid'] === uid).length, before.length)
      assert.equal(events.filter((event) => event['requestId'] === '999').length, 1)
    })

    test('pages as fast as its client reads, and stops when the client disconnects', async (t) => {
      const { owner, uid } = await cast().organization()
      await recorded(uid, 20_000, 'x'.repeat(2000))
      const earlier = await pagesSettled()
      const reply = await opened(t, owner.api)
      // The system's buffers take a few megabytes of forty.
      const pages = (await pagesSettled()) - earlier
      assert.ok(pages > 0 && pages < 60, `${pages} pages`)
      const before = await readLiveMemory()
      let growth = 0
      let rest = ''
      let next = 0
      for await (const chunk of reply.setEncoding('utf8')) {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          const event = JSON.parse(line) as Event
          if (event['method'] !== 'test.Service/Method') continue
          assert.equal(event['requestId'], String(next))
          if (next % 4000 === 0) growth = Math.max(growth, (await readLiveMemory()) - before)
          next += 1
        }
      }
      assert.equal(rest, '')
      assert.equal(next, 20_000)
      assert.ok(growth < 20 * 1024 * 1024, `${growth} bytes more memory`)

      const begun = await pagesSettled()
      const abandoned = await opened(t, owner.api)
      abandoned.once('data', () => abandoned.destroy())
      await new Promise((resolve) => abandoned.on('close', resolve))
      const asked = (await pagesSettled()) - begun
      assert.ok(asked < 60, `${asked} pages`)
    })

    test('is interrupted when the caller loses the permission to read', async (t) => {
      const organization = await cast().organization()
      await recorded(organization.uid, 4000, 'x'.repeat(8000))
      const reader = await organization.member('owner')
      const reply = await opened(t, reader.api)
      await pagesSettled()
      const unbound = await organization.owner.api.delete(`iam/roleBindings/${reader.binding}`)
      assert.equal(unbound.status, 200, unbound.text)
      await assert.rejects(collected(reply))
    })
  },
  { env: { BERTH_CORS_ORIGINS: ORIGIN } },
)

async function collected(reply: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of reply.setEncoding('utf8')) text += chunk
  return text
}
