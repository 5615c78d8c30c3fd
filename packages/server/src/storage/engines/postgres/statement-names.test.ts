import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStatementNames, LENGTHS_MAX, STATEMENTS_MAX } from './statement-names.ts'

const values = (length: number) => Array.from({ length }, (_, at) => `$${at + 1}`).join(', ')

test('a statement keeps its name, and another one has another name', () => {
  const nameOf = createStatementNames()
  const name = nameOf('select 1')
  assert.match(name ?? '', /^[\w-]{24}$/)
  assert.equal(nameOf('select 1'), name)
  assert.notEqual(nameOf('select 2'), name)
})

for (const [what, textOf] of [
  [
    'values of a condition',
    (length: number) => `select * from repos where root = $1 and uid in (${values(length)})`,
  ],
  [
    'rows of an insert',
    (length: number) => `insert into tags values ${Array(length).fill('($1, $2)').join(', ')}`,
  ],
] as const)
  test(`lists of every length leave the names of other statements: ${what}`, () => {
    const nameOf = createStatementNames()
    const named = Array.from({ length: 400 }, (_, at) => nameOf(textOf(at + 2))).filter(Boolean)
    assert.equal(named.length, LENGTHS_MAX)
    assert.ok(nameOf(textOf(2)), 'the first lengths keep their names')
    for (let at = LENGTHS_MAX; at < STATEMENTS_MAX; at++) assert.ok(nameOf(`select a${at} in ($1, $2)`))
    assert.equal(nameOf('select one more'), undefined)
    assert.ok(nameOf(`select a${LENGTHS_MAX} in ($1, $2)`))
  })
