import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../scripts/free-port.ts'
import { type Cleanup, temporaryDirectory } from '../server/process.ts'
import { type OwnPostgres, untilConnected } from './postgres.ts'

/** A PgBouncer before a PostgreSQL, in transaction mode. */

/** Why tests with PgBouncer are skipped; false where they are not. */
export const withoutPgbouncer: string | false =
  spawnSync('pgbouncer', ['--version']).status === 0 ? false : 'no pgbouncer on this machine'

/** Starts it with its defaults and `poolSize` connections to the server. Returns the URL of the same database through it. */
export async function startPgbouncer(t: Cleanup, { port }: OwnPostgres, poolSize: number): Promise<string> {
  const directory = temporaryDirectory(t)
  const own = await freePort()
  const users = join(directory, 'users.txt')
  const settings = join(directory, 'pgbouncer.ini')
  writeFileSync(users, '"berth" ""\n')
  writeFileSync(
    settings,
    `[databases]
postgres = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${poolSize}
`,
  )
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  if (user.uid !== undefined)
    for (const path of [directory, users, settings]) chownSync(path, user.uid, user.gid)
  const child = spawn('pgbouncer', [settings], { ...user, cwd: directory, stdio: 'ignore' })
  const ended = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const url = `postgres://berth@127.0.0.1:${own}/postgres`
  await untilConnected(url)
  return url
}
