import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { IdentitySchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { RepoSchema } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { create, type DescMessage, equals, type Message } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { allFieldKinds } from '../../../../test/support/api/all-field-kinds.ts'
import { randomMessage } from '../../../../test/support/api/random-message.ts'
import { applyMask, camelCasePath, type Mask, resolveMask, touches } from './field-mask.ts'

const kinds = (init: object): Message => create(allFieldKinds, init as never)

function maskOf(desc: DescMessage, paths: readonly string[], patch: Message = create(desc)): Mask {
  const resolved = resolveMask(desc, paths, patch)
  assert.ok('mask' in resolved, JSON.stringify(resolved))
  return resolved.mask
}

const valid: readonly [given: string[], paths: string[]][] = [
  [['text'], ['text']],
  [['tagList', 'tag_list'], ['tag_list']],
  [['inner.subName'], ['inner.sub_name']],
  [
    ['inner', 'inner.name'],
    ['inner', 'inner.name'],
  ],
  [['self.self.inner.name'], ['self.self.inner.name']],
  [
    ['asInner.name', 'atTime', 'labels'],
    ['as_inner.name', 'at_time', 'labels'],
  ],
  [['keptName', 'kept_name'], ['kept_name']],
]
for (const [given, paths] of valid) {
  test(`the mask ${given} is valid`, () =>
    assert.deepEqual(maskOf(allFieldKinds, given), { all: false, paths }))
}

for (const path of [
  '',
  'nope',
  'Text',
  'inner.nope',
  'inner.',
  '.inner',
  'text.x',
  'tag_list.0',
  'tag_list[0]',
  'inner_list.name',
  'labels.a',
  'labels.`a`',
  'at_time.seconds',
  'all_kinds.text',
  '__proto__',
  'choice',
]) {
  test(`the path ${JSON.stringify(path)} is a violation`, () => {
    const resolved = resolveMask(allFieldKinds, ['text', path], create(allFieldKinds))
    assert.ok('violation' in resolved)
    assert.equal(resolved.violation.field, 'update_mask')
  })
}

test('a star must be the only path', () => {
  assert.deepEqual(maskOf(allFieldKinds, ['*']), { all: true, paths: [] })
  assert.ok('violation' in resolveMask(allFieldKinds, ['*', 'text'], create(allFieldKinds)))
})

test('without paths the populated leaves of the patch apply', () => {
  const patch = kinds({
    text: 'a',
    flag: false,
    maybeCount: 0,
    tagList: [],
    labels: { a: 'b' },
    inner: { subName: 's' },
    self: {},
    choice: { case: 'asText', value: '' },
    atTime: {},
    blob: new Uint8Array(1),
  })
  const expected = ['text', 'blob', 'labels', 'inner.sub_name', 'as_text', 'maybe_count', 'at_time', 'self']
  assert.deepEqual(maskOf(allFieldKinds, [], patch), { all: false, paths: expected })
  assert.deepEqual(resolveMask(allFieldKinds, undefined, kinds({})), { mask: { all: false, paths: [] } })
})

const rows: readonly [name: string, mask: string[], current: object, patch: object, result: object][] = [
  [
    'a listed field is set',
    ['text'],
    { text: 'a', small: 1 },
    { text: 'b', small: 2 },
    { text: 'b', small: 1 },
  ],
  [
    'a listed field that is missing is reset to its default',
    ['text', 'inner', 'nick_name'],
    { text: 'a', inner: {}, nickName: 'n', small: 1 },
    {},
    { small: 1 },
  ],
  [
    'a whole message is replaced',
    ['inner'],
    { inner: { name: 'a', subName: 'b' } },
    { inner: { name: 'c' } },
    { inner: { name: 'c' } },
  ],
  [
    'a path to a sub-field changes only that leaf',
    ['inner.name'],
    { inner: { name: 'a', subName: 'b' } },
    { inner: { name: 'c', subName: 'd' } },
    { inner: { name: 'c', subName: 'b' } },
  ],
  ['a sub-field makes its message', ['inner.name'], {}, { inner: { name: 'c' } }, { inner: { name: 'c' } }],
  ['a sub-field that neither message has creates nothing', ['inner.name', 'as_inner.name'], {}, {}, {}],
  [
    'a sub-field is reset in an existing message',
    ['inner.name'],
    { inner: { name: 'a', subName: 'b' } },
    {},
    { inner: { subName: 'b' } },
  ],
  [
    'a whole message takes precedence over its sub-field',
    ['inner.name', 'inner'],
    { inner: { name: 'a', subName: 'b' } },
    { inner: { name: 'c' } },
    { inner: { name: 'c' } },
  ],
  [
    'lists and maps are replaced',
    ['tag_list', 'labels'],
    { tagList: ['a'], labels: { a: 'a' } },
    { tagList: ['b'], labels: { b: 'b' } },
    { tagList: ['b'], labels: { b: 'b' } },
  ],
  [
    'a oneof member clears its siblings',
    ['as_text'],
    { choice: { case: 'asColor', value: 1 } },
    { choice: { case: 'asText', value: 't' } },
    { choice: { case: 'asText', value: 't' } },
  ],
  [
    'a part of a oneof member clears the siblings',
    ['as_inner.name'],
    { choice: { case: 'asText', value: 't' } },
    { choice: { case: 'asInner', value: { name: 'a', subName: 'b' } } },
    { choice: { case: 'asInner', value: { name: 'a' } } },
  ],
  [
    'a oneof member that the patch lacks is unset',
    ['as_text'],
    { choice: { case: 'asText', value: 't' } },
    {},
    {},
  ],
  [
    'a oneof member that the patch lacks leaves its siblings',
    ['as_text', 'as_inner.name'],
    { choice: { case: 'asColor', value: 1 } },
    {},
    { choice: { case: 'asColor', value: 1 } },
  ],
  [
    'a star replaces everything',
    ['*'],
    { text: 'a', inner: { name: 'a' }, choice: { case: 'asText', value: 't' }, nickName: 'n' },
    { small: 1 },
    { small: 1 },
  ],
  ['no paths and an empty patch change nothing', [], { text: 'a' }, {}, { text: 'a' }],
]
for (const [name, paths, current, patch, result] of rows) {
  test(name, () => {
    const mask = maskOf(allFieldKinds, paths, kinds(patch))
    const before = kinds(current)
    assert.ok(equals(allFieldKinds, applyMask(allFieldKinds, before, kinds(patch), mask), kinds(result)))
    assert.ok(equals(allFieldKinds, before, kinds(current)), 'the current message stays as it is')
  })
}

test('output-only fields are never copied from a patch', () => {
  const current = create(GroupSchema, { uid: 'u', name: 'n', description: 'd', createTime: { seconds: 1n } })
  const patch = create(GroupSchema, {
    uid: 'x',
    name: 'm',
    createTime: { seconds: 2n },
    resourceLimits: { a: 1 },
  })
  const expected = create(GroupSchema, { uid: 'u', name: 'm', createTime: { seconds: 1n } })
  const all = ['uid', 'name', 'description', 'createTime', 'resource_limits']
  for (const paths of [['*'], all]) {
    const result = applyMask(GroupSchema, current, patch, maskOf(GroupSchema, paths, patch))
    assert.ok(equals(GroupSchema, result, expected))
  }
  const implied = applyMask(GroupSchema, current, patch, maskOf(GroupSchema, [], patch))
  assert.ok(equals(GroupSchema, implied, create(GroupSchema, { ...expected, description: 'd' })))
})

test('a mask touches a field by naming it, a part of it, or its parent', () => {
  const mask = maskOf(allFieldKinds, ['text', 'inner.name', 'self'])
  const touched = ['text', 'inner', 'inner.name', 'self', 'self.inner']
  const untouched = ['tex', 'inner.sub_name', 'small', 'self_x']
  for (const path of touched) assert.ok(touches(mask, path), path)
  for (const path of untouched) assert.ok(!touches(mask, path), path)
  assert.ok(touches(maskOf(allFieldKinds, ['*']), 'small'))
})

test('paths are spelled in camelCase', () => {
  assert.deepEqual(['name', 'claim_match.sub_issuer', 'a_1b'].map(camelCasePath), [
    'name',
    'claimMatch.subIssuer',
    'a1b',
  ])
})

const allPaths = (desc: DescMessage, depth = 2): string[] =>
  desc.fields.flatMap((field) => {
    const inside =
      field.fieldKind === 'message' && depth > 0 && !field.message.typeName.startsWith('google.')
        ? allPaths(field.message, depth - 1).map((path) => `${field.name}.${path}`)
        : []
    return [field.name, ...inside]
  })

for (const desc of [allFieldKinds, GroupSchema, IdentitySchema, RepoSchema] as DescMessage[]) {
  const message = randomMessage(desc)
  const paths = fc.oneof(fc.constant(['*']), fc.subarray(allPaths(desc)))

  test(`${desc.name}: applying a mask twice is applying it once`, () => {
    fc.assert(
      fc.property(message, message, paths, (current, patch, listed) => {
        const mask = maskOf(desc, listed, patch)
        const once = applyMask(desc, current, patch, mask)
        assert.ok(equals(desc, applyMask(desc, once, patch, mask), once))
      }),
      { numRuns: 50 },
    )
  })

  test(`${desc.name}: a star replaces the writable part and keeps the rest`, () => {
    fc.assert(
      fc.property(message, message, (current, patch) => {
        const star = maskOf(desc, ['*'])
        const result = applyMask(desc, current, patch, star)
        // The writable part of a message is what is set when it is applied to an empty one.
        const writable = (of: Message) => applyMask(desc, create(desc), of, star)
        assert.ok(equals(desc, writable(result), writable(patch)))
        // Fields that are not writable come from the current message, whatever the patch contains.
        const bare = applyMask(desc, current, create(desc), star)
        assert.ok(equals(desc, applyMask(desc, result, create(desc), star), bare))
      }),
    )
  })

  test(`${desc.name}: fields outside the mask stay`, () => {
    fc.assert(
      fc.property(message, message, fc.subarray(allPaths(desc, 0)), (current, patch, listed) => {
        fc.pre(listed.length > 0)
        const result = applyMask(desc, current, patch, maskOf(desc, listed, patch)) as Message &
          Record<string, unknown>
        for (const field of desc.fields) {
          if (field.oneof !== undefined || listed.includes(field.name)) continue
          assert.deepEqual(result[field.localName], (current as typeof result)[field.localName], field.name)
        }
      }),
    )
  })
}
