import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openInstallation } from '@berth/server/installation/installation.ts'
import { freePort } from '../../scripts/free-port.ts'
import { configurationOf, log, type Place } from '../configuration.ts'
import { CALLER } from '../dataset.ts'
import { serveParent } from './control.ts'
import { cpuOfTree } from './processes.ts'

/** `berth serve` on a data set, with its workers, on a free port. The CPU time is that of all its processes. */

export interface ServedReady {
  readonly port: number
  /** A token of the identity that owns the data set's organization. */
  readonly token: string
}

const place = JSON.parse(process.argv[2] ?? '') as Place
const port = await freePort()
const url = `http://127.0.0.1:${port}`
const token = await issueToken()
const server = spawn(
  process.execPath,
  [fileURLToPath(new URL('../../bin/berth.js', import.meta.url)), 'serve'],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      BERTH_LISTEN: `127.0.0.1:${port}`,
      BERTH_DATA_DIR: place.dataDir,
      BERTH_DATABASE_URL: place.databaseUrl ?? '',
      BERTH_LOG_LEVEL: 'error',
      ...place.env,
    },
  },
)
process.on('exit', () => server.kill('SIGKILL'))
await new Promise<void>((resolve, reject) => {
  server.stdout.on('data', (text: Buffer) => {
    if (text.toString().includes('ready ')) resolve()
  })
  server.once('exit', (code) => reject(new Error(`berth serve ended with ${code}`)))
})

serveParent({ port, token } satisfies ServedReady, { cpu: () => cpuOfTree(server.pid ?? 0) })

async function issueToken(): Promise<string> {
  const installation = await openInstallation(configurationOf(place), log)
  try {
    const tokens = installation.tokensFor({ authUrl: url })
    return (await tokens.issue({ identity: CALLER, audiences: [url] })).token
  } finally {
    await installation.close()
  }
}
