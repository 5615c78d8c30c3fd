import assert from 'node:assert/strict'
import test from 'node:test'
import {
  type AnyDesc,
  create,
  createFileRegistry,
  type DescFile,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { contractFiles, grpcStandardFiles } from './schema-files.ts'

/** All files of the schema, each after those that it imports. */
function filesInOrder(): readonly DescFile[] {
  const files = new Set<DescFile>()
  const add = (file: DescFile) => {
    if (files.has(file)) return
    file.dependencies.forEach(add)
    files.add(file)
  }
  for (const file of [...contractFiles, ...grpcStandardFiles]) add(file)
  return [...files]
}

const files = filesInOrder()

test('descriptors of the schema are those that protobuf-es creates', () => {
  const protos = files.map(({ proto }) =>
    fromBinary(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, proto)),
  )
  const library = createFileRegistry(create(FileDescriptorSetSchema, { file: protos }))
  let compared = 0
  // Files of google.protobuf come with protobuf-es.
  for (const file of files.filter(({ name }) => !name.startsWith('google/protobuf/'))) {
    const expected = library.getFile(`${file.name}.proto`)
    assert.ok(expected)
    compared += assertSame(file, expected)
  }
  assert.ok(compared > 4000, `${compared} elements`)
})

/** Compares all elements of a file; other elements to which they refer are compared by their names. */
function assertSame(file: DescFile, expected: DescFile): number {
  const elements = elementsOf(file)
  const expectedElements = elementsOf(expected)
  assert.deepEqual(elements.map(String), expectedElements.map(String))
  for (const [index, element] of elements.entries())
    assertSameProperties(element, expectedElements[index] as AnyDesc)
  return elements.length
}

function elementsOf(file: DescFile): readonly AnyDesc[] {
  const elements: AnyDesc[] = [file]
  for (const type of nestedTypes(file)) {
    elements.push(type)
    if (type.kind === 'message') elements.push(...type.fields, ...type.oneofs)
    if (type.kind === 'enum') elements.push(...type.values)
    if (type.kind === 'service') elements.push(...type.methods)
  }
  return elements
}

/** Elements may have properties of their own, or of their class. */
function assertSameProperties(element: AnyDesc, expected: AnyDesc): void {
  const names = [...new Set([...Object.keys(element), ...Object.keys(expected)])].filter(
    (name) => !ownProperties.has(name),
  )
  const shown = (of: AnyDesc) =>
    Object.fromEntries(
      names.map((name) => [name, shownValue((of as unknown as Record<string, unknown>)[name])]),
    )
  assert.deepEqual(shown(element), shown(expected), String(element))
  assert.deepEqual(element.proto, expected.proto, String(element))
}

/** `package` and `optionValues` are those of the schema alone; `proto` and the text of elements are compared beside. */
const ownProperties = new Set(['proto', 'toString', 'package', 'optionValues'])

/** Shows other elements as `kind name`. */
function shownValue(value: unknown): unknown {
  if (typeof value === 'function') return { returns: value() }
  if (Array.isArray(value)) return value.map(shownValue)
  if (typeof value !== 'object' || value === null) return value
  if ('kind' in value) return String(value)
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shownValue(one)]))
}

test('the message of a file is decoded once', () => {
  for (const file of files) assert.equal(file.proto, file.proto)
})
