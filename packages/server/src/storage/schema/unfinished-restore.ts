import { sql } from 'kysely'
import type { Db } from '../db.ts'
import { readTableNames, UNFINISHED_RESTORE } from './catalog.ts'

/** Marks a database during a restore, with a table that is created before all others. */

export interface UnfinishedRestore {
  /** Id of the backup. */
  readonly backup: string
  /** `tables`: rows are missing; `blobs`: all rows are restored, bytes of images are missing. */
  readonly stage: 'tables' | 'blobs'
}

const mark = sql.table(UNFINISHED_RESTORE)

export async function readUnfinishedRestore(db: Db): Promise<UnfinishedRestore | undefined> {
  if (!(await readTableNames(db)).includes(UNFINISHED_RESTORE)) return undefined
  const { rows } = await sql<UnfinishedRestore>`select backup, stage from ${mark}`.execute(db.kysely)
  return rows[0] ?? { backup: '', stage: 'tables' }
}

/** Sets or replaces the mark. */
export async function markRestore(db: Db, { backup, stage }: UnfinishedRestore): Promise<void> {
  await db.kysely.transaction().execute(async (tx) => {
    await sql`create table if not exists ${mark} (backup text not null, stage text not null)`.execute(tx)
    await sql`delete from ${mark}`.execute(tx)
    await sql`insert into ${mark} (backup, stage) values (${backup}, ${stage})`.execute(tx)
  })
}

export async function unmarkRestore(db: Db): Promise<void> {
  await sql`drop table if exists ${mark}`.execute(db.kysely)
}
