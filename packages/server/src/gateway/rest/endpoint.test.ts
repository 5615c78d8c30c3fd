import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contractFiles, isV1 } from '@berth/contract/schema-files.ts'
import { accessRuleOf } from '../../pipeline/authorize.ts'
import { compileEndpoint } from './endpoint.ts'
import { routesOf } from './routes.ts'

test('every route of the schema fits the messages of its method', () => {
  const routes = routesOf(contractFiles.flatMap((file) => file.services))
  assert.ok(routes.length > 200)
  for (const route of routes) {
    const rule = accessRuleOf(route.method)
    const scopePath = rule.kind === 'scoped' ? rule.path : undefined
    const endpoint = compileEndpoint(route, isV1(route.method.parent) ? 'version 1' : 'current', scopePath)
    assert.equal(endpoint.method, route.method)
  }
})

test('a route does not fit if it names a field that its message lacks', () => {
  const [route] = routesOf(contractFiles.flatMap((file) => file.services))
  assert.ok(route)
  assert.throws(() => compileEndpoint({ ...route, body: 'missing' }), /missing/)
})
