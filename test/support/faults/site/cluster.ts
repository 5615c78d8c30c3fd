import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../../../../scripts/free-port.ts'
import { findServerBinaries } from '../../../../scripts/postgres.ts'
import type { Cleanup } from '../../server/process.ts'
import type { ServiceNetwork } from './network.ts'

/** A PostgreSQL that tests stop, freeze, demote and fill up. */
export interface Cluster {
  readonly host: string
  readonly port: number
  /** Without name of a database at its end. */
  readonly authority: string
  readonly url: string
  /** Of the data; the write-ahead log is beside it where `walDirectory` was given. */
  readonly dataDirectory: string
  start(): Promise<void>
  /** SIGTERM: smart, SIGINT: fast, SIGQUIT: immediate, SIGKILL. Resolves when the process has ended. */
  stop(signal: NodeJS.Signals): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Processes of the server: the postmaster first, then its children. */
  pids(): readonly number[]
  /** Runs statements on a connection of its own. */
  run(...statements: readonly string[]): Promise<pg.QueryResult>
  /** A connection that the caller ends. */
  connect(applicationName?: string): Promise<pg.Client>
  /** Appends a line to postgresql.conf. */
  configure(line: string): void
  /** Copies the cluster into a new one that follows it; commits wait for it from then on. */
  standby(t: Cleanup, directory: string): Promise<Cluster>
  /** Turns a cluster that is stopped into a standby of none: it starts read-only. */
  demote(): void
  /** The opposite, while it runs. */
  promote(): Promise<void>
}

const binaries = findServerBinaries()
const START_MS_MAX = 60_000
/** nobody: the server refuses to run as root. */
const UNPRIVILEGED = 65534
const isRoot = process.getuid?.() === 0

interface ClusterLocation {
  /** An empty directory for the files. */
  readonly directory: string
  readonly walDirectory?: string
  readonly network?: ServiceNetwork | undefined
}

/** Creates a cluster and starts it, on loopback or in a network namespace. */
export async function startCluster(t: Cleanup, place: ClusterLocation): Promise<Cluster> {
  const cluster = await clusterAt(t, place)
  chownToUser(place.directory)
  if (place.walDirectory !== undefined) chownToUser(place.walDirectory)
  execFileSync(
    join(binaries ?? '', 'initdb'),
    [
      '-D',
      cluster.dataDirectory,
      '-U',
      'berth',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--no-locale',
      '--no-sync',
    ].concat(place.walDirectory === undefined ? [] : ['--waldir', join(place.walDirectory, 'wal')]),
    { ...asOwner, cwd: place.directory, stdio: 'ignore', env: plainEnv },
  )
  writeFileSync(
    join(cluster.dataDirectory, 'pg_hba.conf'),
    'local all all trust\nhost all all all trust\nhost replication all all trust\n',
  )
  for (const line of [
    `port = ${cluster.port}`,
    `listen_addresses = '${cluster.host}'`,
    `unix_socket_directories = '${place.directory}'`,
    // Three nodes with pools of 16 connections, their jobs, and the test.
    'max_connections = 80',
    'max_wal_size = 64MB',
    'min_wal_size = 32MB',
    "log_min_messages = 'fatal'",
  ])
    cluster.configure(line)
  await cluster.start()
  return cluster
}

const asOwner = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
const plainEnv = { PATH: process.env['PATH'], LC_ALL: 'C' }

function chownToUser(path: string): void {
  mkdirSync(path, { recursive: true })
  if (isRoot) chownSync(path, UNPRIVILEGED, UNPRIVILEGED)
}

async function clusterAt(t: Cleanup, { directory, network }: ClusterLocation): Promise<Cluster> {
  if (binaries === undefined) throw new Error('no PostgreSQL server binaries')
  const host = network?.address ?? '127.0.0.1'
  const port = await freePort()
  const dataDirectory = join(directory, 'data')
  const authority = `${host}:${port}`
  const url = `postgres://berth@${authority}/postgres`
  let server: ChildProcess | undefined
  let pidsBefore: readonly number[] = []

  const isRunning = () => server !== undefined && server.exitCode === null && server.signalCode === null
  const cluster: Cluster = {
    host,
    port,
    authority,
    url,
    dataDirectory,
    async start() {
      // Children of a postmaster that was killed hold its shared memory until they notice.
      for (const deadline = Date.now() + START_MS_MAX; pidsBefore.some(isAlive) && Date.now() < deadline; )
        await sleep(50)
      rmSync(join(dataDirectory, 'postmaster.pid'), { force: true })
      const program = [join(binaries, 'postgres'), '-D', dataDirectory]
      const [command = '', ...args] =
        network === undefined ? program : [...network.command(isRoot ? UNPRIVILEGED : undefined), ...program]
      server = spawn(command, args, {
        ...(network === undefined ? asOwner : {}),
        cwd: directory,
        env: plainEnv,
        stdio: ['ignore', 'ignore', 'inherit'],
        detached: true,
      })
      for (const deadline = Date.now() + START_MS_MAX; ; ) {
        try {
          await cluster.run('select 1')
          return
        } catch (error) {
          if (Date.now() > deadline || !isRunning()) throw error
          await sleep(50)
        }
      }
    },
    async stop(signal) {
      if (server === undefined || !isRunning()) return
      pidsBefore = cluster.pids()
      const ended = once(server, 'exit')
      server.kill(signal)
      await ended
    },
    signal: (signal) => void server?.kill(signal),
    pids() {
      const postmaster = server?.pid
      return postmaster === undefined ? [] : [postmaster, ...childPids(postmaster)]
    },
    async connect(applicationName = '') {
      const client = new pg.Client({
        connectionString: url,
        connectionTimeoutMillis: 10_000,
        application_name: applicationName,
      })
      client.on('error', () => undefined)
      await client.connect()
      return client
    },
    async run(...statements) {
      const client = await cluster.connect()
      try {
        let result: pg.QueryResult | undefined
        for (const statement of statements) result = await client.query(statement)
        return result as pg.QueryResult
      } finally {
        await client.end()
      }
    },
    configure: (line) => appendFileSync(join(dataDirectory, 'postgresql.conf'), `${line}\n`),
    async standby(cleanup, other) {
      chownToUser(other)
      const copy = await clusterAt(cleanup, { directory: other, network })
      const program = [
        join(binaries, 'pg_basebackup'),
        ...['-D', copy.dataDirectory, '-h', host, '-p', String(port), '-U', 'berth', '-R', '-X', 'stream'],
        ...['-c', 'fast', '--no-sync'],
      ]
      execFileSync(program[0] ?? '', program.slice(1), {
        ...asOwner,
        cwd: other,
        stdio: 'ignore',
        env: plainEnv,
      })
      copy.configure(`port = ${copy.port}`)
      copy.configure(`unix_socket_directories = '${other}'`)
      await copy.start()
      // What is acknowledged is on both, so a failover loses nothing.
      await cluster.run("alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()')
      return copy
    },
    demote: () => writeFileSync(join(dataDirectory, 'standby.signal'), ''),
    async promote() {
      await cluster.run('select pg_promote(true, 60)')
    },
  }
  t.after(async () => {
    for (const pid of cluster.pids()) kill(pid, 'SIGCONT')
    await cluster.stop('SIGQUIT')
  })
  return cluster
}

function isAlive(pid: number): boolean {
  return kill(pid, 0)
}

/** Whether there was such a process. */
export function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

function childPids(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        // "pid (name) state ppid": the name may have spaces and parentheses.
        const [, rest = ''] = /\) (.*)/s.exec(readFileSync(`/proc/${name}/stat`, 'latin1')) ?? []
        return Number(rest.split(' ')[1]) === parent
      } catch {
        return false
      }
    })
    .map(Number)
}
