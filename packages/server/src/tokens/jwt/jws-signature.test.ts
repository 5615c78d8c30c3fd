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

for (const alg of ['RS256', 'PS256'] as const)
  test(`${alg}: a signature without the zero at its start is rejected`, async () => {
    const { privateKey, publicKey } = await generateKeyPair(alg)
    for (let n = 0; ; n++) {
      const token = await new SignJWT({ n }).setProtectedHeader({ alg }).sign(privateKey)
      const [head, body, signature = ''] = token.split('.')
      const bytes = Buffer.from(signature, 'base64url')
      if (bytes[0] !== 0) continue
      assert.ok(await isSignedBy(token, alg, KeyObject.from(publicKey)))
      const shorter = `${head}.${body}.${bytes.subarray(1).toString('base64url')}`
      assert.equal(await isSignedBy(shorter, alg, KeyObject.from(publicKey)), false)
      return
    }
  })

test('an ECDSA signature in ASN.1 encoding is rejected', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const text = `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.e30`
  const asn1 = sign('sha256', Buffer.from(text), privateKey).toString('base64url')
  assert.equal(await isSignedBy(`${text}.${asn1}`, 'ES256', publicKey), false)
})

const orders = [
  ['ES256', 'P-256', 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n],
  ['ES384', 'P-384', 2n ** 384n - 0x389cb27e0bc8d220a7e5f24db74f58851313e695333ad68dn],
  [
    'ES512',
    'P-521',
    2n ** 521n - 657877501894328237357444332315020117536923257219387276263472201219398408051703n,
  ],
] as const

for (const [alg, namedCurve, order] of orders) {
  test(`${alg}: a signature with a number that is not between 0 and the order of the curve is rejected`, async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const text = `${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.e30`
    const hash = `sha${alg.slice(2)}`
    const bytes = sign(hash, Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    const digits = bytes.length // of a number, in hex
    const numberAt = (start: number) => BigInt(`0x${bytes.toString('hex', start, start + digits / 2)}`)
    const valid = [numberAt(0), numberAt(digits / 2)] as const
    const isSigned = (r: bigint, s: bigint) => {
      const numbers = [r, s].map((number) => number.toString(16).padStart(digits, '0')).join('')
      return isSignedBy(`${text}.${Buffer.from(numbers, 'hex').toString('base64url')}`, alg, publicKey)
    }
    assert.ok(await isSigned(...valid))
    const largest = 16n ** BigInt(digits) - 1n
    for (const number of [0n, order, order + 1n, largest]) {
      assert.equal(await isSigned(number, valid[1]), false)
      assert.equal(await isSigned(valid[0], number), false)
      assert.equal(await isSigned(number, number), false)
    }
  })
}

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
