import { randomBytes } from 'node:crypto'
import { constants, createReadStream, createWriteStream, type Stats } from 'node:fs'
import {
  copyFile,
  type FileHandle,
  link,
  open,
  opendir,
  readFile as readText,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isStorageFull } from '../../../api/storage-faults.ts'
import { makePrivateDirectory } from '../../../storage/db.ts'
import {
  type BlobRange,
  type BlobStore,
  IDENTITY_FILE,
  isHeld,
  MissingBytes,
  type Upload,
} from '../blob-store.ts'
import { createReadBuffers, type Piece, type ReadBuffers, SMALL_BYTES } from './read-buffers.ts'

/**
 * Blobs as files. An upload is a separate file until it is complete; then the file gets the name of the blob atomically. It keeps the name of
 * the upload until the blob is in the database, and is not written while it has both. Several nodes may share the directory.
 */

/** Bytes per write. */
const PIECE_BYTES = 256 * 1024
/** Limits the number of small chunks that are collected for one write. */
const PIECES_MAX = 1024

export function fileBlobs(directory: string): BlobStore {
  const uploads = join(directory, 'uploads')
  const fileOf = ({ id }: Pick<Upload, 'id'>) => join(uploads, id)
  const blobAt = (location: string) => join(directory, location)
  const buffers = createReadBuffers()
  /** Directories that exist and are durable. */
  const createdDirectories = new Set<string>()
  const createDirectory = async (path: string) => {
    if (createdDirectories.has(path)) return
    makePrivateDirectory(path)
    for (let at = path; at.startsWith(directory); at = dirname(at)) await syncDirectory(dirname(at))
    createdDirectories.add(path)
  }

  return {
    async append(upload, bytes, { isTakenOver = false, requireHeld, release = () => {} } = {}) {
      await createDirectory(uploads)
      if (isTakenOver) await replaceUploadFile(fileOf(upload), upload, requireHeld)
      const { file, size } = await openUpload(fileOf(upload), upload, requireHeld)
      try {
        await truncate(file, { from: size, to: upload.size, requireHeld })
        return { ...upload, size: await writeChunks(file, upload.size, bytes, { release, requireHeld }) }
      } catch (error) {
        // On a full disk, release the space of the failed append.
        if (isStorageFull(error) && (await isHeld(requireHeld))) await file.truncate(upload.size)
        throw error
      } finally {
        await file.close()
      }
    },

    async readProgress(upload) {
      const file = await statIfExists(fileOf(upload))
      return file === undefined || file.size <= upload.size ? upload : { ...upload, size: file.size }
    },

    readUpload: (upload) => readFile(buffers, fileOf(upload), { start: 0, end: upload.size }),

    async commit(upload, location, { requireHeld, keepsUpload = false } = {}) {
      const [source, target] = [fileOf(upload), blobAt(location)]
      // Nothing may have been written, for example by an empty upload.
      await createDirectory(uploads)
      await createDirectory(dirname(target))
      // Before the upload changes: a process with too many open files fails here.
      const folder = await open(dirname(target), 'r')
      try {
        const { file, size } = await openUpload(source, upload, requireHeld)
        try {
          await truncate(file, { from: size, to: upload.size, requireHeld })
          // The target is not yet visible. With its name first, a journaling file system waits for the disk once only.
          await (keepsUpload ? linkOrRename(source, target) : rename(source, target))
          try {
            await Promise.all([file.datasync(), folder.sync()])
          } catch (error) {
            await discardUnsynced(file, { source, target, requireHeld })
            throw error
          }
        } finally {
          await file.close()
        }
      } finally {
        await folder.close()
      }
    },

    async revertCommit(upload, location, { keepsBlob = false } = {}) {
      const [source, target] = [fileOf(upload), blobAt(location)]
      const isKept = (await statIfExists(source)) !== undefined
      if (!keepsBlob) return isKept ? rm(target, { force: true }) : rename(target, source)
      // Fails if another request has started the upload again.
      if (!isKept) await copyFile(target, source, constants.COPYFILE_EXCL)
    },

    discard: (upload) => rm(fileOf(upload), { force: true }),

    read: (location, range) => readFile(buffers, blobAt(location), range),

    pathOf: blobAt,

    remove: (location) => rm(blobAt(location), { force: true }),

    presignUrl: undefined,

    identity: {
      async read() {
        try {
          return (await readText(blobAt(IDENTITY_FILE), 'utf8')).trim()
        } catch (error) {
          if (isNotFound(error)) return undefined
          throw error
        }
      },
      async write(id) {
        await createDirectory(directory)
        const draft = blobAt(`${IDENTITY_FILE}.${randomBytes(8).toString('hex')}`)
        await writeFile(draft, `${id}\n`, { mode: 0o600, flush: true })
        await rename(draft, blobAt(IDENTITY_FILE))
        await syncDirectory(directory)
      },
    },

    close() {},

    async *listBlobs(folder) {
      for await (const algorithm of entriesOf(directory)) {
        if (join(directory, algorithm) === uploads || (folder ?? algorithm) !== algorithm) continue
        for await (const prefix of entriesOf(join(directory, algorithm)))
          for await (const name of entriesOf(join(directory, algorithm, prefix))) {
            const location = `${algorithm}/${prefix}/${name}`
            const file = await statIfExists(blobAt(location))
            if (file?.isFile()) yield { location, size: file.size, modifiedMs: file.mtimeMs }
          }
      }
    },

    async *listUploads() {
      for await (const id of entriesOf(uploads)) {
        const file = await statIfExists(fileOf({ id }))
        if (file?.isFile()) yield { id, state: '', modifiedMs: file.mtimeMs }
      }
    },
  }
}

interface OpenedUpload {
  readonly file: FileHandle
  /** Bytes in the file: at least those of the upload. */
  readonly size: number
}

/** Opens the file of an upload for writing, and creates that of an empty one. Replaces a file that is also a blob by a copy. */
async function openUpload(
  path: string,
  upload: Pick<Upload, 'size'>,
  requireHeld: (() => Promise<void>) | undefined,
): Promise<OpenedUpload> {
  const { isBlob, ...opened } = await openUploadFile(path, upload)
  if (!isBlob) return opened
  await opened.file.close()
  await replaceUploadFile(path, upload, requireHeld)
  return openUploadFile(path, upload)
}

async function openUploadFile(
  path: string,
  { size }: Pick<Upload, 'size'>,
): Promise<OpenedUpload & { readonly isBlob: boolean }> {
  if (size === 0)
    try {
      return { file: await open(path, 'wx', 0o600), size: 0, isBlob: false }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throwMissing(error)
    }
  const file = await open(path, 'r+').catch(throwMissing)
  try {
    const { size: found, nlink: names } = await file.stat()
    if (found < size) throw new MissingBytes(`${path} has ${found} of ${size} bytes`, found)
    return { file, size: found, isBlob: names > 1 }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * Cuts off what a failed writer has stored: the size of the file is the progress of the upload. A writer that is suspended here for long loses
 * the upload. It changes nothing then: it has either opened the file that the next writer has replaced, or sees that it has lost the upload.
 */
async function truncate(
  file: FileHandle,
  {
    from,
    to,
    requireHeld,
  }: {
    readonly from: number
    readonly to: number
    readonly requireHeld: (() => Promise<void>) | undefined
  },
): Promise<void> {
  await requireHeld?.()
  if (from > to) await file.truncate(to)
}

/** Replaces the file by a copy: a writer that has the old file open no longer affects the upload, and the upload no longer affects a blob. */
async function replaceUploadFile(
  path: string,
  { size }: Pick<Upload, 'size'>,
  requireHeld: (() => Promise<void>) | undefined,
): Promise<void> {
  if (size === 0) {
    await requireHeld?.()
    return rm(path, { force: true })
  }
  // Named like an upload: after a crash it is deleted as untracked.
  const copy = join(dirname(path), randomBytes(16).toString('hex'))
  try {
    await copyStart(path, copy, size)
    // The copy may take longer than the lease.
    await requireHeld?.()
    await rename(copy, path)
  } finally {
    await rm(copy, { force: true })
  }
}

/** Copies the first `size` bytes, or as many as there are. `copyFile` does not end if another writer makes the file shorter meanwhile. */
async function copyStart(path: string, copy: string, size: number): Promise<void> {
  const reading = createReadStream(path, { end: size - 1, highWaterMark: PIECE_BYTES })
  await pipeline(reading, createWriteStream(copy, { flags: 'wx', mode: 0o600 })).catch(throwMissing)
}

/**
 * Discards an upload after a failed sync, and its blob: the disk may have lost bytes, and a second attempt would report success. Tries
 * each step, since the disk may reject some. If another writer has the upload, `source` names its file, and `file` is another one.
 */
async function discardUnsynced(
  file: FileHandle,
  {
    source,
    target,
    requireHeld,
  }: {
    readonly source: string
    readonly target: string
    readonly requireHeld: (() => Promise<void>) | undefined
  },
): Promise<void> {
  await Promise.allSettled([file.truncate(0), rm(target, { force: true })])
  if (await isHeld(requireHeld)) await rm(source, { force: true }).catch(() => undefined)
}

/** Gives a file a second name; renames it if the file system does not support that. */
async function linkOrRename(path: string, target: string): Promise<void> {
  try {
    await link(path, target)
  } catch {
    await rename(path, target)
  }
}

function throwMissing(error: unknown): never {
  throw isNotFound(error) ? new MissingBytes('the file of an upload is missing', 0, error) : error
}

/** Writes chunks in larger pieces and returns the position after them. */
async function writeChunks(
  file: FileHandle,
  from: number,
  bytes: AsyncIterable<Uint8Array>,
  {
    release,
    requireHeld,
  }: {
    readonly release: (chunk: Uint8Array) => void
    readonly requireHeld: (() => Promise<void>) | undefined
  },
): Promise<number> {
  let position = from
  let pending: Uint8Array[] = []
  let pendingBytes = 0
  const flush = async () => {
    const pieces = pending
    pending = []
    pendingBytes = 0
    if (pieces.length === 0) return
    // The client may have stalled since the last chunk.
    await requireHeld?.()
    position += await writeAll(file, pieces, position)
    pieces.forEach(release)
  }
  for await (const chunk of bytes) {
    pending.push(chunk)
    pendingBytes += chunk.length
    if (pendingBytes >= PIECE_BYTES || pending.length >= PIECES_MAX) await flush()
  }
  await flush()
  return position
}

async function writeAll(file: FileHandle, pieces: readonly Uint8Array[], position: number): Promise<number> {
  const total = pieces.reduce((sum, { length }) => sum + length, 0)
  const { bytesWritten } = await file.writev(pieces, position)
  if (bytesWritten === total) return total
  // A disk that is nearly full writes less than requested; the next attempt fails with the reason.
  const rest = Buffer.concat(pieces).subarray(bytesWritten)
  if (bytesWritten === 0) throw new Error('the file system accepts no more bytes')
  return bytesWritten + (await writeAll(file, [rest], position + bytesWritten))
}

async function* readFile(
  buffers: ReadBuffers,
  path: string,
  { start, end, mayBeCached = false }: BlobRange,
): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw isNotFound(error) ? new MissingBytes(`${path} is missing`, 0, error) : error
  })
  let lent: Piece | undefined
  try {
    const isCached = mayBeCached && end - start > SMALL_BYTES
    const source = { file, cacheKey: isCached ? await contentKey(file, path) : undefined }
    for (let position = start; position < end; ) {
      const piece = await buffers.read(source, position, end - position)
      const { bytes } = piece
      if (bytes.length === 0) {
        piece.release()
        throw new MissingBytes(`${path} ends at byte ${position} instead of ${end}`, position)
      }
      lent = piece
      yield bytes
      lent = undefined
      piece.release()
      position += bytes.length
    }
  } finally {
    // A consumer that stopped reading may have passed the bytes to a connection that is still sending.
    lent?.abandon()
    await file.close()
  }
}

/** Changes if the file is replaced, for example by a copy from a backup. */
async function contentKey(file: FileHandle, path: string): Promise<string> {
  const { dev, ino, mtimeMs, size } = await file.stat()
  return `${dev}:${ino}:${mtimeMs}:${size} ${path}`
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Returns the names in a directory, in batches; none if it does not exist. */
async function* entriesOf(path: string): AsyncGenerator<string> {
  try {
    for await (const { name } of await opendir(path)) yield name
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Returns undefined if the file was deleted since its name was read. */
async function statIfExists(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

function isNotFound(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}
