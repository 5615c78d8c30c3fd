import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, Code } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import {
  nodeShares,
  RequestContext,
  runForRowsOf,
  runInContext,
  runShared,
} from '../../../pipeline/request/request-context.ts'
import {
  createPermits,
  dividePool,
  type PermitBounds,
  type Permits,
  type Share,
} from './connection-permits.ts'

const bounds: PermitBounds = { total: 16, perShare: 8, jobs: 6, perServer: 8 }

/** Takes permits for shares and records in which order they come. `?name`: of a caller that is not known yet, for the organization that it names. */
function takers(of: Permits) {
  const order: string[] = []
  const held = new Map<string, Share[]>()
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const take = (name: string, times = 1) =>
    Array.from({ length: times }, () => {
      const context = new RequestContext()
      if (name.startsWith('?')) context.named = name.slice(1)
      else context.share = name
      const taken = runInContext(context, async () => of.acquire()).then((share) => {
        order.push(name)
        held.set(name, [...(held.get(name) ?? []), share])
      })
      taken.catch(() => undefined)
      return { context, taken }
    })
  return {
    order,
    held: (name: string) => held.get(name)?.length ?? 0,
    settled,
    async take(name: string, times = 1) {
      const all = take(name, times)
      await settled()
      return all
    },
    async release(name: string) {
      of.release(held.get(name)!.pop()!)
      await settled()
    },
  }
}

test('a pool is divided by the named limits, and a transaction always leaves connections to reads', () => {
  assert.deepEqual(dividePool(16), {
    connections: { total: 16, perShare: 8, jobs: 6, perServer: 8 },
    transactions: { total: 12, perShare: 4, jobs: 4, perServer: 5 },
  })
  for (let size = 2; size <= 200; size++) {
    const { connections, transactions } = dividePool(size)
    for (const bound of ['total', 'perShare', 'jobs', 'perServer'] as const) {
      assert.ok(transactions[bound] >= 1 && transactions[bound] < connections[bound], `${bound} of ${size}`)
      assert.ok(connections[bound] <= size, `${bound} of ${size}`)
    }
  }
})

test('an organization holds at most its share (databaseOrganizationPercentMax), and another one is served immediately', async () => {
  const all = takers(createPermits(bounds))
  await all.take('greedy', 100)
  assert.equal(all.held('greedy'), (16 * limits.databaseOrganizationPercentMax) / 100)
  await all.take('other')
  assert.equal(all.held('other'), 1)
})

test('several busy organizations leave a permit for the next', async () => {
  const all = takers(createPermits(bounds))
  for (const share of ['a', 'b', 'c', 'd']) await all.take(share, 100)
  await all.take('next')
  assert.deepEqual(['a', 'b', 'c', 'd', 'next'].map(all.held), [8, 4, 2, 1, 1])
})

test('a released permit goes to the share that holds the fewest, and within a share in order', async () => {
  const all = takers(createPermits({ total: 4, perShare: 2, jobs: 1, perServer: 2 }))
  for (const share of ['a', 'b', 'c', 'd']) await all.take(share, 5)
  assert.deepEqual(all.order, ['a', 'a', 'b', 'c'])
  await all.release('a')
  assert.deepEqual(all.order.slice(4), ['d'])
})

test('callers that are not known yet hold at most one share together, in which an organization leaves as much as it holds', async () => {
  const all = takers(createPermits(bounds))
  await all.take('?frozen', 100)
  assert.equal(all.held('?frozen'), 4)
  await all.take('?other')
  assert.equal(all.held('?other'), 1)
  for (let n = 0; n < 1000; n++) await all.take(`?invented ${n}`)
  const invented = Array.from({ length: 1000 }, (_, n) => all.held(`?invented ${n}`))
  assert.equal(4 + 1 + invented.filter((n) => n > 0).length, bounds.perShare)
  await all.take('known')
  assert.equal(all.held('known'), 1)
})

test('callers that name no organization hold the share of one organization, or half of it on a distributed database', async () => {
  const all = takers(createPermits(bounds))
  await all.take('?', 100)
  assert.equal(all.held('?'), bounds.perShare)
  const distributed = takers(createPermits(bounds, (name) => (name === '' ? undefined : 1)))
  await distributed.take('?', 100)
  assert.equal(distributed.held('?'), bounds.perShare / 2)
})

test('reads of rows of another root count for its server on a distributed database, and do not change the request', async () => {
  const servers: Readonly<Record<string, number>> = { own: 1, a: 2, b: 1 }
  for (const isDistributed of [true, false]) {
    const permits = createPermits(bounds, (name) => (isDistributed ? servers[name] : undefined))
    const context = new RequestContext()
    context.share = 'own'
    const taken = await runInContext(context, async () => {
      const inside = ['a', 'b'].map((uid) =>
        runForRowsOf(uid, async () => {
          await new Promise(setImmediate)
          return permits.acquire()
        }),
      )
      const outside = [await permits.acquire()]
      return [...(await Promise.all(inside)), ...outside, await permits.acquire()]
    })
    const expected = isDistributed ? [2, 1, 1, 1] : Array(4).fill(undefined)
    assert.deepEqual(
      taken.map(({ server }) => server),
      expected,
    )
    assert.deepEqual(new Set(taken.map(({ name }) => name)), new Set(['own']))
    for (const share of taken) permits.release(share)
  }
})

test('an organization that reads rows of many others holds one share and has one queue, and leaves half of the share to its own rows', async () => {
  const permits = createPermits(bounds, (name) => (name.startsWith('f') ? 1 : 2))
  const all = takers(permits)
  const context = new RequestContext()
  context.share = 'own'
  let takenElsewhere = 0
  for (let n = 0; n < 2 * limits.databaseWaitingPerOrganizationMax; n++)
    runInContext(context, () => runForRowsOf(`f${n}`, async () => permits.acquire())).then(
      () => takenElsewhere++,
      () => undefined,
    )
  await all.settled()
  assert.equal(takenElsewhere, bounds.perShare / 2)
  assert.equal(permits.waiting, limits.databaseWaitingPerOrganizationMax)

  await all.take('own', 9)
  assert.equal(all.held('own'), bounds.perShare / 2)
  await all.take('f-other', 9)
  assert.equal(all.held('f-other'), 2, 'as many as it leaves of the server')
  for (const { taken } of await all.take('own'))
    await assert.rejects(taken, /requests of this organization wait/)
})

/** Requests of `own` that read rows of `root`. */
function readersElsewhere(permits: Permits, root: string) {
  const taken: Share[] = []
  return {
    taken,
    async take(times: number) {
      const context = new RequestContext()
      context.share = 'own'
      for (let n = 0; n < times; n++)
        runInContext(context, () => runForRowsOf(root, async () => permits.acquire())).then(
          (share) => taken.push(share),
          () => undefined,
        )
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const serverOfFirstLetter = (name: string) => ({ o: 1, b: 2, c: 3, f: 4, g: 5, 0: 1 })[name[0] ?? '']

test('reads of rows on a server that does not respond leave permits to other requests of their organization, while others are busy', async () => {
  const permits = createPermits(bounds, serverOfFirstLetter)
  const all = takers(permits)
  const frozen = readersElsewhere(permits, 'frozen')
  await frozen.take(8)
  for (const name of ['busy', 'can also be busy']) await all.take(name, 20)
  await all.take('own', 3)
  assert.deepEqual([frozen.taken.length, all.held('own')], [4, 2])
})

test('shares of one organization on several servers take turns', async () => {
  const permits = createPermits(bounds, serverOfFirstLetter)
  const all = takers(permits)
  await all.take('own', 20)
  const [one, other] = [readersElsewhere(permits, 'g'), readersElsewhere(permits, 'f')]
  await one.take(4)
  await other.take(20)
  assert.deepEqual([all.held('own'), one.taken.length, other.taken.length], [4, 4, 0])
  for (let n = 0; n < 4; n++) await all.release('own')
  assert.deepEqual([all.order.length, other.taken.length], [6, 2])
})

test('a part of a request is aborted with it', async () => {
  const context = new RequestContext()
  const reason = new ApiError(Code.CANCELLED, 'the client has left')
  const permits = createPermits({ ...bounds, total: 0 })
  const waiting = runInContext(context, () => runForRowsOf('a', async () => permits.acquire()))
  context.abort(reason)
  await assert.rejects(waiting, reason)
})

test('organizations on a server that does not respond hold at most its permits (databaseServerPercentMax), and others are served', async () => {
  const serverOf = (name: string) => ({ f: 1, h: 2, 0: 2 })[name[0] ?? '']
  const all = takers(createPermits(bounds, serverOf))
  for (let n = 0; n < 20; n++) {
    await all.take(`?f${n}`, 9)
    await all.take(`f${n}`, 9)
  }
  const onServer = all.order.length
  assert.equal(onServer, 8)
  assert.ok(all.order.filter((name) => name.startsWith('?')).length <= 4)
  await all.take(nodeShares.writes, 9)
  assert.equal(all.held(nodeShares.writes), 4)
  for (const name of ['h', '?h', '?']) {
    await all.take(name)
    assert.equal(all.held(name), 1, name)
  }
})

test('what a node writes on a server that does not respond holds no permits of what it writes on others', async () => {
  const permits = createPermits(bounds, (name) => ({ f: 1, h: 2, 0: 2 })[name[0] ?? ''])
  const write = (root: string) => runShared(async () => permits.acquire(), nodeShares.writes, root)
  let frozen = 0
  for (let n = 0; n < 9; n++)
    void write(`f${n}`).then(
      () => frozen++,
      () => undefined,
    )
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(frozen, 4)
  assert.equal((await write('h')).server, 2)
  assert.equal((await write('')).server, undefined)
})

test('an organization leaves as many permits of its server as it holds', async () => {
  const all = takers(createPermits(bounds, () => 1))
  for (const name of ['a', 'b', 'c', 'd', 'e']) await all.take(name, 9)
  assert.deepEqual(['a', 'b', 'c', 'd', 'e'].map(all.held), [4, 2, 1, 1, 0])
})

test('callers that are not known yet take turns as one share, however many organizations they name', async () => {
  const all = takers(createPermits(bounds))
  for (const name of ['a', 'b', 'c', 'd', 'e']) await all.take(name, 8)
  for (let n = 0; n < 100; n++) await all.take(`?${n}`)
  for (const name of ['x', 'y', 'z']) await all.take(name)
  for (let n = 0; n < 4; n++) await all.release('a')
  assert.deepEqual(all.order.slice(-4), ['?0', 'x', 'y', 'z'])
  await all.release('?0')
  assert.equal(all.order.at(-1), '?1')
})

test('background jobs hold at most their share (databaseJobsPercentMax), and wait without a limit', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const jobs = createPermits(bounds)
  const taken: Share[] = []
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  for (let n = 0; n < 20; n++) void Promise.resolve(jobs.acquire()).then((share) => taken.push(share))
  await settled()
  assert.equal(taken.length, Math.floor((16 * limits.databaseJobsPercentMax) / 100))
  t.mock.timers.tick(100 * limits.databaseWaitMsMax)
  assert.equal(jobs.waiting, 14)
  jobs.release(taken[0]!)
  await settled()
  assert.equal(taken.length, 7)
})

test('a request that waits too long (databaseWaitMsMax) fails with UNAVAILABLE and says when to try again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const own = createPermits({ total: 2, perShare: 1, jobs: 1, perServer: 1 })
  const all = takers(own)
  await all.take('a')
  const [waiting] = await all.take('a')
  t.mock.timers.tick(limits.databaseWaitMsMax)
  await assert.rejects(waiting!.taken, (error) => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.code, Code.UNAVAILABLE)
    assert.match(error.message, /share of the database connections for 5 s; try again after 1 s/)
    assert.deepEqual(error.details, [{ kind: 'RetryInfo', retryDelayMs: 1000 }])
    return true
  })
  assert.deepEqual([own.waiting, own.refused], [0, 1])
})

test('the queues are bounded, of one organization (databaseWaitingPerOrganizationMax) and of all (databaseWaitingMax)', async () => {
  const own = createPermits({ total: 2, perShare: 1, jobs: 1, perServer: 1 })
  const all = takers(own)
  const each = limits.databaseWaitingPerOrganizationMax
  await all.take('a', each + 1)
  const refusal = (message: RegExp) => (error: unknown) => {
    assert.ok(error instanceof ApiError)
    assert.deepEqual([error.code, error.reason], [Code.UNAVAILABLE, 'DATABASE_QUEUE_FULL'])
    assert.match(error.message, message)
    return true
  }
  const [tooMany] = await all.take('a')
  await assert.rejects(tooMany!.taken, refusal(/1000 requests of this organization wait/))
  await all.take('b', each + 1)
  await all.take('c', each)
  await all.take('d', each)
  assert.equal(own.waiting, limits.databaseWaitingMax)
  const [ofAll] = await all.take('e')
  await assert.rejects(ofAll!.taken, refusal(/too many requests wait/))
  assert.equal(own.refused, 2)
})

test('the queue of callers that are not known yet is bounded as that of one organization, and each name leaves places to the others', async () => {
  const own = createPermits({ total: 4, perShare: 2, jobs: 1, perServer: 2 })
  const all = takers(own)
  const max = limits.databaseWaitingPerOrganizationMax
  await all.take('a', 2)
  for (const name of ['b', 'c']) await all.take(name)
  await all.take('?frozen', max)
  assert.equal(own.waiting, max / 2)
  for (let n = 0; n < max; n++) await all.take(`?${n}`)
  assert.equal(own.waiting, max)
  assert.equal(own.refused, max)
})

test('a request whose caller went away leaves the queue, and takes no permit', async () => {
  const own = createPermits({ total: 2, perShare: 1, jobs: 1, perServer: 1 })
  const all = takers(own)
  await all.take('a')
  const [gone] = await all.take('a')
  const [next] = await all.take('a')
  const reason = new ApiError(Code.CANCELLED, 'gone')
  gone!.context.abort(reason)
  await assert.rejects(gone!.taken, reason)
  assert.equal(own.waiting, 1)
  await all.release('a')
  await next!.taken
  assert.equal(all.held('a'), 1)
  await assert.rejects(
    runInContext(gone!.context, async () => own.acquire()),
    reason,
  )
})
