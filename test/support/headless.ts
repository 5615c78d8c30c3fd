import { createDecipheriv, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'

/** A client of the headless flow, as the public SDK makes one. */
export function newClient() {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  return {
    code: publicKey.export({ format: 'jwk' }).x as string,
    /** The token in what the sign-in came to; throws for what is not sealed to this client. */
    open({
      ecdhPublicKey,
      encryptedIdToken,
    }: {
      readonly ecdhPublicKey: string
      readonly encryptedIdToken: string
    }): string {
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: ecdhPublicKey }, format: 'jwk' })
      const sealed = Buffer.from(encryptedIdToken, 'base64')
      const secret = diffieHellman({ privateKey, publicKey: key })
      const cipher = createDecipheriv('aes-256-gcm', secret, sealed.subarray(0, 12))
      cipher.setAuthTag(sealed.subarray(-16))
      return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]).toString()
    },
  }
}
