import { randomInt } from 'node:crypto'

/**
 * The code that a person types to let a device in (RFC 8628 section 6.1): letters of an alphabet without vowels, so that no words
 * come about, and without what is easily taken for something else. Eight of them are 34 bits, which is enough because they live
 * for minutes and wrong guesses are counted.
 */

const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const LETTERS = 8
const CODE = new RegExp(`^[${ALPHABET}]{${LETTERS}}$`)

export function newUserCode(): string {
  return Array.from({ length: LETTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** As it is shown: `WDJB-MJHT`. */
export function formatUserCode(code: string): string {
  return `${code.slice(0, LETTERS / 2)}-${code.slice(LETTERS / 2)}`
}

/** What somebody typed, in whatever case and with whatever between the letters; undefined when it cannot be a code. */
export function parseUserCode(typed: string): string | undefined {
  if (typed.length > 4 * LETTERS) return undefined
  const letters = typed.replaceAll(/[\s.·_‐‑–—-]/g, '').toUpperCase()
  return CODE.test(letters) ? letters : undefined
}
