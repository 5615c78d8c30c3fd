import {
  type DescExtension,
  type DescField,
  type DescMessage,
  getOption as decodeOption,
  fromBinary,
  type Message,
  type getOption as protobufGetOption,
} from '@bufbuild/protobuf'
import { BinaryWriter } from '@bufbuild/protobuf/wire'

/** Options of the schema, such as the access rule of a method. */

interface DecodedOption {
  readonly container: DescMessage
  readonly localName: string
  readonly unset: unknown
  /** By the message of all options of an element. */
  readonly values: WeakMap<Message, unknown>
}

const decodedOptions = new WeakMap<DescExtension, DecodedOption>()

/**
 * Returns the value of an option, or its default. Equal to `getOption` of protobuf-es, which creates a descriptor and decodes the value in
 * each call; here both are created once, so callers must not change the value.
 */
export const getOption = ((
  element: { readonly proto: { readonly options?: Message } },
  option: DescExtension,
) => {
  const decoded = decodedOptions.get(option) ?? decode(option)
  const { options } = element.proto
  const fields = options?.$unknown?.filter(({ no }) => no === option.number) ?? []
  if (options === undefined || fields.length === 0) return decoded.unset
  const known = decoded.values.get(options)
  if (known !== undefined) return known
  const writer = new BinaryWriter()
  for (const { no, wireType, data } of fields) writer.tag(no, wireType).raw(data)
  const message = fromBinary(decoded.container, writer.finish()) as Message & Record<string, unknown>
  const value = message[decoded.localName]
  decoded.values.set(options, value)
  return value
}) as typeof protobufGetOption

/** Describes a message with the option as its only field. */
function decode(option: DescExtension): DecodedOption {
  const localName = option.typeName
  const field = { ...option, kind: 'field', parent: option.extendee, localName } as unknown as DescField
  const container: DescMessage = { ...option.extendee, fields: [field], members: [field], oneofs: [] }
  const unset = decodeOption({ proto: {} } as never, option)
  const decoded = { container, localName, unset, values: new WeakMap() }
  decodedOptions.set(option, decoded)
  return decoded
}
