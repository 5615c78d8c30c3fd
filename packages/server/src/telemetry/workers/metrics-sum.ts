import type { Aggregator, MetricsSnapshot, MetricsTexts } from './metrics-snapshot.ts'

/** The metrics of several processes, added up. */
export interface MetricsSum {
  add(snapshot: MetricsSnapshot): void
  /** Adds only what counts: the sums of counters must not fall when a process ends, or they would seem to start again. */
  addCounts(snapshot: MetricsSnapshot): void
  copy(): MetricsSum
  render(): MetricsTexts
}

/** By name. */
type SummedMetrics = Map<string, { readonly head: string; readonly values: Map<string, number> }>
type SummedParts = Readonly<Record<keyof MetricsTexts, SummedMetrics>>

const COUNT_TYPES: readonly (string | undefined)[] = ['counter', 'histogram']

const combine: Readonly<Record<Exclude<Aggregator, 'omit'>, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
  first: (one) => one,
}

export function createMetricsSum(): MetricsSum {
  return sumOf({ aggregate: new Map(), tenants: new Map() })
}

function sumOf(parts: SummedParts): MetricsSum {
  const addAll = (snapshot: MetricsSnapshot, isAdded: (type: string | undefined) => boolean) => {
    for (const part of ['aggregate', 'tenants'] as const)
      addText(parts[part], snapshot[part], snapshot.aggregators, isAdded)
  }
  return {
    add: (snapshot) => addAll(snapshot, () => true),
    addCounts: (snapshot) => addAll(snapshot, (type) => COUNT_TYPES.includes(type)),
    copy: () => sumOf({ aggregate: copyOf(parts.aggregate), tenants: copyOf(parts.tenants) }),
    render: () => ({ aggregate: textOf(parts.aggregate), tenants: textOf(parts.tenants) }),
  }
}

function addText(
  sums: SummedMetrics,
  text: string,
  aggregators: MetricsSnapshot['aggregators'],
  isAdded: (type: string | undefined) => boolean,
): void {
  let help = ''
  let values: Map<string, number> | undefined
  let aggregate = combine.sum
  for (const line of text.split('\n')) {
    if (line.startsWith('# HELP ')) help = line
    else if (line.startsWith('# TYPE ')) {
      const [, , name = '', type] = line.split(' ')
      const aggregator = aggregators[name] ?? 'sum'
      if (aggregator === 'omit' || !isAdded(type)) {
        values = undefined
        continue
      }
      aggregate = combine[aggregator]
      const known = sums.get(name) ?? { head: `${help}\n${line}\n`, values: new Map() }
      sums.set(name, known)
      values = known.values
    } else if (values !== undefined && line !== '') {
      const end = line.lastIndexOf(' ')
      const series = line.slice(0, end)
      const value = numberOf(line.slice(end + 1))
      const known = values.get(series)
      // Not a number: a process has not measured yet.
      if (known === undefined || Number.isNaN(known)) values.set(series, value)
      else if (!Number.isNaN(value)) values.set(series, aggregate(known, value))
    }
  }
}

function numberOf(text: string): number {
  return text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text)
}

function copyOf(sums: SummedMetrics): SummedMetrics {
  return new Map([...sums].map(([name, { head, values }]) => [name, { head, values: new Map(values) }]))
}

function textOf(sums: SummedMetrics): string {
  let text = ''
  for (const { head, values } of sums.values()) {
    text += head
    for (const [series, value] of values)
      text += `${series} ${value === Number.POSITIVE_INFINITY ? '+Inf' : value}\n`
    text += '\n'
  }
  return text
}
