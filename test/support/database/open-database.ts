import { databaseFile } from '@berth/server/installation/installation.ts'
import { type Db, openPostgresDb, openSqliteDb } from '@berth/server/storage/db.ts'
import pg from 'pg'
import { eventually } from '../eventually.ts'

/** The database of an installation, past its server. */
export function openDatabase(env: Readonly<Record<string, string>>): Promise<Db> {
  const { BERTH_DATABASE_URL: url, BERTH_DATA_DIR: dataDir = 'data' } = env
  return url === undefined ? openSqliteDb(databaseFile(dataDir)) : openPostgresDb(url, { onError() {} })
}

/** The same after its server was killed, once PostgreSQL has ended its sessions: until then they may commit what they were sent. */
export async function openDatabaseAfterKill(env: Readonly<Record<string, string>>): Promise<Db> {
  const { BERTH_DATABASE_URL: url } = env
  if (url !== undefined) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const others = `select pid from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
    try {
      await eventually(async () => (await client.query(others)).rows.length === 0)
    } finally {
      await client.end()
    }
  }
  return openDatabase(env)
}
