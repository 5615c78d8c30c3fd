import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { View } from './output.ts'
import { columnFields, matchesFilters, parseFilter, parseSort, sortRows } from './row-selection.ts'

interface Row {
  readonly name: string
  readonly size: number
}

const view: View<Row> = {
  columns: [
    { title: 'FULL NAME', value: ({ name }) => name },
    { title: 'SIZE', value: ({ size }) => `${size} MiB`, sortValue: ({ size }) => size },
  ],
}
const rows = [
  { name: 'web10', size: 9 },
  { name: 'web9', size: 10 },
  { name: 'App', size: 9 },
]
const sorted = (text: string) => sortRows(rows, parseSort(text) ?? [], view).map(({ name }) => name)

test('columns are named in lower case, with hyphens', () => {
  assert.deepEqual(columnFields(view), ['full-name', 'size'])
})

test('rows are sorted by several columns, numbers by their value', () => {
  assert.deepEqual(sorted('full-name'), ['App', 'web9', 'web10'])
  assert.deepEqual(sorted('full-name desc'), ['web10', 'web9', 'App'])
  assert.deepEqual(sorted('size desc, full-name asc'), ['web9', 'App', 'web10'])
  for (const invalid of ['', 'size down', 'size,', 'a b c'])
    assert.equal(parseSort(invalid), undefined, invalid)
})

const conditions: [condition: string, names: string[]][] = [
  ['full-name=web9', ['web9']],
  ['full-name=Web9', []],
  ['full-name!=web9', ['web10', 'App']],
  ['full-name~WEB', ['web10', 'web9']],
  ['full-name=web*', ['web10', 'web9']],
  ['full-name=*9', ['web9']],
  ['full-name=w*b*0', ['web10']],
  ['full-name=w*web*', []],
  ['full-name=*', ['web10', 'web9', 'App']],
  ['full-name=', []],
  ['size = 9 MiB', ['web10', 'App']],
  ['full-name!=*e*', ['App']],
]
for (const [condition, names] of conditions)
  test(`${condition} selects ${names.join(' and ') || 'nothing'}`, () => {
    const filter = parseFilter(condition)
    assert.ok(filter)
    assert.deepEqual(
      rows.filter((row) => matchesFilters(row, [filter], view)).map(({ name }) => name),
      names,
    )
  })

test('a condition needs a column and an operator', () => {
  for (const invalid of ['web9', '=web9', '', 'full name=x']) assert.equal(parseFilter(invalid), undefined)
})
