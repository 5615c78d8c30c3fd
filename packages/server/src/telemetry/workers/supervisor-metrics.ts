import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { type MetricsSnapshot, snapshotOf } from './metrics-snapshot.ts'

/** What a supervisor counts about its workers. */
export interface WorkerCounts {
  /** Workers that the server should have. */
  readonly configured: number
  /** Workers that serve requests. */
  readonly ready: number
  /** Workers that ended while they served. */
  readonly restarts: number
  /** Connections that were closed because too many waited for a worker. */
  readonly droppedConnections: number
}

/** Returns a function that reads the metrics of the supervisor: of its process, and of its workers. */
export function createSupervisorMetrics(read: () => WorkerCounts): () => Promise<MetricsSnapshot> {
  const registry = new Registry()
  const tenants = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string, value: (counts: WorkerCounts) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(read()))
      },
    })
  gauge('berth_workers', 'Workers that this server should have.', ({ configured }) => configured)
  gauge('berth_workers_ready', 'Workers of this server that serve requests.', ({ ready }) => ready)
  const counted = (name: string, help: string, count: (counts: WorkerCounts) => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(count(read()))
      },
    })
  counted(
    'berth_worker_restarts_total',
    'Workers of this server that ended while they served.',
    ({ restarts }) => restarts,
  )
  counted(
    'berth_worker_connections_dropped_total',
    'Connections that were closed because too many waited for a worker.',
    ({ droppedConnections }) => droppedConnections,
  )
  return () => snapshotOf({ aggregate: registry, tenants })
}
