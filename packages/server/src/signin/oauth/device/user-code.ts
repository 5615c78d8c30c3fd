import { randomInt } from 'node:crypto'

/**
 * The code that a user enters to connect a device (RFC 8628 section 6.1). Its alphabet has no vowels, so that no words occur, and no letters
 * that are easily confused. Eight letters are 34 bits, which is enough because codes expire in minutes and failed attempts are limited.
 */

const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const LETTERS = 8
const CODE = new RegExp(`^[${ALPHABET}]{${LETTERS}}$`)

export function newUserCode(): string {
  return Array.from({ length: LETTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** Formats a code as `WDJB-MJHT`. */
export function formatUserCode(code: string): string {
  return `${code.slice(0, LETTERS / 2)}-${code.slice(LETTERS / 2)}`
}

/** Parses a typed code in any case, with spaces or hyphens between letters; undefined for any other text. */
export function parseUserCode(typed: string): string | undefined {
  if (typed.length > 4 * LETTERS) return undefined
  const letters = typed.replaceAll(/[\s.·_‐‑–—-]/g, '').toUpperCase()
  return CODE.test(letters) ? letters : undefined
}
