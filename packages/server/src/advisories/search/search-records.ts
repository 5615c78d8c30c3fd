import type { OrderKey } from '../../api/order-by.ts'
import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import type { VulnerabilityRecordRow } from '../../storage/schema/tables.ts'
import { runCachedText, runLongText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { hasCweSql } from '../vulnerability-filters.ts'

/**
 * Searches what documents say about vulnerabilities. Texts have no index (ADR 82): a search reads those of the organization, on SQLite in a
 * reader thread.
 */

export type FoundRecord = Omit<VulnerabilityRecordRow, 'search'>

export interface RecordFilters {
  /** In lower case; each must occur. */
  readonly words: readonly string[]
  readonly severities: readonly string[]
  readonly minScore: number | undefined
  readonly cwes: readonly string[]
}

/** The sort keys, with their columns. */
export const recordSortFields = {
  modify_time: 'modified_ms',
  modifyTime: 'modified_ms',
  score: 'score',
  vulnerability: 'id',
} as const

/** The keys of the last record of a page. */
export type RecordCursor = readonly [first: string | number, parent: string, key: string]

export function cursorOf(row: FoundRecord, { column }: OrderKey): RecordCursor {
  const first = row[column as (typeof recordSortFields)[keyof typeof recordSortFields]]
  return [typeof first === 'string' ? first : Number(first), row.parent, row.key]
}

interface RecordPage {
  readonly order: OrderKey
  readonly after: RecordCursor | undefined
  readonly size: number
}

/** Without `search`, which is as long as all others together. */
const columns = [
  ...['root', 'parent', 'key', 'format', 'document', 'id', 'aliases', 'summary', 'packages'],
  ...['severity', 'score', 'cwes', 'published_ms', 'modified_ms', 'text'],
].join(', ')

export async function readRecords(
  db: Db,
  scope: string,
  filters: RecordFilters,
  { order, after, size }: RecordPage,
): Promise<readonly FoundRecord[]> {
  const direction = order.descending ? 'desc' : 'asc'
  const keys = [order.column, 'parent', 'key']
  const sql = sqlText(db.engine)
  const where = conditionsSql(sql, scope, filters)
  const rest =
    after === undefined
      ? ''
      : ` and (${keys.join(', ')}) ${order.descending ? '<' : '>'} (${sql.bindAll(after)})`
  const ordered = keys.map((key) => `${key} ${direction}`).join(', ')
  const text = `select ${columns} from vulnerability_records where ${where}${rest} order by ${ordered} limit ${sql.bind(size)}`
  return runLongText<FoundRecord>(db, text, sql)
}

export async function countRecords(db: Db, scope: string, filters: RecordFilters): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from vulnerability_records where ${conditionsSql(sql, scope, filters)}`
  const [row] = await runCachedText<{ readonly n: number }>(db, text, sql, { long: true })
  return Number(row?.n ?? 0)
}

function conditionsSql(
  sql: SqlText,
  scope: string,
  { words, severities, minScore, cwes }: RecordFilters,
): string {
  const { from, to } = subtreeRange(scope)
  const parent = sql.rules.needsPlanHints ? '+parent' : 'parent'
  const conditions = [
    // SQLite would sort all rows of the range, instead of reading them in the order of an index.
    `root = ${sql.bind(rootOf(scope))} and ${parent} >= ${sql.bind(from)} and ${parent} < ${sql.bind(to)}`,
  ]
  if (severities.length > 0) conditions.push(`severity in (${sql.bindAll(severities)})`)
  if (minScore !== undefined) conditions.push(`score >= ${sql.bind(Math.round(minScore * 10))}`)
  if (cwes.length > 0) conditions.push(hasCweSql(sql, 'cwes', cwes))
  // The longest first: it is the rarest.
  for (const word of words.toSorted((a, b) => b.length - a.length))
    conditions.push(sql.rules.contains('search', sql.bind(word)))
  return conditions.join(' and ')
}
