import { rootOf } from '../../api/uid.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { SeverityColumns, TagFindingsRow } from '../../storage/schema/tables.ts'
import {
  countFindings,
  type FindingCountRow,
  readImageContents,
  readUnmatched,
} from '../storage/image-findings.ts'
import { expiredPoints } from './history-points.ts'

/** The history of the findings of tags: a row for each change. */

export interface RecordOptions {
  readonly db: Db
  readonly clock: () => number
  /** Called in the transaction that writes a point; throws if it must not be written any more. */
  readonly check: (tx: Tx) => Promise<void>
}

/** Adds a point if the findings of a tag changed. Returns false if they are not known until its packages are matched. */
export async function recordTagFindings({ db, clock, check }: RecordOptions, tag: string): Promise<boolean> {
  const root = rootOf(tag)
  const row = await db.kysely
    .selectFrom('tags')
    .select(['parent', 'digest'])
    .where('root', '=', root)
    .where('uid', '=', tag)
    .executeTakeFirst()
  if (row === undefined) return true
  const { digest } = row
  const { state, ids } = (await readImageContents(db, row.parent, digest)) ?? { state: 'none', ids: [] }
  // The end of the reading queues the tag again.
  if (state === 'pending') return true
  if (await readUnmatched(db, root, ids)) return false
  const counts = countBySeverity(await countFindings(db, root, ids, {}, { long: true }))
  await inTransaction(db, async (tx) => {
    await check(tx)
    // A tag that is deleted or moved meanwhile is queued by the move.
    const locked = await lockResource(db, tx, 'tags', tag, 'share')
    if (locked?.digest === digest) await addPoint(tx, { root, tag, digest, state, ...counts }, clock())
  })
  return true
}

const none: SeverityColumns = { critical: 0, high: 0, medium: 0, low: 0, none: 0, unknown: 0 }

/** Sums findings by severity, those that do not affect the image left out. */
function countBySeverity(rows: readonly FindingCountRow[]): SeverityColumns {
  const counts: SeverityColumns = { ...none }
  for (const { state, severity, n } of rows) {
    if (state === 'not-affected') continue
    counts[severity in none ? (severity as keyof SeverityColumns) : 'unknown'] += n
  }
  return counts
}

async function addPoint(tx: Tx, point: Omit<TagFindingsRow, 'time_ms'>, nowMs: number): Promise<void> {
  const ofTag = tx
    .selectFrom('tag_findings')
    .where('root', '=', point.root)
    .where('tag', '=', point.tag)
    .orderBy('time_ms', 'desc')
  const last = await ofTag.selectAll().limit(1).executeTakeFirst()
  if (last !== undefined && isSame(last, point)) return
  // Clocks of nodes differ.
  const time_ms = Math.max(nowMs, Number(last?.time_ms ?? 0) + 1)
  await tx
    .insertInto('tag_findings')
    .values({ ...point, time_ms })
    .execute()
  const times = await ofTag.select('time_ms').execute()
  const expired = expiredPoints(
    times.map((row) => Number(row.time_ms)),
    time_ms,
  )
  if (expired.length === 0) return
  await tx
    .deleteFrom('tag_findings')
    .where('root', '=', point.root)
    .where('tag', '=', point.tag)
    .where('time_ms', 'in', expired)
    .execute()
}

function isSame(last: TagFindingsRow, point: Omit<TagFindingsRow, 'time_ms'>): boolean {
  return (Object.keys(point) as (keyof typeof point)[]).every(
    (column) => String(last[column]) === String(point[column]),
  )
}

/** Reads points of a tag before a time, the latest first. */
export function readTagFindings(
  { kysely }: Db,
  tag: string,
  { beforeMs, size }: { readonly beforeMs: number; readonly size: number },
): Promise<TagFindingsRow[]> {
  return kysely
    .selectFrom('tag_findings')
    .selectAll()
    .where('root', '=', rootOf(tag))
    .where('tag', '=', tag)
    .where('time_ms', '<', beforeMs)
    .orderBy('time_ms', 'desc')
    .limit(size)
    .execute()
}

/** Returns how many points the history of a tag has. */
export async function countTagFindings({ kysely }: Db, tag: string): Promise<number> {
  const row = await kysely
    .selectFrom('tag_findings')
    .select((count) => count.fn.countAll().as('n'))
    .where('root', '=', rootOf(tag))
    .where('tag', '=', tag)
    .executeTakeFirstOrThrow()
  return Number(row.n)
}
