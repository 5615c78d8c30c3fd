import { constants } from 'node:os'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { bestEffortWrite } from '../../api/storage-faults.ts'
import { plainText } from '../../config/setting.ts'
import { type Config, settings } from '../../installation/config.ts'
import { readEnvironment } from '../../installation/environment.ts'
import { applyReloadableSettings, settingsNeedingRestart } from '../../installation/reload.ts'
import { DEFAULT_DATA_DIR } from '../../installation/settings.ts'
import { type Berth, startBerth } from '../../main.ts'
import { ShutdownTimeout } from '../../port/shutdown.ts'
import type { AdjustableLog, Log } from '../../runtime/log.ts'
import { createStartupSetupLink } from '../../signin/accounts/one-time-links.ts'
import { withoutPassword } from '../../storage/engines/postgres/address.ts'
import { createLog } from '../../telemetry/log.ts'
import { readConfigOrExit, reportFailure } from './with-installation.ts'

const loopback = ['127.0.0.0/8', '::1/128']

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('serve the API, REST and gRPC, and the token service on one port')
    .option(
      '--dev',
      'development: token issuers on this machine are trusted to be fetched, over http too',
      false,
    )
    .addHelpText('after', `${notes}\nEnvironment:\n${settingsHelp()}\n\nExamples:\n${examples}`)
    .action(({ dev }: { dev: boolean }) => reportFailure(() => serve(readConfigOrExit(), dev)))
}

const notes = `
SIGTERM stops the server. SIGHUP reads BERTH_ENV_FILE, the TLS files and the sign-in providers again; the log level and
rate limits change, too. Renewed TLS files are also picked up without a signal.

Exit codes: 0 stopped, 1 refused or failed, 2 wrong usage, 3 the database does not answer, 6 a newer version migrated
the database, 124 stopping took too long, 130 and 143 a second SIGINT or SIGTERM ended it immediately.
`

const examples = `  berth serve
  BERTH_LISTEN=0.0.0.0:8080 BERTH_BASE_URL=https://berth.example.com berth serve
  BERTH_DATABASE_URL=postgres://berth:secret@localhost/berth berth serve
`

function settingsHelp(): string {
  const width = Math.max(...settings.map(({ name }) => name.length))
  return settings
    .map(({ name, help, defaultText }) => {
      const text = plainText(defaultText === 'none' ? help : `${help} (default ${defaultText})`)
      return `  ${name.padEnd(width)}  ${text}`
    })
    .join('\n')
}

async function serve(config: Config, dev: boolean): Promise<void> {
  const log = createLog(config.logLevel)
  // The default would end the process, also while it starts.
  let reload: () => void = () => log.warn({}, 'SIGHUP while the server starts: ignored')
  process.on('SIGHUP', () => reload())
  const networks = dev ? [...config.issuerPrivateNetworks, ...loopback] : config.issuerPrivateNetworks
  const berth = await startBerth({ ...config, issuerPrivateNetworks: networks }, log)
  const { baseUrl, authUrl } = berth.addresses
  // A full disk must not keep the server from serving reads; a later start prints the link.
  const setupLink = await bestEffortWrite(
    createStartupSetupLink(berth.installation.store, authUrl),
    undefined,
  )

  const started = readEnvironment()
  reload = createReloader(berth, config, 'env' in started ? started.env : {}, log)

  stopOnSignals(berth, config, log)

  // From this line on the server may be used, and told to stop.
  process.stdout.write(
    `ready ${baseUrl}\n${berth.firstStart ? firstSteps(config, baseUrl, setupLink) : setupLinkNotice(setupLink)}`,
  )
  log.info(
    { baseUrl, dataDir: config.dataDir, database: config.databaseUrl === undefined ? 'sqlite' : 'postgres' },
    'serving',
  )
}

/** A terminal and `npm` may both pass on one Ctrl-C: a signal that follows so closely is not the second one. */
const REPEATED_SIGNAL_MS = 500

/** Exit code of a shutdown that did not finish before its deadline, as of `timeout`. */
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
    // Ctrl-C is a person's, who waits for it; balancers and process managers send SIGTERM.
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

/** Reads the settings and files again and takes over what may change; what is wrong is logged, and what ran before stays. */
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

function firstSteps(config: Config, baseUrl: string, setupLink: string | undefined): string {
  return `
This is the first start. Make your account in a browser, with this link that works once, for 24 hours:

  ${setupLink}

Or work without one, in another terminal:

${exportLines(config)}  npx berth admin bootstrap --name my-org --json
  export TOKEN=$(npx berth admin token)
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/iam/v2beta1/groups

`
}

function setupLinkNotice(setupLink: string | undefined): string {
  return setupLink === undefined ? '' : `There is no account yet. This link makes the first: ${setupLink}\n`
}

/** What another terminal has to be told to find this installation, each a line. No secret is repeated on a screen. */
function exportLines({ dataDir, databaseUrl, masterKey }: Config): string {
  const settings: string[] = []
  if (dataDir !== resolve(DEFAULT_DATA_DIR)) settings.push(`BERTH_DATA_DIR=${shellQuote(dataDir)}`)
  if (databaseUrl !== undefined)
    settings.push(`BERTH_DATABASE_URL=${shellQuote(withoutPassword(databaseUrl))}`)
  if (masterKey !== undefined) settings.push('BERTH_MASTER_KEY=...')
  return settings.map((setting) => `  export ${setting}\n`).join('')
}

/** One word of a shell. */
function shellQuote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
