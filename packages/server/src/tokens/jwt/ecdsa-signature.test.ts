import assert from 'node:assert/strict'
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { derToEcdsa, ecdsaToDer } from './ecdsa-signature.ts'

const curves = [
  ['P-256', 32],
  ['P-384', 48],
  ['P-521', 66],
] as const

for (const [namedCurve, numberBytes] of curves) {
  test(`${namedCurve}: signatures of OpenSSL become those of JWTs, and the same again`, () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const jwsKey = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
    // In DER, about half of all numbers of P-256 and P-384 start with a zero, and one of 128 signatures has a shorter number.
    for (let n = 0; n < 300; n++) {
      const text = Buffer.from(`text ${n}`)
      const der = sign('sha256', text, privateKey)
      const signature = derToEcdsa(der, numberBytes)
      assert.ok(verify('sha256', text, jwsKey, signature))
      assert.deepEqual(ecdsaToDer(signature, numberBytes), der)
    }
  })

  test(`${namedCurve}: any two numbers come out as they went in`, () => {
    const number = fc
      .tuple(fc.nat(numberBytes), fc.uint8Array({ minLength: numberBytes, maxLength: numberBytes }))
      .map(([zeros, bytes]) => bytes.fill(0, 0, zeros))
    fc.assert(
      fc.property(number, number, (r, s) => {
        const signature = Buffer.concat([r, s])
        assert.deepEqual(derToEcdsa(ecdsaToDer(signature, numberBytes)!, numberBytes), signature)
      }),
    )
  })

  test(`${namedCurve}: a signature of another length is not converted`, () => {
    for (const length of [0, 1, numberBytes, 2 * numberBytes - 1, 2 * numberBytes + 1])
      assert.equal(ecdsaToDer(Buffer.alloc(length), numberBytes), undefined)
  })
}
