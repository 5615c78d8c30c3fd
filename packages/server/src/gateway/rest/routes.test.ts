import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import type { DescMethod } from '@bufbuild/protobuf'
import { parsePathTemplate } from './path-template.ts'
import { createRouteLookup, type Route } from './routes.ts'

/** Of the methods only CreateGroup has fields: its parent may be empty. */
const methodOf = (template: string) =>
  template === '/iam/v2beta1/groups/{parent=**}'
    ? GroupsService.method.createGroup
    : ({
        name: template,
        parent: { typeName: 'test.Service' },
        input: { fields: [] as unknown },
      } as DescMethod)

const route = (httpMethod: string, template: string): Route => ({
  method: methodOf(template),
  httpMethod,
  template: parsePathTemplate(template),
  body: '',
})

const routes = [
  ['GET', '/iam/v2beta1/groups'],
  ['GET', '/iam/v2beta1/groups/{uid=**}'],
  ['POST', '/iam/v2beta1/groups/{parent=**}'],
  ['PATCH', '/iam/v2beta1/groups/{group.uid=**}'],
  ['DELETE', '/iam/v2beta1/groups/{uid=**}'],
  ['GET', '/iam/v2beta1/groups:lookupGroup'],
  ['POST', '/iam/v2beta1/groups/{group_uid=**}:requestGroupAccess'],
  ['POST', '/iam/v2beta1/roleBindings:batchCreate'],
  ['POST', '/iam/v2beta1/roleBindings/{parent=**}'],
  ['GET', '/registry/v2beta1/repos/{uid=**}'],
  ['GET', '/registry/v2beta1/repos/{uid=**}/readme'],
  ['GET', '/registry/v2beta1/repos/{repo_uid=**}/digests/{digest}/size'],
  ['POST', '/sts/exchange'],
  ['GET', '/sts/exchange'],
] as const
const lookup = createRouteLookup(
  routes.map(([method, template]) => route(method, template)),
  { v2beta1: 'v2' },
)

/** `METHOD template values`, or the kind of the refusal. */
const found = (method: string, path: string) => {
  const result = lookup(method, path)
  if (result.kind === 'route') return [result.route.httpMethod, result.route.template.text, ...result.values]
  return result.kind === 'wrong-method' ? [result.kind, ...result.allow] : [result.kind]
}

const rows: readonly [method: string, path: string, expected: string[]][] = [
  ['GET', '/iam/v2beta1/groups', ['GET', '/iam/v2beta1/groups']],
  ['HEAD', '/iam/v2beta1/groups', ['GET', '/iam/v2beta1/groups']],
  ['POST', '/iam/v2beta1/groups', ['POST', '/iam/v2beta1/groups/{parent=**}', '']],
  ['PATCH', '/iam/v2beta1/groups', ['PATCH', '/iam/v2beta1/groups/{group.uid=**}', '']],
  ['DELETE', '/iam/v2beta1/groups', ['DELETE', '/iam/v2beta1/groups/{uid=**}', '']],
  ['GET', '/iam/v2beta1/groups/', ['GET', '/iam/v2beta1/groups/{uid=**}', '']],
  ['GET', '/iam/v2beta1/groups/ab/cd', ['GET', '/iam/v2beta1/groups/{uid=**}', 'ab/cd']],
  ['GET', '/iam/v2beta1/groups/ab%2Fcd', ['GET', '/iam/v2beta1/groups/{uid=**}', 'ab/cd']],
  ['GET', '/iam/v2beta1/groups%2Fab%2fcd', ['GET', '/iam/v2beta1/groups/{uid=**}', 'ab/cd']],
  ['GET', '/iam/v2beta1/groups/a%20b', ['GET', '/iam/v2beta1/groups/{uid=**}', 'a b']],
  ['GET', '/iam/v2beta1/groups/a+b', ['GET', '/iam/v2beta1/groups/{uid=**}', 'a+b']],
  ['GET', '/iam/v2beta1/groups/%zz', ['malformed-path']],
  ['GET', '/iam/v2beta1/groups/%ff', ['malformed-path']],
  ['GET', '/iam/v2beta1/groups/%', ['malformed-path']],
  ['PUT', '/iam/v2beta1/groups', ['wrong-method', 'GET', 'HEAD', 'POST']],
  ['PUT', '/iam/v2beta1/groups/ab', ['wrong-method', 'DELETE', 'GET', 'HEAD', 'PATCH', 'POST']],
  ['get', '/iam/v2beta1/groups', ['wrong-method', 'GET', 'HEAD', 'POST']],
  ['DELETE', '/iam/v2beta1/roleBindings:batchCreate', ['wrong-method', 'POST']],
  ['GET', '/iam/v2beta1/groups:lookupGroup', ['GET', '/iam/v2beta1/groups:lookupGroup']],
  ['GET', '/iam/v2beta1/groups%3AlookupGroup', ['GET', '/iam/v2beta1/groups:lookupGroup']],
  [
    'POST',
    '/iam/v2beta1/groups/ab/cd:requestGroupAccess',
    ['POST', '/iam/v2beta1/groups/{group_uid=**}:requestGroupAccess', 'ab/cd'],
  ],
  [
    'GET',
    '/iam/v2beta1/groups/ab:requestGroupAccess',
    ['GET', '/iam/v2beta1/groups/{uid=**}', 'ab:requestGroupAccess'],
  ],
  ['POST', '/iam/v2beta1/groups/ab:other', ['POST', '/iam/v2beta1/groups/{parent=**}', 'ab:other']],
  ['POST', '/iam/v2beta1/roleBindings:batchCreate', ['POST', '/iam/v2beta1/roleBindings:batchCreate']],
  ['POST', '/iam/v2beta1/roleBindings', ['POST', '/iam/v2beta1/roleBindings/{parent=**}', '']],
  ['GET', '/registry/v2beta1/repos/a/b', ['GET', '/registry/v2beta1/repos/{uid=**}', 'a/b']],
  ['GET', '/registry/v2beta1/repos/a/b/readme', ['GET', '/registry/v2beta1/repos/{uid=**}/readme', 'a/b']],
  [
    'GET',
    '/registry/v2beta1/repos/a/b/digests/sha256:0f/size',
    ['GET', '/registry/v2beta1/repos/{repo_uid=**}/digests/{digest}/size', 'a/b', 'sha256:0f'],
  ],
  ['GET', '/iam/v2/groups/ab/cd', ['GET', '/iam/v2beta1/groups/{uid=**}', 'ab/cd']],
  ['GET', '/iam/v2/groups', ['GET', '/iam/v2beta1/groups']],
  ['GET', '/registry/v2/repos/a/readme', ['GET', '/registry/v2beta1/repos/{uid=**}/readme', 'a']],
  ['GET', '/iam/v1/groups', ['unknown-path']],
  ['GET', '/iam/v2beta1/nothing', ['unknown-path']],
  ['GET', '/iam/v2beta1', ['unknown-path']],
  ['GET', '/', ['unknown-path']],
  ['GET', '//iam/v2beta1/groups', ['unknown-path']],
  ['GET', '/iam/v2beta1/Groups', ['unknown-path']],
  ['GET', '/sts/exchange', ['GET', '/sts/exchange']],
  ['POST', '/sts/exchange', ['POST', '/sts/exchange']],
  ['GET', '/constructor', ['unknown-path']],
  ['GET', '*', ['unknown-path']],
]

for (const [method, path, expected] of rows) {
  test(`${method} ${path} is ${expected[0]}`, () => assert.deepEqual(found(method, path), expected))
}

test('the order in which routes are registered does not matter', () => {
  const reversed = createRouteLookup(
    routes.toReversed().map(([method, template]) => route(method, template)),
    { v2beta1: 'v2' },
  )
  for (const [method, path] of rows) {
    const [a, b] = [lookup(method, path), reversed(method, path)]
    assert.equal(b.kind, a.kind)
    if (a.kind === 'route' && b.kind === 'route') assert.deepEqual(b.values, a.values)
  }
})

const ambiguous: readonly (readonly [string, string])[] = [
  ['/a/{x=**}', '/a/{y=**}'],
  ['/a/b', '/a/b'],
  ['/a/{x}/b', '/a/{y}/b'],
  ['/a/{x=**}/b/{z}', '/a/{y=**}/{w}/c'],
  ['/a/{x=**}:v', '/a/{y=**}:v'],
]
for (const [a, b] of ambiguous) {
  test(`${a} and ${b} cannot both be GET routes`, () => {
    assert.throws(() => createRouteLookup([route('GET', a), route('GET', b)]), /cannot be distinguished/)
    assert.doesNotThrow(() => createRouteLookup([route('GET', a), route('POST', b)]))
  })
}

test('an alias must be free', () => {
  const taken = [route('GET', '/iam/v2beta1/a'), route('GET', '/iam/v2/a')]
  assert.throws(() => createRouteLookup(taken, { v2beta1: 'v2' }), /alias v2/)
})
