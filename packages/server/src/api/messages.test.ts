import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { create } from '@bufbuild/protobuf'
import { DurationSchema } from '@bufbuild/protobuf/wkt'
import { ApiError } from './errors.ts'
import { applyUpdate, durationMs, timestampOf } from './messages.ts'

test('a time keeps its milliseconds, also before 1970', () => {
  for (const ms of [0, 1, 999, 1000, 1_735_787_045_678, -1, -1000, -1001]) {
    const timestamp = timestampOf(ms)
    assert.equal(timestampMs(timestamp), ms)
    assert.ok(timestamp.nanos >= 0 && timestamp.nanos % 1_000_000 === 0)
  }
})

test('fractions of a millisecond are truncated', () => {
  assert.equal(timestampMs({ ...timestampOf(1001), nanos: 1_999_999 }), 1001)
})

test('a duration is truncated to milliseconds; one with two signs or too many nanoseconds is invalid', () => {
  const cases: readonly [seconds: bigint, nanos: number, ms: number | undefined][] = [
    [0n, 0, 0],
    [1n, 1_999_999, 1001],
    [0n, 999_999, 0],
    [-1n, -1_999_999, -1001],
    [1n, 999_999_999, 1999],
    [1n, 1_000_000_000, undefined],
    [0n, -1_000_000_000, undefined],
    [1n, -1, undefined],
    [-1n, 1, undefined],
  ]
  for (const [seconds, nanos, ms] of cases)
    assert.equal(durationMs(create(DurationSchema, { seconds, nanos })), ms, `${seconds} ${nanos}`)
})

test('an update copies the fields of the mask from the patch and changes neither message', () => {
  const current = create(GroupSchema, { uid: 'u', name: 'n', description: 'd' })
  const patch = create(GroupSchema, { name: 'm', description: 'e' })
  const next = applyUpdate(GroupSchema, current, patch, ['description'])
  assert.deepEqual([next.uid, next.name, next.description], ['u', 'n', 'e'])
  assert.deepEqual([current.description, patch.name], ['d', 'm'])
  assert.equal(applyUpdate(GroupSchema, current, patch, undefined).name, 'm')
})

test('a bad mask is code 3 on update_mask', () => {
  const group = create(GroupSchema)
  assert.throws(
    () => applyUpdate(GroupSchema, group, group, ['nope']),
    (error: unknown) => {
      assert.ok(error instanceof ApiError && error.code === 3)
      const [detail] = error.details
      assert.ok(detail?.kind === 'BadRequest')
      assert.deepEqual(
        detail.fieldViolations.map(({ field }) => field),
        ['update_mask'],
      )
      return true
    },
  )
})
