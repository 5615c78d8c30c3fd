import { hasNul, NUL_VIOLATION } from '@berth/contract/nul.ts'
import { parseDuration, parseTimestamp } from '@berth/contract/timestamp-text.ts'
import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf'
import { invalidArgument, invalidPart } from '../../api/errors.ts'
import { fieldByName, isLeafMessage } from '../../api/field-mask.ts'
import { limits } from '../../config/limits.ts'
import { integerRange, parseBytes, parseFloatText, parseInteger, splitMask } from '../json/scalar-text.ts'

/**
 * Fills fields of a message from `a=1&b.c=2` (google.api.http; names as proto or JSON name, each part of a path for itself).
 * `texts` are a query and, where there is one, a form body: they count as one. Throws an ApiError with code 3, whose violation
 * names the parameter in the API's own spelling.
 */
export type QueryReader = (message: Message, texts: readonly string[]) => void

/** What becomes of parameters that a request type does not have. */
export type UnknownParameters = 'refused' | 'ignored'

/**
 * The reader of a request type. `bound` are the proto paths that path and body fill: parameters for those, and for what
 * their descendants, are ignored. Undefined if no field is left to read and other parameters are ignored.
 */
export function createQueryReader(
  desc: DescMessage,
  bound: readonly string[],
  unknown: UnknownParameters = 'ignored',
): QueryReader | undefined {
  const hasNone = bound.includes('*') || desc.fields.every((field) => bound.includes(field.name))
  if (hasNone && unknown === 'ignored') return undefined
  const isBound = (path: string) =>
    bound.some((one) => one === '*' || path === one || path.startsWith(`${one}.`))
  const refuseUnknown = (name: string): void => {
    if (unknown === 'ignored') return
    const known = parameterNames(desc, isBound)
    const shown = name.slice(0, UNKNOWN_CHARS_SHOWN)
    throw invalidArgument(
      shown,
      known.length === 0
        ? 'is unknown: this method has no parameters'
        : `is not a parameter of this method, which has ${known.join(', ')}`,
    )
  }
  return (message, texts) => {
    // Two spellings of one field are the same field.
    const seen = new Set<string>()
    let parameters = 0
    for (const text of texts) {
      let start = 0
      while (start < text.length) {
        let end = text.indexOf('&', start)
        if (end < 0) end = text.length
        if (end > start && ++parameters > limits.queryParametersMax)
          throw invalidPart('query', `has more than ${limits.queryParametersMax} parameters`)
        if (end > start) readPair(desc, message, text.slice(start, end), { isBound, refuseUnknown, seen })
        start = end + 1
      }
    }
  }
}

/** A parameter as sent, undone of its escapes; `+` is a space. Throws an ApiError with code 3. */
function decodeParameter(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    throw invalidPart('query', 'has a malformed percent escape')
  }
}

interface PairContext {
  readonly isBound: (path: string) => boolean
  readonly refuseUnknown: (name: string) => void
  /** Proto paths of the parameters before. */
  readonly seen: Set<string>
}

function readPair(
  desc: DescMessage,
  message: Message,
  pair: string,
  { isBound, refuseUnknown, seen }: PairContext,
): void {
  const equals = pair.indexOf('=')
  const name = decodeParameter(equals < 0 ? pair : pair.slice(0, equals))
  const value = decodeParameter(equals < 0 ? '' : pair.slice(equals + 1))

  const parts = name.includes('.') ? name.split('.') : [name]
  const fields: DescField[] = []
  let at: DescMessage | undefined = desc
  let path = ''
  for (const part of parts) {
    if (at === undefined) {
      if (isBound(path)) return
      throw invalidArgument(parameterName(path), 'has no fields of its own')
    }
    const field = fieldByName(at, part)
    if (field === undefined) {
      refuseUnknown(name)
      return
    }
    fields.push(field)
    path = path === '' ? field.name : `${path}.${field.name}`
    at = field.fieldKind === 'message' ? field.message : undefined
  }
  if (isBound(path)) return

  const field = fields.at(-1)!
  const displayName = parameterName(path)
  if (seen.has(path) && field.fieldKind !== 'list')
    throw invalidArgument(displayName, 'is given more than once')
  seen.add(path)
  const read = readValue(field, value, displayName)
  if (read !== undefined) setFieldAt(message, fields, read, displayName)
}

/** Characters of an unknown name that the error repeats. */
const UNKNOWN_CHARS_SHOWN = 100

/** Returns the names of all parameters, as the documentation spells them. */
function parameterNames(desc: DescMessage, isBound: (path: string) => boolean, prefix = ''): string[] {
  return desc.fields.flatMap((field) => {
    const path = prefix + field.name
    if (isBound(path) || field.fieldKind === 'map') return []
    const isNested = field.message !== undefined && !isLeafMessage(field.message)
    if (!isNested) return [parameterName(path)]
    return prefix === '' && field.fieldKind === 'message'
      ? parameterNames(field.message, isBound, `${path}.`)
      : []
  })
}

/** The specification writes parameters in snake_case, `updateMask` excepted. */
function parameterName(path: string): string {
  return path === 'update_mask' ? 'updateMask' : path
}

type Fields = Message & Record<string, unknown>

interface OneofValue {
  readonly case: string | undefined
  readonly value?: unknown
}

/** Sets the field at the end of a path of message fields, making the messages on the way. */
export function setFieldAt(
  message: Message,
  fields: readonly DescField[],
  value: unknown,
  displayName: string,
): void {
  let at = message as Fields
  for (const field of fields.slice(0, -1)) {
    const next = getField(at, field) ?? create(field.message!)
    setField(at, field, next, displayName)
    at = next as Fields
  }
  const last = fields.at(-1)!
  if (last.fieldKind === 'list') (at[last.localName] as unknown[]).push(value)
  else setField(at, last, value, displayName)
}

function getField(message: Fields, field: DescField): unknown {
  if (field.oneof === undefined) return message[field.localName]
  const oneof = message[field.oneof.localName] as OneofValue
  return oneof.case === field.localName ? oneof.value : undefined
}

function setField(message: Fields, field: DescField, value: unknown, displayName: string): void {
  if (field.oneof === undefined) {
    message[field.localName] = value
    return
  }
  const oneof = message[field.oneof.localName] as OneofValue
  if (oneof.case !== undefined && oneof.case !== field.localName) {
    throw invalidArgument(displayName, `only one field of ${field.oneof.name} can be given`)
  }
  message[field.oneof.localName] = { case: field.localName, value }
}

/** The value of one parameter, or one element of a list; undefined where an empty value means that it is not given. */
export function readValue(field: DescField, text: string, displayName: string): unknown {
  if (field.fieldKind === 'map') throw invalidArgument(displayName, 'cannot be given in the query')
  if (field.message !== undefined) return readMessage(field.message, text, displayName)
  if (field.enum !== undefined) return readEnum(field.enum, text, displayName)
  const scalar = field.scalar ?? ScalarType.STRING
  const range = integerRange(scalar)
  if (range !== undefined)
    return requireParsed(parseInteger(range, text), displayName, `must be ${range.name}`)
  switch (scalar) {
    case ScalarType.STRING:
      return requireParsed(hasNul(text) ? undefined : text, displayName, NUL_VIOLATION)
    case ScalarType.BOOL:
      return requireParsed(booleans.get(text), displayName, 'must be true or false')
    case ScalarType.BYTES:
      return requireParsed(parseBytes(text), displayName, 'must be base64 text')
    default:
      return requireParsed(parseFloatText(scalar, text), displayName, 'must be a number')
  }
}

/** What Go's strconv.ParseBool takes, and so the public service. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
])

function readEnum(desc: DescEnum, text: string, displayName: string): number {
  const number = /^-?\d{1,10}$/.test(text) ? Number(text) : undefined
  const known = desc.values.find((value) => value.name === text || value.number === number)
  return requireParsed(known?.number, displayName, `must be one of the values of ${desc.name}`)
}

function readMessage(desc: DescMessage, text: string, displayName: string): unknown {
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp': {
      const refusal = 'must be an RFC 3339 timestamp, such as 2025-01-02T03:04:05Z'
      return Object.assign(create(desc), requireParsed(parseTimestamp(text), displayName, refusal))
    }
    case 'google.protobuf.Duration': {
      const refusal = 'must be a duration in seconds, such as 1.5s'
      return Object.assign(create(desc), requireParsed(parseDuration(text), displayName, refusal))
    }
    case 'google.protobuf.FieldMask':
      // As the caller wrote them, for error messages: readers of a mask accept both spellings of a field.
      return text === ''
        ? undefined
        : Object.assign(create(desc), {
            paths: requireParsed(
              splitMask(text),
              displayName,
              `must have at most ${limits.fieldMaskPathsMax} paths`,
            ),
          })
    default:
      throw invalidArgument(displayName, 'has fields of its own and takes no value')
  }
}

function requireParsed<T>(value: T | undefined, displayName: string, description: string): T {
  if (value === undefined) throw invalidArgument(displayName, description)
  return value
}
