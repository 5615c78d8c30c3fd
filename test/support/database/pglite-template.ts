import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { postgresLikeDb } from '@berth/server/storage/db.ts'
import { rules } from '@berth/server/storage/engines/postgres/driver.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import type { PGlite } from '@electric-sql/pglite'

/**
 * Loads PGlite from a file with its data directory, which takes a fifth of the time of a new one. The first process of a run that needs it
 * writes the file into the run's directory, BERTH_TEST_RUN_DIRECTORY.
 */
export async function loadPglite(migrated: boolean): Promise<PGlite> {
  const directory = process.env['BERTH_TEST_RUN_DIRECTORY']
  if (directory === undefined) return createPglite(migrated)
  const file = join(directory, migrated ? 'pglite-migrated.tar' : 'pglite-empty.tar')
  const { PGlite } = await import('@electric-sql/pglite')
  if (existsSync(file)) return PGlite.create({ loadDataDir: new Blob([readFileSync(file)]) })
  const pglite = await createPglite(migrated)
  const dump = await pglite.dumpDataDir('none')
  // Whole for every other process that looks for it.
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, Buffer.from(await dump.arrayBuffer()))
  renameSync(draft, file)
  return pglite
}

async function createPglite(migrated: boolean): Promise<PGlite> {
  const [{ PGlite }, { PGliteDialect }] = await Promise.all([
    import('@electric-sql/pglite'),
    import('kysely'),
  ])
  const pglite = await PGlite.create()
  if (migrated) await migrate(postgresLikeDb(new PGliteDialect({ pglite }), rules))
  return pglite
}
