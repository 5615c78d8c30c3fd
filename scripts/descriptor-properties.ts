import type { AnyDesc, DescFile } from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'

/** Shows descriptors as plain values, to compare those of the schema with those that protobuf-es creates. */

/** Returns the file and all elements in it. */
export function elementsOf(file: DescFile): readonly AnyDesc[] {
  const elements: AnyDesc[] = [file]
  for (const type of nestedTypes(file)) {
    elements.push(type)
    if (type.kind === 'message') elements.push(...type.fields, ...type.oneofs)
    if (type.kind === 'enum') elements.push(...type.values)
    if (type.kind === 'service') elements.push(...type.methods)
  }
  return elements
}

/** `package` and `optionValues` are those of the schema alone. */
const hidden = new Set(['proto', 'toString', 'package', 'optionValues'])

/** Returns the name and the properties of two elements, except `proto`. Properties are those of objects or of their classes. */
export function comparableProperties(one: AnyDesc, other: AnyDesc): readonly [unknown, unknown] {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => !hidden.has(name))
  const describe = (of: AnyDesc) => [
    String(of),
    names.map((name) => [name, describeValue((of as unknown as Record<string, unknown>)[name])]),
  ]
  return [describe(one), describe(other)]
}

/** Describes other elements by their names, so that the result is finite. */
function describeValue(value: unknown): unknown {
  if (typeof value === 'function') return { returns: value() }
  if (Array.isArray(value)) return value.map(describeValue)
  if (typeof value !== 'object' || value === null) return value
  if ('kind' in value) return String(value)
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, describeValue(one)]))
}
