import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf'
import fc from 'fast-check'

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
/** Without U+0000, which no request may have (core/nul.ts). */
const text = fc
  .oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }))
  .map((any) => any.replaceAll('\0', ''))
const bytes = fc.uint8Array({ maxLength: 12 })

const scalars: Readonly<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  [ScalarType.STRING]: text,
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.BYTES]: bytes.map((value) => new Uint8Array(value)),
  [ScalarType.DOUBLE]: fc.double({ noNaN: true }),
  [ScalarType.FLOAT]: fc.float({ noNaN: true }),
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: int32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: int64,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: uint64,
}

/**
 * Any message of a type, with times in whole milliseconds as the API has them. Nested messages end at `depth`. Left
 * out are NaN, which equals nothing, and `__proto__` as a map key, which protobuf-es, that the tests compare with, loses.
 */
export function randomMessage(desc: DescMessage, depth = 2): fc.Arbitrary<Message> {
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp':
      return fc
        .record({
          seconds: fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
          nanos: fc.integer({ min: 0, max: 999 }).map((ms) => ms * 1_000_000),
        })
        .map((init) => create(desc, init as never))
    case 'google.protobuf.Duration':
      return fc
        .record({
          seconds: fc.bigInt({ min: 0n, max: 315_575_999_999n }),
          nanos: fc.integer({ min: 0, max: 999_999_999 }),
          negative: fc.boolean(),
        })
        .map(({ seconds, nanos, negative }) =>
          create(desc, (negative ? { seconds: -seconds, nanos: 0 - nanos } : { seconds, nanos }) as never),
        )
    case 'google.protobuf.FieldMask':
      return fc
        .array(fc.stringMatching(/^[a-z]{1,5}(_[a-z]{1,5}){0,2}(\.[a-z]{1,5}){0,2}$/), { maxLength: 3 })
        .map((paths) => create(desc, { paths } as never))
  }
  if (desc.typeName === 'google.protobuf.Value')
    return fc
      .jsonValue({ maxDepth: depth })
      .filter((json) => !JSON.stringify(json).includes('__proto__') && !Object.is(json, -0))
      .map((json) => fromJson(desc, json as JsonValue))
  if (depth === 0) return fc.constant(create(desc))
  const members: Record<string, fc.Arbitrary<unknown>> = {}
  for (const member of desc.members) {
    if (member.kind === 'oneof') {
      const cases = member.fields.map((one) =>
        value(one, depth).map((held) => ({ case: one.localName, value: held })),
      )
      members[member.localName] = fc.oneof(fc.constant({ case: undefined }), ...cases)
    } else {
      members[member.localName] = value(member, depth)
    }
  }
  // Any subset of the members, so that unset fields and defaults are as common as values.
  return fc.record(members, { requiredKeys: [] }).map((init) => create(desc, init as never))
}

function value(field: DescField, depth: number): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case 'list':
      return fc.array(item(field, depth), { maxLength: 3 })
    case 'map':
      return fc.dictionary(key(field.mapKey), item(field, depth), { maxKeys: 3, noNullPrototype: true })
    default:
      return item(field, depth)
  }
}

function key(scalar: ScalarType): fc.Arbitrary<string> {
  return scalars[scalar].map(String).filter((name) => name !== '__proto__')
}

function item(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message !== undefined) return randomMessage(field.message, depth - 1)
  if (field.enum !== undefined) {
    return fc.oneof(fc.constantFrom(...field.enum.values.map(({ number }) => number)), int32)
  }
  return scalars[field.scalar ?? ScalarType.STRING]
}
