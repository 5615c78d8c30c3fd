/**
 * Where the bytes of blobs lie. It knows nothing of digests, repos and rights: the database says what is where. What it has
 * acknowledged is durable, and nobody sees a blob that is not whole.
 */
export interface BlobStore {
  /**
   * Goes on with an upload where `size` ends; what was written beyond that is forgotten. Fulfils when the bytes end, with the upload as
   * it is then. When they fail, so does this, and the upload is what it was. `isTakenOver`: somebody who went on with it before may
   * still be writing, which must not change what becomes of it. Rejects with UploadLost where the bytes are not there any more.
   */
  append(
    upload: Upload,
    bytes: AsyncIterable<Uint8Array>,
    options?: { readonly isTakenOver?: boolean },
  ): Promise<Upload>
  /** The bytes of an upload. */
  uploaded(upload: Upload): AsyncIterable<Uint8Array>
  /** Makes an upload the blob at a location that was never used before. */
  keep(upload: Upload, location: string): Promise<void>
  /** Forgets an upload; does nothing where there is none. */
  discard(upload: Pick<Upload, 'id' | 'state'>): Promise<void>
  /** The bytes from `start` to before `end`. Nothing is opened before they are asked for. */
  read(location: string, range: ByteRange): AsyncIterable<Uint8Array>
  /** Forgets a blob; does nothing where there is none. */
  remove(location: string): Promise<void>
}

/** The bytes of an upload are gone: a process ended between storing them and saying so. */
export class UploadLost extends Error {}

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
