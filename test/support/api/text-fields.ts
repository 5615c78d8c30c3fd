import { create, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'

/** The texts in a type of requests, for tests that put something into each. */

export interface TextField {
  /** From the request to the text. */
  readonly path: readonly DescField[]
  /** The text is a key of the map at the end of the path. */
  readonly isKey: boolean
}

const DEPTH_MAX = 8

/** Every text in a request type. Masks name fields, page tokens are tested as such. */
export function textFields(desc: DescMessage, above: readonly DescField[] = []): TextField[] {
  if (above.length > DEPTH_MAX) return []
  return desc.fields.flatMap((field) => {
    const path = [...above, field]
    const keys =
      field.fieldKind === 'map' && field.mapKey === ScalarType.STRING ? [{ path, isKey: true }] : []
    return [...keys, ...valuesOf(field, path)]
  })
}

function valuesOf(field: DescField, path: readonly DescField[]): TextField[] {
  if (field.message !== undefined)
    return field.message.typeName.startsWith('google.protobuf.') ? [] : textFields(field.message, path)
  return field.scalar === ScalarType.STRING && field.name !== 'page_token' ? [{ path, isKey: false }] : []
}

/** `identity.claim_match.issuer`; a key of a map is `identity.claim_match.claims[]`. */
export function nameOf({ path, isKey }: TextField): string {
  return `${path.map(({ name }) => name).join('.')}${isKey ? '[]' : ''}`
}

type Holder = Record<string, unknown>

/** The request with the text in place of what the field held. */
export function withText(request: object, { path, isKey }: TextField, text: string): object {
  const [field, ...rest] = path
  if (field === undefined) return request
  const copy: Holder = { ...request }
  const name = (field.oneof ?? field).localName
  const held = valueIn(copy, field)
  const value = rest.length === 0 ? text : withText(firstEntry(held, field), { path: rest, isKey }, text)
  const filled = wrapValue(field, value, rest.length === 0 && isKey)
  copy[name] = field.oneof === undefined ? filled : { case: field.localName, value: filled }
  return copy
}

function valueIn(message: Holder, field: DescField): unknown {
  if (field.oneof === undefined) return message[field.localName]
  const held = message[field.oneof.localName] as Holder | undefined
  return held?.['case'] === field.localName ? held['value'] : undefined
}

/** What the field holds, or the first of what it holds. */
function firstEntry(held: unknown, { fieldKind }: DescField): object {
  const one = fieldKind === 'message' ? held : Object.values(held ?? {})[0]
  return (one ?? {}) as object
}

function wrapValue(field: DescField, value: unknown, isKey: boolean): unknown {
  if (field.fieldKind === 'list') return [value]
  if (field.fieldKind !== 'map') return value
  if (isKey && field.message !== undefined) return { [value as string]: create(field.message) }
  if (isKey) return { [value as string]: field.scalar === ScalarType.STRING ? 'x' : 1 }
  return { [field.mapKey === ScalarType.STRING ? 'INGESTER' : '1']: value }
}
