import { ResourceKind } from '@berth/contract/gen/berth/search/v1/search_pb.js'
import { rootOf, type UidRange } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { rangeCountSql } from '../storage/counts/row-counts.ts'
import type { Db } from '../storage/db.ts'
import { readRowsByUid } from '../storage/rows-by-uid.ts'
import { runCachedText, runLongText, type SqlText, sqlText } from '../storage/sql-text.ts'
import { type Area, isOrganization, rowsIn } from './areas.ts'
import { LAST } from './find-named.ts'
import { type Found, type Match, NOTHING } from './matches.ts'

/** Finds tags by a prefix of their name, and manifests by a prefix of their digest. Indexes serve both. */

interface TagRow {
  readonly uid: string
  readonly name: string
  readonly digest: string
  readonly parent: string
  readonly updated_ms: number | string
}

const tagColumns = 't.uid, t.name, t.digest, t.parent, t.updated_ms'

/** Tags that name signatures and other referrers by digest are not found. */
const namedForms = 't.forms in (0, 2, 4, 6)'

/** Finds the tags with a prefix, in the order of names. */
export async function findTags(db: Db, prefix: string, area: Area): Promise<Found> {
  if (area.ranges.length === 0) return NOTHING
  const sql = sqlText(db.engine)
  const max = limits.searchCandidatesMax + 1
  const index = (await areFew(db, area)) ? {} : { index: 'tags_by_name' }
  const part = (ranges: readonly UidRange[], order: string) => {
    const { from, where } = rowsIn(sql, { ...area, ranges }, { table: 'tags', uid: 'uid', ...index })
    return `select * from (select ${tagColumns} from ${from} where ${where} and t.name >= ${sql.bind(prefix)}
      and t.name < ${sql.bind(prefix + LAST)} and ${namedForms}${order} limit ${sql.bind(max)}) as part`
  }
  // Each range is in the order of names; many ranges together are read until there are enough.
  const parts =
    area.ranges.length > db.sizes.branchesMax
      ? [part(area.ranges, '')]
      : area.ranges.map((range) => part([range], ' order by t.name'))
  const rows = await runLongText<TagRow>(db, parts.join(' union all '), sql)
  rows.sort((a, b) => (a.name < b.name ? -1 : 1))
  return foundTags(rows, (name) => (name === prefix ? 0 : 1), area.isPartial)
}

/** Whether folders have so few tags that reading these is faster than reading the names of all tags of the organization. */
async function areFew(db: Db, { ranges }: Area): Promise<boolean> {
  if (!db.rules.needsPlanHints || ranges.length > db.sizes.branchesMax || ranges.every(isOrganization))
    return false
  const sql = sqlText(db.engine)
  const counts = ranges.map((range) => rangeCountSql(sql, 'tags', range))
  const [row] = await runCachedText<{ n: number }>(db, `select ${counts.join(' + ')} as n`, sql)
  return Number(row?.n ?? 0) <= limits.searchFolderTagsMax
}

/** Finds the tags of repos. */
export async function findTagsIn(db: Db, repos: readonly string[], prefix: string): Promise<Found> {
  if (repos.length === 0) return NOTHING
  const sql = sqlText(db.engine)
  const max = limits.searchCandidatesMax + 1
  const parts = repos.map((repo) => {
    const hint = db.rules.needsPlanHints ? ' indexed by tags_name_taken' : ''
    return `select * from (select ${tagColumns} from tags as t${hint} where t.root = ${sql.bind(rootOf(repo))}
      and t.parent = ${sql.bind(repo)} and t.name >= ${sql.bind(prefix)} and t.name < ${sql.bind(prefix + LAST)}
      and ${namedForms} order by t.name limit ${sql.bind(max)}) as part`
  })
  const rows = await runLongText<TagRow>(db, parts.join(' union all '), sql)
  return foundTags(rows, (name) => (name === prefix ? 0 : 1), false)
}

function foundTags(rows: readonly TagRow[], rankOf: (name: string) => number, isPartial: boolean): Found {
  const matches = rows.slice(0, limits.searchCandidatesMax).map(
    (row): Match => ({
      kind: ResourceKind.TAG,
      uid: row.uid,
      name: row.name,
      detail: '',
      parent: row.parent,
      digest: row.digest,
      updatedMs: Number(row.updated_ms),
      rank: rankOf(row.name),
    }),
  )
  const isCut = rows.length > limits.searchCandidatesMax || isPartial
  return { matches, incomplete: isCut ? [ResourceKind.TAG] : [] }
}

/** Finds tags and manifests by a prefix of a digest. */
export async function findDigests(
  db: Db,
  prefix: string,
  areas: { readonly tags: Area | undefined; readonly manifests: Area | undefined },
): Promise<Found> {
  const tags = areas.tags === undefined ? NOTHING : await findTagsByDigest(db, prefix, areas.tags)
  const manifests = areas.manifests === undefined ? NOTHING : await findManifests(db, prefix, areas.manifests)
  return {
    matches: [...manifests.matches, ...tags.matches],
    incomplete: [...manifests.incomplete, ...tags.incomplete],
  }
}

async function findTagsByDigest(db: Db, prefix: string, area: Area): Promise<Found> {
  if (area.ranges.length === 0) return NOTHING
  const sql = sqlText(db.engine)
  const { from, where } = rowsIn(sql, area, { table: 'tags', uid: 'uid', index: 'tags_by_digest' })
  const text = `select ${tagColumns} from ${from} where ${where} and ${digestRange(sql, prefix)} and ${namedForms}
    limit ${sql.bind(limits.searchCandidatesMax + 1)}`
  const rows = await runLongText<TagRow>(db, text, sql)
  // The manifest itself is the better match.
  return foundTags(rows, () => 2, area.isPartial)
}

interface ManifestRow {
  readonly repo: string
  readonly digest: string
  readonly artifact_type: string
  readonly created_ms: number | string
}

async function findManifests(db: Db, prefix: string, area: Area): Promise<Found> {
  if (area.ranges.length === 0) return NOTHING
  const sql = sqlText(db.engine)
  const { from, where } = rowsIn(sql, area, { table: 'manifests', uid: 'repo', index: 'manifests_by_digest' })
  const text = `select t.repo, t.digest, t.artifact_type, t.created_ms from ${from} where ${where}
    and ${digestRange(sql, prefix)} limit ${sql.bind(limits.searchCandidatesMax + 1)}`
  const rows = await runLongText<ManifestRow>(db, text, sql)
  const isCut = rows.length > limits.searchCandidatesMax || area.isPartial
  return {
    matches: rows.slice(0, limits.searchCandidatesMax).map((row) => ({
      kind: ResourceKind.MANIFEST,
      uid: row.repo,
      name: row.digest,
      detail: row.artifact_type,
      parent: row.repo,
      digest: row.digest,
      updatedMs: Number(row.created_ms),
      rank: row.digest === prefix ? 0 : 1,
    })),
    incomplete: isCut ? [ResourceKind.MANIFEST] : [],
  }
}

function digestRange(sql: SqlText, prefix: string): string {
  // No hexadecimal digit follows `f`.
  return `t.digest >= ${sql.bind(prefix)} and t.digest < ${sql.bind(`${prefix}g`)}`
}

/** Returns the names of repos by their uids. */
export async function readRepoNames(db: Db, uids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await readRowsByUid(db.kysely, 'repos', ['name'], uids)
  return new Map([...rows].map(([uid, { name }]) => [uid, name]))
}
