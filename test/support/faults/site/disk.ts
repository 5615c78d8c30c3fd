import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cleanup, cleanups, temporaryDirectory } from '../../server/process.ts'

/** A file system of its own for tests: it becomes full or read-only without harm to others. */
export interface Disk {
  readonly path: string
  /** Leaves no byte free. */
  fill(): void
  free(): void
  /** Waits until no file is open for writing. */
  remount(mode: 'ro' | 'rw'): Promise<void>
}

const FILLER = 'filler'
const REMOUNT_MS_MAX = 10_000
const RETRY_MS = 10
const CHUNK = Buffer.alloc(1024 * 1024)

/** Why cases with a disk of their own are skipped; false where they run. */
export const withoutDisk: string | false = whyNoDisk()

function whyNoDisk(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'mounting a tmpfs needs root on Linux'
  const probe = cleanups()
  try {
    mountDisk(probe, 1)
    return false
  } catch (error) {
    return `no tmpfs: ${String((error as Error).message).split('\n')[0]}`
  } finally {
    void probe.run()
  }
}

/** A tmpfs of this size; a directory, which cannot become full, without the right to mount one or without a size. */
export function startDisk(t: Cleanup, mib: number | undefined): Disk {
  return withoutDisk === false && mib !== undefined ? mountDisk(t, mib) : directoryOnly(temporaryDirectory(t))
}

function directoryOnly(path: string): Disk {
  // PostgreSQL runs as another user where this process is root.
  chmodSync(path, 0o755)
  const missing = () => {
    throw new Error(withoutDisk || 'this disk is a directory')
  }
  return { path, fill: missing, free: missing, remount: missing }
}

function mountDisk(t: Cleanup, mib: number): Disk {
  const path = temporaryDirectory(t)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m,mode=0755`, 'berth-test', path])
  t.after(() => {
    // Lazily: a process that still ends may have files open.
    execFileSync('umount', ['--lazy', path])
  })
  const filler = join(path, FILLER)
  return {
    path,
    fill() {
      const file = openSync(filler, 'a')
      for (let bytes = CHUNK.length; bytes >= 1; ) {
        try {
          if (writeSync(file, CHUNK, 0, bytes) === bytes) continue
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        }
        bytes = Math.floor(bytes / 4)
      }
      closeSync(file)
    },
    free: () => rmSync(filler, { force: true }),
    async remount(mode) {
      for (const deadline = Date.now() + REMOUNT_MS_MAX; ; await sleep(RETRY_MS)) {
        try {
          execFileSync('mount', ['-o', `remount,${mode}`, path], { stdio: 'pipe' })
          return
        } catch (error) {
          if (Date.now() > deadline) throw error
        }
      }
    },
  }
}
