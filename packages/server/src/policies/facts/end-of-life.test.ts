import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOfLifeMs, NEVER_MS } from './end-of-life.ts'

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
  // What is not known is not supported for ever.
  ['debian', '', undefined],
  ['alpine', '3.2', undefined],
  ['alpine', '3', undefined],
  ['debian', 'constructor', undefined],
  ['constructor', '1', undefined],
  ['fedora', '45', undefined],
]

test('releases end on the day that their project published, and what is not known has no end', () => {
  for (const [id, version, end] of cases) assert.equal(endOfLifeMs(id, version), end, `${id} ${version}`)
})
