/**
 * Finds what JSON.parse is silent about: an object with two members of one name, of which one reader takes the first and another the
 * last. What was read has fewer members then than were written.
 */

/** `value` is what JSON.parse makes of `json`. */
export function hasRepeatedMember(json: string, value: unknown): boolean {
  return membersWritten(json) !== membersRead(value)
}

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c

/** Each has a colon outside of strings. Without a regular expression: the text may be one long string. */
function membersWritten(json: string): number {
  let members = 0
  let isString = false
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (char === QUOTE) isString = !isString
    else if (isString && char === BACKSLASH) at++
    else if (!isString && char === COLON) members++
  }
  return members
}

/** Without recursion: the value may be nothing but lists in lists. */
function membersRead(value: unknown): number {
  let members = 0
  const waiting = [value]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const values = Object.values(next)
    if (!Array.isArray(next)) members += values.length
    for (const one of values) if (typeof one === 'object' && one !== null) waiting.push(one)
  }
  return members
}
