import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cleanup } from '../server/process.ts'

/** A file system of a few MiB, which tests fill. */
export interface SmallDisk {
  readonly path: string
  /** Leaves `bytes` free, or nothing. */
  fill(bytes?: number): void
  /** Gives back what `fill` took. */
  free(): void
}

const MIB = 1024 * 1024
const PAGE_BYTES = 4096

/** Why tests with a full disk are skipped; false where they are not. */
export const withoutSmallDisks: string | false = reasonAgainst()

function reasonAgainst(): string | false {
  if (process.platform !== 'linux') return 'a small file system needs Linux'
  if (process.getuid?.() !== 0) return 'mounting a small file system needs root'
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' })
    return false
  } catch {
    return 'this machine does not allow to mount a file system'
  }
}

export function smallDisk(t: Cleanup, mib: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'berth-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m,mode=0755`, 'berth-test', path])
  t.after(() => {
    // Lazily: a server that the test started may still have files open.
    execFileSync('umount', ['-l', path])
    rmSync(path, { recursive: true })
  })
  const fillers: string[] = []
  return {
    path,
    fill(bytes = 0) {
      const spare = join(path, `spare-${fillers.length}`)
      if (bytes > 0) writeAll(spare, Buffer.alloc(bytes))
      const filler = join(path, `filler-${fillers.length}`)
      // Whole pages, until there is none.
      for (let size = MIB; size >= PAGE_BYTES; size /= 2) while (writeAll(filler, Buffer.alloc(size)));
      fillers.push(filler)
      rmSync(spare, { force: true })
    },
    free() {
      for (const filler of fillers.splice(0)) rmSync(filler, { force: true })
    },
  }
}

/** Appends; false where the file system did not take all of it. */
function writeAll(file: string, bytes: Buffer): boolean {
  const opened = openSync(file, 'a')
  try {
    return writeSync(opened, bytes) === bytes.length
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  } finally {
    closeSync(opened)
  }
}
