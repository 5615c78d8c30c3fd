import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'

/** The metrics of the workers of one server, added up. */

type Metric = MetricObjectWithValues<MetricValue<string>>

/** The metrics of one process at one time, as data that can be sent to another process. */
export interface MetricsSnapshot {
  readonly aggregate: readonly Metric[]
  /** Those whose labels name tenants. */
  readonly tenants: readonly Metric[]
}

export async function snapshotOf(
  registries: Readonly<Record<keyof MetricsSnapshot, Registry>>,
): Promise<MetricsSnapshot> {
  const [aggregate, tenants] = await Promise.all([
    registries.aggregate.getMetricsAsJSON(),
    registries.tenants.getMetricsAsJSON(),
  ])
  return { aggregate, tenants } as unknown as MetricsSnapshot
}

/** Adds up snapshots by the `aggregator` of each metric; returns them in the format of Prometheus. */
export function renderSum(
  snapshots: readonly MetricsSnapshot[],
  part: keyof MetricsSnapshot,
): Promise<string> {
  return sumOf(snapshots, part).metrics()
}

/** Returns the counts of processes that have ended: their sum must not fall, or their counters would seem to start again. */
export async function countsOf(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  const counts = async (part: keyof MetricsSnapshot) => {
    const all = (await sumOf(snapshots, part).getMetricsAsJSON()) as unknown as Metric[]
    // As text: the types of the library are an enumeration that does not exist at run time.
    return all.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
  }
  return { aggregate: await counts('aggregate'), tenants: await counts('tenants') }
}

function sumOf(snapshots: readonly MetricsSnapshot[], part: keyof MetricsSnapshot): Registry {
  return AggregatorRegistry.aggregate(
    snapshots.map((snapshot) => snapshot[part] as unknown as object) as object[],
  )
}
