import { existsSync, readFileSync } from 'node:fs'
import { UsageError } from '../../invocation/invocation.ts'

/** Reads the token of a workload from an option: the token itself, a file, or `-` for standard input. */
export function readIdentityToken(text: string): string {
  if (text === '-') return readFileSync(0, 'utf8').trim()
  if (existsSync(text)) return readFileSync(text, 'utf8').trim()
  // A JWT contains no slash, and the token of an AWS identity is longer than a path.
  if (/[/\\]/.test(text) && text.length < PATH_CHARS_MAX) throw new UsageError(`file ${text} not found`)
  return text.trim()
}

const PATH_CHARS_MAX = 300
