import { hasNul, NUL_VIOLATION } from '@berth/contract/nul.ts'
import { formatLimits } from '../limits.ts'
import { type Instant, parseInstant } from '../reading/instants.ts'
import { excerpt, type Fields, problemWith, type Scalar, type Value } from './source-value.ts'

/**
 * How readers access the tree of a document. The `read` functions mark values as read; `peek` does not. A field that is null counts
 * as absent. All throw a DocumentProblem if the document has a different kind of value.
 */

export function fieldsOf(value: Value): Fields {
  if (value.kind !== 'fields') throw problemWith(value, 'must have fields')
  return value
}

export function field(fields: Fields, name: string): Value | undefined {
  const value = fields.byName.get(name)
  return value?.kind === 'null' ? undefined : value
}

export function requireField(fields: Fields, name: string): Value {
  const value = field(fields, name)
  if (value === undefined) throw problemWith(fields, `lacks ${name}`)
  return value
}

/** Returns the entries of a list; none if it is absent. */
export function entriesOf(fields: Fields, name: string): readonly Value[] {
  const value = field(fields, name)
  if (value === undefined) return []
  if (value.kind !== 'list') throw problemWith(value, 'must be a list')
  return value.items
}

/** Returns the entries of a list of objects. */
export function objectsIn(fields: Fields, name: string): readonly Fields[] {
  return entriesOf(fields, name).map(fieldsOf)
}

/** Returns a text without checking it or marking it as read; '' for any other kind of value. */
export function peek(fields: Fields | undefined, name: string): string {
  const value = fields?.byName.get(name)
  return value?.kind === 'text' ? value.text : ''
}

/** Reads a name, version, path or id: one line. */
export function readName(value: Value): string {
  const { text } = readText(value, formatLimits.advisoryNameCharsMax)
  if (text === '') throw problemWith(value, 'must not be empty')
  if (!isOneLine(text)) throw problemWith(value, 'must be one line without control characters')
  return text
}

/** Names are printed in tables on terminals. */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\u2028\u2029]/u.test(text)
}

/** Reads free text of any number of lines. */
export function readNote(value: Value): string {
  return readText(value, formatLimits.advisoryNoteCharsMax).text
}

export function readInstant(value: Value): Instant {
  const { text } = readText(value, formatLimits.advisoryNameCharsMax)
  const instant = parseInstant(text)
  if (instant === undefined) {
    throw problemWith(
      value,
      `must be a time such as 2025-01-02T03:04:05Z, not ${JSON.stringify(excerpt(text, 40))}`,
    )
  }
  return instant
}

/** Reads a name; '' if the field is absent or empty. */
export function optionalName(fields: Fields, name: string): string {
  const value = field(fields, name)
  return value === undefined || (value.kind === 'text' && value.text === '') ? '' : readName(value)
}

export function optionalNote(fields: Fields, name: string): string {
  const value = field(fields, name)
  return value === undefined ? '' : readNote(value)
}

export function optionalInstant(fields: Fields, name: string): Instant | undefined {
  const value = field(fields, name)
  return value === undefined ? undefined : readInstant(value)
}

/** Marks a value as read that only controls the reading, or repeats other values. */
export function markRead(value: Value | undefined): void {
  if (value !== undefined && value.kind !== 'list' && value.kind !== 'fields') value.isRead = true
}

function readText(value: Value, charsMax: number): Scalar {
  if (value.kind !== 'text') {
    throw problemWith(
      value,
      value.kind === 'number' ? 'must be a string, so that no digits are lost' : 'must be a string',
    )
  }
  if (value.text.length > charsMax) throw problemWith(value, `has more than ${charsMax} characters`)
  if (hasNul(value.text)) throw problemWith(value, NUL_VIOLATION)
  if (!value.text.isWellFormed())
    throw problemWith(value, 'is not valid Unicode: it has an unpaired surrogate')
  value.isRead = true
  return value
}
