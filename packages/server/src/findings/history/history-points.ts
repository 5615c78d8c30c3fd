import { DAY_MS, limits } from '../../config/limits.ts'

/** Which points a history keeps. */

/**
 * Returns the points to delete, of the times of all points, the latest first: older ones than the history is long, all but the last one of
 * a day if it is not recent, and the oldest ones above the maximum. The last point before the history starts stays: it applies at the start.
 * `spacingMs`: of recent points, only the last one of each such time stays; 0: all.
 */
export function expiredPoints(timesMs: readonly number[], nowMs: number, spacingMs = 0): number[] {
  const { findingHistoryDays, findingHistoryDetailDays, findingHistoryPointsMax } = limits
  const fromMs = nowMs - findingHistoryDays * DAY_MS
  const detailFromMs = nowMs - findingHistoryDetailDays * DAY_MS
  let kept = 0
  return timesMs.filter((timeMs, at) => {
    const next = timesMs[at - 1]
    if (next === undefined) {
      kept++
      return false
    }
    const periodMs = timeMs < detailFromMs ? DAY_MS : spacingMs
    const isOfSamePeriod = periodMs > 0 && Math.floor(next / periodMs) === Math.floor(timeMs / periodMs)
    const isExpired = kept >= findingHistoryPointsMax || next <= fromMs || isOfSamePeriod
    if (!isExpired) kept++
    return isExpired
  })
}
