import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { SetupError, UsageError } from '../../config/setup-errors.ts'
import type { Config } from '../../installation/config.ts'
import { toStoreError } from '../../installation/installation.ts'
import type { BlobStore } from '../../registry/blobs/blob-store.ts'
import { fileBlobs } from '../../registry/blobs/files/file-system.ts'
import { openBlobs } from '../../registry/blobs/open.ts'
import { UnusableStore } from '../../registry/blobs/s3/failures.ts'
import { parseBucketUrl } from '../../registry/settings.ts'
import type { Log } from '../../runtime/log.ts'

/** Where backups are stored: a directory, or a bucket with a prefix. */

/** Settings of an S3 server; undefined: Amazon's, and the region of the environment. */
export interface S3Options {
  readonly endpoint: string | undefined
  readonly region: string | undefined
  readonly pathStyle: boolean | undefined
}

export interface Destination {
  /** As in messages: a path, or `s3://bucket/prefix`. */
  readonly name: string
  readonly files: BlobStore
}

/** Opens a destination. Throws a SetupError where it is missing, or is part of the installation itself. */
export async function openDestination(
  text: string,
  {
    s3,
    config,
    log,
    mustExist,
  }: {
    readonly s3: S3Options
    readonly config: Pick<Config, 'dataDir' | 'blobs'>
    readonly log: Log
    readonly mustExist: boolean
  },
): Promise<Destination> {
  const bucket = text.startsWith('s3://') ? parseBucketUrl(text) : undefined
  if (bucket === undefined) {
    if (/^(?:s3:|[a-z0-9]+:\/\/)/i.test(text))
      throw new UsageError(`${JSON.stringify(text)} must be a directory or s3://BUCKET/PREFIX`)
    const directory = resolve(text)
    requireOutside(directory, config.dataDir)
    if (mustExist && !existsSync(directory)) throw new SetupError(`the directory ${directory} does not exist`)
    requireBackupDirectory(directory)
    return { name: directory, files: fileBlobs(directory) }
  }
  const settings = {
    ...bucket,
    endpoint: s3.endpoint,
    region: s3.region,
    pathStyle: s3.pathStyle ?? s3.endpoint !== undefined,
    redirect: false,
  } as const
  const { blobs } = config
  if (
    blobs?.bucket === bucket.bucket &&
    blobs.endpoint === s3.endpoint &&
    prefixesOverlap(blobs.prefix, bucket.prefix)
  )
    throw new SetupError(
      `${text} overlaps with the bucket of the images (BERTH_BLOBS_S3_BUCKET, BERTH_BLOBS_S3_PREFIX): store backups in another bucket, or under a prefix that is not part of the other`,
    )
  try {
    return { name: text, files: await openBlobs({ dataDir: '', blobs: settings }, log) }
  } catch (error) {
    if (!(error instanceof UnusableStore)) throw error
    throw toStoreError(error, error.message.replaceAll('BERTH_BLOBS_S3_', 'BERTH_BACKUP_S3_'))
  }
}

function prefixesOverlap(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one)
}

function requireOutside(directory: string, dataDir: string): void {
  const [at, data] = [realPath(directory), realPath(dataDir)]
  if (isInside(at, data) || isInside(data, at))
    throw new SetupError(
      `${directory} and the data directory ${dataDir} overlap: store backups in a directory of their own, best on another disk`,
    )
}

function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep)
}

/** Also of what does not exist yet. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  return path === dirname(path) ? path : join(realPath(dirname(path)), basename(path))
}

/** First names of what a backup directory contains. */
const backupEntries = new Set(['backups', 'sha256', 'sha512', 'uploads', 'lost+found'])

function requireBackupDirectory(directory: string): void {
  if (!existsSync(directory)) return
  const foreign = readdirSync(directory).filter((name) => !backupEntries.has(name))
  if (foreign.length > 0)
    throw new SetupError(
      `${directory} contains ${foreign.slice(0, 3).join(', ')}, which no backup created: use an empty directory`,
    )
}
