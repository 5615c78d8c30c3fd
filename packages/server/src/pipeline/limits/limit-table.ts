import { limits } from '../../config/limits.ts'

/** Classes of calls that are counted together. A method belongs to at most one (limit-class.ts). */
export const limitClasses = ['read', 'write', 'exchange'] as const
export type LimitClass = (typeof limitClasses)[number]

/** The number of calls in a window of seconds, which starts with the first of them. */
export interface Rate {
  readonly points: number
  readonly seconds: number
}

/** Rates by class; a class that is absent is not limited. */
export type LimitTable = Readonly<Partial<Record<LimitClass, Rate>>>

/** Describes the syntax, for error messages. */
export const limitSyntax = `rates such as read=100/1s,write=20/1s,exchange=10/1m: classes ${limitClasses.join(
  ', ',
)}, each once; windows in s, m or h, at most 24h`

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 }
const ratePattern = /^(\w+)=(\d{1,9})\/(\d{1,6})([smh])$/

/** Parses `read=100/1s,write=20/1s`. Returns undefined if the text is invalid. */
export function parseLimitTable(text: string): LimitTable | undefined {
  const table: Partial<Record<LimitClass, Rate>> = {}
  for (const item of text.split(',')) {
    const [, name, count, length, unit = ''] = ratePattern.exec(item.trim()) ?? []
    const known = limitClasses.find((one) => one === name)
    const points = Number(count)
    const seconds = Number(length) * (unitSeconds[unit] ?? 0)
    if (known === undefined || table[known] !== undefined || points === 0) return undefined
    if (seconds === 0 || seconds * 1000 > limits.rateLimitWindowMsMax) return undefined
    table[known] = { points, seconds }
  }
  return table
}
