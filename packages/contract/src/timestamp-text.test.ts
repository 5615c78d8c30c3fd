import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { durationText, parseDuration, parseTimestamp, timestampText } from './timestamp-text.ts'

const timestamps: readonly [text: string, seconds: bigint, nanos: number][] = [
  ['1970-01-01T00:00:00Z', 0n, 0],
  ['1970-01-01T00:00:00.000Z', 0n, 0],
  ['2025-01-02T03:04:05.678Z', 1735787045n, 678_000_000],
  ['2025-01-02T03:04:05.678912345Z', 1735787045n, 678_912_345],
  ['2025-01-02T05:04:05+02:00', 1735787045n, 0],
  ['2025-01-01T21:34:05-05:30', 1735787045n, 0],
  ['2024-02-29T00:00:00Z', 1709164800n, 0],
  ['1969-12-31T23:59:59.5Z', -1n, 500_000_000],
  ['0001-01-01T00:00:00Z', -62135596800n, 0],
  ['9999-12-31T23:59:59.999999999Z', 253402300799n, 999_999_999],
]
for (const [text, seconds, nanos] of timestamps) {
  test(`${text} is read`, () => assert.deepEqual(parseTimestamp(text), { seconds, nanos }))
}

for (const text of [
  '',
  '2025-01-02',
  '2025-01-02T03:04:05',
  '2025-01-02 03:04:05Z',
  '2025-01-02t03:04:05z',
  '2025-02-29T00:00:00Z',
  '2025-13-01T00:00:00Z',
  '2025-00-01T00:00:00Z',
  '2025-01-00T00:00:00Z',
  '2025-01-01T24:00:00Z',
  '2025-01-01T00:60:00Z',
  '2025-01-01T00:00:60Z',
  '2025-01-01T00:00:00.1234567890Z',
  '2025-01-01T00:00:00.Z',
  '2025-01-01T00:00:00+24:00',
  '0000-12-31T23:59:59Z',
  '0001-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  '+10000-01-01T00:00:00Z',
  '2025-01-02T03:04:05Z\n',
]) {
  test(`${JSON.stringify(text)} is no timestamp`, () => assert.equal(parseTimestamp(text), undefined))
}

test('timestamps are written in UTC with three digits, as Date has them', () => {
  const time = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 })
  fc.assert(
    fc.property(time, (ms) => {
      const seconds = BigInt(Math.floor(ms / 1000))
      const nanos = (((ms % 1000) + 1000) % 1000) * 1_000_000
      const text = timestampText({ seconds, nanos })
      assert.equal(text, new Date(ms).toISOString())
      assert.deepEqual(parseTimestamp(text), { seconds, nanos })
    }),
  )
})

test('digits below a millisecond are cut off', () => {
  assert.equal(timestampText({ seconds: 0n, nanos: 999_999 }), '1970-01-01T00:00:00.000Z')
  assert.equal(timestampText({ seconds: 0n, nanos: 999_999_999 }), '1970-01-01T00:00:00.999Z')
})

test('a time without a text form is rejected, also right after one of the same day', () => {
  timestampText({ seconds: 253_402_300_799n, nanos: 0 })
  assert.throws(() => timestampText({ seconds: 253_402_300_800n, nanos: 0 }), /out of range/)
  assert.throws(() => timestampText({ seconds: -62_135_596_801n, nanos: 0 }), /out of range/)
  assert.throws(() => timestampText({ seconds: 0n, nanos: 1_000_000_000 }), /out of range/)
  assert.throws(() => timestampText({ seconds: 0n, nanos: -1_000_000 }), /out of range/)
})

const durations: readonly [text: string, seconds: bigint, nanos: number, written?: string][] = [
  ['0s', 0n, 0],
  ['3600s', 3600n, 0],
  ['1.500s', 1n, 500_000_000],
  ['1.5s', 1n, 500_000_000, '1.500s'],
  ['0.000001s', 0n, 1000],
  ['0.000000001s', 0n, 1],
  ['-1.500s', -1n, -500_000_000],
  ['-0.500s', 0n, -500_000_000],
  ['-0s', 0n, 0, '0s'],
  ['315576000000s', 315_576_000_000n, 0],
]
for (const [text, seconds, nanos, written = text] of durations) {
  test(`${text} is read and written`, () => {
    assert.deepEqual(parseDuration(text), { seconds, nanos })
    assert.equal(durationText({ seconds, nanos }), written)
  })
}

for (const text of [
  '',
  's',
  '1',
  '1.s',
  '.5s',
  '+1s',
  '1 s',
  '1e3s',
  '1.0000000001s',
  '315576000001s',
  '1m',
]) {
  test(`${JSON.stringify(text)} is no duration`, () => assert.equal(parseDuration(text), undefined))
}
