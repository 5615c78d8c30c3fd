import { jsonOnlyFields } from '@berth/contract/json-only-fields.ts'
import { durationText, timestampText } from '@berth/contract/timestamp-text.ts'
import {
  type DescField,
  type DescMessage,
  type Message,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence, type Value } from '@bufbuild/protobuf/wkt'
import { camelCasePath } from '../../api/field-mask.ts'

/**
 * Proto JSON as the API sends it: lowerCamelCase names; fields without presence are written even at their default; unset messages,
 * `optional` fields and oneof members are left out; int64 is text; timestamps are UTC with three fractional digits.
 */
export type JsonWriter<T extends Message = Message> = (message: T) => string

/** A type refers to others through their cells, so that it may contain itself. */
interface Cell {
  write: (message: unknown) => string
}

/** How messages look in JSON; version 1 also writes unset messages, as `null`, and what only JSON has. */
export type Dialect = 'current' | 'version 1'

const cells: Readonly<Record<Dialect, Map<DescMessage, Cell>>> = {
  current: new Map(),
  'version 1': new Map(),
}

/**
 * Returns the writer of a message type, which is built at the first call. It reads fields by their local name, so plain object literals
 * with a `$typeName` are enough. Throws an Error for google.protobuf.Any, Struct, the wrappers, and types that contain them.
 */
export function createJsonWriter<D extends DescMessage>(
  desc: D,
  dialect: Dialect = 'current',
): JsonWriter<MessageShape<D>> {
  return cellOf(desc, dialect).write
}

const wellKnown: Readonly<Record<string, (message: never) => string>> = {
  'google.protobuf.Timestamp': (message: { seconds: bigint; nanos: number }) => `"${timestampText(message)}"`,
  'google.protobuf.Duration': (message: { seconds: bigint; nanos: number }) => `"${durationText(message)}"`,
  'google.protobuf.FieldMask': ({ paths }: { paths: readonly string[] }) =>
    quote(paths.map(camelCasePath).join(',')),
  'google.protobuf.Empty': () => '{}',
  'google.protobuf.Value': anyValueText,
}

/** A value without a kind, which only gRPC can send, is null. */
function anyValueText({ kind }: Value): string {
  switch (kind.case) {
    case 'stringValue':
      return quote(kind.value)
    case 'numberValue':
      return numberText(kind.value)
    case 'boolValue':
      return String(kind.value)
    case 'listValue':
      return list(kind.value.values, anyValueText as Write)
    case 'structValue':
      return map(kind.value.fields, anyValueText as Write)
    default:
      return 'null'
  }
}

function cellOf(desc: DescMessage, dialect: Dialect): Cell {
  const known = cells[dialect].get(desc)
  if (known !== undefined) return known
  const cell: Cell = { write: () => '' }
  cells[dialect].set(desc, cell)
  try {
    cell.write = (wellKnown[desc.typeName] as Cell['write'] | undefined) ?? messageWriter(desc, dialect)
  } catch (error) {
    cells[dialect].delete(desc)
    throw error
  }
  return cell
}

type Write = (value: unknown) => string
type Fields = Readonly<Record<string, unknown>>

/** Appends a member, name included, to the text of an object that has started; or returns the text as it is, to leave the member out. */
type MemberWriter = (text: string, message: Fields) => string

function messageWriter(desc: DescMessage, dialect: Dialect): Write {
  if (desc.typeName.startsWith('google.protobuf.')) throw new Error(`${desc.typeName} has no JSON writer`)
  const members = desc.members.flatMap((member) =>
    member.kind === 'oneof'
      ? member.fields.map((field) => oneofWriter(member.localName, field, dialect))
      : [fieldWriter(member, dialect)],
  )
  if (dialect === 'version 1')
    members.push(
      ...Object.entries(jsonOnlyFields[desc.typeName] ?? {}).map(([name, kind]) =>
        jsonOnlyWriter(name, kind),
      ),
    )
  return (message) => {
    let text = '{'
    for (let index = 0; index < members.length; index++) text = members[index]!(text, message as Fields)
    return `${text}}`
  }
}

/** Returns what appends the name of a member. Joining it with the comma once saves a string for each member that is written. */
function nameWriter(name: string): (text: string) => string {
  const first = `${JSON.stringify(name)}:`
  const next = `,${first}`
  return (text) => text + (text.length > 1 ? next : first)
}

function fieldWriter(field: DescField, dialect: Dialect): MemberWriter {
  const { localName } = field
  const name = nameWriter(field.jsonName)
  if (field.fieldKind === 'list') {
    const write = elementWriter(field, dialect)
    return (text, message) => name(text) + list(message[localName] as readonly unknown[], write)
  }
  if (field.fieldKind === 'map') {
    const write = elementWriter(field, dialect)
    return (text, message) => name(text) + map(message[localName] as Fields, write)
  }
  const write = valueWriter(field, dialect)
  if (field.presence === FeatureSet_FieldPresence.IMPLICIT)
    return (text, message) => name(text) + write(message[localName])
  const writesNull = dialect === 'version 1' && field.fieldKind === 'message'
  return (text, message) => {
    const value = message[localName]
    if (value !== undefined) return name(text) + write(value)
    return writesNull ? `${name(text)}null` : text
  }
}

function oneofWriter(oneof: string, field: DescField, dialect: Dialect): MemberWriter {
  const name = nameWriter(field.jsonName)
  const write = valueWriter(field, dialect)
  return (text, message) => {
    const { case: member, value } = message[oneof] as { case?: string; value?: unknown }
    return member === field.localName ? name(text) + write(value) : text
  }
}

function jsonOnlyWriter(name: string, kind: string): MemberWriter {
  const member = nameWriter(name)
  if (kind === 'string')
    return (text, message) =>
      message[name] === undefined ? text : member(text) + quote(message[name] as string)
  const write = wellKnown[kind] as Write
  return (text, message) => member(text) + (message[name] ? write(message[name]) : 'null')
}

function valueWriter(field: DescField, dialect: Dialect): Write {
  switch (field.fieldKind) {
    case 'message': {
      const cell = cellOf(field.message, dialect)
      return (value) => cell.write(value)
    }
    case 'enum':
      return enumWriter(field)
    case 'scalar':
      return scalarWriter(field.scalar)
    default:
      throw new Error(`${field} is no single value`)
  }
}

/** Writes one element of a list or one value of a map. */
function elementWriter(field: DescField & { fieldKind: 'list' | 'map' }, dialect: Dialect): Write {
  const kind = field.fieldKind === 'list' ? field.listKind : field.mapKind
  if (kind === 'message') {
    const cell = cellOf(field.message!, dialect)
    return (value) => cell.write(value)
  }
  return kind === 'enum' ? enumWriter(field) : scalarWriter(field.scalar!)
}

function scalarWriter(scalar: ScalarType): Write {
  switch (scalar) {
    case ScalarType.STRING:
      return quote as Write
    case ScalarType.BOOL:
      return (value) => (value ? 'true' : 'false')
    case ScalarType.BYTES:
      return bytesText as Write
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return numberText as Write
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (value) => `"${value}"`
    default:
      return String
  }
}

function enumWriter(field: DescField): Write {
  const names = enumNames(field)
  return (value) => names.get(value as number) ?? String(value)
}

function enumNames(field: DescField): ReadonlyMap<number, string> {
  const names = new Map<number, string>()
  // Of two names for one number the first is the one that is written.
  for (const { number, name } of field.enum!.values)
    if (!names.has(number)) names.set(number, JSON.stringify(name))
  return names
}

function list(values: readonly unknown[], write: Write): string {
  let text = '['
  for (let index = 0; index < values.length; index++) text += (index === 0 ? '' : ',') + write(values[index])
  return `${text}]`
}

function map(values: Fields, write: Write): string {
  const members = Object.entries(values).map(([key, value]) => `${quote(key)}:${write(value)}`)
  return `{${members.join(',')}}`
}

/** Control characters, quotation mark, backslash; surrogates too, because half of a pair must be escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON escapes
const escaped = /[\u0000-\u001f"\\\ud800-\udfff]/
/** Up to this length looking at the characters one by one is faster than the pattern. */
const SHORT = 24

/** A JSON string. Text without anything to escape, which is nearly all, is only wrapped. */
function quote(text: string): string {
  const { length } = text
  if (length > SHORT) return escaped.test(text) ? JSON.stringify(text) : `"${text}"`
  for (let index = 0; index < length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c || (unit >= 0xd800 && unit <= 0xdfff))
      return JSON.stringify(text)
  }
  return `"${text}"`
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0' : String(value)
}

function bytesText(value: Uint8Array): string {
  return `"${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}"`
}
