import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import { ALGORITHM } from '../keys/signing-key-rows.ts'
import type { SigningKey } from '../keys/signing-keys.ts'

/**
 * Signs a JWT of this server (RFC 7515 section 7.1, RFC 7518 section 3.4) with `node:crypto`, in half of the CPU time that the library takes
 * with Web Crypto.
 */
export async function signJwt(
  { kid, key }: SigningKey,
  typ: string | undefined,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  // JSON omits undefined members.
  const signed = `${encode({ alg: ALGORITHM, kid, typ })}.${encode(claims)}`
  const signature = await signEs256(signed, key)
  return `${signed}.${signature.toString('base64url')}`
}

const signAsync = promisify(sign)

function signEs256(text: string, key: SigningKey['key']): Promise<Buffer> {
  return signAsync('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
