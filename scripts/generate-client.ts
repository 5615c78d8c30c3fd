import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { capabilityName, isGrantable } from '@berth/contract/capabilities.ts'
import { mcp } from '@berth/contract/gen/annotations/mcp_pb.js'
import { CapabilitySchema } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { FieldBehavior, field_behavior } from '@berth/contract/gen/google/api/field_behavior_pb.js'
import { currentFiles } from '@berth/contract/schema-files.ts'
import { isCreate, standardMethod } from '@berth/server/api/standard-methods.ts'
import { type Route, routesOf } from '@berth/server/gateway/rest/routes.ts'
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'

/**
 * `node scripts/generate-client.ts [directory]`: generates packages/client/src/generated/ from the schema: types.ts, the messages in their JSON
 * form, operations.ts, the table of methods with the types of their arguments, and capabilities.ts, what roles can have.
 */

const [, , directory = 'packages/client/src/generated'] = process.argv
const head = '// Generated from packages/contract/proto/ by scripts/generate-client.ts: do not edit.\n'

/** The package of version 1 has no version in its name, and has messages with the same names as later versions. */
const VERSION_1 = 'chainguard.platform.iam'

/** Requests have the fields that callers can set; responses have the fields that the API always writes. */
type Direction = 'request' | 'response'

const services = currentFiles.flatMap((file) => file.services)
const routes = routesOf(services)
/** Comments by full name, as `buf generate` wrote them. */
const comments = new Map<string, string>(
  Object.entries(JSON.parse(readFileSync('packages/contract/gen/comments.json', 'utf8'))),
)
/** Values of any type: google.protobuf.Value. */
const jsonValueSource = `/** Any JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }
`

const usesOf = { request: new Set<DescMessage>(), response: new Set<DescMessage>() }
for (const { input, output } of services.flatMap((service) => service.methods)) {
  collect('request', input)
  collect('response', output)
}
mkdirSync(directory, { recursive: true })
writeFileSync(join(directory, 'types.ts'), typesSource())
writeFileSync(join(directory, 'operations.ts'), operationsSource())
writeFileSync(join(directory, 'capabilities.ts'), capabilitiesSource())

// Messages and fields

function collect(direction: Direction, message: DescMessage): void {
  if (message.typeName.startsWith('google.protobuf.') || usesOf[direction].has(message)) return
  usesOf[direction].add(message)
  for (const field of fieldsOf(direction, message)) if (field.message) collect(direction, field.message)
}

/** Fields that only the server sets are omitted from requests. */
function fieldsOf(direction: Direction, message: DescMessage): DescField[] {
  return message.fields.filter(
    (field) => direction === 'response' || !behaves(field, FieldBehavior.OUTPUT_ONLY),
  )
}

function behaves(field: DescField, behavior: FieldBehavior): boolean {
  return getOption(field, field_behavior).includes(behavior)
}

function typesSource(): string {
  const blocks = new Map<string, string>()
  const add = (name: string, source: string) => {
    if (blocks.has(name)) throw new Error(`two types of the client have the name ${name}`)
    blocks.set(name, source)
  }
  add('JsonValue', jsonValueSource)
  const enums = new Set<NonNullable<DescField['enum']>>()
  for (const direction of ['request', 'response'] as const) {
    for (const message of usesOf[direction]) {
      add(nameIn(direction, message), interfaceSource(direction, message))
      for (const field of fieldsOf(direction, message)) if (field.enum) enums.add(field.enum)
    }
  }
  for (const desc of enums) {
    const name = localName(desc)
    const values = desc.values.map((value) => `  | '${value.name}'`).join('\n')
    add(name, `${doc(comments.get(desc.typeName))}export type ${name} =\n${values}\n`)
  }
  const sorted = [...blocks].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, source]) => source)
  return `${head}\n${sorted.join('\n')}`
}

function interfaceSource(direction: Direction, message: DescMessage): string {
  const name = nameIn(direction, message)
  const comment = doc(comments.get(message.typeName))
  const fields = fieldsOf(direction, message)
  if (fields.length === 0) return `${comment}export type ${name} = Readonly<Record<string, never>>\n`
  const members = fields.map((field) => memberSource(direction, message, field)).join('')
  return `${comment}export interface ${name} {\n${members}}\n`
}

function memberSource(direction: Direction, message: DescMessage, field: DescField): string {
  const type = typeIn(direction, field)
  const text = comments.get(`${message.typeName}.${field.name}`)
  const comment = doc(text, '  ', field.deprecated)
  const sure = direction === 'request' ? behaves(field, FieldBehavior.REQUIRED) : isAlwaysWritten(field)
  const absent = direction === 'request' ? `${type} | undefined` : type
  return `${comment}  readonly ${field.jsonName}${sure ? `: ${type}` : `?: ${absent}`}\n`
}

/** Fields without presence are always written, also with their default. */
function isAlwaysWritten(field: DescField): boolean {
  return field.oneof === undefined && field.presence === FeatureSet_FieldPresence.IMPLICIT
}

function typeIn(direction: Direction, field: DescField): string {
  switch (field.fieldKind) {
    case 'list':
      return `readonly ${bracketed(valueType(direction, field))}[]`
    case 'map':
      return `Readonly<Record<string, ${valueType(direction, field)}>>`
    default:
      return valueType(direction, field)
  }
}

function bracketed(type: string): string {
  return type.includes(' ') ? `(${type})` : type
}

/** Returns the type of the field, of a list element, or of a map value. */
function valueType(direction: Direction, field: DescField): string {
  if (field.message !== undefined) {
    const { typeName } = field.message
    if (!typeName.startsWith('google.protobuf.')) return nameIn(direction, field.message)
    const text = ['Timestamp', 'Duration', 'FieldMask'].map((name) => `google.protobuf.${name}`)
    if (text.includes(typeName)) return 'string'
    if (typeName === 'google.protobuf.Value') return 'JsonValue'
    throw new Error(`the client has no type for ${typeName}`)
  }
  if (field.enum !== undefined) return localName(field.enum)
  switch (field.scalar) {
    case ScalarType.BOOL:
      return 'boolean'
    case ScalarType.STRING:
    case ScalarType.BYTES:
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return 'string'
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return "number | 'NaN' | 'Infinity' | '-Infinity'"
    default:
      return 'number'
  }
}

/** A message has different names in requests and in responses. */
function nameIn(direction: Direction, message: DescMessage): string {
  const both = usesOf.request.has(message) && usesOf.response.has(message)
  return localName(message) + (direction === 'request' && both ? 'Input' : '')
}

/** `Identity.ClaimMatch` becomes IdentityClaimMatch; `Group` of version 1 becomes GroupV1. */
function localName({ typeName, file }: { typeName: string; file: DescMessage['file'] }): string {
  const name = typeName.slice(file.proto.package.length + 1).replaceAll('.', '')
  return file.proto.package === VERSION_1 ? `${name}V1` : name
}

// Methods

/** Returns the resource of a service: the one that it lists. A service that updates another one lists something of it. */
function resourceOf({ methods }: DescService): { readonly one: string; readonly many: string } | undefined {
  const list = methods.find((method) => standardMethod(method) === 'list')
  const one = list === undefined ? undefined : itemsOf(list).message?.name
  const update = methods.find((method) => standardMethod(method) === 'update')
  if (update !== undefined && update.output.name !== one) return undefined
  return list === undefined || one === undefined ? undefined : { one, many: list.name.slice('List'.length) }
}

function itemsOf({ output }: DescMethod): DescField {
  const items = output.fields.find((field) => field.fieldKind === 'list' && field.message !== undefined)
  if (items === undefined) throw new Error(`${output.typeName} lists nothing`)
  return items
}

/** `GroupsService` becomes `groups`. */
function memberOf({ name }: DescService): string {
  const short = name.replace(/Service$/, '')
  return short.charAt(0).toLowerCase() + short.slice(1)
}

/** `getGroup` of groups becomes `get`; methods for anything else keep their names. */
function shortName(method: DescMethod): string {
  const resource = resourceOf(method.parent)
  const verbs = ['Get', 'List', 'Create', 'Update', 'Delete', 'BatchCreate', 'BatchDelete']
  const verb = verbs.find(
    (one) => method.name === `${one}${resource?.one}` || method.name === `${one}${resource?.many}`,
  )
  return verb === undefined ? method.localName : verb.charAt(0).toLowerCase() + verb.slice(1)
}

function kindOf(method: DescMethod): 'get' | 'list' | 'create' | 'update' | 'delete' | 'request' {
  const kind = standardMethod(method)
  if (kind === 'batchCreate') return 'request'
  // Messages of policies are not marked as resources.
  if (kind === 'custom') return isCreate(method) && method.input.fields.length === 2 ? 'create' : 'request'
  return kind
}

function repeatOf(method: DescMethod): string {
  const verbs = routes.filter((route) => route.method === method).map((route) => route.httpMethod)
  if (isCreate(method)) return 'with-key'
  switch (standardMethod(method)) {
    case 'update':
      return 'with-match'
    default:
      // A method with a GET binding changes nothing, whatever other bindings it has.
      return verbs.includes('GET') || verbs.includes('DELETE') || getOption(method, mcp).idempotent
        ? 'always'
        : 'never'
  }
}

/** Returns the options of a method that has no standard arguments. Methods that change a resource can require its version. */
function optionsOf(method: DescMethod): string {
  if (repeatOf(method) === 'with-key') return 'CreateOptions'
  return getOption(method, mcp).readOnly ? 'CallOptions' : 'ChangeOptions'
}

/** The argument that fills the path, if it does not have the name of the field: policies have `id` and `parent_id`. */
function argumentOf(method: DescMethod): string | undefined {
  if (standardMethod(method) !== 'delete' && kindOf(method) !== 'create') return undefined
  const names: Readonly<Record<string, string>> = { id: 'uid', parent_id: 'parent' }
  const [scope] = method.input.fields
  return scope && names[scope.name]
}

/** Returns the first binding, with the JSON names of the variables: `{uid}`, `{parent?}`. */
function pathOf({ method, template }: Route): string {
  let text = template.text
  for (const { fieldPath } of template.variables) {
    const [field, inner] = fieldPath.map((name, index) => {
      const message =
        index === 0 ? method.input : method.input.fields.find((f) => f.name === fieldPath[0])?.message
      return message?.fields.find((candidate) => candidate.name === name)
    })
    const last = inner ?? field
    if (last === undefined) throw new Error(`${method} has no field ${fieldPath.join('.')}`)
    const sure = inner !== undefined || behaves(last, FieldBehavior.REQUIRED)
    const pattern = new RegExp(`\\{${fieldPath.join('\\.')}(=[^}]*)?\\}`)
    text = text.replace(pattern, `{${argumentOf(method) ?? last.jsonName}${sure ? '' : '?'}}`)
  }
  return text
}

function operationsSource(): string {
  const table = services.map((service) => {
    const entries = service.methods.map((method) => `    ${shortName(method)}: ${operationSource(method)},\n`)
    return `  ${memberOf(service)}: {\n${entries.join('')}  },\n`
  })
  const types = services.map((service) => {
    const members = service.methods.map(signatureSource)
    return `${doc(comments.get(service.typeName), '  ')}  readonly ${memberOf(service)}: {\n${members.join('')}  }\n`
  })
  return `${head}
import type { CallOptions, ChangeOptions, CreateOptions, Operation, Reply, UpdateOptions } from '../operation.ts'
import type * as types from './types.ts'

export const operations = {
${table.join('')}} as const satisfies Readonly<Record<string, Readonly<Record<string, Operation>>>>

export interface Services {
${types.join('')}}
`
}

function operationSource(method: DescMethod): string {
  const route = routes.find((candidate) => candidate.method === method)
  if (route === undefined) throw new Error(`${method} has no HTTP binding`)
  const kind = kindOf(method)
  const parts = [
    `kind: '${kind}'`,
    `verb: '${route.httpMethod}'`,
    `path: '${pathOf(route)}'`,
    ...(kind === 'request' && route.body === '*' ? ['body: true'] : []),
    ...(kind === 'list' ? [`items: '${itemsOf(method).jsonName}'`] : []),
    `repeat: '${repeatOf(method)}'`,
  ]
  return `{ ${parts.join(', ')} }`
}

function signatureSource(method: DescMethod): string {
  const comment = doc(comments.get(`${method.parent.typeName}.${method.name}`), '    ')
  const name = shortName(method)
  const { input, output } = method
  const response =
    output.typeName === 'google.protobuf.Empty' ? 'void' : `types.${nameIn('response', output)}`
  const line = (args: string) => `${comment}    ${name}(${args}): Reply<${response}>\n`
  const isEmpty = input.typeName === 'google.protobuf.Empty'
  const request = isEmpty ? 'Readonly<Record<string, never>>' : `types.${nameIn('request', input)}`
  const optional = fieldsOf('request', input).some((field) => behaves(field, FieldBehavior.REQUIRED))
    ? ''
    : '?'
  const body = () => {
    const field = input.fields.find(
      (candidate) => candidate.message !== undefined && candidate.name !== 'update_mask',
    )
    if (field?.message === undefined) throw new Error(`${method} has no body`)
    return { name: field.jsonName, type: `types.${nameIn('request', field.message)}` }
  }
  switch (kindOf(method)) {
    case 'get':
      return line('uid: string, options?: CallOptions')
    case 'delete':
      return line('uid: string, options?: ChangeOptions')
    case 'create':
      return line(`parent: string, ${body().name}: ${body().type}, options?: CreateOptions`)
    case 'update':
      return line(`uid: string, patch: Partial<${body().type}>, options?: UpdateOptions`)
    case 'list': {
      const item = itemsOf(method).message
      if (item === undefined) throw new Error(`${method} lists no messages`)
      return (
        line(`request?: ${request}, options?: CallOptions`) +
        '    /** The same without the pages: they are fetched one after the other as the loop comes to them. */\n' +
        `    ${name.replace('list', 'all')}(request?: Omit<${request}, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.${nameIn('response', item)}, void>\n`
      )
    }
    case 'request': {
      const options = optionsOf(method)
      return line(`request${optional}: ${request}, options?: ${options}`)
    }
  }
}

// Capabilities

/** Capabilities that roles of organizations can have and that have an effect, in the order of the schema. */
function capabilitiesSource(): string {
  const entries = CapabilitySchema.values
    .filter((value) => isGrantable(value.number) && !value.deprecated)
    .map((value) => {
      const description = comments.get(`${CapabilitySchema.typeName}.${value.name}`)?.trim() ?? ''
      const fields = { wire: value.name, name: capabilityName(value.number) ?? '', description }
      return `  {\n${Object.entries(fields)
        .map(([key, text]) => `    ${key}: '${text.replaceAll("'", "\\'").replaceAll('\n', ' ')}',\n`)
        .join('')}  },\n`
    })
  return `${head}
/** Capabilities that a role can have: the value in messages, the short name, and what it permits. */
export const capabilities = [
${entries.join('')}] as const
`
}

// Comments

function doc(text: string | undefined, indent = '', deprecated = false): string {
  const lines = (text ?? '').trim().replaceAll('*/', '* /').split('\n')
  if (deprecated) lines.push('@deprecated')
  if (lines.join('') === '') return ''
  if (lines.length === 1) return `${indent}/** ${lines[0]?.trim()} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line.trim()}`.trimEnd()).join('\n')}\n${indent} */\n`
}
