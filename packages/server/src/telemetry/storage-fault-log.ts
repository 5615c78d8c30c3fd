import { storageFaultOf } from '../api/storage-faults.ts'
import { limits } from '../config/limits.ts'
import type { Log } from '../runtime/log.ts'

export interface StorageFaultLog {
  /** Reports a fault of a disk once per episode; everything else passes. */
  readonly log: Log
  /** Sentences about the faults of the episodes that have not ended, for the readiness check. */
  warnings(): readonly string[]
}

/**
 * Faults of disks, as the log sees them. A full disk fails each request and each round of the background work, and a line for each would
 * fill the disk of the log. An episode ends when its fault has not occurred for `storageFaultQuietMs`.
 */
export function createStorageFaultLog(log: Log): StorageFaultLog {
  const seenMs = new Map<string, number>()
  const isOpen = (lastMs: number | undefined) =>
    lastMs !== undefined && performance.now() - lastMs < limits.storageFaultQuietMs
  const isRepeated = (fields: object) => {
    const found = 'err' in fields ? storageFaultOf(fields.err) : undefined
    if (found === undefined) return false
    const episode = `${found.place}: ${found.fault}, writes are refused`
    const isKnown = isOpen(seenMs.get(episode))
    seenMs.set(episode, performance.now())
    return isKnown
  }
  return {
    log: {
      error(fields, message) {
        if (!isRepeated(fields)) log.error(fields, message)
      },
      warn(fields, message) {
        if (!isRepeated(fields)) log.warn(fields, message)
      },
      info: (fields, message) => log.info(fields, message),
      debug: (fields, message) => log.debug(fields, message),
    },
    warnings: () => [...seenMs].filter(([, lastMs]) => isOpen(lastMs)).map(([episode]) => episode),
  }
}
