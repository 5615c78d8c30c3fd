import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDetails } from './details.ts'
import type { Column } from './output.ts'
import { formatTable } from './table.ts'
import { formatTree } from './tree.ts'

interface Row {
  readonly uid: string
  readonly name: string
  readonly text: string
  readonly time?: string
}

const ROOT = '346953793abc8d1e6029f4bb90b5a13b16cd9096'
const columns: readonly Column<Row>[] = [
  { title: 'ID', kind: 'uid', value: ({ uid }) => uid },
  { title: 'NAME', kind: 'name', value: ({ name }) => name },
  { title: 'TEXT', value: ({ text }) => text },
  { title: 'TIME', kind: 'time', value: ({ time = '' }) => time },
]
const plain = (width: number | undefined) => ({ bold: (text: string) => text, width })
const row = (uid: string, name: string, text = '', time = ''): Row => ({ uid, name, text, time })

test('columns stand below each other, whatever the width of the letters', () => {
  assert.equal(
    formatTable(
      [row('a', '日本語', 'x'), row('b', 'e\u0301te\u0301', 'y'), row('c', 'ship 🚢', 'z')],
      columns,
      plain(undefined),
    ),
    'ID  NAME     TEXT  TIME\na   日本語   x\nb   été      y\nc   ship 🚢  z\n'.replace(
      'été',
      'e\u0301te\u0301',
    ),
  )
})

test('a text of several lines is shown on one', () => {
  const table = formatTable([row('a', 'n', 'first\r\n\tsecond\u2028third')], columns, plain(undefined))
  assert.equal(table, 'ID  NAME  TEXT                TIME\na   n     first second third\n')
})

test('one long name pushes no other row apart, and stays whole', () => {
  const long = 'x'.repeat(1000)
  const lines = formatTable([row('a', long, 'y'), row('b', 'short', 'z')], columns, plain(undefined))?.split(
    '\n',
  )
  assert.deepEqual(lines?.slice(1), [`a   ${long}  y`, `b   short${' '.repeat(115)}  z`, ''])
})

test('in a narrow terminal, empty columns are dropped, names are kept, and uids keep their distinguishing end', () => {
  const rows = [
    row(`${ROOT}/7bec91381c0c8bb2`, 'registry.pull_token_creator', 'all that anybody may ever need to know'),
    row(`${ROOT}/633f6cac4ee96dd0`, 'viewer', 'reads'),
  ]
  const lines = formatTable(rows, columns, plain(80))?.split('\n') ?? []
  assert.deepEqual(lines, [
    'ID                            NAME                         TEXT',
    '346953793a…/7bec91381c0c8bb2  registry.pull_token_creator  all that anybody may…',
    '346953793a…/633f6cac4ee96dd0  viewer                       reads',
    '',
  ])
  const narrow = formatTable(rows, columns, plain(62))?.split('\n')[1]
  assert.equal(narrow, '346953793a…/7bec91381c0c8bb2  registry.pull_tok…  all that an…')
  assert.equal(formatTable(rows, columns, plain(50)), undefined, 'nothing more can give way')
  assert.equal(formatTable(rows, columns, { ...plain(80), whole: true }), undefined)
  assert.match(formatTable(rows, columns, plain(undefined)) ?? '', /ever need to know\n/)
})

test('paths keep their end, and times their date', () => {
  const shown = [{ title: 'GROUP', kind: 'path', value: ({ name }) => name }, columns[3]] as Column<Row>[]
  const rows = [row('a', 'organization/department/team/web', '', '2027-01-31T10:20:30Z')]
  const tableAt = (width: number) => formatTable(rows, shown, plain(width))?.split('\n')[1]
  assert.equal(tableAt(60), 'organization/department/team/web  2027-01-31 10:20Z')
  assert.equal(tableAt(40), '…/department/team/web  2027-01-31 10:20Z')
  assert.equal(tableAt(30), '…rtment/team/web  2027-01-31')
  assert.equal(formatTable(rows, shown, { ...plain(60), headers: false })?.split('\n').length, 2)
})

test('long texts take several lines', () => {
  const table = formatTable(
    [row('a', 'issuer', 'one of the keys there'), row('b', 'sub', 'x')],
    [columns[1], { title: 'EXPECTED', kind: 'long', value: ({ text }) => text }] as Column<Row>[],
    plain(20),
  )
  assert.equal(table, 'NAME    EXPECTED\nissuer  one of the\n        keys there\nsub     x\n')
})

test('details show every known field and nothing else', () => {
  const time = new Date(Date.now() + 7 * 24 * 3600 * 1000 - 20).toISOString()
  assert.equal(
    formatDetails(row(ROOT, 'ci', 'builds and pushes the images', time), columns, plain(30)),
    `ID    ${ROOT.slice(0, 24)}\n      ${ROOT.slice(24)}\nNAME  ci\nTEXT  builds and pushes the\n      images\nTIME  ${time.slice(0, 10)} ${time.slice(11, 16)}Z (in 7\n      days)\n`,
  )
  assert.equal(formatDetails(row('a', 'ci'), columns, plain(undefined)), 'ID    a\nNAME  ci\n')
  const now = formatDetails(row('a', 'ci', '', new Date().toISOString()), columns, plain(undefined))
  assert.match(now, /\(just now\)\n$/)
})

test('names of other users move no cursor and reverse no line', () => {
  const evil = row('a', `x\u001b[31m\u202ey`, 'a\nb')
  for (const shown of [
    formatTable([evil], columns, plain(80)) ?? '',
    formatDetails(evil, columns, plain(80)),
    formatTree([evil], { label: ({ name }) => name, uid: ({ uid }) => uid }),
  ]) {
    assert.ok(shown.includes('x [31m y'), shown)
    assert.ok(!shown.includes('\u001b') && !shown.includes('\u202e') && !shown.includes('a\nb'))
  }
})
