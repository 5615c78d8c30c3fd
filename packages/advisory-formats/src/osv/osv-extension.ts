import { deflateSync, inflateSync } from 'node:zlib'
import type { JsonObject } from '@bufbuild/protobuf'
import { formatLimits } from '../limits.ts'

/**
 * The fields of an OSV record about one package that advisories have no field for, mainly the affected versions. It is stored with the
 * advisory and published unchanged. Values that violate the OSV schema are removed when it is read (read-osv-extension.ts).
 */
export interface OsvExtension {
  /** Fields of the record. */
  readonly record: JsonObject
  /** The record's `affected` entries about this package: at least one. */
  readonly affected: readonly JsonObject[]
}

const NO_BYTES = new Uint8Array(0)

/** Compresses the JSON for its row (deflate). Empty for none. */
export function compressOsvExtension(json: string): Uint8Array {
  return json === '' ? NO_BYTES : deflateSync(json)
}

export function decompressOsvExtension(packed: Uint8Array): OsvExtension | undefined {
  if (packed.length === 0) return undefined
  // A UTF-16 code unit has at most 3 bytes in UTF-8.
  return JSON.parse(
    inflateSync(packed, { maxOutputLength: 3 * formatLimits.advisoryExtensionCharsMax }).toString(),
  )
}
