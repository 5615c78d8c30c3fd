import { constants, type KeyObject, type SignKeyObjectInput, verify } from 'node:crypto'
import { promisify } from 'node:util'
import type { SubjectTokenAlg } from '../trust/key-set.ts'

/**
 * Verifies the signature of a compact JWS (RFC 7515 section 5.2) with `node:crypto`: Web Crypto, which the library uses, takes nearly twice
 * the CPU time. The algorithms of a key were decided when it was imported (trust/key-set.ts), not by the token; the type of the key is
 * checked here again.
 */
export async function isSignedBy(token: string, alg: SubjectTokenAlg, key: KeyObject): Promise<boolean> {
  const dot = token.lastIndexOf('.')
  const signature = token.slice(dot + 1)
  // Buffer ignores characters that are not base64url.
  if (!BASE64URL.test(signature)) return false
  const { type, hash, ...options } = parameters[alg]
  if (key.asymmetricKeyType !== type) return false
  try {
    return await verifyAsync(
      hash,
      Buffer.from(token.slice(0, dot)),
      { key, ...options },
      Buffer.from(signature, 'base64url'),
    )
  } catch {
    return false
  }
}

const BASE64URL = /^[A-Za-z0-9_-]+$/
const verifyAsync = promisify(verify)

interface Parameters extends Omit<SignKeyObjectInput, 'key'> {
  readonly type: NonNullable<KeyObject['asymmetricKeyType']>
  /** Undefined if the algorithm includes the hash. */
  readonly hash: string | undefined
}

/** RFC 7518 sections 3.3 to 3.5, RFC 8037 section 3.1. */
const parameters: Readonly<Record<SubjectTokenAlg, Parameters>> = {
  RS256: { type: 'rsa', hash: 'sha256', padding: constants.RSA_PKCS1_PADDING },
  RS384: { type: 'rsa', hash: 'sha384', padding: constants.RSA_PKCS1_PADDING },
  RS512: { type: 'rsa', hash: 'sha512', padding: constants.RSA_PKCS1_PADDING },
  PS256: pss('sha256'),
  PS384: pss('sha384'),
  PS512: pss('sha512'),
  ES256: { type: 'ec', hash: 'sha256', dsaEncoding: 'ieee-p1363' },
  ES384: { type: 'ec', hash: 'sha384', dsaEncoding: 'ieee-p1363' },
  ES512: { type: 'ec', hash: 'sha512', dsaEncoding: 'ieee-p1363' },
  EdDSA: { type: 'ed25519', hash: undefined },
}

function pss(hash: string): Parameters {
  return {
    type: 'rsa',
    hash,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  }
}
