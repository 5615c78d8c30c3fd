import { example as exampleOption } from '@berth/contract/gen/berth/annotations/v1/example_pb.js'
import { FieldBehavior } from '@berth/contract/gen/google/api/field_behavior_pb.js'
import { getOption } from '@berth/contract/options.ts'
import { type DescField, type DescMessage, type DescMethod, ScalarType } from '@bufbuild/protobuf'
import { shownOnceFields } from '../api/etag.ts'
import { isLeafMessage } from '../api/field-mask.ts'
import { standardMethod } from '../api/standard-methods.ts'
import { rootOf } from '../api/uid.ts'
import {
  exampleParentOf,
  exampleUidOf,
  exampleValues,
  INVITE_CODE,
  omittedFields,
  TIME,
} from './example-values.ts'
import { hasBehavior, isAlwaysPresent, isInResponses, isRequired, isWriteOnly, type Use } from './schemas.ts'

/** Examples of messages as JSON: from the fields of the schema, so that none is out of date, with the values of example-values.ts. */

/** The JSON of one message; members that exclude each other are left out but for one. */
export function exampleOf(desc: DescMessage, use: Use, except: readonly string[] = []): unknown {
  return messageOf(desc, use, except, [])
}

/** The response of a method. `atRoot`: it was called without a parent, so it created an organization. */
export function exampleOfResponse(method: DescMethod, atRoot: boolean): unknown {
  const { output } = method
  const kind = standardMethod(method)
  const unset = kind === 'create' || kind === 'update' ? output.fields.filter(isOmitted) : []
  const example = {
    ...(exampleOf(
      output,
      'response',
      unset.map(({ name }) => name),
    ) as object),
    ...Object.fromEntries(unset.filter(isAlwaysPresent).map((field) => [field.jsonName, defaultOf(field)])),
  }
  const shownOnceField = kind === 'create' ? shownOnceFields[output.typeName] : undefined
  return {
    ...example,
    ...(atRoot ? { uid: rootOf(exampleUidOf(output.name) ?? '') } : {}),
    ...(shownOnceField === undefined ? {} : { [shownOnceField]: INVITE_CODE }),
  }
}

function defaultOf(field: DescField): unknown {
  if (field.fieldKind === 'list') return []
  return field.enum === undefined ? false : field.enum.values[0]?.name
}

/** The value of one path variable. */
export function exampleOfParameter(field: DescField): unknown {
  return valueOf(field, 'create', [])
}

function messageOf(
  desc: DescMessage,
  use: Use,
  except: readonly string[],
  ancestors: readonly DescMessage[],
): unknown {
  if (isLeafMessage(desc)) return wellKnown(desc)
  const inside = [...ancestors, desc]
  const members = desc.fields
    .filter(
      (field) =>
        !except.includes(field.name) &&
        (use !== 'response' || isInResponses(field)) &&
        isWorthShowing(field, use),
    )
    // A recursive type would never end.
    .filter(({ message }) => message === undefined || !inside.includes(message))
    .map((field) => [field.jsonName, valueOf(field, use, inside)] as const)
  return Object.fromEntries(members)
}

function isWorthShowing(field: DescField, use: Use): boolean {
  if (field.oneof !== undefined && field.oneof.fields[0] !== field) return false
  if (use === 'response' || isRequired(field, use)) return true
  const isSettable = !hasBehavior(field, FieldBehavior.OUTPUT_ONLY) && !field.deprecated
  if (!isSettable || isOmitted(field)) return false
  return !(use === 'update' && hasBehavior(field, FieldBehavior.IMMUTABLE))
}

function isOmitted(field: DescField): boolean {
  return omittedFields.has(nameOf(field))
}

function nameOf({ parent, name }: DescField): string {
  return `${parent.name}.${name}`
}

function valueOf(field: DescField, use: Use, ancestors: readonly DescMessage[]): unknown {
  if (use === 'response' && isWriteOnly(field)) return ''
  const known =
    contractExampleOf(field) ?? exampleValues[nameOf(field)] ?? uidOf(field) ?? exampleValues[field.name]
  if (known !== undefined) return known
  // A filter of a list.
  if (/^List\w+Request$/.test(field.parent.name) && field.scalar === ScalarType.STRING) return ''
  if (field.fieldKind === 'list') return [singleValue(field, use, ancestors)]
  return singleValue(field, use, ancestors)
}

/** Returns the example that the schema has for a field; undefined if it has none. */
export function contractExampleOf(field: DescField): unknown {
  const text = getOption(field, exampleOption)
  if (text === '') return undefined
  const isText =
    field.fieldKind === 'enum' || (field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING)
  return isText ? text : JSON.parse(text)
}

function uidOf({ name, parent, scalar }: DescField): string | undefined {
  if (scalar !== ScalarType.STRING) return undefined
  if (name === 'uid') return exampleUidOf(parent.name)
  return name === 'parent' ? exampleParentOf(parent.name) : undefined
}

function singleValue(field: DescField, use: Use, ancestors: readonly DescMessage[]): unknown {
  if (field.fieldKind !== 'map' && field.message !== undefined)
    return messageOf(field.message, use, [], ancestors)
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL) return false
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.BYTES) return 'eyJleGFtcGxlIjp0cnVlfQ=='
  throw new Error(`${nameOf(field)} has no value in example-values.ts`)
}

function wellKnown({ typeName }: DescMessage): string {
  if (typeName === 'google.protobuf.Timestamp') return TIME
  if (typeName === 'google.protobuf.Value') return '30'
  return typeName === 'google.protobuf.Duration' ? '86400s' : '*'
}
