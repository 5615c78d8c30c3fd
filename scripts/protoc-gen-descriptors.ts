import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  Cardinality,
  type CompactEnum,
  type CompactExtension,
  type CompactField,
  type CompactFile,
  type CompactMessage,
  type CompactOptions,
  type CompactService,
  type CompactTypeName,
  methodKinds,
} from '@berth/contract/compact-file.ts'
import { fileDesc } from '@berth/contract/file-descriptors.ts'
import {
  type AnyDesc,
  create,
  createFileRegistry,
  type DescEnum,
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescService,
  fromBinary,
  getExtension,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_FileSchema,
  CodeGeneratorResponseSchema,
  EnumOptionsSchema,
  EnumValueOptionsSchema,
  FeatureSet_FieldPresence,
  FieldOptionsSchema,
  FileDescriptorSetSchema,
  MessageOptionsSchema,
  MethodOptionsSchema,
  ServiceOptionsSchema,
} from '@bufbuild/protobuf/wkt'
import { comparableProperties, elementsOf } from './descriptor-properties.ts'

/**
 * A plugin of `buf generate` that runs protoc-gen-es and lets its files create their descriptors with `@berth/contract/file-descriptors.ts`,
 * from a compact text that it adds. What the descriptors rarely need goes to file-protos.json.
 */

const protocGenEs = fileURLToPath(new URL('../node_modules/.bin/protoc-gen-es', import.meta.url))
const CALL = /\bfileDesc\("([^"]*)"/
const DESCRIPTOR = /"[./]+(google\/)?protobuf\/descriptor_pb\.js"/
const IMPORT = /import \{ ([^}]*) \} from "@bufbuild\/protobuf\/codegenv2";/

const input = readFileSync(0)
const request = fromBinary(CodeGeneratorRequestSchema, input)
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: request.protoFile }))
const response = fromBinary(
  CodeGeneratorResponseSchema,
  execFileSync(protocGenEs, { input, maxBuffer: Number.POSITIVE_INFINITY }),
)
interface Described {
  readonly text: string
  readonly created: DescFile
}
/** By the name of the file. */
const described = new Map<string, Described>()
/** The message of each file in base64, by name. */
const protos: Record<string, string> = {}
// It has the syntax of proto2, which the compact text cannot express.
response.file = response.file.filter(({ name }) => !name.startsWith('google/protobuf/descriptor_pb.'))
for (const file of response.file) {
  file.content = file.content.replace(DESCRIPTOR, '"@bufbuild/protobuf/wkt"')
  if (file.name.endsWith('_pb.js')) file.content = addCompactText(file)
}
const content = `${JSON.stringify(protos, Object.keys(protos).sort(), 1)}\n`
// buf runs a plugin for each of its inputs, and the files of errors are one of them.
const isErrors = request.fileToGenerate.every((file) => /^google\/(rpc|protobuf)\//.test(file))
const name = isErrors ? 'error-file-protos.json' : 'file-protos.json'
response.file.push(create(CodeGeneratorResponse_FileSchema, { name, content }))
writeSync(1, toBinary(CodeGeneratorResponseSchema, response))

function addCompactText({ name, content }: { readonly name: string; readonly content: string }): string {
  const file = registry.getFile(name.replace(/_pb\.js$/, '.proto'))
  const imported = IMPORT.exec(content)?.[1]?.split(', ') ?? []
  const proto = CALL.exec(content)?.[1]
  if (file === undefined || proto === undefined || !imported.includes('fileDesc'))
    throw new Error(`protoc-gen-es writes ${name} in a form that is not expected`)
  protos[file.name] = proto
  const others = imported.filter((one) => one !== 'fileDesc').join(', ')
  const module = relative(dirname(`gen/${name}`), 'src/file-descriptors.ts')
  return content
    .replace(
      IMPORT,
      `import { ${others} } from "@bufbuild/protobuf/codegenv2";\nimport { fileDesc } from "${module}";`,
    )
    .replace(CALL, () => `fileDesc(${quoted(describe(file).text)}`)
}

/** Returns the text of a file, and its descriptor, which was created from the text and compared: a text cannot express everything. */
function describe(file: DescFile): Described {
  const known = described.get(file.name)
  if (known !== undefined) return known
  const text = JSON.stringify(compactFile(file))
  const imports = file.dependencies.map((imported) =>
    imported.name === 'google/protobuf/descriptor' ? imported : describe(imported).created,
  )
  const created = fileDesc(text, imports)
  described.set(file.name, { text, created })
  const [elements, expectedElements] = [elementsOf(created), elementsOf(file)]
  assert.equal(elements.length, expectedElements.length, `file-descriptors.ts cannot describe ${file}`)
  for (const [index, element] of expectedElements.entries()) {
    const [properties, expected] = comparableProperties(elements[index] as AnyDesc, element)
    assert.deepEqual(properties, expected, `file-descriptors.ts cannot describe ${element} of ${file}`)
  }
  return { text, created }
}

/** JSON has many double quotation marks. */
function quoted(json: string): string {
  return `'${json.replace(/[\\']/g, '\\$&')}'`
}

/** Describes a file as text. */
function compactFile(file: DescFile): CompactFile {
  return trimmed<CompactFile>([
    file.name,
    file.proto.package,
    file.messages.map((message) => compactMessage(message)),
    file.enums.map((one) => compactEnum(one)),
    file.services.map((service) => compactService(service)),
    file.extensions.map((extension): CompactExtension => {
      const type = compactTypeName(extension.extendee.typeName, file)
      return [type, ...compactField(extension, file)]
    }),
  ])
}

function compactMessage({ name, proto, deprecated, file, ...message }: DescMessage): CompactMessage {
  for (const oneof of message.oneofs)
    if (oneof.proto.options?.$unknown) throw new Error(`${oneof} has options, which options.ts does not read`)
  if (message.nestedExtensions.length > 0) throw new Error(`${message.typeName} has nested extensions`)
  return trimmed<CompactMessage>([
    name,
    message.fields.map((field) => compactField(field, file)),
    message.oneofs.map((oneof) => trimmed([oneof.name, unlessSame(oneof.localName, oneof.name)])),
    message.nestedMessages.map((nested) => compactMessage(nested)),
    message.nestedEnums.map((one) => compactEnum(one)),
    compactOptions(proto.options, MessageOptionsSchema),
    Number(deprecated),
  ])
}

function compactField(field: DescField | DescExtension, file: DescFile): CompactField {
  const { name, number, proto, deprecated } = field
  const isField = field.kind === 'field'
  return trimmed<CompactField>([
    name,
    number,
    typeOfField(field, file),
    isField ? unlessSame(field.localName, name) : 0,
    cardinalityOf(field),
    isField ? unlessSame(field.jsonName, field.localName) : 0,
    isField && field.oneof ? field.parent.oneofs.indexOf(field.oneof) + 1 : 0,
    compactOptions(proto.options, FieldOptionsSchema),
    Number(deprecated),
  ])
}

function typeOfField(field: DescField | DescExtension, file: DescFile): CompactField[2] {
  const named = field.message ?? field.enum
  const type = named === undefined ? (field.scalar as number) : compactTypeName(named.typeName, file)
  return field.fieldKind === 'map' ? [field.mapKey, type] : type
}

function cardinalityOf(field: DescField | DescExtension): number {
  if (field.fieldKind === 'list') return field.packed ? Cardinality.PACKED_LIST : Cardinality.LIST
  if (field.fieldKind === 'map') return Cardinality.MAP
  const isPlain = field.fieldKind === 'message' || field.kind === 'extension' || field.oneof !== undefined
  const isOptional = field.presence === FeatureSet_FieldPresence.EXPLICIT && !isPlain
  return isOptional ? Cardinality.OPTIONAL : Cardinality.IMPLICIT
}

function compactEnum({ name, sharedPrefix, values, proto, deprecated }: DescEnum): CompactEnum {
  return trimmed<CompactEnum>([
    name,
    sharedPrefix ?? '',
    values.map((value) =>
      trimmed([
        value.name,
        value.number,
        compactOptions(value.proto.options, EnumValueOptionsSchema),
        Number(value.deprecated),
      ]),
    ),
    compactOptions(proto.options, EnumOptionsSchema),
    Number(deprecated),
  ])
}

function compactService({ name, methods, proto, deprecated, file }: DescService): CompactService {
  return trimmed<CompactService>([
    name,
    methods.map((method) =>
      trimmed([
        method.name,
        compactTypeName(method.input.typeName, file),
        compactTypeName(method.output.typeName, file),
        methodKinds.indexOf(method.methodKind),
        compactOptions(method.proto.options, MethodOptionsSchema),
        Number(method.deprecated),
      ]),
    ),
    compactOptions(proto.options, ServiceOptionsSchema),
    Number(deprecated),
  ])
}

/** Returns the options that the schema defines. Those of protobuf are properties of descriptors, or only in `proto`. */
function compactOptions(options: Message | undefined, schema: DescMessage): CompactOptions {
  const numbers = new Set(options?.$unknown?.map(({ no }) => no))
  if (options === undefined || numbers.size === 0) return []
  return [...numbers].map((number) => {
    const option = registry.getExtensionFor(schema, number)
    if (option === undefined) throw new Error(`option ${number} of ${schema.typeName} is not imported`)
    if (option.fieldKind === 'list' && option.listKind === 'message')
      throw new Error(`${option} is a list of messages, which options.ts does not create`)
    return [number, withoutTypeNames(getExtension(options, option), option)] as const
  })
}

function withoutTypeNames(value: unknown, option: DescExtension): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutTypeNames(one, option))
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    const properties = Object.entries(value).filter(([name]) => name !== '$typeName')
    return Object.fromEntries(properties.map(([name, one]) => [name, withoutTypeNames(one, option)]))
  }
  if (value !== undefined && !['string', 'boolean'].includes(typeof value) && !Number.isFinite(value))
    throw new Error(`JSON cannot express a value of ${option}`)
  return value
}

/** Shortens names in the package of the file. */
function compactTypeName(typeName: string, file: DescFile): CompactTypeName {
  const start = `${file.proto.package}.`
  return typeName.startsWith(start) ? typeName.slice(start.length - 1) : typeName
}

/** Returns 0 if the name is the default. */
function unlessSame(name: string, usual: string): string | 0 {
  return name === usual ? 0 : name
}

/** Removes the values at the end that are the defaults. */
function trimmed<Text extends readonly unknown[]>(values: readonly unknown[]): Text {
  const isDefault = (value: unknown) =>
    value === undefined || value === 0 || value === '' || (Array.isArray(value) && value.length === 0)
  const length = values.findLastIndex((value) => !isDefault(value)) + 1
  return values.slice(0, length) as unknown as Text
}
