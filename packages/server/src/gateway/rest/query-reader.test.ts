import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ListGroupsRequestSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create, equals } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { allFieldKinds } from '../../../../../test/support/api/all-field-kinds.ts'
import { ApiError } from '../../api/errors.ts'
import { createQueryReader } from './query-reader.ts'

const bound = ['small', 'inner.name', 'self']
const reader = createQueryReader(allFieldKinds, bound)!

function read(...texts: string[]) {
  const message = create(allFieldKinds)
  reader(message, texts)
  return message
}

const accepted: readonly [query: string, init: object][] = [
  ['', {}],
  ['&&', {}],
  ['text=a', { text: 'a' }],
  ['text=a+b%20c%2Bd%C3%A9', { text: 'a b c+dé' }],
  ['text=a=b', { text: 'a=b' }],
  ['text', {}],
  ['nick_name=', { nickName: '' }],
  ['nickName=a', { nickName: 'a' }],
  ['%74ext=a', { text: 'a' }],
  ['Text=a&nope=1&nope.x=1&inner.nope=1', {}],
  ['small=1&inner.name=a&self.text=b&self=c&small.x=1', {}],
  ['inner.subName=a', { inner: { subName: 'a' } }],
  ['inner.sub_name=a', { inner: { subName: 'a' } }],
  ['tag_list=a,b&tagList=c', { tagList: ['a,b', 'c'] }],
  ['tag_list=', { tagList: [''] }],
  ['numbers=1&numbers=-2', { numbers: [1n, -2n] }],
  ['colors=RED&colors=-1', { colors: [1, -1] }],
  ['color=0', {}],
  ['unsigned_small=%2B5&large=-9223372036854775808', { unsignedSmall: 5, large: -9223372036854775808n }],
  ['ratio=1.5e3&single=-Infinity', { ratio: 1500, single: Number.NEGATIVE_INFINITY }],
  ['blob=-_8', { blob: new Uint8Array([0xfb, 0xff]) }],
  ['at_time=2025-01-02T05:04:05%2B02:00', { atTime: { seconds: 1735787045n, nanos: 0 } }],
  ['at_time.seconds=5', { atTime: { seconds: 5n, nanos: 0 } }],
  ['wait_time=1.5s', { waitTime: { seconds: 1n, nanos: 500_000_000 } }],
  ['the_mask=a,b.cD', { theMask: { paths: ['a', 'b.cD'] } }],
  ['theMask=', {}],
  ['as_text=a', { choice: { case: 'asText', value: 'a' } }],
  [
    'as_inner.name=a&as_inner.sub_name=b',
    { choice: { case: 'asInner', value: { name: 'a', subName: 'b' } } },
  ],
  ['kept_name=a', { keptName: 'a' }],
]
for (const [query, init] of accepted) {
  test(`${query || 'an empty query'} is read`, () => {
    assert.ok(equals(allFieldKinds, read(query), create(allFieldKinds, init as never)))
  })
}

test('a strict reader rejects an unknown parameter, and names the ones that exist', () => {
  const strict = createQueryReader(ListGroupsRequestSchema, ['page_token', 'uidp.ids'], 'refused')!
  const known =
    'uidp.ancestors_of, uidp.descendants_of, uidp.children_of, uidp.in_root, name, page_size, order_by, skip'
  for (const name of ['nope', 'uidp.nope', 'Name', 'x'.repeat(200)])
    assert.throws(
      () => strict(create(ListGroupsRequestSchema), [`name=a&${name}=1`]),
      (error: unknown) => {
        assert.ok(error instanceof ApiError)
        const description = `is not a parameter of this method, which has ${known}`
        assert.equal(error.message, `Invalid argument: ${name.slice(0, 100)}: ${description}`)
        return true
      },
    )
  // Path and body fill these.
  strict(create(ListGroupsRequestSchema), ['page_token=a&uidp.ids=b'])
  const empty = createQueryReader(ListGroupsRequestSchema, ['*'], 'refused')!
  assert.throws(() => empty(create(ListGroupsRequestSchema), ['nope=1']), /this method has no parameters/)
})

for (const text of ['1', 't', 'T', 'TRUE', 'true', 'True']) {
  test(`flag=${text} is true`, () =>
    assert.equal((read(`flag=${text}`) as unknown as { flag: boolean }).flag, true))
}
for (const text of ['0', 'f', 'F', 'FALSE', 'false', 'False']) {
  test(`flag=${text} is false`, () =>
    assert.equal((read(`flag=${text}`) as unknown as { flag: boolean }).flag, false))
}

const refused: readonly [query: string, field: string][] = [
  ['text=a&text=b', 'text'],
  ['nick_name=a&nickName=b', 'nick_name'],
  ['inner.sub_name=a&inner.subName=a', 'inner.sub_name'],
  ['unsignedSmall=', 'unsigned_small'],
  ['unsigned_small=4294967296', 'unsigned_small'],
  ['unsigned_small=-1', 'unsigned_small'],
  ['unsigned_small=1.0', 'unsigned_small'],
  ['unsigned_small=0x1', 'unsigned_small'],
  ['unsigned_small=%201', 'unsigned_small'],
  ['large=9223372036854775808', 'large'],
  ['flag=', 'flag'],
  ['flag=yes', 'flag'],
  ['color=red', 'color'],
  ['color=7', 'color'],
  ['color=', 'color'],
  ['ratio=x', 'ratio'],
  ['blob=%25', 'blob'],
  ['at_time=now', 'at_time'],
  ['inner=x', 'inner'],
  ['inner=', 'inner'],
  ['text.x=1', 'text'],
  ['inner.sub_name.x=1', 'inner.sub_name'],
  ['inner_list.name=a', 'inner_list'],
  ['inner_list=a', 'inner_list'],
  ['labels=a', 'labels'],
  ['the_mask=a&theMask=b', 'the_mask'],
  ['as_text=a&as_color=RED', 'as_color'],
  ['text=%zz', 'query'],
  ['text=%ff', 'query'],
  ['%zz=a', 'query'],
]
for (const [query, field] of refused) {
  test(`${query} is refused`, () => {
    assert.throws(
      () => read(query),
      (error) => {
        assert.ok(error instanceof ApiError)
        const detail = error.details[0]
        assert.equal(detail?.kind, 'BadRequest')
        assert.equal(detail.fieldViolations[0]?.field, field)
        return error.code === 3
      },
    )
  })
}

test('a query and a form count as one', () => {
  assert.ok(
    equals(
      allFieldKinds,
      read('text=a', 'nick_name=b'),
      create(allFieldKinds, { text: 'a', nickName: 'b' } as never),
    ),
  )
  assert.throws(() => read('text=a', 'text=a'), /more than once/)
})

test('a request whose fields are all bound does not read the query', () => {
  assert.equal(createQueryReader(allFieldKinds, ['*']), undefined)
  assert.equal(
    createQueryReader(
      ListGroupsRequestSchema,
      ListGroupsRequestSchema.fields.map(({ name }) => name),
    ),
    undefined,
  )
})

test('list parameters are understood in both spellings', () => {
  const list = createQueryReader(ListGroupsRequestSchema, [])!
  const message = create(ListGroupsRequestSchema)
  list(message, [
    'uidp.descendants_of=a/b&uidp.ids=c&uidp.ids=d&pageSize=2&page_token=t&order_by=name+desc&skip=3',
  ])
  const { uidp, ...rest } = message
  assert.deepEqual([uidp?.descendantsOf, uidp?.ids], ['a/b', ['c', 'd']])
  assert.deepEqual([rest.pageSize, rest.pageToken, rest.orderBy, rest.skip], [2, 't', 'name desc', 3])
})

test('whatever the query is, it is read or refused with code 3', () => {
  const names = allFieldKinds.fields.map(({ name }) => name)
  const pair = fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string()), fc.string({ unit: 'binary' }))
  const query = fc.array(pair.map(([name, value]) => `${name}=${value}`)).map((pairs) => pairs.join('&'))
  fc.assert(
    fc.property(query, (text) => {
      try {
        read(text)
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 3, String(error))
      }
    }),
    { numRuns: 500 },
  )
})
