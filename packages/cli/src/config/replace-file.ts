import { mkdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Replaces a file atomically. It keeps its mode, and a symbolic link to it stays a link. A new file and its new directories are
 * accessible only to their owner.
 */
export function replaceFile(name: string, text: string, forcedMode?: number): void {
  const path = resolveLink(name)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const mode = forcedMode ?? statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600
  const draft = `${path}.${process.pid}`
  rmSync(draft, { force: true })
  try {
    writeFileSync(draft, text, { mode: mode & 0o777, flag: 'wx' })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

function resolveLink(name: string): string {
  try {
    return realpathSync(name)
  } catch {
    return name
  }
}
