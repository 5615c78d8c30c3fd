import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchPath, parsePathTemplate, templatesOverlap } from './path-template.ts'

const match = (template: string, path: string) =>
  matchPath(parsePathTemplate(template), path.slice(1).split('/'))

const matches: readonly [template: string, path: string, values: string[] | undefined][] = [
  ['/v1/groups', '/v1/groups', []],
  ['/v1/groups', '/v1/groups/', undefined],
  ['/v1/groups', '/v1', undefined],
  ['/v1/{name}', '/v1/a', ['a']],
  ['/v1/{name=*}', '/v1/a', ['a']],
  ['/v1/{name=*}', '/v1/a/b', undefined],
  ['/v1/{name=*}', '/v1', undefined],
  ['/v1/{name=shelves/*/books/*}', '/v1/shelves/1/books/2', ['shelves/1/books/2']],
  ['/v1/{name=shelves/*/books/*}', '/v1/shelves/1/pages/2', undefined],
  ['/v1/*/{b}', '/v1/a/b', ['b']],
  ['/v1/groups/{uid=**}', '/v1/groups', ['']],
  ['/v1/groups/{uid=**}', '/v1/groups/', ['']],
  ['/v1/groups/{uid=**}', '/v1/groups/a', ['a']],
  ['/v1/groups/{uid=**}', '/v1/groups/a/b/c', ['a/b/c']],
  ['/v1/groups/{uid=**}', '/v1/groups/a/', ['a/']],
  ['/v1/groups/{uid=**}', '/v1/roles/a', undefined],
  ['/v1/groups/{group.uid=**}', '/v1/groups/a/b', ['a/b']],
  ['/v1/repos/{uid=**}/readme', '/v1/repos/a/b/readme', ['a/b']],
  ['/v1/repos/{uid=**}/readme', '/v1/repos/readme', ['']],
  ['/v1/repos/{uid=**}/readme', '/v1/repos/a/b', undefined],
  ['/v1/repos/{uid=**}/digests/{digest}/size', '/v1/repos/a/b/digests/sha256:0f/size', ['a/b', 'sha256:0f']],
  ['/v1/repos/{uid=**}/digests/{digest}/size', '/v1/repos/a/b/digests/size', undefined],
  ['/v1/groups:lookup', '/v1/groups:lookup', []],
  ['/v1/groups:lookup', '/v1/groups', undefined],
  ['/v1/groups/{uid=**}:ask', '/v1/groups/a/b:ask', ['a/b']],
  ['/v1/groups/{uid=**}:ask', '/v1/groups/a:b:ask', ['a:b']],
  ['/v1/groups/{uid=**}:ask', '/v1/groups/a:tell', undefined],
  ['/v1/groups/{uid=**}', '/v1/groups/a:tell', ['a:tell']],
]

for (const [template, path, values] of matches) {
  test(`${template} ${values === undefined ? 'rejects' : 'matches'} ${path}`, () => {
    assert.deepEqual(match(template, path), values)
  })
}

for (const template of [
  '',
  'v1',
  '/v1/{a=**}/{b=**}',
  '/v1/{}',
  '/v1/{a',
  '/v1/{a}b',
  '/v1//a',
  '/v1/a b',
  '/v1/{A}',
]) {
  test(`${JSON.stringify(template)} is not a template`, () => {
    assert.throws(() => parsePathTemplate(template), /malformed/)
  })
}

const pairs: readonly [string, string, boolean][] = [
  ['/a/{x=**}', '/a/{y=**}', true],
  ['/a/{x=**}', '/b/{y=**}', false],
  ['/a/{x=**}', '/a/b', true],
  ['/a/{x=**}', '/a', true],
  ['/a/{x=**}/b', '/a', false],
  ['/a/{x}', '/a/b', true],
  ['/a/{x}', '/a/b/c', false],
  ['/a/{x=**}/b', '/a/{y=**}/c', false],
  ['/a/{x=**}/b/{z}', '/a/{y=**}/{w}/c', true],
  ['/a/{x=**}:v', '/a/{x=**}', false],
]

for (const [a, b, expected] of pairs) {
  test(`${a} and ${b} ${expected ? 'share' : 'share no'} paths`, () => {
    assert.equal(templatesOverlap(parsePathTemplate(a), parsePathTemplate(b)), expected)
    assert.equal(templatesOverlap(parsePathTemplate(b), parsePathTemplate(a)), expected)
  })
}

test('whatever uid is put into a path comes out of it', () => {
  const uid = fc
    .array(fc.stringMatching(/^[0-9a-f]{1,8}$/), { minLength: 1, maxLength: 6 })
    .map((s) => s.join('/'))
  fc.assert(
    fc.property(
      uid,
      fc.constantFrom('/v1/g/{u=**}', '/v1/g/{u=**}/readme', '/v1/g/{u=**}:ask'),
      (value, template) => {
        assert.deepEqual(match(template, template.replace('{u=**}', value)), [value])
      },
    ),
  )
})
