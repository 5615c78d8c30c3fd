import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../config/limits.ts'
import { parseUntrustedJson } from './untrusted-json.ts'

test('JSON within the limits is parsed; beyond them, or not JSON, it is a SyntaxError that does not quote it', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const list = (values: number) => `[${Array.from({ length: values }, () => 1).join(',')}]`
  assert.deepEqual(parseUntrustedJson('{"a":[1,"b",null]}'), { a: [1, 'b', null] })
  assert.deepEqual(parseUntrustedJson(nested(limits.jsonDepthMax)), JSON.parse(nested(limits.jsonDepthMax)))
  assert.deepEqual(parseUntrustedJson(list(limits.jsonElementsMax)), JSON.parse(list(limits.jsonElementsMax)))
  for (const [json, message] of [
    [nested(limits.jsonDepthMax + 1), /nests more than/],
    [nested(50_000), /nests more than/],
    [list(limits.jsonElementsMax + 1), /values/],
    ['secret', /^the text is not JSON$/],
  ] as const)
    assert.throws(() => parseUntrustedJson(json), { name: 'SyntaxError', message })
})
