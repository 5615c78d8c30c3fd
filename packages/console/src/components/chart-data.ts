import { DAY_MS } from '../durations.ts'
/** What a chart shows. */

/** Colors with a meaning: severities. Other series have the colors of their positions. */
export type SeriesTone = 'critical' | 'high' | 'medium' | 'low' | 'unknown'

export interface ChartSeries {
  readonly id: string
  readonly title: string
  readonly tone?: SeriesTone
}

export interface ChartPoint {
  /** Day in UTC, as 2026-11-23; for a month, its first day. */
  readonly date: string
  /** By the id of the series. A value that was not recorded is absent. */
  readonly values: Readonly<Record<string, number | undefined>>
}

export interface ChartData {
  readonly title: string
  /** Lines and areas are for levels, stacked bars for events of a day and for parts of a whole. */
  readonly kind: 'line' | 'area' | 'stacked-bar'
  readonly series: readonly ChartSeries[]
  /** By date, the oldest first. */
  readonly points: readonly ChartPoint[]
  readonly format?: (value: number) => string
  /** What a point is about; default: a day. */
  readonly period?: Period
  /** A horizontal line, for example a limit. */
  readonly limit?: { readonly value: number; readonly title: string } | undefined
  /** Distance between values of the axis is a multiple of a power of 1024. */
  readonly isBinary?: boolean
}

export type Period = 'day' | 'month'

const formatOf = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en', { ...options, timeZone: 'UTC' })

/** A date as the axis has it, and as tables have it. */
const formats = {
  day: {
    title: 'Day (UTC)',
    short: formatOf({ month: 'short', day: 'numeric' }),
    long: formatOf({ dateStyle: 'medium' }),
  },
  month: {
    title: 'Month',
    short: formatOf({ month: 'short', year: 'numeric' }),
    long: formatOf({ month: 'long', year: 'numeric' }),
  },
} as const

export const formatOfPeriod = ({ period = 'day' }: ChartData) => formats[period]

export const timeOf = (date: string): Date => new Date(`${date}T00:00:00Z`)

/** The days from a date until today, in UTC. */
export function datesFrom(date: string): string[] {
  const dates: string[] = []
  for (let time = timeOf(date); time.getTime() <= Date.now(); time = new Date(time.getTime() + DAY_MS))
    dates.push(time.toISOString().slice(0, 10))
  return dates
}

/** The class with the color of a series. */
export const seriesClass = ({ tone }: ChartSeries, index: number): string =>
  tone === undefined ? `series-${(index % SERIES_COLORS) + 1}` : `series-${tone}`

const SERIES_COLORS = 5

/** The highest value; of stacked bars, the highest sum. */
export function highestValue({ points, series, kind }: ChartData): number {
  const heights = points.map(({ values }) => {
    const known = series.map(({ id }) => values[id] ?? 0)
    return kind === 'stacked-bar' ? known.reduce((a, b) => a + b, 0) : Math.max(...known)
  })
  return heights.reduce((a, b) => Math.max(a, b), 0)
}

/** A limit above this multiple of the values would make them invisible, and is not drawn. */
const LIMIT_FACTOR_MAX = 5

export const isLimitNear = (data: ChartData): boolean =>
  data.limit !== undefined && data.limit.value <= highestValue(data) * LIMIT_FACTOR_MAX
