import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { constants } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { Groups } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import { Code } from '@berth/server/api/errors.ts'
import { limits } from '@berth/server/config/limits.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { insertResource } from '@berth/server/storage/resource-rows.ts'
import { type Api, type ApiFixture, onEveryDatabase } from '../support/api/api-fixture.ts'
import { rowOf } from '../support/database/hierarchy.ts'
import { http2Request, http2Session } from '../support/http/port.ts'

/** Lists of version 1 that are longer than a page of version 2: they come in pieces, and whole or not at all. */

/** So many groups below an organization, with long texts. */
async function planted({ berth }: ApiFixture, root: string, count: number): Promise<void> {
  const { db } = berth.berth.installation.store
  await inTransaction(db, async (tx) => {
    for (let at = 0; at < count; at++) {
      const uid = `${root}/${at.toString(16).padStart(16, '0')}`
      const row = {
        ...rowOf('groups', uid, { name: `group-${at}` }),
        description: 'x'.repeat(limits.descriptionCharsMax),
      }
      await insertResource(db, tx, 'groups', row as never)
    }
  })
}

/** What a list of version 2 has, page by page. */
async function paged(api: Api, root: string) {
  const found = []
  let page_token = ''
  do {
    const query = { 'uidp.descendants_of': root, order_by: 'uid', page_size: '200', page_token }
    const { status, body, text } = await api.get('iam/groups', query)
    assert.equal(status, 200, text)
    found.push(...body.groups)
    page_token = body.nextPageToken
  } while (page_token !== '')
  return found
}

const listPath = (root: string) => `/iam/v1/groups?uidp.descendantsOf=${root}`

/** A response whose body is not read yet. */
function opened(
  t: TestContext,
  { berth }: ApiFixture,
  root: string,
  token: string,
  method = 'GET',
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const request = httpRequest(berth.url + listPath(root), { method, headers, agent: false }, resolve)
    t.after(() => request.destroy())
    request.on('error', reject)
    request.end()
  })
}

async function textOf(reply: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces = []
  for await (const piece of reply) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Lowers a limit until the test is over. */
function lower(t: TestContext, name: 'v1ListMax', value: number): void {
  const before = limits[name]
  Reflect.set(limits, name, value)
  t.after(() => Reflect.set(limits, name, before))
}

/** What the server reads of groups from now on, counted in pages. */
function pagesRead(t: TestContext, { berth }: ApiFixture): { count: number } {
  const { db } = berth.berth.installation.store
  const seen = { count: 0 }
  const { read } = db
  t.after(() => Reflect.set(db, 'read', read))
  Reflect.set(db, 'read', (text: string, parameters: readonly unknown[]) => {
    if (parameters.includes(limits.pageSizeMax + 1)) seen.count += 1
    return read.call(db, text, parameters)
  })
  return seen
}

onEveryDatabase('a long list of version 1', (cast) => {
  const count = 4 * limits.pageSizeMax + 17
  const organization = async (groups: number) => {
    const { uid, owner, member } = await cast().organization()
    await planted(cast(), uid, groups)
    return { uid, owner: owner.api, member }
  }
  /** The one that has a long list; no test changes it. */
  let made: ReturnType<typeof organization> | undefined
  const large = () => {
    made ??= organization(count)
    return made
  }

  test('has the rows of the pages of version 2, in their order, over HTTP/1.1, HTTP/2 and gRPC', async (t) => {
    const { uid, owner } = await large()
    const expected = (await paged(owner, uid)).map((one) => [one.uid, one.name, one.createTime])
    assert.equal(expected.length, count)
    const words = (text: string) =>
      JSON.parse(text).items.map((one: Record<string, string>) => [one['id'], one['name'], one['createdAt']])
    const reply = await opened(t, cast(), uid, owner.token)
    const { headers } = reply
    assert.deepEqual(
      [reply.statusCode, headers['content-type'], headers['content-length'], headers['cache-control']],
      [200, 'application/json', undefined, 'no-store'],
    )
    assert.deepEqual(words(await textOf(reply)), expected)

    const session = http2Session(t, cast().berth.url)
    const second = await http2Request(session, {
      ':path': listPath(uid),
      authorization: `Bearer ${owner.token}`,
    })
    assert.deepEqual(words(String(second.body)), expected)

    const { items } = await cast().grpc.call(
      Groups.method.list,
      { uidp: { descendantsOf: uid } },
      { token: owner.token },
    )
    assert.deepEqual(
      items.map(({ id, name }) => [id, name]),
      expected.map(([id, name]) => [id, name]),
    )
  })

  test('has a length if one page contains it, and a HEAD has no body', async (t) => {
    const { uid, owner } = await organization(limits.pageSizeMax)
    const short = await opened(t, cast(), uid, owner.token)
    const text = await textOf(short)
    assert.equal(short.headers['content-length'], String(Buffer.byteLength(text)))
    assert.equal(JSON.parse(text).items.length, limits.pageSizeMax)

    const long = await large()
    const read = pagesRead(t, cast())
    const head = await opened(t, cast(), long.uid, long.owner.token, 'HEAD')
    assert.deepEqual([head.statusCode, head.headers['content-length']], [200, undefined])
    assert.equal(await textOf(head), '')
    assert.equal(read.count, 1)
  })

  test('is rejected before its first byte if it is too long, not permitted or invalid', async (t) => {
    const { uid, owner } = await large()
    lower(t, 'v1ListMax', count - 1)
    const read = pagesRead(t, cast())
    const reply = await opened(t, cast(), uid, owner.token)
    const error = JSON.parse(await textOf(reply))
    assert.deepEqual([reply.statusCode, error.code], [400, Code.FAILED_PRECONDITION])
    assert.match(error.message, new RegExp(`more than ${count - 1} .*GroupsService/ListGroups`))
    assert.equal(read.count, 1)
    await assert.rejects(
      cast().grpc.call(Groups.method.list, { uidp: { descendantsOf: uid } }, { token: owner.token }),
      { code: Code.FAILED_PRECONDITION },
    )
    Reflect.set(limits, 'v1ListMax', count)
    assert.equal(JSON.parse(await textOf(await opened(t, cast(), uid, owner.token))).items.length, count)
    assert.equal((await opened(t, cast(), uid, 'x')).statusCode, 401)
    assert.equal((await opened(t, cast(), `${uid}&uidp.inRoot=x`, owner.token)).statusCode, 400)
  })

  /** A response that is not read yet: HTTP/2 lets the server send no more than a window then. */
  const begun = async (t: TestContext, uid: string, token: string) => {
    const session = http2Session(t, cast().berth.url)
    const stream = session.request({ ':path': listPath(uid), authorization: `Bearer ${token}` })
    stream.on('error', () => undefined)
    const [head] = await once(stream, 'response')
    assert.equal(head[':status'], 200)
    return stream
  }
  /** Until the server waits for its client. */
  const resting = async (read: { readonly count: number }) => {
    for (let last = -1; last !== read.count; await pause(150)) last = read.count
    assert.ok(read.count < 4, `${read.count} pages were read for a client that reads nothing`)
  }
  test('stops when its client disconnects, and waits for one that does not read', async (t) => {
    const { uid, owner } = await large()
    const read = pagesRead(t, cast())
    const stream = await begun(t, uid, owner.token)
    await resting(read)
    const before = read.count
    stream.close(constants.NGHTTP2_CANCEL)
    await pause(300)
    assert.equal(read.count, before)
    assert.deepEqual(cast().berth.errors, [])
  })

  test('is aborted, never completed, when its caller loses the permission, or it grows too long', async (t) => {
    const { uid, owner, member } = await large()
    const { api, binding } = await member('viewer')
    const read = pagesRead(t, cast())
    const errors = cast().berth.errors as { err?: { code?: unknown } }[]
    const broken = async (token: string, change: () => unknown, code: Code) => {
      read.count = 0
      const stream = await begun(t, uid, token)
      await resting(read)
      await change()
      await assert.rejects(async () => {
        const text = await textOf(stream)
        // Of a stream that is reset node:http2 may only say so.
        if (stream.rstCode !== 0) throw new Error('reset')
        return text
      })
      assert.deepEqual(
        errors.splice(0).map(({ err }) => err?.code),
        [code],
      )
    }
    const release = () => owner.delete(`iam/roleBindings/${binding}`)
    await broken(api.token, release, Code.ABORTED)
    await broken(owner.token, () => lower(t, 'v1ListMax', limits.pageSizeMax), Code.FAILED_PRECONDITION)
  })

  test('lets other requests run', async (t) => {
    const { uid, owner } = await large()
    const delays: number[] = []
    let ended = false
    const pinging = async () => {
      while (!ended) {
        const start = performance.now()
        await (await fetch(`${cast().berth.url}/ping/v2beta1/ping`)).text()
        delays.push(performance.now() - start)
      }
    }
    const pings = pinging()
    const [text, { items }] = await Promise.all([
      opened(t, cast(), uid, owner.token).then(textOf),
      cast().grpc.call(Groups.method.list, { uidp: { descendantsOf: uid } }, { token: owner.token }),
    ])
    ended = true
    await pings
    assert.equal(JSON.parse(text).items.length, items.length)
    assert.ok(delays.length > 10, `${delays.length} pings were answered meanwhile`)
  })
})
