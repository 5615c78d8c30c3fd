import assert from 'node:assert/strict'
import { test } from 'node:test'
import { severityRater } from './severity-rater.ts'

const { rateVector, worstRating } = severityRater

/** Vectors and scores from the examples of FIRST. */
const known: readonly (readonly [vector: string, score: number, label: string])[] = [
  ['AV:N/AC:L/Au:N/C:N/I:N/A:C', 7.8, 'high'],
  ['AV:N/AC:L/Au:N/C:C/I:C/A:C', 10, 'high'],
  ['AV:L/AC:H/Au:N/C:N/I:N/A:P', 1.2, 'low'],
  ['AV:L/AC:H/Au:N/C:N/I:N/A:N', 0, 'low'],
  ['CVSS:3.0/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N', 6.1, 'medium'],
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', 9.8, 'critical'],
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N', 0, 'none'],
  // Temporal metrics do not change the base score.
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/E:U/RL:O/RC:U', 9.8, 'critical'],
  ['CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N', 9.3, 'critical'],
]

test('a vector has the score and label of its version', () => {
  for (const [vector, score, label] of known)
    assert.deepEqual(rateVector(vector), { score, label, vector }, vector)
  for (const vector of ['', 'junk', 'CVSS:3.1/', 'CVSS:3.1/AV:N', 'CVSS:9.9/AV:N', '7.5', 'x'.repeat(10_000)])
    assert.equal(rateVector(vector), undefined, vector.slice(0, 50))
})

test('the highest valid vector of the newest version counts', () => {
  const [v2, v3, worse3] = [
    { type: 'TYPE_CVSS_V2', score: 'AV:N/AC:L/Au:N/C:C/I:C/A:C' },
    { type: 'TYPE_CVSS_V3', score: 'CVSS:3.0/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N' },
    { type: 'TYPE_CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' },
  ] as const
  assert.equal(worstRating([v2, v3, worse3])?.score, 9.8)
  assert.equal(worstRating([v2, v3])?.score, 6.1)
  assert.equal(worstRating([v2, { type: 'TYPE_CVSS_V4', score: 'CVSS:4.0/none' }])?.score, 10)
  assert.equal(worstRating([]), undefined)
})
