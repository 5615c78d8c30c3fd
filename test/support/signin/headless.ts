import assert from 'node:assert/strict'
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

/** What the client fetches: undefined before the user has signed in, or after it was fetched. */
export async function fetchHeadlessToken(
  url: string,
  code: string,
): Promise<{ readonly ecdhPublicKey: string; readonly encryptedIdToken: string } | undefined> {
  const response = await fetch(`${url}/sts/headless_sessions?${new URLSearchParams({ code })}`)
  if (response.status === 404) return undefined
  assert.equal(response.status, 200, await response.clone().text())
  const { ecdhPublicKey, encryptedIdtoken } = (await response.json()) as Record<string, string>
  return {
    // Bytes in JSON are base64, and these are the bytes of a text.
    ecdhPublicKey: Buffer.from(ecdhPublicKey ?? '', 'base64').toString(),
    encryptedIdToken: encryptedIdtoken ?? '',
  }
}
