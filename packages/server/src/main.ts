import { constants } from 'node:http2'
import { join } from 'node:path'
import { createDocumentReader } from './advisories/documents/document-reader.ts'
import type { DownloadLimits } from './advisories/feeds/download.ts'
import { readLastSuccesses } from './advisories/feeds/feed-leases.ts'
import { startFeedScheduler } from './advisories/feeds/feed-scheduler.ts'
import { createFeedBuilder } from './advisories/publish/feed-builder.ts'
import { createFeedCache } from './advisories/publish/feed-cache.ts'
import { createPublishedFeeds } from './advisories/publish/published-feeds.ts'
import { errorBody } from './api/error-body.ts'
import { unavailable } from './api/errors.ts'
import { createAuditRecorder } from './audit/recorder.ts'
import { ADDRESS_SETTINGS, type Addresses, addressesOf } from './config/addresses.ts'
import { limits } from './config/limits.ts'
import type { ListenAddress } from './config/setting-values.ts'
import { SetupError } from './config/setup-errors.ts'
import { cloudProbes } from './iam/cloud/probes.ts'
import { createLastSeen } from './iam/identities/last-seen.ts'
import type { Config } from './installation/config.ts'
import {
  ballastOf,
  type Installation,
  type InstallationOverrides,
  lockDatabase,
  openBlobStore,
  openInstallation,
  toSetupError,
} from './installation/installation.ts'
import {
  createUntrustedProxyDetector,
  type UntrustedProxyDetector,
} from './installation/untrusted-proxies.ts'
import { ensureFirstOrganization, isFirstStart } from './operator/bootstrap.ts'
import { applyGeneralLimits } from './operator/organization-settings.ts'
import { clientAddressResolver, createTrustedProxyTest } from './pipeline/limits/client-address.ts'
import { type Counters, createMemoryCounters, createSharedCounters } from './pipeline/limits/rate-counters.ts'
import { createReloadableLimits } from './pipeline/limits/reloadable-limits.ts'
import { createServerBodyBudget } from './port/bodies/body-budget.ts'
import { createUnreadReplies } from './port/bodies/unread-replies.ts'
import type { HttpHandler } from './port/http.ts'
import { type Listener, type ListenOptions, listen } from './port/listen.ts'
import { runShutdown, type ShutdownStep } from './port/shutdown.ts'
import { watchTls } from './port/tls/tls-watcher.ts'
import type { BlobStore } from './registry/blobs/blob-store.ts'
import { measuredBlobs } from './registry/blobs/measured.ts'
import { blobDirectory } from './registry/blobs/open.ts'
import { gcScheduler } from './registry/gc/scheduler.ts'
import {
  type ManifestReader,
  type ManifestReaderOptions,
  manifestReader,
} from './registry/manifests/manifest-reader.ts'
import { readTotalUsage } from './registry/quota/usage.ts'
import { retentionScheduler } from './registry/retention/scheduler.ts'
import type { Log } from './runtime/log.ts'
import { createOutbound } from './runtime/outbound/outbound.ts'
import { type BerthServer, createServer } from './server.ts'
import { readOperatorProviders } from './signin/providers/operator-provider-file.ts'
import { type DiskSpace, diskSpace } from './storage/disk-space.ts'
import { noBallast } from './storage/engines/sqlite/ballast.ts'
import { startExpiryJob } from './storage/jobs/delete-expired.ts'
import { readJob, scheduleJob } from './storage/jobs/job-leases.ts'
import { writeSetting } from './storage/settings.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { warningCheck } from './telemetry/readiness.ts'
import { createStorageFaultLog } from './telemetry/storage-fault-log.ts'
import { openTelemetry } from './telemetry/telemetry.ts'
import { accountTokens } from './tokens/cloud-account-token.ts'
import { createIssuerKeys } from './tokens/issuers/issuer-keys.ts'
import { issSupport, pkceSupport } from './tokens/issuers/issuer-metadata.ts'

/** The composition root: configuration in, a serving installation out. The only place that knows all parts. */

export interface Berth {
  readonly addresses: Addresses
  readonly installation: Installation
  readonly blobs: BlobStore
  readonly manifests: ManifestReader
  /** Where the operator's own listener serves metrics: `http://`, address and port; undefined without one. */
  readonly metricsUrl: string | undefined
  /** True when there was no organization yet. */
  readonly firstStart: boolean
  /**
   * Takes over what may change while the server runs: TLS files, rate limits and the sign-in providers of the operator. What cannot be
   * used stays as it was; returns a sentence for each, which names the setting.
   */
  reload(config: Config): Promise<readonly string[]>
  /** Opens the file of the access log again, after a program that rotates logs has moved it. */
  reopenAccessLog(): void
  /**
   * Serves for `drainMs` (default 0) while it reports that it is not ready, finishes running requests, writes what waits and closes
   * everything.
   * @throws ShutdownTimeout if that is not done `stopClosingMs` after the time for running requests
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>
}

export interface BerthOverrides extends InstallationOverrides {
  readonly portLimits?: ListenOptions['limits']
  /** Between two rounds of deleting what expired. */
  readonly expiryIntervalMs?: number
  /** Between two looks for signing keys that somebody else has changed. */
  readonly keysIntervalMs?: number
  /** How the node looks after feeds of advisories. */
  readonly feeds?: {
    readonly pollMs?: number
    readonly leaseMs?: number
    readonly bounds?: DownloadLimits
  }
  /** How often the node looks whether the registry is to be collected. */
  readonly garbageCollection?: { readonly pollMs?: number; readonly leaseMs?: number }
  /** How the node looks after retention in repos. */
  readonly retention?: { readonly pollMs?: number; readonly leaseMs?: number }
  /** Between two reads of the TLS files. */
  readonly tlsPollMs?: number
  /** How manifests are read. */
  readonly manifests?: ManifestReaderOptions
}

const SECOND_MS = 1000

export async function startBerth(
  config: Config,
  operatorLog: Log,
  overrides: BerthOverrides = {},
): Promise<Berth> {
  const telemetry = await openTelemetry(config, operatorLog)
  const { tracer } = telemetry
  const { log, warnings: storageRemarks } = createStorageFaultLog(telemetry.log)
  let listener: Listener | undefined
  let stopped: Promise<void> | undefined
  const stopAll = async (drainMs: number) => {
    const closed = listener?.stop(drainMs)
    await runShutdown(shutdownSteps, { after: closed, timeoutMs: limits.stopClosingMs, log })
  }
  const shutdownSteps: ShutdownStep[] = [{ name: 'traces and access log', run: () => telemetry.close() }]
  try {
    const metrics = createMetrics()
    // Before anything is read or written: the database may belong to a running server.
    const lock = overrides.openDb === undefined ? await lockDatabase(config) : undefined
    const installation = await openInstallation(config, log, {
      meter: metrics.database,
      tracer,
      lock,
      ...overrides,
    })
    const { store, keys } = installation
    const background = { ...store, db: store.db.background }
    shutdownSteps.unshift({ name: 'database', run: () => installation.close() })
    const blobs = measuredBlobs(await openBlobStore(config, store.db, log, { tracer }), metrics.blobStore)
    shutdownSteps.splice(-1, 0, { name: 'blob store', run: () => blobs.close() })
    // The port is bound first: an address that is taken is told at once, and the external addresses may follow from it.
    let server: BerthServer | undefined
    const proxies = await createUntrustedProxyDetector(store, {
      trusted: config.trustedProxies,
      log,
      metrics,
    })
    shutdownSteps.unshift({ name: 'untrusted proxies', run: () => proxies.stop() })
    const addressOf = clientAddressResolver(config.trustedProxies)
    const isTrustedProxy = createTrustedProxyTest(config.trustedProxies)
    const budget = createServerBodyBudget(overrides.portLimits, isTrustedProxy)
    const unread = createUnreadReplies()
    let port: Awaited<ReturnType<typeof listenPublic>> | undefined
    const tls =
      config.tls &&
      watchTls(config.tls, { log, pollMs: overrides.tlsPollMs, onChange: (files) => port?.setTls(files) })
    shutdownSteps.unshift({ name: 'TLS files', run: () => tls?.stop() })
    port = await listenPublic(config, log, () => server, {
      tls: tls?.current,
      addressOf,
      isTrustedProxy,
      budget,
      unread,
      proxies,
      observer: telemetry.observer,
      limits: { stopGraceMs: config.stopGraceMs, ...overrides.portLimits },
    })
    listener = port
    shutdownSteps.unshift({
      name: 'requests',
      run: () => port.requests.whenIdle(),
      waitsFor: () => port.requests.describe(limits.unfinishedNamesMax),
    })
    const metricsPort = await listenForMetrics(config, log, () => server)
    // Later than the public port: it tells how that is coming to its end.
    shutdownSteps.splice(1, 0, { name: 'metrics listener', run: () => metricsPort?.stop() })

    const addresses = addressesOf(config, port.url)
    const disk = diskSpaceOf(config, log, () => {
      // Garbage collection may free space. A database on the same disk still takes writes, thanks to the reserve.
      if (config.gcIntervalMs !== undefined)
        void scheduleJob(store.db, 'collection', store.clock()).catch(() => undefined)
    })
    shutdownSteps.splice(-1, 0, { name: 'free space', run: () => disk.stop() })
    const outbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks, tracer })
    // A client of its own: a provider that somebody only sets up or tries out must not keep exchanges from their turn.
    const cloudOutbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks, tracer })
    const signInOutbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks, tracer })
    // Its transfers take hours where an issuer's answer takes seconds.
    const feedOutbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks, tracer })
    let operatorProviders = readOperatorProviders(config.signInProvidersFile)
    const lastSeenTimes = createLastSeen({
      ...store,
      onError: (err) => log.error({ err }, 'writing last-seen times failed'),
    })
    const documents = createDocumentReader()
    const manifests = manifestReader(overrides.manifests)
    const feeds = startFeedScheduler({
      ...overrides.feeds,
      store: background,
      tracer,
      reader: documents,
      outbound: feedOutbound,
      directory: join(config.dataDir, 'downloads'),
      onRun({ feed, outcome, counts, error }) {
        const { documents: accepted, rejected, skipped } = counts
        metrics.recordFeedRun(outcome, { accepted, rejected, skipped })
        metrics.recordJobRun('advisory_feeds', outcome === 'failed' ? 'failed' : 'succeeded')
        if (outcome === 'failed') log.warn({ feed, error, ...counts }, 'reading a feed of advisories failed')
        else log.info({ feed, outcome, ...counts }, 'a feed of advisories was read')
      },
      onError: (err, feed) => log.error({ err, feed }, 'feeds of advisories: it is tried again'),
    })
    const processes = createFeedBuilder(store.db)
    const retention = retentionScheduler({
      ...overrides.retention,
      store: background,
      tracer,
      onRun({ repo, outcome, counts }) {
        metrics.recordRetentionRun(outcome, counts)
        metrics.recordJobRun('retention', outcome)
        log.info({ repo, outcome, ...counts }, 'retention ran in a repo')
      },
      onError: (err, repo) => log.error({ err, repo }, 'retention failed; it is tried again'),
    })
    const audit = createAuditRecorder({
      db: store.db,
      onError: (err) => log.error({ err }, 'writing audit events failed; what can be written is tried again'),
      onWritten: metrics.recordAuditWritten,
      onDropped: auditDropReporter(metrics, log),
    })
    const expiryJob = startExpiryJob({
      ...background,
      tracer,
      auditRetentionMs: config.auditRetentionMs,
      intervalMs: overrides.expiryIntervalMs,
      onError(err) {
        metrics.recordJobRun('expiry', 'failed')
        log.error({ err }, 'deleting what expired failed; it is tried again')
      },
      onDone: () => metrics.recordJobRun('expiry', 'succeeded'),
    })
    const ballastFile = overrides.openDb === undefined ? ballastOf(config) : noBallast
    const garbageCollection = gcScheduler({
      ...overrides.garbageCollection,
      store: background,
      tracer,
      blobs,
      ballast: ballastFile,
      intervalMs: config.gcIntervalMs,
      graceMs: config.gcGraceMs,
      onRun(run) {
        const seconds = run.durationMs / SECOND_MS
        metrics.recordJobRun('collection', run.outcome)
        if (run.outcome === 'failed') {
          metrics.recordGarbageCollection(run.outcome, run.durationMs, {})
          return log.error({ err: run.error, seconds }, 'collecting what the registry does not need failed')
        }
        const { organizations: _, ...taken } = run.report
        metrics.recordGarbageCollection(run.outcome, run.durationMs, taken)
        log.info({ ...taken, seconds }, 'what the registry did not need was collected')
      },
      onError: (err) => log.error({ err }, 'collections of the registry: it is tried again'),
    })
    const signingKeysWatcher = keys.watch({
      intervalMs: overrides.keysIntervalMs,
      onError(err) {
        metrics.recordJobRun('signing_keys', 'failed')
        log.warn({ err }, 'looking for other signing keys failed; it is tried again')
      },
      onDone: () => metrics.recordJobRun('signing_keys', 'succeeded'),
    })
    shutdownSteps.splice(
      1,
      0,
      // Early: other nodes take over their leases.
      { name: 'advisory feeds', run: () => feeds.stop(), early: true },
      { name: 'garbage collection', run: () => garbageCollection.stop(), early: true },
      { name: 'retention', run: () => retention.stop(), early: true },
      { name: 'expiry', run: () => expiryJob.stop(), early: true },
      { name: 'signing keys', run: () => signingKeysWatcher.stop() },
      { name: 'last-seen times', run: () => lastSeenTimes.stop() },
      { name: 'audit events', run: () => audit.stop() },
      { name: 'token issuers', run: () => outbound.close() },
      { name: 'clouds', run: () => cloudOutbound.close() },
      { name: 'sign-in providers', run: () => signInOutbound.close() },
      { name: 'advisory publishers', run: () => feedOutbound.close() },
      { name: 'document readers', run: () => documents.close() },
      { name: 'manifest readers', run: () => manifests.close() },
      { name: 'feed processes', run: () => processes.close() },
    )
    const reloadableRateLimits = createReloadableLimits(
      () => openCounters(config, installation, metrics, log),
      metrics.recordRateLimited,
    )
    await reloadableRateLimits.apply(config.rateLimits)
    shutdownSteps.splice(1, 0, { name: 'rate limits', run: () => reloadableRateLimits.close() })

    await ballastFile.fill()
    const firstStart = await isFirstStart(installation)
    if (firstStart) await ensureFirstOrganization(installation)
    await writeSetting(store.db.kysely, ADDRESS_SETTINGS.baseUrl, addresses.baseUrl)
    await writeSetting(store.db.kysely, ADDRESS_SETTINGS.authUrl, addresses.authUrl)
    await applyGeneralLimits(installation, config.resourceLimits)
    await keys.current() // there is one to publish before anybody asks
    metrics.watchPool(store.db.pool)
    metrics.watchPort(() => port.traffic())
    if (tls !== undefined) metrics.watchCertificate(() => tls.current.expiresMs)
    metrics.watchDisks(disk.readings)
    metrics.watchBufferedBytes(() => budget.buffered)
    metrics.watchFeeds(() => readLastSuccesses(store.db))
    metrics.watchGarbageCollection(async () =>
      Number((await readJob(store.db, 'collection'))?.succeeded_ms ?? 0),
    )
    metrics.watchBackup(async () => Number((await readJob(store.db, 'backup'))?.succeeded_ms ?? 0))
    metrics.watchRegistry(() => readTotalUsage(background.db))

    const startedServer = createServer({
      store,
      addresses,
      keys,
      tokens: installation.tokensFor(addresses),
      issuerKeysFor: createIssuerKeys({ outbound, clock: store.clock }).keysFor,
      pkceSupport: (issuer, organization) => pkceSupport(cloudOutbound.share(organization), issuer),
      issSupport: (issuer, organization) => issSupport(cloudOutbound.share(organization), issuer),
      cloudProbes: cloudProbes(
        {
          outbound: cloudOutbound,
          tokens: accountTokens({ keys, issuer: addresses.authUrl, clock: store.clock }),
        },
        config.clouds,
      ),
      aws: { outbound: cloudOutbound, endpoint: config.clouds.awsStsEndpoint },
      lastSeen: lastSeenTimes,
      documentReader: documents,
      feeds: createPublishedFeeds({
        builder: processes,
        cache: createFeedCache({ directory: join(config.dataDir, 'feeds'), clock: store.clock }),
      }),
      blobs,
      disk,
      readinessChecks: [
        warningCheck('storage', async () => [...(await disk.warnings()), ...storageRemarks()]),
      ],
      manifests,
      audit,
      openOrganizations: config.openOrganizations,
      blockedEmailDomains: config.blockedEmailDomains,
      plainHttpIssuers: config.issuerPrivateNetworks.length > 0,
      patternIssuers: config.patternIssuers,
      corsOrigins: config.corsOrigins,
      oauthClients: config.oauthClients,
      operatorProviders: () => operatorProviders,
      signInOutbound: signInOutbound,
      tracer,
      rateLimits: reloadableRateLimits,
      addressOf,
      isTrustedProxy,
      budget,
      unread,
      deprecation: config.deprecation,
      metrics,
      publicMetrics: metricsPort === undefined,
      log,
    })
    startedServer.setServing(true)
    server = startedServer
    return {
      addresses,
      installation,
      blobs,
      manifests,
      metricsUrl: metricsPort?.url,
      firstStart,
      async reload(next) {
        const problems: string[] = []
        const attempt = async (apply: () => unknown) => {
          try {
            await apply()
          } catch (error) {
            problems.push((error as Error).message)
          }
        }
        await attempt(() => next.tls && tls?.reload(next.tls))
        await attempt(() => {
          operatorProviders = readOperatorProviders(next.signInProvidersFile)
        })
        await attempt(() => reloadableRateLimits.apply(next.rateLimits))
        return problems
      },
      reopenAccessLog: telemetry.reopen,
      stop({ drainMs = 0 } = {}) {
        startedServer.setServing(false)
        stopped ??= stopAll(drainMs)
        return stopped
      },
    }
  } catch (error) {
    await stopAll(0).catch((err: unknown) => log.error({ err }, 'stopping after a failed start failed'))
    throw toSetupError(config, error)
  }
}

/** The disks of the data directory and of blobs in files. */
function diskSpaceOf({ dataDir, blobs, diskReserveBytes }: Config, log: Log, onFull: () => void): DiskSpace {
  const dataDisk = { name: 'data', path: dataDir } as const
  return diskSpace({
    directories:
      blobs === undefined ? [dataDisk, { name: 'blobs', path: blobDirectory(dataDir) }] : [dataDisk],
    reserveBytes: diskReserveBytes,
    onChange({ name, ...reading }, isFull) {
      if (isFull) {
        log.warn({ disk: name, ...reading }, 'a disk is full: what needs space is refused')
        onFull()
      } else log.info({ disk: name, ...reading }, 'a disk has free space again')
    },
  })
}

const WARNING_INTERVAL_MS = 60_000

/** Counts what the audit log does not take, and warns of it now and then. */
function auditDropReporter(metrics: Metrics, log: Log): (events: number) => void {
  let warnedMs = Number.NEGATIVE_INFINITY
  return (events) => {
    metrics.recordAuditDropped(events)
    if (performance.now() - warnedMs < WARNING_INTERVAL_MS) return
    warnedMs = performance.now()
    log.warn({}, 'refusals or exchanges are missing in the audit log; see berth_audit_dropped_total')
  }
}

/** Where calls are counted. */
async function openCounters(
  { rateLimitStore, dataDir }: Config,
  { store }: Installation,
  metrics: Metrics,
  log: Log,
): Promise<Counters> {
  if (rateLimitStore === 'memory') return createMemoryCounters()
  let warnedMs = Number.NEGATIVE_INFINITY
  return createSharedCounters(store.db, dataDir, (err) => {
    metrics.recordLimitStoreFailure()
    if (performance.now() - warnedMs < WARNING_INTERVAL_MS) return
    warnedMs = performance.now()
    log.warn({ err }, 'rate limits are counted by this node alone: the database does not count them')
  })
}

/** Binds the port. Until the server is there, requests hear that it is starting. */
async function listenPublic(
  config: Config,
  log: Log,
  server: () => BerthServer | undefined,
  {
    proxies,
    ...options
  }: Pick<
    ListenOptions,
    'tls' | 'addressOf' | 'isTrustedProxy' | 'budget' | 'unread' | 'observer' | 'limits'
  > & {
    readonly proxies: UntrustedProxyDetector
  },
) {
  const errorDomain = errorDomainAtStart(config)
  return bindOrFail('BERTH_LISTEN', config.listen, () =>
    listen({
      ...config.listen,
      http: (request) => {
        proxies.inspect(request.headers, () => request.address)
        return (server()?.http ?? startingHandler(errorDomain))(request)
      },
      grpc: {
        handle(stream, headers, ...rest) {
          proxies.inspect(headers, () => stream.session?.socket.remoteAddress ?? '')
          const ready = server()
          if (ready === undefined) stream.close(REFUSED_STREAM)
          else ready.grpc.handle(stream, headers, ...rest)
        },
        stop: () => server()?.grpc.stop(),
        abort: () => server()?.grpc.abort(),
      },
      errorDomain,
      log,
      ...options,
    }),
  )
}

/** Binds the operator's own listener, which speaks plain HTTP; undefined where the configuration has none. */
async function listenForMetrics(config: Config, log: Log, server: () => BerthServer | undefined) {
  const { metricsListen } = config
  if (metricsListen === undefined) return undefined
  const errorDomain = errorDomainAtStart(config)
  const port = await bindOrFail('BERTH_METRICS_LISTEN', metricsListen, () =>
    listen({
      ...metricsListen,
      http: (request) => (server()?.operator ?? startingHandler(errorDomain))(request),
      grpc: { handle: (stream) => stream.close(REFUSED_STREAM), stop() {}, abort() {} },
      errorDomain,
      log,
    }),
  )
  log.info({ url: port.url }, 'serving metrics')
  return port
}

/** "Not processed, try again" (RFC 9113 section 8.7). */
const REFUSED_STREAM = constants.NGHTTP2_REFUSED_STREAM

/** Before the external addresses are known, which errors name later. */
function errorDomainAtStart({ errorDomain, listen }: Config): string {
  return errorDomain ?? listen.host
}

function startingHandler(errorDomain: string): HttpHandler {
  return () => ({
    status: 503,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    body: errorBody(unavailable('the server is starting', SECOND_MS), errorDomain),
  })
}

/** Runs `bind`. Throws a SetupError that names the setting where the address cannot be bound. */
async function bindOrFail<T>(
  setting: string,
  { host, port }: ListenAddress,
  bind: () => Promise<T>,
): Promise<T> {
  try {
    return await bind()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EADDRINUSE')
      throw new SetupError(`${host}:${port} is in use; choose another address with ${setting}`)
    if (code === 'EACCES') throw new SetupError(`${setting}: no permission to listen on ${host}:${port}`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new SetupError(`${setting}: ${host} is not an address of this machine`)
    throw error
  }
}
