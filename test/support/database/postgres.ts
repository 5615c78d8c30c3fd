import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../../scripts/free-port.ts'
import { findServerBinaries } from '../../../scripts/postgres.ts'
import { PATIENCE_MS } from '../eventually.ts'
import { type Cleanup, temporaryDirectory } from '../server/process.ts'
import { isSelected } from './databases.ts'

/** A PostgreSQL of its own, durable as in production: what it acknowledged survives its end. */
export interface OwnPostgres {
  readonly url: string
  readonly port: number
  /** The data directory. */
  readonly data: string
  /** Stops all its processes without their knowledge (SIGSTOP). */
  freeze(): void
  /** Lets them continue. */
  thaw(): void
  /** Ends it without a shutdown. */
  kill(): Promise<void>
  /** Starts it again after its end, with the same address and data. */
  restart(): Promise<void>
  /** Copies its data directory, as a snapshot of its volume does. Only after its end. Returns a function that puts the copy back. */
  copyData(): () => void
  /** Makes a standby the primary. */
  promote(): void
}

const binaries = findServerBinaries()

/** Why tests that need a PostgreSQL of their own are skipped; false where they are not. */
export const withoutPostgres: string | false = skipReason()

function skipReason(): string | false {
  if (!isSelected('postgres', [])) return 'runs with npm test -- --all'
  return binaries === undefined ? 'no PostgreSQL server binaries on this machine' : false
}

/** The server refuses to run as root, so there it runs as the user `nobody`. */
export function serverUser(): { readonly uid?: number; readonly gid?: number } {
  return process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
}

function run(command: string, args: readonly string[], cwd: string): void {
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' }
  execFileSync(join(binaries ?? '', command), args, { ...serverUser(), cwd, stdio: 'ignore', env })
}

function ownDirectory(t: Cleanup): string {
  const directory = temporaryDirectory(t)
  const { uid, gid } = serverUser()
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid)
  return directory
}

type Settings = Readonly<Record<string, string | number>>

/** The cluster that others of a run are copies of, in its directory. */
const TEMPLATE = 'postgres-cluster'

function initialize(directory: string, data: string): void {
  run(
    'initdb',
    ['-D', data, '-U', 'berth', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
    directory,
  )
}

/** Copies a new cluster, which takes a tenth of the time of `initdb`; the first process of a run that needs it creates it. */
function copyCluster(directory: string, data: string): void {
  const runDirectory = process.env['BERTH_TEST_RUN_DIRECTORY']
  if (runDirectory === undefined) {
    initialize(directory, data)
    return
  }
  const template = join(runDirectory, TEMPLATE)
  if (!existsSync(template)) {
    const draft = join(directory, 'draft')
    initialize(directory, draft)
    try {
      renameSync(draft, template)
    } catch (error) {
      // Another process was faster.
      if (!existsSync(template)) throw error
    }
  }
  execFileSync('cp', ['-a', template, data])
}

/** Starts a cluster with fsync on. `isStranger`: its system identifier is another one than that of all others. */
export async function startPostgres(
  t: Cleanup,
  settings: Settings = {},
  { isStranger = false } = {},
): Promise<OwnPostgres> {
  const directory = ownDirectory(t)
  const data = join(directory, 'data')
  if (isStranger) initialize(directory, data)
  else copyCluster(directory, data)
  return launch(t, directory, data, settings)
}

/** Copies the rows and tables of a database into a new one, as a logical backup and its restore do. */
export function copyDatabase(from: OwnPostgres, to: OwnPostgres): void {
  const dump = execFileSync(join(binaries ?? '', 'pg_dump'), ['-d', from.url], {
    maxBuffer: 256 * 1024 * 1024,
  })
  execFileSync(join(binaries ?? '', 'psql'), ['-d', to.url, '-q', '-v', 'ON_ERROR_STOP=1'], {
    input: dump,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
}

/** Starts a standby that follows `primary`. */
export async function startStandby(t: Cleanup, primary: OwnPostgres): Promise<OwnPostgres> {
  const directory = ownDirectory(t)
  const data = join(directory, 'data')
  run(
    'pg_basebackup',
    [
      '-D',
      data,
      '-h',
      '127.0.0.1',
      '-p',
      String(primary.port),
      '-U',
      'berth',
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
    ],
    directory,
  )
  return launch(t, directory, data)
}

async function launch(
  t: Cleanup,
  directory: string,
  data: string,
  settings: Settings = {},
): Promise<OwnPostgres> {
  const port = await freePort()
  // A standby whose connection broke for a moment finds the log where it left it.
  const all = { fsync: 'on', max_connections: 200, wal_keep_size: '1GB', ...settings }
  const start = () => {
    const server = spawn(
      join(binaries ?? '', 'postgres'),
      ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', directory].concat(
        Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ),
      { ...serverUser(), cwd: directory, stdio: 'ignore', env: { PATH: process.env['PATH'], LC_ALL: 'C' } },
    )
    return { server, ended: once(server, 'close') }
  }
  let running = start()
  const signal = (name: NodeJS.Signals) => {
    const { pid = 0 } = running.server
    for (const one of [pid, ...childrenOf(pid)])
      try {
        process.kill(one, name)
      } catch (error) {
        // Sessions end by themselves meanwhile.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
  }
  const kill = async () => {
    const { server, ended } = running
    if (server.exitCode !== null || server.signalCode !== null) return
    // A process that is stopped takes no other signal.
    signal('SIGCONT')
    // Immediate shutdown: the cluster goes anyway.
    server.kill('SIGQUIT')
    await ended
  }
  t.after(kill)
  const url = `postgres://berth@127.0.0.1:${port}/postgres`
  const own: OwnPostgres = {
    url,
    port,
    data,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    kill,
    async restart() {
      running = start()
      await untilConnected(url)
    },
    copyData() {
      const copy = join(directory, `copy-${randomBytes(4).toString('hex')}`)
      execFileSync('cp', ['-a', data, copy])
      return () => {
        rmSync(data, { recursive: true })
        execFileSync('cp', ['-a', copy, data])
      }
    },
    promote: () => run('pg_ctl', ['promote', '-D', data], directory),
  }
  await untilConnected(url)
  return own
}

/** Fulfils once a server accepts a connection. */
export async function untilConnected(url: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    try {
      await client.connect()
      return await client.end()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((text) => text !== '')
    .map(Number)
}
