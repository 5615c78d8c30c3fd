/** Encodes header blocks without the dynamic table and without Huffman codes: responses are short. Source: RFC 7541. */

import { staticFields, staticIndexMax } from './static-table.ts'

/** First bytes of a field. Source: RFC 7541, section 6. */
const indexedField = 0x80
const literalNotIndexed = 0x00
const literalNeverIndexed = 0x10
const indexMask = 0x0f
const lengthMask = 0x7f

/** Proxies must not add these to a table. Source: RFC 7541, section 7.1.3. */
const secretNames = new Set(['authorization', 'cookie', 'proxy-authorization', 'set-cookie'])

interface StaticName {
  /** Index of the first field with this name. */
  readonly index: number
  /** First byte of a field with another value. */
  readonly literal: number
  /** Indexes of its fields, by value; undefined if no field has a value. */
  values: Map<string, number> | undefined
}

const staticNames = new Map<string, StaticName>()

for (let index = 1; index <= staticIndexMax; index++) {
  const name = staticFields[index * 2 - 2]!
  const value = staticFields[index * 2 - 1]!
  const literal = secretNames.has(name) ? literalNeverIndexed : literalNotIndexed
  const known = staticNames.get(name) ?? { index, literal, values: undefined }
  staticNames.set(name, known)
  if (value === '') continue
  known.values ??= new Map()
  known.values.set(value, index)
}

/** Bytes that an integer takes at most: lengths of strings have 30 bits. */
const integerBytesMax = 6

/** Texts up to this length are written faster byte by byte. */
const shortTextMax = 24

/** Returns how many bytes `writeHeaderBlock` needs at most for names and values in turn. */
export function headerBlockBytesMax(fields: readonly string[]): number {
  let bytes = 0
  // Two texts with their lengths, and one byte before them.
  for (const text of fields) bytes += text.length + integerBytesMax + 1
  return bytes
}

/** Writes a header block of names and values in turn, which have to be latin1, at `at`; returns where it ends. */
export function writeHeaderBlock(fields: readonly string[], out: Buffer, at: number): number {
  let end = at
  for (let place = 0; place < fields.length; place += 2) {
    const name = fields[place]!
    const value = fields[place + 1]!
    const known = staticNames.get(name)
    if (known === undefined) {
      out[end++] = literalNotIndexed
      end = writeText(name, out, end)
      end = writeText(value, out, end)
      continue
    }
    const index = known.values?.get(value)
    if (index !== undefined) {
      out[end++] = indexedField | index
      continue
    }
    end = writeInteger(known.index, indexMask, known.literal, out, end)
    end = writeText(value, out, end)
  }
  return end
}

function writeText(text: string, out: Buffer, at: number): number {
  const start = writeInteger(text.length, lengthMask, 0, out, at)
  if (text.length > shortTextMax) return start + out.write(text, start, 'latin1')
  for (let place = 0; place < text.length; place++) out[start + place] = text.charCodeAt(place)
  return start + text.length
}

/** Writes an integer after the bits of `first`. Source: RFC 7541, section 5.1. */
function writeInteger(value: number, mask: number, first: number, out: Buffer, at: number): number {
  if (value < mask) {
    out[at] = first | value
    return at + 1
  }
  out[at] = first | mask
  let end = at + 1
  let rest = value - mask
  for (; rest >= 0x80; rest >>>= 7) out[end++] = (rest & 0x7f) | 0x80
  out[end] = rest
  return end + 1
}
