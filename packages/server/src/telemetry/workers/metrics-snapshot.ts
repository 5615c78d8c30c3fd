import { Gauge, type Registry } from 'prom-client'

/** Metrics in the format of Prometheus. */
export interface MetricsTexts {
  readonly aggregate: string
  /** Those whose labels name tenants. */
  readonly tenants: string
}

/** How the values of several processes become one. */
export type Aggregator = 'sum' | 'max' | 'min' | 'first' | 'omit'

/** The metrics of one process at one time. Texts are sent to another process at a fraction of the cost of objects. */
export interface MetricsSnapshot extends MetricsTexts {
  /** By name of the metric; others are added up. */
  readonly aggregators: Readonly<Record<string, Aggregator>>
}

type Registries = Readonly<Record<keyof MetricsTexts, Registry>>

export async function snapshotOf(registries: Registries): Promise<MetricsSnapshot> {
  const [aggregate, tenants] = await Promise.all([
    registries.aggregate.metrics(),
    registries.tenants.metrics(),
  ])
  return { aggregate, tenants, aggregators: aggregatorsOf(registries) }
}

/** The metrics that count. The others describe a state, which a process that ends does not have any more. */
export async function countsOf(registries: Registries): Promise<MetricsSnapshot> {
  const textOf = async (registry: Registry) => {
    const counts = registry.getMetricsAsArray().filter((metric) => !(metric instanceof Gauge))
    return (await Promise.all(counts.map(({ name }) => registry.getSingleMetricAsString(name)))).join('\n')
  }
  const [aggregate, tenants] = await Promise.all([textOf(registries.aggregate), textOf(registries.tenants)])
  return { aggregate, tenants, aggregators: aggregatorsOf(registries) }
}

function aggregatorsOf({ aggregate, tenants }: Registries): MetricsSnapshot['aggregators'] {
  const metrics = [...aggregate.getMetricsAsArray(), ...tenants.getMetricsAsArray()] as unknown as {
    readonly name: string
    readonly aggregator?: Aggregator | 'average'
  }[]
  return Object.fromEntries(
    metrics.flatMap(({ name, aggregator = 'sum' }) => {
      if (aggregator === 'sum') return []
      // A mean would hide one process that is overloaded.
      return [[name, aggregator === 'average' ? 'max' : aggregator]]
    }),
  )
}
