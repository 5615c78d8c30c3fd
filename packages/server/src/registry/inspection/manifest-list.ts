import { ManifestKind } from '@berth/contract/gen/berth/registry/v1/manifest_pb.js'
import { isIndex, manifestMediaTypes } from '@berth/contract/image-media-types.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import type { ManifestRow } from '../../storage/schema/tables.ts'
import { runCachedText, runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import {
  contentSize,
  imageArtifactTypes,
  type ManifestKindName,
  manifestKind,
  parseStoredManifest,
  type StoredManifest,
} from '../manifests/manifest-content.ts'
import { manifestUses } from '../retention/unreferenced-manifests.ts'
import type { ReadPlatforms } from './image-platforms.ts'

/** Lists the manifests of a repo, a page at a time, with what a small part of their content says. */

export interface ManifestFilter {
  readonly kind: ManifestKindName | undefined
  readonly tagged: boolean | undefined
  readonly platform: string
  readonly mediaType: string
  readonly artifactType: string
}

export interface ManifestOrder {
  readonly column: 'created_ms' | 'digest'
  readonly descending: boolean
}

/** The last manifest that was examined: time of its push and digest. */
export type ManifestCursor = readonly [createdMs: number, digest: string]

export type ManifestColumns = Pick<
  ManifestRow,
  'digest' | 'media_type' | 'size' | 'subject' | 'artifact_type' | 'created_ms'
>

export interface ListedManifest {
  readonly row: ManifestColumns
  readonly kind: ManifestKindName
  readonly imageSize: number | undefined
  readonly platforms: readonly string[]
}

export interface ManifestPage {
  readonly manifests: readonly ListedManifest[]
  /** undefined: there are no more. */
  readonly next: ManifestCursor | undefined
}

interface ManifestQuery {
  readonly repo: string
  readonly filter: ManifestFilter
  readonly order: ManifestOrder
  readonly after: ManifestCursor | undefined
  readonly size: number
}

/** Contents of at most so many rows are in memory. */
const ROWS_PER_STATEMENT = 50

export async function readManifestPage(
  db: Db,
  readPlatforms: ReadPlatforms,
  { repo, filter, order, after, size }: ManifestQuery,
): Promise<ManifestPage> {
  const manifests: ListedManifest[] = []
  let cursor = after
  for (let examined = 0; examined < limits.manifestsExaminedMax; ) {
    await yieldToEventLoop()
    // One more shows whether there are more.
    const rows = await manifestRows(db, { repo, filter, order, after: cursor, size: ROWS_PER_STATEMENT + 1 })
    const batch = rows.slice(0, ROWS_PER_STATEMENT)
    const described = await describeRows(readPlatforms, repo, batch)
    for (const [at, manifest] of described.entries()) {
      cursor = [Number(manifest.row.created_ms), manifest.row.digest]
      examined += 1
      if (!matches(manifest, filter)) continue
      manifests.push(manifest)
      if (manifests.length < size) continue
      const hasMore = at + 1 < rows.length
      return { manifests, next: hasMore ? cursor : undefined }
    }
    if (rows.length <= ROWS_PER_STATEMENT) return { manifests, next: undefined }
  }
  return { manifests, next: cursor }
}

/** Returns how many manifests match; undefined if only their content shows it. */
export async function countManifests(
  db: Db,
  repo: string,
  filter: ManifestFilter,
): Promise<number | undefined> {
  if (needsContent(filter)) return undefined
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from manifests m where ${conditionsText(sql, repo, filter)}`
  const [row] = await runCachedText<{ n: number }>(db, text, sql, { long: true })
  return Number(row?.n ?? 0)
}

function needsContent({ kind, platform }: ManifestFilter): boolean {
  return kind !== undefined || platform !== ''
}

function matches({ kind, platforms }: ListedManifest, filter: ManifestFilter): boolean {
  return (
    (filter.kind === undefined || filter.kind === kind) &&
    (filter.platform === '' || platforms.includes(filter.platform))
  )
}

interface ContentRow extends ManifestColumns {
  /** Null for a large manifest. */
  readonly content: Uint8Array | null
}

function manifestRows(
  db: Db,
  { repo, filter, order, after, size }: ManifestQuery,
): Promise<ContentRow[]> | ContentRow[] {
  const sql = sqlText(db.engine)
  const direction = order.descending ? ' desc' : ''
  const columns = order.column === 'digest' ? ['digest'] : ['created_ms', 'digest']
  const text = `select m.digest, m.media_type, m.size, m.subject, m.artifact_type, m.created_ms,
      case when m.size <= ${limits.manifestInlineBytesMax} then m.content end as content
    from manifests m where ${conditionsText(sql, repo, filter)}${afterText(sql, order, after)}
    order by ${columns.map((column) => `m.${column}${direction}`).join(', ')} limit ${sql.bind(size)}`
  return runText<ContentRow>(db, text, sql)
}

function afterText(
  sql: SqlText,
  { column, descending }: ManifestOrder,
  after: ManifestCursor | undefined,
): string {
  if (after === undefined) return ''
  const operator = descending ? '<' : '>'
  const [createdMs, digest] = after
  return column === 'digest'
    ? ` and m.digest ${operator} ${sql.bind(digest)}`
    : ` and (m.created_ms, m.digest) ${operator} (${sql.bind(createdMs)}, ${sql.bind(digest)})`
}

const indexTypes = manifestMediaTypes.filter((mediaType) => isIndex({ mediaType }))

function conditionsText(sql: SqlText, repo: string, filter: ManifestFilter): string {
  const { kind, tagged, platform, mediaType, artifactType } = filter
  const conditions = [`m.root = ${sql.bind(rootOf(repo))}`, `m.repo = ${sql.bind(repo)}`]
  const among = (column: string, values: readonly string[]) => `m.${column} in (${sql.bindAll(values)})`
  if (mediaType !== '') conditions.push(among('media_type', [mediaType]))
  if (artifactType !== '') conditions.push(among('artifact_type', [artifactType]))
  if (kind === 'index') conditions.push(among('media_type', indexTypes))
  if (kind === 'image' || kind === 'artifact') conditions.push(`not ${among('media_type', indexTypes)}`)
  if (kind === 'image') conditions.push(among('artifact_type', imageArtifactTypes))
  if (platform !== '')
    conditions.push(`(${among('media_type', indexTypes)} or ${among('artifact_type', imageArtifactTypes)})`)
  if (tagged !== undefined)
    conditions.push(`${tagged ? '' : 'not '}${manifestUses.tag(sql.bind(rootOf(repo)))}`)
  return conditions.join(' and ')
}

async function describeRows(
  readPlatforms: ReadPlatforms,
  repo: string,
  rows: readonly ContentRow[],
): Promise<ListedManifest[]> {
  const parsed: { readonly row: ContentRow; readonly content: StoredManifest | undefined }[] = []
  for (const row of rows) {
    await yieldToEventLoop()
    parsed.push({ row, content: row.content === null ? undefined : parseStoredManifest(row.content) })
  }
  const kinds = parsed.map(({ row, content }) => kindOfRow(row, content))
  const configs = parsed.flatMap(({ content }, at) =>
    kinds[at] === 'image' && content?.config !== undefined ? [content.config] : [],
  )
  const platformOf = await readPlatforms(repo, configs)
  return parsed.map(({ row, content }, at) => {
    const kind = kinds[at] ?? 'artifact'
    const inConfig = kind === 'image' ? platformOf.get(content?.config?.digest ?? '') : undefined
    const all = [...(content?.entries ?? []).map(({ platform }) => platform), inConfig ?? '']
    return {
      row,
      kind,
      imageSize: kind === 'index' || content === undefined ? undefined : contentSize(content),
      platforms: [...new Set(all)].filter((platform) => platform !== ''),
    }
  })
}

export function kindOfRow(
  { media_type: mediaType, artifact_type: artifactType }: ManifestColumns,
  content: StoredManifest | undefined,
): ManifestKindName {
  return manifestKind({ mediaType, artifactType }, content?.layers)
}

/** The kinds as the API names them. */
export const manifestKinds = {
  image: ManifestKind.IMAGE,
  index: ManifestKind.INDEX,
  artifact: ManifestKind.ARTIFACT,
} as const satisfies Record<ManifestKindName, ManifestKind>
