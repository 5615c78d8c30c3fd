import {
  type AnyDesc,
  create,
  type DescExtension,
  type DescMessage,
  hasOption as decodeHasOption,
  getOption as decodeOption,
  type getOption as protobufGetOption,
  type hasOption as protobufHasOption,
  type ScalarType,
} from '@bufbuild/protobuf'
import { scalarZeroValue } from '@bufbuild/protobuf/reflect'
import type { CompactOptions } from './compact-file.ts'
import type { WithOptionValues } from './file-descriptors.ts'

/** Options of the schema, such as the access rule of a method. Those of protobuf-es decode the message of the whole file. */

/** Messages by the value from which they were created. */
const messages = new WeakMap<object, unknown>()
const defaults = new WeakMap<DescExtension, unknown>()

/** Returns the value of an option, or its default. The same as `getOption` of protobuf-es, but callers must not change the value. */
export const getOption = ((element: AnyDesc & WithOptionValues, option: DescExtension) => {
  if (!('optionValues' in element)) return decodeOption(element, option)
  const value = valueOf(element.optionValues, option)
  if (value === undefined) return defaultOf(option)
  return option.fieldKind === 'message' ? messageOf(value as Record<string, unknown>, option) : value
}) as typeof protobufGetOption

/** Returns whether an option is set. The same as `hasOption` of protobuf-es. */
export const hasOption = ((element: AnyDesc & WithOptionValues, option: DescExtension) =>
  'optionValues' in element
    ? valueOf(element.optionValues, option) !== undefined
    : decodeHasOption(element, option)) as typeof protobufHasOption

function valueOf(options: CompactOptions | undefined, { number }: DescExtension): unknown {
  return options?.find(([of]) => of === number)?.[1]
}

function defaultOf(option: DescExtension): unknown {
  if (!defaults.has(option)) defaults.set(option, createDefault(option))
  return defaults.get(option)
}

function createDefault({ fieldKind, message, enum: type, scalar }: DescExtension): unknown {
  if (fieldKind === 'list') return []
  if (message !== undefined) return create(message)
  return type === undefined ? scalarZeroValue(scalar as ScalarType, false) : type.values[0]?.number
}

function messageOf(value: Record<string, unknown>, { message: schema }: DescExtension): unknown {
  const known = messages.get(value)
  if (known !== undefined) return known
  const message = create(schema as DescMessage, value)
  messages.set(value, message)
  return message
}
