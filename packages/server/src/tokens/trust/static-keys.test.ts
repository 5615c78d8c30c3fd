import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '../../config/limits.ts'
import { checkStaticKeys, staticKeySource, staticKeysProblem } from './static-keys.ts'

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })
const smallRsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
const ecPublic = ec.publicKey.export({ format: 'jwk' })
const ecPrivate = ec.privateKey.export({ format: 'jwk' })
const symmetric = { kty: 'oct', k: 'c2VjcmV0' }

function jwks(...keys: unknown[]): string {
  return JSON.stringify({ keys })
}

test('a key set with a usable public key is accepted', () => {
  for (const text of [
    jwks(ecPublic),
    jwks({ ...rsa, alg: 'RS256', use: 'sig', kid: 'k', key_ops: ['verify'] }),
    jwks({ ...rsa, use: 'enc' }, ecPublic),
    jwks(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })),
    jwks(generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey.export({ format: 'jwk' })),
  ]) {
    assert.deepEqual([checkStaticKeys(text), staticKeysProblem(text)], [undefined, undefined], text)
  }
})

test('R6: private and symmetric keys are rejected, in a key set or in another form', () => {
  const pem = ec.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  for (const [text, reason] of [
    ['', /must not be empty/],
    [' ', /must not be empty/],
    [jwks(ecPrivate), /a private key/],
    [jwks(ecPublic, { ...rsa, d: 'AQAB' }), /a private key/],
    [jwks(ecPublic, symmetric), /a symmetric key/],
    [jwks({ ...rsa, k: 'c2VjcmV0' }), /symmetric/],
    [JSON.stringify(ecPrivate), /a private key/],
    [JSON.stringify([{ key: symmetric }]), /a symmetric key/],
    [pem, /a private key/],
    [JSON.stringify({ algorithm: 'ES256', key: Buffer.from(pem).toString('base64') }), /a private key/],
    [jwks(ecPublic).padEnd(limits.jwksCharsMax + 1), /at most 65536 characters/],
  ] as const) {
    assert.match(checkStaticKeys(text) ?? 'accepted', reason, text.slice(0, 200))
  }
})

test('R6: a text without a usable public key is accepted, has no keys, and the reason is given', async () => {
  for (const [text, reason] of [
    ['x', /not JSON/],
    ['-----BEGIN PUBLIC KEY-----', /not JSON/],
    ['null', /not a JSON object/],
    ['[]', /not a JSON object/],
    [JSON.stringify(ecPublic), /no list named keys/],
    [jwks(), /must contain a public key/],
    [jwks('x'), /a key that is not a JSON object/],
    [jwks(smallRsa), /less than 2048 bits/],
    [jwks({ ...rsa, e: 'AQ' }), /exponent|not a valid/],
    [jwks({ ...rsa, use: 'enc' }), /use/],
    [jwks({ ...rsa, key_ops: ['encrypt'] }), /key_ops/],
    [jwks({ ...rsa, alg: 'HS256' }), /alg/],
    [jwks({ ...rsa, alg: 'ES256' }), /alg/],
    [jwks({ ...ecPublic, crv: 'secp256k1' }), /crv/],
    [jwks({ ...ecPublic, x: 'AAAA' }), /not a valid public key/],
    [jwks({ kty: 'RSA' }), /not a valid public key/],
    [jwks({ algorithm: 'RS256', key: 'LS0t' }), /kty/],
    [jwks(...Array.from({ length: 101 }, () => ecPublic)), /more than 100 keys/],
  ] as const) {
    assert.equal(checkStaticKeys(text), undefined, text.slice(0, 200))
    assert.match(staticKeysProblem(text) ?? 'usable', reason, text.slice(0, 200))
    const found = await staticKeySource(text).find('ES256', undefined)
    assert.match(found.kind === 'unknown' ? (found.hint ?? '') : found.kind, reason)
  }
})

test('R6: a key is found only for the algorithms of its type', async () => {
  const source = staticKeySource(
    jwks({ ...rsa, kid: 'r' }, { ...ecPublic, kid: 'e' }, { ...rsa, kid: 'p', alg: 'PS256' }),
  )
  for (const [alg, kid, kind] of [
    ['RS256', 'r', 'found'],
    ['PS512', 'r', 'found'],
    ['ES256', 'e', 'found'],
    ['PS256', 'p', 'found'],
    ['RS256', 'p', 'unknown'],
    ['ES256', 'r', 'unknown'],
    ['ES384', 'e', 'unknown'],
    ['RS256', 'e', 'unknown'],
    ['EdDSA', 'e', 'unknown'],
    ['RS256', 'x', 'unknown'],
  ] as const) {
    assert.equal((await source.find(alg, kid)).kind, kind, `${alg} ${kid}`)
  }
})

test('without a key id the only fitting key is used; with two, none is', async () => {
  const source = staticKeySource(
    jwks({ ...rsa, kid: 'r' }, { ...ecPublic, kid: 'e' }, { ...rsa, kid: 'p', alg: 'PS256' }),
  )
  assert.equal((await source.find('RS256', undefined)).kind, 'found')
  assert.equal((await source.find('ES256', undefined)).kind, 'found')
  assert.equal((await source.find('PS256', undefined)).kind, 'unknown')
})

test('an invalid stored text has no keys', async () => {
  for (const text of ['', '{', jwks(symmetric), jwks(ecPrivate)]) {
    assert.equal((await staticKeySource(text).find('ES256', undefined)).kind, 'unknown')
  }
})

test('keys are imported once for the same text, and never used for another text', async () => {
  const text = jwks(ecPublic)
  assert.equal(staticKeySource(text), staticKeySource(text))
  assert.notEqual(staticKeySource(text), staticKeySource(`${text} `))
})
