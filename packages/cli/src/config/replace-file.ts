import { mkdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes a file whole: whoever reads it, sees the old one or the new one. It keeps its mode, and stays where it is when its name is a
 * link to it, as with configuration that is kept in a repository. A new one, and a directory that is made for it, are for their owner alone.
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
