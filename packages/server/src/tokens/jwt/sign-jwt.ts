import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import { ALGORITHM } from '../keys/signing-key-rows.ts'
import type { SigningKey } from '../keys/signing-keys.ts'

/**
 * Signs a JWT of ours (RFC 7515 section 7.1, RFC 7518 section 3.4). Node's own signature instead of the library's, which goes through
 * Web Crypto: the same for half of the processor time, and signing is a good part of an exchange. Only what others have signed has to
 * be read with care.
 */
export async function signJwt(
  { kid, key }: SigningKey,
  typ: string | undefined,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  // A member that is undefined is none.
  const signed = `${encoded({ alg: ALGORITHM, kid, typ })}.${encoded(claims)}`
  const signature = await signed256(signed, key)
  return `${signed}.${signature.toString('base64url')}`
}

const signAsync = promisify(sign)

function signed256(text: string, key: SigningKey['key']): Promise<Buffer> {
  return signAsync('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
