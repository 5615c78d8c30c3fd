import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, Code } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import { RequestContext, runInContext } from '../../../pipeline/request/request-context.ts'
import { createPermits, dividePool, type PermitBounds, type Permits } from './connection-permits.ts'

const bounds: PermitBounds = { total: 16, perShare: 8, jobs: 6 }

/** Takes permits for shares and records in which order they come. */
function takers(of: Permits) {
  const order: string[] = []
  const held = new Map<string, number>()
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const take = (share: string, times = 1) =>
    Array.from({ length: times }, () => {
      const context = new RequestContext()
      context.share = share
      const taken = runInContext(context, async () => of.acquire()).then((name) => {
        order.push(name)
        held.set(name, (held.get(name) ?? 0) + 1)
      })
      taken.catch(() => undefined)
      return { context, taken }
    })
  return {
    order,
    held: (share: string) => held.get(share) ?? 0,
    settled,
    async take(share: string, times = 1) {
      const all = take(share, times)
      await settled()
      return all
    },
    async release(share: string) {
      held.set(share, (held.get(share) ?? 0) - 1)
      of.release(share)
      await settled()
    },
  }
}

test('a pool is divided by the named limits, and a transaction always leaves connections to reads', () => {
  assert.deepEqual(dividePool(16), {
    connections: { total: 16, perShare: 8, jobs: 6 },
    transactions: { total: 12, perShare: 4, jobs: 4 },
  })
  for (let size = 2; size <= 200; size++) {
    const { connections, transactions } = dividePool(size)
    for (const bound of ['total', 'perShare', 'jobs'] as const) {
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
  const all = takers(createPermits({ total: 4, perShare: 2, jobs: 1 }))
  for (const share of ['a', 'b', 'c', 'd']) await all.take(share, 5)
  assert.deepEqual(all.order, ['a', 'a', 'b', 'c'])
  await all.release('a')
  assert.deepEqual(all.order.slice(4), ['d'])
})

test('background jobs hold at most their share (databaseJobsPercentMax), and wait without a limit', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const jobs = createPermits(bounds)
  const taken: unknown[] = []
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  for (let n = 0; n < 20; n++) void Promise.resolve(jobs.acquire()).then((share) => taken.push(share))
  await settled()
  assert.equal(taken.length, Math.floor((16 * limits.databaseJobsPercentMax) / 100))
  t.mock.timers.tick(100 * limits.databaseWaitMsMax)
  assert.equal(jobs.waiting, 14)
  jobs.release('jobs')
  await settled()
  assert.equal(taken.length, 7)
})

test('a request that waits too long (databaseWaitMsMax) fails with UNAVAILABLE and says when to try again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const own = createPermits({ total: 2, perShare: 1, jobs: 1 })
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
  const own = createPermits({ total: 2, perShare: 1, jobs: 1 })
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

test('a request whose caller went away leaves the queue, and takes no permit', async () => {
  const own = createPermits({ total: 2, perShare: 1, jobs: 1 })
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
