import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasRepeatedMember } from './repeated-members.ts'

test('a member that an object has twice is found, however it is written and wherever it is', () => {
  for (const json of [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"b":[1,{"c":{"d":1}, "c" : []}]}',
    '[{"a":"}"},{"":1,"x":{},"":{}}]',
    '{"a":"\\\\","b":"\\"","b":1}',
    '{"__proto__":1,"__proto__":2}',
  ])
    assert.equal(hasRepeatedMember(json, JSON.parse(json)), true, json)
  for (const json of [
    '{}',
    '"a"',
    '{"a":"a","b":["a","a","b"],"c":{"a":1}}',
    '[{"a":1},{"a":1}]',
    '{"a":"\\",\\"a\\":1","b":{"b":{"b":"{\\"b"}}}',
    '{"a":1,"A":2}',
  ])
    assert.equal(hasRepeatedMember(json, JSON.parse(json)), false, json)
})

test('what is long or deep does not exhaust the stack', () => {
  const many = 500_000
  for (const json of [`{"a":"${'\\\\'.repeat(many)}"}`, `${'[{"a":'.repeat(many)}1${'}]'.repeat(many)}`])
    assert.equal(hasRepeatedMember(json, JSON.parse(json)), false)
})
