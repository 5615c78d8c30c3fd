import { DAY_MS } from '../durations.ts'

/** Times in the zone of the browser. */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const WEEK_MS = 7 * DAY_MS

const short = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

const dateOnly = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })

export const formatTime = (value: string): string => short.format(new Date(value))

const dayFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })

/** A day that has no time, so that it is the same in each zone. */
export const formatDay = (value: string | number): string => dayFormat.format(new Date(value))

/** Within a week as a duration ("3 hours ago", "in 2 days"), otherwise as a date. */
export function relativeTime(value: string, nowMs: number = Date.now()): string {
  const difference = new Date(value).getTime() - nowMs
  const distance = Math.abs(difference)
  if (distance < MINUTE_MS) return difference > 0 ? 'in less than a minute' : 'just now'
  if (distance < HOUR_MS) return relative.format(Math.round(difference / MINUTE_MS), 'minute')
  if (distance < DAY_MS) return relative.format(Math.round(difference / HOUR_MS), 'hour')
  if (distance < WEEK_MS) return relative.format(Math.round(difference / DAY_MS), 'day')
  return dateOnly.format(new Date(value))
}

interface TimeProps {
  /** RFC 3339. */
  readonly value: string | undefined
  /** Instead of a time that is not there. */
  readonly absent?: string
  /** Shows how long ago it is, or how far away. */
  readonly isRelative?: boolean
}

/** A time, with the exact time and its zone as its title. */
export function Time({ value, absent = 'never', isRelative = false }: TimeProps) {
  if (value === undefined) return <span className="muted">{absent}</span>
  return (
    <time dateTime={value} title={exact.format(new Date(value))}>
      {isRelative ? relativeTime(value) : formatTime(value)}
    </time>
  )
}
