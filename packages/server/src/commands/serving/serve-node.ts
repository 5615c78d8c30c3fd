import { channel } from 'node:diagnostics_channel'
import { resolve } from 'node:path'
import { bestEffortWrite } from '../../api/storage-faults.ts'
import type { Config } from '../../installation/config.ts'
import { adoptEnvironment, type EnvironmentResult, readEnvironment } from '../../installation/environment.ts'
import { applyReloadableSettings, settingsNeedingRestart } from '../../installation/reload.ts'
import { DEFAULT_DATA_DIR } from '../../installation/settings.ts'
import { type Berth, startBerth } from '../../main.ts'
import { ShutdownTimeout } from '../../port/shutdown.ts'
import type { AdjustableLog, Log } from '../../runtime/log.ts'
import { releaseStartMemory } from '../../runtime/start-memory.ts'
import { createStartupSetupLink } from '../../signin/accounts/one-time-links.ts'
import { withoutPassword } from '../../storage/engines/postgres/address.ts'
import type { WorkerLink } from '../../workers/worker-link.ts'
import { onReloadSignals } from './reload-signals.ts'
import { onStopSignals } from './stop-signals.ts'

export interface NodeProcess {
  readonly config: Config
  readonly dev: boolean
  readonly log: AdjustableLog
  /** The environment of `config`. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Of a worker. */
  readonly link?: WorkerLink
  /** `notice`: the line `ready`, and at the first start what to do next. */
  readonly onReady: (notice: string) => void
}

const loopback = ['127.0.0.0/8', '::1/128']

/** Serves with this process until a signal stops it: alone, or as a worker. */
export async function serveNode({ config, dev, log, env, link, onReady }: NodeProcess): Promise<void> {
  const startReloading = link === undefined ? onReloadSignals() : undefined
  const networks = dev ? [...config.issuerPrivateNetworks, ...loopback] : config.issuerPrivateNetworks
  const berth = await startBerth({ ...config, issuerPrivateNetworks: networks }, log, { link })
  const { baseUrl, authUrl } = berth.addresses
  // A full disk must not prevent the start; a later start prints the link. A new link would replace that of another worker.
  const setupLink =
    link?.assignment.isLater === true
      ? undefined
      : await bestEffortWrite(createStartupSetupLink(berth.installation.store, authUrl), undefined)

  const reload = createReloader(berth, config, env, log)
  startReloading?.(() => void reload(readEnvironment()))
  link?.onReload((settings) => reload('env' in settings ? adoptEnvironment(settings.env) : settings))
  stopOnSignals(berth, config, log)

  // After this line the server accepts requests and signals.
  onReady(
    `ready ${baseUrl}\n${berth.firstStart ? firstSteps(config, baseUrl, setupLink) : setupLinkNotice(setupLink)}`,
  )
  log.info(
    { baseUrl, dataDir: config.dataDir, database: config.databaseUrl === undefined ? 'sqlite' : 'postgres' },
    'serving',
  )
  startChannel.publish('ready')
  releaseStartMemory(
    berth.isBusy,
    (err) => log.warn({ err }, 'the memory of the start was not released'),
    () => {
      startChannel.publish('idle')
      berth.loadLater().catch((err: unknown) => log.warn({ err }, 'the library of policies was not loaded'))
    },
  )
}

/**
 * Reports `ready`, and `idle` before garbage is collected, when V8 drops the code of functions that ran once: the package stores it for the next
 * start (ADR 118).
 */
const startChannel = channel('berth.start')

/** Exit code of a shutdown that exceeded its deadline, as of `timeout`. */
const SHUTDOWN_TIMEOUT_EXIT_CODE = 124

/** The first SIGTERM or SIGINT stops the server, the second one ends the process. */
function stopOnSignals(berth: Berth, { drainDelayMs }: Config, log: Log): void {
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    // Ctrl-C comes from a user who waits; load balancers and process managers send SIGTERM.
    const drainMs = signal === 'SIGTERM' ? drainDelayMs : 0
    log.info(
      { signal, drainMs },
      'stopping: new requests are served for drainMs, then running requests finish',
    )
    berth.stop({ drainMs }).then(
      () => process.exit(0),
      (err: unknown) => {
        if (err instanceof ShutdownTimeout) {
          log.error({ unfinished: err.unfinished }, 'stopping took too long: these did not finish')
          process.exit(SHUTDOWN_TIMEOUT_EXIT_CODE)
        }
        log.error({ err }, 'stopping failed')
        process.exit(1)
      },
    )
  }
  onStopSignals(log, { stop })
}

/** Returns a function that applies settings and reads files again. Invalid values are logged and the previous values stay in effect. */
function createReloader(
  berth: Berth,
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  log: AdjustableLog,
): (read: EnvironmentResult) => Promise<void> {
  let running = config
  let queue = Promise.resolve()
  const run = async (read: EnvironmentResult) => {
    berth.reopenAccessLog()
    if ('problems' in read) {
      for (const problem of read.problems) log.error({}, `reload: nothing changes: ${problem}`)
      return
    }
    for (const setting of settingsNeedingRestart(env, read.env))
      log.warn({ setting }, `reload: ${setting} changed, which takes effect with a restart only`)
    running = applyReloadableSettings(running, read.config)
    const problems = await berth.reload(running)
    log.level = running.logLevel
    for (const problem of problems) log.error({}, `reload: the former value stays in use: ${problem}`)
    if (problems.length === 0) log.info({}, 'reload: the settings and files were read again')
  }
  return (read) => {
    queue = queue.then(() => run(read)).catch((err: unknown) => log.error({ err }, 'reload failed'))
    return queue
  }
}

/** In a clone, which alone has TypeScript; elsewhere `npx` would fetch a package of others. */
const program = import.meta.url.endsWith('.ts') ? 'npx berth' : 'berth'

function firstSteps(config: Config, baseUrl: string, setupLink: string | undefined): string {
  return `
This is the first start. Create the owner account in a browser with this link, which works once within 24 hours:

  ${setupLink}

Or continue without a browser, in another terminal:

${exportLines(config)}  ${program} admin bootstrap --name my-org --json
  export TOKEN=$(${program} admin token)
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/iam/v2beta1/groups

`
}

function setupLinkNotice(setupLink: string | undefined): string {
  return setupLink === undefined
    ? ''
    : `There is no account yet. Create the owner account with this link: ${setupLink}\n`
}

/** Returns the exports that another terminal needs to use this installation. Secrets are not printed. */
function exportLines({ dataDir, databaseUrl, masterKey }: Config): string {
  const settings: string[] = []
  if (dataDir !== resolve(DEFAULT_DATA_DIR)) settings.push(`BERTH_DATA_DIR=${shellQuote(dataDir)}`)
  if (databaseUrl !== undefined)
    settings.push(`BERTH_DATABASE_URL=${shellQuote(withoutPassword(databaseUrl))}`)
  if (masterKey !== undefined) settings.push('BERTH_MASTER_KEY=...')
  return settings.map((setting) => `  export ${setting}\n`).join('')
}

/** Quotes a text as one word of a shell. */
function shellQuote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
