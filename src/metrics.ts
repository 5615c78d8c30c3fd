import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type Code, codeName } from './core/errors.ts'
import { limits } from './core/limits.ts'
import type { Db, StatementTimer } from './storage/db.ts'

/** What the server measures of itself, in the form of Prometheus. docs/operating.md explains each metric. */
export interface Metrics {
  /** A call that ended. `method`: full name; `ms`: how long it took. */
  call(method: string, protocol: 'rest' | 'grpc', code: Code, ms: number): void
  /** A call of version 1 by an identity that is known, which has to move to a newer one some day. */
  versionOneCall(method: string, identity: string): void
  /** A call that a rate limit refused, and what was counted: its address or its identity. */
  limited(limitClass: string, by: string): void
  /** A count in the database that failed. */
  limitStoreFailed(): void
  /** Refusals and exchanges that reached the audit log, or were too many for it. */
  audited(events: number): void
  auditDropped(events: number): void
  /** A run of a feed that ended, and what became of its documents. */
  feedRun(outcome: string, documents: Readonly<Record<'accepted' | 'rejected' | 'skipped', number>>): void
  /** Asked with every look at the metrics: when feeds were last read, in ms, by their uids. */
  watchFeeds(read: () => Promise<ReadonlyMap<string, number>>): void
  /** A collection of the registry on this node that ended, and what it took. */
  collected(
    outcome: string,
    ms: number,
    taken: Readonly<Record<string, { readonly count: number; readonly bytes: number }>>,
  ): void
  /** Asked with every look at the metrics: when the registry was last collected, in ms; 0: never. */
  watchCollection(read: () => Promise<number>): void
  /** A run of retention in a repo that ended, and what it deleted. */
  retentionRun(outcome: string, deleted: Readonly<Record<'tags' | 'manifests', number>>): void
  /** Asked with every look at the metrics: what all organizations have stored. */
  watchRegistry(read: () => Promise<{ readonly manifests: number; readonly bytes: number }>): void
  readonly statement: StatementTimer
  watchPool(pool: Db['pool']): void
  /** What /metrics answers. */
  text(): Promise<{ readonly contentType: string; readonly body: string }>
}

const SECOND_MS = 1000
const LATENCY_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry }) // event-loop lag, memory, garbage collection

  const requests = new Counter({
    name: 'berth_requests_total',
    help: 'Calls that ended, by method, protocol and RPC code.',
    labelNames: ['method', 'protocol', 'code'],
    registers,
  })
  const requestSeconds = new Histogram({
    name: 'berth_request_duration_seconds',
    help: 'Time from a decoded request to its answer, by method.',
    labelNames: ['method'],
    buckets: LATENCY_SECONDS,
    registers,
  })
  const statementSeconds = new Histogram({
    name: 'berth_database_statement_seconds',
    help: 'Time of single database statements.',
    buckets: LATENCY_SECONDS,
    registers,
  })

  const versionOneCalls = new Counter({
    name: 'berth_v1_calls_total',
    help: 'Calls of version 1 of the API, by method and identity.',
    labelNames: ['method', 'identity'],
    registers,
  })
  const versionOneSeries = new Set<string>()

  const limited = new Counter({
    name: 'berth_rate_limited_total',
    help: 'Calls that a rate limit refused, by class of method and by what was counted.',
    labelNames: ['class', 'by'],
    registers,
  })
  const limitStoreFailures = new Counter({
    name: 'berth_rate_limit_store_failures_total',
    help: 'Calls that a node counted by itself because the database did not count them.',
    registers,
  })

  const audited = new Counter({
    name: 'berth_audit_written_total',
    help: 'Refusals and exchanges that were written to the audit log.',
    registers,
  })
  const auditDropped = new Counter({
    name: 'berth_audit_dropped_total',
    help: 'Refusals and exchanges that did not reach the audit log.',
    registers,
  })

  const feedRuns = new Counter({
    name: 'berth_advisory_feed_runs_total',
    help: 'Runs of advisory feeds on this node that ended, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const feedFailures = new Counter({
    name: 'berth_advisory_feed_failures_total',
    help: 'Runs of advisory feeds on this node that failed.',
    registers,
  })
  const feedDocuments = new Counter({
    name: 'berth_advisory_feed_documents_total',
    help: 'Files that advisory feeds brought to this node, by what became of them.',
    labelNames: ['result'],
    registers,
  })

  const collections = new Counter({
    name: 'berth_registry_collections_total',
    help: 'Collections of the registry on this node that ended, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const collectionSeconds = new Gauge({
    name: 'berth_registry_collection_duration_seconds',
    help: 'How long the last collection of the registry on this node took.',
    registers,
  })
  const collected = new Counter({
    name: 'berth_registry_collected_total',
    help: 'What collections of the registry on this node took, by kind.',
    labelNames: ['kind'],
    registers,
  })
  const collectedBytes = new Counter({
    name: 'berth_registry_collected_bytes_total',
    help: 'Bytes of what collections of the registry on this node took, by kind.',
    labelNames: ['kind'],
    registers,
  })

  const retentionRuns = new Counter({
    name: 'berth_retention_runs_total',
    help: 'Runs of retention in repos on this node that ended, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const retentionDeleted = new Counter({
    name: 'berth_retention_deleted_total',
    help: 'What retention deleted on this node: tags and manifests.',
    labelNames: ['kind'],
    registers,
  })

  // Resolved once per combination: finding a child by its labels costs more than counting.
  const children = new Map<string, { readonly count: () => void; readonly time: (seconds: number) => void }>()
  const childOf = (method: string, protocol: string, code: Code) => {
    const key = `${method} ${protocol} ${code}`
    let child = children.get(key)
    if (child === undefined) {
      const counter = requests.labels(method, protocol, codeName[code])
      const histogram = requestSeconds.labels(method)
      child = { count: () => counter.inc(), time: (seconds) => histogram.observe(seconds) }
      children.set(key, child)
    }
    return child
  }

  return {
    call(method, protocol, code, ms) {
      const child = childOf(method, protocol, code)
      child.count()
      child.time(ms / SECOND_MS)
    },
    versionOneCall(method, identity) {
      const series = `${method} ${identity}`
      const counted = versionOneSeries.has(series) || versionOneSeries.size < limits.versionOneSeriesMax
      if (counted) versionOneSeries.add(series)
      versionOneCalls.inc({ method, identity: counted ? identity : 'other' })
    },
    limited: (limitClass, by) => limited.inc({ class: limitClass, by }),
    limitStoreFailed: () => limitStoreFailures.inc(),
    audited: (events) => audited.inc(events),
    auditDropped: (events) => auditDropped.inc(events),
    feedRun(outcome, documents) {
      feedRuns.inc({ outcome })
      if (outcome === 'failed') feedFailures.inc()
      for (const [result, count] of Object.entries(documents)) feedDocuments.inc({ result }, count)
    },
    watchFeeds(read) {
      new Gauge({
        name: 'berth_advisory_feed_last_success_timestamp_seconds',
        help: 'When advisory feeds were last read to their end, on any node; 0: never.',
        labelNames: ['feed'],
        registers,
        async collect() {
          const times = await read()
          this.reset()
          for (const [feed, ms] of times) this.set({ feed }, ms / SECOND_MS)
        },
      })
    },
    collected(outcome, ms, taken) {
      collections.inc({ outcome })
      collectionSeconds.set(ms / SECOND_MS)
      for (const [kind, { count, bytes }] of Object.entries(taken)) {
        collected.inc({ kind }, count)
        collectedBytes.inc({ kind }, bytes)
      }
    },
    watchCollection(read) {
      new Gauge({
        name: 'berth_registry_collection_last_success_timestamp_seconds',
        help: 'When the registry was last collected to the end, on any node; 0: never.',
        registers,
        async collect() {
          this.set((await read()) / SECOND_MS)
        },
      })
    },
    retentionRun(outcome, deleted) {
      retentionRuns.inc({ outcome })
      for (const [kind, count] of Object.entries(deleted)) retentionDeleted.inc({ kind }, count)
    },
    watchRegistry(read) {
      new Gauge({
        name: 'berth_registry_manifests',
        help: 'Manifests of all organizations.',
        registers,
        async collect() {
          this.set((await read()).manifests)
        },
      })
      new Gauge({
        name: 'berth_registry_linked_bytes',
        help: 'Bytes of blobs that organizations have, counted for each that has them.',
        registers,
        async collect() {
          this.set((await read()).bytes)
        },
      })
    },
    statement: (ms) => statementSeconds.observe(ms / SECOND_MS),
    watchPool(pool) {
      new Gauge({
        name: 'berth_database_connections',
        help: 'Connections to the database, and requests that wait for one.',
        labelNames: ['state'],
        registers,
        collect() {
          const { total, idle, waiting } = pool()
          this.set({ state: 'used' }, total - idle)
          this.set({ state: 'idle' }, idle)
          this.set({ state: 'waiting' }, waiting)
        },
      })
    },
    text: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}
