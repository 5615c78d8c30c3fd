import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import { ADDRESS_SETTINGS } from '../config/addresses.ts'
import { limits } from '../config/limits.ts'
import { isLoopbackHost } from '../config/loopback.ts'
import { SetupError } from '../config/setup-errors.ts'
import { findWorkerProblem } from '../installation/cluster-server.ts'
import type { Config } from '../installation/config.ts'
import { describeDatabaseError } from '../installation/database-errors.ts'
import { databaseFile, describeBlobStore, findMasterKey, openDatabase } from '../installation/installation.ts'
import { readStoreIdentities } from '../installation/store-identity.ts'
import { readSeenUntrustedProxy } from '../installation/untrusted-proxies.ts'
import { createSmtp } from '../mail/smtp.ts'
import { expiryWarning, readTlsFiles } from '../port/tls/tls-files.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { openBlobs } from '../registry/blobs/open.ts'
import { deriveKey, type MasterKey } from '../runtime/encryption.ts'
import type { Log } from '../runtime/log.ts'
import { readOperatorProviders } from '../signin/providers/operator-provider-file.ts'
import type { Db } from '../storage/db.ts'
import { isFullDisk, reserveBytesOf } from '../storage/disk-space.ts'
import { migrationState } from '../storage/schema/migrate.ts'
import { readSetting } from '../storage/settings.ts'
import { readOtlpFiles } from '../telemetry/otlp-files.ts'
import { loadKeyRow } from '../tokens/keys/signing-key-rows.ts'

/** What `berth admin check` looks at. Nothing is changed or created. */

/** The outcome of one check. */
export interface CheckResult {
  readonly name: string
  readonly result: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** What the operator should do; '' for nothing. */
  readonly action: string
}

/** What a check can say. */
type CheckOutcome = Omit<CheckResult, 'name'>

/** Each check may use what those before it found. */
interface CheckContext {
  readonly config: Config
  readonly db: Db
  readonly masterKey: MasterKey | undefined
  readonly log: Log
}

const ok = (message: string): CheckOutcome => ({ result: 'ok', message, action: '' })
const warn = (message: string, action: string): CheckOutcome => ({ result: 'warn', message, action })
const fail = (message: string, action: string): CheckOutcome => ({ result: 'fail', message, action })

/** Checks of the configuration alone. Undefined: the check does not apply. */
const configurationChecks: Readonly<
  Record<string, (config: Config) => CheckOutcome | undefined | Promise<CheckOutcome | undefined>>
> = {
  'data directory': ({ dataDir }) => {
    if (!existsSync(dataDir))
      return fail(
        `${dataDir} does not exist`,
        'Set BERTH_DATA_DIR to the directory of the server, or start berth serve once.',
      )
    if (!statSync(dataDir).isDirectory())
      return fail(`${dataDir} is not a directory`, 'Set BERTH_DATA_DIR to the directory of the server.')
    try {
      accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
      return ok(`${dataDir} is writable`)
    } catch {
      return fail(
        `${dataDir} is not writable for this user`,
        'Run as the user of the server, or change its owner.',
      )
    }
  },

  'disk space': ({ dataDir, blobs, diskReserveBytes }) => {
    if (!existsSync(dataDir)) return undefined
    const { bavail, blocks, bsize, files, ffree } = statfsSync(dataDir)
    const free = bavail * bsize
    const action = 'Make space, or move the data directory to a larger disk.'
    const text = `${gib(free)} of ${gib(blocks * bsize)} are free for ${dataDir}`
    const reserve = blobs === undefined ? reserveBytesOf(blocks * bsize, diskReserveBytes) : 0
    if (isFullDisk({ freeBytes: free, reserveBytes: reserve }))
      return fail(reserve === 0 ? text : `${text}: pushes are rejected below ${gib(reserve)}`, action)
    if (files > 0 && ffree < limits.diskFreeFilesMin)
      return fail(`the disk of ${dataDir} has ${ffree} free inodes`, action)
    return free < limits.diskFreeBytesLow ? warn(text, action) : ok(text)
  },

  'TLS certificate': ({ tls }) => {
    if (tls === undefined) return undefined
    try {
      const files = readTlsFiles(tls)
      const until = new Date(files.expiresMs).toISOString()
      const warning = expiryWarning(files, Date.now())
      return warning === undefined
        ? ok(`it matches its key and expires at ${until}`)
        : warn(warning, 'Renew it; the server picks up the new files by itself.')
    } catch (error) {
      if (!(error instanceof SetupError)) throw error
      return fail(error.message, 'Set BERTH_TLS_CERT_FILE and BERTH_TLS_KEY_FILE to PEM files that match.')
    }
  },

  'access log': ({ accessLog }) => {
    if (typeof accessLog?.target !== 'string') return undefined
    const file = accessLog.target
    try {
      if (existsSync(file) && statSync(file).isDirectory()) throw new Error(`${file} is a directory`)
      accessSync(existsSync(file) ? file : dirname(file), constants.W_OK)
      return ok(`${file} can be written`)
    } catch (error) {
      return fail(
        `BERTH_ACCESS_LOG: ${(error as Error).message}`,
        'Create its directory, or let the user of the server write there.',
      )
    }
  },

  traces: ({ tracing }) => {
    if (tracing === undefined || tracing.exporter === 'console') return undefined
    try {
      readOtlpFiles(tracing.exporter)
      return ok(`they are exported to ${new URL(tracing.exporter.url).origin}`)
    } catch (error) {
      if (!(error instanceof SetupError)) throw error
      return fail(error.message, 'Set the variable to a PEM file that the user of the server can read.')
    }
  },

  'mail server': async ({ smtp }) => {
    if (smtp === undefined) return undefined
    const place = `${smtp.host}:${smtp.port}`
    try {
      await createSmtp(smtp).verify()
      return ok(`${place} accepts connections${smtp.credentials === undefined ? '' : ' and the password'}`)
    } catch (error) {
      return fail(
        `${place} cannot be used: ${(error as Error).message}`,
        'Correct BERTH_SMTP_URL, or check the mail server; berth admin mail test sends an email.',
      )
    }
  },

  'sign-in providers': async ({ signInProvidersFile }) => {
    if (signInProvidersFile === undefined) return undefined
    try {
      const providers = readOperatorProviders(signInProvidersFile)
      return await checkIssuerClocks(providers.map(({ issuer }) => issuer))
    } catch (error) {
      if (!(error instanceof SetupError)) throw error
      return fail(error.message, 'Correct the file; docs/sign-in.md describes it.')
    }
  },
}

const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`

/** Tokens of an issuer whose clock differs much are refused. The header Date has whole seconds. */
async function checkIssuerClocks(issuers: readonly string[]): Promise<CheckOutcome> {
  const responses = await Promise.all(
    issuers.map(async (issuer) => {
      const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
      try {
        const signal = AbortSignal.timeout(limits.outboundTimeoutMs)
        const { ok: isOk, status, headers } = await fetch(url, { signal })
        if (!isOk) return { problem: `${url} returns status ${status}` }
        return { issuer, offMs: Math.abs(Date.parse(headers.get('date') ?? '') - Date.now()) }
      } catch (error) {
        const { cause, message } = error as Error
        return { problem: `${url} cannot be read: ${(cause as Error | undefined)?.message ?? message}` }
      }
    }),
  )
  const problems = responses.flatMap(({ problem }) => problem ?? [])
  if (problems.length > 0)
    return warn(problems.join('; '), 'Check the issuers in BERTH_SIGN_IN_PROVIDERS_FILE and the network.')
  const off = responses.find(({ offMs = 0 }) => offMs > limits.clockSkewMs)
  return off === undefined
    ? ok(`${issuers.length} can be reached`)
    : fail(
        `the clock of this machine and that of ${off.issuer} differ by ${Math.round((off.offMs ?? 0) / 1000)} s`,
        'Set the clock of this machine, for example with NTP.',
      )
}

/** Checks that need the open database. Undefined: the check does not apply. */
const databaseChecks: Readonly<
  Record<string, (found: CheckContext) => CheckOutcome | undefined | Promise<CheckOutcome | undefined>>
> = {
  'master key': async ({ config, db }) => {
    try {
      await findMasterKey(config, db)
      return ok('it is the key of the database')
    } catch (error) {
      if (!(error instanceof SetupError)) throw error
      return fail(error.message, 'Restore the key; secrets in the database cannot be read without it.')
    }
  },

  'database settings': async ({ db, config }) => {
    if (!db.rules.isShared || config.databaseUrl === undefined) return undefined
    const { rows } = await sql<{
      version: string
      readonly: string
      connections: string
      reserved: string
      now: number
    }>`
      select current_setting('server_version_num') as version,
        current_setting('transaction_read_only') as readonly,
        current_setting('max_connections') as connections,
        current_setting('superuser_reserved_connections') as reserved,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now`.execute(db.kysely)
    const [row] = rows
    if (row === undefined) return undefined
    const offMs = Math.abs(Number(row.now) - Date.now())
    if (row.readonly === 'on')
      return fail(
        'the database is read-only: every change fails',
        'Set the host in BERTH_DATABASE_URL to the primary server.',
      )
    if (offMs > limits.clockSkewMs)
      return fail(
        `the clock of this machine and that of PostgreSQL differ by ${Math.round(offMs / 1000)} s`,
        'Set the clock of both machines, for example with NTP.',
      )
    if (Number(row.version) < POSTGRES_VERSION_MIN)
      return warn(
        `PostgreSQL ${Math.floor(Number(row.version) / 10_000)} is not tested`,
        'Upgrade it to version 15 or newer.',
      )
    const free = Number(row.connections) - Number(row.reserved)
    const perNode =
      (config.databasePoolMax ?? limits.databasePoolDefault) + CONNECTIONS_BESIDE_POOL * config.workers
    const nodes = Math.floor(free / perNode)
    const text = `max_connections leaves ${free} connections, enough for ${nodes} nodes with ${perNode} each`
    return nodes < 1
      ? fail(text, `Raise max_connections of PostgreSQL to at least ${perNode} for each node.`)
      : nodes < 2
        ? warn(text, `Raise max_connections of PostgreSQL by ${perNode} for each further node.`)
        : ok(text)
  },

  'distributed database': async ({ db }) => {
    const server = await db.rules.findClusterServer(db)
    if (server === undefined) return undefined
    const { isWorker, address, absentTables } = server
    if (isWorker) return ok(`this node uses the worker ${address ?? 'of the address'}`)
    const coordinator = address === undefined ? 'the coordinator' : `the coordinator ${address}`
    return ok(
      `this node uses ${coordinator}; nodes ${absentTables.length === 0 ? 'can' : 'cannot'} use workers`,
    )
  },

  'read replica': async ({ db }) => {
    if (db.replica === undefined) return undefined
    const problem = await db.replica.check()
    return problem === undefined
      ? ok('it follows the database')
      : warn(
          `reads use the primary: ${problem}`,
          'Set BERTH_DATABASE_READ_URL to a standby that follows the database, and check its replication; create it again if its changes differ.',
        )
  },

  'blob store': async ({ config, db, log }) => {
    const place = describeBlobStore(config)
    const action =
      'Set BERTH_DATA_DIR, or BERTH_BLOBS_S3_BUCKET and its settings, to the store of the database.'
    let blobs: BlobStore | undefined
    try {
      blobs = await openBlobs(config, log)
      const { expected, found } = await readStoreIdentities(db, blobs)
      if (expected === undefined) return ok(`${place} is checked when the server starts`)
      if (expected === found) return ok(`${place} belongs to the database`)
      return fail(
        `${place} ${found === undefined ? 'has no identity' : `has the identity ${found}`}, and the database expects ${expected}`,
        `${action} If the store was lost, run berth admin adopt-store.`,
      )
    } catch (error) {
      return fail(`${place} cannot be used: ${(error as Error).message}`, action)
    } finally {
      blobs?.close()
    }
  },

  'signing keys': async ({ db, masterKey }) => {
    const rows = await db.kysely
      .selectFrom('signing_keys')
      .selectAll()
      .where('expires_ms', '>', Date.now())
      .execute()
    if (rows.length === 0)
      return warn('there is no key that signs tokens', 'Start the server: it creates one.')
    if (masterKey === undefined) return fail('the keys cannot be read', 'Restore the master key.')
    const secretsKey = deriveKey(masterKey, 'secrets at rest')
    try {
      for (const row of rows) loadKeyRow({ secretsKey }, row)
      return ok(`${rows.length} published`)
    } catch (error) {
      return fail((error as Error).message, 'Restore the master key of this database.')
    }
  },

  'trusted proxies': async ({ config, db }) => {
    const { trustedProxies, baseUrl, tls } = config
    if (trustedProxies.length > 0) return ok(trustedProxies.join(', '))
    const seen = await readSeenUntrustedProxy(db.kysely)
    if (seen !== undefined)
      return warn(
        `requests have X-Forwarded-For (last noted ${seen.time}, from ${seen.address}), but no proxy is trusted: all users behind a proxy count as one address, and limits on sign-in attempts lock them out together`,
        'If a proxy is in front of the server, set BERTH_TRUSTED_PROXIES to its network and restart; else ignore this.',
      )
    if (baseUrl?.startsWith('https:') && tls === undefined)
      return warn(
        'BERTH_BASE_URL is https and the port is not, so a proxy ends TLS, but no proxy is trusted: all users behind it count as one address',
        'Set BERTH_TRUSTED_PROXIES to the network of the proxy.',
      )
    return ok('none, and no request has come through one')
  },

  'base URL': async ({ config, db }) => {
    const { listen, tls } = config
    const baseUrl = config.baseUrl ?? (await readSetting(db.kysely, ADDRESS_SETTINGS.baseUrl))
    if (baseUrl === undefined) return ok('the address of the port')
    const { protocol, hostname } = new URL(baseUrl)
    if (tls !== undefined && protocol === 'http:')
      return fail(`${baseUrl} is http, but the port uses TLS`, 'Set BERTH_BASE_URL to the https address.')
    if (config.baseUrl === undefined && !isLoopbackHost(listen.host))
      return warn(
        `the port is reachable from other machines under ${baseUrl}, which BERTH_BASE_URL does not set`,
        'Set BERTH_BASE_URL to the address that clients use; tokens are bound to it.',
      )
    if (protocol === 'http:' && !isLoopbackHost(hostname))
      return warn(
        `${baseUrl} is not encrypted: passwords and tokens can be read on the way`,
        'Set BERTH_TLS_CERT_FILE and BERTH_TLS_KEY_FILE, or end TLS at a proxy, and set BERTH_BASE_URL to the https address.',
      )
    return ok(baseUrl)
  },
}

/**
 * Runs every check of a running server with its open database. Messages contain no secrets.
 */
export async function checkRunningInstallation(
  config: Config,
  db: Db,
  log: Log,
): Promise<readonly CheckResult[]> {
  const results = await runConfigurationChecks(config)
  results.push({ name: 'database', ...(await checkMigrations(config, db)) })
  return [...results, ...(await runDatabaseChecks(config, db, log))]
}

/**
 * Runs every check that can run: without a readable configuration none of the others, without a database those that need none.
 */
export async function checkInstallation(
  read: { readonly config: Config } | { readonly problems: readonly string[] },
  log: Log,
): Promise<readonly CheckResult[]> {
  if ('problems' in read)
    return read.problems.map((message) => ({
      name: 'configuration',
      ...fail(message, 'Correct the variable; berth serve --help describes each one.'),
    }))
  const { config } = read
  const results = await runConfigurationChecks(config)
  const opened = await openDatabaseForChecks(config, log)
  results.push({ name: 'database', ...opened.finding })
  if (opened.db === undefined) return results
  const { db } = opened
  try {
    return [...results, ...(await runDatabaseChecks(config, db, log))]
  } finally {
    await db.close()
  }
}

async function runConfigurationChecks(config: Config): Promise<CheckResult[]> {
  const results: CheckResult[] = [{ name: 'configuration', ...ok('every setting is readable') }]
  for (const [name, check] of Object.entries(configurationChecks)) {
    const finding = await check(config)
    if (finding !== undefined) results.push({ name, ...finding })
  }
  return results
}

async function runDatabaseChecks(config: Config, db: Db, log: Log): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  const masterKey = await findMasterKey(config, db).catch(() => undefined)
  for (const [name, check] of Object.entries(databaseChecks)) {
    const finding = await check({ config, db, masterKey, log })
    if (finding !== undefined) results.push({ name, ...finding })
  }
  return results
}

const databasePlace = ({ databaseUrl, dataDir }: Config) =>
  databaseUrl === undefined ? databaseFile(dataDir) : 'PostgreSQL'

async function checkMigrations(config: Config, db: Db): Promise<CheckOutcome> {
  const place = databasePlace(config)
  const server = await db.rules.findClusterServer(db)
  const { missing, unknown } = await migrationState(db)
  if (unknown.length > 0)
    return fail(
      `${place} has migrations that this version does not know: ${unknown.join(', ')}`,
      'Use the version of Berth that migrated it, or a newer one.',
    )
  const problem = server && (await findWorkerProblem(db, server))
  if (problem !== undefined) return fail(problem.message, problem.action)
  return missing.length > 0
    ? fail(`${place} lacks migrations: ${missing.join(', ')}`, 'Run berth migrate, or start the server.')
    : ok(`${place} is reachable and migrated`)
}

/** The database if it is reachable and has a schema that this version can read. */
async function openDatabaseForChecks(
  config: Config,
  log: Log,
): Promise<{ readonly finding: CheckOutcome; readonly db?: Db }> {
  const place = databasePlace(config)
  if (config.databaseUrl === undefined && !existsSync(place))
    return {
      finding: fail(
        `${place} does not exist`,
        'Start berth serve once, or set BERTH_DATABASE_URL or BERTH_DATA_DIR.',
      ),
    }
  let db: Db | undefined
  try {
    db = await openDatabase(config, log, { replica: 'check' })
    const finding = await checkMigrations(config, db)
    if (finding.result === 'ok') return { finding, db }
    await db.close()
    return { finding }
  } catch (error) {
    await db?.close().catch(() => undefined)
    return {
      finding: fail(
        error instanceof SetupError
          ? error.message
          : (problemOf(config, error) ??
              `${place} cannot be used: ${(error as Error).message || (error as NodeJS.ErrnoException).code}`),
        config.databaseUrl === undefined
          ? 'Check the owner of the file, or restore a backup if it is damaged.'
          : 'Check that the server of BERTH_DATABASE_URL runs, and its host, user and database.',
      ),
    }
  }
}

function problemOf({ databaseUrl }: Config, error: unknown): string | undefined {
  return databaseUrl === undefined ? undefined : describeDatabaseError(error, databaseUrl)?.message
}

/** As server_version_num: what the tests run with. */
const POSTGRES_VERSION_MIN = 150_000
/** One that watches the pool, and those of feeds of advisories (docs/operating.md, "Connections"). */
const CONNECTIONS_BESIDE_POOL = 5
