import { performance } from 'node:perf_hooks'
import type { LayerLimits } from '../limits.ts'

/** What reading an image may take. Each function throws a LimitReached that ends reading, or the signal's reason if it is aborted. */
export interface ReadBudget {
  addUnpacked(bytes: number): void
  addEntry(): void
  /** Checks the time. */
  check(): void
}

/** Ends reading of all layers. The message continues "could not be read, because". */
export class LimitReached extends Error {
  override readonly name = 'LimitReached'
}

export function createReadBudget(
  { unpackedBytesMax, layerEntriesMax, readLayersMsMax }: LayerLimits,
  signal?: AbortSignal,
): ReadBudget {
  const endMs = performance.now() + readLayersMsMax
  let [bytes, entries] = [0, 0]
  const check = () => {
    signal?.throwIfAborted()
    if (performance.now() >= endMs)
      throw new LimitReached(`reading the layers takes longer than ${readLayersMsMax / 1000} s`)
  }
  return {
    check,
    addUnpacked(more) {
      bytes += more
      if (bytes > unpackedBytesMax)
        throw new LimitReached(`its layers unpack to more than ${unpackedBytesMax} bytes`)
      check()
    },
    addEntry() {
      if (++entries > layerEntriesMax)
        throw new LimitReached(`its layers have more than ${layerEntriesMax} files`)
      check()
    },
  }
}
