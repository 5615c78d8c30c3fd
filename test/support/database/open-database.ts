import { databaseFile } from '@berth/server/installation/installation.ts'
import { type Db, openPostgresDb, openSqliteDb } from '@berth/server/storage/db.ts'

/** The database of an installation, past its server. */
export function openDatabase(env: Readonly<Record<string, string>>): Promise<Db> {
  const { BERTH_DATABASE_URL: url, BERTH_DATA_DIR: dataDir = 'data' } = env
  return url === undefined ? openSqliteDb(databaseFile(dataDir)) : openPostgresDb(url, { onError() {} })
}
