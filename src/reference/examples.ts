import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { FieldBehavior } from '#gen/google/api/field_behavior_pb.js'
import { isLeafMessage } from '../core/field-mask.ts'
import { behaves, isKeptSecret, isNeeded, isShown, type Use } from './schemas.ts'

/**
 * Examples of messages as JSON. They are made of the fields themselves, always the same, so that none is out of date; what a name
 * suggests has a value that makes sense, the rest stands for itself.
 */

const ORGANIZATION = '7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745'
const GROUP = `${ORGANIZATION}/2b9e60d7a41c58f3`
const RESOURCE = `${GROUP}/c05d18e6f7a2943b`
const TIME = '2025-01-02T03:04:05.000Z'
const DIGEST = `sha256:${'4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce'}`

/** By proto name. */
const texts: Readonly<Record<string, string>> = {
  uid: RESOURCE,
  parent: GROUP,
  group: GROUP,
  group_uid: GROUP,
  identity: RESOURCE,
  repo_uid: RESOURCE,
  identity_provider_uid: RESOURCE,
  ancestors_of: GROUP,
  descendants_of: GROUP,
  children_of: GROUP,
  name: 'build-team',
  description: 'Builds the base images',
  email: 'ada@example.com',
  issuer: 'https://issuer.example.com',
  subject: 'repo:example/app:ref:refs/heads/main',
  audience: 'https://berth.example.com',
  aud: 'https://berth.example.com',
  digest: DIGEST,
  next_page_token: '',
  page_token: '',
  order_by: 'uid asc',
  reason: '',
}

const numbers: Readonly<Record<string, number>> = { page_size: 50, skip: 0, skipped: 0, code: 0 }

/** The JSON of one message; members that it cannot have beside another are left out. */
export function exampleOf(
  desc: DescMessage,
  use: Use,
  except: readonly string[] = [],
  outer: readonly DescMessage[] = [],
): unknown {
  if (isLeafMessage(desc)) return wellKnown(desc)
  const inside = [...outer, desc]
  const members = desc.fields
    .filter(
      (field) =>
        !except.includes(field.name) && (use !== 'answer' || isShown(field)) && isWorthShowing(field, use),
    )
    // A type within itself would never end.
    .filter(({ message }) => message === undefined || !inside.includes(message))
    .map((field) => [field.jsonName, valueOf(field, use, inside)] as const)
  return Object.fromEntries(members)
}

/** The value of one query parameter or path variable. */
export function exampleOfParameter(field: DescField): unknown {
  return singleValue(field, 'create', [])
}

function isWorthShowing(field: DescField, use: Use): boolean {
  if (field.oneof !== undefined && field.oneof.fields[0] !== field) return false
  if (use === 'answer' || isNeeded(field, use)) return true
  const isSettable = !behaves(field, FieldBehavior.OUTPUT_ONLY) && !field.deprecated
  return isSettable && !(use === 'update' && behaves(field, FieldBehavior.IMMUTABLE))
}

function valueOf(field: DescField, use: Use, outer: readonly DescMessage[]): unknown {
  if (field.fieldKind === 'list') return [singleValue(field, use, outer)]
  if (field.fieldKind === 'map') return { [mapKey(field.mapKey)]: singleValue(field, use, outer) }
  return singleValue(field, use, outer)
}

function singleValue(field: DescField, use: Use, outer: readonly DescMessage[]): unknown {
  if (field.message !== undefined) return exampleOf(field.message, use, [], outer)
  // The first value stands for nothing that was chosen.
  if (field.enum !== undefined) return (field.enum.values[1] ?? field.enum.values[0])?.name
  switch (field.scalar) {
    case ScalarType.STRING:
      return use === 'answer' && isKeptSecret(field) ? '' : textOf(field)
    case ScalarType.BOOL:
      return false
    case ScalarType.BYTES:
      return 'eyJleGFtcGxlIjp0cnVlfQ=='
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return '1'
    default:
      return numbers[field.name] ?? 1
  }
}

function textOf({ name, parent }: DescField): string {
  if (name === 'uid' && parent.name === 'Group') return GROUP
  return texts[name] ?? (name.endsWith('_uid') ? RESOURCE : name.replaceAll('_', ' '))
}

function mapKey(type: ScalarType): string {
  if (type === ScalarType.STRING) return 'key'
  return type === ScalarType.BOOL ? 'true' : '1'
}

function wellKnown({ typeName }: DescMessage): string {
  if (typeName === 'google.protobuf.Timestamp') return TIME
  return typeName === 'google.protobuf.Duration' ? '86400s' : '*'
}
