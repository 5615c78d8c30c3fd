import { ResourceKind } from '@berth/contract/gen/berth/search/v1/search_pb.js'
import type { Advisory } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { facets, indexKey } from '../advisories/search/facets.ts'
import { type IndexCondition, postingsSql } from '../advisories/search/inverted-index.ts'
import { toAdvisory } from '../advisories/storage/stored-advisory.ts'
import { parentOf, rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { Db } from '../storage/db.ts'
import { runLongText, sqlText } from '../storage/sql-text.ts'
import { type Area, branchesOf } from './areas.ts'
import { compareMatches, type Found, type Match, NOTHING } from './matches.ts'

/** Finds advisories by the index of their lists: by a whole ID or package name, and by a part of one. */

const exactFacets = [facets.advisoryId, facets.alias, facets.componentName, facets.artifactName]

/** A shorter text is part of too many names. */
const PART_CHARS_MIN = 3

/** `text` as it was typed. */
export async function findAdvisories(db: Db, text: string, area: Area): Promise<Found> {
  if (area.ranges.length === 0) return NOTHING
  const lower = text.toLowerCase()
  const isShort = Array.from(lower).length <= limits.advisorySuffixCharsMax
  const exact = await readMatching(db, area, exactCondition(text))
  const isFull = exact.length > limits.searchCandidatesMax
  const isPart = !isFull && isShort && lower.length >= PART_CHARS_MIN
  const others = isPart ? await readMatching(db, area, { part: lower }) : []
  const known = new Set(exact.map(({ uid }) => uid))
  const all = [...exact, ...others.filter(({ uid }) => !known.has(uid))]
  const isCut = all.length > limits.searchCandidatesMax || area.isPartial
  return {
    matches: all.map((advisory) => toMatch(advisory, lower)).sort(compareMatches),
    incomplete: isCut ? [ResourceKind.ADVISORY] : [],
  }
}

/** IDs have upper-case letters, names of packages rarely do. */
function exactCondition(text: string): IndexCondition {
  const [prefix = '', ...rest] = text.split('-')
  const forms = [text, text.toUpperCase(), text.toLowerCase()]
  // CGA and GHSA IDs have lower-case letters after the prefix.
  forms.push([prefix.toUpperCase(), ...rest.map((part) => part.toLowerCase())].join('-'))
  const keys = exactFacets.flatMap((facet) => forms.map((form) => indexKey(facet, form).toString('hex')))
  return { keys: [...new Set(keys)] }
}

async function readMatching(db: Db, area: Area, condition: IndexCondition): Promise<Advisory[]> {
  const max = limits.searchCandidatesMax + 1
  const branches = branchesOf(area)
  const { branchesMax } = db.sizes
  const found: string[] = []
  for (let at = 0; at < branches.length && found.length < max; at += branchesMax) {
    const sql = sqlText(db.engine)
    const parts = branches
      .slice(at, at + branchesMax)
      .map(
        (branch) => `select * from (${postingsSql(sql, condition, branch)} limit ${sql.bind(max)}) as part`,
      )
    const rows = await runLongText<{ root: string; uid: string }>(db, parts.join(' union '), sql)
    found.push(...rows.map(({ uid }) => uid))
  }
  const uids = found.slice(0, max)
  if (uids.length === 0) return []
  const rows = await db.kysely
    .selectFrom('advisories')
    .select(['uid', 'advisory_id', 'artifact_name', 'component_name', 'content', 'created_ms', 'updated_ms'])
    .where('root', 'in', [...new Set(uids.map(rootOf))])
    .where('uid', 'in', uids)
    .execute()
  return rows.map(toAdvisory)
}

function toMatch(advisory: Advisory, text: string): Match {
  const { uid, advisoryId, aliases, componentName, artifactName, updateTime } = advisory
  const ids = [...aliases, advisoryId]
  const texts = [...ids, componentName, artifactName].map((value) => value.toLowerCase())
  const name =
    ids.find((id) => id.toLowerCase() === text) ?? ids.find((id) => id.startsWith('CVE-')) ?? ids[0] ?? ''
  return {
    kind: ResourceKind.ADVISORY,
    uid,
    name: name === '' ? advisoryId : name,
    detail: componentName === artifactName ? artifactName : `${componentName} in ${artifactName}`,
    parent: parentOf(uid),
    digest: '',
    updatedMs: updateTime === undefined ? 0 : Number(updateTime.seconds) * MS_PER_SECOND,
    rank: texts.includes(text) ? 0 : texts.some((value) => value.startsWith(text)) ? 1 : 2,
  }
}

const MS_PER_SECOND = 1000
