import { type FieldViolation, invalidArgument } from '../../api/errors.ts'
import { DAY_MS } from '../../config/limits.ts'

/** Days of the usage history: numbers of days since 1970 in UTC, and dates as `2026-11-23`. */

export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)

export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** First and last day, both included. */
export interface Period {
  readonly first: number
  readonly last: number
}

/** Reads the period of a request. Throws code 3 for a text that is not a date, and for an end before the start. */
export function readPeriod(
  { startDate, endDate }: { readonly startDate: string; readonly endDate: string },
  now: number,
): Period {
  const first = startDate === '' ? 0 : parseDate('start_date', startDate)
  const last = endDate === '' ? dayOf(now) : parseDate('end_date', endDate)
  if (endDate !== '' && last < first) throw invalidArgument('end_date', 'must not be before start_date')
  return { first, last }
}

function parseDate(field: FieldViolation['field'], text: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  // Date.parse accepts the 31st of shorter months.
  if (Number.isNaN(ms) || dateOf(dayOf(ms)) !== text)
    throw invalidArgument(field, 'must be a date in UTC, such as 2026-11-23')
  return dayOf(ms)
}
