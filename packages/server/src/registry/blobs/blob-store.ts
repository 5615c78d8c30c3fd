/**
 * Where the bytes of blobs lie. It knows nothing of digests, repos and rights: the database says what is where. What it has
 * acknowledged is durable, and nobody sees a blob that is not whole.
 */
export interface BlobStore {
  /**
   * Goes on with an upload where `size` ends; what was written beyond that is forgotten. Fulfils when the bytes end, with the upload as
   * it is then. When they fail, so does this, and the upload is what it was. `isLast`: it is kept or discarded by this process next, so
   * that it need not outlive it. `isTakenOver`: somebody who went on with it before may still be writing, which must not change what
   * becomes of it. Rejects with MissingBytes where the bytes are not there any more.
   */
  append(
    upload: Upload,
    bytes: AsyncIterable<Uint8Array>,
    options?: { readonly isLast?: boolean; readonly isTakenOver?: boolean },
  ): Promise<Upload>
  /** The upload with all that is stored of it, also by a writer that never said how far it came; never less than `size`. */
  readProgress(upload: Upload): Promise<Upload>
  /** The bytes of an upload that is complete: nothing is appended to it afterwards. A piece holds until the next one is asked for. */
  readUpload(upload: Upload): AsyncIterable<Uint8Array>
  /** Makes an upload the blob at a location that was never used before. */
  commit(upload: Upload, location: string): Promise<void>
  /** Undoes `keep`: the upload can be kept again, or discarded. Nothing may know the location. */
  revertCommit(upload: Upload, location: string): Promise<void>
  /** Forgets an upload; does nothing where there is none. */
  discard(upload: Pick<Upload, 'id' | 'state'>): Promise<void>
  /**
   * The bytes from `start` to before `end`. Nothing is opened before they are asked for. A piece holds until the next one is asked for:
   * whoever keeps it takes a copy.
   */
  read(location: string, range: ByteRange): AsyncIterable<Uint8Array>
  /** Forgets a blob; does nothing where there is none. */
  remove(location: string): Promise<void>
  /**
   * A URL that gives whoever has it the bytes of a blob, for `blobUrlLifetimeMs`. Undefined where the store cannot be asked by clients,
   * or is not to be.
   */
  readonly presignUrl: ((location: string) => Promise<string>) | undefined
  /** Names the database that the store belongs to; it is not among `blobs`. */
  readonly identity: StoreIdentity
  /** All that is stored, in any order. What comes or goes meanwhile may be among it or not. `folder`: only below this first name. */
  listBlobs(folder?: string): AsyncIterable<StoredBlob>
  /** All that was appended and neither kept nor discarded, likewise. */
  listUploads(): AsyncIterable<StoredUpload>
  close(): void
}

/** A file or object of the store; a copy of the store has it, too. */
export interface StoreIdentity {
  /** Undefined if the store has none. */
  read(): Promise<string | undefined>
  /** Replaces the one that the store may have. `id`: hex digits. */
  write(id: string): Promise<void>
}

/** Its name in a directory, and below the prefix of a bucket. */
export const IDENTITY_FILE = 'store-identity'

export interface StoredBlob {
  readonly location: string
  readonly size: number
  readonly modifiedMs: number
}

export interface StoredUpload extends Pick<Upload, 'id' | 'state'> {
  /** Where it was about to be kept, when that is all there is of it: what somebody else has begun there looks the same. */
  readonly location?: string
  readonly modifiedMs: number
}

/** Bytes that are to be read or gone on with and are not there, or not all of them. Other failures may go away by themselves. */
export class MissingBytes extends Error {
  override readonly name = 'MissingBytes'
  /** How many there are. */
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
  /** What the store remembers of it between two calls; '' at first. */
  readonly state: string
}

export interface ByteRange {
  readonly start: number
  readonly end: number
}
