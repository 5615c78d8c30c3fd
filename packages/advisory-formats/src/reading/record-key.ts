import { createHash } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import type { Format } from '../advisory-record.ts'
import { formatLimits } from '../limits.ts'

/** Returns the key of a record. A name that is too long becomes its prefix and a hash of the whole. */
export function recordKey(format: Format, name: string): string {
  const key = `${format}:${name}`
  const bytes = Buffer.from(key)
  if (bytes.length <= formatLimits.advisoryKeyBytesMax) return key
  const hash = createHash('sha256').update(key).digest('hex')
  // A truncated character at the end decodes to nothing.
  const prefix = new StringDecoder().write(
    bytes.subarray(0, formatLimits.advisoryKeyBytesMax - hash.length - 1),
  )
  return `${prefix}#${hash}`
}
