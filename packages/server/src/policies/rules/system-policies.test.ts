import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS } from '../../config/limits.ts'
import type { ImageFacts } from '../facts/image-facts.ts'
import { acceptsLicense } from './licenses.ts'
import { type Parameters, withDefaults } from './parameters.ts'
import { systemPolicies, systemPolicyByName } from './system-policies.ts'

const now = Date.parse('2026-11-23T00:00:00Z')
const ago = (days: number) => now - days * DAY_MS

test('ids are stable: bindings of every installation refer to them', () => {
  assert.deepEqual(
    systemPolicies.map(({ name, uid }) => [name, uid.slice(0, 8)]),
    [
      ['highest-severity', '302ec53d'],
      ['signed-by', 'ebbf3517'],
      ['maximum-age', '156e07f1'],
      ['base-image', '8f8af8e3'],
      ['licenses', '0071c65f'],
      ['end-of-life', '0866bfc6'],
      ['tag-pattern', '2e84f80e'],
      ['contents-known', '3cb99f9b'],
      ['known-exploited', 'af307715'],
    ],
  )
})

describe('system policies', () => {
  const vulnerability = (severity: 'low' | 'high' | 'critical', fixed: boolean, days: number) => ({
    vulnerabilities: [{ id: 'CVE-2026-1', severity, fixed, days, epss: 0 }],
  })
  const exploited = (days: number) => [{ id: 'CVE-2026-1', days }]
  const signedBy = [{ name: 'a@example.com', verifier: '' }]
  const cases: readonly (readonly [string, Parameters, Partial<ImageFacts>, RegExp | undefined])[] = [
    ['highest-severity', {}, { vulnerabilities: [] }, undefined],
    ['highest-severity', {}, vulnerability('low', true, 9), undefined],
    ['highest-severity', {}, vulnerability('high', true, 0), /1 vulnerability .* CVE-2026-1 \(high\)/],
    ['highest-severity', { severity: 'critical' }, vulnerability('high', true, 0), undefined],
    ['highest-severity', { severity: 'low' }, vulnerability('low', false, 0), /CVE-2026-1/],
    ['highest-severity', { grace_days: 7 }, vulnerability('critical', true, 6), undefined],
    ['highest-severity', { grace_days: 7 }, vulnerability('critical', true, 7), /CVE-2026-1/],
    ['highest-severity', { waive_unfixed_after_days: 30 }, vulnerability('high', false, 29), /CVE/],
    ['highest-severity', { waive_unfixed_after_days: 30 }, vulnerability('high', false, 30), undefined],
    ['highest-severity', { waive_unfixed_after_days: 30 }, vulnerability('high', true, 99), /CVE/],
    ['highest-severity', { waive_unfixed_after_days: -1 }, vulnerability('high', false, 0), undefined],
    ['known-exploited', {}, { known_exploited: [] }, undefined],
    ['known-exploited', {}, { known_exploited: exploited(0) }, /1 vulnerability that is .*: CVE-2026-1/],
    ['known-exploited', { grace_days: 2 }, { known_exploited: exploited(1) }, undefined],
    ['known-exploited', { grace_days: 2 }, { known_exploited: exploited(2) }, /CVE-2026-1/],
    ['signed-by', { identities: ['*@example.com'] }, { signers: signedBy }, undefined],
    ['signed-by', { identities: ['b@example.com'] }, { signers: signedBy }, /signed by a@example/],
    ['signed-by', { identities: ['*'] }, { signers: [] }, /no verified signature/],
    ['maximum-age', { days: 30 }, { created: ago(29) }, undefined],
    ['maximum-age', { days: 30 }, { created: ago(30) }, /created 30 days ago/],
    ['maximum-age', { days: 30, since: 'pushed' }, { pushed: ago(31) }, /pushed 31 days ago/],
    [
      'base-image',
      { allowed: ['*debian:12'] },
      { base_name: 'docker.io/debian:12', base_digest: '' },
      undefined,
    ],
    ['base-image', { allowed: ['sha256:1*'] }, { base_name: '', base_digest: 'sha256:123' }, undefined],
    ['base-image', { allowed: ['*'] }, { base_name: '', base_digest: '' }, /does not name its base/],
    ['base-image', { allowed: ['a'] }, { base_name: 'b', base_digest: '' }, /base image is b/],
    ['licenses', { denied: ['GPL-*'] }, { licenses: ['MIT'] }, undefined],
    ['licenses', { denied: ['GPL-*'] }, { licenses: ['MIT', 'GPL-3.0-only'] }, /under GPL-3\.0-only/],
    ['licenses', { denied: ['GPL-*'] }, { licenses: ['MIT OR GPL-3.0-only'] }, undefined],
    ['licenses', { allowed: ['MIT'] }, { licenses: ['MIT AND BSD-3-Clause'] }, /BSD/],
    ['end-of-life', {}, { distribution: 'debian:12', end_of_life: now + 1 }, undefined],
    ['end-of-life', {}, { distribution: 'debian:10', end_of_life: now - 1 }, /end of life of debian:10/],
    [
      'end-of-life',
      { warning_days: 5 },
      { distribution: 'x:1', end_of_life: now + 4 * DAY_MS },
      /end of life/,
    ],
    ['tag-pattern', { patterns: ['v?'] }, { tag: 'v1', tags: [] }, undefined],
    ['tag-pattern', { patterns: ['v?'] }, { tag: 'v12', tags: ['v1'] }, /tag v12 does not match/],
    ['tag-pattern', { patterns: ['v?'] }, { tag: '', tags: ['a', 'v1'] }, undefined],
    ['tag-pattern', { patterns: ['v?'] }, { tag: '', tags: [] }, /none of its tags/],
    ['contents-known', {}, { contents_known: true }, undefined],
    ['contents-known', {}, { contents_known: false }, /not known/],
  ]
  for (const [name, given, facts, reason] of cases)
    test(`${name} ${JSON.stringify(given)} of ${JSON.stringify(facts)}`, () => {
      const policy = systemPolicyByName.get(name)!
      const parameters = withDefaults(policy.parameters, given)
      assert.deepEqual(
        policy.needs(parameters).filter((fact) => !(fact in facts)),
        [],
      )
      const actual = policy.evaluate(facts, parameters, now)
      if (reason === undefined) assert.equal(actual, undefined)
      else assert.match(actual ?? '', reason)
    })
})

test('license expressions: one alternative is enough, and all parts of it count', () => {
  const accepts = (license: string) => ['MIT', 'Apache-2.0'].includes(license)
  const cases: readonly (readonly [string, boolean])[] = [
    ['MIT', true],
    ['GPL-2.0-only', false],
    ['MIT AND Apache-2.0', true],
    ['MIT AND GPL-2.0-only', false],
    ['GPL-2.0-only OR MIT', true],
    ['GPL-2.0-only or mit', false],
    ['MIT AND GPL-2.0-only OR Apache-2.0', true],
    ['Apache-2.0 WITH LLVM-exception', true],
    ['(MIT OR GPL-2.0-only) AND Apache-2.0', false],
    ['(MIT AND Apache-2.0)', true],
  ]
  for (const [expression, accepted] of cases)
    assert.equal(acceptsLicense(expression, accepts), accepted, expression)
})
