import { hostname } from 'node:os'
import { join } from 'node:path'
import { createDocumentReader } from './advisories/documents/document-reader.ts'
import { readLastSuccesses } from './advisories/feeds/feed-job.ts'
import { createFeedBuilder } from './advisories/publish/feed-builder.ts'
import { createFeedCache } from './advisories/publish/feed-cache.ts'
import { createPublishedFeeds } from './advisories/publish/published-feeds.ts'
import { createAuditRecorder } from './audit/recorder.ts'
import { ADDRESS_SETTINGS, type Addresses, addressesOf } from './config/addresses.ts'
import { limits } from './config/limits.ts'
import { version } from './config/version.ts'
import { createImageReader } from './contents/reading/image-reader.ts'
import { vulnerabilityFacts } from './findings/vulnerability-facts.ts'
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
import { createUntrustedProxyDetector } from './installation/untrusted-proxies.ts'
import { ensureFirstOrganization, isFirstStart } from './operator/bootstrap.ts'
import { applyGeneralLimits } from './operator/organization-settings.ts'
import { clientAddressResolver, createTrustedProxyTest } from './pipeline/limits/client-address.ts'
import { type Counters, createMemoryCounters } from './pipeline/limits/rate-counters.ts'
import { createReloadableLimits } from './pipeline/limits/reloadable-limits.ts'
import { loadExpressions } from './policies/expressions/compiled.ts'
import { createDecisionRecorder } from './policies/pull/decision-recorder.ts'
import { pullPolicies } from './policies/pull-policies.ts'
import { syncSystemPolicies } from './policies/system-policy-rows.ts'
import { createServerBodyBudget } from './port/bodies/body-budget.ts'
import { createUnreadReplies } from './port/bodies/unread-replies.ts'
import type { Listener, ListenOptions } from './port/listen.ts'
import { runShutdown } from './port/shutdown.ts'
import { watchTls } from './port/tls/tls-watcher.ts'
import type { BlobStore } from './registry/blobs/blob-store.ts'
import { measuredBlobs } from './registry/blobs/measured.ts'
import { blobDirectory } from './registry/blobs/open.ts'
import { backupJob, gcJob } from './registry/jobs.ts'
import {
  type ManifestReader,
  type ManifestReaderOptions,
  manifestReader,
} from './registry/manifests/manifest-reader.ts'
import { readTotalUsage } from './registry/quota/usage.ts'
import { createStorageRunner } from './registry/runs/storage-runner.ts'
import { createTransferCounter } from './registry/usage/transfer-counter.ts'
import type { Log } from './runtime/log.ts'
import { createOutbound } from './runtime/outbound/outbound.ts'
import { type JobOverrides, jobKinds, startBackgroundJobs } from './serve/background-jobs.ts'
import { listenForMetrics, listenPublic } from './serve/listeners.ts'
import { inStopOrder, type StopStep } from './serve/stop-order.ts'
import { type BerthServer, createServer } from './server.ts'
import { signerFacts } from './signatures/signer-facts.ts'
import { parseProviderFile, readProviderFile } from './signin/providers/operator-provider-file.ts'
import { type DiskSpace, diskSpace } from './storage/disk-space.ts'
import { noBallast } from './storage/engines/sqlite/ballast.ts'
import { readJob, scheduleJob } from './storage/jobs/job-leases.ts'
import { startNodeHeartbeat } from './storage/jobs/nodes.ts'
import { createSharedCounters } from './storage/rate-counters.ts'
import { writeSetting } from './storage/settings.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { warningCheck } from './telemetry/readiness.ts'
import { createStorageFaultLog } from './telemetry/storage-fault-log.ts'
import { openTelemetry } from './telemetry/telemetry.ts'
import { accountTokens } from './tokens/cloud-account-token.ts'
import { createIssuerKeys } from './tokens/issuers/issuer-keys.ts'
import { issSupport, pkceSupport } from './tokens/issuers/issuer-metadata.ts'
import type { WorkerLink } from './workers/worker-link.ts'

/** Opens an installation and serves it: the only place that knows all parts. */

export interface Berth {
  readonly addresses: Addresses
  readonly installation: Installation
  readonly blobs: BlobStore
  readonly manifests: ManifestReader
  /** URL of the operator's own listener, for metrics: `http://`, address and port; undefined without one. */
  readonly metricsUrl: string | undefined
  /** Whether there was no organization yet. */
  readonly firstStart: boolean
  /** Whether requests are being received or answered. */
  isBusy(): boolean
  /**
   * Applies settings that can change while the server runs: TLS files, rate limits and the sign-in providers of the operator. Invalid
   * ones keep their old value; returns a sentence for each, which names the setting.
   */
  reload(config: Config): Promise<readonly string[]>
  /** Loads what a start does not need, but pulls do: an upgrade in place may remove its files. */
  loadLater(): Promise<unknown>
  /** Reopens the file of the access log, after log rotation has moved it. */
  reopenAccessLog(): void
  /**
   * Serves for `drainMs` (default 0) while it reports that it is not ready, finishes running requests, writes queued data and closes
   * everything.
   * @throws ShutdownTimeout if that takes longer than `stopClosingMs` after the time for running requests
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>
}

export interface BerthOverrides extends InstallationOverrides, JobOverrides {
  readonly portLimits?: ListenOptions['limits']
  /** Between two reads of the TLS files. */
  readonly tlsPollMs?: number
  /** How manifests are read. */
  readonly manifests?: ManifestReaderOptions
  /** Between two writes of counted pulls and pushes. */
  readonly transferFlushMs?: number
  /** Between two writes of decisions of policies. */
  readonly decisionFlushMs?: number
  /** Of a worker: its supervisor accepts connections, holds the lock and knows the metrics of the other workers. */
  readonly link?: WorkerLink | undefined
}

export async function startBerth(
  config: Config,
  operatorLog: Log,
  overrides: BerthOverrides = {},
): Promise<Berth> {
  const { link } = overrides
  const worker = link?.assignment.number
  const telemetry = await openTelemetry(config, operatorLog, { worker })
  const { tracer } = telemetry
  const { log, warnings: storageRemarks } = createStorageFaultLog(telemetry.log)
  let listener: Listener | undefined
  let stopped: Promise<void> | undefined
  const stopAll = async (drainMs: number) => {
    const closed = listener?.stop(drainMs)
    await runShutdown(inStopOrder(stopSteps), { after: closed, timeoutMs: limits.stopClosingMs, log })
  }
  const stopSteps: StopStep[] = [{ name: 'traces and access log', run: () => telemetry.close() }]
  try {
    const metrics = createMetrics({ ofAllWorkers: link?.collectMetrics })
    link?.onCollect(metrics.snapshot)
    stopSteps.push({
      name: 'counts of a worker',
      run: async () => link?.sendCounts(await metrics.counts()),
    })
    // First: the database may belong to a running server.
    const lock = overrides.openDb === undefined && link === undefined ? await lockDatabase(config) : undefined
    const installation = await openInstallation(config, log, {
      meter: metrics.database,
      tracer,
      lock,
      writeLock: link?.writeLock,
      keepsSchema: link?.assignment.isLater === true,
      replica: 'serve',
      ...overrides,
    })
    const { store, keys } = installation
    const background = { ...store, db: store.db.background }
    stopSteps.push({ name: 'database', run: () => installation.close() })
    const blobs = measuredBlobs(await openBlobStore(config, store.db, log, { tracer }), metrics.blobStore)
    stopSteps.push({ name: 'blob store', run: () => blobs.close() })
    // Bound early: an address in use fails immediately, and the external addresses may depend on the port.
    let server: BerthServer | undefined
    const proxies = await createUntrustedProxyDetector(store, {
      trusted: config.trustedProxies,
      log,
      metrics,
    })
    stopSteps.push({ name: 'untrusted proxies', run: () => proxies.stop() })
    const addressOf = clientAddressResolver(config.trustedProxies)
    const isTrustedProxy = createTrustedProxyTest(config.trustedProxies)
    const budget = createServerBodyBudget(overrides.portLimits, isTrustedProxy)
    const unread = createUnreadReplies()
    let port: Awaited<ReturnType<typeof listenPublic>> | undefined
    // A worker that replaces another one uses what that used, whatever happened to the files.
    const formerFiles = link?.assignment.files
    const tls =
      config.tls &&
      watchTls(formerFiles?.tls?.settings ?? config.tls, {
        log,
        pollMs: overrides.tlsPollMs,
        former: formerFiles?.tls,
        onChange(files) {
          port?.setTls(files)
          reportFiles()
        },
      })
    let providerText =
      formerFiles === undefined ? readProviderFile(config.signInProvidersFile) : formerFiles.signInProviders
    let operatorProviders = parseProviderFile(config.signInProvidersFile, providerText)
    const reportFiles = () => link?.reportFiles({ tls: tls?.inUse, signInProviders: providerText })
    stopSteps.push({ name: 'TLS files', run: () => tls?.stop() })
    port = await listenPublic(config, log, () => server, {
      tls: tls?.current,
      addressOf,
      isTrustedProxy,
      budget,
      unread,
      proxies,
      source: link?.source('public'),
      observer: telemetry.observer,
      limits: { stopGraceMs: config.stopGraceMs, ...overrides.portLimits },
    })
    listener = port
    stopSteps.push({
      name: 'requests',
      run: () => port.requests.whenIdle(),
      waitsFor: () => port.requests.describe(limits.unfinishedNamesMax),
    })
    const metricsPort = await listenForMetrics(config, log, () => server, link?.source('metrics'))
    stopSteps.push({ name: 'metrics listener', run: () => metricsPort?.stop() })

    const addresses = addressesOf(config, port.url)
    const disk = diskSpaceOf(config, log, () => {
      // Garbage collection may free space. The reserve lets a database on the same disk still write.
      if (config.gcIntervalMs !== undefined)
        void scheduleJob(store.db, gcJob, store.clock()).catch(() => undefined)
    })
    stopSteps.push({ name: 'free space', run: () => disk.stop() })
    const outbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks, tracer })
    // Separate from exchanges: requests to a provider that a tenant tests must not delay them.
    const cloudOutbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks, tracer })
    const signInOutbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks, tracer })
    // Its transfers take hours; responses of issuers take seconds.
    const feedOutbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks, tracer })
    const lastSeenTimes = createLastSeen({
      ...store,
      onError: (err) => log.error({ err }, 'writing last-seen times failed'),
    })
    const transfers = createTransferCounter({
      ...store,
      flushMs: overrides.transferFlushMs,
      onError: (err) => log.error({ err }, 'writing counts of pulls and pushes failed'),
      onDropped: (dropped) =>
        log.warn({ dropped }, 'pulls and pushes were not counted: too many repositories waited'),
    })
    const decisions = createDecisionRecorder({
      ...store,
      flushMs: overrides.decisionFlushMs,
      onError: (err) => log.error({ err }, 'writing decisions of policies failed; retrying'),
      onDecision: metrics.recordPolicyDecision,
      onDropped: (dropped) =>
        log.warn({ dropped }, 'decisions of policies were not recorded: too many waited'),
    })
    const documents = createDocumentReader()
    const imageReader = createImageReader()
    const manifests = manifestReader(overrides.manifests)
    const processes = createFeedBuilder(store.db)
    const audit = createAuditRecorder({
      db: store.db,
      onError: (err) => log.error({ err }, 'writing audit events failed; retrying'),
      onWritten: metrics.recordAuditWritten,
      onDropped: auditDropReporter(metrics, log),
    })
    const ballastFile = overrides.openDb === undefined ? ballastOf(config) : noBallast
    const storageRunner = createStorageRunner({
      store: background,
      blobs,
      ballast: ballastFile,
      onError: (err) => log.error({ err }, 'a run of garbage collection or scrub failed'),
    })
    const heartbeat = await startNodeHeartbeat(
      { ...background, isWorker: link !== undefined },
      {
        name: worker === undefined ? hostname() : `${hostname()}/${worker}`,
        version: version(),
        base_url: addresses.baseUrl,
        listen_address: `${config.listen.host}:${new URL(port.url).port}`,
      },
      (err) => log.warn({ err }, 'writing a sign of life of this node failed; retrying'),
    )
    stopSteps.push(
      { name: 'storage runs', run: () => storageRunner.stop(), early: true },
      { name: 'sign of life', run: () => heartbeat.stop() },
      ...startBackgroundJobs({
        config,
        authUrl: addresses.authUrl,
        overrides,
        background,
        keys,
        blobs,
        ballast: ballastFile,
        documentReader: documents,
        imageReader,
        feedOutbound,
        metrics,
        tracer,
        log,
      }),
      { name: 'last-seen times', run: () => lastSeenTimes.stop() },
      { name: 'pulls and pushes', run: () => transfers.stop() },
      { name: 'decisions of policies', run: () => decisions.stop() },
      { name: 'audit events', run: () => audit.stop() },
      { name: 'token issuers', run: () => outbound.close() },
      { name: 'clouds', run: () => cloudOutbound.close() },
      { name: 'sign-in providers', run: () => signInOutbound.close() },
      { name: 'advisory publishers', run: () => feedOutbound.close() },
      { name: 'image readers', run: () => imageReader.close() },
      { name: 'document readers', run: () => documents.close() },
      { name: 'manifest readers', run: () => manifests.close() },
      { name: 'feed processes', run: () => processes.close() },
    )
    const reloadableRateLimits = createReloadableLimits(
      () => openCounters(config, installation, metrics, log),
      metrics.recordRateLimited,
    )
    await reloadableRateLimits.apply(config.rateLimits)
    stopSteps.push({ name: 'rate limits', run: () => reloadableRateLimits.close() })

    await ballastFile.fill()
    await syncSystemPolicies(store)
    const firstStart = await isFirstStart(installation)
    if (firstStart) await ensureFirstOrganization(installation)
    await writeSetting(store.db.kysely, ADDRESS_SETTINGS.baseUrl, addresses.baseUrl)
    await writeSetting(store.db.kysely, ADDRESS_SETTINGS.authUrl, addresses.authUrl)
    await applyGeneralLimits(installation, config.resourceLimits)
    // Creates the first key, so that it is published from the start.
    await keys.current()
    metrics.watchPool(store.db.pool)
    metrics.watchReplica(
      () => store.db.replica?.reads() ?? { replica: 0, behind: 0, diverged: 0, unavailable: 0 },
    )
    metrics.watchPort(() => port.traffic())
    if (tls !== undefined) metrics.watchCertificate(() => tls.current.expiresMs)
    metrics.watchDisks(disk.readings)
    metrics.watchBufferedBytes(() => budget.buffered)
    metrics.watchFeeds(() => readLastSuccesses(store.db))
    metrics.watchGarbageCollection(async () => Number((await readJob(store.db, gcJob))?.succeeded_ms ?? 0))
    metrics.watchBackup(async () => Number((await readJob(store.db, backupJob))?.succeeded_ms ?? 0))
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
      transfers,
      pullPolicies: pullPolicies({
        ...{ store, blobs, decisions },
        providers: [
          vulnerabilityFacts(store),
          signerFacts({
            store,
            onError: (err) => log.warn({ err }, 'an image could not be queued to verify its signatures'),
          }),
        ],
      }),
      decisions,
      audit,
      operator: { config, storageRunner, jobKinds },
      recordIndex: overrides.recordIndex,
      openOrganizations: config.openOrganizations,
      ownersManageCatalog: config.ownersManageCatalog,
      blockedEmailDomains: config.blockedEmailDomains,
      plainHttpIssuers: config.issuerPrivateNetworks.length > 0,
      patternIssuers: config.patternIssuers,
      corsOrigins: config.corsOrigins,
      oauthClients: config.oauthClients,
      sendsMail: config.smtp !== undefined,
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
    reportFiles()
    return {
      addresses,
      installation,
      blobs,
      manifests,
      metricsUrl: metricsPort?.url,
      firstStart,
      isBusy() {
        const { http, grpc } = port.traffic().inFlight
        return http + grpc > 0
      },
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
          const text = readProviderFile(next.signInProvidersFile)
          operatorProviders = parseProviderFile(next.signInProvidersFile, text)
          providerText = text
        })
        await attempt(() => reloadableRateLimits.apply(next.rateLimits))
        reportFiles()
        return problems
      },
      loadLater: loadExpressions,
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

/** Watches the disks of the data directory and of blobs in files. */
function diskSpaceOf({ dataDir, blobs, diskReserveBytes }: Config, log: Log, onFull: () => void): DiskSpace {
  const dataDisk = { name: 'data', path: dataDir } as const
  return diskSpace({
    directories:
      blobs === undefined ? [dataDisk, { name: 'blobs', path: blobDirectory(dataDir) }] : [dataDisk],
    reserveBytes: diskReserveBytes,
    onChange({ name, ...reading }, isFull) {
      if (isFull) {
        log.warn({ disk: name, ...reading }, 'a disk is full: requests that need space are rejected')
        onFull()
      } else log.info({ disk: name, ...reading }, 'a disk has free space again')
    },
  })
}

const WARNING_INTERVAL_MS = 60_000

/** Counts events that the audit log drops, and warns at most once a minute. */
function auditDropReporter(metrics: Metrics, log: Log): (events: number) => void {
  let warnedMs = Number.NEGATIVE_INFINITY
  return (events) => {
    metrics.recordAuditDropped(events)
    if (performance.now() - warnedMs < WARNING_INTERVAL_MS) return
    warnedMs = performance.now()
    log.warn({}, 'denials or exchanges are missing in the audit log; see berth_audit_dropped_total')
  }
}

/** Opens the counters of rate limits. */
async function openCounters(
  { rateLimitStore, workers, dataDir }: Config,
  { store }: Installation,
  metrics: Metrics,
  log: Log,
): Promise<Counters> {
  if ((rateLimitStore ?? (workers > 1 ? 'database' : 'memory')) === 'memory') return createMemoryCounters()
  let warnedMs = Number.NEGATIVE_INFINITY
  return createSharedCounters(store.db, dataDir, (err) => {
    metrics.recordLimitStoreFailure()
    if (performance.now() - warnedMs < WARNING_INTERVAL_MS) return
    warnedMs = performance.now()
    log.warn({ err }, 'this node counts rate limits alone: the database cannot count them')
  })
}
