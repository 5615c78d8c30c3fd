import type { Metric, Registry } from 'prom-client'

/**
 * Durations in buckets, in the format of a histogram of prom-client. Each request and each statement is counted, and the histogram of the
 * library looks up the labels of every observation (ADR 100). Here callers keep the series that they observe.
 */
export interface DurationHistogram<L extends string> {
  /** Returns the series of these labels, which exists from then on. */
  series(labels: Readonly<Record<L, string>>): DurationSeries
}

export interface DurationSeries {
  observe(seconds: number): void
}

export interface DurationHistogramOptions {
  readonly name: string
  readonly help: string
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[]
  readonly registers: readonly Registry[]
}

export function createDurationHistogram<L extends string = never>({
  name,
  help,
  buckets,
  registers,
}: DurationHistogramOptions): DurationHistogram<L> {
  const all = new Map<string, CountedSeries>()
  const metric = {
    name,
    reset() {
      for (const series of all.values()) series.reset()
    },
    async get() {
      return { name, help, type: 'histogram', aggregator: 'sum', values: [...all.values()].flatMap(valuesOf) }
    },
  }
  const bounds = [...buckets, '+Inf'].map((le) => ({ le }))
  /** The library keeps the text of `sharedLabels`: building it for each bucket takes half of the time of a scrape. */
  const valuesOf = ({ labels: sharedLabels, counts, sum }: CountedSeries) => {
    let count = 0
    const values = bounds.map((labels, at) => {
      count += counts[at] as number
      return { labels, sharedLabels, value: count, metricName: `${name}_bucket` }
    })
    return [
      ...values,
      { labels: {}, sharedLabels, value: sum, metricName: `${name}_sum` },
      { labels: {}, sharedLabels, value: count, metricName: `${name}_count` },
    ]
  }
  for (const registry of registers) registry.registerMetric(metric as unknown as Metric)
  return {
    series(labels) {
      const key = JSON.stringify(labels)
      let one = all.get(key)
      if (one === undefined) {
        one = new CountedSeries(labels, buckets)
        all.set(key, one)
      }
      return one
    },
  }
}

class CountedSeries implements DurationSeries {
  readonly labels: Readonly<Record<string, string>>
  /** Observations in each bucket alone; the last is for those above all bounds. */
  readonly counts: Float64Array
  sum = 0
  readonly #bounds: readonly number[]

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.labels = labels
    this.#bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  reset(): void {
    this.counts.fill(0)
    this.sum = 0
  }

  observe(seconds: number): void {
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && seconds > (bounds[at] as number)) at++
    this.counts[at] = (this.counts[at] as number) + 1
    this.sum += seconds
  }
}
