import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createStandstillMeter } from '../peer-timeout.ts'
import { TokenBucket } from './token-bucket.ts'

const [BURST, PER_SECOND] = [10, 10]

function setUp() {
  let nowMs = 0
  const clock = () => nowMs
  const standstillMs = createStandstillMeter(1000, 1000, clock)
  const createBucket = () => new TokenBucket(BURST, PER_SECOND, standstillMs, clock)
  return {
    createBucket,
    bucket: createBucket(),
    /** Time passes, and timers fire. */
    pass(ms: number) {
      for (let left = ms; left > 0; left -= 1000) {
        nowMs += Math.min(left, 1000)
        standstillMs()
      }
    },
    /** Time passes; data may be read before timers fire. */
    standStill(ms: number) {
      nowMs += ms
    },
  }
}

/** Takes as many as the bucket allows. */
function takeAll(bucket: TokenBucket): number {
  for (let taken = 0; ; taken++) if (!bucket.take()) return taken
}

describe('a token bucket', () => {
  test('allows a burst, and then events at its rate, up to a burst', () => {
    const { bucket, pass } = setUp()
    const allowed = [0, 0, 500, 900, 60_000].map((ms) => {
      pass(ms)
      return takeAll(bucket)
    })
    assert.deepEqual(allowed, [10, 0, 5, 9, 10])
  })

  for (const seconds of [3, 10, 20, 3600])
    test(`allows a burst and the events of a standstill of ${seconds} s`, () => {
      const { bucket, standStill } = setUp()
      standStill(seconds * 1000)
      assert.equal(takeAll(bucket), BURST + seconds * PER_SECOND)
      assert.equal(takeAll(bucket), 0)
    })

  test('allows the events of a standstill if a timer fires before they are read', () => {
    const { bucket, pass, standStill } = setUp()
    standStill(9000)
    pass(1000)
    assert.equal(takeAll(bucket), BURST + 10 * PER_SECOND)
  })

  test('allows what was left before a standstill besides the events of the standstill', () => {
    const { bucket, pass, standStill } = setUp()
    assert.equal(takeAll(bucket), 10)
    pass(500)
    standStill(9500)
    assert.equal(takeAll(bucket), 10 * PER_SECOND)
  })

  for (const takenBefore of [0, 1, 15])
    test(`allows no more than a burst some time after a standstill, if ${takenBefore} were taken`, () => {
      const { bucket, pass, standStill } = setUp()
      standStill(3600_000)
      for (let taken = 0; taken < takenBefore; taken++) assert.ok(bucket.take())
      pass(3000)
      assert.equal(takeAll(bucket), BURST)
    })

  test('allows no more than a burst if it was created after the standstill', () => {
    const { createBucket, standStill } = setUp()
    standStill(3600_000)
    assert.equal(takeAll(createBucket()), BURST)
  })
})
