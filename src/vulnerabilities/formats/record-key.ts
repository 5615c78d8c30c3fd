import { createHash } from 'node:crypto'
import { limits } from '../../core/limits.ts'
import type { Format } from '../advisory-record.ts'

/** The key of a record: readable, and of a name too long its beginning with a hash of the whole. */
export function recordKey(format: Format, name: string): string {
  const key = `${format}:${name}`
  if (key.length <= limits.advisoryKeyCharsMax) return key
  const hash = createHash('sha256').update(key).digest('hex')
  return `${key.slice(0, limits.advisoryKeyCharsMax - hash.length - 1).toWellFormed()}#${hash}`
}
