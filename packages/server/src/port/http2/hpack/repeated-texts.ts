/** Shorter texts are decoded faster than found. */
const codeBytesMin = 24
/** Longer texts take too much memory. */
const codeBytesMax = 2048
const textsMax = 8

/**
 * The long texts that a client sent last, by their Huffman codes. Clients repeat some with each request, such as `authorization` and
 * `:path`, and keep them out of the dynamic table. Holds at most about 42 KiB.
 */
export class RepeatedTexts {
  /** The codes, as latin1, and the texts; those used last come first. */
  readonly #codes: string[] = []
  readonly #texts: string[] = []

  /** Returns whether a text whose code has this length is worth keeping. */
  static takes(codeBytes: number): boolean {
    return codeBytes >= codeBytesMin && codeBytes <= codeBytesMax
  }

  find(code: string): string | undefined {
    const found = this.#codes.indexOf(code)
    if (found < 0) return undefined
    const text = this.#texts[found]!
    if (found > 0) this.#putFirst(code, text, found)
    return text
  }

  add(code: string, text: string): void {
    this.#putFirst(code, text, Math.min(this.#codes.length, textsMax - 1))
  }

  /** Moves those before `place` one back, over the one there. */
  #putFirst(code: string, text: string, place: number): void {
    for (let at = place; at > 0; at--) {
      this.#codes[at] = this.#codes[at - 1]!
      this.#texts[at] = this.#texts[at - 1]!
    }
    this.#codes[0] = code
    this.#texts[0] = text
  }
}
