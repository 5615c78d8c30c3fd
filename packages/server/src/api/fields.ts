import { limits } from '../config/limits.ts'
import { type FieldViolation, invalidArguments } from './errors.ts'
import { parseUid } from './uid.ts'

/** Rules for fields of several resources. Each returns a violation, or undefined if the value is valid. */

/** Names of groups (the spec) and of all other resources with a name (decision 18). */
const namePattern = /^[a-z0-9 ._-]{1,}$/

/** Descriptions may have several lines. */
const linesPattern = /^(?:[\t\n\r]|\P{Cc})*$/u
const linePattern = /^[^\p{Cc}\u2028\u2029]*$/u

export function checkName(name: string, field = 'name'): FieldViolation | undefined {
  if (!namePattern.test(name)) return { field, description: `name must match "${namePattern.source}"` }
  if (name.length > limits.nameCharsMax) {
    return { field, description: `name must have at most ${limits.nameCharsMax} characters` }
  }
  return undefined
}

/** Checks text of any number of lines. */
export function checkDescription(description: string, field = 'description'): FieldViolation | undefined {
  if (!linesPattern.test(description)) {
    return { field, description: 'must not contain control characters, except tabs and line breaks' }
  }
  return checkLength(description, field)
}

/** Checks text of one line, such as the name of a company. */
export function checkLine(line: string, field: string): FieldViolation | undefined {
  if (!linePattern.test(line)) return { field, description: 'must be one line without control characters' }
  return checkLength(line, field)
}

function checkLength(text: string, field: string): FieldViolation | undefined {
  const max = limits.descriptionCharsMax
  // Characters are at most as many as units of text, which need not be counted.
  if (text.length <= max || [...text].length <= max) return undefined
  return { field, description: `must have at most ${limits.descriptionCharsMax} characters` }
}

/**
 * The shape of a mailbox in RFC 5321, section 4.1.2: a dot-string at a domain. No display name, no quotes, no address literal,
 * ASCII only.
 */
const emailPattern =
  /^(?=[^@]{1,64}@)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

export function checkEmail(email: string, field = 'email'): FieldViolation | undefined {
  if (email.length <= limits.emailCharsMax && emailPattern.test(email)) return undefined
  return {
    field,
    description: `must be a bare email address of at most ${limits.emailCharsMax} characters, such as ada@example.com`,
  }
}

/**
 * Returns the canonical form of an address, independent of case. Only ASCII letters are folded: the lower case of some other letters
 * is an ASCII letter, and those are different mailboxes.
 */
export function normalizeEmail(email: string): string {
  return email.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

export function isSameEmail(a: string, b: string): boolean {
  return normalizeEmail(a) === normalizeEmail(b)
}

/** Throws one error with every violation among the checks, if there are any. */
export function requireValid(...checks: readonly (FieldViolation | undefined)[]): void {
  const violations = checks.filter((check) => check !== undefined)
  if (violations.length > 0) throw invalidArguments(violations)
}

/** Checks a filter by uid; empty does not filter. `other`: a value that is allowed besides uids. */
export function checkUid(field: string, text: string, other = ''): FieldViolation | undefined {
  if (text === '' || text === other || parseUid(text) !== undefined) return undefined
  return { field, description: other === '' ? 'must be a uid' : `must be a uid, or ${other}` }
}
