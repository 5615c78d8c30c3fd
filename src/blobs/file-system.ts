import { randomBytes } from 'node:crypto'
import { copyFile, type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makePrivateDirectory } from '../storage/db.ts'
import { type BlobStore, type ByteRange, type Upload, UploadLost } from './store.ts'

/**
 * Blobs as files. An upload is a file of its own until it is whole and on the disk; then it gets its name in one step. Several nodes may
 * share the directory.
 */

/** Written and read at a time. */
const PIECE_BYTES = 1024 * 1024
/** A client that sends a byte at a time is not remembered byte by byte. */
const PIECES_MAX = 1024
const READ_BYTES = 256 * 1024

export function fileBlobs(directory: string): BlobStore {
  const uploads = join(directory, 'uploads')
  const fileOf = ({ id }: Pick<Upload, 'id'>) => join(uploads, id)
  const blobAt = (location: string) => join(directory, location)
  /** Directories that are known to be there, and to be found after a crash. */
  const made = new Set<string>()
  const makeDirectory = async (path: string) => {
    if (made.has(path)) return
    makePrivateDirectory(path)
    for (let at = path; at.startsWith(directory); at = dirname(at)) await syncDirectory(dirname(at))
    made.add(path)
  }

  return {
    async append(upload, bytes, { isTakenOver = false } = {}) {
      await makeDirectory(uploads)
      if (isTakenOver) await leaveBehind(fileOf(upload), upload)
      const file = await openUpload(fileOf(upload), upload)
      try {
        return { ...upload, size: await writeFrom(file, upload.size, bytes) }
      } finally {
        await file.close()
      }
    },

    uploaded: (upload) => readFile(fileOf(upload), { start: 0, end: upload.size }),

    async keep(upload, location) {
      const target = blobAt(location)
      // Nothing may have been written, not even by an upload of no bytes.
      await makeDirectory(uploads)
      const file = await openUpload(fileOf(upload), upload)
      try {
        await file.truncate(upload.size)
        await file.datasync()
      } finally {
        await file.close()
      }
      await makeDirectory(dirname(target))
      await rename(fileOf(upload), target)
      await syncDirectory(dirname(target))
    },

    discard: (upload) => rm(fileOf(upload), { force: true }),

    read: (location, range) => readFile(blobAt(location), range),

    remove: (location) => rm(blobAt(location), { force: true }),
  }
}

async function openUpload(path: string, { size }: Pick<Upload, 'size'>): Promise<FileHandle> {
  const file = await open(path, size === 0 ? 'w' : 'r+', 0o600).catch(lost)
  try {
    if (size > 0 && (await file.stat()).size < size) throw new UploadLost(`${path} ends before ${size}`)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Makes the upload another file, with the same bytes: whoever has the old one open writes to nobody. */
async function leaveBehind(path: string, { size }: Pick<Upload, 'size'>): Promise<void> {
  if (size === 0) return rm(path, { force: true })
  const copy = `${path}.${randomBytes(8).toString('hex')}`
  try {
    await copyFile(path, copy)
    await rename(copy, path)
  } catch (error) {
    await rm(copy, { force: true })
    lost(error)
  }
}

function lost(error: unknown): never {
  throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new UploadLost('', { cause: error }) : error
}

/** Writes what comes, in pieces of some size; the position behind it. */
async function writeFrom(file: FileHandle, from: number, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  let position = from
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  const flush = async () => {
    const pieces = waiting
    waiting = []
    waitingBytes = 0
    if (pieces.length > 0) position += await writeAll(file, pieces, position)
  }
  for await (const chunk of bytes) {
    waiting.push(chunk)
    waitingBytes += chunk.length
    if (waitingBytes >= PIECE_BYTES || waiting.length >= PIECES_MAX) await flush()
  }
  await flush()
  return position
}

async function writeAll(file: FileHandle, pieces: readonly Uint8Array[], position: number): Promise<number> {
  const total = pieces.reduce((sum, { length }) => sum + length, 0)
  const { bytesWritten } = await file.writev(pieces, position)
  if (bytesWritten === total) return total
  // A disk that is nearly full takes less than it is given; the next attempt says why.
  const rest = Buffer.concat(pieces).subarray(bytesWritten)
  if (bytesWritten === 0) throw new Error('the file system takes no more bytes')
  return bytesWritten + (await writeAll(file, [rest], position + bytesWritten))
}

async function* readFile(path: string, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r')
  try {
    for (let position = start; position < end; ) {
      const wanted = Math.min(READ_BYTES, end - position)
      // A buffer of its own each time: the one before may still be on its way to a client.
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, position)
      if (bytesRead === 0) throw new Error(`${path} ends at ${position}, before ${end}`)
      yield buffer.subarray(0, bytesRead)
      position += bytesRead
    }
  } finally {
    await file.close()
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
