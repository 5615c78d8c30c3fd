import { open, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { isStorageFull } from '../../../api/storage-faults.ts'
import { limits } from '../../../config/limits.ts'

/**
 * A file that holds some space of the disk of a SQLite database. SQLite needs space to delete, so on a full disk garbage collection could
 * not free any: then the file is deleted, and written again once there is space.
 */
export interface Ballast {
  /** Writes the file if it is missing and the disk has space for it. Never rejects. */
  fill(): Promise<void>
  /** Runs work that frees space: a second time, without the file, if the disk is full. The work must be repeatable. */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** For a database that is on another machine. */
export const noBallast: Ballast = { async fill() {}, run: (work) => work() }

/** The file is a small part of the free space, or it is not written. */
const FREE_SHARE_MIN = 4

/** `directory`: that of the database. */
export function ballast(directory: string): Ballast {
  const file = join(directory, 'ballast')

  const write = async () => {
    const { bavail, blocks, bsize } = await statfs(directory)
    const share = Math.floor((blocks * bsize * limits.diskReservePercent) / 100)
    const bytes = Math.min(limits.diskBallastBytes, share)
    const size = await stat(file).then(
      (found) => found.size,
      () => 0,
    )
    if (size >= bytes || bavail * bsize < FREE_SHARE_MIN * bytes) return
    const opened = await open(file, 'w', 0o600)
    try {
      // Written in full, because some file systems give a sparse file no space.
      await opened.writeFile(Buffer.alloc(bytes))
    } finally {
      await opened.close()
    }
  }
  const fill = () => write().catch(() => undefined)

  return {
    fill,
    async run(work) {
      try {
        return await work()
      } catch (error) {
        if (!isStorageFull(error)) throw error
        await rm(file, { force: true })
        return await work()
      } finally {
        await fill()
      }
    },
  }
}
