import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { deleteRows, insertRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { SeverityColumns, Tables } from '../../storage/schema/tables.ts'
import { runInTransaction, runText, sqlText } from '../../storage/sql-text.ts'
import type { FindingCountRow } from '../storage/image-findings.ts'
import { expiredPoints } from './history-points.ts'

/** Rows of histories of findings: one for each change, which applies until the next one. */

export type HistoryTable = 'tag_findings' | 'scope_findings'

/** The column with the uid of the subject, and the time of which only the last change of recent days is kept. */
const histories = {
  tag_findings: { subject: 'tag', spacingMs: 0 },
  scope_findings: { subject: 'scope', spacingMs: limits.findingSummaryHistorySpacingMs },
} as const

const none: SeverityColumns = { critical: 0, high: 0, medium: 0, low: 0, none: 0, unknown: 0 }

/** Sums findings by severity, those that do not affect the image left out. */
export function countBySeverity(rows: readonly FindingCountRow[]): SeverityColumns {
  const counts: SeverityColumns = { ...none }
  for (const { state, severity, n } of rows) {
    if (state === 'not-affected') continue
    counts[severity in none ? (severity as keyof SeverityColumns) : 'unknown'] += n
  }
  return counts
}

/** Adds a point unless it equals the last one, and deletes those that expired. */
export async function addPoint<T extends HistoryTable>(
  db: Db,
  tx: Tx,
  table: T,
  point: Omit<Tables[NoInfer<T>], 'time_ms'>,
  nowMs: number,
): Promise<void> {
  const { subject, spacingMs } = histories[table]
  const { root, [subject]: uid } = point as unknown as Record<'root' | typeof subject, string>
  const ofSubject = (columns: string, end: string) => {
    const sql = sqlText(db.engine)
    const text = `select ${columns} from ${table} where root = ${sql.bind(root)} and ${subject} = ${sql.bind(uid)} ${end}`
    return runInTransaction<Tables[T]>(tx, text, sql)
  }
  const [last] = await ofSubject('*', 'order by time_ms desc limit 1')
  if (last !== undefined && isSame(last, point)) return
  // Clocks of nodes differ.
  const time_ms = Math.max(nowMs, Number(last?.time_ms ?? 0) + 1)
  await insertRows<HistoryTable>(db, tx, table, [{ ...point, time_ms } as unknown as Tables[T]])
  const times = await ofSubject('time_ms', 'order by time_ms desc')
  const expired = expiredPoints(
    times.map((row) => Number(row.time_ms)),
    time_ms,
    spacingMs,
  )
  const keys = expired.map((time_ms) => ({ root, [subject]: uid, time_ms }))
  await deleteRows<HistoryTable>(db, tx, table, keys)
}

function isSame(last: object, point: object): boolean {
  const values = last as Readonly<Record<string, unknown>>
  return Object.entries(point).every(([column, value]) => String(values[column]) === String(value))
}

/** Reads points of a history before a time, the latest first. */
export async function readPoints<T extends HistoryTable>(
  db: Db,
  table: T,
  uid: string,
  { beforeMs, size }: { readonly beforeMs: number; readonly size: number },
): Promise<readonly Tables[T][]> {
  const sql = sqlText(db.engine)
  const { subject } = histories[table]
  const text = `select * from ${table} where root = ${sql.bind(rootOf(uid))} and ${subject} = ${sql.bind(uid)}
    and time_ms < ${sql.bind(beforeMs)} order by time_ms desc limit ${sql.bind(size)}`
  return runText<Tables[T]>(db, text, sql)
}

/** Returns how many points a history has. */
export async function countPoints(db: Db, table: HistoryTable, uid: string): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from ${table} where root = ${sql.bind(rootOf(uid))} and ${histories[table].subject} = ${sql.bind(uid)}`
  const [row] = await runText<{ readonly n: number }>(db, text, sql)
  return Number(row?.n ?? 0)
}
