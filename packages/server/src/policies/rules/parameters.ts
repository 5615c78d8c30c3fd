import {
  type ParameterSchema,
  ParameterSchemaSchema,
  ParameterType,
} from '@berth/contract/gen/chainguard/platform/policies/v1/policies_pb.js'
import { create } from '@bufbuild/protobuf'
import type { Value } from '@bufbuild/protobuf/wkt'
import type { FieldViolation } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'

/** Parameters of policies: what they are, and the values that bindings set. */

export type ParameterValue = string | number | boolean | readonly string[]
export type Parameters = Readonly<Record<string, ParameterValue>>

/** Declares a parameter. Without a default, a binding must set it, unless it is optional. */
export interface ParameterDeclaration {
  readonly name: string
  readonly type: 'string' | 'integer' | 'string_list' | 'boolean'
  readonly description: string
  readonly default?: ParameterValue
  readonly minimum?: number
  readonly maximum?: number
  readonly allowedValues?: readonly string[]
}

/** A parameter of every policy. */
export const allowUnknown: ParameterDeclaration = {
  name: 'allow_unknown',
  type: 'boolean',
  description:
    'Whether images pass whose facts are not known, for example because their contents have not been read yet.',
  default: false,
}

export const parameterNamePattern = /^[a-z][a-z0-9_]{0,63}$/

const types = {
  string: ParameterType.STRING,
  integer: ParameterType.INTEGER,
  string_list: ParameterType.STRING_LIST,
  boolean: ParameterType.BOOLEAN,
} as const

/** The texts of the types in messages. */
const typeTexts = {
  string: 'text',
  integer: 'a whole number',
  string_list: 'a list of texts',
  boolean: 'true or false',
} as const

/** Returns the type of a parameter of the API; undefined for one that is not specified. */
export function parameterTypeOf(type: ParameterType): ParameterDeclaration['type'] | undefined {
  return (Object.keys(types) as (keyof typeof types)[]).find((name) => types[name] === type)
}

export function toParameterSchema(declaration: ParameterDeclaration): ParameterSchema {
  const { name, type, description, minimum, maximum, allowedValues = [] } = declaration
  const schema = create(ParameterSchemaSchema, {
    name,
    type: types[type],
    description,
    required: declaration.default === undefined,
    allowedValues: allowedValues.map(toValue),
  })
  if (declaration.default !== undefined) schema.default = toValue(declaration.default)
  if (minimum !== undefined) schema.minimum = toValue(minimum)
  if (maximum !== undefined) schema.maximum = toValue(maximum)
  return schema
}

export function toValue(value: ParameterValue): Value {
  const valueOf = (kind: Value['kind']): Value => ({ $typeName: 'google.protobuf.Value', kind })
  if (typeof value === 'string') return valueOf({ case: 'stringValue', value })
  if (typeof value === 'number') return valueOf({ case: 'numberValue', value })
  if (typeof value === 'boolean') return valueOf({ case: 'boolValue', value })
  return valueOf({
    case: 'listValue',
    value: { $typeName: 'google.protobuf.ListValue', values: value.map(toValue) },
  })
}

/** Reads a value of the API; undefined for null, objects, lists of anything but texts, and numbers that JSON does not have. */
export function fromValue({ kind }: Value): ParameterValue | undefined {
  switch (kind.case) {
    case 'stringValue':
    case 'boolValue':
      return kind.value
    case 'numberValue':
      return Number.isFinite(kind.value) ? kind.value : undefined
    case 'listValue': {
      const texts = kind.value.values.map(({ kind: element }) =>
        element.case === 'stringValue' ? element.value : undefined,
      )
      return texts.some((text) => text === undefined) ? undefined : (texts as string[])
    }
    default:
      return undefined
  }
}

/** Longer names are no names of parameters, and are not repeated. */
const NAME_SHOWN_MAX = 64

/** Checks the values of a binding. Returns every violation, with fields such as `parameters.days`. */
export function checkParameters(
  declarations: readonly ParameterDeclaration[],
  values: Readonly<Record<string, Value>>,
): FieldViolation[] {
  const { policyParametersMax: max } = limits
  if (Object.keys(values).length > max)
    return [{ field: 'parameters', description: `must have at most ${max} entries` }]
  const known = new Map(declarations.map((declaration) => [declaration.name, declaration]))
  const violations: FieldViolation[] = []
  for (const [name, value] of Object.entries(values)) {
    const field = name.length > NAME_SHOWN_MAX ? 'parameters' : `parameters.${name}`
    const declaration = known.get(name)
    const description =
      declaration === undefined
        ? `is unknown: the policy has ${[...known.keys()].join(', ')}`
        : checkParameter(declaration, fromValue(value))
    if (description !== undefined) violations.push({ field, description })
  }
  for (const { name, default: initial } of declarations)
    if (initial === undefined && !Object.hasOwn(values, name))
      violations.push({ field: `parameters.${name}`, description: 'is required' })
  return violations
}

/** Returns why a value is not valid; undefined if it is. */
export function checkParameter(
  { type, minimum, maximum, allowedValues }: Omit<ParameterDeclaration, 'description' | 'default'>,
  value: ParameterValue | undefined,
): string | undefined {
  const { policyParameterCharsMax: charsMax, policyParameterValuesMax: valuesMax } = limits
  const texts = typeof value === 'string' ? [value] : Array.isArray(value) ? (value as string[]) : []
  if (!isOfType(type, value)) return `must be ${typeTexts[type]}`
  if (typeof value === 'number' && minimum !== undefined && value < minimum)
    return `must be at least ${minimum}`
  if (typeof value === 'number' && maximum !== undefined && value > maximum)
    return `must be at most ${maximum}`
  if (type === 'string_list' && texts.length > valuesMax) return `must have at most ${valuesMax} entries`
  if (texts.some((text) => text.length > charsMax)) return `must have at most ${charsMax} characters`
  if (texts.some((text) => /\p{Cc}/u.test(text))) return 'must not contain control characters'
  if (allowedValues !== undefined && texts.some((text) => !allowedValues.includes(text)))
    return `must be one of ${allowedValues.join(', ')}`
  return undefined
}

function isOfType(type: ParameterDeclaration['type'], value: ParameterValue | undefined): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string'
    case 'integer':
      return Number.isSafeInteger(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'string_list':
      return Array.isArray(value)
    default:
      return type satisfies never
  }
}

/** Returns the values of a binding that was checked, with the defaults. */
export function withDefaults(declarations: readonly ParameterDeclaration[], values: Parameters): Parameters {
  const defaults = declarations.flatMap(({ name, default: initial }) =>
    initial === undefined ? [] : [[name, initial] as const],
  )
  return { ...Object.fromEntries(defaults), ...values }
}
