/** One layer of an image: a tar archive, which may be compressed with gzip or zstd. */
export interface ImageLayer {
  readonly digest: string
  readonly mediaType: string
  /** Returns the bytes as they are stored. Called again only if a link refers to a file that was not read. */
  open(): AsyncIterable<Uint8Array>
}
