import { parseInstant } from '@berth/advisory-formats/reading/instants.ts'
import { type JsonObject, rawText } from './json-values.ts'

const TIME_CHARS_MAX = 64

/** Returns the time in a field with RFC 3339 text; undefined if it is absent or no such time. Fractions below milliseconds are dropped. */
export function timeIn(object: JsonObject | undefined, name: string): Date | undefined {
  return parseTime(rawText(object, name))
}

/** Parses RFC 3339 as `timeIn` does. */
export function parseTime(text: string): Date | undefined {
  const instant = text.length > TIME_CHARS_MAX ? undefined : parseInstant(text)
  // Generators without a clock write the first day of year 1.
  return instant === undefined || instant.ms < 0 ? undefined : new Date(instant.ms)
}
