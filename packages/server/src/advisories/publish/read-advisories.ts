import type { PublishedAdvisory } from '@berth/advisory-formats/publishing/published-advisory.ts'
import type { UidRange } from '../../api/uid.ts'
import { descendantRange, rootOf, type Uid } from '../../api/uid.ts'
import type { DatabaseReader } from '../../storage/snapshot.ts'
import { runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { addSeverities, readSeverityTimes } from '../storage/severities.ts'
import { type PublishedRow, toPublishedAdvisory } from './published-row.ts'

/**
 * Reads the advisories of a group and its descendants in the order that a format needs, page by page, so that memory use does not depend
 * on their number.
 */

/** Advisories with a common name, at least one. */
export interface AdvisoryBundle {
  /** The advisory id, package or artifact that they have in common. */
  readonly name: string
  readonly advisories: readonly PublishedAdvisory[]
}

/** By advisory id, with severities, withdrawn advisories included. `ids`: only these. */
export function readByAdvisoryId(
  reads: DatabaseReader,
  group: Uid,
  ...ids: readonly string[]
): AsyncGenerator<AdvisoryBundle> {
  const only = ids.length === 0 ? undefined : ids
  const rows = (table: Table) =>
    readPages(reads, group, { table, keys: ['advisory_id'], only, extraColumn: 'osv' })
  return bundleByName(mergePages(rows('advisories'), rows('withdrawn_advisories')), (all) =>
    addScores(reads, all),
  )
}

/** Adds severities and when they changed. */
export async function addScores(reads: DatabaseReader, page: readonly PublishedAdvisory[]): Promise<void> {
  const advisories = page.map(({ advisory }) => advisory)
  await addSeverities(reads, advisories)
  const own = page.flatMap(({ advisory, osv }) =>
    osv === undefined || osv.length === 0 ? [] : [[advisory.uid, advisory.legacyAdvisoryId ?? ''] as const],
  )
  const times = await readSeverityTimes(reads, advisories, new Map(own))
  for (const one of page) one.scoredMs = times.get(one.advisory.uid) ?? 0
}

/** By origin package, or by artifact for those without one. */
export function readByPackage(reads: DatabaseReader, group: Uid): AsyncGenerator<AdvisoryBundle> {
  const built = readPages(reads, group, {
    table: 'advisories',
    keys: ['origin', 'artifact_name'],
    startCondition: "origin > ''",
  })
  const bare = readPages(reads, group, { table: 'advisories', keys: ['artifact_name'], where: "origin = ''" })
  return bundleByName(mergePages(built, bare))
}

/** By artifact. `name`: only this one. */
export function readByArtifact(
  reads: DatabaseReader,
  group: Uid,
  name?: string,
): AsyncGenerator<AdvisoryBundle> {
  return bundleByName(
    readPages(reads, group, {
      table: 'advisories',
      keys: ['artifact_name'],
      only: name === undefined ? undefined : [name],
    }),
  )
}

/** Whether an artifact has an advisory. */
export async function hasArtifact(reads: DatabaseReader, group: Uid, name: string): Promise<boolean> {
  const sql = sqlText(reads.engine)
  const text = `select 1 from advisories where root = ${sql.bind(rootOf(group))} and artifact_name = ${sql.bind(name)}
    ${groupCondition(sql, group)} limit 1`
  return (await runText(reads, text, sql)).length > 0
}

/** Whether an advisory with this id exists, withdrawn or not. */
export async function hasRecord(reads: DatabaseReader, group: Uid, id: string): Promise<boolean> {
  const sql = sqlText(reads.engine)
  const parts = (['advisories', 'withdrawn_advisories'] as const).map(
    (table) => `exists (select 1 from ${table} where root = ${sql.bind(rootOf(group))}
      and advisory_id = ${sql.bind(id)} ${groupCondition(sql, group)})`,
  )
  return (await runText(reads, `select 1 where ${parts.join(' or ')}`, sql)).length > 0
}

type Table = 'advisories' | 'withdrawn_advisories'
type Key = 'advisory_id' | 'artifact_name' | 'origin'

interface KeyedRow {
  readonly name: string
  readonly row: PublishedRow
}

interface PageOrder {
  readonly table: Table
  /** Index columns between the root (with those in `where`) and the uid. Bundles have the first one in common. */
  readonly keys: readonly [Key, ...Key[]]
  /** A constant condition. */
  readonly where?: string
  /** The start of the first page. Later pages start after the last row. */
  readonly startCondition?: string
  /** A column that only this order needs. */
  readonly extraColumn?: 'osv'
  /** The only values of the first key. */
  readonly only?: readonly string[] | undefined
}

const PAGE_SIZE = 500

export const publishedColumns = [
  ...[
    'uid',
    'advisory_id',
    'artifact_name',
    'component_name',
    'origin',
    'product',
    'component_product',
    'content',
  ],
  ...['created_ms', 'updated_ms'],
]

async function* readPages(
  reads: DatabaseReader,
  group: Uid,
  { table, keys, where = 'true', startCondition: begin = 'true', only, extraColumn: also }: PageOrder,
): AsyncGenerator<KeyedRow[]> {
  const [first] = keys
  const order = [...keys, 'uid']
  const selected = [...publishedColumns, also ?? [], table === 'advisories' ? [] : 'deleted_ms']
    .flat()
    .join(', ')
  for (let last: PublishedRow | undefined; ; ) {
    const sql = sqlText(reads.engine)
    let text = `select ${selected} from ${table} where root = ${sql.bind(rootOf(group))} and ${where}`
    if (only !== undefined) text += ` and ${first} in (${sql.bindAll(only)})`
    if (last === undefined) {
      text += ` and ${begin}`
    } else {
      const after = [...keys.map((key) => last?.[key] ?? ''), last.uid]
      text += ` and (${order.join(', ')}) > (${sql.bindAll(after)})`
    }
    text += `${groupCondition(sql, group)} order by ${order.join(', ')} limit ${PAGE_SIZE}`
    const rows = await runText<PublishedRow>(reads, text, sql)
    yield rows.map((row) => ({ name: row[first], row }))
    if (rows.length < PAGE_SIZE) return
    last = rows.at(-1)
  }
}

/** Concatenating '' prevents the planner from scanning by uid, which would sort everything for each page. */
function groupCondition(sql: SqlText, group: Uid): string {
  if (group === rootOf(group)) return ''
  const { from, to }: UidRange = descendantRange(group)
  return ` and uid || '' >= ${sql.bind(from)} and uid || '' < ${sql.bind(to)}`
}

/** Merges two streams that are sorted by name. */
async function* mergePages(
  ...streams: readonly [AsyncGenerator<KeyedRow[]>, AsyncGenerator<KeyedRow[]>]
): AsyncGenerator<KeyedRow[]> {
  const heads = await Promise.all(
    streams.map(async (stream) => ({ stream, page: await nextPage(stream), at: 0 })),
  )
  for (;;) {
    const batch: KeyedRow[] = []
    for (;;) {
      const [one, other] = heads.map(({ page, at }) => page?.[at])
      const takes =
        one === undefined ? 1 : other === undefined ? 0 : compareBytes(one.name, other.name) <= 0 ? 0 : 1
      const head = heads[takes]
      const taken = takes === 0 ? one : other
      if (head === undefined || taken === undefined) {
        yield batch
        return
      }
      batch.push(taken)
      head.at++
      if (head.at === head.page?.length) {
        head.page = await nextPage(head.stream)
        head.at = 0
        break
      }
    }
    yield batch
  }
}

/** Returns undefined at the end. */
async function nextPage(stream: AsyncGenerator<KeyedRow[]>): Promise<KeyedRow[] | undefined> {
  for (;;) {
    const { done, value } = await stream.next()
    if (done === true) return undefined
    if (value.length > 0) return value
  }
}

/** Compares as the databases do: by UTF-8 bytes. */
function compareBytes(one: string, other: string): number {
  return one === other ? 0 : Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** `prepare` is called with the advisories of a page. */
async function* bundleByName(
  pages: AsyncGenerator<KeyedRow[]>,
  prepare?: (page: readonly PublishedAdvisory[]) => Promise<void>,
): AsyncGenerator<AdvisoryBundle> {
  let name = ''
  let advisories: PublishedAdvisory[] = []
  for await (const page of pages) {
    const read = page.map(({ row }) => toPublishedAdvisory(row))
    await prepare?.(read)
    for (const [at, advisory] of read.entries()) {
      const next = page[at]?.name ?? ''
      if (next !== name && advisories.length > 0) {
        yield { name, advisories }
        advisories = []
      }
      name = next
      advisories.push(advisory)
    }
  }
  if (advisories.length > 0) yield { name, advisories }
}
