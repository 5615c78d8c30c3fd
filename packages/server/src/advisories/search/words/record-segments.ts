import { rootOf, subtreeRange } from '../../../api/uid.ts'
import { insertRows } from '../../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../../storage/db.ts'
import type {
  RecordBlockRow,
  RecordSegmentRow,
  VulnerabilityRecordRow,
} from '../../../storage/schema/tables.ts'
import { runInTransaction, runLongText, runText, sqlText } from '../../../storage/sql-text.ts'
import { encodeFacts } from './record-facts.ts'
import { buildWordBlocks } from './word-blocks.ts'

/**
 * The index of the words of records: segments of some thousand records of one group (ADR 89). A segment never changes, but for the keys of
 * records that were deleted since. Records that are in no segment yet have a `segment` that is not positive.
 */

/** The block with the facts of a segment. */
export const FACTS = -1

export type Segment = Pick<RecordSegmentRow, 'parent' | 'segment' | 'records' | 'gaps'>

export async function readSegments(db: Db, scope: string): Promise<readonly Segment[]> {
  const { from, to } = subtreeRange(scope)
  const sql = sqlText(db.engine)
  const text = `select parent, segment, records, gaps from record_segments
    where root = ${sql.bind(rootOf(scope))} and parent >= ${sql.bind(from)} and parent < ${sql.bind(to)} order by parent, segment`
  const rows = await runText<Segment>(db, text, sql)
  return rows.map((row) => ({ ...row, segment: Number(row.segment), records: Number(row.records) }))
}

/** The keys of records that a segment has, but that were deleted. */
export function gapsOf({ gaps }: Pick<Segment, 'gaps'>): ReadonlySet<string> {
  return new Set(gaps.split(' ').filter((key) => key !== ''))
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
    row: { ...key, records: records.length, gaps: '' },
    blocks: [
      { ...key, block: FACTS, words: texts, postings: numbers },
      ...blocks.map((block, at) => ({ ...key, block: at, ...block })),
    ],
  }
}

/** Replaces segments of a group by another one. */
export async function replaceSegments(
  db: Db,
  tx: Tx,
  { row, blocks }: Awaited<ReturnType<typeof buildSegment>>,
  replaced: readonly number[],
): Promise<void> {
  const { root, parent } = row
  if (replaced.length > 0)
    for (const table of ['record_segments', 'record_blocks'] as const)
      await tx
        .deleteFrom(table)
        .where('root', '=', root)
        .where('parent', '=', parent)
        .where('segment', 'in', [...replaced])
        .execute()
  await insertRows(db, tx, 'record_segments', [row])
  for (const block of blocks) await insertRows(db, tx, 'record_blocks', [block])
}

/** Adds the keys of records that are deleted to their segments. */
export async function addGaps(
  db: Db,
  tx: Tx,
  root: string,
  parent: string,
  deleted: readonly Pick<VulnerabilityRecordRow, 'key' | 'segment'>[],
): Promise<void> {
  for (const [segment, records] of Map.groupBy(deleted, (record) => Number(record.segment))) {
    if (segment <= 0) continue
    const keys = records.map(({ key }) => ` ${key}`).join('')
    const sql = sqlText(db.engine)
    const text = `update record_segments set gaps = gaps || ${sql.bind(keys)}
      where root = ${sql.bind(root)} and parent = ${sql.bind(parent)} and segment = ${sql.bind(segment)}`
    await runInTransaction(tx, text, sql)
  }
}
