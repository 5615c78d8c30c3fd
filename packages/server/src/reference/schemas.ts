import { FieldBehavior, field_behavior } from '@berth/contract/gen/google/api/field_behavior_pb.js'
import { resource } from '@berth/contract/gen/google/api/resource_pb.js'
import { UIDPFilterSchema } from '@berth/contract/gen/platform/common/v1/uidp.platform_pb.js'
import { jsonOnlyFields } from '@berth/contract/json-only-fields.ts'
import { getOption, hasOption } from '@berth/contract/options.ts'
import { isV1 } from '@berth/contract/schema-files.ts'
import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import { isLeafMessage } from '../api/field-mask.ts'
import { limits } from '../config/limits.ts'
import type { Comments } from './comments.ts'

/** A schema of JSON Schema 2020-12, as in OpenAPI 3.1; only the keywords that are used here. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly format?: string
  readonly pattern?: string
  readonly contentEncoding?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly maxProperties?: number
  readonly propertyNames?: Schema
  readonly allOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly readOnly?: boolean
  readonly writeOnly?: boolean
  readonly deprecated?: boolean
}

/**
 * The use of a message. A response has every member that JSON always shows; a caller sends only the members that the schema marks as
 * required; an entry of a batch omits what the batch sets for all, and an update sends only changes.
 */
export type Use = 'response' | 'create' | 'entry' | 'update'

/** The schemas of messages and enums, which become components when they are first referenced. */
export interface SchemaComponents {
  /** A reference to the schema of a message, without the fields of these proto names. */
  readonly message: (desc: DescMessage, use: Use, except?: readonly string[]) => Schema
  /** The schema of one value of a field, also of a repeated field, without a description. */
  readonly value: (field: DescField, use: Use) => Schema
  /** The comment of a field, with names as in REST. */
  readonly describe: (field: DescField) => string
  /** Every schema so far, by the last segment of references to it. */
  readonly components: () => Readonly<Record<string, Schema>>
}

/** A uid of a stored resource. */
const UID_PATTERN = '^[0-9a-f]{40}(/[0-9a-f]{16})*$'
/** A uid, or nothing. */
const OPTIONAL_UID_PATTERN = '^([0-9a-f]{40}(/[0-9a-f]{16})*)?$'
/** `/` means the roots. */
const CHILDREN_OF_PATTERN = '^(/|[0-9a-f]{40}(/[0-9a-f]{16})*)?$'
/** Responses have times in UTC with three digits of a second. */
const TIME_PATTERN = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$'
const DURATION_PATTERN = '^-?\\d+(\\.\\d{1,9})?s$'
const INTEGER_PATTERN = '^-?\\d+$'
const UNSIGNED_PATTERN = '^\\d+$'

const suffixes: Readonly<Record<Use, string>> = {
  response: '',
  create: 'Input',
  entry: 'Entry',
  update: 'Update',
}

/** `withRestNames` replaces the names in a text by their spelling in REST. Throws an Error for a type without JSON here, such as Any. */
export function createSchemaComponents(
  comments: Comments,
  withRestNames: (text: string) => string,
): SchemaComponents {
  const components = new Map<string, Schema>()
  /** The type that has a component name: short names omit the package unless two types would share one. */
  const owners = new Map<string, DescMessage | DescEnum>()

  const nameOf = (desc: DescMessage | DescEnum, suffix: string): string => {
    const own = desc.typeName.slice(desc.file.proto.package.length + 1)
    const short = own.endsWith('Request') ? own : own + suffix
    const owner = owners.get(short)
    if (owner !== undefined && owner !== desc) return desc.typeName + suffix
    owners.set(short, desc)
    return short
  }

  const component = (name: string, make: () => Schema): Schema => {
    if (!components.has(name)) {
      // Before it is built, because a type may contain itself.
      components.set(name, {})
      components.set(name, make())
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  const message = (desc: DescMessage, use: Use, except: readonly string[] = []): Schema => {
    if (isLeafMessage(desc)) return wellKnown(desc, use)
    if (desc.typeName.startsWith('google.protobuf.') && desc.fields.length > 0)
      throw new Error(`${desc.typeName} has no schema`)
    // An update or an entry is a separate type only where a create has required members.
    const kind = (use === 'update' || use === 'entry') && !hasRequiredFields(desc) ? 'create' : use
    return component(nameOf(desc, suffixes[kind]), () => object(desc, kind, except))
  }

  const object = (desc: DescMessage, use: Use, except: readonly string[]): Schema => {
    const fields = desc.fields
      .filter(({ name }) => !except.includes(name))
      .filter((field) => use !== 'response' || isInResponses(field))
    const isOld = isV1(desc)
    const needed = fields.filter((field) =>
      isOld && use === 'response' ? isAlwaysWritten(field) : isRequired(field, use),
    )
    return {
      type: 'object',
      description: [withRestNames(comments.of(desc)), ...choices(desc)].join('\n\n'),
      properties: Object.fromEntries([
        ...fields.map((field) => [field.jsonName, property(field, isBatch(field) ? 'entry' : use)] as const),
        ...(isOld && use === 'response' ? jsonOnlyProperties(desc) : []),
      ]),
      ...(needed.length === 0 ? {} : { required: needed.map(({ jsonName }) => jsonName) }),
      ...(isOld && use !== 'response' ? {} : { additionalProperties: false }),
    }
  }

  const choices = ({ oneofs }: DescMessage) =>
    oneofs.map((oneof) => {
      const names = oneof.fields.map(({ jsonName }) => `\`${jsonName}\``).join(', ')
      return `At most one of ${names}: ${withRestNames(comments.of(oneof))}`
    })

  const describe = (field: DescField) => {
    const fixed = hasBehavior(field, FieldBehavior.IMMUTABLE) ? ' It cannot change after creation.' : ''
    return withRestNames(comments.of(field)) + fixed
  }

  const property = (field: DescField, use: Use): Schema => {
    const own = whole(field, use)
    const schema = isNullable(field, use) ? withNull(own) : own
    const isSecret = isWriteOnly(field)
    return {
      ...schema,
      ...(use === 'response' && isSecret ? { maxLength: 0 } : {}),
      description: describe(field) + (use === 'response' && isSecret ? ' Always empty in a response.' : ''),
      ...(use !== 'response' && hasBehavior(field, FieldBehavior.OUTPUT_ONLY) ? { readOnly: true } : {}),
      ...(use !== 'response' && isSecret ? { writeOnly: true } : {}),
      ...(field.deprecated ? { deprecated: true } : {}),
    }
  }

  const whole = (field: DescField, use: Use): Schema => {
    if (field.fieldKind === 'list') return { type: 'array', items: value(field, use) }
    if (field.fieldKind !== 'map') return value(field, use)
    const isText = field.mapKey === ScalarType.STRING
    return {
      type: 'object',
      ...(isText ? {} : { propertyNames: { pattern: mapKeyPattern(field.mapKey) } }),
      additionalProperties: value(field, use),
    }
  }

  const value = (field: DescField, use: Use): Schema => {
    if (field.message !== undefined) return message(field.message, use)
    if (field.enum !== undefined) return enumeration(field.enum)
    const schema = scalar(field.scalar ?? ScalarType.STRING)
    return use === 'response'
      ? { ...schema, ...uidPattern(field, use) }
      : { ...schema, ...rulesOf(field, comments.of(field)) }
  }

  const enumeration = (desc: DescEnum): Schema =>
    component(nameOf(desc, ''), () => ({
      type: 'string',
      description: [
        withRestNames(comments.of(desc)),
        desc.values.map((one) => `- \`${one.name}\`: ${withRestNames(comments.ofValue(one))}`).join('\n'),
      ].join('\n\n'),
      enum: desc.values.map(({ name }) => name),
    }))

  return { message, value, describe, components: () => Object.fromEntries(components) }
}

/** Whether version 1 always writes a field. */
function isAlwaysWritten({ fieldKind, oneof, presence }: DescField): boolean {
  return oneof === undefined && (fieldKind === 'message' || presence === FeatureSet_FieldPresence.IMPLICIT)
}

/** Whether version 1 writes null for a message that is not set, or a request may have null for what it does not set. */
function isNullable(field: DescField, use: Use): boolean {
  const { fieldKind, oneof, parent } = field
  if (use !== 'response') return !isRequired(field, use)
  return fieldKind === 'message' && oneof === undefined && isV1(parent)
}

function withNull(schema: Schema): Schema {
  return typeof schema.type === 'string'
    ? { ...schema, type: [schema.type, 'null'] }
    : { oneOf: [schema, { type: 'null' }] }
}

/** The members that REST shows besides the fields. */
function jsonOnlyProperties({ typeName }: DescMessage): (readonly [string, Schema])[] {
  return Object.entries(jsonOnlyFields[typeName] ?? {}).map(([name, kind]) => {
    const schema: Schema =
      kind === 'string'
        ? scalar(ScalarType.STRING)
        : { oneOf: [wellKnown({ typeName: kind }, 'response'), { type: 'null' }] }
    return [name, { ...schema, description: jsonOnlyDescriptions[name] ?? '' }]
  })
}

const jsonOnlyDescriptions: Readonly<Record<string, string>> = {
  id: 'The same as `group`.',
  createdAt: 'When it was created.',
  updatedAt: 'When it was last changed.',
}

/** Constraints of a value beyond its type: from its comment, and from fields of the same name. */
function rulesOf(field: DescField, comment: string): Schema {
  // A larger page size means the maximum.
  if (field.name === 'page_size') return { minimum: 0, default: limits.pageSizeDefault }
  if (field.name === 'skip') return { minimum: 0, default: 0 }
  if (field.scalar !== ScalarType.STRING) return {}
  const uid = uidPattern(field, 'create')
  if (uid.pattern !== undefined) return uid
  const [, pattern] = / matching `(\^[^`]+\$)`/.exec(comment) ?? []
  const [, most] = / at most (\d+) characters/.exec(comment) ?? []
  if (pattern !== undefined) return { pattern, maxLength: limits.nameCharsMax }
  return most === undefined ? {} : { maxLength: Number(most) }
}

/** The pattern of a field that has a uid; an optional one may be empty. The parent of a group may also be given by name. */
function uidPattern(field: DescField, use: Use): Pick<Schema, 'pattern'> {
  const { name, parent } = field
  if (field.scalar !== ScalarType.STRING || isV1(parent)) return {}
  if (isOwnUid(field)) return { pattern: UID_PATTERN }
  if (parent === UIDPFilterSchema && name === 'children_of') return { pattern: CHILDREN_OF_PATTERN }
  const isFilter = parent === UIDPFilterSchema && uidFilters.has(name)
  const isReference = name === 'uid' || name.endsWith('_uid') || isFilter
  if (!hasBehavior(field, FieldBehavior.REQUIRED)) return isReference ? { pattern: OPTIONAL_UID_PATTERN } : {}
  const isRequestOnly = use !== 'response' && (name === 'parent' || name === 'default_role')
  return isReference || isRequestOnly ? { pattern: UID_PATTERN } : {}
}

/** Parts of `uidp` that are only uids. */
const uidFilters: ReadonlySet<string> = new Set(['ancestors_of', 'descendants_of', 'ids'])

function wellKnown({ typeName }: Pick<DescMessage, 'typeName'>, use: Use): Schema {
  switch (typeName) {
    case 'google.protobuf.Timestamp':
      return { type: 'string', format: 'date-time', ...(use === 'response' ? { pattern: TIME_PATTERN } : {}) }
    case 'google.protobuf.Duration':
      return { type: 'string', pattern: DURATION_PATTERN }
    case 'google.protobuf.FieldMask':
      return { type: 'string' }
    case 'google.protobuf.Value':
      return {}
    default:
      throw new Error(`${typeName} has no schema`)
  }
}

function scalar(type: ScalarType): Schema {
  switch (type) {
    case ScalarType.STRING:
      return { type: 'string' }
    case ScalarType.BOOL:
      return { type: 'boolean' }
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' }
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: 'string', format: 'int64', pattern: INTEGER_PATTERN }
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: 'string', format: 'uint64', pattern: UNSIGNED_PATTERN }
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: 'integer', format: 'int64', minimum: 0, maximum: 2 ** 32 - 1 }
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { oneOf: [{ type: 'number' }, { enum: ['NaN', 'Infinity', '-Infinity'] }] }
    default:
      return { type: 'integer', format: 'int32' }
  }
}

function mapKeyPattern(key: ScalarType): string {
  if (key === ScalarType.BOOL) return '^(true|false)$'
  const schema = scalar(key)
  return schema.pattern ?? (schema.minimum === 0 ? UNSIGNED_PATTERN : INTEGER_PATTERN)
}

export function hasBehavior(field: DescField, behavior: FieldBehavior): boolean {
  return getOption(field, field_behavior).includes(behavior)
}

/** A field that callers set and no response returns. */
export function isWriteOnly(field: DescField): boolean {
  if (hasBehavior(field, FieldBehavior.INPUT_ONLY)) return true
  const isSent = hasBehavior(field, FieldBehavior.OPTIONAL) || hasBehavior(field, FieldBehavior.REQUIRED)
  return field.proto.options?.debugRedact === true && isSent
}

/** JSON always shows fields without presence, and never the rest of a secret. */
export function isInResponses(field: DescField): boolean {
  return !isWriteOnly(field) || isAlwaysPresent(field)
}

export function isAlwaysPresent(field: DescField): boolean {
  if (field.oneof !== undefined) return false
  if (field.fieldKind === 'list' || field.fieldKind === 'map') return true
  return field.presence === FeatureSet_FieldPresence.IMPLICIT
}

export function isRequired(field: DescField, use: Use): boolean {
  if (use === 'response') return isAlwaysPresent(field) || isSetByServer(field)
  if (use === 'entry' && fieldsOfWholeBatch.has(field.name)) return false
  return use !== 'update' && hasBehavior(field, FieldBehavior.REQUIRED)
}

/** Fields with presence in the schema that every response nevertheless contains. */
function isSetByServer({ name, parent }: DescField): boolean {
  if (name === 'total_count') return true
  return (name === 'create_time' || name === 'update_time') && hasOption(parent, resource)
}

/** Fields that a batch sets once for all of its entries. */
const fieldsOfWholeBatch: ReadonlySet<string> = new Set(['parent', 'role_uid'])

/** Requests inside a request. */
function isBatch({ fieldKind, message, parent }: DescField): boolean {
  return fieldKind === 'list' && message?.name.endsWith('Request') === true && parent.name.startsWith('Batch')
}

/** Whether a create of the message, or of a message inside it, requires a member. */
function hasRequiredFields(desc: DescMessage, seen: ReadonlySet<DescMessage> = new Set()): boolean {
  if (seen.has(desc)) return false
  const inside = new Set(seen).add(desc)
  return desc.fields.some(
    (field) =>
      isRequired(field, 'create') ||
      (field.message !== undefined && hasRequiredFields(field.message, inside)),
  )
}

function isOwnUid(field: DescField): boolean {
  return (
    field.name === 'uid' && hasOption(field.parent, resource) && hasBehavior(field, FieldBehavior.OUTPUT_ONLY)
  )
}
