import type { Rejection } from '../advisory-record.ts'

/**
 * A document as a tree of values with their positions, common to JSON and YAML. Scalars keep their text, so none becomes a number by
 * accident. They record whether a reader has read them: unread values are the unmapped fields.
 */

interface Located {
  /** Offset in the text. */
  readonly at: number
  readonly parent: Entries | Fields | undefined
  /** Name of the field, or index of the list entry, in its parent. */
  readonly name: string
}

export interface Scalar extends Located {
  /** Scalars of YAML, except null, are text. */
  readonly kind: 'text' | 'number' | 'boolean' | 'null'
  readonly text: string
  isRead: boolean
}

export interface Entries extends Located {
  readonly kind: 'list'
  readonly items: Value[]
}

export interface Fields extends Located {
  readonly kind: 'fields'
  /** A Map, not an object: a document may name a field `constructor`. */
  readonly byName: Map<string, Value>
  /** Its names are data: paths have `*` in their place. */
  isDictionary: boolean
}

export type Value = Scalar | Entries | Fields

/** The offset of a problem with the whole document. */
export const NO_OFFSET = -1

/** Why and where a document is rejected. Thrown by the readers and returned by readDocument. */
export class DocumentProblem extends Error {
  override readonly name = 'DocumentProblem'
  /** Offset in the text. */
  readonly at: number

  constructor(at: number, reason: string) {
    super(reason)
    this.at = at
  }

  /** The text is decoded only if it is needed. */
  rejection(textOf: () => string): Rejection {
    if (this.at === NO_OFFSET) return { line: 0, reason: this.message }
    const text = textOf()
    let line = 1
    for (let end = text.indexOf('\n'); end !== -1 && end < this.at; end = text.indexOf('\n', end + 1)) line++
    return { line, reason: this.message }
  }
}

/** Creates a problem with one value, whose reason names the value by its path: `advisories[3].id must be a string`. */
export function problemWith(value: Value, what: string): DocumentProblem {
  const path = pathOf(value, 'exact')
  return new DocumentProblem(value.at, path === '' ? `the document ${what}` : `${path} ${what}`)
}

/** Returns `advisories[3].id`, or `advisories[].id` for all alike. '' for the whole document. */
export function pathOf(value: Value, which: 'exact' | 'alike'): string {
  const names: string[] = []
  for (let inner = value; inner.parent !== undefined; inner = inner.parent) {
    names.push(pathStep(inner.parent, inner.name, which))
  }
  const path = names.reverse().join('')
  return path.startsWith('.') ? path.slice(1) : path
}

const STEP_CHARS_MAX = 100

/** Returns one step of a path: `[3]`, `[]`, `.id` or `.*`. */
export function pathStep(parent: Entries | Fields, name: string, which: 'exact' | 'alike'): string {
  if (parent.kind === 'list') return which === 'exact' ? `[${name}]` : '[]'
  if (which === 'alike' && parent.isDictionary) return '.*'
  return `.${excerpt(name, STEP_CHARS_MAX)}`
}

/** Returns the start of an unchecked text, as one line. */
export function excerpt(text: string, charsMax: number): string {
  const line = text
    .slice(0, charsMax)
    .replace(/[\p{Cc}\u2028\u2029]/gu, ' ')
    .toWellFormed()
  return text.length > charsMax ? `${line}…` : line
}
