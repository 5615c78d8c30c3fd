import { rootOf, subtreeRange } from '../../../api/uid.ts'
import { incrementRows, insertRows } from '../../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../../storage/db.ts'
import type {
  AdvisoryDocumentRow,
  RecordBlockRow,
  RecordGapRow,
  RecordSegmentRow,
  VulnerabilityRecordRow,
} from '../../../storage/schema/tables.ts'
import { runLongText, runText, type SqlText, sqlText } from '../../../storage/sql-text.ts'
import { encodeFacts } from './record-facts.ts'
import { buildWordBlocks } from './word-blocks.ts'

/**
 * The index of the words of records: segments of some thousand records of one group (ADR 89). A segment never changes; the
 * records that were replaced or deleted since are its gaps. Records that are in no segment yet have a `segment` that is not positive.
 */

/** The block with the facts of a segment. */
export const FACTS = -1

export type Segment = Pick<RecordSegmentRow, 'parent' | 'segment' | 'records'>

export async function readSegments(db: Db, scope: string): Promise<readonly Segment[]> {
  const { from, to } = subtreeRange(scope)
  const sql = sqlText(db.engine)
  const text = `select parent, segment, records from record_segments
    where root = ${sql.bind(rootOf(scope))} and parent >= ${sql.bind(from)} and parent < ${sql.bind(to)} order by parent, segment`
  const rows = await runText<Segment>(db, text, sql)
  return rows.map(({ parent, segment, records }) => ({
    parent,
    segment: Number(segment),
    records: Number(records),
  }))
}

export const segmentName = ({ parent, segment }: Pick<Segment, 'parent' | 'segment'>): string =>
  `${parent} ${segment}`

/** Whether two lists have the same segments. */
export function areSameSegments(before: readonly Segment[], after: readonly Segment[]): boolean {
  return before.map(segmentName).join() === after.map(segmentName).join()
}

/** Whether more than `max` records that meet a condition are in no segment. */
export async function hasMoreUnindexed(
  db: Db,
  root: string,
  condition: (sql: SqlText) => string,
  max: number,
): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from (select 1 from vulnerability_records
    where root = ${sql.bind(root)} and ${condition(sql)} and segment <= 0 limit ${sql.bind(max + 1)}) as counted`
  const [row] = await runText<{ readonly n: number }>(db, text, sql)
  return Number(row?.n ?? 0) > max
}

/** Returns the keys of records that segments have, but that were replaced or deleted since, by name of the segment. */
export async function readGaps(
  db: Db,
  root: string,
  segments: readonly Segment[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const gaps = new Map<string, Set<string>>()
  if (segments.length === 0) return gaps
  const sql = sqlText(db.engine)
  const text = `select parent, segment, key from record_gaps
    where root = ${sql.bind(root)} and ${rangeOf(segments, (value) => sql.bind(value))}`
  for (const row of await runLongText<Omit<RecordGapRow, 'root'>>(db, text, sql)) {
    const name = segmentName(row)
    const known = gaps.get(name)
    if (known === undefined) gaps.set(name, new Set([row.key]))
    else known.add(row.key)
  }
  return gaps
}

export type Block = Pick<RecordBlockRow, 'parent' | 'segment' | 'block' | 'words' | 'postings'>

/** Reads the blocks of consecutive segments with words that contain one of some parts. */
export function readBlocks(
  db: Db,
  root: string,
  segments: readonly Segment[],
  parts: readonly string[],
): Promise<Block[]> {
  const sql = sqlText(db.engine)
  const text = `select parent, segment, block, words, postings from record_blocks
    where root = ${sql.bind(root)} and ${rangeOf(segments, (value) => sql.bind(value))} and block > ${FACTS}
      and (${parts.map((part) => sql.rules.contains('words', sql.bind(part))).join(' or ')})`
  return runLongText<Block>(db, text, sql)
}

export function readFacts(
  db: Db,
  root: string,
  segments: readonly Segment[],
  { hasTexts }: { readonly hasTexts: boolean },
): Promise<Block[]> {
  const sql = sqlText(db.engine)
  const text = `select parent, segment, block, ${hasTexts ? 'words' : "'' as words"}, postings from record_blocks
    where root = ${sql.bind(root)} and ${rangeOf(segments, (value) => sql.bind(value))} and block = ${FACTS}`
  return runLongText<Block>(db, text, sql)
}

function rangeOf(segments: readonly Segment[], bind: (value: string | number) => string): string {
  const [first, last] = [segments[0] as Segment, segments.at(-1) as Segment]
  const pair = ({ parent, segment }: Segment) => `(${bind(parent)}, ${bind(segment)})`
  return `(parent, segment) >= ${pair(first)} and (parent, segment) <= ${pair(last)}`
}

export type RecordToIndex = Pick<
  VulnerabilityRecordRow,
  'parent' | 'key' | 'id' | 'modified_ms' | 'score' | 'severity' | 'cwes' | 'search' | 'segment'
>

/** Builds the rows of a segment. */
export async function buildSegment(
  root: string,
  parent: string,
  segment: number,
  records: readonly RecordToIndex[],
): Promise<{ readonly row: RecordSegmentRow; readonly blocks: readonly RecordBlockRow[] }> {
  const blocks = await buildWordBlocks(records.map(({ search }) => search))
  const { numbers, texts } = encodeFacts(records)
  const key = { root, parent, segment }
  return {
    row: { ...key, records: records.length },
    blocks: [
      { ...key, block: FACTS, words: texts, postings: numbers },
      ...blocks.map((block, at) => ({ ...key, block: at, ...block })),
    ],
  }
}

/** Deletes segments of a group. */
export async function deleteSegments(
  tx: Tx,
  root: string,
  parent: string,
  segments: readonly number[],
): Promise<void> {
  if (segments.length === 0) return
  for (const table of ['record_segments', 'record_blocks', 'record_gaps'] as const)
    await tx
      .deleteFrom(table)
      .where('root', '=', root)
      .where('parent', '=', parent)
      .where('segment', 'in', [...segments])
      .execute()
}

export async function insertSegment(
  db: Db,
  tx: Tx,
  { row, blocks }: Awaited<ReturnType<typeof buildSegment>>,
): Promise<void> {
  await insertRows(db, tx, 'record_segments', [row])
  for (const block of blocks) await insertRows(db, tx, 'record_blocks', [block])
}

/** Adds the records of a document, which are about to be deleted, to the gaps of their segments; returns how many there are. */
export async function addGaps(
  tx: Tx,
  { root, parent, format, id }: Pick<AdvisoryDocumentRow, 'root' | 'parent' | 'format' | 'id'>,
): Promise<number> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('record_gaps')
    .columns(['root', 'parent', 'segment', 'key'])
    .expression((from) =>
      from
        .selectFrom('vulnerability_records')
        .select(['root', 'parent', 'segment', 'key'])
        .where('root', '=', root)
        .where('parent', '=', parent)
        .where('format', '=', format)
        .where('document', '=', id)
        .where('segment', '>', 0),
    )
    .executeTakeFirst()
  return Number(numInsertedOrUpdatedRows ?? 0)
}

/** Lets the job look at a group. */
export async function queueIndexing(db: Db, tx: Tx, root: string, parent: string): Promise<void> {
  await incrementRows(db, tx, 'record_index_changes', [{ root, parent, revision: 1 }], {
    key: ['root', 'parent'],
    numbers: ['revision'],
  })
}
