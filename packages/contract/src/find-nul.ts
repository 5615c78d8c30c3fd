import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect'
import { hasNul } from './nul.ts'

/**
 * Returns the path of the first text in a message that contains it, in proto names: `requests[1].role_binding.role_uid`,
 * `claim_match.claims[a]`. For a key of a map it is the path of the map. Undefined if there is none.
 */
export function findNul(schema: DescMessage, message: Message): string | undefined {
  return findNulInMessage(reflect(schema, message))
}

function findNulInMessage(message: ReflectMessage): string | undefined {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    for (const [at, value] of valuesOf(message, field)) {
      if (typeof value === 'string' && hasNul(value)) return field.name + at
      const inside = isMessage(value) ? findNulInMessage(value) : undefined
      if (inside !== undefined) return `${field.name}${at}.${inside}`
    }
  }
  return undefined
}

/** Returns the values of a field, each with its position in the field. */
function* valuesOf(
  message: ReflectMessage,
  field: DescField,
): Generator<readonly [at: string, value: unknown]> {
  switch (field.fieldKind) {
    case 'list':
      for (const [index, value] of message.get(field).entries()) yield [`[${index}]`, value]
      return
    case 'map':
      for (const [key, value] of message.get(field)) {
        yield ['', key]
        yield [`[${String(key)}]`, value]
      }
      return
    default:
      yield ['', message.get(field)]
  }
}

function isMessage(value: unknown): value is ReflectMessage {
  return typeof value === 'object' && value !== null && 'desc' in value && 'message' in value
}
