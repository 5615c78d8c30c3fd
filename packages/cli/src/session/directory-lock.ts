import { mkdirSync, rmdirSync, statSync, utimesSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * A lock between processes: a directory, which only one of them can create. The process that has the lock renews the modification time of the
 * directory, so the lock of a killed process becomes stale.
 */
export interface DirectoryLock {
  release(): void
}

export interface LockLimits {
  /** The age from which a lock that was not renewed belongs to a process that has ended. */
  readonly staleMs: number
  /** How long to wait for another process. */
  readonly waitMs: number
}

const RETRY_MS = 50

/** Creates the directory as soon as no other process has it. Rejects if that takes longer than `waitMs`, and with errors of the file system. */
export async function lockDirectory(path: string, { staleMs, waitMs }: LockLimits): Promise<DirectoryLock> {
  for (let waitedMs = 0; !tryCreate(path); waitedMs += RETRY_MS) {
    if (removeStale(path, staleMs)) continue
    if (waitedMs >= waitMs) throw new Error(`another process has locked ${path}`)
    await pause(RETRY_MS)
  }
  const own = inodeOf(path)
  const renewal = setInterval(() => {
    if (inodeOf(path) === own) utimesSync(path, new Date(), new Date())
  }, staleMs / 3)
  renewal.unref()
  return {
    release() {
      clearInterval(renewal)
      // After a suspension of the machine, another process may have taken over the lock.
      if (inodeOf(path) === own) rmdirSync(path)
    },
  }
}

function tryCreate(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes the lock if it is stale, and returns whether it is gone. A second directory lets only one process at a time look and remove, so
 * that none removes the lock that another has just taken.
 */
function removeStale(path: string, staleMs: number): boolean {
  if (!isStale(path, staleMs)) return false
  const takeover = `${path}.takeover`
  if (!tryCreate(takeover)) {
    if (isStale(takeover, staleMs)) rmdirSync(takeover)
    return false
  }
  try {
    if (isStale(path, staleMs)) rmdirSync(path)
  } finally {
    rmdirSync(takeover)
  }
  return true
}

function isStale(path: string, staleMs: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs >= staleMs
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}
