import { deflateSync, inflateSync } from 'node:zlib'
import type { JsonObject } from '@bufbuild/protobuf'
import { formatLimits } from '../limits.ts'

/**
 * What an OSV record says of one package beyond the fields of an advisory, above all which versions it affects. It is kept with the
 * advisory and published as it came: whatever breaks the rules of OSV is left out before (formats/osv-carried.ts).
 */
export interface OsvExtension {
  /** Fields of the record. */
  readonly record: JsonObject
  /** What the record says is affected, where that is about this package: at least one. */
  readonly affected: readonly JsonObject[]
}

const NO_BYTES = new Uint8Array(0)

/** The text of one as its row has it, compressed (deflate). Empty for none. */
export function compressOsvExtension(json: string): Uint8Array {
  return json === '' ? NO_BYTES : deflateSync(json)
}

export function decompressOsvExtension(packed: Uint8Array): OsvExtension | undefined {
  if (packed.length === 0) return undefined
  // A character of UTF-16 has at most 3 bytes in UTF-8.
  return JSON.parse(
    inflateSync(packed, { maxOutputLength: 3 * formatLimits.advisoryExtensionCharsMax }).toString(),
  )
}
