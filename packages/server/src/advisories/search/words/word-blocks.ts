import { yieldToEventLoop } from '../../../runtime/event-loop.ts'

/**
 * An inverted index of the words of some texts. Words are sorted and divided into blocks. A block has its words as one text, so that the
 * database can find the blocks with a part of a word, and for each word the positions of the texts that contain it.
 */
export interface WordBlock {
  /** Separated by newlines. */
  readonly words: string
  /** For each word: the number of bytes that follow for it, and the differences of its positions, as variable-length integers. */
  readonly postings: Uint8Array
}

/** A run of letters and digits, also with `.`, `_` and `-` between them, such as `cve-2024-3094` or `node.js`. */
const WORD = /[\p{L}\p{N}\p{M}](?:[\p{L}\p{N}\p{M}._-]*[\p{L}\p{N}\p{M}])?/gu

/** Returns the words of a text. */
export function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.match(WORD))
}

/** Whether a part of a text can only occur within a word: then the index alone finds the texts that contain it. */
export function isPartOfWord(part: string): boolean {
  const [first, ...rest] = part.match(WORD) ?? []
  return first === part && rest.length === 0
}

/** Characters of the words of a block: what is read to find a few words. */
const BLOCK_CHARS = 16_384
/** Words that are sorted or merged between two yields to the event loop. */
const WORDS_AT_A_TIME = 500

/** Builds the index of texts, whose positions are those in the list. */
export async function buildWordBlocks(texts: readonly string[]): Promise<readonly WordBlock[]> {
  const positions = new Map<string, number[]>()
  for (const [position, text] of texts.entries()) {
    await yieldToEventLoop()
    for (const word of wordsOf(text)) {
      const known = positions.get(word)
      if (known === undefined) positions.set(word, [position])
      else known.push(position)
    }
  }
  const blocks: WordBlock[] = []
  let words: string[] = []
  let chars = 0
  const close = async () => {
    const postings: Uint8Array[] = []
    for (const word of words) {
      await yieldToEventLoop()
      postings.push(encodePositions(positions.get(word) ?? []))
    }
    blocks.push({ words: words.join('\n'), postings: Buffer.concat(postings) })
    words = []
    chars = 0
  }
  for (const word of await sortWords([...positions.keys()])) {
    words.push(word)
    chars += word.length + 1
    if (chars >= BLOCK_CHARS) await close()
  }
  if (words.length > 0) await close()
  return blocks
}

/** Sorts words without blocking the event loop: parts of the list, which are then merged. */
async function sortWords(words: readonly string[]): Promise<readonly string[]> {
  let parts: string[][] = []
  for (let at = 0; at < words.length; at += WORDS_AT_A_TIME) {
    await yieldToEventLoop()
    parts.push(words.slice(at, at + WORDS_AT_A_TIME).sort())
  }
  while (parts.length > 1) {
    const merged: string[][] = []
    for (let at = 0; at < parts.length; at += 2)
      merged.push(await mergeSorted(parts[at] ?? [], parts[at + 1] ?? []))
    parts = merged
  }
  return parts[0] ?? []
}

async function mergeSorted(a: readonly string[], b: readonly string[]): Promise<string[]> {
  const merged: string[] = []
  for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
    if (merged.length % WORDS_AT_A_TIME === 0) await yieldToEventLoop()
    const [first, second] = [a[i], b[j]]
    if (second === undefined || (first !== undefined && first < second)) {
      merged.push(first as string)
      i++
    } else {
      merged.push(second)
      j++
    }
  }
  return merged
}

/**
 * Marks the positions of the texts that contain a part. `marks` has, for each position, the number of earlier parts that its text contains:
 * `count` for those that contain all.
 */
export function markPositions(
  { words, postings }: WordBlock,
  part: string,
  marks: Uint8Array,
  count: number,
): void {
  let at = 0
  for (const word of words.split('\n')) {
    const length = readInteger(postings, at)
    const end = length.next + length.value
    if (word.includes(part)) {
      let position = 0
      for (let from = length.next; from < end; ) {
        const { value, next } = readInteger(postings, from)
        position += value
        if (marks[position] === count) marks[position] = count + 1
        from = next
      }
    }
    at = end
  }
}

function encodePositions(positions: readonly number[]): Uint8Array {
  const bytes: number[] = []
  let previous = 0
  for (const position of positions) {
    writeInteger(bytes, position - previous)
    previous = position
  }
  const length: number[] = []
  writeInteger(length, bytes.length)
  return Uint8Array.from([...length, ...bytes])
}

const LOW_BITS = 0x7f
const MORE = 0x80
const BITS = 7

function writeInteger(bytes: number[], value: number): void {
  let rest = value
  for (; rest > LOW_BITS; rest >>>= BITS) bytes.push((rest & LOW_BITS) | MORE)
  bytes.push(rest)
}

function readInteger(bytes: Uint8Array, at: number): { readonly value: number; readonly next: number } {
  let value = 0
  let shift = 0
  for (let next = at; ; next++, shift += BITS) {
    const byte = bytes[next] as number
    value |= (byte & LOW_BITS) << shift
    if (byte <= LOW_BITS) return { value, next: next + 1 }
  }
}
