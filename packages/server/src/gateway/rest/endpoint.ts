import { iam } from '@berth/contract/gen/annotations/auth_pb.js'
import { getOption } from '@berth/contract/options.ts'
import { create, type DescField, type DescMessage, type DescMethod, type Message } from '@bufbuild/protobuf'
import { returnsEtag, standardMethod } from '../../api/standard-methods.ts'
import { createListWriter, type ListWriter } from '../json/list-writer.ts'
import {
  createJsonListReader,
  createJsonReader,
  type JsonBody,
  type ParsedJson,
  parseJsonBody,
  pickMasked,
  presentPaths,
} from '../json/reader.ts'
import { createJsonWriter, type Dialect, type JsonWriter } from '../json/writer.ts'
import { createQueryReader, readValue, setFieldAt } from './query-reader.ts'
import type { Route } from './routes.ts'

/** The parts of an HTTP request that a message is made of. */
export interface RequestParts {
  /** Of the path's variables, in the order of the template. */
  readonly values: readonly string[]
  /** Without the `?`; empty when there is none. */
  readonly query: string
  /** Absent where it was not to be read. Long JSON is parsed already. */
  readonly body: Uint8Array | ParsedJson | undefined
}

export interface DecodedRequest {
  readonly message: Message
  /** The body as parsed, where it was JSON that is not empty. */
  readonly json: unknown
}

/** A compiled route: from the parts of a request to its message, and from the reply to text. */
export interface Endpoint {
  readonly method: DescMethod
  /** Index of the path's variable that is the scope; undefined if none is. */
  readonly scopeIndex: number | undefined
  readonly readsBody: (contentType: string | undefined) => boolean
  /** Path over body over query. Throws an ApiError with code 3. */
  readonly decode: (parts: RequestParts) => DecodedRequest
  /** Type of the body; undefined when the route has none. */
  readonly body: DescMessage | undefined
  /** Undefined when the reply is google.protobuf.Empty, which is sent as no bytes at all; version 1 sends `{}`. */
  readonly write: JsonWriter | undefined
  /** Writes a reply that comes in parts. */
  readonly writeParts: ListWriter | undefined
  /** The reply is one resource as it is now, which has an entity tag; `isGet`: asked for by a plain Get. */
  readonly hasEtag: boolean
  readonly isGet: boolean
}

interface BodyRead {
  /** A message, or a list of them. */
  readonly value: unknown
  readonly json: unknown
}

const emptyBody: BodyRead = { value: undefined, json: undefined }

/**
 * `scopePath`: where the request has its scope, as names of fields. Throws an Error when the route does not fit its request type: a
 * mistake in a schema, found by a test of all routes.
 */
export function compileEndpoint(
  route: Route,
  dialect: Dialect = 'current',
  scopePath: readonly string[] = [],
): Endpoint {
  const { method, template } = route
  const input = method.input
  const bodyField = route.body === '' || route.body === '*' ? undefined : fieldAt(input, route.body)
  const body = route.body === '*' ? input : bodyField?.message
  if (route.body !== '' && body === undefined)
    throw new Error(`${method} has a body that is no message: ${route.body}`)
  const read = body === undefined ? undefined : bodyReader(body, bodyField, dialect)
  const variables = template.variables.map(({ fieldPath }) => fieldsAt(input, fieldPath))
  const bound = [
    ...template.variables.map(({ fieldPath }) => fieldPath.join('.')),
    ...(route.body === '' ? [] : [route.body]),
  ]
  // Clients of open methods, such as the token exchange, send more than the method knows.
  const isOpen = getOption(method, iam).mode.case === 'disabled'
  const readQuery = createQueryReader(input, bound, dialect === 'current' && !isOpen ? 'rejected' : 'ignored')
  const acceptsForm = route.httpMethod === 'POST' || (dialect === 'version 1' && route.httpMethod === 'GET')
  const readsForm = body === undefined && readQuery !== undefined && acceptsForm
  const maskField = route.httpMethod === 'PATCH' && bodyField !== undefined ? updateMaskOf(input) : undefined

  /** The body of an update, without the members that its mask does not name. */
  const masked = (bytes: JsonBody, query: string): JsonBody => {
    if (maskField === undefined || readQuery === undefined || query === '') return bytes
    const parameters = create(input)
    readQuery(parameters, [query])
    const { paths = [] } = ((parameters as Fields)[maskField.localName] ?? {}) as { paths?: string[] }
    if (paths.length === 0 || paths.includes('*')) return bytes
    return { json: pickMasked(body!, parseJsonBody(bytes), paths) }
  }

  const decode = ({ values, query, body: bytes }: RequestParts): DecodedRequest => {
    const given = read === undefined ? emptyBody : read(masked(bytes ?? '', query))
    const message = bodyField === undefined && read !== undefined ? (given.value as Message) : create(input)
    if (bodyField?.fieldKind === 'list') (message as Fields)[bodyField.localName] = given.value
    else if (bodyField !== undefined) setFieldAt(message, [bodyField], given.value, '')
    for (let index = 0; index < variables.length; index++) {
      const fields = variables[index]!
      const last = fields.at(-1)!
      setFieldAt(message, fields, readValue(last, values[index] ?? '', last.jsonName), last.jsonName)
    }
    if (readQuery !== undefined) {
      if (readsForm && bytes instanceof Uint8Array)
        readQuery(message, [query, Buffer.from(bytes).toString('utf8')])
      else if (query !== '') readQuery(message, [query])
    }
    if (maskField !== undefined && (message as Fields)[maskField.localName] === undefined) {
      // The mask is what the body contains; an empty body changes nothing, which an empty mask cannot express.
      const paths = presentPaths(body!, given.json)
      if (paths.length > 0) {
        const mask = Object.assign(create(maskField.message!), { paths })
        setFieldAt(message, [maskField], mask, '')
      }
    }
    return { message, json: given.json }
  }

  const scope = variables.findIndex(
    (fields) => fields.map(({ localName }) => localName).join('.') === scopePath.join('.'),
  )
  return {
    method,
    scopeIndex: scope < 0 ? undefined : scope,
    readsBody: (contentType) => body !== undefined || (readsForm && isForm(contentType)),
    decode,
    body,
    write:
      method.output.typeName === 'google.protobuf.Empty' && dialect === 'current'
        ? undefined
        : createJsonWriter(method.output, dialect),
    writeParts: createListWriter(method.output, dialect),
    hasEtag: returnsEtag(method),
    isGet: standardMethod(method) === 'get',
  }
}

type Fields = Message & Record<string, unknown>

function bodyReader(
  body: DescMessage,
  field: DescField | undefined,
  dialect: Dialect,
): (bytes: JsonBody) => BodyRead {
  const unknown = dialect === 'version 1' ? 'ignored' : 'rejected'
  if (field?.fieldKind === 'list') {
    const readList = createJsonListReader(field, unknown)
    return (bytes) => {
      const { messages, json } = readList(bytes)
      return { value: messages, json }
    }
  }
  const read = createJsonReader(body, unknown)
  return (bytes) => {
    const { message, json } = read(bytes)
    return { value: message, json }
  }
}

function updateMaskOf(input: DescMessage): DescField | undefined {
  const field = input.fields.find(({ name }) => name === 'update_mask')
  return field?.message?.typeName === 'google.protobuf.FieldMask' ? field : undefined
}

function fieldAt(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((candidate) => candidate.name === name)
  if (field === undefined) throw new Error(`${desc.typeName} has no field ${name}, which its route names`)
  return field
}

function fieldsAt(desc: DescMessage, path: readonly string[]): DescField[] {
  const fields: DescField[] = []
  let at: DescMessage | undefined = desc
  for (const name of path) {
    if (at === undefined)
      throw new Error(`${desc.typeName} has no field ${path.join('.')}, which its route names`)
    const field: DescField = fieldAt(at, name)
    fields.push(field)
    at = field.fieldKind === 'message' ? field.message : undefined
  }
  const last = fields.at(-1)
  if (last?.fieldKind !== 'scalar' && last?.fieldKind !== 'enum') {
    throw new Error(`${desc.typeName}.${path.join('.')} is no single value, so no path can fill it`)
  }
  return fields
}

export function isForm(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)
}
