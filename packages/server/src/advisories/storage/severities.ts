import type { Score } from '@berth/advisory-formats/advisory-record.ts'
import {
  type Advisory,
  type Severity,
  SeveritySchema,
} from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { pathOf, rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import type { AdvisoryScoreRow } from '../../storage/schema/tables.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'

/**
 * Severities are found by the aliases of advisories: the scores of a vulnerability in a group's documents apply to the advisories of that
 * group and of its descendants.
 */

export const parseSeverity = (content: Uint8Array): Severity => fromBinary(SeveritySchema, content)

const aliasKey = (root: string, alias: string) => `${root} ${alias}`

/** Adds the scores of their vulnerabilities to the advisories of one page. */
export async function addSeverities(
  db: Pick<Db, 'engine' | 'read'>,
  advisories: readonly Advisory[],
): Promise<void> {
  const byRoot = Map.groupBy(advisories, ({ uid }) => rootOf(uid))
  const sql = sqlText(db.engine)
  const parts = [...byRoot].flatMap(([root, group]) => {
    const aliases = [...new Set(group.flatMap((advisory) => advisory.aliases))]
    if (aliases.length === 0) return []
    return `select * from advisory_scores where root = ${sql.bind(root)} and alias in (${sql.bindAll(aliases)})`
  })
  if (parts.length === 0) return
  const text = `select * from (${parts.join(' union all ')}) as found order by root, alias, parent, format, id, component`
  const rows = await runText<AdvisoryScoreRow>(db, text, sql)
  const scores = Map.groupBy(rows, ({ root, alias }) => aliasKey(root, alias))
  for (const advisory of advisories) {
    const groups = new Set<string>(pathOf(advisory.uid))
    const found = advisory.aliases
      .flatMap((alias) => scores.get(aliasKey(rootOf(advisory.uid), alias)) ?? [])
      .filter(({ parent, component }) => groups.has(parent) && appliesTo(component, advisory))
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

/**
 * Returns when the severity of advisories last changed, by uid: when a document was imported that has scores for them, or that is named
 * as one of their aliases and may have had scores before. Their own documents do not count, since those change the advisories too:
 * `ownIds` has the ids of OSV records, by uid.
 */
export async function readSeverityTimes(
  db: Pick<Db, 'engine' | 'read'>,
  advisories: readonly Advisory[],
  ownIds: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, number>> {
  const byRoot = Map.groupBy(advisories, ({ uid }) => rootOf(uid))
  const sql = sqlText(db.engine)
  const parts = [...byRoot].flatMap(([root, group]) => {
    const aliases = [...new Set(group.flatMap((advisory) => advisory.aliases))]
    const parents = [...new Set(group.flatMap(({ uid }) => pathOf(uid)))]
    if (aliases.length === 0) return []
    const scored = `select s.root, s.alias, s.component, d.parent, d.id, d.imported_ms from advisory_scores s
      join advisory_documents d on d.root = s.root and d.parent = s.parent and d.format = s.format and d.id = s.id
      where s.root = ${sql.bind(root)} and s.alias in (${sql.bindAll(aliases)})`
    const named = `select root, id as alias, '' as component, parent, id, imported_ms from advisory_documents
      where root = ${sql.bind(root)} and parent in (${sql.bindAll(parents)}) and format = 'osv' and id in (${sql.bindAll(aliases)})`
    return [scored, named]
  })
  const times = new Map<string, number>()
  if (parts.length === 0) return times
  const rows = await runText<ScoredRow>(db, parts.join(' union all '), sql)
  const byAlias = Map.groupBy(rows, ({ root, alias }) => aliasKey(root, alias))
  for (const advisory of advisories) {
    const groups = new Set<string>(pathOf(advisory.uid))
    for (const alias of advisory.aliases)
      for (const { parent, component, id, imported_ms } of byAlias.get(
        aliasKey(rootOf(advisory.uid), alias),
      ) ?? [])
        if (groups.has(parent) && appliesTo(component, advisory) && id !== ownIds.get(advisory.uid))
          times.set(advisory.uid, Math.max(times.get(advisory.uid) ?? 0, imported_ms))
  }
  return times
}

interface ScoredRow extends Pick<AdvisoryScoreRow, 'root' | 'alias' | 'parent' | 'id' | 'component'> {
  readonly imported_ms: number
}

function appliesTo(component: string, { componentName, artifactName }: Advisory): boolean {
  return component === '' || component === componentName || component === artifactName
}
