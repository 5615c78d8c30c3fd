/** Durations as users type them (`12h`, `30d`, `8w`) and as the API has them (`2592000s`). */

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

export const DURATION_HINT = 'Such as 12h, 30d or 8w'

/** Returns undefined for a text that is no duration. */
export function parseDuration(text: string): string | undefined {
  const [, number, unit = ''] = /^\s*(\d{1,9})\s*([smhdw])\s*$/i.exec(text) ?? []
  return number === undefined ? undefined : `${Number(number) * (seconds[unit.toLowerCase()] ?? 0)}s`
}

/** Returns a duration with the largest unit that is exact. */
export function formatDuration(duration: string): string {
  const value = Number.parseFloat(duration)
  const unit = ['d', 'h', 'm'].find((name) => value % (seconds[name] ?? 1) === 0 && value > 0) ?? 's'
  return `${value / (seconds[unit] ?? 1)}${unit}`
}
