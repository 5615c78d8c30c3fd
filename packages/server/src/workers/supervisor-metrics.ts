import type { MetricsSnapshot } from '../telemetry/metrics-snapshot.ts'

/** The metrics that only the supervisor knows, in the form in which workers send theirs. */
export function supervisorMetrics({
  ready,
  restarts,
}: {
  readonly ready: number
  readonly restarts: number
}): MetricsSnapshot {
  const single = (name: string, type: 'gauge' | 'counter', help: string, value: number) =>
    ({
      name,
      type,
      help,
      values: [{ value, labels: {} }],
      aggregator: 'sum',
    }) as unknown as MetricsSnapshot['aggregate'][number]
  return {
    aggregate: [
      single('berth_workers_ready', 'gauge', 'Workers of this server that serve requests.', ready),
      single(
        'berth_worker_restarts_total',
        'counter',
        'Workers of this server that ended while they served.',
        restarts,
      ),
    ],
    tenants: [],
  }
}
