import type { Advisory } from '#gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { pathOf, rootOf } from '../core/uid.ts'
import type { Db } from '../storage/db.ts'
import { runText, sqlText } from '../storage/sql-text.ts'
import type { AdvisoryScoreRow } from '../storage/tables.ts'
import type { Score } from './advisory-record.ts'

/**
 * Severities come through the aliases: what a document in a group says of a vulnerability holds for the advisories of that group
 * and of those below it.
 */

const keyOf = (root: string, alias: string) => `${root} ${alias}`

/** Adds the scores of their vulnerabilities to advisories, which are of one page. */
export async function addSeverities(
  db: Pick<Db, 'engine' | 'read'>,
  advisories: readonly Advisory[],
): Promise<void> {
  const byRoot = Map.groupBy(advisories, ({ uid }) => rootOf(uid))
  const sql = sqlText(db.engine)
  const parts = [...byRoot].flatMap(([root, its]) => {
    const aliases = [...new Set(its.flatMap((advisory) => advisory.aliases))]
    if (aliases.length === 0) return []
    return `select * from advisory_scores where root = ${sql.bind(root)} and alias in (${sql.bindAll(aliases)})`
  })
  if (parts.length === 0) return
  const text = `select * from (${parts.join(' union all ')}) as found order by root, alias, parent, format, id, component`
  const rows = await runText<AdvisoryScoreRow>(db, text, sql)
  const scores = Map.groupBy(rows, ({ root, alias }) => keyOf(root, alias))
  for (const advisory of advisories) {
    const groups = new Set<string>(pathOf(advisory.uid))
    const found = advisory.aliases
      .flatMap((alias) => scores.get(keyOf(rootOf(advisory.uid), alias)) ?? [])
      .filter(({ parent, component }) => groups.has(parent) && isAbout(component, advisory))
      .flatMap(({ severities }) => JSON.parse(severities) as Score[])
    for (const { type, score } of found)
      if (!advisory.severities.some((known) => known.type === type && known.score === score))
        advisory.severities.push({
          $typeName: 'chainguard.platform.vulnerabilities.v2beta1.Severity',
          type,
          score,
        })
  }
}

function isAbout(component: string, { componentName, artifactName }: Advisory): boolean {
  return component === '' || component === componentName || component === artifactName
}
