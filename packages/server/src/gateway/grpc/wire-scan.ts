import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'

/**
 * Walks a protobuf message before it is decoded (R28): two bytes of an empty element become an object of some hundred, and the decoder
 * trusts each field to have the wire type of its schema. Source: https://protobuf.dev/programming-guides/encoding/
 */

export interface WireLimits {
  /** Nested messages; 1 admits a message without messages in it. */
  readonly depthMax: number
  /** Fields in all messages, and values of packed fields, together. */
  readonly elementsMax: number
}

/** Why a message must not be decoded: a limit that it passes, or bytes that the schema does not describe. */
export type WireFault = keyof WireLimits | 'malformed'

/**
 * Returns why `bytes` must not be decoded as a message of type `desc`, undefined if nothing is wrong. Malformed are truncated fields,
 * groups, varints of more than 10 bytes (5 for tags and lengths), and a field whose wire type is not that of its schema.
 */
export function scanWire(desc: DescMessage, bytes: Uint8Array, limits: WireLimits): WireFault | undefined {
  return new Scan(bytes, limits).message(shapeOf(desc), bytes.length, 1)
}

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5

interface FieldShape {
  readonly wireType: number
  /** The values may come packed into one length-delimited field. */
  readonly packable: boolean
  /** Type of a message field, or of the entries of a map. */
  readonly message: Shape | undefined
}

/** By field number. */
type Shape = ReadonlyMap<number, FieldShape>

class Scan {
  readonly #bytes: Uint8Array
  readonly #limits: WireLimits
  #at = 0
  #elements = 0

  constructor(bytes: Uint8Array, limits: WireLimits) {
    this.#bytes = bytes
    this.#limits = limits
  }

  /** Recurses to `depthMax` at most. */
  message(shape: Shape, end: number, depth: number): WireFault | undefined {
    if (depth > this.#limits.depthMax) return 'depthMax'
    while (this.#at < end) {
      if (++this.#elements > this.#limits.elementsMax) return 'elementsMax'
      const tag = this.#uint32(end)
      if (tag === undefined || tag >>> 3 === 0) return 'malformed'
      const fault = this.#field(shape.get(tag >>> 3), tag & 7, end, depth)
      if (fault !== undefined) return fault
    }
    return undefined
  }

  #field(field: FieldShape | undefined, wireType: number, end: number, depth: number): WireFault | undefined {
    const isPacked = field?.packable === true && wireType === LENGTH_DELIMITED
    if (field !== undefined && wireType !== field.wireType && !isPacked) return 'malformed'
    if (wireType !== LENGTH_DELIMITED) return this.#scalar(wireType, end) ? undefined : 'malformed'
    const length = this.#uint32(end)
    if (length === undefined || length > end - this.#at) return 'malformed'
    const inner = this.#at + length
    if (isPacked) return this.#packed(field.wireType, inner)
    if (field?.message !== undefined) return this.message(field.message, inner, depth + 1)
    this.#at = inner
    return undefined
  }

  #packed(wireType: number, end: number): WireFault | undefined {
    while (this.#at < end) {
      if (++this.#elements > this.#limits.elementsMax) return 'elementsMax'
      if (!this.#scalar(wireType, end)) return 'malformed'
    }
    return undefined
  }

  /** Skips a value; false if it is truncated or of an unknown wire type. */
  #scalar(wireType: number, end: number): boolean {
    switch (wireType) {
      case VARINT:
        for (let last = Math.min(this.#at + 10, end); this.#at < last; )
          if (this.#bytes[this.#at++]! < 0x80) return true
        return false
      case FIXED64:
        this.#at += 8
        return this.#at <= end
      case FIXED32:
        this.#at += 4
        return this.#at <= end
      default:
        return false
    }
  }

  /** A tag or a length. */
  #uint32(end: number): number | undefined {
    let value = 0
    for (let factor = 1; factor <= 2 ** 28 && this.#at < end; factor *= 128) {
      const byte = this.#bytes[this.#at++]!
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value < 2 ** 32 ? value : undefined
    }
    return undefined
  }
}

const shapes = new WeakMap<DescMessage, Shape>()

function shapeOf(desc: DescMessage): Shape {
  const known = shapes.get(desc)
  if (known !== undefined) return known
  const shape = new Map<number, FieldShape>()
  // Before the fields, because a type may contain itself.
  shapes.set(desc, shape)
  for (const field of desc.fields) shape.set(field.number, fieldShape(field))
  return shape
}

function fieldShape(field: DescField): FieldShape {
  if (field.fieldKind === 'map') {
    const key = { wireType: wireTypeOf(field.mapKey), packable: false, message: undefined }
    return {
      wireType: LENGTH_DELIMITED,
      packable: false,
      message: new Map([
        [1, key],
        [2, valueShape(field)],
      ]),
    }
  }
  const value = valueShape(field)
  return { ...value, packable: field.fieldKind === 'list' && value.wireType !== LENGTH_DELIMITED }
}

function valueShape({ message, scalar }: DescField): FieldShape {
  if (message !== undefined) return { wireType: LENGTH_DELIMITED, packable: false, message: shapeOf(message) }
  return { wireType: wireTypeOf(scalar ?? ScalarType.INT32), packable: false, message: undefined }
}

function wireTypeOf(scalar: ScalarType): number {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return LENGTH_DELIMITED
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return FIXED64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return FIXED32
    default:
      return VARINT
  }
}
