/**
 * The text from which the descriptors of a file are created, in JSON. scripts/protoc-gen-descriptors.ts writes it, and file-descriptors.ts
 * reads it.
 */

/** The full name of a message or enum; one that starts with a dot is in the package of the file. */
export type CompactTypeName = string

/** How many values a field has. */
export const Cardinality = {
  /** One; it is absent if it is the zero value. */
  IMPLICIT: 0,
  /** One or none. */
  OPTIONAL: 1,
  LIST: 2,
  /** A list of numbers that share one tag on the wire. */
  PACKED_LIST: 3,
  MAP: 4,
} as const

export const methodKinds = ['unary', 'server_streaming', 'client_streaming', 'bidi_streaming'] as const

/**
 * The elements of the text, which is JSON. Values at the end that are the defaults are left out. `localName` is 0 if it is the name, and
 * `jsonName` if it is the local name. `deprecated` is 0 or 1.
 */
export type CompactFile = [
  name: string,
  packageName: string,
  messages?: CompactMessage[],
  enums?: CompactEnum[],
  services?: CompactService[],
  extensions?: CompactExtension[],
]
export type CompactMessage = [
  name: string,
  fields?: CompactField[],
  oneofs?: CompactOneof[],
  nestedMessages?: CompactMessage[],
  nestedEnums?: CompactEnum[],
  options?: CompactOptions,
  deprecated?: number,
]
export type CompactOneof = [name: string, localName?: string | 0]
type CompactType = number | CompactTypeName
export type CompactField = [
  name: string,
  number: number,
  /** A scalar type, or the name of a message or enum. Of a map: the types of its keys and values. */
  type: CompactType | [number, CompactType],
  localName?: string | 0,
  cardinality?: number,
  jsonName?: string | 0,
  /** Position in the oneofs of the message, from 1; 0 if it is in none. */
  oneof?: number,
  options?: CompactOptions,
  deprecated?: number,
]
export type CompactExtension = [extendee: CompactTypeName, ...CompactField]
export type CompactEnum = [
  name: string,
  /** What the names of all values start with, or the empty text. */
  sharedPrefix: string,
  values: CompactEnumValue[],
  options?: CompactOptions,
  deprecated?: number,
]
export type CompactEnumValue = [name: string, number?: number, options?: CompactOptions, deprecated?: number]
export type CompactService = [
  name: string,
  methods?: CompactMethod[],
  options?: CompactOptions,
  deprecated?: number,
]
export type CompactMethod = [
  name: string,
  input: CompactTypeName,
  output: CompactTypeName,
  /** Position in `methodKinds`. */
  kind?: number,
  options?: CompactOptions,
  deprecated?: number,
]

/** The options that an element has: their numbers, and their values, of which messages have the properties that `create` takes. */
export type CompactOptions = readonly (readonly [number: number, value: unknown])[]
