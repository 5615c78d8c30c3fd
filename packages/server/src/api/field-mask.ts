import { FieldBehavior, field_behavior } from '@berth/contract/gen/google/api/field_behavior_pb.js'
import { getOption } from '@berth/contract/options.ts'
import { create, type DescField, type DescMessage, type Message, type MessageShape } from '@bufbuild/protobuf'
import type { FieldViolation } from './errors.ts'

/**
 * Which fields an update changes (AIP-134, AIP-161). An OUTPUT_ONLY or IDENTIFIER field is never changed, even if a mask names it or
 * is `*`; that is not an error (AIP-203).
 */
export interface Mask {
  /** `*`: every writable field is replaced. */
  readonly all: boolean
  /** Proto names with dots, each once, relative to the resource. Empty for `*`. */
  readonly paths: readonly string[]
}

/** A mask, or a violation of `update_mask`. */
export type ResolvedMask = { readonly mask: Mask } | { readonly violation: FieldViolation }

/**
 * Parses the paths of an update mask for the resource's type. Each part of a path is a proto name or its camelCase. Without paths
 * the mask is every populated field of `patch`, down to the leaves, so that an update without a mask clears nothing.
 */
export function resolveMask<D extends DescMessage>(
  desc: D,
  paths: readonly string[] | undefined,
  patch: MessageShape<D>,
): ResolvedMask {
  if (paths === undefined || paths.length === 0) {
    return { mask: { all: false, paths: populatedPaths(desc, patch) } }
  }
  if (paths.includes('*')) {
    if (paths.length > 1)
      return { violation: { field: 'update_mask', description: '* must be the only path' } }
    return { mask: { all: true, paths: [] } }
  }
  const known = new Set<string>()
  for (const path of paths) {
    const resolved = resolvePath(desc, path)
    if (typeof resolved === 'object')
      return { violation: { field: 'update_mask', description: resolved.problem } }
    known.add(resolved)
  }
  return { mask: { all: false, paths: [...known] } }
}

/** Returns whether an update with this mask may change the field at `path` (proto names), a part of it, or a message that contains it. */
export function touches(mask: Mask, path: string): boolean {
  if (mask.all) return true
  return mask.paths.some(
    (listed) => listed === path || listed.startsWith(`${path}.`) || path.startsWith(`${listed}.`),
  )
}

/**
 * Returns `current` with the fields of the mask copied from `patch`; a field that `patch` lacks is reset to its default. A message
 * named as a whole, a list or a map is replaced; a path to a sub-field changes only that leaf; setting a oneof member clears the other
 * members. The result is a new message and may share parts with both arguments, which do not change.
 */
export function applyMask<D extends DescMessage>(
  desc: D,
  current: MessageShape<D>,
  patch: MessageShape<D>,
  mask: Mask,
): MessageShape<D> {
  if (mask.all) return replaceWritable(desc, current, patch) as MessageShape<D>
  return applyTree(desc, current, patch, treeOf(mask.paths)) as MessageShape<D>
}

/** Returns the lowerCamelCase spelling of a path: `claim_match.issuer` is `claimMatch.issuer`. */
export function camelCasePath(path: string): string {
  return path.includes('_') ? path.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) : path
}

/** Returns the field with this JSON name, proto name, or camelCase of the proto name. */
export function fieldByName(desc: DescMessage, name: string): DescField | undefined {
  let names = fieldsByName.get(desc)
  if (names === undefined) {
    names = new Map()
    // Exact names take precedence over the derived spelling.
    for (const field of desc.fields) names.set(camelCasePath(field.name), field)
    for (const field of desc.fields) names.set(field.jsonName, field)
    for (const field of desc.fields) names.set(field.name, field)
    fieldsByName.set(desc, names)
  }
  return names.get(name)
}

const fieldsByName = new WeakMap<DescMessage, Map<string, DescField>>()

/** Returns whether a message is a single value in JSON, so that a path cannot name a part of it. */
export function isLeafMessage(desc: DescMessage): boolean {
  return desc.typeName.startsWith('google.protobuf.') && desc.typeName !== 'google.protobuf.Empty'
}

function resolvePath(desc: DescMessage, path: string): string | { readonly problem: string } {
  const names: string[] = []
  let at: DescMessage | undefined = desc
  const parts = path.split('.')
  for (const part of parts) {
    if (at === undefined) {
      return {
        problem: `${JSON.stringify(path)} names a part of ${parts.slice(0, names.length).join('.')}, which can only be named as a whole`,
      }
    }
    const field = fieldByName(at, part)
    if (field === undefined) return { problem: `${JSON.stringify(path)} is not a field of ${desc.name}` }
    names.push(field.name)
    at = field.fieldKind === 'message' && !isLeafMessage(field.message) ? field.message : undefined
  }
  return names.join('.')
}

/** A message whose fields are read and written by name; the names come from its descriptor. */
type Fields = Message & Record<string, unknown>

interface OneofValue {
  case: string | undefined
  value?: unknown
}

function isSet(message: Fields, field: DescField): boolean {
  return fieldValue(message, field) !== undefined
}

/** Returns the value of a field; undefined for an unset message, optional field or oneof member. */
function fieldValue(message: Fields, field: DescField): unknown {
  if (field.oneof === undefined) return message[field.localName]
  const oneof = message[field.oneof.localName] as OneofValue
  return oneof.case === field.localName ? oneof.value : undefined
}

/** Sets a field, or unsets it if the value is undefined. Does not change a oneof in which another member is set. */
function setValue(message: Fields, field: DescField, value: unknown): void {
  if (field.oneof === undefined) {
    if (value === undefined) delete message[field.localName]
    else message[field.localName] = value
    return
  }
  const { localName } = field.oneof
  if (value !== undefined) message[localName] = { case: field.localName, value }
  else if ((message[localName] as OneofValue).case === field.localName)
    message[localName] = { case: undefined }
}

function isWritable(field: DescField): boolean {
  let writable = writableFields.get(field)
  if (writable === undefined) {
    const behaviors = getOption(field, field_behavior)
    writable = !behaviors.some((b) => b === FieldBehavior.OUTPUT_ONLY || b === FieldBehavior.IDENTIFIER)
    writableFields.set(field, writable)
  }
  return writable
}

const writableFields = new WeakMap<DescField, boolean>()

function populatedPaths(desc: DescMessage, message: Message, prefix = ''): string[] {
  return desc.fields.flatMap((field) => {
    const value = fieldValue(message as Fields, field)
    if (value === undefined || isDefault(field, value)) return []
    const path = prefix + field.name
    if (field.fieldKind !== 'message' || isLeafMessage(field.message)) return [path]
    const inside = populatedPaths(field.message, value as Message, `${path}.`)
    // The presence of an empty message has a meaning.
    return inside.length === 0 ? [path] : inside
  })
}

function isDefault(field: DescField, value: unknown): boolean {
  if (field.fieldKind === 'list') return (value as unknown[]).length === 0
  if (field.fieldKind === 'map') return Object.keys(value as object).length === 0
  // A field with explicit presence is populated even if it has its default value.
  if (field.fieldKind === 'message' || field.oneof !== undefined) return false
  if (value instanceof Uint8Array) return value.length === 0
  const empty = create(field.parent) as Fields
  return empty[field.localName] === value
}

/** The listed paths as a tree; an empty map is a field named as a whole, which takes precedence over its sub-fields. */
type Tree = Map<string, Tree>

function treeOf(paths: readonly string[]): Tree {
  const root: Tree = new Map()
  const whole = new Set(paths)
  for (const path of paths) {
    const parts = path.split('.')
    const covered = parts.some((_, index) => index > 0 && whole.has(parts.slice(0, index).join('.')))
    if (covered) continue
    let tree = root
    for (const part of parts) {
      const next: Tree = tree.get(part) ?? new Map()
      tree.set(part, next)
      tree = next
    }
  }
  return root
}

function applyTree(desc: DescMessage, current: Message, patch: Message, tree: Tree): Message {
  const result = { ...current } as Fields
  const from = patch as Fields
  for (const [name, inside] of tree) {
    const field = desc.fields.find((candidate) => candidate.name === name)
    if (field === undefined || !isWritable(field)) continue
    if (inside.size === 0) {
      setValue(result, field, writableValue(field, fieldValue(result, field), fieldValue(from, field)))
      continue
    }
    if (field.fieldKind !== 'message' || !(isSet(result, field) || isSet(from, field))) continue
    const empty = create(field.message)
    const before = (fieldValue(result, field) as Message | undefined) ?? empty
    const after = (fieldValue(from, field) as Message | undefined) ?? empty
    setValue(result, field, applyTree(field.message, before, after, inside))
  }
  return result
}

/** Returns `patch` with the fields that callers cannot write copied from `current`. */
function replaceWritable(desc: DescMessage, current: Message, patch: Message): Message {
  const result = { ...current } as Fields
  for (const member of desc.members) {
    if (member.kind === 'field') {
      if (!isWritable(member)) continue
      const value = fieldValue(patch as Fields, member)
      setValue(result, member, writableValue(member, fieldValue(result, member), value))
      continue
    }
    const held = member.fields.find((field) => isSet(patch as Fields, field) && isWritable(field))
    if (held !== undefined) {
      setValue(result, held, writableValue(held, fieldValue(result, held), fieldValue(patch as Fields, held)))
    } else {
      for (const field of member.fields) if (isWritable(field)) setValue(result, field, undefined)
    }
  }
  return result
}

/** Returns the value of a field that is replaced as a whole. */
function writableValue(field: DescField, current: unknown, next: unknown): unknown {
  if (next === undefined) return undefined
  if (field.message === undefined || isLeafMessage(field.message)) return next
  const { message } = field
  if (field.fieldKind === 'message') {
    return replaceWritable(message, (current as Message | undefined) ?? create(message), next as Message)
  }
  // Elements have no counterpart in the current value: fields that callers cannot write have their default.
  const fresh = (value: Message) => replaceWritable(message, create(message), value)
  if (field.fieldKind === 'list') return (next as Message[]).map(fresh)
  return Object.fromEntries(
    Object.entries(next as Record<string, Message>).map(([key, value]) => [key, fresh(value)]),
  )
}
