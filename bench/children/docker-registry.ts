import { spawn } from 'node:child_process'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { serveParent } from './control.ts'

/** Baseline: Debian's docker-registry on a directory, with the settings of its package, and without authentication. */

export interface DockerRegistryReady {
  readonly port: number
}

const CLOCK_TICK_US = 10_000
const ATTEMPT_MS = 20

const { binary, dir } = JSON.parse(process.argv[2] ?? '') as { binary: string; dir: string }
const port = await freePort()
const configuration = join(dir, 'config.yml')
writeFileSync(
  configuration,
  `version: 0.1
log: { level: error, accesslog: { disabled: true } }
storage:
  cache: { blobdescriptor: inmemory }
  filesystem: { rootdirectory: ${join(dir, 'data')} }
  delete: { enabled: true }
http: { addr: "127.0.0.1:${port}" }
`,
)
// It takes a blob that is asked for and not there for an error.
const logFile = join(dir, 'log')
const registry = spawn(binary, ['serve', configuration], {
  stdio: ['ignore', 'ignore', openSync(logFile, 'w')],
})
process.on('exit', () => registry.kill('SIGKILL'))
registry.on('exit', (code, signal) => {
  process.stderr.write(`${readFileSync(logFile, 'utf8')}docker-registry ended: ${signal ?? code}\n`)
  process.exit(1)
})
while (!(await answers())) await setTimeout(ATTEMPT_MS)

serveParent({ port } satisfies DockerRegistryReady, {
  cpu: () => {
    const [, fields = ''] = readFileSync(`/proc/${registry.pid}/stat`, 'utf8').split(') ')
    const [user, system] = fields.split(' ').slice(11, 13).map(Number) as [number, number]
    return (user + system) * CLOCK_TICK_US
  },
})

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
}

function answers(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
