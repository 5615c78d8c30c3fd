/**
 * google.protobuf.Timestamp and Duration as JSON text. Every response formats timestamps, so the writer joins precomputed parts and caches
 * recent days.
 */

export interface SecondsAndNanos {
  readonly seconds: bigint
  readonly nanos: number
}

const DAY_SECONDS = 86_400
/** Range of google.protobuf.Timestamp: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z. */
const MIN_SECONDS = -62_135_596_800
const MAX_SECONDS = 253_402_300_799
/** Range of google.protobuf.Duration: about 10,000 years. */
const DURATION_SECONDS_MAX = 315_576_000_000

const twoDigits = Array.from({ length: 100 }, (_, value) => String(value).padStart(2, '0'))
/** Precomputed parts of a time of day: `03:04:` by minute of the day, `05.` by second, `678Z` by millisecond. */
const minuteTexts = Array.from(
  { length: 1440 },
  (_, minute) => `${twoDigits[Math.floor(minute / 60)]}:${twoDigits[minute % 60]}:`,
)
const secondTexts = twoDigits.slice(0, 60).map((second) => `${second}.`)
const millisecondTexts = Array.from({ length: 1000 }, (_, value) => `${String(value).padStart(3, '0')}Z`)

/** Recently formatted days, each at its number modulo the length. */
const CACHED_DAYS = 256
const cachedDays = new Float64Array(CACHED_DAYS).fill(Number.NaN)
const cachedDayTexts = new Array<string>(CACHED_DAYS).fill('')

/**
 * Formats RFC 3339 text in UTC with exactly three fractional digits, truncated: `2025-01-02T03:04:05.000Z`. Throws an Error for a time outside
 * the years 1 to 9999.
 */
export function timestampText({ seconds, nanos }: SecondsAndNanos): string {
  const total = Number(seconds)
  const day = Math.floor(total / DAY_SECONDS)
  const slot = day & (CACHED_DAYS - 1)
  if (cachedDays[slot] !== day) {
    if (!(total >= MIN_SECONDS && total <= MAX_SECONDS))
      throw new Error(`a timestamp is out of range: ${seconds} s`)
    cachedDayTexts[slot] = new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 11)
    cachedDays[slot] = day
  }
  const rest = total - day * DAY_SECONDS
  const minute = (rest / 60) | 0
  const milliseconds = millisecondTexts[(nanos / 1_000_000) | 0]
  if (milliseconds === undefined || nanos < 0)
    throw new Error(`a timestamp's nanos are out of range: ${nanos}`)
  return cachedDayTexts[slot]! + minuteTexts[minute]! + (secondTexts[rest - minute * 60]! + milliseconds)
}

const timestampPattern =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/

/** Parses RFC 3339 text with any offset and up to nine fractional digits; returns undefined if it is invalid or out of range. */
export function parseTimestamp(text: string): SecondsAndNanos | undefined {
  const match = timestampPattern.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (hour > 23 || minute > 59 || second > 59) return undefined
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  const [, , , , , , , fraction = '', sign, offsetHour = '0', offsetMinute = '0'] = match
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined
  const offset = (Number(offsetHour) * 3600 + Number(offsetMinute) * 60) * (sign === '-' ? -1 : 1)
  const total = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset
  if (total < MIN_SECONDS || total > MAX_SECONDS) return undefined
  return { seconds: BigInt(total), nanos: Number(fraction.padEnd(9, '0')) }
}

/** Formats seconds with 0, 3, 6 or 9 fractional digits, as in proto JSON: `1.500s`. */
export function durationText({ seconds, nanos }: SecondsAndNanos): string {
  const sign = seconds < 0n || nanos < 0 ? '-' : ''
  const whole = seconds < 0n ? -seconds : seconds
  if (nanos === 0) return `${sign}${whole}s`
  let fraction = String(Math.abs(nanos)).padStart(9, '0')
  while (fraction.endsWith('000')) fraction = fraction.slice(0, -3)
  return `${sign}${whole}.${fraction}s`
}

const durationPattern = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/

/** Parses `1.5s`; returns undefined if the text is invalid or out of range. */
export function parseDuration(text: string): SecondsAndNanos | undefined {
  const match = durationPattern.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = ''] = match
  const nanos = Number(fraction.padEnd(9, '0'))
  const seconds = Number(whole)
  if (seconds > DURATION_SECONDS_MAX || (seconds === DURATION_SECONDS_MAX && nanos > 0)) return undefined
  if (sign === '') return { seconds: BigInt(seconds), nanos }
  return { seconds: -BigInt(seconds), nanos: nanos === 0 ? 0 : -nanos }
}

/** Milliseconds since 1970; finer digits are cut off. */
export function timestampMs({ seconds, nanos }: SecondsAndNanos): number {
  return Number(seconds) * 1000 + Math.floor(nanos / 1_000_000)
}
