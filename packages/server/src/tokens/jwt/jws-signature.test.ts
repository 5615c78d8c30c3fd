import assert from 'node:assert/strict'
import { generateKeyPairSync, KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { compactVerify, generateKeyPair, SignJWT } from 'jose'
import { subjectTokenAlgs } from '../trust/key-set.ts'
import { isSignedBy } from './jws-signature.ts'
import { signJwt } from './sign-jwt.ts'

/** Against an independent implementation, in both directions. */

for (const alg of subjectTokenAlgs) {
  test(`${alg}: a signature of the library verifies, and nothing that differs from it`, async () => {
    const [own, other] = [await generateKeyPair(alg), await generateKeyPair(alg)]
    const [publicKey, otherKey] = [KeyObject.from(own.publicKey), KeyObject.from(other.publicKey)]
    const token = await new SignJWT({ sub: 'a' }).setProtectedHeader({ alg }).sign(own.privateKey)
    assert.ok(await isSignedBy(token, alg, publicKey))
    const [head = '', body = '', signature = ''] = token.split('.')
    const bytes = Buffer.from(signature, 'base64url')
    const changed = Buffer.from(bytes)
    changed[3] = (changed[3] ?? 0) ^ 1
    const claims = Buffer.from(JSON.stringify({ sub: 'b' })).toString('base64url')
    const wrong: Record<string, string> = {
      'another payload': `${head}.${claims}.${signature}`,
      'another header': `${claims}.${body}.${signature}`,
      'one bit of the signature': `${head}.${body}.${changed.toString('base64url')}`,
      'a shorter signature': `${head}.${body}.${bytes.subarray(1).toString('base64url')}`,
      'a longer signature': `${head}.${body}.${Buffer.concat([bytes, Buffer.alloc(1)]).toString('base64url')}`,
      'nothing but zeros': `${head}.${body}.${Buffer.alloc(bytes.length).toString('base64url')}`,
      'no signature': `${head}.${body}.`,
      'padding after the signature': `${token}=`,
      'blanks in the signature': `${head}.${body}. ${signature}`,
      'what is not base64url in it': `${head}.${body}.${signature}!`,
    }
    for (const [what, text] of Object.entries(wrong))
      assert.equal(await isSignedBy(text, alg, publicKey), false, what)
    assert.equal(await isSignedBy(token, alg, otherKey), false, 'another key')
    for (const claimed of subjectTokenAlgs)
      if (claimed !== alg) assert.equal(await isSignedBy(token, claimed, publicKey), false, claimed)
  })
}

test('an ECDSA signature in ASN.1 encoding is rejected', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const text = `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.e30`
  const asn1 = sign('sha256', Buffer.from(text), privateKey).toString('base64url')
  assert.equal(await isSignedBy(`${text}.${asn1}`, 'ES256', publicKey), false)
})

test('the library verifies our signatures', async () => {
  const pairs = {
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  }
  const claims = { sub: 'ä"\u2028', aud: ['a', 'b'], left: undefined }
  for (const algorithm of ['ES256', 'RS256'] as const)
    for (const typ of ['at+jwt', undefined]) {
      const { privateKey, publicKey } = pairs[algorithm]
      const token = await signJwt({ kid: 'k', algorithm, key: privateKey }, typ, claims)
      const { payload, protectedHeader } = await compactVerify(token, publicKey, { algorithms: [algorithm] })
      assert.deepEqual({ ...protectedHeader }, { alg: algorithm, kid: 'k', ...(typ && { typ }) })
      assert.deepEqual(JSON.parse(new TextDecoder().decode(payload)), { sub: 'ä"\u2028', aud: ['a', 'b'] })
      assert.ok(await isSignedBy(token, algorithm, publicKey))
    }
})
