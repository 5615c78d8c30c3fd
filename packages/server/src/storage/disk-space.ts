import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { storageFull } from '../api/storage-faults.ts'
import { limits } from '../config/limits.ts'
import { startPeriodicTask } from '../runtime/periodic-task.ts'

/**
 * The free space of the directories that this node writes to. Blobs leave a reserve of their disk free, so that the database, which may
 * be on the same disk, continues to work, and garbage collection can free space.
 */

/** A directory under the name that callers see; only the log and the operator see its path. */
export type DirectoryName = 'data' | 'blobs'

export interface DiskReading {
  readonly name: DirectoryName
  readonly path: string
  /** Bytes that this user may still write, and all bytes of the file system. */
  readonly freeBytes: number
  readonly totalBytes: number
  /** Bytes that blobs leave free; 0 for other directories. */
  readonly reserveBytes: number
}

export interface DiskSpace {
  /** Free space, at most `diskSampleMaxAgeMs` old. Directories that cannot be read are left out. */
  readings(): Promise<readonly DiskReading[]>
  /** Rejects with code 8 if another `bytes` of blobs would use the reserve. */
  requireSpaceForBlobs(bytes: number): Promise<void>
  /** Passes the bytes on; fails with code 8 when they would use the reserve. */
  limitToFreeSpace(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** Sentences about disks that are full, for the readiness check; empty while there is space. */
  warnings(): Promise<readonly string[]>
  stop(): Promise<void>
}

export interface DiskSpaceOptions {
  readonly directories: readonly { readonly name: DirectoryName; readonly path: string }[]
  /** Bytes that blobs leave free; undefined: `diskReserveBytes`, or `diskReservePercent` of a small disk. */
  readonly reserveBytes: number | undefined
  /** Called when a disk becomes full or has space again. */
  readonly onChange: (reading: DiskReading, isFull: boolean) => void
}

export function diskSpace({ directories, reserveBytes, onChange }: DiskSpaceOptions): DiskSpace {
  let latest: readonly DiskReading[] = []
  let readMs = Number.NEGATIVE_INFINITY
  let reading: Promise<readonly DiskReading[]> | undefined
  const full = new Set<DirectoryName>()

  const readOne = async ({ name, path }: (typeof directories)[number]): Promise<DiskReading[]> => {
    try {
      // The first push creates the directory of blobs.
      const { bavail, blocks, bsize } = await statfs(path).catch(() => statfs(dirname(path)))
      const totalBytes = blocks * bsize
      const reserve = name === 'blobs' ? reserveBytesOf(totalBytes, reserveBytes) : 0
      return [{ name, path, freeBytes: bavail * bsize, totalBytes, reserveBytes: reserve }]
    } catch {
      // Writes to the directory report the failure.
      return []
    }
  }
  const readAll = async () => {
    latest = (await Promise.all(directories.map(readOne))).flat()
    readMs = performance.now()
    for (const current of latest) {
      const isFull = isFullDisk(current)
      if (isFull === full.has(current.name)) continue
      if (isFull) full.add(current.name)
      else full.delete(current.name)
      onChange(current, isFull)
    }
    return latest
  }
  const read = () => {
    reading ??= readAll().finally(() => {
      reading = undefined
    })
    return reading
  }
  const readings = () =>
    performance.now() - readMs < limits.diskSampleMaxAgeMs ? Promise.resolve(latest) : read()

  const requireIn = (all: readonly DiskReading[], bytes: number) => {
    const blobs = all.find(({ name }) => name === 'blobs')
    if (blobs !== undefined && blobs.freeBytes - bytes < blobs.reserveBytes)
      throw storageFull('the blob store')
  }
  const polling = startPeriodicTask(limits.diskPollMs, read, () => undefined)

  return {
    readings,
    async requireSpaceForBlobs(bytes) {
      requireIn(await readings(), bytes)
    },
    async *limitToFreeSpace(bytes) {
      let unchecked = Number.POSITIVE_INFINITY
      for await (const chunk of bytes) {
        if (unchecked >= limits.diskSampleBytes) {
          requireIn(await (unchecked === Number.POSITIVE_INFINITY ? readings() : read()), chunk.length)
          unchecked = 0
        }
        unchecked += chunk.length
        yield chunk
      }
    },
    async warnings() {
      return (await readings()).flatMap((current) =>
        isFullDisk(current)
          ? [`disk of ${current.name}: full, ${current.name === 'blobs' ? 'pushes' : 'writes'} are refused`]
          : [],
      )
    },
    stop: () => polling.stop(),
  }
}

/** Bytes that blobs leave free. `setting`: configured by the operator. */
export function reserveBytesOf(totalBytes: number, setting: number | undefined): number {
  return (
    setting ?? Math.floor(Math.min(limits.diskReserveBytes, (totalBytes * limits.diskReservePercent) / 100))
  )
}

export function isFullDisk({
  freeBytes,
  reserveBytes,
}: Pick<DiskReading, 'freeBytes' | 'reserveBytes'>): boolean {
  return freeBytes < Math.max(limits.diskFullBytes, reserveBytes)
}
