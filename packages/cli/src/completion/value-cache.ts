import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../config/replace-file.ts'
import type { Candidate } from './complete.ts'

/** Keeps the names that were offered, readable by their owner only: a shell completes several times while a command is typed. */

const LIFETIME_MS = 60_000

interface Entry {
  readonly untilMs: number
  readonly values: readonly Candidate[]
}

/** A hash of the key, which contains the token: a name is offered to its caller only. */
const hashOf = (key: string) => createHash('sha256').update(key).digest('hex')

const fileIn = (directory: string) => join(directory, 'completion.json')

export function readCachedValues(directory: string, key: string): readonly Candidate[] | undefined {
  return readEntries(directory)[hashOf(key)]?.values
}

export function writeCachedValues(directory: string, key: string, values: readonly Candidate[]): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const entries = { ...readEntries(directory), [hashOf(key)]: { untilMs: Date.now() + LIFETIME_MS, values } }
  replaceFile(fileIn(directory), JSON.stringify(entries), 0o600)
}

export function clearCachedValues(directory: string): void {
  rmSync(fileIn(directory), { force: true })
}

/** Returns the entries that have not expired. */
function readEntries(directory: string): Readonly<Record<string, Entry>> {
  try {
    const entries = JSON.parse(readFileSync(fileIn(directory), 'utf8')) as Record<string, Entry>
    return Object.fromEntries(Object.entries(entries).filter(([, { untilMs }]) => untilMs > Date.now()))
  } catch {
    return {}
  }
}
