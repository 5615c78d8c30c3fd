import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { invalidArgument } from './errors.ts'

/**
 * Refuses the character U+0000 in any text of a message: no name, address or description has one, and PostgreSQL cannot store it.
 * Throws code 3, naming the field. The walk is for messages whose bytes hold a zero; few do.
 */
export function refuseNul(desc: DescMessage, message: Message): void {
  const path = pathOfNul(desc, message, '')
  if (path !== undefined) throw invalidArgument(path, 'must not contain the character U+0000')
}

type Fields = Readonly<Record<string, unknown>>

function pathOfNul(desc: DescMessage, message: Message, prefix: string): string | undefined {
  for (const field of desc.fields) {
    const path = prefix + field.name
    const value = valueOf(field, message as unknown as Fields)
    if (value === undefined) continue
    const found = inField(field, value, path)
    if (found !== undefined) return found
  }
  return undefined
}

function valueOf(field: DescField, message: Fields): unknown {
  if (field.oneof === undefined) return message[field.localName]
  const chosen = message[field.oneof.localName] as { readonly case?: string; readonly value?: unknown }
  return chosen.case === field.localName ? chosen.value : undefined
}

function inField(field: DescField, value: unknown, path: string): string | undefined {
  const isText = field.scalar === ScalarType.STRING
  if (field.fieldKind === 'list') {
    for (const [at, item] of (value as readonly unknown[]).entries()) {
      const found = inValue(field.message, isText, item, `${path}[${at}]`)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (field.fieldKind === 'map') {
    for (const [key, item] of Object.entries(value as Fields)) {
      // A key with the character in it cannot stand in the path.
      if (key.includes('\0')) return path
      const found = inValue(field.message, isText, item, `${path}.${key}`)
      if (found !== undefined) return found
    }
    return undefined
  }
  return inValue(field.message, isText, value, path)
}

function inValue(
  desc: DescMessage | undefined,
  isText: boolean,
  value: unknown,
  path: string,
): string | undefined {
  if (desc !== undefined) return pathOfNul(desc, value as Message, `${path}.`)
  return isText && (value as string).includes('\0') ? path : undefined
}
