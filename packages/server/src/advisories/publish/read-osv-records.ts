import { modifiedMs, osvRecord } from '@berth/advisory-formats/osv/write-osv.ts'
import type { Distribution } from '@berth/advisory-formats/publishing/publication-settings.ts'
import type { PublishedAdvisory } from '@berth/advisory-formats/publishing/published-advisory.ts'
import type { JsonObject } from '@bufbuild/protobuf'
import { descendantRange, rootOf, type Uid } from '../../api/uid.ts'
import type { DatabaseReader } from '../../storage/snapshot.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import { facets, indexKey } from '../search/facets.ts'
import { postingsSql } from '../search/inverted-index.ts'
import { type PublishedRow, toPublishedAdvisory } from './published-row.ts'
import { addScores, publishedColumns, readByAdvisoryId } from './read-advisories.ts'

/**
 * Reads the records that OSV's API returns. Those that were imported as OSV have the ID of their source and all its packages, as clients
 * of OSV.dev know them; all others are the records of the feed.
 */

export interface OsvRecordSource {
  readonly id: string
  readonly advisories: readonly PublishedAdvisory[]
}

/** Returns the ID of the record of an advisory. */
export function osvRecordId({
  key,
  advisory_id,
}: {
  readonly key: string
  readonly advisory_id: string
}): string {
  return sourceIdOf(key) ?? advisory_id
}

function sourceIdOf(key: string): string | undefined {
  return /^osv:([^#]+)#/.exec(key)?.[1]
}

/** Ids in one statement. */
const BATCH = 200

/** Reads the records with these ids, in no certain order; unknown ids are left out. */
export async function* readOsvRecords(
  reads: DatabaseReader,
  group: Uid,
  ids: readonly string[],
): AsyncGenerator<OsvRecordSource> {
  for (let at = 0; at < ids.length; at += BATCH) {
    const batch = ids.slice(at, at + BATCH)
    const found = await readBySourceId(reads, group, batch)
    for (const [id, advisories] of found) yield { id, advisories }
    const others = batch.filter((id) => !found.has(id))
    if (others.length === 0) continue
    for await (const { name, advisories } of readByAdvisoryId(reads, group, ...others))
      yield { id: name, advisories }
  }
}

type KeyedRow = PublishedRow & { readonly key: string }

const rowColumns = [...publishedColumns, 'key', 'osv'].map((column) => `a.${column}`).join(', ')

/** Reads records by the ids of their sources. */
async function readBySourceId(
  reads: DatabaseReader,
  group: Uid,
  ids: readonly string[],
): Promise<Map<string, PublishedAdvisory[]>> {
  const sql = sqlText(reads.engine)
  const keys = ids.map((id) => indexKey(facets.legacyAdvisoryId, id).toString('hex'))
  const posted = postingsSql(sql, { keys }, { range: descendantRange(group) })
  const text = `select ${rowColumns} from (${posted}) as posted cross join advisories as a
    where a.root = posted.root and a.uid = posted.uid`
  return bundleBySourceId(reads, await runText<KeyedRow>(reads, text, sql), ids)
}

/** Reads a record that its source has withdrawn: it is in no index of values. */
export async function readWithdrawnRecord(
  reads: DatabaseReader,
  group: Uid,
  id: string,
): Promise<OsvRecordSource | undefined> {
  const { from, to } = descendantRange(group)
  const sql = sqlText(reads.engine)
  // '$' is the character after '#'.
  const text = `select ${rowColumns}, a.deleted_ms from advisory_groups as g cross join withdrawn_advisories as a
    where g.root = ${sql.bind(rootOf(group))} and (g.uid = ${sql.bind(group)} or (g.uid >= ${sql.bind(from)} and g.uid < ${sql.bind(to)}))
    and a.root = g.root and a.parent = g.uid and a.key >= ${sql.bind(`osv:${id}#`)} and a.key < ${sql.bind(`osv:${id}$`)}`
  const found = await bundleBySourceId(reads, await runText<KeyedRow>(reads, text, sql), [id])
  const advisories = found.get(id)
  return advisories && { id, advisories }
}

async function bundleBySourceId(
  reads: DatabaseReader,
  rows: readonly KeyedRow[],
  ids: readonly string[],
): Promise<Map<string, PublishedAdvisory[]>> {
  const isWanted = new Set(ids)
  const found = new Map<string, PublishedAdvisory[]>()
  // The index has short digests of ids, and other formats have ids of sources, too.
  const wanted = rows.filter(({ key }) => isWanted.has(sourceIdOf(key) ?? ''))
  const advisories = wanted.map((row) => toPublishedAdvisory(row))
  await addScores(reads, advisories)
  for (const [at, advisory] of advisories.entries()) {
    const id = sourceIdOf(wanted[at]?.key ?? '') ?? ''
    const known = found.get(id)
    if (known === undefined) found.set(id, [advisory])
    else known.push(advisory)
  }
  return found
}

/** Returns the record in the schema of OSV. */
export function writeOsvRecord({ id, advisories }: OsvRecordSource, distribution: Distribution): JsonObject {
  return osvRecord(advisories, distribution, id)
}

/** Returns when a record last changed, in milliseconds: `modified` of the record. */
export function recordModifiedMs({ advisories }: OsvRecordSource): number {
  return Math.max(...advisories.map((one) => modifiedMs(one)))
}
