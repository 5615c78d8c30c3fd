import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, equals } from '@bufbuild/protobuf'
import { AnySchema, StructSchema } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { allFieldKinds } from '../../../../../test/support/api/all-field-kinds.ts'
import { ApiError } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createJsonReader, fieldPathAsSent, parseInSlices, presentPaths } from './reader.ts'

const read = createJsonReader(allFieldKinds)

/** `field: description` of the violation with which a body is refused. */
function refusal(body: string | Uint8Array): string {
  try {
    read(body)
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.equal(error.code, 3)
    const detail = error.details[0]
    assert.equal(detail?.kind, 'BadRequest')
    const violation = detail.fieldViolations[0]!
    return `${violation.field}: ${violation.description}`
  }
  return 'accepted'
}

const inner = (name: string) => ({ name, subName: '' })

const accepted: readonly [body: string, init: object][] = [
  ['', {}],
  [' \n', {}],
  ['{}', {}],
  ['\ufeff{"text":"a"}', { text: 'a' }],
  ['{"text":"é😀"}', { text: 'é😀' }],
  ['{"text":null,"inner":null,"asText":null,"tagList":null}', {}],
  ['{"asText":"a","asInner":null}', { choice: { case: 'asText', value: 'a' } }],
  ['{"unsignedSmall":1,"tag_list":["a"],"nickName":""}', { unsignedSmall: 1, tagList: ['a'], nickName: '' }],
  ['{"kept_name":"a"}', { keptName: 'a' }],
  ['{"keptName":"a"}', { keptName: 'a' }],
  ['{"small":-2147483648,"unsignedSmall":4294967295}', { small: -2147483648, unsignedSmall: 4294967295 }],
  ['{"small":"12","large":"-9223372036854775808"}', { small: 12, large: -9223372036854775808n }],
  ['{"small":1.0,"large":1e3,"unsignedLarge":"1e3"}', { small: 1, large: 1000n, unsignedLarge: 1000n }],
  ['{"large":9007199254740991}', { large: 9007199254740991n }],
  [
    '{"ratio":"Infinity","single":"-Infinity"}',
    { ratio: Number.POSITIVE_INFINITY, single: Number.NEGATIVE_INFINITY },
  ],
  ['{"ratio":1e308,"single":"1.5"}', { ratio: 1e308, single: 1.5 }],
  ['{"color":"RED","colors":[1,7,"BELOW"]}', { color: 1, colors: [1, 7, -1] }],
  ['{"blob":"+/8="}', { blob: new Uint8Array([0xfb, 0xff]) }],
  ['{"blob":"-_8"}', { blob: new Uint8Array([0xfb, 0xff]) }],
  [
    '{"labels":{"a":"b"},"byNumber":{"-5":{"name":"x"}}}',
    { labels: { a: 'b' }, byNumber: { '-5': inner('x') } },
  ],
  ['{"byFlag":{"true":"1"},"byColor":{"1":"RED"}}', { byFlag: { true: 1n }, byColor: { 1: 1 } }],
  ['{"atTime":"2025-01-02T05:04:05+02:00"}', { atTime: { seconds: 1735787045n, nanos: 0 } }],
  ['{"waitTime":"1.5s"}', { waitTime: { seconds: 1n, nanos: 500_000_000 } }],
  ['{"theMask":"aB,c.dE,f_g"}', { theMask: { paths: ['a_b', 'c.d_e', 'f_g'] } }],
  ['{"inner":{},"innerList":[{"sub_name":"s"}]}', { inner: {}, innerList: [{ name: '', subName: 's' }] }],
  ['{"self":{"self":{"text":"a:{[\\"\\\\"}}}', { self: { self: { text: 'a:{["\\' } } }],
]
for (const [body, init] of accepted) {
  test(`${JSON.stringify(body)} is read`, () => {
    assert.ok(equals(allFieldKinds, read(body).message, create(allFieldKinds, init as never)))
    assert.ok(
      equals(
        allFieldKinds,
        read(new TextEncoder().encode(body)).message,
        create(allFieldKinds, init as never),
      ),
    )
  })
}

const refused: readonly [body: string, refusal: string | RegExp][] = [
  ['{', /^body: the body is not valid JSON/],
  ['{"text":"a"\n  "b"}', 'body: the body is not valid JSON (line 2, column 3)'],
  ['nul', /not valid JSON/],
  ['null', 'body: the body must be an object'],
  ['[]', 'body: the body must be an object'],
  ['"a"', 'body: the body must be an object'],
  ['{"nope":1}', 'nope: is not a known field'],
  ['{"nope":null}', 'nope: is not a known field'],
  ['{"__proto__":{}}', '__proto__: is not a known field'],
  ['{"constructor":1}', 'constructor: is not a known field'],
  ['{"inner":{"sub":1}}', 'inner.sub: is not a known field'],
  ['{"innerList":[{},{"sub":1}]}', 'innerList[1].sub: is not a known field'],
  ['{"Text":"a"}', 'Text: is not a known field'],
  ['{"tagList":[],"tag_list":[]}', 'tagList: is repeated'],
  ['{"tag_list":null,"tagList":[]}', 'tag_list: is repeated'],
  ['{"text":"a","text":"a"}', 'text: is repeated'],
  ['{"inner":{"name":"a"},"innerList":[{"name":"a","na\\u006de":"b"}]}', 'innerList[0].name: is repeated'],
  ['{"labels":{"a":"1","a":"2"}}', 'labels.a: is repeated'],
  ['{"byNumber":{"1":{},"+1":{}}}', 'byNumber.+1: is repeated'],
  ['{"asText":"a","asInner":{}}', 'asInner: only one field of choice can be given'],
  ['{"text":1}', 'text: must be a string'],
  ['{"text":{}}', 'text: must be a string'],
  ['{"text":"\\ud800"}', 'text: is not Unicode text: it has half of a surrogate pair'],
  ['{"labels":{"\\ud800":"a"}}', /half of a surrogate pair/],
  ['{"flag":"true"}', 'flag: must be true or false'],
  ['{"flag":1}', 'flag: must be true or false'],
  ['{"small":2147483648}', 'small: must be a 32-bit integer'],
  ['{"small":1.5}', 'small: must be a 32-bit integer'],
  ['{"small":""}', 'small: must be a 32-bit integer'],
  ['{"small":" 1"}', 'small: must be a 32-bit integer'],
  ['{"small":true}', 'small: must be a 32-bit integer'],
  ['{"unsigned_small":-1}', 'unsigned_small: must be an unsigned 32-bit integer'],
  ['{"large":"9223372036854775808"}', 'large: must be a 64-bit integer'],
  ['{"large":9007199254740993}', 'large: is too large to be exact as a number: write it as a string'],
  ['{"unsignedLarge":"-1"}', 'unsignedLarge: must be an unsigned 64-bit integer'],
  ['{"ratio":1e999}', 'ratio: must be a number'],
  ['{"ratio":"nan"}', 'ratio: must be a number'],
  ['{"single":1e39}', 'single: must be a number'],
  ['{"blob":"a"}', 'blob: must be base64 text'],
  ['{"blob":"a b="}', 'blob: must be base64 text'],
  ['{"blob":"YQ="}', 'blob: must be base64 text'],
  ['{"color":"GREEN"}', 'color: must be one of the values of Color'],
  ['{"color":"1"}', 'color: must be one of the values of Color'],
  ['{"color":1.5}', 'color: must be one of the values of Color'],
  ['{"color":4294967296}', 'color: must be one of the values of Color'],
  ['{"tagList":"a"}', 'tagList: must be a list'],
  ['{"tagList":{}}', 'tagList: must be a list'],
  ['{"tagList":["a",null]}', 'tagList[1]: must be a string'],
  ['{"labels":[]}', 'labels: must be an object'],
  ['{"labels":{"a":null}}', 'labels.a: must be a string'],
  ['{"byNumber":{"x":{}}}', 'byNumber.x: the key must be a 64-bit integer'],
  ['{"byFlag":{"1":1}}', 'byFlag.1: the key must be true or false'],
  ['{"inner":[]}', 'inner: must be an object'],
  ['{"inner":"a"}', 'inner: must be an object'],
  ['{"atTime":"yesterday"}', 'atTime: must be an RFC 3339 timestamp, such as 2025-01-02T03:04:05Z'],
  ['{"atTime":{"seconds":1}}', 'atTime: must be an RFC 3339 timestamp, such as 2025-01-02T03:04:05Z'],
  ['{"waitTime":1}', 'waitTime: must be a duration in seconds, such as 1.5s'],
  ['{"theMask":["a"]}', 'theMask: must be a string'],
]
for (const [body, expected] of refused) {
  test(`${body} is refused`, () => {
    const actual = refusal(body)
    if (typeof expected === 'string') assert.equal(actual, expected)
    else assert.match(actual, expected)
  })
}

test('NaN is read', () => {
  assert.equal((read('{"ratio":"NaN"}').message as unknown as { ratio: number }).ratio, Number.NaN)
})

test('a map key named __proto__ is a key, and no prototype', () => {
  const { labels, byNumber } = read('{"labels":{"__proto__":"a"},"byNumber":{}}').message as unknown as {
    labels: Record<string, string>
    byNumber: object
  }
  assert.deepEqual(Object.entries(labels), [['__proto__', 'a']])
  assert.equal(Object.getPrototypeOf(byNumber), Object.prototype)
})

test('bytes that are not UTF-8 are refused', () => {
  assert.match(refusal(new Uint8Array([0x7b, 0xff, 0x7d])), /not UTF-8/)
})

test('nesting is refused by its depth before anything recurses', () => {
  const nested = (depth: number) => `${'{"self":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
  assert.equal(refusal(nested(limits.jsonDepthMax)), 'accepted')
  assert.match(refusal(nested(limits.jsonDepthMax + 1)), /nested more than 32 levels deep/)
  assert.match(refusal('['.repeat(500_000)), /nested more than 32 levels deep/)
})

test('whatever the bytes are, a body is read or refused with code 3', () => {
  const bodies = fc.oneof(
    fc.uint8Array(),
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .array(fc.constantFrom('{', '}', '[', ']', ':', ',', '"', '\\', 'text', 'inner', '1', 'null'))
      .map((a) => a.join('')),
  )
  fc.assert(
    fc.property(bodies, (body) => void refusal(body)),
    { numRuns: 500 },
  )
})

test('types whose JSON is not fixed are refused', () => {
  for (const desc of [AnySchema, StructSchema])
    assert.throws(() => createJsonReader(desc), /has no JSON reader/)
})

const masks: readonly [body: string, paths: string[]][] = [
  ['', []],
  ['{}', []],
  ['{"text":"","flag":null}', ['text', 'flag']],
  ['{"tagList":[],"labels":{"a":"b"}}', ['tag_list', 'labels']],
  ['{"inner":{"subName":"a"}}', ['inner.sub_name']],
  ['{"inner":{}}', ['inner']],
  ['{"inner":null}', ['inner']],
  ['{"innerList":[{"name":"a"}]}', ['inner_list']],
  ['{"self":{"inner":{"name":null},"text":"a"}}', ['self.inner.name', 'self.text']],
  ['{"atTime":"2025-01-02T03:04:05Z","color":"RED","as_text":"a"}', ['at_time', 'color', 'as_text']],
  ['{"keptName":"a"}', ['kept_name']],
]
for (const [body, paths] of masks) {
  test(`${body || 'no body'} stands for the paths ${paths.join(', ') || 'none'}`, () => {
    assert.deepEqual(presentPaths(allFieldKinds, read(body).json), paths)
  })
}

const spellings: readonly [body: string, path: string, spelled: string][] = [
  ['{"inner":{"subName":1}}', 'inner.subName', 'inner.subName'],
  ['{"inner":{"sub_name":1}}', 'inner.subName', 'inner.sub_name'],
  ['{"inner":{"subName":1}}', 'inner.sub_name', 'inner.subName'],
  ['{"inner_list":[{},{"sub_name":1}]}', 'innerList[1].subName', 'inner_list[1].sub_name'],
  ['{}', 'innerList[1].subName', 'innerList[1].subName'],
  ['{"inner_list":[]}', 'innerList[1].subName', 'inner_list[1].subName'],
  ['{"keptName":"a"}', 'kept_name', 'keptName'],
  ['{}', 'page_size', 'page_size'],
  ['{}', '', ''],
]
for (const [body, path, spelled] of spellings) {
  test(`${path || 'no path'} is spelled ${spelled || 'no path'} for ${body}`, () => {
    assert.equal(fieldPathAsSent(allFieldKinds, JSON.parse(body), path), spelled)
  })
}

test('a body that is parsed in steps is read or refused as one that is not', async () => {
  const read = createJsonReader(allFieldKinds)
  for (const body of [
    '{"text":"a","tagList":["b"]}',
    '',
    ' ',
    '{',
    '{"text":1}',
    '{"flag":true,"flag":true}',
    '\ufeff{}',
  ]) {
    const bytes = Buffer.from(body)
    const outcome = async (work: () => unknown) => {
      try {
        return await work()
      } catch (error) {
        return String(error)
      }
    }
    assert.deepEqual(
      await outcome(async () => read(await parseInSlices(bytes))),
      await outcome(() => read(bytes)),
      body,
    )
  }
})

test('R28: the place of a mistake behind many lines is named without a list of lines', () => {
  assert.throws(
    () => createJsonReader(allFieldKinds)(`{${'\n'.repeat(1_000_000)}  x}`),
    /line 1000001, column 3/,
  )
})
