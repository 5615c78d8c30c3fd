import {
  create,
  type DescField,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { jsonPath } from '../core/field-mask.ts'
import { jsonOnlyFields } from '../core/json-only.ts'

/**
 * How one message of version 1 says what a newer one says: a table of their fields, read both ways. What has one name and one
 * form in both need only be named; messages inside whose fields are all called the same are matched by themselves.
 */

/** From a value that is set to its counterpart. */
export interface Conversion {
  toNew(old: unknown): unknown
  toOld(next: unknown): unknown
  /** A path inside the value, in the words of version 1. */
  spelled?(path: string): string
}

/** Names as in messages; an old one, the newer, and what changes besides the name. */
export type Pair = string | readonly [old: string, next: string, how?: Conversion]

export interface Wording<Old extends DescMessage, New extends DescMessage> {
  toNew(old: MessageShape<Old>): MessageInitShape<New>
  toOld(next: MessageShape<New>): MessageShape<Old>
  /** A path that newer errors name, in the words of version 1. */
  readonly spelled: (path: string) => string
  /** The fields of the newer message that the table knows, as paths of an update mask. */
  readonly paths: readonly string[]
}

export interface WordingOptions {
  /** What only JSON shows, by name, each with the field of the newer message that it comes from. */
  readonly jsonOnly?: Readonly<Record<string, string>>
  /** Fields of version 1 that stand for nothing: ignored, and never set. */
  readonly without?: readonly string[]
}

interface Line {
  readonly old: DescField
  readonly next: DescField
  readonly how: Conversion
}

type Fields = Record<string, unknown>

/** Throws an Error for a table that leaves out a field of version 1, or pairs what does not go together. */
export function wording<Old extends DescMessage, New extends DescMessage>(
  old: Old,
  next: New,
  pairs: readonly Pair[],
  { jsonOnly = {}, without = [] }: WordingOptions = {},
): Wording<Old, New> {
  const lines = pairs.map((pair): Line => {
    const [oldName, nextName, how] = typeof pair === 'string' ? [pair, pair] : pair
    const fields = { old: fieldOf(old, oldName), next: fieldOf(next, nextName) }
    return { ...fields, how: how ?? conversion(fields.old, fields.next) }
  })
  const missing = old.fields.filter(
    (field) => !without.includes(field.localName) && !lines.some((line) => line.old === field),
  )
  if (missing.length > 0) throw new Error(`no words for ${missing.map((field) => String(field)).join(', ')}`)
  for (const name of Object.keys(jsonOnly)) {
    if (jsonOnlyFields[old.typeName]?.[name] === undefined)
      throw new Error(`the JSON of ${old.typeName} has no ${name}`)
  }
  const byNext = new Map(lines.map((line) => [line.next.jsonName, line]))

  return {
    toNew(message) {
      const made: Fields = {}
      for (const line of lines) {
        const value = valueOf(message, line.old)
        if (value !== undefined) put(made, line.next, line.how.toNew(value))
      }
      return made as MessageInitShape<New>
    },
    toOld(message) {
      const made = create(old) as unknown as Fields
      for (const line of lines) {
        const value = valueOf(message, line.next)
        if (value !== undefined) put(made, line.old, line.how.toOld(value))
      }
      for (const [name, source] of Object.entries(jsonOnly)) made[name] = (message as Fields)[source]
      return made as MessageShape<Old>
    },
    spelled(path) {
      const [, name = '', index = '', rest] = /^([^.[]*)((?:\[\d+\])?)(?:\.(.*))?$/.exec(path) ?? []
      const line = byNext.get(jsonPath(name))
      if (line === undefined) return path
      // A violation in snake_case is about the request, one in camelCase about its resource.
      const word = name.includes('_') ? line.old.name : line.old.jsonName
      return word + index + (rest === undefined ? '' : `.${line.how.spelled?.(rest) ?? rest}`)
    },
    paths: lines.map(({ next: { name } }) => name),
  }
}

/** A message inside a message. */
export function inner<Old extends DescMessage, New extends DescMessage>(
  words: Wording<Old, New>,
): Conversion {
  return {
    toNew: (old) => words.toNew(old as MessageShape<Old>),
    toOld: (next) => words.toOld(next as MessageShape<New>),
    spelled: words.spelled,
  }
}

/** Each element of a list. */
export function each({ toNew, toOld, spelled }: Conversion): Conversion {
  return {
    toNew: (old) => (old as unknown[]).map(toNew),
    toOld: (next) => (next as unknown[]).map(toOld),
    ...(spelled && { spelled }),
  }
}

/** Each value of a map. */
function eachValue({ toNew, toOld }: Conversion): Conversion {
  const over = (convert: (value: unknown) => unknown) => (map: unknown) =>
    Object.fromEntries(Object.entries(map as Fields).map(([key, value]) => [key, convert(value)]))
  return { toNew: over(toNew), toOld: over(toOld) }
}

const same: Conversion = { toNew: (value) => value, toOld: (value) => value }

/** How values get across whose fields need no more than another name. */
function conversion(old: DescField, next: DescField): Conversion {
  const fits =
    old.fieldKind === next.fieldKind &&
    old.scalar === next.scalar &&
    (old.message === undefined) === (next.message === undefined) &&
    numbersOf(old) === numbersOf(next)
  if (!fits) throw new Error(`${old} and ${next} need a conversion`)
  if (old.message === undefined || next.message === undefined || old.message === next.message) return same
  const words = inner(
    wording(
      old.message,
      next.message,
      old.message.fields.map((field) => field.localName),
    ),
  )
  if (old.fieldKind === 'list') return each(words)
  return old.fieldKind === 'map' ? eachValue(words) : words
}

function numbersOf({ enum: values }: DescField): string | undefined {
  return values?.values.map(({ number }) => number).join()
}

function fieldOf(desc: DescMessage, localName: string): DescField {
  const field = desc.fields.find((candidate) => candidate.localName === localName)
  if (field === undefined) throw new Error(`${desc.typeName} has no field ${localName}`)
  return field
}

/** Undefined for what is unset: a message, an optional field or a oneof member. */
function valueOf(message: object, field: DescField): unknown {
  if (field.oneof === undefined) return (message as Fields)[field.localName]
  const oneof = (message as Fields)[field.oneof.localName] as { case?: string; value?: unknown } | undefined
  return oneof?.case === field.localName ? oneof.value : undefined
}

function put(message: Fields, field: DescField, value: unknown): void {
  if (field.oneof === undefined) message[field.localName] = value
  else message[field.oneof.localName] = { case: field.localName, value }
}
