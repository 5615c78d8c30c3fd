import { jsonOnlyFields } from '@berth/contract/json-only-fields.ts'
import {
  create,
  type DescField,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { camelCasePath } from '../../api/field-mask.ts'

/**
 * How one message of version 1 says what a newer one says: a table of their fields, read both ways. What has one name and one
 * form in both need only be named; messages inside whose fields are all called the same are matched by themselves.
 */

/** From a value that is set to its counterpart. */
export interface Conversion {
  toV2(old: unknown): unknown
  toV1(next: unknown): unknown
  /** A path inside the value, in the words of version 1. */
  toV1Path?(path: string): string
}

/** Names as in messages; an old one, the newer, and what changes besides the name. */
export type FieldPair = string | readonly [old: string, next: string, how?: Conversion]

export interface MessageMapping<Old extends DescMessage, New extends DescMessage> {
  toV2(old: MessageShape<Old>): MessageInitShape<New>
  toV1(next: MessageShape<New>): MessageShape<Old>
  /** A path that newer errors name, in the words of version 1. */
  readonly toV1Path: (path: string) => string
  /** The fields of the newer message that the table knows, as paths of an update mask. */
  readonly paths: readonly string[]
}

export interface MappingOptions {
  /** What only JSON shows, by name, each with the field of the newer message that it comes from. */
  readonly jsonOnly?: Readonly<Record<string, string>>
  /** Fields of version 1 that stand for nothing: ignored, and never set. */
  readonly ignored?: readonly string[]
}

interface MappedField {
  readonly old: DescField
  readonly next: DescField
  readonly customConversion: Conversion
}

type Fields = Record<string, unknown>

/** Throws an Error for a table that leaves out a field of version 1, or pairs what does not go together. */
export function createMapping<Old extends DescMessage, New extends DescMessage>(
  old: Old,
  next: New,
  pairs: readonly FieldPair[],
  { jsonOnly = {}, ignored = [] }: MappingOptions = {},
): MessageMapping<Old, New> {
  const mappedFields = pairs.map((pair): MappedField => {
    const [oldName, nextName, customConversion] = typeof pair === 'string' ? [pair, pair] : pair
    const fields = { old: fieldOf(old, oldName), next: fieldOf(next, nextName) }
    return { ...fields, customConversion: customConversion ?? defaultConversion(fields.old, fields.next) }
  })
  const missing = old.fields.filter(
    (field) =>
      !ignored.includes(field.localName) && !mappedFields.some((mappedField) => mappedField.old === field),
  )
  if (missing.length > 0) throw new Error(`no words for ${missing.map((field) => String(field)).join(', ')}`)
  for (const name of Object.keys(jsonOnly)) {
    if (jsonOnlyFields[old.typeName]?.[name] === undefined)
      throw new Error(`the JSON of ${old.typeName} has no ${name}`)
  }
  const byNext = new Map(mappedFields.map((mappedField) => [mappedField.next.jsonName, mappedField]))

  return {
    toV2(message) {
      const result: Fields = {}
      for (const mappedField of mappedFields) {
        const value = valueOf(message, mappedField.old)
        if (value !== undefined) setField(result, mappedField.next, mappedField.customConversion.toV2(value))
      }
      return result as MessageInitShape<New>
    },
    toV1(message) {
      const result = create(old) as unknown as Fields
      for (const mappedField of mappedFields) {
        const value = valueOf(message, mappedField.next)
        if (value !== undefined) setField(result, mappedField.old, mappedField.customConversion.toV1(value))
      }
      for (const [name, source] of Object.entries(jsonOnly)) result[name] = (message as Fields)[source]
      return result as MessageShape<Old>
    },
    toV1Path(path) {
      const [, name = '', index = '', rest] = /^([^.[]*)((?:\[\d+\])?)(?:\.(.*))?$/.exec(path) ?? []
      const mappedField = byNext.get(camelCasePath(name))
      if (mappedField === undefined) return path
      // A violation in snake_case is about the request, one in camelCase about its resource.
      const word = name.includes('_') ? mappedField.old.name : mappedField.old.jsonName
      return (
        word + index + (rest === undefined ? '' : `.${mappedField.customConversion.toV1Path?.(rest) ?? rest}`)
      )
    },
    paths: mappedFields.map(({ next: { name } }) => name),
  }
}

/** A message inside a message. */
export function nestedMessage<Old extends DescMessage, New extends DescMessage>(
  mapping: MessageMapping<Old, New>,
): Conversion {
  return {
    toV2: (old) => mapping.toV2(old as MessageShape<Old>),
    toV1: (next) => mapping.toV1(next as MessageShape<New>),
    toV1Path: mapping.toV1Path,
  }
}

/** Each element of a list. */
export function repeatedField({ toV2: toNew, toV1: toOld, toV1Path: spelled }: Conversion): Conversion {
  return {
    toV2: (old) => (old as unknown[]).map(toNew),
    toV1: (next) => (next as unknown[]).map(toOld),
    ...(spelled && { toV1Path: spelled }),
  }
}

/** Each value of a map. */
function mapField({ toV2: toNew, toV1: toOld }: Conversion): Conversion {
  const over = (convert: (value: unknown) => unknown) => (map: unknown) =>
    Object.fromEntries(Object.entries(map as Fields).map(([key, value]) => [key, convert(value)]))
  return { toV2: over(toNew), toV1: over(toOld) }
}

const identityConversion: Conversion = { toV2: (value) => value, toV1: (value) => value }

/** How values get across whose fields need no more than another name. */
function defaultConversion(old: DescField, next: DescField): Conversion {
  const fits =
    old.fieldKind === next.fieldKind &&
    old.scalar === next.scalar &&
    (old.message === undefined) === (next.message === undefined) &&
    numbersOf(old) === numbersOf(next)
  if (!fits) throw new Error(`${old} and ${next} need a conversion`)
  if (old.message === undefined || next.message === undefined || old.message === next.message)
    return identityConversion
  const valueConversion = nestedMessage(
    createMapping(
      old.message,
      next.message,
      old.message.fields.map((field) => field.localName),
    ),
  )
  if (old.fieldKind === 'list') return repeatedField(valueConversion)
  return old.fieldKind === 'map' ? mapField(valueConversion) : valueConversion
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

function setField(message: Fields, field: DescField, value: unknown): void {
  if (field.oneof === undefined) message[field.localName] = value
  else message[field.oneof.localName] = { case: field.localName, value }
}
