import { createHash, randomBytes } from 'node:crypto'
import { SetupError } from '../../config/setup-errors.ts'
import type { BlobStore, StoredBlob } from '../../registry/blobs/blob-store.ts'
import { MissingBytes } from '../../registry/blobs/blob-store.ts'
import type { Destination } from './destination.ts'
import {
  BACKUP_FORMAT,
  type BackupManifest,
  parseBackupManifest,
  type StoredFile,
  serializeBackupManifest,
} from './manifest.ts'

/**
 * A repository of backups of one installation. `backups/<id>/` contains the tables and the manifest of each backup, `sha256/` and
 * `sha512/` the bytes of images by their digest, once for all backups. Files appear whole or not at all.
 */
export interface BackupRepository {
  readonly name: string
  /** All backups, the oldest first. */
  list(): Promise<StoredBackup[]>
  /** Digests of the blobs that are stored, and how many bytes each has. */
  blobs(): Promise<ReadonlyMap<string, number>>
  /** Stores a file of a backup. */
  write(backup: string, name: string, bytes: AsyncIterable<Uint8Array>): Promise<StoredFile>
  /** Makes a backup complete. */
  complete(manifest: BackupManifest): Promise<void>
  /** Stores a blob; false, and nothing is stored, where the bytes do not have this digest. */
  writeBlob(digest: string, bytes: AsyncIterable<Uint8Array>): Promise<boolean>
  /** The bytes of a file. Fails at their end, with a SetupError that names the file, where its checksum is another one. */
  read(file: StoredFile): AsyncIterable<Uint8Array>
  /** The bytes of a blob, likewise. */
  readBlob(digest: string, size: number): AsyncIterable<Uint8Array>
  removeBlob(digest: string): Promise<void>
  /** Removes a backup without the blobs. */
  remove(backup: StoredBackup): Promise<void>
  /** Removes what writers left that died. No other may be at work. */
  removeUnfinished(): Promise<void>
  close(): void
}

export interface StoredBackup {
  readonly id: string
  /** Undefined for one that is not complete. */
  readonly manifest: BackupManifest | undefined
  readonly files: readonly string[]
}

const BACKUPS = 'backups'
const MANIFEST = 'manifest.json'
const MARKER = `${BACKUPS}/about/berth-backups.json`

interface Marker {
  readonly format: number
  /** Which installation the backups are of. */
  readonly installation: string
}

/** A new id, which sorts by time. */
export function newBackupId(nowMs: number): string {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  // The milliseconds first, so that ids of one second are in order.
  const milliseconds = (nowMs % 1000).toString(16).padStart(3, '0')
  return `${time}-${milliseconds}${randomBytes(2).toString('hex').slice(1)}`
}

export function isBackupId(text: string): boolean {
  return /^\d{8}T\d{6}Z-[0-9a-f]{6}$/.test(text)
}

/** Opens a repository to read it. Throws a SetupError where there is none. */
export async function openBackupRepository(destination: Destination): Promise<BackupRepository> {
  const { files, name } = destination
  const marker = await readMarker(destination)
  if (marker === undefined) throw new SetupError(`${name} contains no backups`)
  return createBackupRepository(files, name)
}

/** Opens the repository of an installation to write to it; an empty destination becomes one. */
export async function openOrCreateBackupRepository(
  destination: Destination,
  installation: string,
): Promise<BackupRepository> {
  const { files, name } = destination
  const marker = await readMarker(destination)
  if (marker === undefined) {
    for await (const { location } of files.listBlobs())
      throw new SetupError(
        `${name} contains ${location}, which no backup created: use an empty directory or prefix`,
      )
    await storeFile(
      files,
      MARKER,
      singleChunk(Buffer.from(`${JSON.stringify({ format: BACKUP_FORMAT, installation })}\n`)),
    )
  } else if (marker.installation !== installation)
    throw new SetupError(
      `${name} contains backups of another installation (${marker.installation}, this is ${installation}): use another directory or prefix`,
    )
  return createBackupRepository(files, name)
}

async function readMarker({ files, name }: Destination): Promise<Marker | undefined> {
  const found = (await filesIn(files, BACKUPS)).find(({ location }) => location === MARKER)
  if (found === undefined) return undefined
  let marker: Partial<Marker>
  try {
    marker = JSON.parse((await readWholeFile(files.read(MARKER, { start: 0, end: found.size }))).toString())
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new SetupError(`${MARKER} in ${name} is damaged: it is not JSON`)
  }
  const { format = 0, installation = '' } = marker
  if (format > BACKUP_FORMAT)
    throw new SetupError(
      `the backups in ${name} have format ${format}, and this version of Berth reads format ${BACKUP_FORMAT}: use a newer version`,
    )
  return { format, installation }
}

function createBackupRepository(files: BlobStore, name: string): BackupRepository {
  return {
    name,

    async list() {
      const all = (await filesIn(files, BACKUPS)).filter(({ location }) => isBackupId(backupIdOf(location)))
      const backups: StoredBackup[] = []
      for (const [id, own] of Map.groupBy(all, ({ location }) => backupIdOf(location))) {
        const file = `${BACKUPS}/${id}/${MANIFEST}`
        const found = own.find(({ location }) => location === file)
        const bytes = found && (await readWholeFile(files.read(file, { start: 0, end: found.size })))
        const manifest = bytes && parseBackupManifest(bytes, file)
        backups.push({ id, manifest, files: own.map(({ location }) => location) })
      }
      return backups.sort((a, b) => (a.id < b.id ? -1 : 1))
    },

    async blobs() {
      const found = new Map<string, number>()
      for (const algorithm of ['sha256', 'sha512'])
        for await (const { location, size } of files.listBlobs(algorithm))
          found.set(`${algorithm}:${location.slice(location.lastIndexOf('/') + 1)}`, size)
      return found
    },

    write: (backup, file, bytes) => storeFile(files, `${BACKUPS}/${backup}/${file}`, bytes),

    async complete(manifest) {
      await storeFile(
        files,
        `${BACKUPS}/${manifest.id}/${MANIFEST}`,
        singleChunk(serializeBackupManifest(manifest)),
      )
    },

    async writeBlob(digest, bytes) {
      const { algorithm, location } = parseBlobDigest(digest)
      const { uploaded, hex } = await upload(files, bytes, algorithm)
      const isExpected = digest === `${algorithm}:${hex}`
      await (isExpected ? files.commit(uploaded, location) : files.discard(uploaded))
      return isExpected
    },

    read: ({ file, bytes, sha256 }) =>
      readVerified(files, file, bytes, { algorithm: 'sha256', digest: `sha256:${sha256}` }),

    readBlob(digest, size) {
      const { algorithm, location } = parseBlobDigest(digest)
      return readVerified(files, location, size, { algorithm, digest })
    },

    removeBlob: (digest) => files.remove(parseBlobDigest(digest).location),

    async remove({ id, files: all }) {
      const manifest = `${BACKUPS}/${id}/${MANIFEST}`
      // First: without the manifest the rest is not a backup.
      await files.remove(manifest)
      for (const file of all) if (file !== manifest) await files.remove(file)
    },

    async removeUnfinished() {
      for await (const upload of files.listUploads()) await files.discard(upload)
    },

    close: () => files.close(),
  }
}

/** Stores bytes as a new upload, and the digest of them. */
async function upload(files: BlobStore, bytes: AsyncIterable<Uint8Array>, algorithm: string) {
  const hash = createHash(algorithm)
  async function* hashed() {
    for await (const piece of bytes) {
      hash.update(piece)
      // The store may keep a piece for longer than its source does.
      yield Buffer.from(piece)
    }
  }
  const newUpload = { id: randomBytes(16).toString('hex'), size: 0, state: '' }
  const uploaded = await files.append(newUpload, hashed(), { isLast: true })
  return { uploaded, hex: hash.digest('hex') }
}

async function storeFile(
  files: BlobStore,
  file: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<StoredFile> {
  const { uploaded, hex } = await upload(files, bytes, 'sha256')
  await files.commit(uploaded, file)
  return { file, bytes: uploaded.size, sha256: hex }
}

interface Expected {
  readonly algorithm: string
  readonly digest: string
}

async function* readVerified(
  files: BlobStore,
  location: string,
  size: number,
  { algorithm, digest }: Expected,
): AsyncGenerator<Uint8Array> {
  const hash = createHash(algorithm)
  try {
    for await (const piece of files.read(location, { start: 0, end: size })) {
      hash.update(piece)
      yield piece
    }
  } catch (error) {
    if (!(error instanceof MissingBytes)) throw error
    throw new DamagedFile(
      location,
      error.foundBytes === 0 ? 'it is missing' : `it ends at ${error.foundBytes} of ${size} bytes`,
    )
  }
  if (`${algorithm}:${hash.digest('hex')}` !== digest)
    throw new DamagedFile(location, 'its checksum is another one')
}

/** A file of a backup that cannot be restored. */
export class DamagedFile extends SetupError {
  override readonly name = 'DamagedFile'
  readonly file: string

  constructor(file: string, why: string) {
    super(`the backup is damaged: ${file}: ${why}`)
    this.file = file
  }
}

/** By digest: the same bytes have one place, whatever the installation calls them. */
function parseBlobDigest(digest: string): { readonly algorithm: string; readonly location: string } {
  const [, algorithm = '', hex = ''] = /^(sha256|sha512):([0-9a-f]{64,128})$/.exec(digest) ?? []
  if (algorithm === '') throw new SetupError(`${JSON.stringify(digest)} is not a digest`)
  return { algorithm, location: `${algorithm}/${hex.slice(0, 2)}/${hex}` }
}

function backupIdOf(location: string): string {
  return location.split('/')[1] ?? ''
}

async function filesIn(files: BlobStore, folder: string): Promise<StoredBlob[]> {
  const found: StoredBlob[] = []
  for await (const file of files.listBlobs(folder)) found.push(file)
  return found
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** All bytes of a small file. */
async function readWholeFile(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(Buffer.from(piece))
  return Buffer.concat(all)
}
