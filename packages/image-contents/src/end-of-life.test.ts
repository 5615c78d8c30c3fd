import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImagePackage } from './contents.ts'
import { endOfLifeMs, NEVER_MS, withEndOfLife } from './end-of-life.ts'

const cases: readonly (readonly [id: string, version: string, end: number | undefined])[] = [
  ['debian', '12', Date.UTC(2028, 5, 30)],
  ['debian', '10', Date.UTC(2024, 5, 30)],
  ['ubuntu', '22.04', Date.UTC(2027, 5, 1)],
  // Point releases end with their series.
  ['alpine', '3.20.1', Date.UTC(2026, 3, 1)],
  ['alpine', '3.20.0_alpha20240329', Date.UTC(2026, 3, 1)],
  ['rhel', '9.4', Date.UTC(2032, 4, 31)],
  ['amzn', '2018.03', Date.UTC(2023, 11, 31)],
  ['wolfi', '20230201', NEVER_MS],
  // An unknown date does not mean that it is supported.
  ['debian', '', undefined],
  ['alpine', '3.2', undefined],
  ['alpine', '3', undefined],
  ['debian', 'constructor', undefined],
  ['constructor', '1', undefined],
  ['fedora', '45', undefined],
]

test('releases end on the day that their project published, and what is not known has no end', () => {
  for (const [id, versionId, end] of cases)
    assert.equal(endOfLifeMs({ id, versionId }), end, `${id} ${versionId}`)
})

test('an image states the end of a release that is not known, and not that of one that is', () => {
  const supportEndMs = Date.UTC(2099, 0, 1)
  assert.equal(endOfLifeMs({ id: 'fedora', versionId: '45', supportEndMs }), supportEndMs)
  assert.equal(endOfLifeMs({ id: 'debian', versionId: '10', supportEndMs }), Date.UTC(2024, 5, 30))
  assert.equal(endOfLifeMs({ id: 'wolfi', versionId: '', supportEndMs }), NEVER_MS)
})

test('packages of a distribution end with it, unless their SBOM states another day', () => {
  const none = { namespace: '', version: '1', architecture: '', license: '', path: '', layer: '' }
  const named = (type: string, more: object): ImagePackage => ({
    ...{ ...none, origin: undefined },
    ...{ purl: `pkg:${type}/a@1`, type, name: 'a', ...more },
  })
  const packages = [named('deb', {}), named('deb', { endOfLifeMs: 1000 }), named('npm', {})]
  const endsOf = (id: string, versionId: string) =>
    withEndOfLife({ distribution: { id, versionId, name: '' }, packages, problems: [] }).packages.map(
      (one) => one.endOfLifeMs,
    )
  assert.deepEqual(endsOf('debian', '12'), [Date.UTC(2028, 5, 30), 1000, undefined])
  assert.deepEqual(endsOf('wolfi', ''), [undefined, 1000, undefined])
  assert.deepEqual(endsOf('unknown', '1'), [undefined, 1000, undefined])
})
