import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { SigningKey } from '../keys/signing-keys.ts'
import { withOptions } from './key-options.ts'

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
  const signature = await signAsync('sha256', Buffer.from(signed), withOptions(key, jwsEncoding))
  return `${signed}.${signature.toString('base64url')}`
}

/** Encoding of ECDSA signatures; other algorithms ignore it. */
const jwsEncoding = { dsaEncoding: 'ieee-p1363' } as const
const signAsync = promisify(sign)

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
