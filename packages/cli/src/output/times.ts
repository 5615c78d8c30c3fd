/** Formats times in UTC: to the minute in lists, with the relative time for a single item. */

export function formatTime(iso: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/.exec(iso)
  return match === null ? iso : `${match[1]} ${match[2]}Z`
}

export function formatTimeWithDistance(iso: string, now = Date.now()): string {
  const time = Date.parse(iso)
  return Number.isNaN(time) ? iso : `${formatTime(iso)} (${formatDistance(time - now)})`
}

const units = [
  ['day', 24 * 60 * 60 * 1000],
  ['hour', 60 * 60 * 1000],
  ['minute', 60 * 1000],
] as const

function formatDistance(ms: number): string {
  // Created on use: it takes as long as a whole command that shows no time.
  const relative = new Intl.RelativeTimeFormat('en')
  for (const [unit, length] of units)
    if (Math.abs(ms) >= length) return relative.format(Math.round(ms / length), unit)
  const seconds = Math.round(ms / 1000)
  return seconds === 0 ? 'just now' : relative.format(seconds, 'second')
}
