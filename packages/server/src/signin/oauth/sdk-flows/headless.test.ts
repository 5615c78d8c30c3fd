import assert from 'node:assert/strict'
import { createDecipheriv, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { encryptToCode, headlessCodePrefix, isHeadlessCode } from './headless.ts'

const client = generateKeyPairSync('x25519')
const code = client.publicKey.export({ format: 'jwk' }).x as string

test('only the client can decrypt a result for its code', () => {
  const { ecdhPublicKey = '', encryptedIdToken = '' } = encryptToCode(code, 'a token') ?? {}
  assert.match(ecdhPublicKey, /^[A-Za-z0-9_-]{43}$/)
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: ecdhPublicKey }, format: 'jwk' })
  const open = (privateKey: typeof client.privateKey) => {
    const sealed = Buffer.from(encryptedIdToken, 'base64')
    const cipher = createDecipheriv(
      'aes-256-gcm',
      diffieHellman({ privateKey, publicKey }),
      sealed.subarray(0, 12),
    )
    cipher.setAuthTag(sealed.subarray(-16))
    return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]).toString()
  }
  assert.equal(open(client.privateKey), 'a token')
  assert.throws(() => open(generateKeyPairSync('x25519').privateKey))
})

test('every result has a key and a nonce of its own', () => {
  const results = Array.from({ length: 50 }, () => encryptToCode(code, 'a token'))
  assert.equal(new Set(results.map((result) => result?.ecdhPublicKey)).size, 50)
  assert.equal(new Set(results.map((result) => result?.encryptedIdToken.slice(0, 16))).size, 50)
})

test('a code is identified by its prefix, which is in the address that the terminal shows', () => {
  assert.equal(headlessCodePrefix(code), code.slice(0, 8))
})

const b64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64url')
const wrong: Readonly<Record<string, string>> = {
  nothing: '',
  'too short': code.slice(1),
  'too long': `${code}A`,
  padded: `${code}=`,
  'in the other alphabet': `${code.slice(0, 42)}+`,
  'with a space': ` ${code.slice(1)}`,
  'with bits that no byte has': 'A'.repeat(42).concat('B'),
  'zero, a point of small order': b64('00'.repeat(32)),
  'one, a point of small order': b64(`01${'00'.repeat(31)}`),
  'a point of order 8': b64('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800'),
  'another point of order 8': b64('5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157'),
  'the field less one, a point of small order': b64(`ec${'ff'.repeat(30)}7f`),
  'the field, a point of small order': b64(`ed${'ff'.repeat(30)}7f`),
  'the field and one, a point of small order': b64(`ee${'ff'.repeat(30)}7f`),
}
for (const [what, text] of Object.entries(wrong))
  test(`a code that is ${what} is invalid`, () => {
    assert.ok(!isHeadlessCode(text))
    assert.equal(encryptToCode(text, 'a token'), undefined)
  })
