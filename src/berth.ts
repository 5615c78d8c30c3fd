import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { recorder } from './audit/recorder.ts'
import type { BlobStore } from './blobs/store.ts'
import { ensureFirstOrganization, isFirstStart } from './bootstrap.ts'
import { cloudProbes } from './cloud/probes.ts'
import { type Addresses, addressesOf, type Config } from './config.ts'
import { unavailable } from './core/errors.ts'
import { errorBody } from './gateway/error-body.ts'
import type { AddressOf, HttpHandler } from './http.ts'
import { lastSeen } from './iam/last-seen.ts'
import {
  type Installation,
  type InstallationParts,
  openBlobStore,
  openInstallation,
  SetupError,
} from './installation.ts'
import { clientAddresses } from './limits/client-address.ts'
import { type Counters, memoryCounters, sharedCounters } from './limits/counters.ts'
import { rateLimits } from './limits/rate-limits.ts'
import { type ListenOptions, listen } from './listen.ts'
import type { Log } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { collectionScheduler } from './oci/collection/scheduler.ts'
import { readWork } from './oci/run-rows.ts'
import { applyGeneralLimits } from './organization-settings.ts'
import { retentionScheduler } from './registry/retention.ts'
import { type BerthServer, createServer } from './server.ts'
import { type OperatorProvider, parseOperatorProviders } from './signin/operator-providers.ts'
import { expiry } from './storage/expiry.ts'
import { usageOfAll } from './storage/registry-usage.ts'
import { writeSetting } from './storage/settings.ts'
import { accountTokens } from './sts/account-token.ts'
import { createIssuerKeys } from './sts/issuer-keys.ts'
import { pkceSupport } from './sts/issuer-metadata.ts'
import { createOutbound } from './sts/outbound.ts'
import { documentReader } from './vulnerabilities/document-reader.ts'
import type { DownloadLimits } from './vulnerabilities/feeds/download.ts'
import { lastSuccesses } from './vulnerabilities/feeds/feed-rows.ts'
import { feedScheduler } from './vulnerabilities/feeds/scheduler.ts'
import { feedFiles } from './vulnerabilities/publish/feed-files.ts'
import { feedProcesses } from './vulnerabilities/publish/feed-processes.ts'
import { publishedFeeds } from './vulnerabilities/publish/feeds.ts'

/** The composition root: configuration in, a serving installation out. The only place that knows all parts. */

export interface Berth {
  readonly addresses: Addresses
  readonly installation: Installation
  readonly blobs: BlobStore
  /** True when there was no organization yet. */
  readonly firstStart: boolean
  /** Finishes running requests, writes what waits, closes everything. */
  stop(): Promise<void>
}

export interface BerthParts extends InstallationParts {
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
  readonly collection?: { readonly pollMs?: number; readonly leaseMs?: number }
  /** How the node looks after retention in repos. */
  readonly retention?: { readonly pollMs?: number; readonly leaseMs?: number }
}

/** The settings under which `berth admin` finds the addresses that the server was last started with. */
export const ADDRESS_SETTINGS = { baseUrl: 'base_url', authUrl: 'auth_url' } as const

const SECOND_MS = 1000

export async function startBerth(config: Config, log: Log, parts: BerthParts = {}): Promise<Berth> {
  const metrics = createMetrics()
  const installation = await openInstallation(config, log, { timer: metrics.statement, ...parts })
  const { store, keys } = installation
  const closing: (() => Promise<void>)[] = [() => installation.close()]
  try {
    // The port is bound first: an address that is taken is told at once, and the external addresses may follow from it.
    let server: BerthServer | undefined
    const addressOf = clientAddresses(config.trustedProxies)
    const port = await listenOn(config, log, () => server, addressOf, parts.portLimits)
    closing.unshift(() => port.stop())

    const addresses = addressesOf(config, port.url)
    const blobs = await openBlobStore(config, log)
    closing.push(async () => blobs.close())
    const outbound = createOutbound({ privateNetworks: config.issuerPrivateNetworks })
    // A client of its own: a provider that somebody only sets up or tries out must not keep exchanges from their turn.
    const clouds = createOutbound({ privateNetworks: config.issuerPrivateNetworks })
    const people = createOutbound({ privateNetworks: config.issuerPrivateNetworks })
    // Its transfers take hours where an issuer's answer takes seconds.
    const publishers = createOutbound({ privateNetworks: config.issuerPrivateNetworks })
    const operatorProviders = readOperatorProviders(config.signInProvidersFile)
    const seen = lastSeen({
      ...store,
      onError: (err) => log.error({ err }, 'writing last-seen times failed'),
    })
    const documents = documentReader()
    const feeds = feedScheduler({
      ...parts.feeds,
      store,
      reader: documents,
      outbound: publishers,
      directory: join(config.dataDir, 'downloads'),
      onRun({ feed, outcome, counts, error }) {
        const { documents: accepted, rejected, skipped } = counts
        metrics.feedRun(outcome, { accepted, rejected, skipped })
        if (outcome === 'failed') log.warn({ feed, error, ...counts }, 'reading a feed of advisories failed')
        else log.info({ feed, outcome, ...counts }, 'a feed of advisories was read')
      },
      onError: (err, feed) => log.error({ err, feed }, 'feeds of advisories: it is tried again'),
    })
    const processes = feedProcesses(store.db)
    const retention = retentionScheduler({
      ...parts.retention,
      store,
      onRun({ repo, outcome, counts }) {
        metrics.retentionRun(outcome, counts)
        log.info({ repo, outcome, ...counts }, 'retention ran in a repo')
      },
      onError: (err, repo) => log.error({ err, repo }, 'retention failed; it is tried again'),
    })
    const audit = recorder({
      db: store.db,
      onError: (err) => log.error({ err }, 'writing audit events failed; what can be written is tried again'),
      onWritten: metrics.audited,
      onDropped: auditDropped(metrics, log),
    })
    const expiring = expiry({
      ...store,
      auditRetentionMs: config.auditRetentionMs,
      intervalMs: parts.expiryIntervalMs,
      onError: (err) => log.error({ err }, 'deleting what expired failed; it is tried again'),
    })
    const collecting = collectionScheduler({
      ...parts.collection,
      store,
      blobs,
      intervalMs: config.collectionIntervalMs,
      graceMs: config.collectionGraceMs,
      onRun(run) {
        const seconds = run.durationMs / SECOND_MS
        if (run.outcome === 'failed') {
          metrics.collected(run.outcome, run.durationMs, {})
          return log.error({ err: run.error, seconds }, 'collecting what the registry does not need failed')
        }
        const { organizations: _, ...taken } = run.report
        metrics.collected(run.outcome, run.durationMs, taken)
        log.info({ ...taken, seconds }, 'what the registry did not need was collected')
      },
      onError: (err) => log.error({ err }, 'collections of the registry: it is tried again'),
    })
    const following = keys.follow({
      intervalMs: parts.keysIntervalMs,
      onError: (err) => log.warn({ err }, 'looking for other signing keys failed; it is tried again'),
    })
    closing.splice(
      1,
      0,
      // First: a run may be in the middle of a document.
      () => feeds.stop(),
      () => collecting.stop(),
      () => retention.stop(),
      () => following.stop(),
      () => expiring.stop(),
      () => seen.stop(),
      () => audit.stop(),
      () => outbound.close(),
      () => clouds.close(),
      () => people.close(),
      () => publishers.close(),
      () => documents.close(),
      () => processes.close(),
    )
    const counters = await openCounters(config, installation, metrics, log)
    if (counters !== undefined) closing.splice(1, 0, () => counters.close())

    const firstStart = await isFirstStart(installation)
    if (firstStart) await ensureFirstOrganization(installation)
    await writeSetting(store.db.kysely, ADDRESS_SETTINGS.baseUrl, addresses.baseUrl)
    await writeSetting(store.db.kysely, ADDRESS_SETTINGS.authUrl, addresses.authUrl)
    await applyGeneralLimits(installation, config.resourceLimits)
    await keys.current() // there is one to publish before anybody asks
    metrics.watchPool(store.db.pool)
    metrics.watchFeeds(() => lastSuccesses(store.db))
    metrics.watchCollection(async () => Number((await readWork(store.db, 'collection'))?.succeeded_ms ?? 0))
    metrics.watchRegistry(() => usageOfAll(store.db))

    const ready = createServer({
      store,
      addresses,
      keys,
      tokens: installation.tokensFor(addresses),
      keysFor: createIssuerKeys({ outbound, clock: store.clock }).keysFor,
      pkceSupport: (issuer) => pkceSupport(clouds, issuer),
      probes: cloudProbes(
        {
          outbound: clouds,
          tokens: accountTokens({ keys, issuer: addresses.authUrl, clock: store.clock }),
        },
        config.clouds,
      ),
      aws: { outbound: clouds, endpoint: config.clouds.awsStsEndpoint },
      lastSeen: seen,
      documents,
      feeds: publishedFeeds({
        processes,
        files: feedFiles({ directory: join(config.dataDir, 'feeds'), clock: store.clock }),
      }),
      blobs,
      audit,
      openOrganizations: config.openOrganizations,
      blockedEmailDomains: config.blockedEmailDomains,
      plainHttpIssuers: config.issuerPrivateNetworks.length > 0,
      patternIssuers: config.patternIssuers,
      corsOrigins: config.corsOrigins,
      oauthClients: config.oauthClients,
      operatorProviders,
      peopleOutbound: people,
      limits: counters && rateLimits({ tables: config.rateLimits, counters, onLimited: metrics.limited }),
      addressOf,
      deprecation: config.deprecation,
      metrics,
      log,
    })
    ready.setServing(true)
    server = ready
    closing.unshift(async () => ready.setServing(false))
    return { addresses, installation, blobs, firstStart, stop: () => inTurn(closing) }
  } catch (error) {
    await inTurn(closing)
    throw error
  }
}

function readOperatorProviders(file: string | undefined): readonly OperatorProvider[] {
  if (file === undefined) return []
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new SetupError(`BERTH_SIGN_IN_PROVIDERS_FILE cannot be read: ${(error as Error).message}`)
  }
  const read = parseOperatorProviders(text)
  if ('problems' in read)
    throw new SetupError(`BERTH_SIGN_IN_PROVIDERS_FILE ${file}: ${read.problems.join('; ')}`)
  return read.providers
}

const WARNING_INTERVAL_MS = 60_000

/** Counts what the audit log does not take, and warns of it now and then. */
function auditDropped(metrics: Metrics, log: Log): (events: number) => void {
  let warnedMs = Number.NEGATIVE_INFINITY
  return (events) => {
    metrics.auditDropped(events)
    if (performance.now() - warnedMs < WARNING_INTERVAL_MS) return
    warnedMs = performance.now()
    log.warn({}, 'refusals or exchanges are missing in the audit log; see berth_audit_dropped_total')
  }
}

/** Where calls are counted; undefined when no limit is set. */
async function openCounters(
  { rateLimits: tables, rateLimitStore, dataDir }: Config,
  { store }: Installation,
  metrics: Metrics,
  log: Log,
): Promise<Counters | undefined> {
  if (Object.values(tables).every((table) => Object.keys(table).length === 0)) return undefined
  if (rateLimitStore === 'memory') return memoryCounters()
  let warnedMs = Number.NEGATIVE_INFINITY
  return sharedCounters(store.db, dataDir, (err) => {
    metrics.limitStoreFailed()
    if (performance.now() - warnedMs < WARNING_INTERVAL_MS) return
    warnedMs = performance.now()
    log.warn({ err }, 'rate limits are counted by this node alone: the database does not count them')
  })
}

async function inTurn(steps: (() => Promise<void>)[]): Promise<void> {
  for (const step of steps.splice(0)) await step()
}

/** Binds the port. Until the server is there, requests hear that it is starting. */
async function listenOn(
  config: Config,
  log: Log,
  server: () => BerthServer | undefined,
  addressOf: AddressOf,
  limits: ListenOptions['limits'],
) {
  const errorDomain = config.errorDomain ?? config.listen.host
  const starting: HttpHandler = () => ({
    status: 503,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    body: errorBody(unavailable('the server is starting', SECOND_MS), errorDomain),
  })
  try {
    return await listen({
      ...config.listen,
      tls: config.tls && {
        cert: readFileSync(config.tls.certFile, 'utf8'),
        key: readFileSync(config.tls.keyFile, 'utf8'),
      },
      http: (request) => (server()?.http ?? starting)(request),
      grpc: {
        handle(stream, ...rest) {
          const ready = server()
          // The transport's way of saying "not processed, try again" (RFC 9113 section 8.7).
          if (ready === undefined) stream.close(7)
          else ready.grpc.handle(stream, ...rest)
        },
        stop: () => server()?.grpc.stop(),
      },
      errorDomain,
      log,
      addressOf,
      limits,
    })
  } catch (error) {
    const { host, port } = config.listen
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EADDRINUSE')
      throw new SetupError(`${host}:${port} is in use; choose another address with BERTH_LISTEN`)
    if (code === 'EACCES') throw new SetupError(`no permission to listen on ${host}:${port}`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new SetupError(`${host} is not an address of this machine`)
    if (code === 'ENOENT') throw new SetupError(`the TLS files cannot be read: ${(error as Error).message}`)
    throw error
  }
}
