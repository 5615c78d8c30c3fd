/** The character U+0000. PostgreSQL cannot store it in text, so requests with it are rejected on every database. */

/** Error description for a text that contains it. */
export const NUL_VIOLATION = 'must not contain the character U+0000'

export function hasNul(text: string): boolean {
  return text.includes('\0')
}
