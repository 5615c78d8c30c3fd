import { Migrator } from 'kysely/migration'
import type { Db } from './db.ts'
import * as init from './migrations/0001-init.ts'
import * as managementApi from './migrations/0002-management-api.ts'
import * as signIn from './migrations/0003-sign-in.ts'
import * as repoSources from './migrations/0004-repo-sources.ts'
import * as advisories from './migrations/0005-advisories.ts'
import * as version1 from './migrations/0006-v1.ts'
import * as registry from './migrations/0007-registry.ts'

/** Every migration, in order. Once released, a migration never changes. */
const migrations = {
  '0001-init': init,
  '0002-management-api': managementApi,
  '0003-sign-in': signIn,
  '0004-repo-sources': repoSources,
  '0005-advisories': advisories,
  '0006-v1': version1,
  '0007-registry': registry,
}

/**
 * Brings the schema up to date, under a lock, so that several nodes may start at once. Returns the names of the migrations that
 * ran. Fails without a change when the database is newer than this program.
 */
export async function migrate(db: Db): Promise<string[]> {
  const migrator = new Migrator({
    db: db.kysely,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          Object.entries(migrations).map(([name, { up }]) => [name, { up: (tx) => up(tx, db.engine) }]),
        ),
    },
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  })
  const { error, results } = await migrator.migrateToLatest()
  if (error !== undefined)
    throw new Error('the database schema could not be brought up to date', { cause: error })
  return (results ?? []).map((result) => result.migrationName)
}
