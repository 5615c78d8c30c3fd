export interface AppendOptions {
  readonly isLast?: boolean
  readonly isTakenOver?: boolean
  readonly requireHeld?: () => Promise<void>
  readonly release?: (chunk: Uint8Array) => void
}

export interface CommitOptions {
  readonly requireHeld?: () => Promise<void>
  readonly keepsUpload?: boolean
}

export interface RevertOptions {
  readonly keepsBlob?: boolean
}

export interface DiscardOptions {
  readonly isCommitted?: boolean
}

/**
 * A store of the bytes of blobs. It knows nothing of digests, repos and permissions: the database has the locations. What it has
 * acknowledged is durable, and incomplete blobs are never visible.
 */
export interface BlobStore {
  /**
   * Appends to an upload at `size`; bytes beyond that are discarded. Resolves when the source ends, with the new state of the
   * upload. If the source fails, so does this, and the upload is unchanged. `isLast`: this process commits or discards it next, so
   * it need not be durable. `isTakenOver`: a previous writer may still be writing, which must not change the
   * result; if the append fails, the next one must take the upload over, too. `requireHeld` rejects if this writer has lost the upload:
   * then it neither stores bytes nor discards what another one stored. `release` is called once with each chunk that the store does not
   * read again, and may free its memory. Rejects with MissingBytes if the stored bytes no longer exist.
   */
  append(upload: Upload, bytes: AsyncIterable<Uint8Array>, options?: AppendOptions): Promise<Upload>
  /** Returns the upload with all bytes that are stored of it, also by a writer that did not report its progress; never less than `size`. */
  readProgress(upload: Upload): Promise<Upload>
  /** Reads a complete upload: nothing is appended to it afterwards. A chunk is valid until the next one is requested. */
  readUpload(upload: Upload): AsyncIterable<Uint8Array>
  /**
   * Turns an upload into the blob at a location that was never used before. `requireHeld`: as for `append`. `keepsUpload`: the upload keeps
   * its bytes until it is discarded. If this process dies before that, another one can append to the upload, as it was before or after
   * the last `append`, and commit it again; the blob does not change. A file system without hard links does not keep them.
   */
  commit(upload: Upload, location: string, options?: CommitOptions): Promise<void>
  /**
   * Undoes `commit` with `keepsUpload`: the upload can be committed again or discarded. Nothing may refer to the location, except with
   * `keepsBlob`: then the blob keeps its bytes, too.
   */
  revertCommit(upload: Upload, location: string, options?: RevertOptions): Promise<void>
  /** Discards an upload, if it exists. `isCommitted`: deletes only what `commit` has kept of it, with fewer requests. */
  discard(upload: Pick<Upload, 'id' | 'state'>, options?: DiscardOptions): Promise<void>
  /**
   * Reads the bytes from `start` to before `end`, opening the blob lazily. A chunk is read-only, and valid until the next one is
   * requested: consumers that keep it must copy it.
   */
  read(location: string, range: BlobRange): AsyncIterable<Uint8Array>
  /** Returns the path of the file of a blob, for other processes of this server; undefined if blobs are not files. */
  readonly pathOf: ((location: string) => string) | undefined
  /** Deletes a blob, if it exists. */
  remove(location: string): Promise<void>
  /**
   * Returns a URL that gives its holder access to a blob for `blobUrlLifetimeMs`. Undefined if clients cannot reach the store, or
   * should not.
   */
  readonly presignUrl: ((location: string) => Promise<string>) | undefined
  /** Identifies the database that the store belongs to; not one of the `blobs`. */
  readonly identity: StoreIdentity
  /** Lists all blobs in any order. Concurrent changes may or may not be included. `folder`: only those with this first path segment. */
  listBlobs(folder?: string): AsyncIterable<StoredBlob>
  /** Lists all uploads that were neither committed nor discarded, likewise. */
  listUploads(): AsyncIterable<StoredUpload>
  close(): void
}

/** A file or object of the store, which is part of every copy of the store. */
export interface StoreIdentity {
  /** Returns undefined if the store has none. */
  read(): Promise<string | undefined>
  /** Replaces the current one. `id`: hex digits. */
  write(id: string): Promise<void>
}

/** Its name in the directory, or below the prefix of the bucket. */
export const IDENTITY_FILE = 'store-identity'

export interface StoredBlob {
  readonly location: string
  readonly size: number
  readonly modifiedMs: number
}

export interface StoredUpload extends Pick<Upload, 'id' | 'state'> {
  /** The intended location, if nothing else is known of it. Uploads of other programs look the same. */
  readonly location?: string
  readonly modifiedMs: number
}

/** Returns whether a writer still has its upload; false if that is unknown. */
export async function isHeld(requireHeld: (() => Promise<void>) | undefined): Promise<boolean> {
  try {
    await requireHeld?.()
    return true
  } catch {
    return false
  }
}

/** Bytes to read or append to are missing or incomplete. Other failures may be temporary. */
export class MissingBytes extends Error {
  override readonly name = 'MissingBytes'
  /** How many bytes exist. */
  readonly foundBytes: number

  constructor(message: string, foundBytes: number, cause?: unknown) {
    super(message, { cause })
    this.foundBytes = foundBytes
  }
}

export interface Upload {
  /** Letters and digits. */
  readonly id: string
  readonly size: number
  /** What the store needs to know of it between two calls; '' at first. */
  readonly state: string
}

export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface BlobRange extends ByteRange {
  /** Whether cached bytes may be returned. Leave it unset to examine what is stored. */
  readonly mayBeCached?: boolean
}
