import { existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { UsageError } from '../../invocation/invocation.ts'

/** Reads the token of a workload from an option: the token itself, a file, or `-` for standard input. */
export function readIdentityToken(text: string): string {
  if (text === '-') return readFileSync(0, 'utf8').trim()
  if (existsSync(text)) return readFileSync(text, 'utf8').trim()
  // A JWT contains no slash, and the token of an AWS identity is longer than a path.
  if (/[/\\]/.test(text) && text.length < PATH_CHARS_MAX) throw new UsageError(`file ${text} not found`)
  return text.trim()
}

/**
 * Returns the absolute path of the file that an option for a workload's token names; undefined if it names none that can be read again, such
 * as the pipe of `<(command)`.
 */
export function identityTokenFile(text: string): string | undefined {
  if (text === '-' || !existsSync(text) || !statSync(text).isFile()) return undefined
  const path = resolve(text)
  // Open files of this process: there is another one, or none, in the next process.
  return /^\/(dev\/(fd|stdin)|proc)\b/.test(path) ? undefined : path
}

const PATH_CHARS_MAX = 300
