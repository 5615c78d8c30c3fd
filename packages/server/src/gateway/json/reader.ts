import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { ListValueSchema, NullValue, ValueSchema } from '@berth/contract/gen/google/protobuf/struct_pb.js'
import { hasNul, NUL_VIOLATION } from '@berth/contract/nul.ts'
import { strictMessages } from '@berth/contract/strict-messages.ts'
import { parseDuration, parseTimestamp } from '@berth/contract/timestamp-text.ts'
import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf'
import type { Value } from '@bufbuild/protobuf/wkt'
import { invalidArgument, invalidPart } from '../../api/errors.ts'
import { fieldByName, isLeafMessage } from '../../api/field-mask.ts'
import { limits } from '../../config/limits.ts'
import {
  findDuplicateMember,
  hasDuplicateMember,
  type JsonScan,
  scanJson,
} from '../../runtime/json/json-scan.ts'
import {
  inFloatRange,
  integerRange,
  parseBytes,
  parseFloatText,
  parseInteger,
  splitMask,
} from './scalar-text.ts'

/** A body that was read. */
export interface JsonRead<T extends Message = Message> {
  readonly message: T
  /** The parsed text itself, for `presentPaths` and `spelledPath`. */
  readonly json: unknown
}

/**
 * Reads the JSON of a message, or an empty body as an empty message. Throws an ApiError with code 3, whose violation names
 * the member as the caller wrote it: malformed JSON, too many levels or values, text that is not Unicode or has U+0000, an unknown member, a
 * member given twice, a value of the wrong type or out of range.
 */
export type JsonReader<T extends Message = Message> = (body: JsonBody) => JsonRead<T>

/** A body as it came, or parsed by `parseInSteps`. */
export type JsonBody = string | Uint8Array | ParsedJson

export interface ParsedJson {
  readonly json: unknown
}

/** How to handle members that a message does not have; in `strictMessages` they are always rejected. */
export type UnknownMembers = 'rejected' | 'ignored'

/** The reader of a message type, put together at the first call. Throws an Error for google.protobuf.Any and the like. */
export function createJsonReader<D extends DescMessage>(
  desc: D,
  unknown: UnknownMembers = 'rejected',
): JsonReader<MessageShape<D>> {
  const read = createMessageReader(desc, unknown)
  return (body) => {
    const json = parseJsonBody(body)
    return { message: read(json, '') as MessageShape<D>, json }
  }
}

/** Reads a list of messages instead, which a body is that is a repeated field; an empty body is an empty list. */
export function createJsonListReader(
  field: DescField & { fieldKind: 'list' },
  unknown: UnknownMembers,
): (body: JsonBody) => { readonly messages: Message[]; readonly json: unknown } {
  const read = createFieldReader(field, unknown)
  return (body) => {
    const isEmpty = (typeof body === 'string' || body instanceof Uint8Array) && body.length === 0
    const json = isEmpty ? [] : parseJsonBody(body)
    return { messages: read(json, '') as Message[], json }
  }
}

/** Parses a body with all checks of its form. */
export function parseJsonBody(body: JsonBody): unknown {
  if (typeof body === 'object' && 'json' in body) return body.json
  const scan = scanBody(body)
  const { text, json } = parseText(body)
  return rejectDuplicates(scan, text, json)
}

/** Parses a long body as the readers do, in steps between which other requests run. Rejects as a JsonReader throws. */
export async function parseInSlices(body: Uint8Array): Promise<ParsedJson> {
  const scan = scanBody(body)
  await setImmediate()
  const { text, json } = parseText(body)
  await setImmediate()
  return { json: rejectDuplicates(scan, text, json) }
}

/**
 * Proto paths of the members that a body holds, as a field mask: a message member that is not empty stands for the members
 * in it, everything else, `null` included, for itself. `json` has gone through the reader of the same type.
 */
export function presentPaths(desc: DescMessage, json: unknown, prefix = ''): string[] {
  return Object.entries(json as object).flatMap(([name, value]) => {
    const field = fieldByName(desc, name)
    if (field === undefined) return []
    const path = prefix + field.name
    const isObject = typeof value === 'object' && value !== null && Object.keys(value).length > 0
    if (field.fieldKind !== 'message' || isLeafMessage(field.message) || !isObject) return [path]
    return presentPaths(field.message, value, `${path}.`)
  })
}

/**
 * Returns a body without the members that a mask of proto paths does not name, which an update ignores, whatever they are. What it names
 * is complete, so that unknown members in it are still rejected.
 */
export function pickMasked(desc: DescMessage, json: unknown, paths: readonly string[]): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json
  const picked = Object.entries(json).flatMap(([name, value]): [string, unknown][] => {
    const field = fieldByName(desc, name)
    if (field === undefined) return []
    const listed = paths
      .map((path) => path.split('.'))
      .filter(([first = '']) => fieldByName(desc, first) === field)
      .map(([, ...rest]) => rest.join('.'))
    if (listed.length === 0) return []
    const isWhole = listed.includes('') || field.fieldKind !== 'message' || isLeafMessage(field.message)
    return [[name, isWhole ? value : pickMasked(field.message, value, listed)]]
  })
  return Object.fromEntries(picked)
}

/** The path of a field (`claimMatch.issuer`, `capabilities[0]`) in the spelling that the caller used in the body. */
export function fieldPathAsSent(desc: DescMessage, json: unknown, path: string): string {
  let at: DescMessage | undefined = desc
  let value = json
  return path
    .split('.')
    .map((part) => {
      const [name = '', index] = part.split('[', 2)
      const field: DescField | undefined = at && fieldByName(at, name)
      at = field?.message
      if (field === undefined || typeof value !== 'object' || value === null) return part
      const members: object = value
      const sentName = Object.keys(members).find((key) => key === name) ?? memberNameOf(members, field)
      value = sentName === undefined ? undefined : (members as Record<string, unknown>)[sentName]
      if (index !== undefined && Array.isArray(value)) value = value[Number.parseInt(index, 10)]
      return (sentName ?? name) + part.slice(name.length)
    })
    .join('.')
}

function memberNameOf(members: object, field: DescField): string | undefined {
  return Object.keys(members).find((key) => fieldByName(field.parent, key) === field)
}

function utf8(body: Uint8Array): string {
  if (!isUtf8(body)) throw invalidPart('body', 'is not UTF-8')
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
}

/** Before anything is built or recurses. */
function scanBody(body: string | Uint8Array): JsonScan {
  const scan = scanJson(body, { depthMax: limits.jsonDepthMax, elementsMax: limits.jsonElementsMax })
  if (scan.exceeded === 'depthMax')
    throw invalidPart('body', `is nested more than ${limits.jsonDepthMax} levels deep`)
  if (scan.exceeded === 'elementsMax')
    throw invalidPart('body', `has more than ${limits.jsonElementsMax} values`)
  return scan
}

function parseText(body: string | Uint8Array): { readonly text: string; readonly json: unknown } {
  const whole = typeof body === 'string' ? body : utf8(body)
  // A byte order mark is not part of the text.
  const text = whole.startsWith('\ufeff') ? whole.slice(1) : whole
  try {
    return { text, json: JSON.parse(text) }
  } catch (error) {
    if (text.trim() === '') return { text, json: {} }
    throw invalidPart('body', `is not valid JSON${position(text, error)}`)
  }
}

function rejectDuplicates(scan: JsonScan, text: string, json: unknown): unknown {
  if (hasDuplicateMember(scan, json)) throw invalidArgument(findDuplicateMember(text) ?? '', 'is repeated')
  return json
}

/** Where the engine stopped, if it says so. Its message is not passed on: it may quote the body. */
function position(text: string, error: unknown): string {
  const match = /at position (\d+)/.exec(error instanceof Error ? error.message : '')
  if (match === null) return ''
  const at = Number(match[1])
  let line = 1
  let lineStart = 0
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', lineStart)) {
    line++
    lineStart = end + 1
  }
  return ` (line ${line}, column ${at - lineStart + 1})`
}

/** Reads one JSON value; `at` is its path as the caller spelled it. */
type ValueReader = (json: unknown, at: string) => unknown

interface Member {
  readonly field: DescField
  readonly read: ValueReader
  /** Other names that mean the same field. */
  readonly aliases: readonly string[]
}

const messageReaders: Readonly<Record<UnknownMembers, Map<DescMessage, ValueReader>>> = {
  rejected: new Map(),
  ignored: new Map(),
}

function createMessageReader(desc: DescMessage, defaultUnknown: UnknownMembers): ValueReader {
  const unknown = strictMessages.has(desc.typeName) ? 'rejected' : defaultUnknown
  const readers = messageReaders[unknown]
  const known = readers.get(desc)
  if (known !== undefined) return known
  const wellKnown = wellKnownReader(desc)
  if (wellKnown !== undefined) {
    readers.set(desc, wellKnown)
    return wellKnown
  }
  const members = new Map<string, Member>()
  const read: ValueReader = (json, at) => readMessage(desc, members, unknown, json, at)
  // Before the fields are built, because a type may contain itself.
  readers.set(desc, read)
  try {
    for (const field of desc.fields) {
      const names = [...new Set([field.jsonName, field.name, camelCase(field)])].filter(
        (name) => fieldByName(desc, name) === field,
      )
      const value = createFieldReader(field, unknown)
      for (const name of names) {
        members.set(name, { field, read: value, aliases: names.filter((other) => other !== name) })
      }
    }
  } catch (error) {
    readers.delete(desc)
    throw error
  }
  return read
}

/** Where a schema overrides the JSON name with the proto name, the usual spelling is still understood. */
function camelCase(field: DescField): string {
  return field.name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function readMessage(
  desc: DescMessage,
  members: ReadonlyMap<string, Member>,
  unknown: UnknownMembers,
  json: unknown,
  at: string,
): Message {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw violationAt(at, 'must be an object')
  const message = create(desc) as Message & Record<string, unknown>
  for (const name of Object.keys(json)) {
    const member = members.get(name)
    if (member === undefined) {
      if (unknown === 'ignored') continue
      throw violationAt(join(at, name), 'is not a known field')
    }
    for (const other of member.aliases) {
      if (Object.hasOwn(json, other)) throw violationAt(join(at, name), 'is repeated')
    }
    const value = (json as Record<string, unknown>)[name]
    const { field } = member
    // null is a value of google.protobuf.Value; of other types, it is an unset field.
    if (value === null && (field.fieldKind !== 'message' || field.message.typeName !== ValueSchema.typeName))
      continue
    const read = member.read(value, join(at, name))
    if (field.oneof === undefined) {
      message[field.localName] = read
      continue
    }
    const oneof = message[field.oneof.localName] as { readonly case: string | undefined }
    if (oneof.case !== undefined) {
      throw violationAt(join(at, name), `only one field of ${field.oneof.name} can be given`)
    }
    message[field.oneof.localName] = { case: field.localName, value: read }
  }
  return message
}

function createFieldReader(field: DescField, unknown: UnknownMembers): ValueReader {
  switch (field.fieldKind) {
    case 'list': {
      const item = itemReader(field, unknown)
      return (json, at) => {
        if (!Array.isArray(json)) throw violationAt(at, 'must be a list')
        return json.map((element, index) => item(element, `${at}[${index}]`))
      }
    }
    case 'map': {
      const item = itemReader(field, unknown)
      const key = mapKeyReader(field.mapKey)
      return (json, at) => {
        if (typeof json !== 'object' || json === null || Array.isArray(json))
          throw violationAt(at, 'must be an object')
        const map = {}
        for (const [name, value] of Object.entries(json)) {
          const own = key(name, at)
          if (Object.hasOwn(map, own)) throw violationAt(join(at, name), 'is repeated')
          // Defined, not assigned: `__proto__` is a key like any other.
          Object.defineProperty(map, own, {
            value: item(value, join(at, name)),
            writable: true,
            enumerable: true,
            configurable: true,
          })
        }
        return map
      }
    }
    default:
      return itemReader(field, unknown)
  }
}

function itemReader(field: DescField, unknown: UnknownMembers): ValueReader {
  if (field.message !== undefined) return createMessageReader(field.message, unknown)
  if (field.enum !== undefined) return enumReader(field.enum)
  return scalarReader(field.scalar ?? ScalarType.STRING)
}

function enumReader(desc: DescEnum): ValueReader {
  const byName = new Map(desc.values.map(({ name, number }) => [name, number]))
  const numbers = new Set(byName.values())
  return (json, at) => {
    if (typeof json === 'string') {
      const number = byName.get(json)
      if (number === undefined) throw violationAt(at, `must be one of the values of ${desc.name}`)
      return number
    }
    const known =
      Number.isInteger(json) &&
      (desc.open ? (json as number) === ((json as number) | 0) : numbers.has(json as number))
    if (!known) throw violationAt(at, `must be one of the values of ${desc.name}`)
    return json
  }
}

function scalarReader(scalar: ScalarType): ValueReader {
  const range = integerRange(scalar)
  if (range !== undefined) {
    const min = Number(range.min)
    const max = Number(range.max)
    return (json, at) => {
      let value = typeof json === 'string' ? parseInteger(range, json) : undefined
      if (value === undefined) {
        // Proto JSON has 1e3 and 1.0 as integers too.
        const number = typeof json === 'string' ? parseFloatText(ScalarType.DOUBLE, json) : json
        if (typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max) {
          value = range.big ? BigInt(number) : number + 0
        } else if (
          range.big &&
          typeof json === 'number' &&
          Number.isInteger(json) &&
          !Number.isSafeInteger(json)
        ) {
          throw violationAt(at, 'is too large to be exact as a number: write it as a string')
        }
      }
      if (value === undefined) throw violationAt(at, `must be ${range.name}`)
      return value
    }
  }
  switch (scalar) {
    case ScalarType.STRING:
      return text
    case ScalarType.BOOL:
      return (json, at) => {
        if (typeof json !== 'boolean') throw violationAt(at, 'must be true or false')
        return json
      }
    case ScalarType.BYTES:
      return (json, at) => {
        const bytes = typeof json === 'string' ? parseBytes(json) : undefined
        if (bytes === undefined) throw violationAt(at, 'must be base64 text')
        return bytes
      }
    default:
      return (json, at) => {
        const value =
          typeof json === 'number'
            ? inFloatRange(scalar, json)
            : typeof json === 'string'
              ? parseFloatText(scalar, json)
              : undefined
        if (value === undefined) throw violationAt(at, 'must be a number')
        return value
      }
  }
}

function mapKeyReader(scalar: ScalarType): (name: string, at: string) => string {
  const range = integerRange(scalar)
  if (range !== undefined) {
    return (name, at) => {
      const value = parseInteger(range, name)
      if (value === undefined) throw violationAt(join(at, name), `the key must be ${range.name}`)
      return String(value)
    }
  }
  if (scalar === ScalarType.BOOL) {
    return (name, at) => {
      if (name !== 'true' && name !== 'false')
        throw violationAt(join(at, name), 'the key must be true or false')
      return name
    }
  }
  return text
}

function text(json: unknown, at: string): string {
  if (typeof json !== 'string') throw violationAt(at, 'must be a string')
  if (hasNul(json)) throw violationAt(at, NUL_VIOLATION)
  if (!json.isWellFormed()) throw violationAt(at, 'is not Unicode text: it has half of a surrogate pair')
  return json
}

function wellKnownReader(desc: DescMessage): ValueReader | undefined {
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp':
      return (json, at) => {
        const time = typeof json === 'string' ? parseTimestamp(json) : undefined
        if (time === undefined)
          throw violationAt(at, 'must be an RFC 3339 timestamp, such as 2025-01-02T03:04:05Z')
        return Object.assign(create(desc), time)
      }
    case 'google.protobuf.Duration':
      return (json, at) => {
        const duration = typeof json === 'string' ? parseDuration(json) : undefined
        if (duration === undefined) throw violationAt(at, 'must be a duration in seconds, such as 1.5s')
        return Object.assign(create(desc), duration)
      }
    case 'google.protobuf.FieldMask':
      return (json, at) => Object.assign(create(desc), { paths: maskPaths(text(json, at), at) })
    case 'google.protobuf.Value':
      return readAnyValue
    case 'google.protobuf.Empty':
      return undefined
    default:
      if (desc.typeName.startsWith('google.protobuf.')) throw new Error(`${desc.typeName} has no JSON reader`)
      return undefined
  }
}

/** Any JSON value. The text was scanned before, so its depth is limited. */
function readAnyValue(json: unknown, at: string): Value {
  const value = (kind: Value['kind']): Value => ({ $typeName: 'google.protobuf.Value', kind })
  if (json === null) return value({ case: 'nullValue', value: NullValue.NULL_VALUE })
  if (typeof json === 'string') return value({ case: 'stringValue', value: text(json, at) })
  if (typeof json === 'number') return value({ case: 'numberValue', value: json })
  if (typeof json === 'boolean') return value({ case: 'boolValue', value: json })
  if (Array.isArray(json)) {
    const values = json.map((element, index) => readAnyValue(element, `${at}[${index}]`))
    return value({ case: 'listValue', value: create(ListValueSchema, { values }) })
  }
  const fields: Record<string, Value> = Object.create(null)
  for (const [name, member] of Object.entries(json as object))
    fields[text(name, at)] = readAnyValue(member, join(at, name))
  return value({ case: 'structValue', value: { $typeName: 'google.protobuf.Struct', fields } })
}

/** The paths of a field mask in JSON, as proto names; an empty text has none. */
function maskPaths(mask: string, at: string): string[] {
  const paths = splitMask(mask)
  if (paths === undefined) throw violationAt(at, `must have at most ${limits.fieldMaskPathsMax} paths`)
  return paths.map((path) => path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

function join(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`
}

function violationAt(at: string, description: string): Error {
  // A path may hold names that the caller made up.
  return at === ''
    ? invalidPart('body', description)
    : invalidArgument(at.toWellFormed().slice(0, 256), description)
}
