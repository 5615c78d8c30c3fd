import { parseTimestamp } from '@berth/contract/timestamp-text.ts'

/** A time of a document: to the millisecond as it is stored, and what that cuts off, which counts for the order only. */
export interface Instant {
  readonly ms: number
  readonly restNanos: number
}

/** Of what a document gives no time for: whoever writes it down puts in the time of the import. */
export const UNTIMED: Instant = { ms: 0, restNanos: 0 }

const NANOS_PER_MS = 1_000_000

/** Reads RFC 3339 with any offset; undefined for anything else, and for days that no month has. */
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
