import type { Db, Tx } from '../../storage/db.ts'
import { scheduleJob } from '../../storage/jobs/job-leases.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import { backupJob } from '../jobs.ts'

/**
 * A running backup keeps stored bytes: what is in its snapshot must not be deleted before it is copied. It is the lease of job
 * `backup`, so it expires if the backup dies. A deletion locks the row in the transaction that deletes rows of blobs: a backup that
 * starts meanwhile waits for it and takes its snapshot afterwards.
 */

/** Throws HeldByBackup while a backup runs. */
export async function requireNoBackup(db: Db, tx: Tx, nowMs: number): Promise<void> {
  const sql = sqlText(db.engine)
  const text = `select lease_ms from registry_runs where name = ${sql.bind('backup')}${db.rules.lockForUpdate}`
  const [row] = await runInTransaction<{ lease_ms: number }>(tx, text, sql)
  if (Number(row?.lease_ms ?? 0) > nowMs) throw new BackupRunning()
}

/** Creates the row that deletions lock. */
export async function ensureBackupJob(db: Db): Promise<void> {
  await scheduleJob(db, backupJob, Number.MAX_SAFE_INTEGER)
}

/** Runs a step of garbage collection; returns false if a running backup needs what it would delete. */
export async function unlessBackupRuns(step: () => Promise<void>): Promise<boolean> {
  try {
    await step()
    return true
  } catch (error) {
    if (error instanceof BackupRunning) return false
    throw error
  }
}

class BackupRunning extends Error {
  override readonly name = 'HeldByBackup'

  constructor() {
    super('a backup is running: stored bytes are deleted after it')
  }
}
