import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../../config/limits.ts'
import { checkPatterns, matches } from './tag-patterns.ts'

test('patterns match whole names, like a regular expression', () => {
  const asExpression = (pattern: string) =>
    new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')}$`)
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), minLength: 1, maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 }),
      (pattern, name) => matches(pattern, name) === asExpression(pattern).test(name),
    ),
    { numRuns: 2000 },
  )
})

test('the worst-case patterns of a policy terminate', () => {
  const { tagPatternCharsMax, tagPatternStarsMax, retentionPatternsMax } = limits
  const name = 'a'.repeat(128)
  const piece = 'a'.repeat(Math.floor(tagPatternCharsMax / tagPatternStarsMax) - 2)
  for (const worst of [
    `${`*${piece}`.repeat(tagPatternStarsMax)}b`,
    `*${'a'.repeat(62)}b`,
    `*${'a'.repeat(62)}b*`,
    `*${'?'.repeat(62)}b*`,
  ]) {
    for (let times = 0; times < 10 * retentionPatternsMax; times++) assert.equal(matches(worst, name), false)
  }
})

test('patterns have only characters of tag names, and are limited in number', () => {
  const wrong = (patterns: string[]) =>
    checkPatterns(patterns, 'p')
      .filter((violation) => violation !== undefined)
      .map(({ field }) => field)
  assert.deepEqual(wrong(['*', 'v?.*', 'latest', 'a_B-1']), [])
  assert.deepEqual(wrong(['', 'a b', '[a]', 'é', 'a/b', 'x'.repeat(limits.tagPatternCharsMax + 1)]), [
    'p[0]',
    'p[1]',
    'p[2]',
    'p[3]',
    'p[4]',
    'p[5]',
  ])
  assert.deepEqual(
    wrong(['*a'.repeat(limits.tagPatternStarsMax), '*a'.repeat(limits.tagPatternStarsMax + 1)]),
    ['p[1]'],
  )
  assert.deepEqual(wrong(Array(limits.tagPatternsMax + 1).fill('*')), ['p'])
})
