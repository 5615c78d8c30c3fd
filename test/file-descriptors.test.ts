import assert from 'node:assert/strict'
import test from 'node:test'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { file_google_rpc_code } from '@berth/contract/gen/google/rpc/code_pb.js'
import { file_google_rpc_error_details } from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { file_google_rpc_status } from '@berth/contract/gen/google/rpc/status_pb.js'
import { getOption, hasOption } from '@berth/contract/options.ts'
import { contractFiles, grpcStandardFiles } from '@berth/contract/schema-files.ts'
import {
  type AnyDesc,
  create,
  createFileRegistry,
  type DescExtension,
  type DescFile,
  getOption as decodeOption,
  fromBinary,
  hasOption as hasDecodedOption,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { comparableProperties, elementsOf } from '../scripts/descriptor-properties.ts'

/** Descriptors of the schema, compared with those of protobuf-es (ADR 115). */

/** All files, each after those that it imports. */
function filesInOrder(): readonly DescFile[] {
  const files = new Set<DescFile>()
  const add = (file: DescFile) => {
    if (files.has(file)) return
    file.dependencies.forEach(add)
    files.add(file)
  }
  const errorFiles = [file_google_rpc_code, file_google_rpc_error_details, file_google_rpc_status]
  for (const file of [...contractFiles, ...grpcStandardFiles, ...errorFiles]) add(file)
  return [...files]
}

const files = filesInOrder()
// This file comes with protobuf-es.
const schemaFiles = files.filter(({ name }) => name !== 'google/protobuf/descriptor')
const elements = schemaFiles.flatMap(elementsOf)

test('descriptors of the schema are those that protobuf-es creates', () => {
  const protos = files.map(({ proto }) =>
    fromBinary(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, proto)),
  )
  const library = createFileRegistry(create(FileDescriptorSetSchema, { file: protos }))
  for (const file of schemaFiles) {
    const [own, expected] = [file, library.getFile(`${file.name}.proto`) as DescFile].map(elementsOf)
    assert.equal(own?.length, expected?.length)
    for (const [index, element] of (own ?? []).entries()) {
      const other = expected?.[index] as AnyDesc
      const [properties, expectedProperties] = comparableProperties(element, other)
      assert.deepEqual(properties, expectedProperties)
      assert.deepEqual(element.proto, other.proto, String(element))
    }
  }
  assert.ok(elements.length > 4000, `${elements.length} elements`)
})

test('the message of a file is decoded once', () => {
  for (const file of files) assert.equal(file.proto, file.proto)
})

/** Messages of options by the kind of their elements. */
const optionsOf: Readonly<Record<string, string>> = {
  file: 'FileOptions',
  message: 'MessageOptions',
  field: 'FieldOptions',
  extension: 'FieldOptions',
  oneof: 'OneofOptions',
  enum: 'EnumOptions',
  enum_value: 'EnumValueOptions',
  service: 'ServiceOptions',
  rpc: 'MethodOptions',
}

test('every option of every element has the value that protobuf-es decodes', () => {
  const options = elements.filter((element): element is DescExtension => element.kind === 'extension')
  let set = 0
  for (const element of elements)
    for (const option of options) {
      if (option.extendee.typeName !== `google.protobuf.${optionsOf[element.kind]}`) continue
      const isSet = hasDecodedOption(element as never, option)
      if (isSet) set++
      const message = `${element}: ${option}`
      assert.equal(hasOption(element as never, option), isSet, message)
      assert.deepEqual(getOption(element as never, option), decodeOption(element as never, option), message)
    }
  assert.ok(set > 3000, `${set} options`)
})

test('the message of an option is created once', () => {
  const method = elements.find((element) => element.kind === 'rpc' && hasOption(element, http))
  assert.ok(method?.kind === 'rpc')
  assert.equal(getOption(method, http), getOption(method, http))
})
