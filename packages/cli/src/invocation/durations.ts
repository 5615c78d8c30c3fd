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
