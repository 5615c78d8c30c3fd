import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairSemaphore, type FairSemaphore } from './fair-semaphore.ts'

/** Takes turns of shares and records in which order they come. */
function takers(turns: FairSemaphore) {
  const order: string[] = []
  const releases = new Map<string, (() => void)[]>()
  const never = new AbortController().signal
  return {
    order,
    take(share: string, times = 1, signal = never) {
      const all = Array.from({ length: times }, async () => {
        const release = await turns.acquire(signal, share)
        order.push(share)
        releases.set(share, [...(releases.get(share) ?? []), release])
      })
      return Promise.all(all)
    },
    async release(share: string) {
      releases.get(share)?.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    },
    held: (share: string) => releases.get(share)?.length ?? 0,
    settled: () => new Promise((resolve) => setImmediate(resolve)),
  }
}

test('a share holds at most its part of all turns, and another share takes one immediately', async () => {
  const all = takers(createFairSemaphore(64, 16))
  void all.take('greedy', 200)
  await all.settled()
  assert.equal(all.held('greedy'), 16)
  await all.take('other')
  assert.equal(all.held('other'), 1)
})

test('a share never holds more than it leaves free: many greedy shares leave a turn for the next', async () => {
  const all = takers(createFairSemaphore(64, 16))
  const held: number[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
    void all.take(name, 100)
    await all.settled()
    held.push(all.held(name))
  }
  assert.deepEqual(held, [16, 16, 16, 8, 4, 2])
  await all.take('next')
})

test('a turn that becomes free goes to the share that holds the fewest, and within a share in order', async () => {
  const all = takers(createFairSemaphore(4, 2))
  void all.take('a', 5)
  void all.take('b', 5)
  void all.take('c', 5)
  void all.take('d', 5)
  await all.settled()
  assert.deepEqual(all.order, ['a', 'a', 'b', 'c'])
  await all.release('a')
  assert.deepEqual(all.order.slice(4), ['d'])
})

test('without shares, turns come in the order in which they were asked for', async () => {
  const turns = createFairSemaphore(1)
  const { signal } = new AbortController()
  const order: number[] = []
  const first = await turns.acquire(signal)
  const others = [1, 2, 3].map(async (n) => {
    const release = await turns.acquire(signal)
    order.push(n)
    release()
  })
  first()
  await Promise.all(others)
  assert.deepEqual(order, [1, 2, 3])
})

test('a waiter that gives up takes no turn', async () => {
  const all = takers(createFairSemaphore(2, 1))
  const gone = new AbortController()
  await all.take('a')
  const waiting = all.take('a', 1, gone.signal)
  gone.abort(new Error('gone'))
  await assert.rejects(waiting, /gone/)
  await all.release('a')
  await all.take('a')
  assert.equal(all.held('a'), 1)
})
