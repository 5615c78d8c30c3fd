import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkBundles } from './bundles.ts'
import { checkDigest, checkTagName, listedTagForms, tagFormsOf } from './tag-names.ts'

test('tag names are those of the OCI specification', () => {
  for (const name of ['latest', '1.27.0-r1', '_', 'A', '9', 'a..b--c__d', `_${'.'.repeat(127)}`])
    assert.equal(checkTagName(name), undefined, name)
  for (const name of ['', '.a', '-a', 'a/b', 'a:b', 'a b', 'a\n', 'ä', 'a\u0000', 'a'.repeat(129)])
    assert.equal(checkTagName(name)?.field, 'name', JSON.stringify(name))
})

test('digests have a known algorithm, and all its digits', () => {
  const [short, long] = ['0123456789abcdef'.repeat(4), '0123456789abcdef'.repeat(8)]
  for (const digest of [`sha256:${short}`, `sha512:${long}`]) assert.equal(checkDigest(digest), undefined)
  for (const digest of [
    '',
    short,
    'sha256:',
    `sha256:${short.slice(1)}`,
    `sha256:${short}0`,
    `sha256:${long}`,
    `sha512:${short}`,
    `sha256:${short.toUpperCase()}`,
    `SHA256:${short}`,
    `sha256-${short}`,
    `sha384:${'0'.repeat(96)}`,
    `sha256:${short}\n`,
    ` sha256:${short}`,
    `sha256:${'g'.repeat(64)}`,
  ])
    assert.equal(checkDigest(digest)?.field, 'digest', digest)
})

const [referrer, date, epoch] = [1, 2, 4]
const forms: readonly [name: string, forms: number][] = [
  ['latest', 0],
  ['1.27', 0],
  ['sha256-', referrer],
  [`sha256-${'0'.repeat(64)}.sig`, referrer],
  ['sha512-0', 0],
  ['xsha256-0', 0],
  ['sha256', 0],
  ['1.27-20250102', date],
  ['1-20999999', date],
  ['1-19991231', 0],
  ['1-2025010', 0],
  ['1-202501020', 0],
  ['20250102', 0],
  ['1.20250102', 0],
  ['1.27-r0', epoch],
  ['1-r1234567890', epoch],
  ['1-r', 0],
  ['1-R0', 0],
  ['r0', 0],
  ['1-r0-dev', 0],
  ['1-20250102-dev', 0],
  ['1-r0-20250102', date],
  ['1-20250102-r0', epoch],
  ['sha256-1-20250102', referrer | date],
  ['sha256-1-r3', referrer | epoch],
  ['sha256-20250102', referrer | date],
  ['sha256-r3', referrer | epoch],
]

for (const [name, wanted] of forms)
  test(`the forms of the name ${name}`, () => assert.equal(tagFormsOf(name), wanted))

test('a name is listed when all of its forms are requested', () => {
  const switches = fc.record({
    includeReferrers: fc.boolean(),
    includeDates: fc.boolean(),
    includeEpochs: fc.boolean(),
  })
  fc.assert(
    fc.property(switches, fc.integer({ min: 0, max: 7 }), (on, held) => {
      const { includeReferrers, includeDates, includeEpochs } = on
      const wanted =
        (includeReferrers || (held & referrer) === 0) &&
        (includeDates || (held & date) === 0) &&
        (includeEpochs || (held & epoch) === 0)
      assert.equal(listedTagForms(on)?.includes(held) ?? true, wanted)
    }),
  )
})

test('bundles are known and different', () => {
  const every = 'application base byol ai ai-gpu featured fips commercial emeritoss'.split(' ')
  for (const bundles of [[], ['ai'], every, every.toReversed()])
    assert.equal(checkBundles(bundles), undefined)
  for (const [bundles, field] of [
    [[''], 'bundles[0]'],
    [['Base'], 'bundles[0]'],
    [['base', 'gold'], 'bundles[1]'],
    [['base', 'ai', 'base'], 'bundles[2]'],
    [['base', 'base', 'gold'], 'bundles[1]'],
    [['toString'], 'bundles[0]'],
  ] as const)
    assert.equal(checkBundles(bundles)?.field, field, bundles.join())
  assert.equal(checkBundles(['x'], 'catalog.bundles')?.field, 'catalog.bundles[0]')
})
