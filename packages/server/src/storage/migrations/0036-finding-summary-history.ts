import { type Kysely, sql } from 'kysely'

/** Images that an earlier version of the reader read, for the job that reads them again. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('manifest_contents_by_reader')
    .on('manifest_contents')
    .columns(['reader', 'due_ms'])
    .where(sql.ref('state'), 'in', [sql.lit('read'), sql.lit('failed')])
    .execute()
}
