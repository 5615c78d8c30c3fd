import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { createStandstillMeter, type PeerTimeout, startPeerTimeout } from './peer-timeout.ts'

const PART_MS = 100

describe('a peer whose timeout has four parts of 100 ms', () => {
  const cases: readonly (readonly [string, number, readonly number[]])[] = [
    ['expires after them', 4, [100, 100, 100, 100]],
    ['expires again', 8, [100, 100, 100, 100, 100, 100, 100, 100]],
    ['has three parts besides a standstill in the first', 4, [9000, 100, 100, 100]],
    ['has the last part after a standstill in the third', 4, [100, 100, 9000, 100]],
    ['has one more part after a standstill in the last', 5, [100, 100, 100, 9000, 100]],
    ['has one more part after each of two standstills', 6, [100, 100, 100, 9000, 250, 100]],
    ['expires if the last part is late by less than a part', 4, [100, 100, 100, 190]],
  ]
  for (const [name, parts, partsMs] of cases)
    test(name, async (t) => {
      const { expiredAfter, runPart } = startMocked(t)
      for (const ms of partsMs) await runPart(ms)
      assert.equal(expiredAfter.at(-1), parts)
    })

  for (const action of ['refresh', 'clear'] as const)
    test(`does not expire if what it has sent by then is read after the timer (${action})`, async (t) => {
      const { expiredAfter, runPart } = startMocked(t)
      for (let part = 1; part < 4; part++) await runPart(PART_MS)
      await runPart(PART_MS, (timeout) => timeout[action]())
      for (let part = 1; part < 4; part++) await runPart(PART_MS)
      assert.deepEqual(expiredAfter, [])
    })
})

/** Starts a timeout with timers that fire when `runPart` is called. `expiredAfter`: the number of parts that had passed each time. */
function startMocked(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let nowMs = 0
  let parts = 0
  const expiredAfter: number[] = []
  const timeout = startPeerTimeout(
    4 * PART_MS,
    () => expiredAfter.push(parts),
    () => nowMs,
  )
  const runPart = async (ms: number, read: (timeout: PeerTimeout) => void = () => undefined) => {
    parts++
    nowMs += ms
    t.mock.timers.tick(PART_MS)
    read(timeout)
    await nextIteration()
  }
  return { expiredAfter, runPart }
}

test('standstills count until the window has passed in which the process was not standing still', () => {
  let nowMs = 0
  const lostMs = createStandstillMeter(100, 1000, () => nowMs)
  const after = (ms: number) => {
    nowMs += ms
    return lostMs()
  }
  assert.deepEqual([after(100), after(90), after(150)], [0, 0, 50])
  // A long one counts from the previous call.
  assert.equal(after(2100), 2150)
  // The functions of several limits ask at the same time.
  assert.equal(after(0), 2150)
  for (let passed = 0; passed < 500; passed += 100) assert.equal(after(100), 2150)
  assert.equal(after(5100), 7250)
  for (let passed = 0; passed < 500; passed += 100) assert.equal(after(100), 7250)
  assert.equal(after(100), 5100)
  for (let passed = 0; passed < 400; passed += 100) assert.equal(after(100), 5100)
  assert.equal(after(100), 0)
})
