import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eventRow } from './audit-events.ts'

const event = { actor: 'system', method: 'm', uid: 'a'.repeat(40), requestId: '', address: '' }

test('events are in the order of their times, those of a millisecond in the order in which they were recorded', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -2, max: 3 }), { maxLength: 200 }), (pauses) => {
      let timeMs = 1_700_000_000_000
      const rows = pauses.map((pauseMs) => {
        timeMs += pauseMs
        return eventRow({ ...event, timeMs })
      })
      const byTime = rows.toSorted((one, other) => one.created_ms - other.created_ms)
      assert.deepEqual(
        byTime.map(({ id }) => id),
        [...new Set(rows.map(({ id }) => id))].sort(),
      )
    }),
  )
})
