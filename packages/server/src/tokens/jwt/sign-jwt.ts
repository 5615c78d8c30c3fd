import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { SigningKey } from '../keys/signing-keys.ts'
import { derToEcdsa, P256_NUMBER_BYTES } from './ecdsa-signature.ts'

/**
 * Signs a JWT of this server (RFC 7515 section 7.1, RFC 7518 sections 3.3 and 3.4) with `node:crypto`, in half of the CPU time that the library takes
 * with Web Crypto.
 */
export async function signJwt(
  { kid, algorithm, key }: SigningKey,
  typ: string | undefined,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  // JSON omits undefined members.
  const signed = `${encode({ alg: algorithm, kid, typ })}.${encode(claims)}`
  const bytes = await signAsync('sha256', Buffer.from(signed), key)
  const signature = algorithm === 'ES256' ? derToEcdsa(bytes, P256_NUMBER_BYTES) : bytes
  return `${signed}.${signature.toString('base64url')}`
}

const signAsync = promisify(sign)

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
