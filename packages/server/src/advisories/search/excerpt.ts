/** Characters before and after the word. */
const BEFORE = 60
const AFTER = 160

/** Returns the part of a text around the first of some words in lower case; '' if it has none of them. */
export function excerptAround(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  if (found.length === 0) return ''
  const at = Math.min(...found)
  // Whole words, if there is a space near.
  const from = at <= BEFORE ? 0 : startOfWord(text, at - BEFORE, at)
  const to = text.length <= at + AFTER ? text.length : endOfWord(text, at + AFTER, at)
  const part = text.slice(from, to).trim().toWellFormed()
  return `${from > 0 ? '… ' : ''}${part}${to < text.length ? ' …' : ''}`
}

function startOfWord(text: string, from: number, max: number): number {
  const space = text.indexOf(' ', from)
  return space < 0 || space >= max ? from : space + 1
}

function endOfWord(text: string, to: number, min: number): number {
  const space = text.lastIndexOf(' ', to)
  return space <= min ? to : space
}
