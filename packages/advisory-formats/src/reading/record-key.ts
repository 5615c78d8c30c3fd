import { createHash } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { limits } from '@berth/server/config/limits.ts'
import type { Format } from '../advisory-record.ts'

/** The key of a record: readable, and of a name too long its beginning with a hash of the whole. */
export function recordKey(format: Format, name: string): string {
  const key = `${format}:${name}`
  const bytes = Buffer.from(key)
  if (bytes.length <= limits.advisoryKeyBytesMax) return key
  const hash = createHash('sha256').update(key).digest('hex')
  // Half a character at the end decodes to nothing.
  const prefix = new StringDecoder().write(bytes.subarray(0, limits.advisoryKeyBytesMax - hash.length - 1))
  return `${prefix}#${hash}`
}
