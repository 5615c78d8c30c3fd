import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { type Code, codeName } from '../api/errors.ts'
import { limits } from '../config/limits.ts'
import { version } from '../config/version.ts'
import { nodeShares, runShared } from '../pipeline/request/request-context.ts'
import type { PortTraffic } from '../port/port-context.ts'
import { coalesceCalls } from '../runtime/coalesce-calls.ts'
import { withTimeout } from '../runtime/timeout.ts'
import type { DatabaseMeter, Db, ReplicaReads } from '../storage/db.ts'
import type { DiskReading, DiskSpace } from '../storage/disk-space.ts'
import { cachedRead } from './cached-read.ts'
import { createDurationHistogram, type DurationSeries } from './duration-histogram.ts'
import { countsOf, type MetricsSnapshot, type MetricsTexts, snapshotOf } from './workers/metrics-snapshot.ts'

/** The metrics of the server, in the format of Prometheus. docs/operating.md explains each metric. */
export interface Metrics {
  /** A call that ended. `method`: full name; `ms`: how long it took. */
  recordCall(method: string, protocol: 'rest' | 'grpc', code: Code, ms: number): void
  /** A call of version 1 by an authenticated identity. */
  recordV1Call(method: string, identity: string): void
  /** A call that a rate limit rejected, and the key of the limit: its address or its identity. */
  recordRateLimited(limitClass: string, by: string): void
  /** A request with X-Forwarded-For although no proxy is trusted. */
  recordUntrustedForwarded(): void
  /** A count in the database that failed. */
  recordLimitStoreFailure(): void
  /** Denials and exchanges that were written to the audit log, or dropped because there were too many. */
  recordAuditWritten(events: number): void
  recordAuditDropped(events: number): void
  /** A completed run of a feed, and the outcomes of its documents. */
  recordFeedRun(
    outcome: string,
    documents: Readonly<Record<'accepted' | 'rejected' | 'skipped', number>>,
  ): void
  /** A run of background work on this node that ended. */
  recordJobRun(name: MetricJobName, outcome: 'succeeded' | 'failed'): void
  /** Read with each scrape: when feeds were last read, in ms, by their uids. */
  watchFeeds(read: () => Promise<ReadonlyMap<string, number>>): void
  /** A completed garbage collection of the registry on this node, and what it deleted. */
  recordGarbageCollection(
    outcome: string,
    ms: number,
    taken: Readonly<Record<string, { readonly count: number; readonly bytes: number }>>,
  ): void
  /** Read with each scrape: when the registry was last collected, in ms; 0: never. */
  watchGarbageCollection(read: () => Promise<number>): void
  /** Reads when the last backup was complete, in ms; 0: never. */
  watchBackup(read: () => Promise<number>): void
  /** A run of retention in a repo that ended, and what it deleted. */
  recordRetentionRun(outcome: string, deleted: Readonly<Record<'tags' | 'manifests', number>>): void
  /** An attempt to send an email on this node that ended. */
  recordMail(kind: string, result: string): void
  /** A policy that was evaluated for a pull. */
  recordPolicyDecision(mode: 'enforced' | 'dry-run', result: 'allowed' | 'denied' | 'error'): void
  /** Read with each scrape: what all organizations have stored. */
  watchRegistry(read: () => Promise<{ readonly manifests: number; readonly bytes: number }>): void
  /** Read with each scrape: the free space of the disks that this node writes to. */
  watchDisks(read: DiskSpace['readings']): void
  /** Read with each scrape: request bytes that wait in memory. */
  watchBufferedBytes(read: () => number): void
  /** Read with each scrape: when the certificate of the port expires, in ms. */
  watchCertificate(expiresMs: () => number): void
  readonly database: DatabaseMeter
  readonly blobStore: (operation: string, outcome: 'ok' | 'failed', seconds: number) => void
  /** Read with each scrape: what clients do on the port. */
  watchPort(read: () => PortTraffic): void
  watchPool(pool: Db['pool']): void
  /** Read with each scrape. */
  watchReplica(reads: () => ReplicaReads): void
  /**
   * The response of /metrics. `tenants`: whether it includes the metrics whose labels name identities and feeds of tenants; only
   * the operator's own listener may serve those.
   */
  render(options: {
    readonly tenants: boolean
  }): Promise<{ readonly contentType: string; readonly body: string }>
  /** The metrics of this process, for its supervisor. */
  snapshot(): Promise<MetricsSnapshot>
  /** What this process has counted. */
  counts(): Promise<MetricsSnapshot>
}

const SECOND_MS = 1000
const LATENCY_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
]

/** The calls of one method by one protocol that ended with one code. */
interface CallSeries {
  readonly labels: Readonly<Record<'method' | 'protocol' | 'code', string>>
  readonly times: DurationSeries
  count: number
}

export type MetricJobName =
  | 'advisory_feeds'
  | 'collection'
  | 'expiry'
  | 'image_contents'
  | 'image_signatures'
  | 'record_index'
  | 'retention'
  | 'signing_keys'
  | 'findings'
  | 'finding_history'
  | 'usage'

/** `ofAllWorkers` returns the metrics of all workers of the server, added up; undefined: there are none. */
export function createMetrics({
  ofAllWorkers,
}: {
  readonly ofAllWorkers?: (() => Promise<MetricsTexts>) | undefined
} = {}): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const tenantRegistry = new Registry()
  const tenantRegisters = [tenantRegistry]
  collectDefaultMetrics({ register: registry }) // event-loop lag, memory, garbage collection

  const times = <L extends string = never>(name: string, help: string) =>
    createDurationHistogram<L>({ name, help, buckets: LATENCY_SECONDS, registers })
  /** Nested by method, protocol and RPC code: building a text of all three for each call costs more than counting it. */
  const calls = new Map<string, Record<'rest' | 'grpc', CallSeries[]>>()
  new Counter({
    name: 'berth_requests_total',
    help: 'Calls that ended, by method, protocol and RPC code.',
    labelNames: ['method', 'protocol', 'code'],
    registers,
    collect() {
      this.reset()
      for (const byProtocol of calls.values())
        for (const { labels, count } of Object.values(byProtocol).flatMap((byCode) => Object.values(byCode)))
          this.inc(labels, count)
    },
  })
  const requestSeconds = times<'method'>(
    'berth_request_duration_seconds',
    'Time that a request takes, without the time to receive and decode its body, by method.',
  )
  const callSeries = (method: string, protocol: 'rest' | 'grpc', code: Code) => {
    let ofMethod = calls.get(method)
    if (ofMethod === undefined) {
      ofMethod = { rest: [], grpc: [] }
      calls.set(method, ofMethod)
    }
    let series = ofMethod[protocol][code]
    if (series === undefined) {
      const labels = { method, protocol, code: codeName[code] }
      series = { labels, times: requestSeconds.series({ method }), count: 0 }
      ofMethod[protocol][code] = series
    }
    return series
  }
  const statementTimes = times(
    'berth_database_statement_seconds',
    'Time of single database statements.',
  ).series({})
  const statements = { ok: 0, rejected: 0, failed: 0, cancelled: 0 }
  const waitTimes = times(
    'berth_database_wait_seconds',
    'Time that work waited for a connection of the pool.',
  ).series({})
  const blobSeconds = times<'operation' | 'outcome'>(
    'berth_blob_store_seconds',
    'Time of operations of the blob store, of reads until the first bytes.',
  )
  /** A counter whose values are counted elsewhere, by one label. */
  const counted = (name: string, help: string, label: string, read: () => Readonly<Record<string, number>>) =>
    new Counter({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset()
        for (const [value, n] of Object.entries(read())) this.inc({ [label]: value }, n)
      },
    })

  counted(
    'berth_database_statements_total',
    'Database statements that ended, by outcome.',
    'outcome',
    () => statements,
  )

  const versionOneCalls = new Counter({
    name: 'berth_v1_calls_total',
    help: 'Calls of version 1 of the API, by method.',
    labelNames: ['method'],
    registers,
  })
  const versionOneIdentityCalls = new Counter({
    name: 'berth_v1_identity_calls_total',
    help: 'Calls of version 1 of the API, by method and identity.',
    labelNames: ['method', 'identity'],
    registers: tenantRegisters,
  })
  const versionOneSeries = new Set<string>()

  const limited = new Counter({
    name: 'berth_rate_limited_total',
    help: 'Calls that a rate limit rejected, by class of method and by what was counted.',
    labelNames: ['class', 'by'],
    registers,
  })
  const forwardedUntrusted = new Counter({
    name: 'berth_forwarded_untrusted_total',
    help: 'Requests with X-Forwarded-For although no proxy is trusted.',
    registers,
  })
  const limitStoreFailures = new Counter({
    name: 'berth_rate_limit_store_failures_total',
    help: 'Calls that a node counted by itself because the database did not count them.',
    registers,
  })

  const audited = new Counter({
    name: 'berth_audit_written_total',
    help: 'Denials and exchanges that were written to the audit log.',
    registers,
  })
  const auditDropped = new Counter({
    name: 'berth_audit_dropped_total',
    help: 'Denials and exchanges that did not reach the audit log.',
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
    help: 'Files of advisory feeds that this node read, by outcome.',
    labelNames: ['result'],
    registers,
  })

  const collections = new Counter({
    name: 'berth_registry_collections_total',
    help: 'Garbage collections on this node that ended, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const collectionSeconds = new Gauge({
    name: 'berth_registry_collection_duration_seconds',
    help: 'Duration of the last garbage collection on this node.',
    aggregator: 'max',
    registers,
  })
  const collected = new Counter({
    name: 'berth_registry_collected_total',
    help: 'What garbage collection deleted on this node, by kind.',
    labelNames: ['kind'],
    registers,
  })
  const collectedBytes = new Counter({
    name: 'berth_registry_collected_bytes_total',
    help: 'Bytes that garbage collection deleted on this node, by kind.',
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

  const mails = new Counter({
    name: 'berth_mails_total',
    help: 'Attempts to send email on this node that ended, by kind and result: sent, retried, failed, dropped.',
    labelNames: ['kind', 'result'],
    registers,
  })

  const policyDecisions = new Counter({
    name: 'berth_policy_decisions_total',
    help: 'Pulls that a policy was evaluated for on this node, by mode (enforced, dry-run) and result: allowed, denied, error.',
    labelNames: ['mode', 'result'],
    registers,
  })

  const jobRuns = new Counter({
    name: 'berth_job_runs_total',
    help: 'Runs of background work on this node that ended, by name and outcome.',
    labelNames: ['name', 'outcome'],
    registers,
  })
  const jobSuccesses = new Gauge({
    name: 'berth_job_last_success_timestamp_seconds',
    help: 'When background work last succeeded on this node, by name.',
    labelNames: ['name'],
    aggregator: 'max',
    registers,
  })

  new Gauge({
    name: 'berth_build_info',
    help: 'Always 1: the version of Berth and of Node.js.',
    labelNames: ['version', 'node'],
    aggregator: 'first',
    registers,
  }).set({ version: version(), node: process.versions.node }, 1)

  const failedReads = new Counter({
    name: 'berth_metric_reads_failed_total',
    help: 'Failed reads of metric values from the database, by metric.',
    labelNames: ['metric'],
    registers,
  })
  const bounds = { readMsMax: limits.metricReadMsMax, cacheMsMax: limits.metricCacheMsMax }
  const cached = <T>(metric: string, read: () => Promise<T>) =>
    cachedRead(read, () => failedReads.inc({ metric }), bounds)
  /** A time that the database has. `read`: in ms, 0 for never. */
  const lastSuccess = (name: string, help: string, read: () => Promise<number>): void => {
    const readKept = cached(name, read)
    new Gauge({
      name,
      help,
      // Every process reads the same.
      aggregator: 'max',
      registers,
      async collect() {
        const ms = await readKept()
        if (ms === undefined) this.remove()
        else this.set(ms / SECOND_MS)
      },
    })
  }

  const registries = { aggregate: registry, tenants: tenantRegistry }
  const workerMetrics = ofAllWorkers && coalesceReads(ofAllWorkers)
  const aggregateMetrics = coalesceReads(() => registry.metrics())
  const tenantMetrics = coalesceReads(() => tenantRegistry.metrics())
  const renderTexts = async (tenants: boolean) => {
    if (workerMetrics === undefined)
      return Promise.all([aggregateMetrics(), ...(tenants ? [tenantMetrics()] : [])])
    const texts = await workerMetrics()
    return [texts.aggregate, ...(tenants ? [texts.tenants] : [])]
  }

  return {
    recordCall(method, protocol, code, ms) {
      const series = callSeries(method, protocol, code)
      series.count++
      series.times.observe(ms / SECOND_MS)
    },
    recordV1Call(method, identity) {
      const series = `${method} ${identity}`
      const counted = versionOneSeries.has(series) || versionOneSeries.size < limits.v1MetricSeriesMax
      if (counted) versionOneSeries.add(series)
      versionOneCalls.inc({ method })
      versionOneIdentityCalls.inc({ method, identity: counted ? identity : 'other' })
    },
    recordRateLimited: (limitClass, by) => limited.inc({ class: limitClass, by }),
    recordUntrustedForwarded: () => forwardedUntrusted.inc(),
    recordLimitStoreFailure: () => limitStoreFailures.inc(),
    recordAuditWritten: (events) => audited.inc(events),
    recordAuditDropped: (events) => auditDropped.inc(events),
    recordFeedRun(outcome, documents) {
      feedRuns.inc({ outcome })
      if (outcome === 'failed') feedFailures.inc()
      for (const [result, count] of Object.entries(documents)) feedDocuments.inc({ result }, count)
    },
    recordMail(kind, result) {
      mails.inc({ kind, result })
    },
    recordPolicyDecision: (mode, result) => {
      policyDecisions.inc({ mode, result })
    },
    recordJobRun(name, outcome) {
      jobRuns.inc({ name, outcome })
      if (outcome === 'succeeded') jobSuccesses.setToCurrentTime({ name })
    },
    watchFeeds(read) {
      const name = 'berth_advisory_feed_last_success_timestamp_seconds'
      const readKept = cached(name, read)
      new Gauge({
        name,
        help: 'When advisory feeds were last read to their end, on any node; 0: never.',
        labelNames: ['feed'],
        aggregator: 'max',
        registers: tenantRegisters,
        async collect() {
          const times = (await readKept()) ?? []
          this.reset()
          for (const [feed, ms] of times) this.set({ feed }, ms / SECOND_MS)
        },
      })
    },
    recordGarbageCollection(outcome, ms, taken) {
      collections.inc({ outcome })
      collectionSeconds.set(ms / SECOND_MS)
      for (const [kind, { count, bytes }] of Object.entries(taken)) {
        collected.inc({ kind }, count)
        collectedBytes.inc({ kind }, bytes)
      }
    },
    watchGarbageCollection: (read) =>
      lastSuccess(
        'berth_registry_collection_last_success_timestamp_seconds',
        'When the registry was last collected to the end, on any node; 0: never.',
        read,
      ),
    watchBackup: (read) =>
      lastSuccess(
        'berth_backup_last_success_timestamp_seconds',
        'When berth admin backup last completed a backup; 0: never.',
        read,
      ),
    recordRetentionRun(outcome, deleted) {
      retentionRuns.inc({ outcome })
      for (const [kind, count] of Object.entries(deleted)) retentionDeleted.inc({ kind }, count)
    },
    watchRegistry(read) {
      const gauges = {
        manifests: ['berth_registry_manifests', 'Manifests of all organizations.'],
        bytes: [
          'berth_registry_linked_bytes',
          'Bytes of blobs that organizations have, counted for each that has them.',
        ],
      } as const
      // One read of the database for both.
      const readKept = cached(gauges.manifests[0], read)
      for (const [key, [name, help]] of Object.entries(gauges) as [keyof typeof gauges, [string, string]][])
        new Gauge({
          name,
          help,
          aggregator: 'max',
          registers,
          async collect() {
            const usage = await readKept()
            if (usage === undefined) this.remove()
            else this.set(usage[key])
          },
        })
    },
    watchDisks(read) {
      // A network file system may hang; its disks are omitted then.
      const readInTime = () => withTimeout(limits.metricReadMsMax, read()).catch(() => [])
      const gauge = (name: string, help: string, bytesOf: (reading: DiskReading) => number) =>
        new Gauge({
          name,
          help,
          labelNames: ['directory'],
          aggregator: 'min',
          registers,
          async collect() {
            const readings = await readInTime()
            this.reset()
            for (const reading of readings) this.set({ directory: reading.name }, bytesOf(reading))
          },
        })
      gauge(
        'berth_disk_free_bytes',
        'Bytes that the server may still write to a disk.',
        (one) => one.freeBytes,
      )
      gauge('berth_disk_total_bytes', 'Size of a disk that the server writes to.', (one) => one.totalBytes)
      gauge('berth_disk_reserve_bytes', 'Bytes of a disk that blobs leave free.', (one) => one.reserveBytes)
    },
    watchBufferedBytes(read) {
      new Gauge({
        name: 'berth_buffered_request_bytes',
        help: 'Request bodies in memory, until their requests end.',
        registers,
        collect() {
          this.set(read())
        },
      })
    },
    watchCertificate(expiresMs) {
      new Gauge({
        name: 'berth_tls_certificate_expiry_timestamp_seconds',
        help: 'When the certificate of the public port expires.',
        aggregator: 'min',
        registers,
        collect() {
          this.set(expiresMs() / SECOND_MS)
        },
      })
    },
    database: {
      statement(ms, outcome) {
        statements[outcome]++
        statementTimes.observe(ms / SECOND_MS)
      },
      wait: (ms) => waitTimes.observe(ms / SECOND_MS),
    },
    blobStore: (operation, outcome, seconds) => blobSeconds.series({ operation, outcome }).observe(seconds),
    watchPort(read) {
      new Gauge({
        name: 'berth_requests_in_flight',
        help: 'Requests in progress, by protocol.',
        labelNames: ['protocol'],
        registers,
        collect() {
          const { http, grpc } = read().inFlight
          this.set({ protocol: 'http' }, http)
          this.set({ protocol: 'grpc' }, grpc)
        },
      })
      counted('berth_network_bytes_total', 'Bytes on connections of clients.', 'direction', () => {
        const { bytes } = read()
        return { in: bytes.received, out: bytes.sent }
      })
    },
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
      counted(
        'berth_database_dropped_total',
        'Database operations that were refused because too many waited, or cancelled because their callers went away.',
        'why',
        () => {
          const { refused, cancelled } = pool()
          return { refused, cancelled }
        },
      )
    },
    watchReplica(reads) {
      counted(
        'berth_database_replica_reads_total',
        'Reads that a read replica served, and those that the primary served instead: while the replica was behind, had other changes, or was not available.',
        'outcome',
        () => ({ ...reads() }),
      )
    },
    async render({ tenants }) {
      const texts = await renderTexts(tenants)
      return { contentType: registry.contentType, body: texts.join('') }
    },
    snapshot: () => snapshotOf(registries),
    counts: () => countsOf(registries),
  }
}

/** Work that several scrapes share: it ends with none of them. */
function coalesceReads<T>(work: () => Promise<T>): () => Promise<T> {
  return coalesceCalls(() => runShared(work, nodeShares.reads))
}
