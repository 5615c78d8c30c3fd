/** The remaining budget for unpacking, shared by an archive and all archives in it. */
export interface UnpackBudget {
  readonly bounds: UnpackLimits
  /** Counts a file of an archive. Throws an ArchiveRejected if there are too many. */
  addEntry(): void
  /** Counts unpacked bytes. Throws an ArchiveRejected if there are too many, and the signal's reason if it is aborted. */
  addBytes(bytes: number): void
  /** Throws the signal's reason if it is aborted. */
  throwIfStopped(): void
}

export type UnpackLimits = Record<
  | 'archiveEntriesMax'
  | 'archiveBytesMax'
  | 'archiveRatioMax'
  | 'archiveNestingMax'
  | 'advisoryDocumentBytesMax',
  number
>

/** Why the rest of an archive is not read. */
export class ArchiveRejected extends Error {
  override readonly name = 'ArchiveRejected'
}

const GIB = 1024 ** 3

/** `packedBytes`: the compressed size. */
export function createUnpackBudget(
  packedBytes: number,
  bounds: UnpackLimits,
  signal?: AbortSignal,
): UnpackBudget {
  const { archiveEntriesMax: entriesMax, archiveBytesMax: bytesMax, archiveRatioMax: ratioMax } = bounds
  // Content that fits into one document is never a decompression bomb, whatever its ratio.
  const ratioBytesMax = Math.max(packedBytes * ratioMax, bounds.advisoryDocumentBytesMax)
  const throwIfStopped = () => signal?.throwIfAborted()
  let entries = 0
  let bytes = 0
  return {
    bounds,
    throwIfStopped,
    addEntry() {
      throwIfStopped()
      if (++entries > entriesMax) throw new ArchiveRejected(`has more than ${entriesMax} files`)
    },
    addBytes(more) {
      throwIfStopped()
      bytes += more
      if (bytes > bytesMax)
        throw new ArchiveRejected(`unpacks to more than ${Math.round((bytesMax / GIB) * 1000) / 1000} GiB`)
      if (bytes > ratioBytesMax) throw new ArchiveRejected(`unpacks to more than ${ratioMax} times its size`)
    },
  }
}
