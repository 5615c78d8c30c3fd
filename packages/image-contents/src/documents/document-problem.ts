/** Why a document, or one element of it, could not be read. The message continues "could not be read, because". */
export class DocumentProblem extends Error {
  override readonly name = 'DocumentProblem'
}

const EXCERPT_CHARS_MAX = 60

/** Quotes the start of unchecked text, without characters that change terminals or the direction of text. */
export function quote(text: string): string {
  const start = text.slice(0, EXCERPT_CHARS_MAX).replace(unprintable, ' ').toWellFormed()
  return JSON.stringify(text.length > EXCERPT_CHARS_MAX ? `${start}…` : start)
}

/** Control characters, line separators, and marks that change the direction of text and so disguise a name. */
const unprintable = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

export function isPrintable(text: string): boolean {
  return text.isWellFormed() && text.search(unprintable) === -1
}

/** Replaces unprintable characters by spaces. For text that is only shown, such as the name of a licence. */
export function toPrintable(text: string): string {
  return text.toWellFormed().replace(unprintable, ' ').trim()
}
