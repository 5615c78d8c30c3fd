import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, Code } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import { TaskGroup } from '../../../runtime/task-group.ts'
import type { Tracer } from '../../../runtime/tracer.ts'
import {
  type BlobStore,
  type ByteRange,
  IDENTITY_FILE,
  isHeld,
  MissingBytes,
  type StoredUpload,
  type Upload,
} from '../blob-store.ts'
import type { BlobLog, BlobSettings } from '../open.ts'
import { type Bucket, type MultipartUpload, openBucket } from './bucket.ts'
import { toFailure, toStoreError, UnreachableStore, UnusableStore } from './failures.ts'
import { type FilledPart, PartBuffers } from './part-buffers.ts'

/**
 * Blobs as objects of a bucket, with the same keys as the files of the other implementation. An upload is a multipart upload of key
 * `uploads/<id>/whole`, with a separate object for bytes that do not fill a part. It is completed there and copied to its location
 * within S3. A blob of one part is a single object from the start. These objects are deleted when the blob is in the database.
 * Rejects with UnusableStore, whose message says what to do.
 */
export async function openS3Blobs(settings: BlobSettings, log: BlobLog, tracer?: Tracer): Promise<BlobStore> {
  const bucket = openBucket(settings, log, tracer)
  try {
    await requireUsable(bucket)
  } catch (error) {
    bucket.close()
    if (!(error instanceof ApiError)) throw error
    const { cause } = error
    const why = cause instanceof Error ? cause.message : error.message
    const message = `cannot connect to bucket ${settings.bucket}: ${why}; check BERTH_BLOBS_S3_ENDPOINT`
    throw error.code === Code.UNAVAILABLE ? new UnreachableStore(message) : new UnusableStore(message)
  }
  return s3Blobs(bucket, { redirects: settings.redirect !== false })
}

/** Stored state of an upload: all of its parts except the tail have the same size. */
interface UploadState {
  readonly uploadId?: string
  /** ETags of the parts, in order. */
  readonly tags?: readonly string[]
  /** Key of the object with the bytes after the parts. */
  readonly tail?: string
  /** The previous tail, which is needed until this state is stored. */
  readonly formerTail?: string
  /** An unfinished copy: nothing is appended after it. */
  readonly copy?: MultipartUpload
}

const UPLOADS = 'uploads/'
const { s3PartBytes: PART_BYTES } = limits

function s3Blobs(bucket: Bucket, { redirects }: { readonly redirects: boolean }): BlobStore {
  /** Small uploads in memory that are committed or discarded next, by id. */
  const smallUploads = new Map<string, FilledPart>()
  const folderOf = (id: string) => `${UPLOADS}${id}/`
  const objectKeyOf = (id: string) => `${folderOf(id)}whole`
  const newTail = (id: string) => `${folderOf(id)}tail-${randomBytes(8).toString('hex')}`

  return {
    async append(upload, bytes, { isLast = false, requireHeld, release } = {}) {
      // A part that this writer sends later fails the upload of its successor, which knows the tags of its own parts.
      await requireHeld?.()
      const { id } = upload
      const former = parseState(upload.state)
      const tags = [...(former.tags ?? [])]
      const tasks = new TaskGroup(limits.s3PartConcurrency)
      const buffers = new PartBuffers()
      let { uploadId } = former
      let size = upload.size
      const sendPart = async () => {
        if (tags.length + 1 >= limits.s3PartsMax) throw tooLarge()
        await requireHeld?.()
        const part = buffers.take()
        uploadId ??= await bucket.createMultipartUpload(objectKeyOf(id))
        const number = tags.push('')
        const target = { key: objectKeyOf(id), uploadId, number }
        await tasks.start(async (signal) => {
          tags[number - 1] = await bucket.uploadPart(target, part, signal)
          buffers.release(part)
        })
      }
      const addBytes = async (chunk: Uint8Array) => {
        // A full part waits until more bytes follow: the last one becomes an object of its own.
        for (let rest = chunk; rest.length > 0; ) {
          if (buffers.length === PART_BYTES) await sendPart()
          rest = buffers.add(rest)
        }
      }
      try {
        for await (const chunk of bytes) {
          if (chunk.length === 0) continue
          if (size === upload.size) {
            for await (const piece of readTail(upload, former)) await addBytes(piece)
            // This state is stored, so the earlier one is never used again.
            if (former.formerTail !== undefined) {
              await requireHeld?.()
              await bucket.remove(former.formerTail)
            }
          }
          size += chunk.length
          await addBytes(chunk)
          release?.(chunk)
        }
        if (size === upload.size) return upload
        await tasks.wait()
        const tail = buffers.take()
        if (isLast && upload.size === 0 && uploadId === undefined) {
          smallUploads.set(id, tail)
          return { ...upload, size }
        }
        // The client may have stalled since the last chunk.
        await requireHeld?.()
        const tailKey = newTail(id)
        await bucket.put(tailKey, tail)
        return {
          ...upload,
          size,
          state: serializeState({
            ...(uploadId !== undefined && { uploadId, tags }),
            tail: tailKey,
            ...(former.tail !== undefined && { formerTail: former.tail }),
          }),
        }
      } catch (error) {
        await tasks.cancel()
        // The next writer continues with the parts of this one.
        if (uploadId !== undefined && former.uploadId === undefined && (await isHeld(requireHeld)))
          await bucket.abortMultipartUpload({ key: objectKeyOf(id), uploadId }).catch(() => undefined)
        throw error
      }
    },

    async readProgress(upload) {
      const former = parseState(upload.state)
      const key = objectKeyOf(upload.id)
      let best = upload
      for await (const { uploadId } of bucket.listMultipartUploads(key)) {
        if (former.uploadId !== undefined && former.uploadId !== uploadId) continue
        const tags = await bucket.listPartEtags({ key, uploadId }, PART_BYTES)
        const size = tags.length * PART_BYTES
        if (size <= best.size) continue
        const formerTail = former.tail ?? former.formerTail
        best = {
          ...upload,
          size,
          state: serializeState({ uploadId, tags, ...(formerTail && { formerTail }) }),
        }
      }
      // A writer that was about to commit it has completed it: the parts no longer exist, and all bytes are one object.
      const completeSize = (await bucket.sizeOf(key)) ?? 0
      if (completeSize < Math.max(best.size, 1)) return best
      return { ...upload, size: completeSize, state: serializeState({ tail: key }) }
    },

    async *readUpload(upload) {
      const part = smallUploads.get(upload.id)
      if (part !== undefined) yield part.bytes
      else if (upload.size > 0)
        yield* readObject(bucket, await completeUpload(upload), { start: 0, end: upload.size })
    },

    async commit(upload, location, { requireHeld, keepsUpload = false } = {}) {
      await requireHeld?.()
      const part = upload.size === 0 ? new PartBuffers().take() : smallUploads.get(upload.id)
      if (part !== undefined) {
        await bucket.put(location, part)
        smallUploads.delete(upload.id)
        return
      }
      await copyObject(bucket, await completeUpload(upload), location, upload.size)
      if (!keepsUpload) await removeCommitted(upload)
    },

    async revertCommit(_upload, location, { keepsBlob = false } = {}) {
      if (!keepsBlob) await bucket.remove(location)
    },

    async discard({ id, state }, { isCommitted = false } = {}) {
      if (smallUploads.delete(id)) return
      if (isCommitted) return removeCommitted({ id, state })
      const { copy, uploadId } = parseState(state)
      if (copy !== undefined) return bucket.abortMultipartUpload(copy)
      if (uploadId !== undefined) await bucket.abortMultipartUpload({ key: objectKeyOf(id), uploadId })
      // A writer may have died before it reported other uploads. Some servers list only those of a complete key.
      for await (const parts of bucket.listMultipartUploads(objectKeyOf(id)))
        await bucket.abortMultipartUpload(parts)
      for await (const { location } of bucket.list(folderOf(id))) await bucket.remove(location)
    },

    read: (location, range) => abortOnReturn((signal) => readObject(bucket, location, range, signal)),

    remove: (location) => bucket.remove(location),

    pathOf: undefined,

    presignUrl: redirects ? (location) => bucket.presignUrl(location) : undefined,

    identity: {
      async read() {
        const size = await bucket.sizeOf(IDENTITY_FILE)
        if (size === undefined || size === 0) return undefined
        const pieces: Uint8Array[] = []
        for await (const piece of readObject(bucket, IDENTITY_FILE, { start: 0, end: size }))
          pieces.push(Uint8Array.from(piece))
        return Buffer.concat(pieces).toString('utf8').trim()
      },
      async write(id) {
        const text = new PartBuffers()
        text.add(Buffer.from(`${id}\n`))
        await bucket.put(IDENTITY_FILE, text.take())
      },
    },

    async *listBlobs(folder) {
      const below = folder === undefined ? '' : `${folder}/`
      for await (const stored of bucket.list(below))
        if (!stored.location.startsWith(UPLOADS) && stored.location !== IDENTITY_FILE) yield stored
    },

    async *listUploads() {
      // An upload has parts and objects, but is listed once. Few are unfinished at a time.
      const seen = new Map<string, StoredUpload>()
      const addUpload = (upload: StoredUpload) => {
        const modifiedMs = Math.max(upload.modifiedMs, seen.get(upload.id)?.modifiedMs ?? 0)
        seen.set(upload.id, { ...upload, modifiedMs })
      }
      for await (const { key, uploadId, modifiedMs } of bucket.listMultipartUploads('')) {
        const id = uploadIdOf(key)
        addUpload(
          id === undefined
            ? {
                id: hashedName(uploadId),
                state: serializeState({ copy: { key, uploadId } }),
                location: key,
                modifiedMs,
              }
            : { id, state: '', modifiedMs },
        )
      }
      for await (const { location, modifiedMs } of bucket.list(UPLOADS)) {
        const id = uploadIdOf(location)
        if (id !== undefined) addUpload({ id, state: '', modifiedMs })
      }
      yield* seen.values()
    },

    close: () => bucket.close(),
  }

  /** Reads the bytes after the parts, to continue with them. */
  async function* readTail({ id, size }: Upload, { tail, tags = [] }: UploadState) {
    if (size === 0) return
    if (tail !== undefined)
      yield* readObject(bucket, tail, { start: 0, end: size - tags.length * PART_BYTES })
    else if (size !== tags.length * PART_BYTES) throw uploadNotFoundError(id)
  }

  /** Deletes the objects of an upload that is a blob now, whatever happens to them: garbage collection finds the others. */
  async function removeCommitted({ id, state }: Pick<Upload, 'id' | 'state'>) {
    const { uploadId, tail, formerTail } = parseState(state)
    const objectKey = uploadId === undefined ? undefined : objectKeyOf(id)
    const leftovers = new Set([objectKey, tail, formerTail].filter((key) => key !== undefined))
    await Promise.allSettled([...leftovers].map((key) => bucket.remove(key)))
  }

  /** Returns the object with all bytes of an upload. */
  async function completeUpload({ id, size, state }: Upload): Promise<string> {
    const { uploadId, tags = [], tail } = parseState(state)
    if (tail === undefined && size !== tags.length * PART_BYTES) throw uploadNotFoundError(id)
    if (uploadId === undefined) {
      if (tail === undefined) throw uploadNotFoundError(id)
      return tail
    }
    const key = objectKeyOf(id)
    // An earlier attempt may have completed it.
    if ((await bucket.sizeOf(key)) === size) return key
    const last =
      tail === undefined ? [] : [await bucket.copyPart({ key, uploadId, number: tags.length + 1 }, tail)]
    const done = await bucket.completeMultipartUpload({ key, uploadId }, [...tags, ...last])
    if (done !== 'complete' && (await bucket.sizeOf(key)) !== size)
      throw new MissingBytes(`S3 no longer has the parts of upload ${id}`, 0)
    return key
  }
}

function uploadNotFoundError(id: string): Error {
  return new MissingBytes(`S3 has no bytes of upload ${id}`, 0)
}

function tooLarge(): Error {
  return new Error(`a blob can have at most ${limits.s3PartsMax} parts of ${PART_BYTES} bytes`)
}

function parseState(state: string): UploadState {
  return state === '' ? {} : (JSON.parse(state) as UploadState)
}

function serializeState(state: UploadState): string {
  return JSON.stringify(state)
}

/** Returns the upload that a key belongs to. */
function uploadIdOf(key: string): string | undefined {
  return /^uploads\/([0-9A-Za-z]+)\//.exec(key)?.[1]
}

/** Returns letters and digits for an upload with another name. */
function hashedName(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** Copies larger blobs in parts: S3 copies at most 5 GiB at a time, and several parts faster than one. */
async function copyObject(bucket: Bucket, from: string, to: string, size: number): Promise<void> {
  const step = limits.s3CopyPartBytes
  if (size <= step) return bucket.copy(from, to)
  const uploadId = await bucket.createMultipartUpload(to)
  const tasks = new TaskGroup(limits.s3CopyConcurrency)
  const tags: string[] = []
  try {
    for (let start = 0; start < size; start += step) {
      const number = tags.push('')
      const range = { start, end: Math.min(start + step, size) }
      await tasks.start(async (signal) => {
        tags[number - 1] = await bucket.copyPart({ key: to, uploadId, number }, from, range, signal)
      })
    }
    await tasks.wait()
    const done = await bucket.completeMultipartUpload({ key: to, uploadId }, tags)
    // The response to a first, successful attempt may have been lost.
    if (done !== 'complete' && (await bucket.sizeOf(to)) !== size)
      throw new MissingBytes(`the copy ${to} disappeared while it was created`, 0)
  } catch (error) {
    await tasks.cancel()
    await bucket.abortMultipartUpload({ key: to, uploadId }).catch(() => undefined)
    throw error
  }
}

const RESUME_MS = 200

/** Reads an object. Reopens a connection that was interrupted or idle for too long where it ended. */
async function* readObject(
  bucket: Bucket,
  key: string,
  { start, end }: ByteRange,
  signal: AbortSignal = new AbortController().signal,
): AsyncGenerator<Uint8Array> {
  let position = start
  for (let attempts = 1; position < end; ) {
    const { size, bytes } = await bucket.get(key, { start: position, end }, signal)
    const leave = () => bytes.destroy()
    signal.addEventListener('abort', leave)
    try {
      if (size < end - position)
        throw new MissingBytes(`${key} ends at byte ${position + size} instead of ${end}`, position + size)
      for await (const piece of bytes as AsyncIterable<Uint8Array>) {
        yield piece
        position += piece.length
        attempts = 1
      }
      if (position < end) throw new Error('the response ended too early')
    } catch (error) {
      if (signal.aborted || error instanceof MissingBytes) throw error
      const failure = toFailure(error)
      attempts += 1
      if (attempts > limits.s3AttemptsMax) throw toStoreError({ ...failure, temporary: true }, key)
      await pause(RESUME_MS * attempts, undefined, { signal })
    } finally {
      signal.removeEventListener('abort', leave)
      bytes.destroy()
    }
  }
}

/** Returns an iterable whose pending read is aborted when its consumer stops. */
function abortOnReturn(read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const returned = new AbortController()
      const bytes = read(returned.signal)
      return {
        next: () => bytes.next(),
        async return() {
          returned.abort()
          return bytes.return(undefined)
        },
      }
    },
  }
}

/** Rejects unless the bucket supports writing, reading, listing and deleting an object. */
async function requireUsable(bucket: Bucket): Promise<void> {
  const folder = `${UPLOADS}${randomBytes(16).toString('hex')}/`
  const key = `${folder}start`
  const tried = new PartBuffers()
  tried.add(new Uint8Array(5))
  await bucket.put(key, tried.take())
  try {
    for await (const _ of readObject(bucket, key, { start: 0, end: 5 }));
    for await (const _ of bucket.list(folder));
    for await (const _ of bucket.listMultipartUploads(key));
  } finally {
    await bucket.remove(key)
  }
}
