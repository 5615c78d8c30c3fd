import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  depthOf,
  descendantRange,
  intersectRanges,
  isWithin,
  parentOf,
  parseUid,
  pathOf,
  randomUids,
  rootOf,
  subtreeRange,
} from './uid.ts'

const root = '0123456789abcdef'.repeat(3).slice(0, 40)
const child = `${root}/0123456789abcdef`
const grandchild = `${child}/fedcba9876543210`

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`))
/** Uids that are often descendants, siblings and ancestors of each other. */
const uids = fc
  .tuple(
    fc.constantFrom('a'.repeat(40), `${'a'.repeat(39)}b`),
    fc.array(fc.constantFrom('0'.repeat(16), 'f'.repeat(16)), { maxLength: 3 }),
  )
  .map(([first, rest]) => [first, ...rest].join('/'))

test('a uid is 40 hex digits, then segments of 16', () => {
  for (const good of [root, child, grandchild]) assert.equal(parseUid(good), good)
  const bad = [
    '',
    '/',
    root.slice(1),
    `${root}0`,
    root.toUpperCase(),
    `${root}/`,
    `/${root}`,
    `${root}/0123`,
    `${child}/`,
    `${child}\n`,
    ` ${root}`,
    `${root}//${root}`,
    `${root}/0123456789ABCDEF`,
    `${root}/0123456789abcdeg`,
  ]
  for (const text of bad) assert.equal(parseUid(text), undefined, JSON.stringify(text))
})

test('the path is the tree', () => {
  assert.deepEqual([rootOf(grandchild), rootOf(root)], [root, root])
  assert.deepEqual([parentOf(grandchild), parentOf(child), parentOf(root)], [child, root, ''])
  assert.deepEqual(pathOf(grandchild), [root, child, grandchild])
  assert.deepEqual(pathOf(root), [root])
  assert.deepEqual([root, child, grandchild].map(depthOf), [0, 1, 2])
})

test('within means equal or a descendant; the platform contains everything', () => {
  fc.assert(
    fc.property(uids, uids, (uid, scope) => {
      assert.equal(isWithin(uid, scope), pathOf(uid).includes(scope as never))
      assert.ok(isWithin(uid, ''))
    }),
  )
  assert.ok(!isWithin(`${root.slice(0, 39)}x`, root.slice(0, 39)))
})

test('the ranges contain exactly the descendants', () => {
  const holds = ({ from, to }: { from: string; to: string }, uid: string) => uid >= from && uid < to
  fc.assert(
    fc.property(uids, uids, (uid, scope) => {
      assert.equal(holds(subtreeRange(scope), uid), isWithin(uid, scope))
      assert.equal(holds(descendantRange(scope), uid), uid !== scope && isWithin(uid, scope))
      assert.ok(holds(subtreeRange(''), uid))
    }),
  )
})

test('an intersection contains what both ranges contain, and is empty if they share nothing', () => {
  const range = fc.tuple(uids, uids).map(([a, b]) => (a < b ? { from: a, to: b } : { from: b, to: `${a}0` }))
  fc.assert(
    fc.property(range, range, uids, (a, b, uid) => {
      const both = intersectRanges(a, b)
      const within = (r: typeof a | undefined) => r !== undefined && uid >= r.from && uid < r.to
      assert.equal(within(both), within(a) && within(b))
    }),
  )
  assert.equal(intersectRanges(subtreeRange('a'), subtreeRange('b')), undefined)
})

test('new uids are well-formed and differ', () => {
  const roots = Array.from({ length: 50 }, () => randomUids.root())
  const below = roots.map((uid) => randomUids.child(uid))
  for (const [at, uid] of below.entries()) assert.equal(parentOf(parseUid(uid) ?? ''), roots[at])
  assert.equal(new Set([...roots, ...below]).size, 100)
})

test('random hex is a uid only if it has the right length', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }).chain(hex),
      (text) => (parseUid(text) !== undefined) === (text.length === 40),
    ),
  )
})
