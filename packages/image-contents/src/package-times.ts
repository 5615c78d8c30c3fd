import type { PackageTimes } from './contents.ts'

/** The last second of the year 9999, which every format of a time can have. */
const MS_MAX = 253_402_300_799_000

/** Returns the times that are known, in whole seconds. Times before 1970, 1970 itself and after 9999 are those of programs without a clock. */
export function packageTimes(builtMs: number | undefined, endOfLifeMs: number | undefined): PackageTimes {
  const [built, end] = [builtMs, endOfLifeMs].map(wholeSeconds)
  return {
    ...(built === undefined ? {} : { builtMs: built }),
    ...(end === undefined ? {} : { endOfLifeMs: end }),
  }
}

function wholeSeconds(ms = 0): number | undefined {
  return ms > 0 && ms <= MS_MAX ? Math.floor(ms / 1000) * 1000 : undefined
}

/** Parses seconds since 1970. Returns undefined for other text. */
export function unixTime(text: string): number | undefined {
  return /^\d{1,12}$/.test(text) ? Number(text) * 1000 : undefined
}
