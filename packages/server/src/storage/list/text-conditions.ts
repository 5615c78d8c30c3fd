import type { SqlText } from '../sql-text.ts'

/**
 * Conditions that ignore the case of letters. The function `lower` changes ASCII letters only: on SQLite, and on PostgreSQL because texts
 * compare by byte. So a text is also searched in the forms in which names are written: with capitals only, and at the start of words.
 */

/** A condition that is true if one of the texts contains another one. */
export function containsSql(sql: SqlText, texts: readonly string[], query: string): string {
  const conditions = texts.flatMap((text) =>
    formsOf(query).map((form) => sql.rules.contains(`lower(${text})`, sql.bind(form))),
  )
  return `(${conditions.join(' or ')})`
}

/** A condition that is true if one of the texts equals another one. */
export function equalsSql(sql: SqlText, texts: readonly string[], value: string): string {
  return `(${texts.map((text) => `lower(${text}) in (${sql.bindAll(formsOf(value))})`).join(' or ')})`
}

/** A text as `lower` returns the forms of it: one for a text of ASCII letters. */
function formsOf(text: string): string[] {
  const lower = text.toLowerCase()
  const capitalized = lower.replace(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())
  return [...new Set([text, lower, text.toUpperCase(), capitalized].map(lowerAscii))]
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
