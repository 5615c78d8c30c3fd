import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../config/limits.ts'
import { createPageTokens, effectivePageSize } from './page-tokens.ts'

const newKey = () => createSecretKey(randomBytes(32))
let nowMs = 1_700_000_000_000
const tokens = createPageTokens(newKey(), () => nowMs)
const cursor = { after: ['name', 12, 'uid'], skip: 3, skipped: 4 }

test('a token returns its cursor for the same query', () => {
  const value = fc.oneof(fc.string(), fc.integer())
  const cursors = fc.record(
    { after: fc.array(value), skip: fc.nat(), skipped: fc.nat(), totalCount: fc.nat() },
    { requiredKeys: ['after', 'skip', 'skipped'], noNullPrototype: true },
  )
  fc.assert(
    fc.property(cursors, fc.string(), (one, question) => {
      const token = tokens.issue(one, question)
      assert.match(token, /^[A-Za-z0-9_-]+$/)
      assert.deepEqual(tokens.read(token, question), one)
      assert.equal(tokens.read(token, `${question}x`), 'forged')
    }),
  )
})

test('R26: a token reveals nothing of its content, and no two tokens are equal', () => {
  const [one, two] = [tokens.issue(cursor, 'q'), tokens.issue(cursor, 'q')]
  assert.notEqual(one, two)
  assert.doesNotMatch(Buffer.from(one, 'base64url').toString('latin1'), /name|uid/)
})

test('R26: a token that was changed, truncated or created with another key is forged', () => {
  const token = tokens.issue(cursor, 'q')
  const foreign = createPageTokens(newKey(), () => nowMs).issue(cursor, 'q')
  for (const bad of [
    '',
    'x',
    foreign,
    token.slice(0, -1),
    token.slice(4),
    `${token}A`,
    `${token}==`,
    ` ${token}`,
    'A'.repeat(limits.pageTokenCharsMax + 1),
  ])
    assert.equal(tokens.read(bad, 'q'), 'forged')
  const bytes = Buffer.from(token, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    assert.equal(tokens.read(flipped.toString('base64url'), 'q'), 'forged')
  }
})

test('a token expires after three days, and then restarts any query', () => {
  const token = tokens.issue(cursor, 'q')
  nowMs += limits.pageTokenMaxAgeMs
  assert.deepEqual(tokens.read(token, 'q'), cursor)
  nowMs += 1
  assert.equal(tokens.read(token, 'q'), 'expired')
  assert.equal(tokens.read(token, 'another'), 'expired')
})

test('the longest sort keys fit into a token', () => {
  const after = [
    'n'.repeat(limits.nameCharsMax),
    2 ** 53,
    2 ** 53,
    'f'.repeat(40 + 17 * (limits.groupDepthMax + 1)),
  ]
  const token = tokens.issue({ after, skip: 2 ** 31 - 1, skipped: 2 ** 31 - 1, totalCount: 2 ** 53 }, 'q')
  assert.ok(token.length <= limits.pageTokenCharsMax)
  assert.notEqual(tokens.read(token, 'q'), 'forged')
})

test('a page has 50 rows by default and 200 at most', () => {
  assert.deepEqual([0, 1, 50, 200, 201, 2 ** 31 - 1].map(effectivePageSize), [50, 1, 50, 200, 200, 200])
})
