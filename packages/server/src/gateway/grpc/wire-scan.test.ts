import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import fc from 'fast-check'
import { allFieldKinds } from '../../../../../test/support/api/all-field-kinds.ts'
import { methods } from '../../../../../test/support/api/methods.ts'
import { randomMessage } from '../../../../../test/support/api/random-message.ts'
import { scanWire, type WireLimits } from './wire-scan.ts'

const unlimited: WireLimits = { depthMax: 100, elementsMax: 1_000_000 }

/** Bytes of a field: `tag(19, 2)` starts a message or text of number 19. */
const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
const tag = (number: number, wireType: number) => varint((number << 3) | wireType)
const bytes = (...parts: (number | readonly number[])[]) => Uint8Array.from(parts.flat())
const message = (number: number, inner: readonly number[]) => [
  ...tag(number, 2),
  ...varint(inner.length),
  ...inner,
]

for (const [what, given] of [
  ['nothing', bytes()],
  ['a text', bytes(tag(1, 2), 2, 0x61, 0x62)],
  ['a number of ten bytes', bytes(tag(5, 0), [255, 255, 255, 255, 255, 255, 255, 255, 255, 1])],
  ['packed numbers', bytes(tag(13, 2), 3, 1, 0xff, 1)],
  ['unpacked numbers', bytes(tag(13, 0), 1, tag(13, 0), 2)],
  ['packed enums', bytes(tag(12, 2), 2, 0, 1)],
  ['a double', bytes(tag(7, 1), 0, 0, 0, 0, 0, 0, 0, 0)],
  ['a float', bytes(tag(8, 5), 0, 0, 0, 0)],
  ['an empty element', bytes(tag(19, 2), 0)],
  ['an entry of a map', bytes(message(15, [8, 1, 18, 2, 10, 0]))],
  ['unknown fields of every wire type', bytes(tag(900, 0), 1, tag(900, 2), 1, 9, tag(900, 5), 0, 0, 0, 0)],
  ['a message in itself', bytes(message(29, message(29, message(29, []))))],
] as const)
  test(`R28: ${what} can be decoded, and is`, () => {
    assert.equal(scanWire(allFieldKinds, given, unlimited), undefined)
    assert.doesNotThrow(() => fromBinary(allFieldKinds, given))
  })

for (const [what, given] of [
  ['a text without its end', bytes(tag(1, 2), 3, 0x61)],
  ['a text without its length', bytes(tag(1, 2))],
  ['a length of more than 32 bits', bytes(tag(1, 2), 0x80, 0x80, 0x80, 0x80, 0x10)],
  ['a length of six bytes', bytes(tag(1, 2), 0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 0x61)],
  ['a number of eleven bytes', bytes(tag(5, 0), new Array(10).fill(0x80), 1)],
  ['a number without its end', bytes(tag(5, 0), 0x80)],
  ['a double without its end', bytes(tag(7, 1), 0, 0)],
  ['a float without its end', bytes(tag(8, 5), 0, 0)],
  ['packed numbers without their end', bytes(tag(13, 2), 2, 1, 0x80)],
  ['the field 0', bytes(0, 0)],
  ['a group', bytes(tag(900, 3), tag(900, 4))],
  ['a group in the place of a message', bytes(tag(18, 3), tag(18, 4))],
  ['an unknown wire type', bytes(tag(900, 6), 0)],
  ['a message with the wire type of a number', bytes(tag(18, 0), 2, 10, 0)],
  ['a number with the wire type of a text', bytes(tag(5, 2), 1, 1)],
  ['a text with the wire type of a number', bytes(tag(1, 0), 1)],
  [
    'a message that is longer than the one around it',
    bytes(tag(29, 2), 2, tag(29, 2).slice(0, 1), 9, 0, 0, 0),
  ],
  ['a map whose key has the wire type of another', bytes(message(14, [8, 1]))],
] as const)
  test(`R28: ${what} is malformed`, () =>
    assert.equal(scanWire(allFieldKinds, given, unlimited), 'malformed'))

test('R28: elements are counted wherever they are, and the scan stops at the first too many', () => {
  const many = 500
  for (const [what, given] of [
    ['empty elements', bytes(...Array.from({ length: many }, () => [...tag(19, 2), 0]))],
    ['packed numbers', bytes(message(13, new Array(many).fill(1)))],
    ['unknown fields', bytes(...Array.from({ length: many }, () => [...tag(900, 0), 0]))],
    ['one field again and again', bytes(...Array.from({ length: many }, () => [...tag(18, 2), 0]))],
    [
      'elements in an element',
      bytes(message(29, Array.from({ length: many }, () => [...tag(19, 2), 0]).flat())),
    ],
  ] as const) {
    assert.equal(scanWire(allFieldKinds, given, { depthMax: 32, elementsMax: many - 1 }), 'elementsMax', what)
    assert.equal(scanWire(allFieldKinds, given, { depthMax: 32, elementsMax: many + 1 }), undefined, what)
  }
  const endless = bytes(new Array(200).fill([...tag(19, 2), 0]).flat(), 0xff)
  assert.equal(scanWire(allFieldKinds, endless, { depthMax: 32, elementsMax: 100 }), 'elementsMax')
})

test('R28: messages in messages are counted, and the scan stops at the first too deep', () => {
  let inner: number[] = []
  for (let depth = 1; depth < 10; depth++) inner = message(29, inner)
  assert.equal(scanWire(allFieldKinds, bytes(inner), { ...unlimited, depthMax: 10 }), undefined)
  assert.equal(scanWire(allFieldKinds, bytes(inner), { ...unlimited, depthMax: 9 }), 'depthMax')
})

test('R28: every valid message passes with exactly as many elements as it has', () => {
  fc.assert(
    fc.property(randomMessage(allFieldKinds), (given) => {
      const encoded = toBinary(allFieldKinds, given)
      const elements = countElements(allFieldKinds, given)
      assert.equal(scanWire(allFieldKinds, encoded, { depthMax: 100, elementsMax: elements }), undefined)
      if (elements > 0)
        assert.equal(
          scanWire(allFieldKinds, encoded, { depthMax: 100, elementsMax: elements - 1 }),
          'elementsMax',
        )
    }),
  )
})

test('R28: requests of every method pass', () => {
  for (const { input } of methods)
    fc.assert(
      fc.property(randomMessage(input), (given) => {
        assert.equal(scanWire(input, toBinary(input, given), unlimited), undefined)
      }),
      { numRuns: 5 },
    )
})

test('R28: what passes the scan is decoded to its end, whatever the bytes are', () => {
  const pieces = fc.array(
    fc.oneof(
      fc.tuple(fc.integer({ min: 0, max: 32 }), fc.integer({ min: 0, max: 7 })).map(([n, w]) => tag(n, w)),
      fc.uint8Array({ maxLength: 6 }).map((some) => [...some]),
    ),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(pieces, (parts) => {
      const given = bytes(...parts)
      if (scanWire(allFieldKinds, given, unlimited) !== undefined) return
      try {
        fromBinary(allFieldKinds, given)
      } catch (error) {
        // The one thing that is left to the decoder.
        assert.match(String(error), /UTF-8|utf-8|encoded data/i)
      }
    }),
    { numRuns: 5000 },
  )
})

/** Fields and packed values as they are on the wire. */
function countElements(desc: DescMessage, given: Message): number {
  let elements = 0
  const message = reflect(desc, given)
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    const inside = (value: unknown) =>
      field.message === undefined ? 0 : countElements(field.message, (value as { message: Message }).message)
    switch (field.fieldKind) {
      case 'list': {
        const list = [...message.get(field)]
        const packed = field.packed ? 1 : 0
        elements += packed + list.length + list.reduce<number>((sum, one) => sum + inside(one), 0)
        break
      }
      case 'map':
        for (const [, value] of message.get(field)) elements += 3 + inside(value)
        break
      default:
        elements += 1 + inside(message.get(field))
    }
  }
  return elements
}
