import { existsSync, readFileSync } from 'node:fs'
import { UsageError } from '../../invocation/invocation.ts'

/** The token of a workload, as it is given on the command line: itself, the file that holds it, or `-` for standard input. */
export function readIdentityToken(text: string): string {
  if (text === '-') return readFileSync(0, 'utf8').trim()
  if (existsSync(text)) return readFileSync(text, 'utf8').trim()
  // A JWT has no slash, and the token of an AWS identity, which may, is longer than a path.
  if (/[/\\]/.test(text) && text.length < PATH_CHARS_MAX) throw new UsageError(`there is no file ${text}`)
  return text.trim()
}

const PATH_CHARS_MAX = 300
