import {
  AdvisorySummariesService,
  type AdvisorySummary,
  AdvisorySummarySchema,
  AdvisorySummary_Rating as Rating,
} from '@berth/contract/gen/berth/vulnerabilities/v1/summaries_pb.js'
import { EventTypeFilterSchema } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { create } from '@bufbuild/protobuf'
import { notFound } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { pathBelowRoot, rootOf, subtreeRange, type Uid } from '../../api/uid.ts'
import { GROUP_TYPE } from '../../iam/groups/parent-group.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { rangeCountSql } from '../../storage/counts/row-counts.ts'
import type { Db } from '../../storage/db.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { readPublicationState } from '../publish/publication-state.ts'
import { facets, indexKey } from '../search/facets.ts'
import { type SeverityCounts, type SeverityName, severities } from '../summary/severity-counts.ts'
import { createSeveritySummaries } from '../summary/severity-summaries.ts'

/** Counts of the advisories of a group. */
export function advisorySummariesService(store: Store) {
  const { db } = store
  const summaries = createSeveritySummaries(store)

  return implement(AdvisorySummariesService, {
    async getAdvisorySummary(_request, call): Promise<AdvisorySummary> {
      const group = requireScope(call).scope as Uid
      const state = await readPublicationState(db.kysely, group)
      if (state === undefined) throw notFound(GROUP_TYPE, group)
      const [counts, counted] = await Promise.all([readStoredCounts(db, group), summaries.read(group, state)])
      return create(AdvisorySummarySchema, {
        uid: group,
        ...counts,
        severities: toSeverityCounts(counted?.all ?? {}),
        months: (counted?.months ?? []).map(([month, ofMonth]) => ({
          month,
          severities: toSeverityCounts(ofMonth),
        })),
        outdated: counted?.isOutdated ?? true,
        ...(counted !== undefined && { severityTime: timestampOf(counted.startMs) }),
      })
    },
  })
}

/** Reads counts that imports keep up to date. */
async function readStoredCounts(db: Db, group: Uid) {
  const range = subtreeRange(group)
  const types = new Map(
    EventTypeFilterSchema.values.map(({ number }) => [
      indexKey(facets.latestEventType, String(number)).toString('hex'),
      number,
    ]),
  )
  const ofAll = sqlText(db.engine)
  const totals = await runText<{ n: number }>(
    db,
    `select ${rangeCountSql(ofAll, 'advisories', range)} as n`,
    ofAll,
  )
  const sql = sqlText(db.engine)
  const text = `select value, sum(n) as n from advisory_posting_counts where root = ${sql.bind(rootOf(group))}
    and value in (${[...types.keys()].map((key) => sql.bind(Buffer.from(key, 'hex'))).join(', ')})
    and parent >= ${sql.bind(pathBelowRoot(group))} and parent < ${sql.bind(pathBelowRoot(range.to))} group by value`
  const rows = await runText<{ value: Uint8Array; n: number }>(db, text, sql)
  const counts = new Map(rows.map(({ value, n }) => [Buffer.from(value).toString('hex'), Number(n)]))
  return {
    totalCount: BigInt(totals[0]?.n ?? 0),
    states: [...types].flatMap(([key, latestEventType]) => {
      const count = counts.get(key) ?? 0
      return count === 0 ? [] : [{ latestEventType, count: BigInt(count) }]
    }),
  }
}

const ratings: Readonly<Record<SeverityName, Rating>> = {
  critical: Rating.CRITICAL,
  high: Rating.HIGH,
  medium: Rating.MEDIUM,
  low: Rating.LOW,
  none: Rating.NONE,
  unknown: Rating.UNKNOWN,
}

function toSeverityCounts(counts: SeverityCounts) {
  return severities.flatMap((name) =>
    counts[name] === undefined ? [] : [{ rating: ratings[name], count: BigInt(counts[name]) }],
  )
}
