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

type Write = (value: unknown) => string
type Fields = Readonly<Record<string, unknown>>

/** Writes values of one type. `isText`: without their quotation marks, which are joined with the names around them. */
interface ValueWriter {
  readonly isText: boolean
  /** A type refers to others through their writers, so that it may contain itself. */
  write: Write
}

/** How messages look in JSON; version 1 also writes unset messages, as `null`, and what only JSON has. */
export type Dialect = 'current' | 'version 1'

const messageWriters: Readonly<Record<Dialect, Map<DescMessage, ValueWriter>>> = {
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
  return quoted(messageWriter(desc, dialect))
}

const wellKnown: Readonly<Record<string, ValueWriter>> = {
  'google.protobuf.Timestamp': textWriter(timestampText),
  'google.protobuf.Duration': textWriter(durationText),
  'google.protobuf.FieldMask': textWriter(({ paths }: { paths: readonly string[] }) =>
    escape(paths.map(camelCasePath).join(',')),
  ),
  'google.protobuf.Empty': plainWriter(() => '{}'),
  'google.protobuf.Value': plainWriter(anyValueText),
}

const stringWriter = textWriter(escape)

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
      return listText(kind.value.values, anyValueText as Write)
    case 'structValue':
      return mapText(kind.value.fields, anyValueText as Write)
    default:
      return 'null'
  }
}

function textWriter<T>(write: (value: T) => string): ValueWriter {
  return { isText: true, write: write as Write }
}

function plainWriter<T>(write: (value: T) => string): ValueWriter {
  return { isText: false, write: write as Write }
}

function quoted(writer: ValueWriter): Write {
  return (value) => (writer.isText ? `"${writer.write(value)}"` : writer.write(value))
}

function messageWriter(desc: DescMessage, dialect: Dialect): ValueWriter {
  const known = wellKnown[desc.typeName] ?? messageWriters[dialect].get(desc)
  if (known !== undefined) return known
  if (desc.typeName.startsWith('google.protobuf.')) throw new Error(`${desc.typeName} has no JSON writer`)
  const writer = plainWriter<unknown>(() => '')
  messageWriters[dialect].set(desc, writer)
  try {
    writer.write = objectWriter(membersOf(desc, dialect))
  } catch (error) {
    messageWriters[dialect].delete(desc)
    throw error
  }
  return writer
}

/** Pieces for the start of an object, and for the positions after a value and after a text, whose quotation mark is missing. */
type ByPosition = readonly [first: string, afterValue: string, afterText: string]

/** A member of an object. */
interface Member {
  readonly field: string
  /** Of a member that is a case of a oneof: the name of that. */
  readonly oneof: string | undefined
  /** What comes before the value: its name, and what ends what is before it. */
  readonly before: ByPosition
  /** The position after it. */
  readonly after: 1 | 2
  readonly writer: ValueWriter
  /** What is written if the value is missing: nothing, or the member with `null`. A value that must not be missing fails. */
  readonly missing: 'invalid' | 'left out' | ByPosition
}

/** What ends an object, by position: nothing is written, or a value or a text is the last member. */
const ends = ['{}', '}', '"}'] as const

/** The text is joined from as few pieces as possible, because each of them costs memory until the whole text is sent. */
function objectWriter(members: readonly Member[]): Write {
  return (value) => {
    const message = value as Fields
    let text = ''
    let position: 0 | 1 | 2 = 0
    for (let index = 0; index < members.length; index++) {
      const member = members[index]!
      const found = member.oneof === undefined ? message[member.field] : caseOf(message, member)
      if (found !== undefined || member.missing === 'invalid') {
        text += member.before[position] + member.writer.write(found)
        position = member.after
      } else if (member.missing !== 'left out') {
        text += member.missing[position]
        position = 1
      }
    }
    return text + ends[position]
  }
}

function caseOf(message: Fields, { oneof, field }: Member): unknown {
  const { case: found, value } = message[oneof!] as { case?: string; value?: unknown }
  return found === field ? value : undefined
}

function membersOf(desc: DescMessage, dialect: Dialect): Member[] {
  const nullable = dialect === 'version 1' ? 'null' : 'left out'
  const declared = desc.members.flatMap((member) =>
    member.kind === 'oneof'
      ? member.fields.map((field) =>
          memberOf(field, fieldWriter(field, dialect), { oneof: member.localName, missing: 'left out' }),
        )
      : [memberOf(member, fieldWriter(member, dialect), { missing: missingField(member, nullable) })],
  )
  if (dialect === 'current') return declared
  const jsonOnly = Object.entries(jsonOnlyFields[desc.typeName] ?? {}).map(([name, kind]) =>
    memberOf({ localName: name, jsonName: name }, kind === 'string' ? stringWriter : wellKnown[kind]!, {
      missing: kind === 'string' ? 'left out' : 'null',
    }),
  )
  return [...declared, ...jsonOnly]
}

type Missing = 'invalid' | 'left out' | 'null'

function missingField(field: DescField, nullable: Missing): Missing {
  if (field.fieldKind === 'message') return nullable
  return field.presence === FeatureSet_FieldPresence.IMPLICIT ? 'invalid' : 'left out'
}

function memberOf(
  { localName, jsonName }: Pick<DescField, 'localName' | 'jsonName'>,
  writer: ValueWriter,
  { oneof, missing }: { readonly oneof?: string; readonly missing: Missing },
): Member {
  const name = `${JSON.stringify(jsonName)}:`
  return {
    field: localName,
    oneof,
    before: byPosition(writer.isText ? `${name}"` : name),
    after: writer.isText ? 2 : 1,
    writer,
    missing: missing === 'null' ? byPosition(`${name}null`) : missing,
  }
}

function byPosition(piece: string): ByPosition {
  return [`{${piece}`, `,${piece}`, `",${piece}`]
}

function fieldWriter(field: DescField, dialect: Dialect): ValueWriter {
  switch (field.fieldKind) {
    case 'list': {
      const write = quoted(elementWriter(field, field.listKind, dialect))
      return plainWriter((values: readonly unknown[]) => listText(values, write))
    }
    case 'map': {
      const write = quoted(elementWriter(field, field.mapKind, dialect))
      return plainWriter((values: Fields) => mapText(values, write))
    }
    default:
      return elementWriter(field, field.fieldKind, dialect)
  }
}

/** Returns the writer of a single value, of one element of a list or of one value of a map. */
function elementWriter(field: DescField, kind: 'message' | 'enum' | 'scalar', dialect: Dialect): ValueWriter {
  if (kind === 'message') return messageWriter(field.message!, dialect)
  return kind === 'enum' ? enumWriter(field) : scalarWriter(field.scalar!)
}

function scalarWriter(scalar: ScalarType): ValueWriter {
  switch (scalar) {
    case ScalarType.STRING:
      return stringWriter
    case ScalarType.BOOL:
      return plainWriter((value) => (value ? 'true' : 'false'))
    case ScalarType.BYTES:
      return textWriter(bytesText)
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return plainWriter(numberText)
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return textWriter(String)
    default:
      return plainWriter(String)
  }
}

function enumWriter(field: DescField): ValueWriter {
  const names = enumNames(field)
  return plainWriter((value: number) => names.get(value) ?? String(value))
}

function enumNames(field: DescField): ReadonlyMap<number, string> {
  const names = new Map<number, string>()
  // Of two names for one number the first is the one that is written.
  for (const { number, name } of field.enum!.values)
    if (!names.has(number)) names.set(number, JSON.stringify(name))
  return names
}

function listText(values: readonly unknown[], write: Write): string {
  let text = '['
  for (let index = 0; index < values.length; index++) text += (index === 0 ? '' : ',') + write(values[index])
  return `${text}]`
}

function mapText(values: Fields, write: Write): string {
  let text = ''
  for (const key of Object.keys(values))
    text += `${text === '' ? '' : ','}${quote(key)}:${write(values[key])}`
  return `{${text}}`
}

/** Control characters, quotation mark, backslash; surrogates too, because half of a pair must be escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON escapes
const escaped = /[\u0000-\u001f"\\\ud800-\udfff]/
/** Up to this length looking at the characters one by one is faster than the pattern. */
const SHORT = 24

/** The inside of a JSON string. Text without anything to escape, which is nearly all, stays as it is. */
function escape(text: string): string {
  return hasEscapes(text) ? JSON.stringify(text).slice(1, -1) : text
}

function hasEscapes(text: string): boolean {
  const { length } = text
  if (length > SHORT) return escaped.test(text)
  for (let index = 0; index < length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c || (unit >= 0xd800 && unit <= 0xdfff)) return true
  }
  return false
}

function quote(text: string): string {
  return `"${escape(text)}"`
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0' : String(value)
}

function bytesText(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
}
