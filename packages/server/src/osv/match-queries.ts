import { lookupNamesOf } from '../advisories/packages/package-names.ts'
import { osvRecordId } from '../advisories/publish/read-osv-records.ts'
import type { Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { toCandidate } from '../findings/matching/candidate.ts'
import { concernedVersion, evaluate } from '../findings/matching/evaluate.ts'
import { type NamedVulnerability, rankByVulnerability, type Stated } from '../findings/matching/match.ts'
import { countCandidates, readCandidatePages } from '../findings/storage/candidate-pages.ts'
import { yieldToEventLoop } from '../runtime/event-loop.ts'
import type { Db } from '../storage/db.ts'
import type { OsvQuery } from './parse-queries.ts'

/** Finds the records that queries are about, by the same rules as the findings of images. */

/** States in which a record is returned. Records with versions that cannot be compared are not. */
const affectedStates: ReadonlySet<string> = new Set(['affected', 'pending-upstream', 'under-investigation'])

interface NamedRecord extends NamedVulnerability {
  readonly recordId: string
}

/** Returns the sorted IDs of the records of each query; undefined for queries beyond what one request may compare. */
export async function matchQueries(
  db: Db,
  group: Uid,
  queries: readonly OsvQuery[],
): Promise<readonly (readonly string[] | undefined)[]> {
  const namesOf = ({ pkg }: OsvQuery) => (pkg === undefined ? [] : lookupNamesOf(pkg))
  const counts = await countCandidates(db, group, [...new Set(queries.flatMap(namesOf))])
  let compared = 0
  const isWithin = queries.map((query, at) => {
    compared += namesOf(query).reduce((sum, name) => sum + (counts.get(name) ?? 0), 0)
    return at === 0 || compared <= limits.osvCandidatesMax
  })
  const asking = new Map<string, number[]>()
  for (const [at, query] of queries.entries())
    if (isWithin[at]) for (const name of namesOf(query)) asking.set(name, [...(asking.get(name) ?? []), at])
  const wanted = new Map([...counts].filter(([name]) => asking.has(name)))
  const listed = queries.map(() => new Set<string>())
  const stated = queries.map(() => new Map<string, Stated<NamedRecord>>())
  for await (const rows of readCandidatePages(db, group, wanted))
    for (const row of rows) {
      await yieldToEventLoop()
      const candidate = toCandidate(row)
      const named = { ...candidate, recordId: osvRecordId(row) }
      for (const at of asking.get(row.name) ?? []) {
        const { pkg, hasVersion } = queries[at] as OsvQuery
        if (pkg === undefined) continue
        if (!hasVersion) {
          if (concernedVersion(candidate, pkg) !== undefined) listed[at]?.add(named.recordId)
          continue
        }
        const statement = evaluate(candidate, pkg)
        const { recordId, advisoryId, advisory } = named
        const slim = { recordId, advisoryId, advisory: { aliases: advisory.aliases } }
        if (statement !== undefined) stated[at]?.set(row.uid, { candidate: slim, statement })
      }
    }
  return queries.map((_, at) => {
    if (!isWithin[at]) return undefined
    for (const its of rankByVulnerability([...(stated[at]?.values() ?? [])]).values()) {
      if (!affectedStates.has(its[0]?.statement.state ?? '')) continue
      for (const { candidate, statement } of its)
        if (affectedStates.has(statement.state)) listed[at]?.add(candidate.recordId)
    }
    return [...(listed[at] ?? [])].sort()
  })
}
