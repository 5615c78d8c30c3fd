import { DocumentProblem, isPrintable, toPrintable } from './document-problem.ts'

/** Access to parsed JSON. Only own fields are read: a document may name a field `constructor`. A field that is null counts as absent. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [name: string]: Json
}

export function member(object: JsonObject | undefined, name: string): Json | undefined {
  return object !== undefined && Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns undefined for an absent field and for any other kind of value. */
export function objectIn(object: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = member(object, name)
  return isObject(value) ? value : undefined
}

/** Returns the entries of a list; none if it is absent. Fails with a DocumentProblem for another kind of value and too long lists. */
export function listIn(object: JsonObject | undefined, name: string, max: number): readonly Json[] {
  const value = member(object, name)
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new DocumentProblem(`${name} is not a list`)
  if (value.length > max) throw new DocumentProblem(`${name} has more than ${max} entries`)
  return value
}

/** As listIn, for lists of objects. */
export function objectsIn(object: JsonObject | undefined, name: string, max: number): readonly JsonObject[] {
  return listIn(object, name, max).map((entry, index) => {
    if (!isObject(entry)) throw new DocumentProblem(`${name}[${index}] is not an object`)
    return entry
  })
}

/** Returns the objects of a list whose other entries, or whose other kind, do not matter. */
export function looseObjectsIn(object: JsonObject | undefined, name: string, max: number): JsonObject[] {
  const value = member(object, name)
  return Array.isArray(value) ? value.slice(0, max).filter(isObject) : []
}

/** Returns the texts of a list, as looseObjectsIn. */
export function looseTextsIn(object: JsonObject | undefined, name: string, max: number): string[] {
  const value = member(object, name)
  if (!Array.isArray(value)) return []
  return value.slice(0, max).filter((entry): entry is string => typeof entry === 'string')
}

/** Returns a text as written; '' for an absent field and for any other kind of value. */
export function rawText(object: JsonObject | undefined, name: string): string {
  const value = member(object, name)
  return typeof value === 'string' ? value : ''
}

/** Returns a text that is only shown, on one line; '' if it is absent, of another kind, or longer than `charsMax`. */
export function shownText(object: JsonObject | undefined, name: string, charsMax: number): string {
  return shown(rawText(object, name), charsMax)
}

export function shown(text: string, charsMax: number): string {
  return text.length > charsMax ? '' : toPrintable(text)
}

/** Returns a text that identifies something; '' if it is absent. Fails with a DocumentProblem if it is not one line of readable text. */
export function identifyingText(object: JsonObject, name: string, charsMax: number): string {
  const value = member(object, name)
  if (value === undefined) return ''
  if (typeof value !== 'string') throw new DocumentProblem(`its ${name} is not a string`)
  if (value.length > charsMax) throw new DocumentProblem(`its ${name} has more than ${charsMax} characters`)
  if (!isPrintable(value)) {
    throw new DocumentProblem(
      `its ${name} has control characters or characters that change the direction of text`,
    )
  }
  return value.trim()
}

/** Returns a number, also one that is written as a string; undefined for others and for infinite ones. */
export function numberIn(object: JsonObject | undefined, name: string): number | undefined {
  const value = member(object, name)
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}
