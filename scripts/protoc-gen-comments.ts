import { readFileSync, writeSync } from 'node:fs'
import {
  create,
  createFileRegistry,
  type DescEnum,
  type DescMessage,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf'

import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
  type SourceCodeInfo_Location,
} from '@bufbuild/protobuf/wkt'

/**
 * A plugin of `buf generate` that writes packages/contract/gen/comments.json: the comment of every element of our schema, by full name. The
 * generated JavaScript does not contain them; the API reference needs them at run time, and the client generator at build time.
 */

const request = fromBinary(CodeGeneratorRequestSchema, readFileSync(0))
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: request.protoFile }))
const comments: Record<string, string> = {}

for (const name of request.fileToGenerate) {
  const file = registry.getFile(name)
  // Google's files have their own documentation.
  if (file === undefined || file.proto.package.startsWith('google.')) continue
  const locations = file.proto.sourceCodeInfo?.location ?? []
  const byPath = new Map(locations.map((location) => [location.path.join('.'), location]))
  const note = (name: string, path: readonly number[]) => {
    const text = textOf(byPath.get(path.join('.')))
    if (text !== '') comments[name] = text
  }

  // Field numbers of google/protobuf/descriptor.proto.
  const noteEnum = (desc: DescEnum, path: readonly number[]) => {
    note(desc.typeName, path)
    for (const [index, value] of desc.values.entries())
      note(`${desc.typeName}.${value.name}`, [...path, 2, index])
  }
  const noteMessage = (desc: DescMessage, path: readonly number[]) => {
    note(desc.typeName, path)
    for (const [index, field] of desc.fields.entries())
      note(`${desc.typeName}.${field.name}`, [...path, 2, index])
    for (const [index, oneof] of desc.oneofs.entries())
      note(`${desc.typeName}.${oneof.name}`, [...path, 8, index])
    for (const nested of desc.nestedMessages)
      noteMessage(nested, [...path, 3, desc.proto.nestedType.indexOf(nested.proto)])
    for (const [index, nested] of desc.nestedEnums.entries()) noteEnum(nested, [...path, 4, index])
  }
  for (const [index, desc] of file.messages.entries()) noteMessage(desc, [4, index])
  for (const [index, desc] of file.enums.entries()) noteEnum(desc, [5, index])
  for (const [index, service] of file.services.entries()) {
    note(service.typeName, [6, index])
    for (const [at, method] of service.methods.entries())
      note(`${service.typeName}.${method.name}`, [6, index, 2, at])
  }
}

const names = Object.keys(comments).sort()
const content = `${JSON.stringify(Object.fromEntries(names.map((name) => [name, comments[name]])), null, 1)}\n`
const response = create(CodeGeneratorResponseSchema, {
  supportedFeatures: BigInt(CodeGeneratorResponse_Feature.PROTO3_OPTIONAL),
  file: names.length === 0 ? [] : [{ name: 'comments.json', content }],
})
writeSync(1, toBinary(CodeGeneratorResponseSchema, response))

/** Returns the comment above an element, with its line breaks. */
function textOf(location: SourceCodeInfo_Location | undefined): string {
  const lines = (location?.leadingComments ?? '').split('\n').map((line) => line.trim())
  return lines.join('\n').trim()
}
