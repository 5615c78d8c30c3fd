import { openPostgresDb } from '@berth/server/storage/db.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import pg from 'pg'
import { copyDatabase, executeStatement } from './postgres-template.ts'

/**
 * Databases of a Citus cluster. A database of the cluster is one of the same name on each server. Placing its tables takes seconds, so tests
 * copy databases, server by server: a copy has the same shards, and the extension does not know that it is one.
 */

const DROP_ATTEMPTS = 20
const COORDINATOR = 0
/** Place of the server that nodes of tests use: `BERTH_TEST_CITUS_NODE=1` is the first worker. Databases without tables need the coordinator. */
export const nodeServer = Number(process.env['BERTH_TEST_CITUS_NODE'] ?? COORDINATOR)
export const isQueryFromAnyNodeEnabled = nodeServer !== COORDINATOR
/** SQLSTATE object_in_use. */
const IN_USE = '55006'

/** Creates a database without tables and one with every migration, for tests to copy. Returns their names. */
export async function createCitusTemplates(
  urls: readonly string[],
): Promise<[empty: string, migrated: string]> {
  const empty = 'berth_test_empty'
  const migrated = 'berth_test_migrated'
  await onEach(urls, (url) => executeStatement(url, `create database ${empty}`))
  await joinServers(urls, empty)
  await closeTemplate(urls, empty)
  await copyCitusDatabase(urls, empty, migrated)
  const db = await openPostgresDb(urlOf(urls[0] as string, migrated), { onError() {} })
  try {
    await migrate(db)
    if (isQueryFromAnyNodeEnabled) await db.rules.enableQueryFromAnyNode(db.background)
  } finally {
    await db.close()
  }
  await closeTemplate(urls, migrated)
  return [empty, migrated]
}

export async function copyCitusDatabase(urls: readonly string[], from: string, name: string): Promise<void> {
  await onEach(urls, (url) => copyDatabase(url, from, name))
}

/**
 * The coordinator first: its background process connects to the workers. One connection may still start between the end of the others and
 * the deletion, so this repeats.
 */
export async function dropCitusDatabase(
  [coordinator, ...workers]: readonly string[],
  name: string,
): Promise<void> {
  const drop = async (url: string) => {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await executeStatement(url, `drop database if exists ${name} with (force)`)
      } catch (error) {
        if (attempt === DROP_ATTEMPTS || (error as { code?: string }).code !== IN_USE) throw error
      }
  }
  if (coordinator !== undefined) await drop(coordinator)
  await onEach(workers, drop)
}

/** The address of a database on the server of `url`. */
export function urlOf(url: string, name: string): string {
  const target = new URL(url)
  target.pathname = `/${name}`
  return target.href
}

async function onEach(urls: readonly string[], work: (url: string) => Promise<void>): Promise<void> {
  await Promise.all(urls.map(work))
}

/** Installs the extension in a database of each server; the first one is the coordinator. */
export async function joinServers(urls: readonly string[], name: string): Promise<void> {
  const [coordinator = '', ...workers] = urls
  const { username, password } = new URL(coordinator)
  await onEach(urls, async (url) => {
    await executeStatement(urlOf(url, name), 'create extension citus')
    // The password that the servers connect to each other with.
    await executeStatement(
      urlOf(url, name),
      `insert into pg_dist_authinfo values (0, '${username}', 'password=${password}')`,
    )
  })
  const client = new pg.Client({ connectionString: urlOf(coordinator, name) })
  await client.connect()
  try {
    const { hostname, port } = new URL(coordinator)
    await client.query('select citus_set_coordinator_host($1, $2)', [hostname, port])
    for (const worker of workers) {
      const { hostname, port } = new URL(worker)
      await client.query('select citus_add_node($1, $2)', [hostname, port])
    }
  } finally {
    await client.end()
  }
}

/** Ends its connections, of the extension too: a database that has some cannot be copied. */
async function closeTemplate(urls: readonly string[], name: string): Promise<void> {
  await onEach(urls, async (url) => {
    await executeStatement(url, `alter database ${name} allow_connections false`)
    await executeStatement(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
    )
  })
}
