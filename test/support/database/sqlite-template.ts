import { copyFileSync, existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { syncManagedRoles } from '@berth/server/iam/roles.ts'
import { openSqliteDb } from '@berth/server/storage/db.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'

let created: Promise<void> | undefined

/**
 * Copies a database with every migration and the managed roles, as a server creates them when it first starts, to `file`. The first process
 * of a run that needs it creates it in the run's directory, BERTH_TEST_RUN_DIRECTORY; outside of a run nothing is copied, and the server
 * migrates its own.
 */
export async function copySqliteTemplate(file: string): Promise<void> {
  const directory = process.env['BERTH_TEST_RUN_DIRECTORY']
  if (directory === undefined) return
  const template = join(directory, 'sqlite-migrated.db')
  if (!existsSync(template)) {
    created ??= createTemplate(template)
    await created
  }
  copyFileSync(template, file)
}

async function createTemplate(template: string): Promise<void> {
  const draft = `${template}.${process.pid}`
  const db = await openSqliteDb(draft)
  try {
    await migrate(db)
    await syncManagedRoles({ db, clock: Date.now })
  } finally {
    await db.close()
  }
  renameSync(draft, template)
}
