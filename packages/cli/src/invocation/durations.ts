import { parseDurationSeconds } from '@berth/contract/durations.ts'
import { UsageError } from './invocation.ts'

/** Parses the value of an option such as `--ttl`, in seconds. */
export function parseDurationOption(option: string, text: string): number {
  const found = parseDurationSeconds(text)
  if (found === undefined)
    throw new UsageError(`${option}: ${JSON.stringify(text)} must be a duration such as 30m, 168h or 7d`)
  return found
}

/** Formats a duration of proto JSON: `3600s` is `1h`. */
export function formatDuration(duration: string): string {
  let left = Math.round(Number.parseFloat(duration))
  const parts = []
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ] as const) {
    if (left >= length) parts.push(`${Math.floor(left / length)}${unit}`)
    left %= length
  }
  return parts.join('')
}

/** Parses the value of an option such as `--since`: a time, or a duration before now. Returns an RFC 3339 time; undefined for ''. */
export function parseTimeOption(option: string, text: string, now = Date.now()): string | undefined {
  if (text === '') return undefined
  const seconds = parseDurationSeconds(text)
  const ms = seconds === undefined ? Date.parse(text) : now - seconds * 1000
  if (Number.isNaN(ms))
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} must be a time such as 2027-01-31T12:00:00Z, or a duration such as 24h`,
    )
  return new Date(ms).toISOString()
}
