import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkDigest, checkTagName, formsOf, formsWithin, TAG_FORMS } from './tag-name.ts'

const { referrer, date, epoch } = TAG_FORMS

for (const [name, forms] of [
  ['latest', 0],
  ['1.2.3', 0],
  ['sha256-0123.sig', referrer],
  ['asha256-0123', 0],
  ['SHA256-0123', 0],
  ['1.2-20240131', date],
  ['1.2-19240131', 0],
  ['1.2-202401310', 0],
  ['20240131', 0],
  ['1.2-r0', epoch],
  ['1.2-r12', epoch],
  ['1.2-r', 0],
  ['1.2-r1a', 0],
  ['sha256-0-r1', referrer | epoch],
  ['sha256-0-20240131', referrer | date],
] as const) {
  test(`${name} has the forms ${forms}`, () => assert.equal(formsOf(name), forms))
}

test('a list shows what has no form that it leaves out', () => {
  assert.deepEqual(formsWithin(0), [0])
  assert.deepEqual(formsWithin(date), [0, date])
  assert.deepEqual(formsWithin(referrer | epoch), [0, referrer, epoch, referrer | epoch])
  assert.equal(formsWithin(referrer | date | epoch).length, 8)
})

test('names are those of the OCI specification', () => {
  for (const good of ['a', 'A_b-c.d', '_', '1', 'x'.repeat(128)])
    assert.equal(checkTagName(good), undefined, good)
  for (const bad of ['', '.a', '-a', 'a/b', 'a b', 'a:b', 'ä', 'x'.repeat(129), 'a\n'])
    assert.equal(checkTagName(bad)?.field, 'name', bad)
})

test('digests are whole, of a known algorithm, in lower case', () => {
  const hex = '0123456789abcdef'
  for (const good of [`sha256:${hex.repeat(4)}`, `sha512:${hex.repeat(8)}`])
    assert.equal(checkDigest(good), undefined)
  for (const bad of [
    '',
    hex,
    'sha256:',
    `sha256:${hex}`,
    `sha256:${hex.repeat(4).toUpperCase()}`,
    `sha512:${hex.repeat(4)}`,
    `md5:${hex.repeat(2)}`,
    `sha256:${hex.repeat(4)}\n`,
  ])
    assert.equal(checkDigest(bad)?.field, 'digest', bad)
})
