import { UsageError } from './invocation.ts'

/** Go's durations and days, as `--ttl` takes them: `168h`, `90m`, `7d`, `1h30m`. In seconds. */
export function seconds(option: string, text: string): number {
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
  const parts = [...text.matchAll(/(\d+)([smhd])/g)]
  if (text === '' || parts.map(([part]) => part).join('') !== text)
    throw new UsageError(`${option}: ${JSON.stringify(text)} must be a duration such as 30m, 168h or 7d`)
  return parts.reduce((sum, [, count = '0', unit = 's']) => sum + Number(count) * (units[unit] ?? 0), 0)
}

/** As people write what proto JSON says: `3600s` is `1h`. */
export function spoken(duration: string): string {
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
