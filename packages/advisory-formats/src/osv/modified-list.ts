import { modifiedLine } from './write-osv.ts'

/** Collects the modification times of records in any order and lists them newest first. A record takes some 30 bytes. */
export class ModifiedList {
  #times = new Float64Array(1024)
  #ends = new Uint32Array(1024)
  #ids = Buffer.alloc(32 * 1024)
  #count = 0

  add(ms: number, id: string): void {
    if (this.#count === this.#times.length) {
      this.#times = copyInto(this.#times, new Float64Array(this.#count * 2))
      this.#ends = copyInto(this.#ends, new Uint32Array(this.#count * 2))
    }
    const from = this.#from(this.#count)
    const bytes = Buffer.from(id)
    while (from + bytes.length > this.#ids.length)
      this.#ids = copyInto(this.#ids, Buffer.alloc(this.#ids.length * 2))
    this.#ids.set(bytes, from)
    this.#times[this.#count] = ms
    this.#ends[this.#count] = from + bytes.length
    this.#count++
  }

  *lines(): Generator<string> {
    const order = Uint32Array.from({ length: this.#count }, (_, at) => at)
    order.sort((a, b) => this.#ms(b) - this.#ms(a) || this.#id(a).compare(this.#id(b)))
    for (const at of order) yield modifiedLine(this.#ms(at), this.#id(at).toString())
  }

  #from(at: number): number {
    return at === 0 ? 0 : (this.#ends[at - 1] ?? 0)
  }

  #ms(at: number): number {
    return this.#times[at] ?? 0
  }

  #id(at: number): Buffer {
    return this.#ids.subarray(this.#from(at), this.#ends[at])
  }
}

function copyInto<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from)
  return to
}
