import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { findServerBinaries } from '../../scripts/postgres.ts'
import { type Cleanup, temporaryDirectory } from './process.ts'

/** A PostgreSQL of its own, durable as in production: what it acknowledged survives its end. */
export interface OwnPostgres {
  readonly url: string
}

const START_TIMEOUT_MS = 30_000

const binaries = findServerBinaries()

/** Why tests that need a PostgreSQL of their own are skipped; false where they are not. */
export const withoutPostgres: string | false =
  binaries === undefined ? 'no PostgreSQL server binaries on this machine' : false

/** A port of loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a cluster with fsync on. The server refuses to run as root, so there it runs as the user `nobody`. */
export async function startPostgres(t: Cleanup): Promise<OwnPostgres> {
  if (binaries === undefined) throw new Error('no PostgreSQL server binaries')
  const directory = temporaryDirectory(t)
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  if (user.uid !== undefined) chownSync(directory, user.uid, user.gid)
  const data = join(directory, 'data')
  const options = {
    ...user,
    cwd: directory,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
  } as const
  execFileSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'berth', '-A', 'trust', '-E', 'UTF8', '--no-locale'],
    options,
  )
  const port = await freePort()
  const server = spawn(
    join(binaries, 'postgres'),
    [
      '-D',
      data,
      '-p',
      String(port),
      '-h',
      '127.0.0.1',
      '-k',
      directory,
      '-c',
      'fsync=on',
      '-c',
      'max_connections=200',
    ],
    options,
  )
  const ended = once(server, 'close')
  t.after(async () => {
    // Immediate shutdown: the cluster goes anyway.
    server.kill('SIGQUIT')
    await ended
  })
  const url = `postgres://berth@127.0.0.1:${port}/postgres`
  const deadline = Date.now() + START_TIMEOUT_MS
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    try {
      await client.connect()
      await client.end()
      return { url }
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
