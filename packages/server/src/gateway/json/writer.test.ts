import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import { contractFiles } from '@berth/contract/schema-files.ts'
import { create, type DescMessage, equals, fromJson, type Message } from '@bufbuild/protobuf'
import { AnySchema, StringValueSchema, StructSchema } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { allFieldKinds, onlyOptionalFields } from '../../../../../test/support/api/all-field-kinds.ts'
import { randomMessage } from '../../../../../test/support/api/random-message.ts'
import { createJsonReader } from './reader.ts'
import { createJsonWriter } from './writer.ts'

const write = (desc: DescMessage, init: object): unknown =>
  JSON.parse(createJsonWriter(desc)(create(desc, init as never)))

test('fields without presence are written at their default, everything else is left out', () => {
  assert.deepEqual(write(allFieldKinds, {}), {
    text: '',
    flag: false,
    small: 0,
    unsignedSmall: 0,
    large: '0',
    unsignedLarge: '0',
    ratio: 0,
    single: 0,
    blob: '',
    color: 'COLOR_UNSPECIFIED',
    tagList: [],
    colors: [],
    numbers: [],
    labels: {},
    byNumber: {},
    byFlag: {},
    byColor: {},
    innerList: [],
    kept_name: '',
  })
})

const rows: readonly [name: string, init: object, json: Record<string, unknown>][] = [
  [
    '64-bit integers are text',
    { large: -(2n ** 63n), unsignedLarge: 2n ** 64n - 1n },
    { large: '-9223372036854775808', unsignedLarge: '18446744073709551615' },
  ],
  [
    'known enum numbers are names',
    { color: 1, colors: [0, -1] },
    { color: 'RED', colors: ['COLOR_UNSPECIFIED', 'BELOW'] },
  ],
  ['unknown enum numbers stay numbers', { color: 7, colors: [7] }, { color: 7, colors: [7] }],
  ['bytes are padded base64', { blob: new Uint8Array([0xfb, 0xff]) }, { blob: '+/8=' }],
  [
    'numbers that JSON lacks are text',
    { ratio: Number.NaN, single: Number.NEGATIVE_INFINITY },
    { ratio: 'NaN', single: '-Infinity' },
  ],
  [
    'lists keep their order',
    { tagList: ['b', 'a'], numbers: [2n, 1n] },
    { tagList: ['b', 'a'], numbers: ['2', '1'] },
  ],
  [
    'map keys are text',
    { byNumber: { '-5': { name: 'x' } }, byFlag: { true: 3n } },
    { byNumber: { '-5': { name: 'x', subName: '' } }, byFlag: { true: '3' } },
  ],
  [
    'an optional field is there when it is set, also to its default',
    { nickName: '', maybeCount: 0, maybeColor: 0 },
    { nickName: '', maybeCount: 0, maybeColor: 'COLOR_UNSPECIFIED' },
  ],
  ['a message is there when it is set, also empty', { inner: {} }, { inner: { name: '', subName: '' } }],
  [
    'a oneof shows the member that is set, also at its default',
    { choice: { case: 'asText', value: '' } },
    { asText: '' },
  ],
  [
    'a oneof may hold a message',
    { choice: { case: 'asInner', value: { name: 'n', subName: '' } } },
    { asInner: { name: 'n', subName: '' } },
  ],
  [
    'times have three digits, also at a full second',
    { atTime: { seconds: 1735787045n, nanos: 0 } },
    { atTime: '2025-01-02T03:04:05.000Z' },
  ],
  ['durations are seconds', { waitTime: { seconds: 1n, nanos: 500_000_000 } }, { waitTime: '1.500s' }],
  ['field masks are camelCase', { theMask: { paths: ['a_b.c_d', 'e'] } }, { theMask: 'aB.cD,e' }],
  ['a schema may keep a name', { keptName: 'k' }, { kept_name: 'k' }],
  [
    'leading optional fields need no comma before them',
    { onlyOptional: { second: 2, third: 't' } },
    { onlyOptional: { second: 2, third: 't' } },
  ],
  ['a type may contain itself', { self: { self: { text: 'deep' } } }, {}],
]
for (const [name, init, json] of rows) {
  test(name, () => {
    const written = write(allFieldKinds, init) as Record<string, unknown>
    for (const [member, value] of Object.entries(json)) assert.deepEqual(written[member], value, member)
  })
}

test('every subset of leading optional fields is well-formed', () => {
  for (const init of [{}, { firstOne: 'a' }, { second: 1 }, { firstOne: 'a', second: 1 }]) {
    assert.deepEqual(write(onlyOptionalFields, init), { ...init, third: '' })
  }
})

test('plain object literals do as messages', () => {
  const plain = { $typeName: 'test.OnlyOptional', firstOne: 'x', third: '' } as Message
  assert.equal(createJsonWriter(onlyOptionalFields)(plain), '{"firstOne":"x","third":""}')
})

test('text is escaped as JSON.stringify does', () => {
  const writer = createJsonWriter(onlyOptionalFields)
  const units = Array.from({ length: 0x30 }, (_, unit) => String.fromCharCode(unit))
  for (const text of [
    ...units,
    '"',
    '\\',
    '\u007f',
    '\u2028',
    'é',
    '😀',
    '\ud800',
    'x\udc00y',
    ' '.repeat(60),
  ]) {
    for (const padded of [text, text + 'x'.repeat(60), 'x'.repeat(60) + text]) {
      const message = { $typeName: 'test.OnlyOptional', third: padded } as Message
      assert.equal(writer(message), `{"third":${JSON.stringify(padded)}}`)
    }
  }
})

test('a map key that every object has is a key like any other', () => {
  const labels = JSON.parse('{"__proto__":"a","constructor":"b"}')
  const written = createJsonWriter(allFieldKinds)({ ...create(allFieldKinds), labels } as Message)
  assert.match(written, /"labels":\{"__proto__":"a","constructor":"b"\}/)
})

test('types whose JSON is not fixed are rejected', () => {
  for (const desc of [AnySchema, StructSchema, StringValueSchema]) {
    assert.throws(() => createJsonWriter(desc), /has no JSON writer/)
  }
  assert.equal(createJsonWriter(EmptySchema)(create(EmptySchema)), '{}')
})

const productTypes = contractFiles.flatMap((file) => file.messages)

for (const desc of [allFieldKinds, ...productTypes]) {
  test(`${desc.typeName}: protobuf-es and our reader read what the writer wrote`, () => {
    const writer = createJsonWriter(desc)
    const reader = createJsonReader(desc)
    fc.assert(
      fc.property(randomMessage(desc), (message) => {
        const text = writer(message)
        assert.ok(equals(desc, fromJson(desc, JSON.parse(text)), message), text)
        assert.ok(equals(desc, reader(text).message, message), text)
      }),
      { numRuns: 50 },
    )
  })
}

const withoutNulls = (text: string): unknown =>
  JSON.parse(text, (_, value: unknown) => (value === null ? undefined : value))

for (const desc of [allFieldKinds, ...productTypes]) {
  test(`${desc.typeName}: version 1 adds only members that are null`, () => {
    const [write, writeV1] = [createJsonWriter(desc), createJsonWriter(desc, 'version 1')]
    fc.assert(
      fc.property(randomMessage(desc), (message) => {
        assert.deepEqual(withoutNulls(writeV1(message)), withoutNulls(write(message)))
      }),
      { numRuns: 20 },
    )
  })
}
