import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eventRow } from './audit-events.ts'

const event = { actor: 'system', method: 'm', uid: 'a'.repeat(40), requestId: '', address: '' }

test('events are in the order in which they were recorded, also within a millisecond', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 200 }), (pauses) => {
      let timeMs = 1_700_000_000_000
      const ids = pauses.map((pauseMs) => {
        timeMs += pauseMs
        return eventRow({ ...event, timeMs }).id
      })
      assert.deepEqual(ids, [...new Set(ids)].sort())
    }),
  )
})
