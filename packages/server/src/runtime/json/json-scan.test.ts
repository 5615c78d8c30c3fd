import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDuplicateMember, hasDuplicateMember, scanJson } from './json-scan.ts'

const unlimited = { depthMax: Number.POSITIVE_INFINITY, elementsMax: Number.POSITIVE_INFINITY }

function repeats(json: string): boolean {
  const scan = scanJson(json, unlimited)
  assert.deepEqual(scanJson(Buffer.from(json), unlimited), scan, 'text and bytes count the same')
  return hasDuplicateMember(scan, JSON.parse(json))
}

test('R32: a member that an object has twice is found with its path, however it is written', () => {
  for (const [json, path] of [
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"b":[1,{"c":{"d":1}, "c" : []}]}', 'b[1].c'],
    ['[{"a":"}"},{"":1,"x":{},"":{}}]', '[1].'],
    ['[[0,{"é":[{"x":1 , "x"\n:2}]}]]', '[0][1].é[0].x'],
    ['{"a":"\\\\","b":"\\"","b":1}', 'b'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ] as const) {
    assert.equal(repeats(json), true, json)
    assert.equal(findDuplicateMember(json), path, json)
  }
})

test('R32: equal names in different objects, in texts and in other case are no repetition', () => {
  for (const json of [
    '{}',
    '"a"',
    '{"a":"a","b":["a","a","b"],"c":{"a":1}}',
    '[{"a":1},{"a":1}]',
    '{"a":"\\",\\"a\\":1","b":{"b":{"b":"{\\"b"}}}',
    '{"a":1,"A":2}',
  ]) {
    assert.equal(repeats(json), false, json)
    assert.equal(findDuplicateMember(json), undefined, json)
  }
})

test('R28: long and deep JSON does not exhaust the stack', () => {
  const many = 500_000
  for (const json of [`{"a":"${'\\\\'.repeat(many)}"}`, `${'[{"a":'.repeat(many)}1${'}]'.repeat(many)}`]) {
    assert.equal(repeats(json), false)
    assert.equal(findDuplicateMember(json), undefined)
  }
  assert.equal(
    findDuplicateMember(`${'['.repeat(many)}{"a":1,"a":2}`)?.length,
    many * '[0]'.length + '.a'.length,
  )
})

test('R28: a scan counts nesting, members and values', () => {
  for (const [json, depth, members, elements] of [
    ['1', 0, 0, 0],
    ['"a,b:{["', 0, 0, 0],
    ['{}', 1, 0, 1],
    ['[1]', 1, 0, 1],
    ['[1,2,3]', 1, 0, 3],
    ['{"a":1,"b":[1,2]}', 2, 2, 4],
    ['[{},{},[]]', 2, 0, 6],
    ['{"é\\"{":{"b":{"c":"]]"}}}', 3, 3, 3],
  ] as const) {
    const scan = scanJson(json, unlimited)
    assert.deepEqual(scan, { depth, members, elements, exceeded: undefined }, json)
    assert.deepEqual(scanJson(json, { depthMax: depth, elementsMax: elements }), scan, json)
  }
})

test('R28: a scan stops at the limit that it passes, whatever follows', () => {
  const limits = { depthMax: 3, elementsMax: 10 }
  const deep = scanJson(`${'['.repeat(1000)}`, limits)
  assert.deepEqual([deep.exceeded, deep.depth], ['depthMax', 4])
  for (const json of [`[${'1,'.repeat(1000)}`, `[${'{},'.repeat(1000)}`, `{${'"a":1,'.repeat(1000)}`]) {
    const wide = scanJson(Buffer.from(json), limits)
    assert.deepEqual([wide.exceeded, wide.elements], ['elementsMax', 11])
  }
})
