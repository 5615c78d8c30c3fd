import { randomBytes } from 'node:crypto'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import pg from 'pg'

export interface PostgresTemplate {
  readonly name: string
  drop(): Promise<void>
}

/** Creates a database on the server with every migration, for tests to copy. */
export async function createPostgresTemplate(url: string): Promise<PostgresTemplate> {
  const name = `berth_test_template_${randomBytes(6).toString('hex')}`
  await executeStatement(url, `create database ${name}`)
  const target = new URL(url)
  target.pathname = `/${name}`
  const db = await openPostgresDb(target.href, { onError() {} })
  try {
    await migrate(db)
  } finally {
    await db.close()
  }
  return { name, drop: () => executeStatement(url, `drop database if exists ${name} with (force)`) }
}

/** Executes a statement on a connection of its own. */
export async function executeStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
