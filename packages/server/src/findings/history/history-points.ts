import { DAY_MS, limits } from '../../config/limits.ts'

/** Which points the history of a tag keeps. */

/**
 * Returns the points to delete, of the times of all points, the latest first: older ones than the history is long, all but the last one of
 * a day if it is not recent, and the oldest ones above the maximum. The last point before the history starts stays: it applies at the start.
 */
export function expiredPoints(timesMs: readonly number[], nowMs: number): number[] {
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
    const isOfSameDay = Math.floor(next / DAY_MS) === Math.floor(timeMs / DAY_MS)
    const isExpired =
      kept >= findingHistoryPointsMax || next <= fromMs || (timeMs < detailFromMs && isOfSameDay)
    if (!isExpired) kept++
    return isExpired
  })
}
