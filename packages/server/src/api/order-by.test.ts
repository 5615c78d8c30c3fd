import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseOrderBy, timeSortFields } from './order-by.ts'

const fields = { uid: 'uid', name: 'name', ...timeSortFields }

const orders: readonly [text: string, keys: string][] = [
  ['', 'uid'],
  ['  ', 'uid'],
  ['name', 'name uid'],
  ['name asc', 'name uid'],
  ['name desc', '-name uid'],
  ['  name   desc  ', '-name uid'],
  ['uid', 'uid'],
  ['uid desc', '-uid'],
  ['uid desc, name', '-uid'],
  ['name,uid desc,created_at', 'name -uid'],
  ['name desc,created_at', '-name created_ms uid'],
  ['created_at', 'created_ms uid'],
  ['create_time', 'created_ms uid'],
  ['createTime', 'created_ms uid'],
  ['updated_at', 'updated_ms uid'],
  ['update_time', 'updated_ms uid'],
  ['updateTime desc', '-updated_ms uid'],
]
for (const [text, keys] of orders) {
  test(`"${text}" sorts by ${keys}`, () => {
    const parsed = parseOrderBy(text, fields)
    assert.ok(!('problem' in parsed))
    assert.equal(parsed.map(({ column, descending }) => (descending ? '-' : '') + column).join(' '), keys)
  })
}

const problems: readonly [text: string, problem: RegExp][] = [
  ['description', /^must be one of uid, name, created_at/],
  ['Name', /^must be one of/],
  ['name,', /^must be one of/],
  [',', /^must be one of/],
  ['constructor', /^must be one of/],
  ['__proto__', /^must be one of/],
  ['created_ms', /^must be one of/],
  ['name DESC', /^must have asc or desc after name/],
  ['name desc asc', /^must have asc or desc after name/],
  ['name; drop table groups', /^must be one of/],
  ['name,name desc', /^must not name name twice/],
  ['created_at,createTime', /^must not name createTime twice/],
  ['uid,name,created_at,updated_at,uid,name', /^must have at most 5 keys/],
]
for (const [text, problem] of problems) {
  test(`R27: "${text}" is not an order`, () => {
    const parsed = parseOrderBy(text, fields)
    assert.ok('problem' in parsed)
    assert.match(parsed.problem, problem)
  })
}
