import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createEventIds, SERIAL_VALUES } from './audit-events.ts'

const START_MS = 1_700_000_000_000

/** Asserts that ids sort by time, those of a millisecond in the order in which they were created. */
function assertOrder(lastSerial: number, pauses: readonly number[]): void {
  const createId = createEventIds(lastSerial)
  let timeMs = START_MS
  const events = pauses.map((pauseMs) => {
    timeMs += pauseMs
    return { timeMs, id: createId(timeMs) }
  })
  const byTime = events.toSorted((one, other) => one.timeMs - other.timeMs).map(({ id }) => id)
  assert.deepEqual(byTime, [...new Set(byTime)].sort())
}

const pausesOf = (min: number) => fc.array(fc.integer({ min, max: 3 }), { maxLength: 200 })

test('events are in the order of their times, those of a millisecond in the order in which they were recorded', () => {
  // A clock can be set back.
  fc.assert(fc.property(pausesOf(-2), (pauses) => assertOrder(0, pauses)))
})

test('the order stays when serial numbers begin again', () => {
  const nearMiddle = fc.integer({ min: SERIAL_VALUES / 2 - 200, max: SERIAL_VALUES / 2 })
  fc.assert(fc.property(nearMiddle, pausesOf(0), (lastSerial, pauses) => assertOrder(lastSerial, pauses)))
})

test('a millisecond with more events than serial numbers has ids of the same length', () => {
  const createId = createEventIds(SERIAL_VALUES / 2 - 1)
  const lengths = Array.from({ length: SERIAL_VALUES / 2 + 1 }, () => createId(START_MS).length)
  assert.deepEqual(new Set(lengths), new Set([createId(START_MS + 1).length]))
})
