import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../../../../scripts/free-port.ts'
import { type Cleanup, temporaryDirectory } from '../../server/process.ts'

/** PgBouncer in transaction mode, in front of a PostgreSQL. */
export interface FaultPgbouncer {
  readonly url: string
  start(): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Resolves when the process has ended. */
  stop(signal: NodeJS.Signals): Promise<void>
  /** Of its console, e.g. `PAUSE`. */
  command(text: string): Promise<void>
}

/** Why cases with PgBouncer are skipped; false where they run. */
export const withoutBouncer: string | false =
  spawnSync('pgbouncer', ['--version']).status === 0 ? false : 'no PgBouncer on this machine'

const UNPRIVILEGED = 65534
const START_MS_MAX = 30_000

export async function startFaultPgbouncer(
  t: Cleanup,
  { host, port: serverPort }: { readonly host: string; readonly port: number },
): Promise<FaultPgbouncer> {
  const directory = temporaryDirectory(t)
  const port = await freePort()
  const settings = join(directory, 'pgbouncer.ini')
  writeFileSync(join(directory, 'users'), '"berth" ""\n')
  writeFileSync(
    settings,
    `[databases]
postgres = host=${host} port=${serverPort} dbname=postgres user=berth
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(directory, 'users')}
admin_users = berth
pool_mode = transaction
default_pool_size = 30
max_client_conn = 200
server_connect_timeout = 3
server_login_retry = 1
`,
  )
  const isRoot = process.getuid?.() === 0
  const owner = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  if (isRoot)
    for (const path of [directory, settings, join(directory, 'users')])
      chownSync(path, UNPRIVILEGED, UNPRIVILEGED)
  let child: ChildProcess | undefined
  const urlOf = (database: string) => `postgres://berth@127.0.0.1:${port}/${database}`
  const query = async (database: string, text: string) => {
    const client = new pg.Client({ connectionString: urlOf(database), connectionTimeoutMillis: 5000 })
    client.on('error', () => undefined)
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }
  const bouncer: FaultPgbouncer = {
    url: urlOf('postgres'),
    async start() {
      child = spawn('pgbouncer', ['--quiet', settings], { ...owner, cwd: directory, stdio: 'ignore' })
      for (const deadline = Date.now() + START_MS_MAX; ; ) {
        try {
          await query('pgbouncer', 'show version')
          return
        } catch (error) {
          if (Date.now() > deadline || child.exitCode !== null) throw error
          await sleep(50)
        }
      }
    },
    signal: (signal) => void child?.kill(signal),
    async stop(signal) {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
    command: (text) => query('pgbouncer', text),
  }
  t.after(async () => {
    bouncer.signal('SIGCONT')
    await bouncer.stop('SIGKILL')
  })
  await bouncer.start()
  return bouncer
}
