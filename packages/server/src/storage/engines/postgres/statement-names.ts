import { createHash } from 'node:crypto'

/**
 * Names of statements: PostgreSQL parses and plans a named one once for each connection. A connection keeps them until it is closed, so
 * their number is limited, and the first ones have a name.
 */

export const STATEMENTS_MAX = 400
/** Of statements that differ only in the lengths of their lists: they would take the names of all others. */
export const LENGTHS_MAX = 4

const LISTS = /\$\d+(?:(?:\), \(|, )\$\d+)+/g
const PARAMETERS = /\$\d+/g

/** Returns a function for the name of a text, which is undefined beyond the limits. */
export function createStatementNames(): (text: string) => string | undefined {
  const names = new Map<string, string>()
  const lengths = new Map<string, number>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined) return known
    if (names.size === STATEMENTS_MAX) return undefined
    const shape = text.replaceAll(LISTS, '$, $').replaceAll(PARAMETERS, '$')
    const length = lengths.get(shape) ?? 0
    if (length === LENGTHS_MAX) return undefined
    lengths.set(shape, length + 1)
    const name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    names.set(text, name)
    return name
  }
}
