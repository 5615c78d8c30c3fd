import { readFileSync } from 'node:fs'
import {
  type DescEnum,
  type DescEnumValue,
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescOneof,
  type DescService,
  fromBinary,
  type ScalarType,
} from '@bufbuild/protobuf'
import { nestedTypes, protoCamelCase } from '@bufbuild/protobuf/reflect'
import { base64Decode } from '@bufbuild/protobuf/wire'
import {
  type DescriptorProto,
  Edition,
  type EnumDescriptorProto,
  type EnumValueDescriptorProto,
  FeatureSet_FieldPresence,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  type MethodDescriptorProto,
  MethodOptions_IdempotencyLevel,
  type OneofDescriptorProto,
  type ServiceDescriptorProto,
} from '@bufbuild/protobuf/wkt'

import {
  Cardinality,
  type CompactEnum,
  type CompactEnumValue,
  type CompactExtension,
  type CompactField,
  type CompactFile,
  type CompactMessage,
  type CompactMethod,
  type CompactOneof,
  type CompactOptions,
  type CompactService,
  type CompactTypeName,
  methodKinds,
} from './compact-file.ts'

/**
 * Descriptors of the files of the schema, equal to those that protobuf-es creates (a test compares all of them). They are created from a
 * compact text, because protobuf-es decodes each file and derives everything from it, which took a quarter of a start (ADR 115).
 */

/** What `options.ts` reads. Elements that protobuf-es creates do not have the property. */
export interface WithOptionValues {
  readonly optionValues?: CompactOptions | undefined
}

/**
 * Creates the descriptor of a file. Generated code calls it.
 *
 * @param text a `CompactFile` in JSON
 * @param imports what the file imports, in its order
 */
export function fileDesc(text: string, imports: DescFile[] = []): DescFile {
  for (const file of imports) if (!(file instanceof SchemaFile)) libraryFiles.add(file)
  return new SchemaFile(JSON.parse(text) as CompactFile, imports) as unknown as DescFile
}

/** The `FileDescriptorProto` of each file, in base64, which the reference and the reflection of gRPC need. */
const protoFiles = [
  new URL('../gen/file-protos.json', import.meta.url),
  new URL('../gen/error-file-protos.json', import.meta.url),
]
let encodedProtos: Readonly<Record<string, string>> | undefined

function encodedProtoOf(name: string): string {
  encodedProtos ??= Object.assign({}, ...protoFiles.map((file) => JSON.parse(readFileSync(file, 'utf8'))))
  const encoded = encodedProtos?.[name]
  if (encoded === undefined) throw new Error(`${name}.proto is not in ${protoFiles.map(String).join(' or ')}`)
  return encoded
}

/** Messages and enums by full name. */
const types = new Map<string, DescMessage | DescEnum>()
/** Files that come with protobuf-es, whose types are added when one of them is needed: a start needs none. */
const libraryFiles = new Set<DescFile>()

function addLibraryTypes(): void {
  for (const file of libraryFiles)
    for (const type of nestedTypes(file))
      if (type.kind === 'message' || type.kind === 'enum') types.set(type.typeName, type)
  libraryFiles.clear()
}

function typeOf(name: CompactTypeName, file: SchemaFile): DescMessage | DescEnum {
  const typeName = name.startsWith('.') ? `${file.package}${name}` : name
  if (!types.has(typeName)) addLibraryTypes()
  const type = types.get(typeName)
  if (type === undefined) throw new Error(`${file.name}.proto does not import the file of ${typeName}`)
  return type
}

const messageOf = (name: CompactTypeName, file: SchemaFile) => typeOf(name, file) as DescMessage

/** What all elements have. */
abstract class Element<Proto> implements WithOptionValues {
  abstract readonly kind: string
  /** Of types, services and extensions. The others have a parent. */
  declare readonly typeName?: string
  declare readonly parent?: { readonly typeName: string } | undefined
  readonly name: string
  readonly deprecated: boolean
  readonly optionValues: CompactOptions | undefined

  constructor(name: string, options?: CompactOptions, deprecated?: number) {
    this.name = name
    this.deprecated = deprecated === 1
    this.optionValues = options
  }

  /** All elements of this kind in the parent, including this one. */
  protected abstract protos(): readonly Proto[]

  get proto(): Proto {
    const proto = (this.protos() as readonly { readonly name: string }[]).find(
      ({ name }) => name === this.name,
    )
    if (proto === undefined) throw new Error(`the message of ${this} is of another version`)
    return proto as Proto
  }

  toString(): string {
    return `${this.kind.replace('_', ' ')} ${this.typeName ?? `${this.parent?.typeName}.${this.name}`}`
  }
}

class SchemaFile {
  readonly kind = 'file'
  readonly deprecated = false
  readonly edition = Edition.EDITION_PROTO3
  readonly name: string
  readonly package: string
  readonly dependencies: DescFile[]
  readonly enums: DescEnum[]
  readonly messages: DescMessage[]
  readonly services: DescService[]
  readonly extensions: DescExtension[]
  #proto: FileDescriptorProto | undefined

  constructor(file: CompactFile, imports: DescFile[]) {
    const [name, packageName, messages = [], enums = [], services = [], extensions = []] = file
    this.name = name
    this.package = packageName
    this.dependencies = imports
    this.enums = enums.map((one) => newEnum(one, this, undefined))
    this.messages = messages.map((one) => newMessage(one, this, undefined))
    this.services = services.map((one) => new Service(one, this) as unknown as DescService)
    this.extensions = extensions.map((one) => new Extension(one, this) as unknown as DescExtension)
  }

  get proto(): FileDescriptorProto {
    this.#proto ??= this.#decode()
    return this.#proto
  }

  /** Adds what protoc-gen-es leaves out of the encoded message, as the `fileDesc` of protobuf-es does. */
  #decode(): FileDescriptorProto {
    const proto = fromBinary(FileDescriptorProtoSchema, base64Decode(encodedProtoOf(this.name)))
    proto.dependency = this.dependencies.map((file) => file.proto.name)
    proto.messageType.forEach(addJsonNames)
    return proto
  }

  toString(): string {
    return `file ${this.name}.proto`
  }
}

/** As `restoreJsonNames` of protobuf-es, which is not exported. */
function addJsonNames({ field, nestedType }: DescriptorProto): void {
  for (const one of field) if (!Object.hasOwn(one, 'jsonName')) one.jsonName = protoCamelCase(one.name)
  nestedType.forEach(addJsonNames)
}

/** A message or an enum. */
abstract class Type<Proto> extends Element<Proto> {
  readonly file: SchemaFile
  override readonly parent: DescMessage | undefined
  override readonly typeName: string

  constructor(
    name: string,
    file: SchemaFile,
    parent: DescMessage | undefined,
    options?: CompactOptions,
    deprecated?: number,
  ) {
    super(name, options, deprecated)
    this.file = file
    this.parent = parent
    this.typeName = `${parent?.typeName ?? file.package}.${name}`
  }
}

/** The fields of a message. */
interface Members {
  readonly fields: DescField[]
  readonly field: Record<string, DescField>
  readonly oneofs: DescOneof[]
  readonly members: (DescField | DescOneof)[]
}

/** `fields`, `field`, `oneofs` and `members` are properties of the class: a copy with `...` does not have them. */
class MessageType extends Type<DescriptorProto> {
  readonly kind = 'message'
  readonly nestedEnums: DescEnum[] = []
  readonly nestedMessages: DescMessage[] = []
  readonly nestedExtensions: DescExtension[] = []
  /** Until the members are created. */
  #compact: CompactMessage | undefined
  #members: Members | undefined

  constructor(compact: CompactMessage, file: SchemaFile, parent: DescMessage | undefined) {
    const [name, , , nestedMessages = [], nestedEnums = [], options, deprecated] = compact
    super(name, file, parent, options, deprecated)
    this.#compact = compact
    const message = this as unknown as DescMessage
    for (const one of nestedEnums) this.nestedEnums.push(newEnum(one, file, message))
    for (const one of nestedMessages) this.nestedMessages.push(newMessage(one, file, message))
  }

  get fields(): DescField[] {
    return this.#memberSets().fields
  }

  get field(): Record<string, DescField> {
    return this.#memberSets().field
  }

  get oneofs(): DescOneof[] {
    return this.#memberSets().oneofs
  }

  get members(): (DescField | DescOneof)[] {
    return this.#memberSets().members
  }

  /** A start uses the fields of less than half of the messages. */
  #memberSets(): Members {
    if (this.#members !== undefined) return this.#members
    this.#members = membersOf(this as unknown as DescMessage, this.#compact as CompactMessage, this.file)
    this.#compact = undefined
    return this.#members
  }

  protected override protos() {
    return this.parent?.proto.nestedType ?? this.file.proto.messageType
  }
}

function newMessage(compact: CompactMessage, file: SchemaFile, parent: DescMessage | undefined): DescMessage {
  const message = new MessageType(compact, file, parent) as unknown as DescMessage
  types.set(message.typeName, message)
  return message
}

function membersOf(
  message: DescMessage,
  [, fields = [], oneofs = []]: CompactMessage,
  file: SchemaFile,
): Members {
  const result: Members = {
    fields: [],
    field: {},
    oneofs: oneofs.map((one) => new Oneof(one, message) as unknown as DescOneof),
    members: [],
  }
  for (const one of fields) {
    const oneof = result.oneofs[(one[6] ?? 0) - 1]
    const field = new Field(one, message, oneof, file) as unknown as DescField
    result.fields.push(field)
    result.field[field.localName] = field
    if (oneof === undefined) result.members.push(field)
    else if (oneof.fields.push(field) === 1) result.members.push(oneof)
  }
  return result
}

class Oneof extends Element<OneofDescriptorProto> {
  readonly kind = 'oneof'
  override readonly parent: DescMessage
  readonly fields: DescField[] = []
  readonly localName: string

  constructor([name, localName = 0]: CompactOneof, parent: DescMessage) {
    super(name)
    this.parent = parent
    this.localName = localName || name
  }

  protected override protos() {
    return this.parent.proto.oneofDecl
  }
}

const noDefault = () => undefined

/** What fields and extensions have. proto3 has no defaults and no groups. */
abstract class AnyField extends Element<FieldDescriptorProto> {
  readonly number: number
  readonly presence: FeatureSet_FieldPresence
  readonly utf8Validation = true
  readonly longAsString = false
  readonly fieldKind: DescField['fieldKind']
  readonly listKind: 'scalar' | 'enum' | 'message' | undefined
  readonly mapKind: 'scalar' | 'enum' | 'message' | undefined
  readonly mapKey: ScalarType | undefined
  readonly scalar: ScalarType | undefined
  readonly message: DescMessage | undefined
  readonly enum: DescEnum | undefined
  readonly delimitedEncoding: false | undefined
  readonly packed: boolean | undefined
  readonly getDefaultValue: (() => undefined) | undefined

  constructor(compact: CompactField, file: SchemaFile, hasPresence: boolean) {
    const [name, number, type, , cardinality = Cardinality.IMPLICIT, , , options, deprecated] = compact
    super(name, options, deprecated)
    this.number = number
    const isPacked = cardinality === Cardinality.PACKED_LIST
    const isList = isPacked || cardinality === Cardinality.LIST
    const isMap = cardinality === Cardinality.MAP
    const [mapKey, valueType] = Array.isArray(type) ? type : [undefined, type]
    const named = typeof valueType === 'string' ? typeOf(valueType, file) : undefined
    const kind = named?.kind ?? 'scalar'
    const isExplicit = cardinality === Cardinality.OPTIONAL || hasPresence || kind === 'message'
    this.presence =
      isExplicit && !isList && !isMap ? FeatureSet_FieldPresence.EXPLICIT : FeatureSet_FieldPresence.IMPLICIT
    this.fieldKind = isList ? 'list' : isMap ? 'map' : kind
    this.listKind = isList ? kind : undefined
    this.mapKind = isMap ? kind : undefined
    this.mapKey = mapKey
    this.scalar = named === undefined ? (valueType as ScalarType) : undefined
    this.message = named?.kind === 'message' ? named : undefined
    this.enum = named?.kind === 'enum' ? named : undefined
    this.delimitedEncoding = kind === 'message' || isMap ? false : undefined
    this.packed = isList ? isPacked : undefined
    this.getDefaultValue = isList || isMap ? undefined : noDefault
  }
}

class Field extends AnyField {
  readonly kind = 'field'
  override readonly parent: DescMessage
  readonly oneof: DescOneof | undefined
  readonly localName: string
  readonly jsonName: string

  constructor(compact: CompactField, parent: DescMessage, oneof: DescOneof | undefined, file: SchemaFile) {
    super(compact, file, oneof !== undefined)
    const [name, , , localName, , jsonName] = compact
    this.parent = parent
    this.oneof = oneof
    this.localName = localName || name
    this.jsonName = jsonName || this.localName
  }

  protected override protos() {
    return this.parent.proto.field
  }
}

class Extension extends AnyField {
  readonly kind = 'extension'
  readonly file: SchemaFile
  override readonly parent = undefined
  readonly oneof = undefined
  override readonly typeName: string
  readonly jsonName: string
  readonly #extendee: CompactTypeName

  constructor([extendee, ...compact]: CompactExtension, file: SchemaFile) {
    super(compact, file, true)
    this.file = file
    this.typeName = `${file.package}.${this.name}`
    this.jsonName = `[${this.typeName}]`
    this.#extendee = extendee
  }

  get extendee(): DescMessage {
    return messageOf(this.#extendee, this.file)
  }

  protected override protos() {
    return this.file.proto.extension
  }
}

class EnumType extends Type<EnumDescriptorProto> {
  readonly kind = 'enum'
  readonly open = true
  readonly value: Record<number, DescEnumValue> = {}
  readonly values: DescEnumValue[]
  readonly sharedPrefix: string | undefined

  constructor(compact: CompactEnum, file: SchemaFile, parent: DescMessage | undefined) {
    const [name, sharedPrefix, values, options, deprecated] = compact
    super(name, file, parent, options, deprecated)
    this.sharedPrefix = sharedPrefix || undefined
    this.values = values.map((one) => new EnumValue(one, this) as unknown as DescEnumValue)
    // Of names for the same number, the first counts.
    for (const one of this.values) this.value[one.number] ??= one
  }

  protected override protos() {
    return this.parent?.proto.enumType ?? this.file.proto.enumType
  }
}

function newEnum(compact: CompactEnum, file: SchemaFile, parent: DescMessage | undefined): DescEnum {
  const type = new EnumType(compact, file, parent) as unknown as DescEnum
  types.set(type.typeName, type)
  return type
}

class EnumValue extends Element<EnumValueDescriptorProto> {
  readonly kind = 'enum_value'
  override readonly parent: EnumType
  readonly localName: string
  readonly number: number
  readonly jsonName: string

  constructor([name, number = 0, options, deprecated]: CompactEnumValue, parent: EnumType) {
    super(name, options, deprecated)
    this.parent = parent
    this.localName = name.slice(parent.sharedPrefix?.length ?? 0)
    this.number = number
    this.jsonName = name
  }

  protected override protos() {
    return this.parent.proto.value
  }
}

class Service extends Element<ServiceDescriptorProto> {
  readonly kind = 'service'
  readonly file: SchemaFile
  override readonly typeName: string
  readonly methods: DescMethod[]
  readonly method: Record<string, DescMethod> = {}

  constructor([name, methods = [], options, deprecated]: CompactService, file: SchemaFile) {
    super(name, options, deprecated)
    this.file = file
    this.typeName = `${file.package}.${name}`
    this.methods = methods.map((one) => new Method(one, this) as unknown as DescMethod)
    for (const one of this.methods) this.method[one.localName] = one
  }

  protected override protos() {
    return this.file.proto.service
  }
}

class Method extends Element<MethodDescriptorProto> {
  readonly kind = 'rpc'
  override readonly parent: Service
  readonly localName: string
  readonly methodKind: (typeof methodKinds)[number]
  readonly input: DescMessage
  readonly output: DescMessage
  readonly idempotency = MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN

  constructor([name, input, output, kind = 0, options, deprecated]: CompactMethod, parent: Service) {
    super(name, options, deprecated)
    this.parent = parent
    this.localName = name.charAt(0).toLowerCase() + name.slice(1)
    this.methodKind = methodKinds[kind] as (typeof methodKinds)[number]
    this.input = messageOf(input, parent.file)
    this.output = messageOf(output, parent.file)
  }

  protected override protos() {
    return this.parent.proto.method
  }
}
