/** Parses durations as in Go, and days: `168h`, `90m`, `7d`, `1h30m`. Returns seconds; undefined for anything else. */
export function parseDurationSeconds(text: string): number | undefined {
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
  const parts = [...text.matchAll(/(\d+)([smhd])/g)]
  if (text === '' || parts.map(([part]) => part).join('') !== text) return undefined
  return parts.reduce((sum, [, count = '0', unit = 's']) => sum + Number(count) * (units[unit] ?? 0), 0)
}
