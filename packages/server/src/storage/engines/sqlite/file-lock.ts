import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { makePrivateDirectory } from '../../db.ts'

/**
 * A lock between processes of one machine: an exclusive SQLite lock on an empty file. The operating system holds it for the process, so it
 * ends with the process, also after a crash.
 */
export interface FileLock {
  release(): void
}

export class LockTaken extends Error {
  override readonly name = 'LockTaken'
}

const RETRY_MS = 50

/**
 * Creates the file if needed and locks it. Rejects with LockTaken if another process, or another caller in this one, still has the lock
 * after `waitMs`.
 */
export async function lockFile(file: string, waitMs: number): Promise<FileLock> {
  makePrivateDirectory(dirname(file))
  createFile(file)
  const database = new Database(file, { timeout: 0 })
  try {
    for (let waitedMs = 0; !tryLock(database); waitedMs += RETRY_MS) {
      if (waitedMs >= waitMs) throw new LockTaken(`${file} is locked`)
      await pause(RETRY_MS)
    }
    return { release: () => database.close() }
  } catch (error) {
    database.close()
    throw error
  }
}

/** An existing file is not opened: closing it would release the POSIX locks that this process has on it. */
function createFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function tryLock(database: Database.Database): boolean {
  try {
    database.exec('begin exclusive')
    return true
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') return false
    throw error
  }
}
