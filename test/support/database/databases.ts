import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, openPostgresDb, openSqliteDb, postgresLikeDb } from '@berth/server/storage/db.ts'
import { rules } from '@berth/server/storage/engines/postgres/driver.ts'
import { copyCitusDatabase, dropCitusDatabase, nodeServer, urlOf } from './citus-databases.ts'
import { loadPglite } from './pglite-template.ts'
import { copyDatabase, executeStatement } from './postgres-template.ts'

/**
 * The databases that suites run on: SQLite, PostgreSQL's dialect in process (PGlite, nothing to install), and a real PostgreSQL where there
 * is one: BERTH_TEST_POSTGRES_URL, which the test runner sets when it starts a server. `citus` is a distributed PostgreSQL, only where it is
 * selected.
 */
export interface TestDatabase {
  readonly name: 'sqlite' | 'pglite' | 'postgres' | 'citus'
  /** Opens a new database whose schema is up to date; undefined for the server's own default, SQLite in its data directory. */
  readonly open: (() => Promise<Db>) | undefined
  /** Opens a new database without tables. */
  readonly openEmpty: (() => Promise<Db>) | undefined
  /** Creates a database for several nodes. */
  readonly share: () => Promise<SharedDatabase>
}

export interface SharedDatabase {
  /** Opens it for one node, with connections of its own where the engine has connections. */
  open(): Promise<Db>
  /** Removes it, when all nodes have closed theirs. */
  close(): Promise<void>
}

/** A distributed database. */
export interface ClusterDatabase extends SharedDatabase {
  /** Its address on each server, the coordinator first. */
  readonly urls: readonly string[]
}

const {
  BERTH_TEST_DATABASES: names,
  BERTH_TEST_POSTGRES_URL: serverUrl,
  BERTH_TEST_POSTGRES_TEMPLATE: template,
  BERTH_TEST_CITUS_URLS: clusterUrls,
  BERTH_TEST_CITUS_TEMPLATES: clusterTemplates,
} = process.env

/** Whether suites run on this database. `BERTH_TEST_DATABASES=sqlite,postgres` selects them; `byDefault` applies without it. */
export function isSelected(name: TestDatabase['name'], byDefault: readonly TestDatabase['name'][]): boolean {
  return (names?.split(',') ?? byDefault).includes(name)
}

const sqlite: TestDatabase = { name: 'sqlite', open: undefined, openEmpty: undefined, share: shareFile }
const pglite: TestDatabase = {
  name: 'pglite',
  open: () => openPglite(true),
  openEmpty: () => openPglite(false),
  share: sharePglite,
}
const cluster = clusterUrls === undefined ? undefined : citusAt(clusterUrls.split(','))
const known: readonly TestDatabase[] = [
  sqlite,
  pglite,
  ...(serverUrl === undefined ? [] : [postgresAt(serverUrl)]),
  ...(cluster === undefined ? [] : [cluster]),
]

/** The distributed database, if suites run on it. */
export const selectedCluster = isSelected('citus', []) ? cluster : undefined

/** For suites about what a caller sees, which is the same on every engine: SQLite, or all with `npm test -- --all`. */
export const databases = known.filter(({ name }) => isSelected(name, ['sqlite']))

/** For suites about what engines do differently: SQL, transactions, migrations. SQLite and PGlite, or all with `npm test -- --all`. */
export const engineDatabases = known.filter(({ name }) => isSelected(name, ['sqlite', 'pglite']))

/** For suites about nodes that share a database, and about changes that wait for each other: those with connections and servers. */
export const serverDatabases = databases.filter(({ name }) => name === 'postgres' || name === 'citus')

/** For programs that talk to a server: they cannot see in which database it stores data, and they start slowly. */
export const anyDatabase: readonly TestDatabase[] = databases.slice(0, 1)

function postgresAt(url: string): TestDatabase {
  return {
    name: 'postgres',
    open: () => openShared(shareServerDb(url, template)),
    openEmpty: () => openShared(shareServerDb(url)),
    share: () => shareServerDb(url, template),
  }
}

interface TestCluster extends TestDatabase {
  readonly share: () => Promise<ClusterDatabase>
  readonly shareEmpty: () => Promise<ClusterDatabase>
}

function citusAt(urls: readonly string[]): TestCluster {
  const [empty, migrated] = (clusterTemplates ?? '').split(',') as [string, string]
  return {
    name: 'citus',
    open: () => openShared(shareCitusDb(urls, migrated, nodeServer)),
    openEmpty: () => openShared(shareCitusDb(urls, empty)),
    share: () => shareCitusDb(urls, migrated, nodeServer),
    shareEmpty: () => shareCitusDb(urls, empty),
  }
}

async function openPglite(migrated: boolean): Promise<Db> {
  const [pglite, { PGliteDialect }] = await Promise.all([loadPglite(migrated), import('kysely')])
  return postgresLikeDb(new PGliteDialect({ pglite }), rules)
}

async function sharePglite(): Promise<SharedDatabase> {
  const db = await openPglite(true)
  return { open: async () => ({ ...db, close: async () => {} }), close: () => db.close() }
}

async function shareFile(): Promise<SharedDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-shared-'))
  return {
    open: async () => openSqliteDb(join(directory, 'berth.db')),
    close: async () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** The address of an open database of a server. */
export function addressOf({ source }: Pick<Db, 'source'>): string {
  if (source === undefined || !('url' in source)) throw new Error('the database is not on a server')
  return source.url
}

/** Its address on the server that changes its schema: the coordinator of a distributed database, whichever server the node uses. */
export function schemaAddressOf(db: Pick<Db, 'source'>): string {
  const address = addressOf(db)
  const [coordinator] = selectedCluster === undefined ? [] : (clusterUrls ?? '').split(',')
  return coordinator === undefined ? address : urlOf(coordinator, new URL(address).pathname.slice(1))
}

/** A database of its own on the server, dropped when it is closed. */
async function openShared(created: Promise<SharedDatabase>): Promise<Db> {
  const shared = await created
  const db = await shared.open()
  return {
    ...db,
    async close() {
      await db.close()
      await shared.close()
    },
  }
}

/** `opened`: place of the server that it is opened at. */
async function shareCitusDb(servers: readonly string[], from: string, opened = 0): Promise<ClusterDatabase> {
  const name = newName()
  await copyCitusDatabase(servers, from, name)
  const urls = servers.map((server) => urlOf(server, name))
  return {
    urls,
    open: () => openPostgresDb(urls[opened] as string, { onError() {} }),
    close: () => dropCitusDatabase(servers, name),
  }
}

function newName(): string {
  return `berth_test_${randomBytes(6).toString('hex')}`
}

/** `from`: the database to copy; without it, the new one is empty. */
async function shareServerDb(url: string, from = 'template1'): Promise<SharedDatabase> {
  const name = newName()
  await copyDatabase(url, from, name)
  const target = new URL(url)
  target.pathname = `/${name}`
  return {
    open: () => openPostgresDb(target.href, { onError() {} }),
    close: () => executeStatement(url, `drop database if exists ${name} with (force)`),
  }
}
