/** Decodes the header blocks of a client. Source: RFC 7541. */

import { DynamicTable, FIELD_BYTES, TABLE_BYTES_MAX } from './dynamic-table.ts'
import { decodeHuffman, huffmanTextBytesMax } from './huffman.ts'
import { RepeatedTexts } from './repeated-texts.ts'
import { staticFields, staticIndexMax } from './static-table.ts'

/** The client broke HPACK: the connection cannot continue (COMPRESSION_ERROR). */
export class HpackError extends Error {
  override readonly name = 'HpackError'
}

/** Limits of a header list. */
export interface HeaderListLimits {
  /** As RFC 7541, section 4.1, counts: 32 for each field, and the bytes of its name and value. */
  readonly headerBytesMax: number
  readonly headerFieldsMax: number
}

/** The first byte of a field says how it is represented; the lower bits start an integer. Source: RFC 7541, section 6. */
const indexedField = 0x80
const literalToIndex = 0x40

/** Two are allowed at the start of a block: the smallest size in between, and the last. Source: RFC 7541, section 4.2. */
const tableSizeUpdatesMax = 2

/** Bytes of an integer after the first one; integers above 2^28 are of no use. */
const integerBytesMax = 4

const empty = Buffer.alloc(0)

/** Huffman codes are decoded here: as large as was needed so far. */
let scratch = Buffer.allocUnsafeSlow(4096)

export class HpackDecoder {
  readonly #limits: HeaderListLimits
  readonly #table = new DynamicTable()
  readonly #repeated = new RepeatedTexts()

  /** The block being decoded, and where. */
  #block: Buffer = empty
  #at = 0

  /** The list being collected; empty if it passed the limits. */
  #fields: string[] = []
  /** What remains of the limit; negative if the list passed the limits. */
  #bytesLeft = 0

  constructor(limits: HeaderListLimits) {
    this.#limits = limits
  }

  /**
   * Decodes a whole header block. Returns names and values in turn; undefined if the list passes the limits, which leaves the decoder ready
   * for the next block. Throws an HpackError.
   */
  decode(block: Buffer): string[] | undefined {
    this.#block = block
    this.#at = 0
    this.#fields = []
    this.#bytesLeft = this.#limits.headerBytesMax
    this.#readTableSizes()
    while (this.#at < block.length) this.#readField(block[this.#at]!)
    const fields = this.#fields
    this.#block = empty
    this.#fields = []
    return this.#bytesLeft < 0 ? undefined : fields
  }

  #readTableSizes(): void {
    for (let updates = 0; this.#at < this.#block.length; updates++) {
      if (!isTableSizeUpdate(this.#block[this.#at]!)) return
      if (updates === tableSizeUpdatesMax) throw new HpackError('too many updates of the dynamic table size')
      const bytesMax = this.#readInteger(0x1f)
      if (bytesMax > TABLE_BYTES_MAX) throw new HpackError('dynamic table size is above the setting')
      this.#table.resize(bytesMax)
    }
  }

  #readField(first: number): void {
    if (first & indexedField) {
      const index = this.#readInteger(0x7f)
      this.#collect(this.#nameAt(index), this.#valueAt(index))
    } else if (first & literalToIndex) this.#readLiteral(0x3f, true)
    else if (isTableSizeUpdate(first)) throw new HpackError('dynamic table size update after a field')
    else this.#readLiteral(0x0f, false)
  }

  /** Reads a literal field. A text that neither the list nor the table takes is skipped. */
  #readLiteral(indexMask: number, toIndex: boolean): void {
    const table = this.#table
    const textBytesMax = Math.max(this.#bytesLeft, toIndex ? table.bytesMax : 0) - FIELD_BYTES
    const index = this.#readInteger(indexMask)
    const name = index === 0 ? this.#readText(textBytesMax, toIndex) : this.#nameAt(index)
    const value = this.#readText(name === undefined ? -1 : textBytesMax - name.length, toIndex)
    if (name === undefined || value === undefined) {
      this.#passLimits()
      if (toIndex) table.clear()
      return
    }
    if (toIndex) table.add(name, value)
    this.#collect(name, value)
  }

  #collect(name: string, value: string): void {
    if (this.#bytesLeft < 0) return
    this.#bytesLeft -= name.length + value.length + FIELD_BYTES
    if (this.#bytesLeft < 0 || this.#fields.length >= this.#limits.headerFieldsMax * 2) this.#passLimits()
    else this.#fields.push(name, value)
  }

  #passLimits(): void {
    this.#bytesLeft = -1
    this.#fields = []
  }

  #nameAt(index: number): string {
    if (index <= staticIndexMax && index > 0) return staticFields[index * 2 - 2]!
    return this.#table.name(this.#dynamicIndex(index))
  }

  #valueAt(index: number): string {
    if (index <= staticIndexMax && index > 0) return staticFields[index * 2 - 1]!
    return this.#table.value(this.#dynamicIndex(index))
  }

  #dynamicIndex(index: number): number {
    const dynamicIndex = index - staticIndexMax - 1
    if (dynamicIndex < 0 || dynamicIndex >= this.#table.count)
      throw new HpackError(`no field has index ${index}`)
    return dynamicIndex
  }

  /** Reads an integer that starts with the bits of `mask`. Source: RFC 7541, section 5.1. */
  #readInteger(mask: number): number {
    const block = this.#block
    if (this.#at >= block.length) throw new HpackError('header block ends inside a field')
    let value = block[this.#at++]! & mask
    if (value < mask) return value
    for (let bytes = 0; bytes < integerBytesMax; bytes++) {
      if (this.#at >= block.length) throw new HpackError('header block ends inside an integer')
      const byte = block[this.#at++]!
      value += (byte & 0x7f) << (bytes * 7)
      if (byte < 0x80) return value
    }
    throw new HpackError('integer is too large')
  }

  /** Reads a text; returns undefined if it is longer than `bytesMax`. Source: RFC 7541, section 5.2. */
  #readText(bytesMax: number, toIndex: boolean): string | undefined {
    const block = this.#block
    const huffman = this.#at < block.length && block[this.#at]! >= 0x80
    const bytes = this.#readInteger(0x7f)
    const start = this.#at
    const end = start + bytes
    if (end > block.length) throw new HpackError('header block ends inside a text')
    this.#at = end
    if (!huffman) return bytes > bytesMax ? undefined : block.toString('latin1', start, end)
    // Clients do not repeat what they add to the table.
    if (toIndex || !RepeatedTexts.takes(bytes)) return this.#decodeText(start, end, bytesMax)
    const code = block.toString('latin1', start, end)
    let text = this.#repeated.find(code)
    if (text === undefined) {
      text = this.#decodeText(start, end, bytesMax)
      if (text !== undefined) this.#repeated.add(code, text)
    }
    return text !== undefined && text.length <= bytesMax ? text : undefined
  }

  #decodeText(start: number, end: number, bytesMax: number): string | undefined {
    const roomBytes = huffmanTextBytesMax(end - start)
    if (scratch.length < roomBytes) scratch = Buffer.allocUnsafeSlow(roomBytes)
    const bytes = decodeHuffman(this.#block, start, end, scratch)
    if (bytes < 0) throw new HpackError('malformed Huffman code')
    return bytes > bytesMax ? undefined : scratch.toString('latin1', 0, bytes)
  }
}

function isTableSizeUpdate(first: number): boolean {
  return first >> 5 === 1
}
