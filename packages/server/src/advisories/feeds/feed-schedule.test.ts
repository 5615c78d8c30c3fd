import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../config/limits.ts'
import { dueAfterFailure, dueAfterSuccess } from './feed-schedule.ts'

const now = 1_000_000_000_000

test('after a success a feed waits for its interval, with jitter', () => {
  const intervalMs = 100_000
  assert.equal(dueAfterSuccess({ now, intervalMs, random: 0 }), now + 95_000)
  assert.equal(dueAfterSuccess({ now, intervalMs, random: 0.5 }), now + 100_000)
})

test('after a failure it backs off exponentially within limits, and at least as long as its server asks', () => {
  const wait = (failures: number, retryAfterMs = 0, chance = 0.999_999_999) =>
    dueAfterFailure({ now, failures, retryAfterMs, random: chance }) - now
  const { feedBackoffMsMin: min, feedBackoffMsMax: max, feedRetryAfterMsMax: asked } = limits
  assert.deepEqual(
    [1, 2, 3].map((failures) => wait(failures)),
    [min, 2 * min, 4 * min],
  )
  assert.equal(wait(3, 0, 0), 2 * min)
  for (const failures of [10, 50, 5000]) assert.equal(wait(failures), max)
  assert.equal(wait(1, 3 * min), 3 * min)
  assert.equal(wait(20, min), max)
  assert.equal(wait(1, 365 * 24 * 3_600_000), asked)
})
