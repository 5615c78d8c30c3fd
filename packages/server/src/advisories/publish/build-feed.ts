import { rm } from 'node:fs/promises'
import { writeZip, type ZipEntry } from '@berth/advisory-formats/archives/write-zip.ts'
import { ModifiedList } from '@berth/advisory-formats/osv/modified-list.ts'
import { modifiedMs, osvRecord } from '@berth/advisory-formats/osv/write-osv.ts'
import { basePackageUrl, productUrl } from '@berth/advisory-formats/package-url/write-package-url.ts'
import type { PublicationSettings } from '@berth/advisory-formats/publishing/publication-settings.ts'
import { formatMs } from '@berth/advisory-formats/publishing/published-advisory.ts'
import { secdbEntry, secdbFooter, secdbHeader } from '@berth/advisory-formats/secdb/write-secdb.ts'
import { hasStatements, openVexDocument } from '@berth/advisory-formats/vex/write-openvex.ts'
import type { Uid } from '../../api/uid.ts'
import type { DatabaseReader } from '../../storage/snapshot.ts'
import { type AdvisoryBundle, readByAdvisoryId, readByArtifact, readByPackage } from './read-advisories.ts'
import { writeFeedFiles } from './write-feed-files.ts'

/** Builds the files of a published feed from the database off the event loop, as a stream. */

export const fullFeeds = [
  'osv/all.zip',
  'osv/modified_id.csv',
  'secdb/security.json',
  'openvex/index.json',
  'openvex/all.zip',
] as const
export type FullFeed = (typeof fullFeeds)[number]

/** Plain data, so that it can be sent to another process. */
export interface FeedJob {
  readonly group: Uid
  /** A complete feed, or the OpenVEX document of one artifact. */
  readonly feed: FullFeed | { readonly artifact: string }
  readonly settings: PublicationSettings
  /** URL of the group's feeds: `https://…/vulnerabilities/feeds/UID`. */
  readonly feedsUrl: string
  /** Author of documents whose advisories have none. */
  readonly publisher: string
  readonly revision: number
  readonly changedMs: number
  /** The file to write, and another for the compressed content (gzip). */
  readonly file: string
  readonly compressed: string | undefined
}

/** Returns false, without files, if there is nothing to publish under this name. */
export async function buildFeed(reads: DatabaseReader, job: FeedJob): Promise<boolean> {
  const { file, compressed, feed } = job
  const wrote = await writeFeedFiles(file, compressed, chunksOf(reads, job))
  // A list may be empty.
  if (wrote || typeof feed === 'string') return true
  await Promise.all([file, compressed ?? file].map((path) => rm(path, { force: true })))
  return false
}

function chunksOf(reads: DatabaseReader, job: FeedJob): AsyncIterable<string | Uint8Array> {
  const { feed, group } = job
  switch (feed) {
    case 'osv/all.zip':
      return writeZip(osvEntries(reads, job))
    case 'osv/modified_id.csv':
      return modifiedRecords(reads, job)
    case 'secdb/security.json':
      return securityDatabase(reads, job)
    case 'openvex/index.json':
      return openVexIndex(readByArtifact(reads, group), job)
    case 'openvex/all.zip':
      return writeZip(openVexEntries(reads, job))
    default:
      return artifactDocument(readByArtifact(reads, group, feed.artifact), job)
  }
}

async function* osvEntries(reads: DatabaseReader, { group, settings }: FeedJob): AsyncGenerator<ZipEntry> {
  for await (const { name, advisories } of readByAdvisoryId(reads, group)) {
    const record = osvRecord(advisories, settings.distribution)
    yield {
      name: `${name}.json`,
      content: Buffer.from(jsonLine(record)),
      modifiedMs: Date.parse(String(record['modified'])),
    }
  }
}

async function* modifiedRecords(reads: DatabaseReader, { group }: FeedJob): AsyncGenerator<string> {
  const list = new ModifiedList()
  for await (const { name, advisories } of readByAdvisoryId(reads, group))
    list.add(Math.max(...advisories.map((one) => modifiedMs(one))), name)
  yield* list.lines()
}

async function* securityDatabase(
  reads: DatabaseReader,
  { group, settings }: FeedJob,
): AsyncGenerator<string> {
  yield secdbHeader(settings.secdb)
  let isFirst = true
  for await (const { name, advisories } of readByPackage(reads, group)) {
    const apks = advisories.filter(({ advisory }) => advisory.artifactType === 'apk')
    const entry = secdbEntry(name, apks)
    if (entry === undefined) continue
    yield isFirst ? entry : `,${entry}`
    isFirst = false
  }
  yield secdbFooter
}

async function* openVexEntries(reads: DatabaseReader, job: FeedJob): AsyncGenerator<ZipEntry> {
  const listed: string[] = []
  for await (const bundle of readByArtifact(reads, job.group)) {
    const document = openVexDocumentOf(bundle, job)
    if (document === undefined) continue
    listed.push(...packagesOf(bundle, job))
    const modified = Date.parse(String(document['last_updated']))
    yield {
      name: documentFileName(bundle.name),
      content: Buffer.from(jsonLine(document)),
      modifiedMs: modified,
    }
  }
  const content = Buffer.from(`${indexStart(job)}${listed.join(',')}${INDEX_END}`)
  yield { name: 'index.json', content, modifiedMs: job.changedMs }
}

async function* artifactDocument(
  bundles: AsyncIterable<AdvisoryBundle>,
  job: FeedJob,
): AsyncGenerator<string> {
  for await (const bundle of bundles) {
    const document = openVexDocumentOf(bundle, job)
    if (document !== undefined) yield jsonLine(document)
  }
}

function openVexDocumentOf(
  { name, advisories }: AdvisoryBundle,
  { feedsUrl: address, settings, publisher, revision }: FeedJob,
) {
  return openVexDocument(advisories, {
    id: `${address}/openvex/${documentFileName(name)}`,
    publisher,
    version: Math.max(1, revision),
    distribution: settings.distribution,
  })
}

/** Writes the index of documents by package (VEX Repository Specification 0.1). */
async function* openVexIndex(bundles: AsyncIterable<AdvisoryBundle>, job: FeedJob): AsyncGenerator<string> {
  yield indexStart(job)
  let isFirst = true
  for await (const bundle of bundles) {
    if (!hasStatements(bundle.advisories)) continue
    const packages = packagesOf(bundle, job).join(',')
    yield isFirst ? packages : `,${packages}`
    isFirst = false
  }
  yield INDEX_END
}

function indexStart({ changedMs }: FeedJob): string {
  return `{"updated_at":${JSON.stringify(formatMs(changedMs))},"packages":[`
}

const INDEX_END = ']}\n'

function packagesOf({ name, advisories }: AdvisoryBundle, { settings }: FeedJob): string[] {
  const ids = advisories.map((advisory) => basePackageUrl(productUrl(advisory, settings.distribution)))
  const location = documentFileName(name)
  return [...new Set(ids)].sort().map((id) => JSON.stringify({ id, location, format: 'openvex' }))
}

/** Returns the file name of an artifact's document: its encoded name, with a prefix of `~` if it would clash with the index. */
export function documentFileName(artifact: string): string {
  const isReserved = artifact === 'index' || artifact.startsWith('~')
  return `${isReserved ? '~' : ''}${encodeURIComponent(artifact.toWellFormed())}.json`
}

/** Returns the artifact of a file name; undefined if it is not one. */
export function artifactOfFileName(location: string): string | undefined {
  const encoded = /^(.*)\.json$/s.exec(location)?.[1]
  try {
    const name = encoded === undefined ? undefined : decodeURIComponent(encoded)
    if (name === undefined || name === 'index') return undefined
    return name.startsWith('~') ? name.slice(1) : name
  } catch {
    return undefined
  }
}

export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}
