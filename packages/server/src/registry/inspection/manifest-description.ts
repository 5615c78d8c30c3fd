import {
  type ImageConfiguration,
  ImageConfigurationSchema,
  type IndexEntry,
  IndexEntrySchema,
  type ManifestContent,
  ManifestContentSchema,
} from '@berth/contract/gen/berth/registry/v1/manifest_pb.js'
import { create } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import type { ManifestRow } from '../../storage/schema/tables.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { StoredConfiguration } from '../manifests/image-configuration.ts'
import {
  type ContentDescriptor,
  type ContentEntry,
  contentSize,
  type ManifestKindName,
  parseStoredManifest,
  type StoredManifest,
} from '../manifests/manifest-content.ts'
import type { ContentReader } from '../manifests/manifest-reader.ts'
import { kindOfRow } from './manifest-list.ts'
import { readSmallBlobs } from './small-blobs.ts'

/** Describes one manifest with its content. */

export interface ManifestSources {
  readonly db: Db
  readonly blobs: Pick<BlobStore, 'read'>
  readonly reader: ContentReader
}

export interface ManifestDescription {
  readonly kind: ManifestKindName
  readonly imageSize: number | undefined
  readonly platforms: readonly string[]
  readonly content: ManifestContent
}

export async function describeManifest(
  { db, blobs, reader }: ManifestSources,
  row: ManifestRow,
): Promise<ManifestDescription> {
  const { root, repo, digest } = row
  const content = await reader.content(root, row.content)
  const kind = kindOfRow(row, content)
  const configuration =
    kind === 'image' && content?.config !== undefined
      ? await readConfiguration({ db, blobs, reader }, row, content.config)
      : undefined
  const entries = await describeEntries(db, repo, content?.entries ?? [])
  const platforms = [
    ...entries.entries.map(({ platform }) => platform),
    configuration === undefined ? '' : formatPlatform(configuration),
  ]
  const isMeasured = kind === 'index' ? entries.bytes !== undefined : content !== undefined
  return {
    kind,
    imageSize: isMeasured ? (entries.bytes ?? (content && contentSize(content))) : undefined,
    platforms: [...new Set(platforms)].filter((platform) => platform !== ''),
    content: create(ManifestContentSchema, {
      entries: entries.entries,
      layers: describeLayers(content, configuration),
      ...(configuration && { configuration: toConfiguration(configuration) }),
      configurationDigest: content?.config?.digest ?? '',
      json: row.content.length <= limits.manifestTextBytesMax ? textOfManifest(row.content) : '',
      indexes: await indexesOf(db, repo, digest),
    }),
  }
}

function formatPlatform({ os, architecture }: StoredConfiguration): string {
  return os === '' || architecture === '' ? '' : `${os}/${architecture}`
}

function textOfManifest(content: Uint8Array): string {
  return Buffer.from(content).toString('utf8')
}

async function readConfiguration(
  { db, blobs, reader }: ManifestSources,
  { root, repo }: Pick<ManifestRow, 'root' | 'repo'>,
  config: ContentDescriptor,
): Promise<StoredConfiguration | undefined> {
  if (config.size > limits.imageConfigBytesMax) return undefined
  const content = (await readSmallBlobs(db, blobs, repo, [config])).get(config.digest)
  return content && reader.configuration(root, content)
}

function describeLayers(content: StoredManifest | undefined, configuration: StoredConfiguration | undefined) {
  const layers = content?.layers ?? []
  const steps = (configuration?.history ?? []).filter(({ layer }) => layer !== undefined)
  // Otherwise it is not certain which step created which layer.
  const isComplete = steps.length === layers.length
  return layers.map(({ digest, mediaType, size, title }, at) => ({
    digest,
    mediaType,
    size: BigInt(size),
    title,
    createdBy: isComplete ? (steps[at]?.createdBy ?? '') : '',
  }))
}

function toConfiguration({ createdMs, history, ...rest }: StoredConfiguration): ImageConfiguration {
  const time = (ms: number | undefined) => (ms === undefined ? {} : { createTime: timestampOf(ms) })
  return create(ImageConfigurationSchema, {
    ...rest,
    env: [...rest.env],
    entrypoint: [...rest.entrypoint],
    cmd: [...rest.cmd],
    exposedPorts: [...rest.exposedPorts],
    volumes: [...rest.volumes],
    ...time(createdMs),
    history: history.map(({ createdBy, comment, createdMs: stepMs, layer }) => ({
      createdBy,
      comment,
      ...time(stepMs),
      ...(layer !== undefined && { layer }),
    })),
  })
}

const ENTRIES_PER_STATEMENT = 100

/** `bytes`: size of the distinct blobs of the images that are in the repo; undefined for no index, and for one with too many entries. */
async function describeEntries(
  db: Db,
  repo: string,
  entries: readonly ContentEntry[],
): Promise<{ readonly entries: IndexEntry[]; readonly bytes: number | undefined }> {
  const described: IndexEntry[] = []
  const blobs = new Map<string, number>()
  for (let at = 0; at < entries.length; at += ENTRIES_PER_STATEMENT) {
    const batch = entries.slice(at, at + ENTRIES_PER_STATEMENT)
    const isMeasured = at < limits.indexEntriesMeasuredMax
    const present = await readPresent(db, repo, batch, isMeasured)
    for (const { digest, mediaType, size, platform, describes } of batch) {
      await yieldToEventLoop()
      const bytes = present.get(digest)
      const content = bytes == null ? undefined : parseStoredManifest(bytes)
      const hasImage = content !== undefined && content.entries.length === 0
      for (const blob of hasImage ? [...(content.config ? [content.config] : []), ...content.layers] : [])
        blobs.set(blob.digest, blob.size)
      const imageSize = hasImage ? contentSize(content) : undefined
      described.push(
        create(IndexEntrySchema, {
          digest,
          mediaType,
          size: BigInt(size),
          platform,
          describes,
          present: present.has(digest),
          ...(imageSize !== undefined && { imageSize: BigInt(imageSize) }),
        }),
      )
    }
  }
  const bytes = [...blobs.values()].reduce((sum, size) => sum + size, 0)
  const isKnown = entries.length > 0 && entries.length <= limits.indexEntriesMeasuredMax
  return { entries: described, bytes: isKnown && Number.isSafeInteger(bytes) ? bytes : undefined }
}

/** Returns which entries are in the repo, with the bytes of those that are small. */
async function readPresent(
  db: Db,
  repo: string,
  entries: readonly ContentEntry[],
  withContent: boolean,
): Promise<ReadonlyMap<string, Uint8Array | null>> {
  const sql = sqlText(db.engine)
  const content = withContent ? `case when size <= ${limits.manifestInlineBytesMax} then content end` : 'null'
  const text = `select digest, ${content} as content from manifests where root = ${sql.bind(rootOf(repo))}
    and repo = ${sql.bind(repo)} and digest in (${sql.bindAll(entries.map(({ digest }) => digest))})`
  const rows = await runText<{ digest: string; content: Uint8Array | null }>(db, text, sql)
  return new Map(rows.map((row) => [row.digest, row.content]))
}

async function indexesOf({ kysely }: Db, repo: string, digest: string): Promise<string[]> {
  const rows = await kysely
    .selectFrom('manifest_references')
    .select('manifest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .where('kind', '=', 'manifest')
    .orderBy('manifest')
    .limit(limits.manifestIndexesShownMax)
    .execute()
  return rows.map(({ manifest }) => manifest)
}
