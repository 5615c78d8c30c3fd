import type { Score } from '@berth/advisory-formats/advisory-record.ts'
import { formatLimits } from '@berth/advisory-formats/limits.ts'
import { lookupNamesOf } from '../../advisories/packages/package-names.ts'
import type { Db } from '../../storage/db.ts'
import type { AdvisoryScoreRow } from '../../storage/schema/tables.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import {
  type Candidate,
  type CandidateRow,
  candidateColumns,
  type MatchedPackage,
  toCandidate,
} from '../matching/candidate.ts'
import type { KnownScores } from '../matching/match.ts'

/** Reads the advisories that may be about packages, with the scores of their vulnerabilities. */

/** Names or IDs in one statement. */
const BATCH = 200

/** Returns the advisories of an organization by the name under which they are indexed. */
export async function readCandidates(
  db: Db,
  root: string,
  packages: readonly MatchedPackage[],
): Promise<ReadonlyMap<string, readonly Candidate[]>> {
  const names = [...new Set(packages.flatMap(lookupNamesOf))]
  const found = new Map<string, Candidate[]>()
  const columns = candidateColumns.map((column) => `a.${column}`).join(', ')
  for (let at = 0; at < names.length; at += BATCH) {
    const sql = sqlText(db.engine)
    // Few names have advisories: SQLite must start with them.
    const text = `select p.name, ${columns} from advisory_packages as p cross join advisories as a
      where p.root = ${sql.bind(root)} and p.name in (${sql.bindAll(names.slice(at, at + BATCH))}) and a.root = p.root and a.uid = p.uid`
    for (const { name, ...row } of await runText<CandidateRow & { readonly name: string }>(db, text, sql)) {
      const known = found.get(name)
      if (known === undefined) found.set(name, [toCandidate(row)])
      else known.push(toCandidate(row))
    }
  }
  return found
}

/**
 * Returns the scores and weaknesses of vulnerabilities in an organization, by ID. Scores of one component apply to it only, which the advisories of its
 * package have themselves.
 */
export async function readScores(
  db: Db,
  root: string,
  candidates: Iterable<readonly Candidate[]>,
): Promise<KnownScores> {
  const ids = [...new Set([...candidates].flatMap((all) => all.flatMap(({ advisory }) => advisory.aliases)))]
  const known = new Map<string, { severities: Score[]; cwes: string[] }>()
  for (let at = 0; at < ids.length; at += BATCH) {
    const sql = sqlText(db.engine)
    const text = `select alias, severities, cwes from advisory_scores
      where root = ${sql.bind(root)} and alias in (${sql.bindAll(ids.slice(at, at + BATCH))}) and component = ''`
    const rows = await runText<Pick<AdvisoryScoreRow, 'alias' | 'severities' | 'cwes'>>(db, text, sql)
    for (const { alias, severities, cwes } of rows) {
      const its = known.get(alias) ?? { severities: [], cwes: [] }
      its.severities.push(...(JSON.parse(severities) as Score[]))
      // Documents of several groups may have scores for an ID.
      if (cwes !== '' && its.cwes.length < formatLimits.advisoryCwesMax) its.cwes.push(...cwes.split(' '))
      known.set(alias, its)
    }
  }
  return known
}
