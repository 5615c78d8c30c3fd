import { existsSync, readFileSync } from 'node:fs'
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

/** Returns the absolute path of the file that an option for a workload's token names; undefined if it names none. */
export function identityTokenFile(text: string): string | undefined {
  return text !== '-' && existsSync(text) ? resolve(text) : undefined
}

const PATH_CHARS_MAX = 300
