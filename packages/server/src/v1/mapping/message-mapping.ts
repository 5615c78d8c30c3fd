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
 * Maps one message of version 1 to a newer one and back, by a table of their fields. A field with the same name and form in both needs only
 * its name; messages inside it are mapped automatically if all their fields have the same names.
 */

/** Converts a value that is set. */
export interface Conversion {
  toV2(old: unknown): unknown
  toV1(next: unknown): unknown
  /** Maps a path inside the value to the names of version 1. */
  toV1Path?(path: string): string
}

/** Field names as in messages: the old one, the new one, and a conversion if more than the name differs. */
export type FieldPair = string | readonly [old: string, next: string, how?: Conversion]

export interface MessageMapping<Old extends DescMessage, New extends DescMessage> {
  toV2(old: MessageShape<Old>): MessageInitShape<New>
  toV1(next: MessageShape<New>): MessageShape<Old>
  /** Maps a path in newer errors to the names of version 1. */
  readonly toV1Path: (path: string) => string
  /** The fields of the newer message that the table contains, as paths of an update mask. */
  readonly paths: readonly string[]
}

export interface MappingOptions {
  /** Fields that exist only in JSON, by name, each with the field of the newer message that it is derived from. */
  readonly jsonOnly?: Readonly<Record<string, string>>
  /** Fields of version 1 without a meaning: ignored, and never set. */
  readonly ignored?: readonly string[]
}

interface MappedField {
  readonly old: DescField
  readonly next: DescField
  readonly customConversion: Conversion
}

type Fields = Record<string, unknown>

/** Throws an Error if the table omits a field of version 1, or pairs fields that do not match. */
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
  if (missing.length > 0)
    throw new Error(`no mapping for ${missing.map((field) => String(field)).join(', ')}`)
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

/** A nested message. */
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

/** The conversion of fields that differ at most in their name. */
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

/** Undefined for a message, an optional field or a oneof member that is not set. */
function valueOf(message: object, field: DescField): unknown {
  if (field.oneof === undefined) return (message as Fields)[field.localName]
  const oneof = (message as Fields)[field.oneof.localName] as { case?: string; value?: unknown } | undefined
  return oneof?.case === field.localName ? oneof.value : undefined
}

function setField(message: Fields, field: DescField, value: unknown): void {
  if (field.oneof === undefined) message[field.localName] = value
  else message[field.oneof.localName] = { case: field.localName, value }
}
