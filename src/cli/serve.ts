import { resolve } from 'node:path'
import type { Command } from 'commander'
import { startBerth } from '../berth.ts'
import { type Config, DEFAULT_DATA_DIR, variables } from '../config.ts'
import { createLog } from '../log.ts'
import { newSetupLink } from '../signin/one-time-links.ts'
import { configOrExit, orFail } from './operator.ts'

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
    .addHelpText('after', `\nEnvironment:\n${settings()}\n\nExamples:\n${examples}`)
    .action(({ dev }: { dev: boolean }) => orFail(() => serve(configOrExit(), dev)))
}

const examples = `  berth serve
  BERTH_LISTEN=0.0.0.0:8080 BERTH_BASE_URL=https://berth.example.com berth serve
  BERTH_DATABASE_URL=postgres://berth:secret@localhost/berth berth serve
`

function settings(): string {
  const width = Math.max(...Object.keys(variables).map((name) => name.length))
  return Object.entries(variables)
    .map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`)
    .join('\n')
}

async function serve(config: Config, dev: boolean): Promise<void> {
  const log = createLog(config.logLevel)
  const networks = dev ? [...config.issuerPrivateNetworks, ...loopback] : config.issuerPrivateNetworks
  const berth = await startBerth({ ...config, issuerPrivateNetworks: networks }, log)
  const { baseUrl, authUrl } = berth.addresses
  const setupLink = await newSetupLink(berth.installation.store, authUrl)

  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'stopping: running requests finish first')
    berth.stop().then(
      () => process.exit(0),
      (err: unknown) => {
        log.error({ err }, 'stopping failed')
        process.exit(1)
      },
    )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)

  // From this line on the server may be used, and told to stop.
  process.stdout.write(
    `ready ${baseUrl}\n${berth.firstStart ? firstSteps(config, baseUrl, setupLink) : noAccount(setupLink)}`,
  )
  log.info(
    { baseUrl, dataDir: config.dataDir, database: config.databaseUrl === undefined ? 'sqlite' : 'postgres' },
    'serving',
  )
}

function firstSteps(config: Config, baseUrl: string, setupLink: string | undefined): string {
  return `
This is the first start. Make your account in a browser, with this link that works once, for 24 hours:

  ${setupLink}

Or work without one, in another terminal:

${whereabouts(config)}  npx berth admin bootstrap --name my-org --json
  export TOKEN=$(npx berth admin token)
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/iam/v2beta1/groups

`
}

function noAccount(setupLink: string | undefined): string {
  return setupLink === undefined ? '' : `There is no account yet. This link makes the first: ${setupLink}\n`
}

/** What another terminal has to be told to find this installation, each a line. No secret is repeated on a screen. */
function whereabouts({ dataDir, databaseUrl, masterKey }: Config): string {
  const settings: string[] = []
  if (dataDir !== resolve(DEFAULT_DATA_DIR)) settings.push(`BERTH_DATA_DIR=${quoted(dataDir)}`)
  if (databaseUrl !== undefined) settings.push(`BERTH_DATABASE_URL=${quoted(withoutPassword(databaseUrl))}`)
  if (masterKey !== undefined) settings.push('BERTH_MASTER_KEY=...')
  return settings.map((setting) => `  export ${setting}\n`).join('')
}

function withoutPassword(url: string): string {
  const address = new URL(url)
  if (address.password !== '') address.password = '...'
  if (address.searchParams.has('password')) address.searchParams.set('password', '...')
  return address.href
}

/** One word of a shell. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
