import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deriveKey, MASTER_KEY_BYTES, newMasterKey, parseMasterKey, seal, unseal } from './encryption.ts'

const master = newMasterKey()
const key = deriveKey(master, 'secrets at rest')

test('a secret opens with its own key and context only', () => {
  for (const plain of ['', 'a secret', '🛳'.repeat(1000)])
    assert.equal(unseal(key, seal(key, plain, 'c'), 'c'), plain)
  const sealed = seal(key, 'a secret', 'signing key 1')
  assert.equal(unseal(key, sealed, 'signing key 2'), undefined)
  assert.equal(unseal(deriveKey(newMasterKey(), 'secrets at rest'), sealed, 'signing key 1'), undefined)
  assert.equal(unseal(deriveKey(master, 'page tokens'), sealed, 'signing key 1'), undefined)
})

test('a changed or cut secret does not open', () => {
  const sealed = Buffer.from(seal(key, 'a secret', 'c'))
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed[at]! ^= 1
    assert.equal(unseal(key, changed, 'c'), undefined)
    assert.equal(unseal(key, sealed.subarray(0, at), 'c'), undefined)
  }
})

test('the same secret is never sealed to the same bytes', () => {
  assert.notDeepEqual(seal(key, 'a', 'c'), seal(key, 'a', 'c'))
})

test('a master key is 32 bytes in either base64, padded or not', () => {
  const base64 = Buffer.from(master).toString('base64')
  for (const text of [
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(master).toString('base64url'),
    ` ${base64}\n`,
  ])
    assert.deepEqual(new Uint8Array(parseMasterKey(text) ?? []), new Uint8Array(master))
  for (const text of [
    '',
    'x',
    base64.slice(4),
    `${base64}AAAA`,
    'ä'.repeat(43),
    `${base64.slice(0, 10)} ${base64.slice(10)}`,
  ])
    assert.equal(parseMasterKey(text), undefined)
})

test('keys for different purposes differ, and each is the same every time', () => {
  assert.equal(key.symmetricKeySize, MASTER_KEY_BYTES)
  assert.ok(deriveKey(master, 'secrets at rest').equals(key))
  assert.ok(!deriveKey(master, 'page tokens').equals(key))
})
