import { spawn } from 'node:child_process'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../scripts/free-port.ts'
import { serveParent } from './control.ts'
import { cpuOfTree, residentMb } from './processes.ts'

/**
 * Any server, as a program of its own. In its arguments, environment and configuration, `{port}` is a free port and `{dir}` its directory. It
 * is ready when its port accepts connections, or when it prints a line that starts with `ready`.
 */

export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly dir: string
  readonly env?: Readonly<Record<string, string>>
  /** Files in its directory. */
  readonly files?: Readonly<Record<string, string>>
  /** Whether it prints a line that starts with `ready`. */
  readonly reportsReady?: boolean
}

export interface ProgramReady {
  readonly port: number
  /** CPU and time from its start until it was ready. */
  readonly startCpuUs: number
  readonly startMs: number
}

const ATTEMPT_MS = 20
const LOG = 'log'

const {
  command,
  args,
  dir,
  env = {},
  files = {},
  reportsReady = false,
} = JSON.parse(process.argv[2] ?? '') as Program
const port = await freePort()
const filled = (text: string) => text.replaceAll('{port}', String(port)).replaceAll('{dir}', dir)
for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), filled(content))
// Servers may print an error for each blob that does not exist.
const log = join(dir, LOG)
const startMs = performance.now()
const server = spawn(command, args.map(filled), {
  cwd: dir,
  stdio: ['ignore', openSync(log, 'w'), openSync(log, 'a')],
  env: {
    PATH: process.env['PATH'],
    ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)])),
  },
})
const pid = server.pid ?? 0
process.on('exit', () => server.kill('SIGKILL'))
server.on('error', (error) => fail(error.message))
server.on('exit', (code, signal) => fail(String(signal ?? code)))
while (!(reportsReady ? /^ready /m.test(readFileSync(log, 'utf8')) : await accepts()))
  await setTimeout(ATTEMPT_MS)

serveParent(
  {
    port,
    startCpuUs: cpuOfTree(pid),
    startMs: performance.now() - startMs,
  } satisfies ProgramReady,
  { cpu: () => cpuOfTree(pid), residentMb: () => residentMb(pid) },
)

function fail(why: string): void {
  process.stderr.write(`${readFileSync(log, 'utf8')}${command} ended: ${why}\n`)
  process.exit(1)
}

function accepts(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
