import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../core/limits.ts'
import { checkPatterns, matches } from './tag-patterns.ts'

test('patterns match whole names, as a regular expression would', () => {
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

test('the worst pattern takes no longer than its length times that of the name', () => {
  const worst = `${'*a'.repeat(limits.tagPatternCharsMax / 2 - 1)}b`
  const startMs = performance.now()
  for (let times = 0; times < 1000; times++) assert.equal(matches(worst, 'a'.repeat(128)), false)
  assert.ok(performance.now() - startMs < 2000)
})

test('patterns are of what names are made of, and not too many', () => {
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
  assert.deepEqual(wrong(Array(limits.tagPatternsMax + 1).fill('*')), ['p'])
})
