import type { Rejection } from '../advisory-record.ts'

/**
 * A document as a tree of values that know where they stand: what JSON and YAML have in common. Scalars keep their text as it is
 * written, so none is a number by mistake, and remember whether a reader took them: what nobody took is what has no field.
 */

interface Located {
  /** Offset in the text. */
  readonly at: number
  readonly parent: Entries | Fields | undefined
  /** Of the field or the number of the entry that it is in its parent. */
  readonly name: string
}

export interface Scalar extends Located {
  /** Every scalar of YAML that says something is a text. */
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
  /** A map and no object: a document may name a field `constructor`. */
  readonly byName: Map<string, Value>
  /** Its names are data: `*` stands for them in paths. */
  isDictionary: boolean
}

export type Value = Scalar | Entries | Fields

/** Of what is wrong with the document as a whole. */
export const NO_OFFSET = -1

/** Why a document is not taken, and where. Thrown between the readers and readDocument, which answers with it. */
export class DocumentProblem extends Error {
  override readonly name = 'DocumentProblem'
  /** Offset in the text. */
  readonly at: number

  constructor(at: number, reason: string) {
    super(reason)
    this.at = at
  }

  /** The text is asked for only where it is needed. */
  rejection(textOf: () => string): Rejection {
    if (this.at === NO_OFFSET) return { line: 0, reason: this.message }
    const text = textOf()
    let line = 1
    for (let end = text.indexOf('\n'); end !== -1 && end < this.at; end = text.indexOf('\n', end + 1)) line++
    return { line, reason: this.message }
  }
}

/** A problem with one value, which the reason names by its path: `advisories[3].id must be text`. */
export function problemWith(value: Value, what: string): DocumentProblem {
  const path = pathOf(value, 'exact')
  return new DocumentProblem(value.at, path === '' ? `the document ${what}` : `${path} ${what}`)
}

/** `advisories[3].id`, or of all its like: `advisories[].id`. '' for the whole document. */
export function pathOf(value: Value, which: 'exact' | 'alike'): string {
  const names: string[] = []
  for (let inner = value; inner.parent !== undefined; inner = inner.parent) {
    names.push(pathStep(inner.parent, inner.name, which))
  }
  const path = names.reverse().join('')
  return path.startsWith('.') ? path.slice(1) : path
}

const STEP_CHARS_MAX = 100

/** What a path has for one step: `[3]`, `[]`, `.id` or `.*`. */
export function pathStep(parent: Entries | Fields, name: string, which: 'exact' | 'alike'): string {
  if (parent.kind === 'list') return which === 'exact' ? `[${name}]` : '[]'
  if (which === 'alike' && parent.isDictionary) return '.*'
  return `.${excerpt(name, STEP_CHARS_MAX)}`
}

/** The beginning of a text that nobody looked at yet, as one line. */
export function excerpt(text: string, charsMax: number): string {
  const line = text
    .slice(0, charsMax)
    .replace(/[\p{Cc}\u2028\u2029]/gu, ' ')
    .toWellFormed()
  return text.length > charsMax ? `${line}…` : line
}
