import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../scripts/free-port.ts'
import { onCore } from './cores.ts'

/** A PostgreSQL to measure on: the one that BERTH_TEST_POSTGRES_URL names, or a cluster that lives as long as the run. */
export interface Cluster {
  /** Makes an empty database, or a copy of a kept one; the address of it. */
  database(name: string, copyOf?: string): Promise<string>
  /** The address of a database that outlives the run; undefined if the server does not. */
  keptDatabase(name: string): Promise<string | undefined>
  stop(): Promise<void>
}

/** Prefix of the databases that outlive a run. */
const KEPT = 'berth_bench_kept_'
const INSTALLED = '/usr/lib/postgresql'
const START_MS_MAX = 30_000
const STOP_MS_MAX = 20_000

/** Undefined where there is neither a server nor the binaries of one. */
export async function postgresCluster(): Promise<Cluster | undefined> {
  const given = process.env['BERTH_TEST_POSTGRES_URL']
  if (given !== undefined && given !== '') return onServer(given, async () => {}, true)
  const binaries = findBinaries()
  return binaries === undefined ? undefined : startCluster(binaries)
}

function findBinaries(): string | undefined {
  if (!existsSync(INSTALLED)) return undefined
  const versions = readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a))
  return versions
    .map((version) => join(INSTALLED, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')))
}

async function startCluster(binaries: string): Promise<Cluster> {
  const data = mkdtempSync(join(tmpdir(), 'berth-bench-postgres-'))
  const remove = () => rmSync(data, { recursive: true, force: true })
  const user = serverUser()
  if (user !== undefined) chownSync(data, user.uid, user.gid)
  const as = { ...user, cwd: '/' }
  execFileSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'bench', '-A', 'trust', '--no-locale', '-E', 'UTF8'],
    { ...as, stdio: 'ignore' },
  )
  const port = await freePort()
  const [command, ...args] = onCore('load', [
    join(binaries, 'postgres'),
    ...['-D', data, '-p', String(port), '-k', ''],
    ...['-c', 'listen_addresses=127.0.0.1', '-c', 'shared_buffers=1GB', '-c', 'max_wal_size=4GB'],
    ...['-c', 'maintenance_work_mem=256MB', '-c', 'max_connections=100', '-c', 'autovacuum=off'],
  ]) as [string, ...string[]]
  const server = spawn(command, args, { ...as, stdio: 'ignore' })
  const url = `postgres://bench@127.0.0.1:${port}/postgres`
  try {
    await answering(url, server)
  } catch (error) {
    server.kill('SIGKILL')
    remove()
    throw error
  }
  return onServer(url, () => ended(server).then(remove), false)
}

/** PostgreSQL refuses to run as root. */
function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  const endMs = performance.now() + START_MS_MAX
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (server.exitCode !== null || performance.now() > endMs)
        throw new Error('PostgreSQL did not start', { cause: error })
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** SIGINT is PostgreSQL's fast shutdown. */
function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.kill('SIGKILL'), STOP_MS_MAX)
    server.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    server.kill('SIGINT')
  })
}

function onServer(url: string, stop: () => Promise<void>, outlives: boolean): Cluster {
  const made: string[] = []
  const administer = async (statements: readonly string[]) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }
  const addressOf = (name: string) => {
    const target = new URL(url)
    target.pathname = `/${name}`
    return target.href
  }
  return {
    async database(name, copyOf) {
      const full = `berth_bench_${process.pid}_${name}`
      await administer([
        copyOf === undefined
          ? `create database ${full}`
          : `create database ${full} template ${KEPT}${copyOf} strategy file_copy`,
      ])
      made.push(full)
      return addressOf(full)
    },
    async keptDatabase(name) {
      if (!outlives) return undefined
      await administer([
        `drop database if exists ${KEPT}${name} with (force)`,
        `create database ${KEPT}${name}`,
      ])
      return addressOf(`${KEPT}${name}`)
    },
    async stop() {
      await administer(made.map((name) => `drop database if exists ${name} with (force)`)).catch(() => {})
      await stop()
    },
  }
}
