import { severityRater } from '@berth/advisory-formats/severity/severity-rater.ts'
import { severityLabels } from '@berth/advisory-formats/severity/severity-ratings.ts'
import { AdvisorySchema } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { create } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { descendantRange, rootOf, type Uid } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import type { AdvisoryRow } from '../../storage/schema/tables.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import { addSeverities, parseSeverity } from '../storage/severities.ts'

/**
 * Counts the advisories of a group by severity. Severities depend on the scores of all groups above, so they are not stored with the
 * advisories: all of them are read, page by page.
 */

/** The highest first; `unknown`: no score is known. */
export const severities = [...severityLabels, 'unknown'] as const
export type SeverityName = (typeof severities)[number]

export type SeverityCounts = Partial<Record<SeverityName, number>>

export interface CountedSeverities {
  readonly all: SeverityCounts
  /** By month of creation (`2026-05`), the oldest first. */
  readonly months: readonly (readonly [month: string, counts: SeverityCounts])[]
}

const MONTHS_MAX = 12
const PAGE_SIZE = 500

type Row = Pick<AdvisoryRow, 'uid' | 'artifact_name' | 'component_name' | 'created_ms' | 'content'>

export async function countSeverities(
  db: Pick<Db, 'engine' | 'read'>,
  group: Uid,
): Promise<CountedSeverities> {
  const all: SeverityCounts = {}
  const months = new Map<string, SeverityCounts>()
  const { from, to } = descendantRange(group)
  let last: string = from
  for (;;) {
    const sql = sqlText(db.engine)
    const text = `select uid, artifact_name, component_name, created_ms, content from advisories
      where root = ${sql.bind(rootOf(group))} and uid > ${sql.bind(last)} and uid < ${sql.bind(to)} order by uid limit ${PAGE_SIZE}`
    const rows = await runText<Row>(db, text, sql)
    const advisories = rows.map(toScoredAdvisory)
    await addSeverities(db, advisories)
    for (const [at, advisory] of advisories.entries()) {
      const severity = severityRater.worstRating(advisory.severities)?.label ?? 'unknown'
      const month = new Date(Number(rows[at]?.created_ms)).toISOString().slice(0, 'YYYY-MM'.length)
      const ofMonth = months.get(month) ?? {}
      months.set(month, ofMonth)
      for (const counts of [all, ofMonth]) counts[severity] = (counts[severity] ?? 0) + 1
    }
    if (rows.length < PAGE_SIZE) break
    last = rows.at(-1)?.uid ?? to
    await yieldToEventLoop()
  }
  const sorted = [...months].sort(([a], [b]) => (a < b ? -1 : 1))
  return { all, months: sorted.slice(-MONTHS_MAX) }
}

/** Reads only the fields that decide the severity: the events of an advisory are many times larger. */
function toScoredAdvisory({ uid, artifact_name, component_name, content }: Row) {
  const advisory = create(AdvisorySchema, {
    uid,
    artifactName: artifact_name,
    componentName: component_name,
  })
  const { aliases, severities: own } = AdvisorySchema.field
  const reader = new BinaryReader(content)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === aliases.number && type === WireType.LengthDelimited) advisory.aliases.push(reader.string())
    else if (field === own.number && type === WireType.LengthDelimited)
      advisory.severities.push(parseSeverity(reader.bytes()))
    else reader.skip(type, field)
  }
  return advisory
}
