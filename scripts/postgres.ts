import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.ts'

/** A PostgreSQL server for one run of the tests, from whatever server binaries the machine has. */

export interface ThrowAwayServer {
  /** With the name and password of a superuser. */
  readonly url: string
  /** Of the server, for people. */
  readonly version: string
  readonly pid: number
  /** Ends the server and removes all that it wrote. */
  stop(): Promise<void>
}

export interface ServerOptions {
  readonly password?: string
  /** Replace settings for tests or add to them. */
  readonly settings?: Readonly<Record<string, string | number>>
}

const START_MS_MAX = 30_000

/** The directory with `initdb` and `postgres`, the newest if there are several; undefined when there is none. */
export function findServerBinaries(): string | undefined {
  const configured = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim()
  const packaged = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => majorOf(b) - majorOf(a))
  const onPath = (process.env['PATH'] ?? '').split(delimiter)
  return [configured ?? '', ...packaged, ...onPath].find(
    (directory) =>
      directory !== '' && existsSync(join(directory, 'initdb')) && existsSync(join(directory, 'postgres')),
  )
}

function majorOf(directory: string): number {
  return Number(/postgresql\/(\d+)/.exec(directory)?.[1] ?? 0)
}

/**
 * Creates a cluster in a temporary directory and starts it on a free port of 127.0.0.1. It does not wait for the disk: what it
 * holds is worth nothing after the run. Throws an Error that says what went wrong.
 */
export async function startThrowAwayServer(
  binaries: string,
  parent: string = tmpdir(),
  { password = randomBytes(16).toString('hex'), settings: more = {} }: ServerOptions = {},
): Promise<ThrowAwayServer> {
  const owner = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  const home = mkdtempSync(join(parent, 'berth-postgres-'))
  const data = join(home, 'data')
  const passwordFile = join(home, 'password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (owner !== undefined) for (const path of [passwordFile, home]) chownSync(path, owner.uid, owner.gid)

  const remove = () => rmSync(home, { recursive: true, force: true })
  const options = { cwd: home, ...owner }
  const made = spawnSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'berth', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`].concat([
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
    ]),
    { ...options, encoding: 'utf8' },
  )
  if (made.status !== 0) {
    remove()
    throw new Error(`initdb failed: ${made.stderr?.trim() || made.error?.message}`)
  }

  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 300,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    ...more,
  }
  const server = spawn(
    join(binaries, 'postgres'),
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    // In a group of its own: Ctrl-C is for the tests, which may still need it.
    { ...options, detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let log = ''
  server.stderr.on('data', (text) => {
    log = `${log}${text}`.slice(-4000)
  })
  const ended = once(server, 'close')
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) server.kill('SIGINT') // "fast": breaks connections off
    await ended
    remove()
  }

  const url = `postgres://berth:${password}@127.0.0.1:${port}/postgres`
  const deadline = Date.now() + START_MS_MAX
  for (;;) {
    const version = await versionOf(url)
    if (version !== undefined) return { url, version, pid: server.pid as number, stop }
    if (server.exitCode !== null || Date.now() > deadline) {
      await stop()
      throw new Error(`the server did not start: ${log.trim()}`)
    }
    await sleep(50)
  }
}

async function versionOf(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    return rows[0]?.server_version
  } catch {
    return undefined // not yet
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { readonly uid: number; readonly gid: number } {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const user = ['postgres', 'nobody'].map((name) => users.find(([known]) => known === name)).find(Boolean)
  if (user === undefined) throw new Error('there is neither a user postgres nor a user nobody to run it as')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}
