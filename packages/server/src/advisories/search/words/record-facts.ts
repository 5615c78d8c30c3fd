import type { VulnerabilityRecordRow } from '../../../storage/schema/tables.ts'

/** What searches filter and sort by, for the records of a segment. */

type IndexedRecord = Pick<
  VulnerabilityRecordRow,
  'parent' | 'key' | 'id' | 'modified_ms' | 'score' | 'severity' | 'cwes'
>

/** A record that a search found. `id`, `severity` and `cwes` are empty unless they were read. */
export type FoundKey = Omit<IndexedRecord, 'parent'> & { readonly parent: string }

/** Facts of fixed length: the key, the time and the score. */
const KEY_BYTES = 16
const TIME_AT = KEY_BYTES
const SCORE_AT = TIME_AT + 8
const BYTES = SCORE_AT + 1

export function encodeFacts(records: readonly IndexedRecord[]): {
  readonly numbers: Uint8Array
  /** A line for each record. */
  readonly texts: string
} {
  const numbers = Buffer.alloc(records.length * BYTES)
  for (const [position, { key, modified_ms, score }] of records.entries()) {
    numbers.write(key, position * BYTES, 'hex')
    numbers.writeDoubleBE(Number(modified_ms), position * BYTES + TIME_AT)
    numbers.writeInt8(Number(score), position * BYTES + SCORE_AT)
  }
  return {
    numbers,
    texts: records
      .map(({ severity, cwes, id }) => `${severity}\t${cwes}\t${id.replaceAll('\n', ' ')}`)
      .join('\n'),
  }
}

/** Returns a reader of the facts by position. */
export function factsReader(
  parent: string,
  numbers: Uint8Array,
  texts: string | undefined,
): (position: number) => FoundKey {
  const buffer = Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength)
  const lines = texts?.split('\n')
  return (position) => {
    const at = position * BYTES
    const [severity = '', cwes = '', ...id] = lines?.[position]?.split('\t') ?? []
    return {
      parent,
      key: buffer.toString('hex', at, at + KEY_BYTES),
      modified_ms: buffer.readDoubleBE(at + TIME_AT),
      score: buffer.readInt8(at + SCORE_AT),
      ...{ id: id.join('\t'), severity, cwes },
    }
  }
}

export function keysOfFacts(numbers: Uint8Array): string[] {
  const buffer = Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength)
  return Array.from({ length: buffer.length / BYTES }, (_, position) =>
    buffer.toString('hex', position * BYTES, position * BYTES + KEY_BYTES),
  )
}
