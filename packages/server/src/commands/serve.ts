import { constants } from 'node:os'
import { resolve } from 'node:path'
import type { CommandBody } from '@berth/cli/invocation/command-declaration.ts'
import { bestEffortWrite } from '../api/storage-faults.ts'
import { plainText } from '../config/setting.ts'
import { type Config, settings } from '../installation/config.ts'
import { readEnvironment } from '../installation/environment.ts'
import { applyReloadableSettings, settingsNeedingRestart } from '../installation/reload.ts'
import { DEFAULT_DATA_DIR } from '../installation/settings.ts'
import { type Berth, startBerth } from '../main.ts'
import { ShutdownTimeout } from '../port/shutdown.ts'
import type { AdjustableLog, Log } from '../runtime/log.ts'
import { createStartupSetupLink } from '../signin/accounts/one-time-links.ts'
import { withoutPassword } from '../storage/engines/postgres/address.ts'
import { createLog } from '../telemetry/log.ts'
import { readConfigOrExit, reportFailure } from './with-installation.ts'

const loopback = ['127.0.0.0/8', '::1/128']

export const serveCommand: CommandBody = {
  options: [
    {
      flags: '--dev',
      summary: 'development mode: allow token issuers on this machine, also over http',
    },
  ],
  notes: `
SIGTERM stops the server. SIGHUP reloads BERTH_ENV_FILE, the TLS files, the sign-in providers, the log level and the rate
limits. Renewed TLS files are also loaded without a signal.

Exit codes: 0 stopped, 1 failed, 2 wrong usage, 3 database unreachable, 6 the database was migrated by a newer version,
124 the shutdown timed out, 130 and 143 a second SIGINT or SIGTERM stopped the server immediately.

Environment:
${settingsHelp()}`,
  examples: [
    'berth serve',
    'BERTH_LISTEN=0.0.0.0:8080 BERTH_BASE_URL=https://berth.example.com berth serve',
    'BERTH_DATABASE_URL=postgres://berth:secret@localhost/berth berth serve',
  ],
  run: (invocation) => reportFailure(() => serve(readConfigOrExit(), invocation.flag('dev'))),
}

function settingsHelp(): string {
  const width = Math.max(...settings.map(({ name }) => name.length))
  return settings
    .map(({ name, help, defaultText }) => {
      const text = plainText(defaultText === 'none' ? help : `${help} (default: ${defaultText})`)
      return `  ${name.padEnd(width)}  ${text}`
    })
    .join('\n')
}

async function serve(config: Config, dev: boolean): Promise<void> {
  const log = createLog(config.logLevel)
  // Without a handler, SIGHUP ends the process, even during the start.
  let reload: () => void = () => log.warn({}, 'SIGHUP ignored: the server is starting')
  process.on('SIGHUP', () => reload())
  const networks = dev ? [...config.issuerPrivateNetworks, ...loopback] : config.issuerPrivateNetworks
  const berth = await startBerth({ ...config, issuerPrivateNetworks: networks }, log)
  const { baseUrl, authUrl } = berth.addresses
  // A full disk must not prevent the start; a later start prints the link.
  const setupLink = await bestEffortWrite(
    createStartupSetupLink(berth.installation.store, authUrl),
    undefined,
  )

  const started = readEnvironment()
  reload = createReloader(berth, config, 'env' in started ? started.env : {}, log)

  stopOnSignals(berth, config, log)

  // After this line the server accepts requests and signals.
  process.stdout.write(
    `ready ${baseUrl}\n${berth.firstStart ? firstSteps(config, baseUrl, setupLink) : setupLinkNotice(setupLink)}`,
  )
  log.info(
    { baseUrl, dataDir: config.dataDir, database: config.databaseUrl === undefined ? 'sqlite' : 'postgres' },
    'serving',
  )
}

/** A terminal and `npm` may both forward one Ctrl-C: a signal within this time is a repetition. */
const REPEATED_SIGNAL_MS = 500

/** Exit code of a shutdown that exceeded its deadline, as of `timeout`. */
const SHUTDOWN_TIMEOUT_EXIT_CODE = 124

/** The first SIGTERM or SIGINT stops the server, the second one ends the process. */
function stopOnSignals(berth: Berth, { drainDelayMs }: Config, log: Log): void {
  let signalledMs: number | undefined
  const onSignal = (signal: 'SIGINT' | 'SIGTERM') => {
    const nowMs = performance.now()
    if (signalledMs !== undefined) {
      if (nowMs - signalledMs < REPEATED_SIGNAL_MS) return
      log.warn({ signal }, 'stopping immediately: running requests are cut off')
      process.exit(128 + constants.signals[signal])
    }
    signalledMs = nowMs
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
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}

/** Returns a function that reloads settings and files. Invalid values are logged and the previous values stay in effect. */
function createReloader(
  berth: Berth,
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  log: AdjustableLog,
): () => void {
  let running = config
  let queue = Promise.resolve()
  const run = async () => {
    berth.reopenAccessLog()
    const read = readEnvironment()
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
  return () => {
    queue = queue.then(run).catch((err: unknown) => log.error({ err }, 'reload failed'))
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
