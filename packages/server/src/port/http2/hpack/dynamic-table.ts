/** Size of an entry beyond its name and value. Source: RFC 7541, section 4.1. */
export const FIELD_BYTES = 32

/** The value of SETTINGS_HEADER_TABLE_SIZE that applies if it is not sent. */
export const TABLE_BYTES_MAX = 4096

/** Entries that fit into the table at most; a power of two. */
const places = TABLE_BYTES_MAX / FIELD_BYTES
const lastPlace = places - 1

/** The fields that the client added lately, up to a size. Source: RFC 7541, sections 2.3.2 and 4. */
export class DynamicTable {
  readonly #names: string[] = []
  readonly #values: string[] = []
  /** Place of the next entry; each one takes the next place, and place 0 follows the last one. */
  #next = 0
  #count = 0
  #bytes = 0
  #bytesMax = TABLE_BYTES_MAX

  get count(): number {
    return this.#count
  }

  /** Size that the table may have now. */
  get bytesMax(): number {
    return this.#bytesMax
  }

  /** Name of an entry, counted from 0, the latest. */
  name(index: number): string {
    return this.#names[(this.#next - 1 - index) & lastPlace]!
  }

  value(index: number): string {
    return this.#values[(this.#next - 1 - index) & lastPlace]!
  }

  /** Adds an entry and evicts the oldest ones. An entry larger than the table empties it. */
  add(name: string, value: string): void {
    const bytes = name.length + value.length + FIELD_BYTES
    this.#evict(this.#bytesMax - bytes)
    if (bytes > this.#bytesMax) return
    this.#names[this.#next] = name
    this.#values[this.#next] = value
    this.#next = (this.#next + 1) & lastPlace
    this.#count++
    this.#bytes += bytes
  }

  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax
    this.#evict(bytesMax)
  }

  clear(): void {
    this.#evict(0)
  }

  /** Evicts the oldest entries until the others take at most so many bytes. */
  #evict(bytesMax: number): void {
    while (this.#bytes > bytesMax && this.#count > 0) {
      const oldest = (this.#next - this.#count) & lastPlace
      this.#bytes -= this.#names[oldest]!.length + this.#values[oldest]!.length + FIELD_BYTES
      this.#names[oldest] = ''
      this.#values[oldest] = ''
      this.#count--
    }
  }
}
