import type { OrderKey } from '../../../api/order-by.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { Db } from '../../../storage/db.ts'
import type { RecordCursor, RecordFilters } from '../search-records.ts'
import { type FoundKey, factsReader } from './record-facts.ts'
import {
  type Block,
  readBlocks,
  readFacts,
  type readGaps,
  type Segment,
  segmentName,
} from './record-segments.ts'
import { markPositions } from './word-blocks.ts'

/** Finds records by the index of their words. */

export interface IndexPage {
  readonly order: OrderKey
  readonly after: RecordCursor | undefined
  readonly size: number
}

export interface IndexMatches {
  /** The first ones of the page. */
  readonly first: readonly FoundInSegment[]
  readonly total: number
}

export interface FoundInSegment extends FoundKey {
  readonly segment: number
}

export interface SegmentsToSearch {
  readonly segments: readonly Segment[]
  readonly gaps: Awaited<ReturnType<typeof readGaps>>
}

/** Segments whose blocks are in memory at a time. */
const SEGMENTS_AT_A_TIME = 8

/** Returns the records with all parts that are in segments, and `others`, which were found elsewhere. */
export async function searchSegments(
  db: Db,
  root: string,
  { segments, gaps }: SegmentsToSearch,
  { words: parts, severities, minScore, cwes }: RecordFilters,
  page: IndexPage,
  others: readonly FoundInSegment[],
): Promise<IndexMatches> {
  const hasTexts = severities.length > 0 || cwes.length > 0 || page.order.column === 'id'
  const matches = firstOf(page)
  const known = new Set(others.map(keyOf))
  for (const other of others) matches.add(other)
  for (let at = 0; at < segments.length; at += SEGMENTS_AT_A_TIME) {
    const some = segments.slice(at, at + SEGMENTS_AT_A_TIME)
    const marked = await markSegments(some, await readBlocks(db, root, some, parts), parts)
    if (marked.size === 0) continue
    for (const facts of await readFacts(db, root, some, { hasTexts })) {
      await yieldToEventLoop()
      const segment = Number(facts.segment)
      const marks = marked.get(segmentName(facts))
      if (marks === undefined) continue
      const gapsHere = gaps.get(segmentName(facts))
      const read = factsReader(facts.parent, facts.postings, hasTexts ? facts.words : undefined)
      for (const [position, count] of marks.entries()) {
        if (count < parts.length) continue
        const found = read(position)
        const name = keyOf(found)
        if (gapsHere?.has(found.key) || known.has(name)) continue
        if (severities.length > 0 && !severities.includes(found.severity)) continue
        if (minScore !== undefined && found.score < Math.round(minScore * 10)) continue
        if (cwes.length > 0 && !found.cwes.split(' ').some((cwe) => cwes.includes(cwe))) continue
        known.add(name)
        matches.add({ ...found, segment })
      }
    }
  }
  return { first: matches.first, total: matches.total() }
}

const keyOf = ({ parent, key }: Pick<FoundKey, 'parent' | 'key'>): string => `${parent} ${key}`

/** Returns the marks of segments with words of all parts. */
async function markSegments(
  segments: readonly Segment[],
  blocks: readonly Block[],
  parts: readonly string[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const marked = new Map<string, Uint8Array>()
  const bySegment = Map.groupBy(blocks, segmentName)
  for (const segment of segments) {
    const its = bySegment.get(segmentName(segment))
    if (its === undefined) continue
    const marks = new Uint8Array(segment.records)
    for (const [count, part] of parts.entries())
      for (const block of its) {
        await yieldToEventLoop()
        if (block.words.includes(part)) markPositions(block, part, marks, count)
      }
    if (marks.includes(parts.length)) marked.set(segmentName(segment), marks)
  }
  return marked
}

/** Keeps the first records of a page, and counts all. */
function firstOf({ order, after, size }: IndexPage) {
  const first: FoundInSegment[] = []
  let count = 0
  const keysOf = (found: FoundInSegment): RecordCursor => [
    found[order.column as 'id' | 'modified_ms' | 'score'],
    found.parent,
    found.key,
  ]
  const compare = (a: RecordCursor, b: RecordCursor): number => {
    const at = a.findIndex((value, index) => value !== b[index])
    if (at === -1) return 0
    return isLess(a[at] ?? 0, b[at] ?? 0) === order.descending ? 1 : -1
  }
  return {
    first,
    total: () => count,
    add(found: FoundInSegment): void {
      count++
      const keys = keysOf(found)
      if (after !== undefined && compare(keys, after) <= 0) return
      const last = first.at(-1)
      if (first.length === size && last !== undefined && compare(keys, keysOf(last)) >= 0) return
      let [low, high] = [0, first.length]
      while (low < high) {
        const middle = (low + high) >>> 1
        if (compare(keysOf(first[middle] as FoundInSegment), keys) < 0) low = middle + 1
        else high = middle
      }
      first.splice(low, 0, found)
      if (first.length > size) first.pop()
    },
  }
}

/** Texts in the order of the database: that of their bytes in UTF-8. */
function isLess(a: string | number, b: string | number): boolean {
  return typeof a === 'string' && typeof b === 'string'
    ? Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0
    : a < b
}
