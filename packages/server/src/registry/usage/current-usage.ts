import { kindOfTable, type ResourceKind, resourceTables } from '../../api/resource-limits.ts'
import { descendantRange, rootOf } from '../../api/uid.ts'
import { runToCompletion } from '../../pipeline/request/request-context.ts'
import { readCounts } from '../../storage/counts/resource-limits.ts'
import { rangeCountSql } from '../../storage/counts/row-counts.ts'
import type { Db } from '../../storage/db.ts'
import { runLongText, sqlText } from '../../storage/sql-text.ts'
import { readUsage } from '../quota/usage.ts'

/** What an organization or a folder uses now. */
export interface CurrentUsage {
  /** Of the requested kinds. */
  readonly counts: ReadonlyMap<ResourceKind, number>
  /** Undefined unless requested. */
  readonly bytes: number | undefined
}

/** What is read of a folder: each part has its cost. */
export interface UsageParts {
  readonly kinds: ReadonlySet<ResourceKind>
  readonly bytes: boolean
}

export type ReadCurrentUsage = (group: string, parts: UsageParts) => Promise<CurrentUsage>

/** Callers that ask for the same parts of a folder at the same time share one result. */
export function currentUsageReader(db: Db): ReadCurrentUsage {
  const running = new Map<string, Promise<CurrentUsage>>()
  return (group, parts) => {
    if (group === rootOf(group)) return ofOrganization(db, group)
    const key = JSON.stringify([group, [...parts.kinds].sort(), parts.bytes])
    const known = running.get(key)
    if (known !== undefined) return known
    const usage = runToCompletion(() => ofFolder(db, group, parts)).finally(() => running.delete(key))
    running.set(key, usage)
    return usage
  }
}

/** Reads counters, which change with the rows. */
async function ofOrganization(db: Db, root: string): Promise<CurrentUsage> {
  const [counts, { manifests, bytes }] = await Promise.all([
    readCounts(db.kysely, root),
    readUsage(db.kysely, root),
  ])
  return { counts: new Map([...counts, ['manifests', manifests]]), bytes }
}

/** Resources have counters for ranges of uids. Manifests and blobs have none by folder: an index of their keys is read. */
async function ofFolder(db: Db, folder: string, { kinds, bytes }: UsageParts): Promise<CurrentUsage> {
  const sql = sqlText(db.engine)
  const range = descendantRange(folder)
  const counted = resourceTables.filter((table) => kinds.has(kindOfTable(table)))
  const inFolder = (table: string) =>
    `${table}.root = ${sql.bind(rootOf(folder))} and ${table}.repo >= ${sql.bind(range.from)} and ${table}.repo < ${sql.bind(range.to)}`
  const columns = counted.map((table) => `${rangeCountSql(sql, table, range)} as ${table}`)
  if (kinds.has('manifests'))
    columns.push(`(select count(*) from manifests where ${inFolder('manifests')}) as manifests`)
  if (bytes)
    columns.push(`(select coalesce(sum(size), 0) from
      (select distinct digest, size from repo_blobs where ${inFolder('repo_blobs')}) as stored) as bytes`)
  if (columns.length === 0) return { counts: new Map(), bytes: undefined }
  const text = `select ${columns.join(', ')}`
  const [row = {}] = await runLongText<Readonly<Record<string, number | string>>>(db, text, sql)
  const counts = new Map<ResourceKind, number>(
    counted.map((table) => [kindOfTable(table), Number(row[table])]),
  )
  if (kinds.has('manifests')) counts.set('manifests', Number(row['manifests']))
  return { counts, bytes: bytes ? Number(row['bytes']) : undefined }
}
