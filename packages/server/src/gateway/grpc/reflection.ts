import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponseSchema,
} from '@berth/contract/gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as ServerReflectionAlpha } from '@berth/contract/gen/grpc/reflection/v1alpha/reflection_pb.js'
import {
  create,
  type DescEnum,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { ApiError, Code } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import type { StreamingMethod } from './streaming.ts'

/** https://github.com/grpc/grpc/blob/master/doc/server-reflection.md */

/**
 * grpc.reflection.v1 and v1alpha, whose messages are the same on the wire. Answers from the files given and all that
 * they import; `serviceNames` is what `list_services` says.
 */
export function createReflectionMethods(
  files: readonly DescFile[],
  serviceNames: readonly string[],
): readonly StreamingMethod[] {
  let index: Index | undefined
  const encoded = encodedFiles()
  return [ServerReflection.method, ServerReflectionAlpha.method].map(
    ({ serverReflectionInfo: method }: { serverReflectionInfo: DescMethod }): StreamingMethod => ({
      method,
      longLived: true,
      open(call) {
        const sent = new Set<DescFile>()
        let requests = 0
        return {
          message(message) {
            requests += 1
            if (requests > limits.reflectionRequestsMax) return call.fail(tooManyRequests())
            // Most servers are never asked, and those that are started long ago.
            index ??= indexOf(files)
            const request = message as ServerReflectionRequest
            const output = method.output as typeof ServerReflectionResponseSchema
            const { host: validHost } = request
            const messageResponse = respond({ index, serviceNames, encoded, sent }, request)
            call.send(create(output, { validHost, originalRequest: request, messageResponse }))
          },
          halfClosed: () => call.end(),
        }
      },
    }),
  )
}

/** The bytes of each file, made once. */
function encodedFiles(): (file: DescFile) => Uint8Array {
  const cache = new Map<DescFile, Uint8Array>()
  return (file) => {
    const bytes = cache.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto)
    cache.set(file, bytes)
    return bytes
  }
}

function tooManyRequests(): ApiError {
  const description = `a reflection stream takes at most ${limits.reflectionRequestsMax} requests; open another one`
  return new ApiError(Code.RESOURCE_EXHAUSTED, `Resource exhausted: ${description}`)
}

interface ReflectionState {
  readonly index: Index
  readonly serviceNames: readonly string[]
  readonly encoded: (file: DescFile) => Uint8Array
  /** Files that the client of this stream has already: imports are sent once. */
  readonly sent: Set<DescFile>
}

type ReflectionResponse = NonNullable<
  MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']
>

function respond(known: ReflectionState, request: ServerReflectionRequest): ReflectionResponse {
  const { index, serviceNames } = known
  const { case: kind, value } = request.messageRequest
  switch (kind) {
    case 'listServices':
      return { case: 'listServicesResponse', value: { service: serviceNames.map((name) => ({ name })) } }
    case 'fileByFilename':
      return fileResponse(known, index.files.get(value), value)
    case 'fileContainingSymbol':
      return fileResponse(known, index.symbols.get(value), value)
    case 'fileContainingExtension': {
      const file = index.extensions.get(value.containingType)?.get(value.extensionNumber)
      return fileResponse(known, file, `${value.containingType} extension ${value.extensionNumber}`)
    }
    case 'allExtensionNumbersOfType': {
      if (!index.messages.has(value)) return notFound(value)
      const extensionNumber = [...(index.extensions.get(value)?.keys() ?? [])]
      return { case: 'allExtensionNumbersResponse', value: { baseTypeName: value, extensionNumber } }
    }
    default:
      return {
        case: 'errorResponse',
        value: { errorCode: Code.INVALID_ARGUMENT, errorMessage: 'the request has no query' },
      }
  }
}

/** The file, and what it imports as far as the client does not have it. */
function fileResponse(
  { encoded, sent }: ReflectionState,
  file: DescFile | undefined,
  asked: string,
): ReflectionResponse {
  if (file === undefined) return notFound(asked)
  const files = [...withImports([file])].filter((one) => one === file || !sent.has(one))
  for (const one of files) sent.add(one)
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto: files.map(encoded) } }
}

function notFound(asked: string): ReflectionResponse {
  return {
    case: 'errorResponse',
    value: { errorCode: Code.NOT_FOUND, errorMessage: `${asked} is not known` },
  }
}

interface Index {
  readonly files: ReadonlyMap<string, DescFile>
  /** The file that declares a full name: messages, fields, oneofs, enums, their values, services, methods, extensions. */
  readonly symbols: ReadonlyMap<string, DescFile>
  readonly messages: ReadonlySet<string>
  /** By the full name of the extended message, then by field number. */
  readonly extensions: ReadonlyMap<string, ReadonlyMap<number, DescFile>>
}

/** The files and all they import, directly or not; what was given comes first. */
function withImports(files: readonly DescFile[]): ReadonlySet<DescFile> {
  const all = new Set(files)
  // A set being iterated also visits what is added meanwhile.
  for (const file of all) for (const dependency of file.dependencies) all.add(dependency)
  return all
}

function indexOf(roots: readonly DescFile[]): Index {
  const files = new Map<string, DescFile>()
  const symbols = new Map<string, DescFile>()
  const messages = new Set<string>()
  const extensions = new Map<string, Map<number, DescFile>>()

  const addEnum = (desc: DescEnum) => {
    symbols.set(desc.typeName, desc.file)
    // The values of an enum are its siblings, as in C++.
    const scope = desc.typeName.slice(0, desc.typeName.lastIndexOf('.') + 1)
    for (const value of desc.values) symbols.set(`${scope}${value.name}`, desc.file)
  }
  const addExtension = (desc: DescExtension) => {
    symbols.set(desc.typeName, desc.file)
    const numbers = extensions.get(desc.extendee.typeName) ?? new Map<number, DescFile>()
    extensions.set(desc.extendee.typeName, numbers.set(desc.number, desc.file))
  }
  const addMessage = (desc: DescMessage) => {
    symbols.set(desc.typeName, desc.file)
    messages.add(desc.typeName)
    for (const { name } of desc.fields) symbols.set(`${desc.typeName}.${name}`, desc.file)
    for (const { name } of desc.oneofs) symbols.set(`${desc.typeName}.${name}`, desc.file)
    desc.nestedMessages.forEach(addMessage)
    desc.nestedEnums.forEach(addEnum)
    desc.nestedExtensions.forEach(addExtension)
  }
  for (const file of withImports(roots)) {
    files.set(file.proto.name, file)
    file.messages.forEach(addMessage)
    file.enums.forEach(addEnum)
    file.extensions.forEach(addExtension)
    for (const service of file.services) {
      symbols.set(service.typeName, file)
      for (const { name } of service.methods) symbols.set(`${service.typeName}.${name}`, file)
    }
  }
  return { files, symbols, messages, extensions }
}
