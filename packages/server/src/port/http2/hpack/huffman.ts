/**
 * The Huffman code of HPACK: RFC 7541, section 5.2 and appendix B. The code is canonical, so the lengths of its codes define it: codes of
 * one length are consecutive numbers in the order of their symbols, and a longer code is a larger number, if both are aligned left.
 */

/** Length in bits of the code of each byte, and of EOS. */
// biome-ignore format: a table
const codeBits = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
]
const eos = 256
const shortBitsMax = 8
const longBitsMax = 30

/** By the next 8 bits: length of the code that they start with, and its symbol in the low byte; 0 if the code is longer. */
const shortCodes = new Uint16Array(1 << shortBitsMax)
/** The symbols of longer codes, in the order of the codes. */
const longSymbols: number[] = []
/** By length: the number after the last code of this length. */
const codesEnd = new Int32Array(longBitsMax + 1)
/** By length: what to add to a code for the place of its symbol in `longSymbols`. */
const symbolOffset = new Int32Array(longBitsMax + 1)

fillTables()

function fillTables(): void {
  let code = 0
  for (let length = 1; length <= longBitsMax; length++) {
    code *= 2
    symbolOffset[length] = longSymbols.length - code
    for (let symbol = codeBits.indexOf(length); symbol >= 0; symbol = codeBits.indexOf(length, symbol + 1)) {
      const free = shortBitsMax - length
      if (free < 0) longSymbols.push(symbol)
      else shortCodes.fill((length << 8) | symbol, code << free, (code + 1) << free)
      code++
    }
    codesEnd[length] = code
  }
}

/** Returns how many bytes `decodeHuffman` writes at most: the shortest codes have 5 bits. */
export function huffmanTextBytesMax(codeBytes: number): number {
  return Math.floor((codeBytes * 8) / 5)
}

/**
 * Decodes the bytes of `block` from `start` to `end`; writes to the beginning of `out`, which has to be large enough. Returns how many bytes
 * it wrote; -1 if the code is malformed: it contains EOS, or it ends with anything but fewer than 8 bits of the beginning of EOS.
 */
export function decodeHuffman(block: Uint8Array, start: number, end: number, out: Uint8Array): number {
  let written = 0
  /** The low `count` bits are still to decode. */
  let bits = 0
  let count = 0
  for (let at = start; at < end; ) {
    bits = (bits << 8) | block[at++]!
    count += 8
    while (count >= shortBitsMax) {
      let code = (bits >>> (count - shortBitsMax)) & 0xff
      const short = shortCodes[code]!
      if (short !== 0) {
        count -= short >>> 8
        out[written++] = short
        continue
      }
      count -= shortBitsMax
      let length = shortBitsMax
      do {
        if (count === 0) {
          if (at === end) return -1
          bits = block[at++]!
          count = 8
        }
        count--
        code = code * 2 + ((bits >>> count) & 1)
        length++
      } while (code >= codesEnd[length]!)
      const symbol = longSymbols[code + symbolOffset[length]!]!
      if (symbol === eos) return -1
      out[written++] = symbol
    }
  }
  while (count > 0) {
    const free = shortBitsMax - count
    const padded = ((bits << free) & 0xff) | ((1 << free) - 1)
    if (padded === 0xff) break
    const short = shortCodes[padded]!
    if (short === 0 || short >>> 8 > count) return -1
    count -= short >>> 8
    out[written++] = short
  }
  return written
}
