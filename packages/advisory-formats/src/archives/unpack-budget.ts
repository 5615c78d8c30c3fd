/** How much may still be unpacked: one account for an archive and all archives in it. */
export interface UnpackBudget {
  readonly bounds: UnpackLimits
  /** Another file of an archive. Throws an ArchiveRefused when there are too many. */
  addEntry(): void
  /** So many bytes were unpacked. Throws an ArchiveRefused when they are too many, and what the signal says when it is time to stop. */
  addBytes(bytes: number): void
  /** Throws what the signal says when it is time to stop. */
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

/** Why nothing more is read of an archive. */
export class ArchiveRejected extends Error {
  override readonly name = 'ArchiveRefused'
}

const GIB = 1024 ** 3

/** `packedBytes`: the size of what came. */
export function createUnpackBudget(
  packedBytes: number,
  bounds: UnpackLimits,
  signal?: AbortSignal,
): UnpackBudget {
  const { archiveEntriesMax: entriesMax, archiveBytesMax: bytesMax, archiveRatioMax: ratioMax } = bounds
  // What fits into one document is no bomb, however well it packs.
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
      if (bytes > ratioBytesMax)
        throw new ArchiveRejected(`unpacks to more than ${ratioMax} times its size, as no feed does`)
    },
  }
}
