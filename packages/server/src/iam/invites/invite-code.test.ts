import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { randomUids, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import {
  inviteCodeHash,
  isInviteCode,
  isProof,
  newInviteCode,
  readInviteCode,
  readReceivedInvite,
  withProof,
} from './invite-code.ts'

/** A group at some depth below its organization. */
const groups = fc
  .integer({ min: 0, max: limits.groupDepthMax })
  .map((depth) =>
    Array.from({ length: depth }).reduce<Uid>((uid) => randomUids.child(uid), randomUids.root()),
  )

const decoded = (code: string) => Buffer.from(code, 'base64').toString()
const encoded = (text: string) => Buffer.from(text).toString('base64')

test('R25: a code is random, starts with its group, and is parsed into its parts', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(groups, (group) => {
      const { code, keyId } = newInviteCode(group)
      assert.deepEqual(readInviteCode(code), { group, keyId })
      assert.ok(isInviteCode(code, inviteCodeHash(code)))
      assert.ok(decoded(code).startsWith(`{"grp":"${group}",`), decoded(code))
      assert.match(code, /^[A-Za-z0-9]+={0,2}$/)
      const { key } = JSON.parse(decoded(code))
      assert.equal(Buffer.from(key, 'base64url').length, 32)
      for (const one of [code, keyId, key]) {
        assert.ok(!seen.has(one))
        seen.add(one)
      }
    }),
  )
})

test('R25: a code with any character changed, added or removed is another code', () => {
  const { code } = newInviteCode(randomUids.child(randomUids.root()))
  const hash = inviteCodeHash(code)
  for (let at = 0; at < code.length; at++) {
    const [before, here, after] = [code.slice(0, at), code[at], code.slice(at + 1)]
    assert.ok(!isInviteCode(before + after, hash), `without ${at}`)
    for (const other of ['A', 'B', '=', '+', '-', ' ', '\n', here?.toLowerCase(), here?.toUpperCase()]) {
      assert.ok(!isInviteCode(before + other + here + after, hash), `${other} before ${at}`)
      if (other !== here) assert.ok(!isInviteCode(before + other + after, hash), `${other} at ${at}`)
    }
  }
  // The bits behind the last character decode to nothing, so these are spellings of the same JSON.
  for (const spelling of [code.replaceAll('=', ''), `${code} `, encoded(` ${decoded(code)}`)])
    if (spelling !== code) assert.ok(!isInviteCode(spelling, hash), spelling)
})

test('R25: no other code, and no invented text, matches the hash of a code', () => {
  const { code } = newInviteCode(randomUids.root())
  const hash = inviteCodeHash(code)
  fc.assert(fc.property(groups, (group) => !isInviteCode(newInviteCode(group).code, hash)))
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isInviteCode(text, hash)))
  assert.ok(!isInviteCode(code), 'there is no invite')
})

test('an invalid code is rejected without an exception (inviteCodeCharsMax)', () => {
  const group = randomUids.root()
  const key = 'k'.repeat(43)
  const written = (value: object) => encoded(JSON.stringify(value))
  const right = { grp: group, kid: '0123456789abcdef', key }
  assert.deepEqual(readInviteCode(written(right)), { group, keyId: right.kid })
  const deep = Array.from({ length: 2 * limits.groupDepthMax }).reduce<Uid>(
    (uid) => randomUids.child(uid),
    group,
  )
  assert.ok(written({ ...right, grp: deep }).length > limits.inviteCodeCharsMax)
  for (const code of [
    '',
    '{}',
    JSON.stringify(right),
    written({}),
    written([right]),
    written({ kid: right.kid, grp: group, key }),
    written({ ...right, grp: 'x' }),
    written({ ...right, grp: `${group}/` }),
    written({ ...right, grp: group.toUpperCase() }),
    written({ ...right, kid: '' }),
    written({ ...right, kid: 'x\0' }),
    written({ ...right, key: '' }),
    written({ ...right, more: 1 }),
    encoded(`${JSON.stringify(right)}\n`),
    written({ ...right, grp: deep }),
    'A'.repeat(limits.inviteCodeCharsMax + 1),
  ])
    assert.equal(readInviteCode(code), undefined, code)
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), fc.base64String()),
      (text) => readInviteCode(text) === undefined,
    ),
  )
})

const group = randomUids.root()

test('a received text is a code, a code with a proof, or the link with one of them', () => {
  const { code } = newInviteCode(group)
  const invite = { uid: `${group}/0123456789abcdef`, email: 'Ada@example.com' }
  const key = createSecretKey(new Uint8Array(32))
  const proven = withProof(key, code, invite)
  const { proof } = readReceivedInvite(proven)
  for (const text of [code, `https://berth.example.com/invite#${code}`])
    assert.deepEqual(readReceivedInvite(text), { code, proof: '' })
  assert.deepEqual(readReceivedInvite(`https://berth.example.com/invite#${proven}`), { code, proof })
  assert.ok(isProof(key, proof, { ...invite, email: 'ada@EXAMPLE.com' }))
  assert.ok(!isProof(key, '', invite))
  assert.ok(!isProof(key, proof, { ...invite, email: 'eve@example.com' }))
  assert.ok(!isProof(key, proof, { ...invite, uid: `${group}/fedcba9876543210` }))
  assert.ok(!isProof(createSecretKey(new Uint8Array(32).fill(1)), proof, invite))
})
