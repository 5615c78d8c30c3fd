import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { rootOf } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import { dividePool } from '@berth/server/storage/engines/postgres/connection-permits.ts'
import pg from 'pg'
import { type ApiFixture, newName, onEveryDatabase } from './support/api/api-fixture.ts'
import type { GrpcFailure } from './support/api/grpc.ts'
import { addressOf, selectedCluster } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { bearerOf, createRegistryFixture, pushImage, testImage } from './support/registry/registry.ts'

/** One organization, a locked row or a client that hangs up does not take the database connections of the others (ADR 18). */

const POOL = 16
const shares = dividePool(POOL)
/** What one organization may read with. On a distributed database, it leaves its server as much as it has (ADR 108). */
const { perShare, perServer } = shares.connections
const readsOfOne = selectedCluster === undefined ? perShare : perServer / 2

async function answer(url: string, request: RequestInit = {}) {
  const response = await fetch(url, request)
  const retryAfter = response.headers.get('retry-after')
  return { status: response.status, retryAfter, text: await response.text() }
}

const suite = (cast: () => ApiFixture) => {
  let url = ''
  let observer: pg.Client
  const pool = () => cast().berth.berth.installation.store.db.pool()

  before(async () => {
    url = addressOf(cast().berth.berth.installation.store.db)
    observer = new pg.Client({ connectionString: url })
    // The database is dropped when the server stops.
    observer.on('error', () => undefined)
    await observer.connect()
  })
  after(() => observer.end().catch(() => undefined))

  /** Sessions that wait for a lock, on any server of a distributed database. */
  async function lockWaiters(): Promise<number> {
    const [session, activity] =
      selectedCluster === undefined ? ['pid', 'pg_stat_activity'] : ['global_pid', 'citus_stat_activity']
    const { rows } = await observer.query(
      `select count(distinct ${session})::int as n from ${activity} where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0].n
  }

  /** Runs a statement that locks in a session of the test; returns what ends it. */
  async function lock(statement: string, values: unknown[] = []): Promise<() => Promise<void>> {
    const session = new pg.Client({ connectionString: url })
    await session.connect()
    await session.query('begin')
    await session.query(statement, values)
    return async () => {
      await session.query('rollback')
      await session.end()
    }
  }
  const lockRepo = (uid: string) =>
    lock('select 1 from repos where root = $1 and uid = $2 for update', [rootOf(uid), uid])

  /** An organization with an image in a repo, and what changes or reads that repo by each protocol. */
  async function tenant() {
    const { berth } = cast()
    const { organization, owner, name, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const image = await pushImage(owner, name, testImage(), 'first')
    const { repos } = (await api.get('registry/repos', { 'uidp.descendantsOf': root })).body
    const repo: string = repos[0].uid
    const { token } = api
    const bearer = await bearerOf(berth, organization.owner.uid)
    return {
      root,
      repo,
      owner,
      name,
      image,
      api,
      push: (tag: string, signal?: AbortSignal) =>
        answer(`${berth.url}/v2/${name}/manifests/${tag}`, {
          method: 'PUT',
          body: image.manifest,
          headers: { authorization: bearer, 'content-type': image.mediaType },
          ...(signal && { signal }),
        }),
      update: (description: string, signal?: AbortSignal) =>
        answer(`${berth.url}/registry/v2beta1/repos/${repo}?updateMask=description`, {
          method: 'PATCH',
          body: JSON.stringify({ description }),
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(signal && { signal }),
        }),
      updateByGrpc: (description: string, options: { signal?: AbortSignal; deadlineMs?: number } = {}) =>
        cast()
          .grpc.call(
            ReposService.method.updateRepo,
            { repo: { uid: repo, description }, updateMask: { paths: ['description'] } },
            { token, ...options },
          )
          .then(
            () => undefined,
            (error: GrpcFailure) => error,
          ),
    }
  }
  type Tenant = Awaited<ReturnType<typeof tenant>>

  /** Reads and writes by each protocol, which all succeed. */
  async function works({ api, owner, name, root, repo, update, updateByGrpc }: Tenant): Promise<void> {
    for (let n = 0; n < 5; n++) {
      await pushImage(owner, name, testImage(), newName('tag'))
      assert.equal((await owner.request('GET', `${name}/manifests/first`)).status, 200)
      assert.equal((await update(newName('text'))).status, 200)
      assert.equal(await updateByGrpc(newName('text')), undefined)
      assert.equal((await api.get(`registry/repos`, { 'uidp.ids': repo })).status, 200)
      assert.equal((await api.post(`iam/groups/${root}`, { name: newName('group') })).status, 200)
      assert.equal((await answer(`${cast().berth.url}/readyz`)).status, 200)
    }
  }

  /** A request whose client has left can still begin: the server has read it before it sees the end of the connection. */
  const idle = () =>
    eventually(async () => {
      const { total, idle, waiting } = pool()
      return total === idle && waiting === 0 && (await lockWaiters()) === 0
    })

  test('changes that wait for a locked row hold a share of the pool (databaseOrganizationTransactionsPercentMax) and fail after databaseLockMsMax, while others are served', async () => {
    const [pushing, changing, calling, other] = await Promise.all([tenant(), tenant(), tenant(), tenant()])
    const unlock = await Promise.all([pushing, changing, calling].map(({ repo }) => lockRepo(repo)))
    const pushes = Array.from({ length: 100 }, (_, n) => pushing.push(`t${n}`))
    const changes = Array.from({ length: 20 }, () => changing.update(newName('text')))
    const calls = Array.from({ length: 20 }, () => calling.updateByGrpc(newName('text')))
    await eventually(async () => (await lockWaiters()) > shares.transactions.perShare)
    assert.ok((await lockWaiters()) <= shares.transactions.total)
    assert.equal((await pushing.owner.request('GET', `${pushing.name}/manifests/first`)).status, 200)
    await works(other)
    const replies = await Promise.all([...pushes, ...changes])
    for (const { status, retryAfter, text } of replies) {
      assert.deepEqual([status, retryAfter], [503, '1'], text)
      assert.match(text, /holds the same rows for too long; try again|share of the database connections/)
    }
    assert.equal(limits.databaseLockMsMax, 3000)
    for (const part of [replies.slice(0, 100), replies.slice(100)])
      assert.ok(part.some(({ text }) => text.includes('holds the same rows')))
    for (const failure of await Promise.all(calls)) {
      assert.equal(failure?.code, 14)
      assert.ok(failure.status?.details.some(({ typeUrl }) => typeUrl.endsWith('RetryInfo')))
    }
    await idle()
    for (const release of unlock) await release()
    for (const one of [pushing, changing, calling]) await works(one)
    assert.deepEqual(cast().berth.errors, [])
  })

  test('clients that hang up free their connections and their places in the queue, and leave nothing half-done', async () => {
    const one = await tenant()
    const unlock = await lockRepo(one.repo)
    const { cancelled } = pool()
    const leaving = new AbortController()
    const { signal } = leaving
    const ended = Promise.allSettled([
      ...Array.from({ length: 20 }, (_, n) => one.push(`t${n}`, signal)),
      ...Array.from({ length: 20 }, () => one.update('changed', signal)),
      ...Array.from({ length: 20 }, () => one.updateByGrpc('changed', { signal })),
    ])
    await eventually(async () => (await lockWaiters()) > 0 && pool().waiting > 40)
    leaving.abort()
    await ended
    await idle()
    assert.ok(pool().cancelled > cancelled)
    await unlock()
    const { json } = await one.owner.request('GET', `${one.name}/tags/list`)
    assert.deepEqual(json.tags, ['first'])
    await works(one)
    assert.deepEqual(cast().berth.errors, [])
  })

  test('a gRPC call whose deadline passes is cancelled in the database', async () => {
    const one = await tenant()
    const unlock = await lockRepo(one.repo)
    const { cancelled } = pool()
    // Before databaseLockMsMax, and after the call waits for the row, also on a busy machine.
    const failure = await one.updateByGrpc('late', { deadlineMs: 2000 })
    assert.equal(failure?.code, 4)
    await idle()
    assert.equal(pool().cancelled, cancelled + 1)
    await unlock()
    await works(one)
  })

  test('an organization that floods the server with slow reads gets its share, and others are served meanwhile', async () => {
    const [flooding, other] = await Promise.all([tenant(), tenant()])
    const unlock = await lock('lock table advisories in access exclusive mode')
    const leaving = new AbortController()
    const query = `${cast().berth.url}/vulnerabilities/v2beta1/advisories?uidp.descendants_of=${flooding.root}`
    const headers = { authorization: `Bearer ${flooding.api.token}` }
    const kept = Array.from({ length: 30 }, () => fetch(query, { headers }))
    const left = Promise.allSettled(
      Array.from({ length: 70 }, () => fetch(query, { headers, signal: leaving.signal })),
    )
    await eventually(async () => (await lockWaiters()) === readsOfOne)
    await works(other)
    leaving.abort()
    await left
    await eventually(() => pool().waiting <= kept.length)
    await unlock()
    for (const reply of await Promise.all(kept)) {
      await reply.arrayBuffer()
      // A read that waited too long is asked to come again.
      if (reply.status === 503) assert.equal(reply.headers.get('retry-after'), '1')
      else assert.equal(reply.status, 200)
    }
    await idle()
  })
}

onEveryDatabase('shares of the database connections', suite, { only: 'servers' })
