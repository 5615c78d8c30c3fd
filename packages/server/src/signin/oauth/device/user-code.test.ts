import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatUserCode, newUserCode, parseUserCode } from './user-code.ts'

test('a code is eight unambiguous letters, formatted in two groups', () => {
  const codes = Array.from({ length: 2000 }, newUserCode)
  for (const code of codes) {
    assert.match(code, /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/)
    assert.equal(formatUserCode(code), `${code.slice(0, 4)}-${code.slice(4)}`)
    assert.equal(parseUserCode(formatUserCode(code)), code)
  }
  assert.equal(new Set(codes).size, codes.length)
  assert.equal(new Set(codes.join('')).size, 20, 'every letter comes up')
})

for (const typed of ['WDJBMJHT', 'wdjb-mjht', ' wdjb mjht ', 'WDJB–MJHT', 'w.d.j.b.m.j.h.t', 'WDJB\tMJHT'])
  test(`${JSON.stringify(typed)} is parsed as WDJBMJHT`, () => assert.equal(parseUserCode(typed), 'WDJBMJHT'))

for (const typed of [
  '',
  'WDJB',
  'WDJBMJH',
  'WDJBMJHTT',
  'ADJBMJHT',
  'WDJBMJH1',
  'WDJB/MJHT',
  'WDJB%2DMJHT',
  'ＷDJBMJHT',
  'WDJBMJHT\u0000',
  `WDJB${'-'.repeat(30)}MJHT`,
])
  test(`${JSON.stringify(typed)} is not a code`, () => assert.equal(parseUserCode(typed), undefined))
