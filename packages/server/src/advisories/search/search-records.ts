import type { OrderKey } from '../../api/order-by.ts'
import { rootOf, subtreeRange } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'
import type { VulnerabilityRecordRow } from '../../storage/schema/tables.ts'
import { runCachedText, runLongText, runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { hasCweSql } from '../vulnerability-filters.ts'
import type { FoundKey } from './words/record-facts.ts'
import { areSameSegments, hasMoreUnindexed, readGaps, readSegments } from './words/record-segments.ts'
import { type FoundInSegment, searchSegments } from './words/search-index.ts'
import { isPartOfWord } from './words/word-blocks.ts'

/**
 * Searches what documents say about vulnerabilities: by the index of their words (ADR 89), and in the texts of records that are not in it yet.
 * While it is being built, a search reads all texts of the organization, on SQLite in a reader thread.
 */

export type FoundRecord = Omit<VulnerabilityRecordRow, 'search' | 'segment'>

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
]

export interface FoundRecords {
  readonly rows: readonly FoundRecord[]
  /** Of all pages. */
  readonly total: number
}

/** The index of words, as a search uses it. */
export interface WordSearch {
  /** Records without a segment that a search reads; with more, it reads all texts. */
  readonly unindexedMax?: number | undefined
}

/** Returns a page of records. The first page of a search for words is one statement, which reads the texts once for the page and the total. */
export async function findRecords(
  db: Db,
  scope: string,
  filters: RecordFilters,
  page: RecordPage,
  { unindexedMax = limits.recordsUnindexedMax }: WordSearch = {},
): Promise<FoundRecords> {
  if (filters.words.length > 0) {
    const found = await searchIndex(db, scope, filters, page, unindexedMax)
    if (found !== undefined) return found
    if (page.after === undefined) return searchTexts(db, scope, filters, page)
  }
  const [rows, total] = await Promise.all([
    readRecords(db, scope, filters, page),
    countRecords(db, scope, filters),
  ])
  return { rows, total }
}

/** Attempts of a search whose segments change. */
const ATTEMPTS = 3

/** Undefined if the index cannot find the words, or most records are not in it. */
async function searchIndex(
  db: Db,
  scope: string,
  filters: RecordFilters,
  page: RecordPage,
  unindexedMax: number,
): Promise<FoundRecords | undefined> {
  const isIndexed = (word: string) => word.length >= limits.recordIndexCharsMin && isPartOfWord(word)
  if (!filters.words.every(isIndexed)) return undefined
  const root = rootOf(scope)
  const { from, to } = subtreeRange(scope)
  const inScope = (sql: SqlText) => `parent >= ${sql.bind(from)} and parent < ${sql.bind(to)}`
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // In this order: a record that is replaced meanwhile is found in its segment, or in its text, or in both, but never in neither.
    const segments = await readSegments(db, scope)
    // Before the gaps, which are as many.
    if (await hasMoreUnindexed(db, root, inScope, unindexedMax)) return undefined
    const gaps = await readGaps(db, root, segments)
    const others = await searchUnindexed(db, scope, filters)
    const { first, total } = await searchSegments(db, root, { segments, gaps }, filters, page, others)
    const rows = await readFound(db, scope, first)
    const isCurrent = rows.length === first.length && areSameSegments(segments, await readSegments(db, scope))
    if (isCurrent) return { rows, total }
  }
  return undefined
}

/** Finds records that are in no segment. */
async function searchUnindexed(
  db: Db,
  scope: string,
  filters: RecordFilters,
): Promise<readonly FoundInSegment[]> {
  const sql = sqlText(db.engine)
  const text = `select parent, key, id, modified_ms, score, severity, cwes, segment from vulnerability_records
    where segment <= 0 and ${conditionsSql(sql, scope, filters)}`
  const rows = await runLongText<FoundInSegment>(db, text, sql)
  return rows.map((row) => ({
    ...row,
    modified_ms: Number(row.modified_ms),
    score: Number(row.score),
    segment: Number(row.segment),
  }))
}

/** Reads the rows of records, without those that are no longer where they were found. */
async function readFound(
  db: Db,
  scope: string,
  found: readonly FoundInSegment[],
): Promise<readonly FoundRecord[]> {
  if (found.length === 0) return []
  const sql = sqlText(db.engine)
  const root = rootOf(scope)
  const conditions = [...Map.groupBy(found, ({ parent }) => parent)].map(
    ([parent, its]) =>
      `(root = ${sql.bind(root)} and parent = ${sql.bind(parent)} and key in (${sql.bindAll(its.map(({ key }) => key))}))`,
  )
  const text = `select ${columns.join(', ')}, segment from vulnerability_records where ${conditions.join(' or ')}`
  const rows = await runText<FoundRecord & Pick<VulnerabilityRecordRow, 'segment'>>(db, text, sql)
  const nameOf = ({ parent, key }: Pick<FoundKey, 'parent' | 'key'>) => `${parent} ${key}`
  const byKey = new Map(rows.map((row) => [nameOf(row), row]))
  return found.flatMap((key) => {
    const row = byKey.get(nameOf(key))
    return row === undefined || Number(row.segment) !== key.segment ? [] : [row]
  })
}

async function searchTexts(
  db: Db,
  scope: string,
  filters: RecordFilters,
  { order, size }: Pick<RecordPage, 'order' | 'size'>,
): Promise<FoundRecords> {
  const sql = sqlText(db.engine)
  const { column } = order
  const { keys, ordered } = orderSql(order)
  const selected = columns.map((name) => (name === 'key' ? 'page.key' : `record.${name}`))
  // Keys only are sorted. Without a row on the page, the total is in a row of its own. Values are bound in the order of the text.
  const text = `with hits as materialized (select parent, key, ${column} from vulnerability_records
      where ${conditionsSql(sql, scope, filters)}),
    page as materialized (select parent, key from hits order by ${ordered} limit ${sql.bind(size)})
    select (select count(*) from hits) as total, ${selected.join(', ')}
    from (select 1 as one) as always left join page on true
    left join vulnerability_records as record
      on record.root = ${sql.bind(rootOf(scope))} and record.parent = page.parent and record.key = page.key
    order by ${keys.map((key) => `record.${key} ${order.descending ? 'desc' : 'asc'}`).join(', ')}`
  type Row = Omit<FoundRecord, 'key'> & { readonly key: string | null; readonly total: number }
  const found = await runLongText<Row>(db, text, sql)
  return {
    rows: found.filter((row): row is Row & FoundRecord => row.key !== null),
    total: Number(found[0]?.total ?? 0),
  }
}

async function readRecords(
  db: Db,
  scope: string,
  filters: RecordFilters,
  { order, after, size }: RecordPage,
): Promise<readonly FoundRecord[]> {
  const sql = sqlText(db.engine)
  const { keys, ordered } = orderSql(order)
  const where = conditionsSql(sql, scope, filters)
  const rest =
    after === undefined
      ? ''
      : ` and (${keys.join(', ')}) ${order.descending ? '<' : '>'} (${sql.bindAll(after)})`
  const text = `select ${columns.join(', ')} from vulnerability_records where ${where}${rest} order by ${ordered} limit ${sql.bind(size)}`
  return runLongText<FoundRecord>(db, text, sql)
}

function orderSql({ column, descending }: OrderKey) {
  const keys = [column, 'parent', 'key']
  return { keys, ordered: keys.map((key) => `${key} ${descending ? 'desc' : 'asc'}`).join(', ') }
}

async function countRecords(db: Db, scope: string, filters: RecordFilters): Promise<number> {
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
