import { ScalarType } from '@bufbuild/protobuf'
import { limits } from '../../config/limits.ts'

/** What a scalar of 32 or 64 bits may hold, inclusive, and how its type is called in an error. */
interface IntegerRange {
  readonly min: bigint
  readonly max: bigint
  readonly big: boolean
  readonly name: string
}

const int32: IntegerRange = { min: -(2n ** 31n), max: 2n ** 31n - 1n, big: false, name: 'a 32-bit integer' }
const uint32: IntegerRange = { min: 0n, max: 2n ** 32n - 1n, big: false, name: 'an unsigned 32-bit integer' }
const int64: IntegerRange = { min: -(2n ** 63n), max: 2n ** 63n - 1n, big: true, name: 'a 64-bit integer' }
const uint64: IntegerRange = { min: 0n, max: 2n ** 64n - 1n, big: true, name: 'an unsigned 64-bit integer' }

/** The range of an integer type; undefined for every other scalar. */
export function integerRange(scalar: ScalarType): IntegerRange | undefined {
  switch (scalar) {
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return int32
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return uint32
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return int64
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return uint64
    default:
      return undefined
  }
}

/** More digits than any 64-bit integer has: such text is not worth a BigInt of its own size. */
const INTEGER_CHARS_MAX = 32
const integerText = /^[+-]?\d+$/

/** Parses a decimal integer as number (32 bits) or bigint (64 bits); undefined if the text is invalid or out of range. */
export function parseInteger(range: IntegerRange, text: string): number | bigint | undefined {
  if (text.length > INTEGER_CHARS_MAX || !integerText.test(text)) return undefined
  const value = text.startsWith('+') ? BigInt(text.slice(1)) : BigInt(text)
  if (value < range.min || value > range.max) return undefined
  return range.big ? value : Number(value)
}

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** A decimal number as in JSON, or `NaN`, `Infinity`, `-Infinity`; undefined for other text and for what is too large. */
export function parseFloatText(scalar: ScalarType, text: string): number | undefined {
  if (text === 'NaN') return Number.NaN
  if (text === 'Infinity') return Number.POSITIVE_INFINITY
  if (text === '-Infinity') return Number.NEGATIVE_INFINITY
  if (!numberText.test(text)) return undefined
  return inFloatRange(scalar, Number(text))
}

/** The number when its type can hold it: neither type takes a finite text for infinity. */
export function inFloatRange(scalar: ScalarType, value: number): number | undefined {
  if (scalar !== ScalarType.FLOAT) return Number.isFinite(value) ? value : undefined
  const single = Math.fround(value)
  return Number.isFinite(single) ? single : undefined
}

/** Decodes base64, standard or URL-safe, with or without padding; undefined if the text is invalid. */
export function parseBytes(text: string): Uint8Array | undefined {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const digits = text.length - padding
  if (digits % 4 === 1 || (padding > 0 && text.length % 4 !== 0)) return undefined
  // The decoder skips invalid characters and truncates others to their last byte: the lengths reveal both.
  if (Buffer.byteLength(text) !== text.length) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === Math.floor((digits * 3) / 4) ? new Uint8Array(bytes) : undefined
}

/** The paths of a field mask that comes as one text; undefined if they are too many. */
export function splitMask(mask: string): string[] | undefined {
  if (mask === '') return []
  const paths = mask.split(',', limits.fieldMaskPathsMax + 1)
  return paths.length > limits.fieldMaskPathsMax ? undefined : paths.map((path) => path.trim())
}
