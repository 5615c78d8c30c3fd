import assert from 'node:assert/strict'
import test from 'node:test'
import { DAY_MS as DAY, limits } from '../../config/limits.ts'
import { expiredPoints } from './history-points.ts'

const HOUR = 60 * 60 * 1000
const NOW = Date.UTC(2026, 10, 26, 12)

const cases: { name: string; times: number[]; expired: number[]; spacingMs?: number }[] = [
  { name: 'no points', times: [], expired: [] },
  { name: 'the only point, however old', times: [NOW - 900 * DAY], expired: [] },
  { name: 'recent points of one day', times: [NOW, NOW - HOUR, NOW - 2 * HOUR], expired: [] },
  {
    name: 'the last point of an old day stays',
    times: [NOW, NOW - 9 * DAY, NOW - 9 * DAY - HOUR, NOW - 9 * DAY - 2 * HOUR, NOW - 10 * DAY],
    expired: [NOW - 9 * DAY - HOUR, NOW - 9 * DAY - 2 * HOUR],
  },
  {
    name: 'the point that applies when the history starts stays',
    times: [NOW, NOW - 401 * DAY, NOW - 402 * DAY, NOW - 500 * DAY],
    expired: [NOW - 402 * DAY, NOW - 500 * DAY],
  },
  {
    name: 'with a spacing, the last point of each such time of recent days stays',
    times: [NOW + 2, NOW + 1, NOW, NOW - 1, NOW - HOUR, NOW - HOUR - 1],
    spacingMs: HOUR,
    expired: [NOW + 1, NOW, NOW - HOUR],
  },
  {
    name: 'the oldest points above the maximum',
    times: Array.from({ length: limits.findingHistoryPointsMax + 2 }, (_, at) => NOW - at),
    expired: [NOW - limits.findingHistoryPointsMax, NOW - limits.findingHistoryPointsMax - 1],
  },
]

for (const { name, times, expired, spacingMs } of cases)
  test(`points of a history: ${name}`, () => {
    assert.deepEqual(expiredPoints(times, NOW, spacingMs), expired)
  })
