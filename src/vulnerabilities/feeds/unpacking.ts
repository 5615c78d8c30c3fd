/** How much may still be unpacked: one account for an archive and all archives in it. */
export interface Unpacking {
  readonly bounds: UnpackingLimits
  /** Another file of an archive. Throws an ArchiveRefused when there are too many. */
  entry(): void
  /** So many bytes were unpacked. Throws an ArchiveRefused when they are too many, and what the signal says when it is time to stop. */
  unpacked(bytes: number): void
  /** Throws what the signal says when it is time to stop. */
  throwIfStopped(): void
}

export type UnpackingLimits = Record<
  | 'archiveEntriesMax'
  | 'archiveBytesMax'
  | 'archiveRatioMax'
  | 'archiveNestingMax'
  | 'advisoryDocumentBytesMax',
  number
>

/** Why nothing more is read of an archive. */
export class ArchiveRefused extends Error {
  override readonly name = 'ArchiveRefused'
}

const GIB = 1024 ** 3

/** `packedBytes`: the size of what came. */
export function unpacking(packedBytes: number, bounds: UnpackingLimits, signal?: AbortSignal): Unpacking {
  const { archiveEntriesMax: entriesMax, archiveBytesMax: bytesMax, archiveRatioMax: ratioMax } = bounds
  // What fits into one document is no bomb, however well it packs.
  const fairBytes = Math.max(packedBytes * ratioMax, bounds.advisoryDocumentBytesMax)
  const throwIfStopped = () => signal?.throwIfAborted()
  let entries = 0
  let bytes = 0
  return {
    bounds,
    throwIfStopped,
    entry() {
      throwIfStopped()
      if (++entries > entriesMax) throw new ArchiveRefused(`has more than ${entriesMax} files`)
    },
    unpacked(more) {
      throwIfStopped()
      bytes += more
      if (bytes > bytesMax)
        throw new ArchiveRefused(`unpacks to more than ${Math.round((bytesMax / GIB) * 1000) / 1000} GiB`)
      if (bytes > fairBytes)
        throw new ArchiveRefused(`unpacks to more than ${ratioMax} times its size, as no feed does`)
    },
  }
}
