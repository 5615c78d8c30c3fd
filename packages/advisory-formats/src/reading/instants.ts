import { parseTimestamp } from '@berth/contract/timestamp-text.ts'

/** A time in a document: milliseconds, as stored, and the remaining nanoseconds, which are used only for the order. */
export interface Instant {
  readonly ms: number
  readonly restNanos: number
}

/** The time of something that a document gives no time for: replaced by the time of the import. */
export const UNTIMED: Instant = { ms: 0, restNanos: 0 }

const NANOS_PER_MS = 1_000_000

/** Parses RFC 3339 with any offset. Returns undefined for other text and for days that do not exist. */
export function parseInstant(text: string): Instant | undefined {
  const time = parseTimestamp(text)
  if (time === undefined) return undefined
  return {
    ms: Number(time.seconds) * 1000 + Math.floor(time.nanos / NANOS_PER_MS),
    restNanos: time.nanos % NANOS_PER_MS,
  }
}

export function compareInstants(a: Instant, b: Instant): number {
  return a.ms - b.ms || a.restNanos - b.restNanos
}
