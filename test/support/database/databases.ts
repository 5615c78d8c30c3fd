import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Db, openPostgresDb, openSqliteDb, postgresLikeDb } from '@berth/server/storage/db.ts'
import { rules } from '@berth/server/storage/engines/postgres/driver.ts'
import pg from 'pg'

/**
 * The databases that every contract suite runs on: SQLite, PostgreSQL's dialect in process (PGlite, nothing to install), and a
 * real PostgreSQL where there is one: BERTH_TEST_POSTGRES_URL, which the test runner sets when it finds server binaries.
 */
export interface TestDatabase {
  readonly name: 'sqlite' | 'pglite' | 'postgres'
  /** Opens an empty database; undefined where the server's own default, SQLite in its data directory, is meant. */
  readonly open: (() => Promise<Db>) | undefined
  /** Makes an empty database for several nodes. */
  readonly share: () => Promise<SharedDatabase>
}

export interface SharedDatabase {
  /** The way of one node to it: connections of its own, where that can be. */
  open(): Promise<Db>
  /** Once all nodes have closed theirs. */
  close(): Promise<void>
}

const sqlite: TestDatabase = { name: 'sqlite', open: undefined, share: shareFile }
const pglite: TestDatabase = { name: 'pglite', open: openPglite, share: sharePglite }
const serverUrl = process.env['BERTH_TEST_POSTGRES_URL']

/** `BERTH_TEST_DATABASES=sqlite,postgres` narrows them, to save time. */
export const databases: readonly TestDatabase[] = [
  sqlite,
  pglite,
  ...(serverUrl === undefined
    ? []
    : [
        {
          name: 'postgres',
          open: () => openServerDb(serverUrl),
          share: () => shareServerDb(serverUrl),
        } as const,
      ]),
].filter(({ name }) => process.env['BERTH_TEST_DATABASES']?.split(',').includes(name) ?? true)

/** For programs that talk to a server: what it keeps its data in they cannot see, and starting them takes long. */
export const anyDatabase: readonly TestDatabase[] = databases.slice(0, 1)

async function openPglite(): Promise<Db> {
  const [{ PGlite }, { PGliteDialect }] = await Promise.all([
    import('@electric-sql/pglite'),
    import('kysely'),
  ])
  return postgresLikeDb(new PGliteDialect({ pglite: await PGlite.create() }), rules)
}

async function sharePglite(): Promise<SharedDatabase> {
  const db = await openPglite()
  return { open: async () => ({ ...db, close: async () => {} }), close: () => db.close() }
}

async function shareFile(): Promise<SharedDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-shared-'))
  return {
    open: async () => openSqliteDb(join(directory, 'berth.db')),
    close: async () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** A database of its own on the server, dropped when it is closed. */
async function openServerDb(url: string): Promise<Db> {
  const shared = await shareServerDb(url)
  const db = await shared.open()
  return {
    ...db,
    async close() {
      await db.close()
      await shared.close()
    },
  }
}

async function shareServerDb(url: string): Promise<SharedDatabase> {
  const name = `berth_test_${randomBytes(6).toString('hex')}`
  await administer(url, `create database ${name}`)
  const target = new URL(url)
  target.pathname = `/${name}`
  return {
    open: () => openPostgresDb(target.href, { onError() {} }),
    close: () => administer(url, `drop database if exists ${name} with (force)`),
  }
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
