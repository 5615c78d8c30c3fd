import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseUid } from '../../api/uid.ts'
import { userUid } from './user-uid.ts'

test('a user uid is a root uid and always the same', () => {
  const uid = userUid('https://issuer.example', 'robot', 0)
  assert.equal(uid, 'e257191a80d7ef54abca92523803c9e4f26cd8db')
  assert.equal(parseUid(uid)?.length, 40)
})

test('the boundaries of issuer, subject and generation matter', () => {
  const pairs: [string, string, number][] = [
    ['a', 'bc', 0],
    ['ab', 'c', 0],
    ['abc', '', 0],
    ['', 'abc', 0],
    ['a', 'bc","0', 0],
    ['a","bc', '0', 0],
    ['a', 'b', 10],
    ['a', 'b1', 0],
    ['a', 'b\u0000', 1],
    ['a\u0000', 'b', 1],
    ['a', 'é', 0],
    ['a', 'e\u0301', 0],
    // Half of a surrogate pair is no text, but must not look like another half.
    ['a', '\ud800', 0],
    ['a', '\ud801', 0],
  ]
  assert.equal(new Set(pairs.map((pair) => userUid(...pair))).size, pairs.length)
})

test('different users have different uids', () => {
  const person = fc.tuple(fc.string(), fc.string(), fc.nat(3))
  fc.assert(
    fc.property(person, person, (one, two) => {
      const same = one.every((part, at) => part === two[at])
      assert.equal(userUid(...one) === userUid(...two), same)
    }),
  )
  // The same letters, cut elsewhere.
  fc.assert(
    fc.property(fc.string({ minLength: 2 }), fc.nat(), fc.nat(), (text, a, b) => {
      const cut = (at: number) => [text.slice(0, at % text.length), text.slice(at % text.length)] as const
      assert.equal(userUid(...cut(a), 0) === userUid(...cut(b), 0), a % text.length === b % text.length)
    }),
  )
})
