import { constants, type KeyObject, type SigningOptions, verify } from 'node:crypto'
import { promisify } from 'node:util'
import type { SubjectTokenAlg } from '../trust/key-set.ts'
import { ecdsaToDer, P256_NUMBER_BYTES } from './ecdsa-signature.ts'

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
  const { type, hash, options, numberBytes } = parameters[alg]
  if (key.asymmetricKeyType !== type) return false
  const bytes = Buffer.from(signature, 'base64url')
  if (type === 'rsa' && bytes.length !== rsaSignatureBytes(key)) return false
  const encoded = numberBytes === undefined ? bytes : ecdsaToDer(bytes, numberBytes)
  if (encoded === undefined) return false
  try {
    return await verifyAsync(
      hash,
      Buffer.from(token.slice(0, dot)),
      options === undefined ? key : { key, ...options },
      encoded,
    )
  } catch {
    return false
  }
}

/** Node copies the details of a key each time, which takes 4 us. */
const signatureBytes = new WeakMap<KeyObject, number>()

/** RFC 8017 sections 8.1.2 and 8.2.2, step 1. OpenSSL also accepts RSASSA-PSS signatures without zeros at their start. */
function rsaSignatureBytes(key: KeyObject): number {
  let bytes = signatureBytes.get(key)
  if (bytes === undefined) {
    bytes = Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
    signatureBytes.set(key, bytes)
  }
  return bytes
}

const BASE64URL = /^[A-Za-z0-9_-]+$/
const verifyAsync = promisify(verify)

interface Parameters {
  readonly type: NonNullable<KeyObject['asymmetricKeyType']>
  /** Undefined if the algorithm includes the hash. */
  readonly hash: string | undefined
  /** Node throws and catches two exceptions for a key in an object with options, which takes about 40 us: only where they are needed. */
  readonly options?: SigningOptions
  /** Of each of the two numbers of an ECDSA signature. */
  readonly numberBytes?: number
}

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }

/** RFC 7518 sections 3.3 to 3.5, RFC 8037 section 3.1. The default padding of keys of type `rsa` is PKCS #1 v1.5. */
const parameters: Readonly<Record<SubjectTokenAlg, Parameters>> = {
  RS256: { type: 'rsa', hash: 'sha256' },
  RS384: { type: 'rsa', hash: 'sha384' },
  RS512: { type: 'rsa', hash: 'sha512' },
  PS256: { type: 'rsa', hash: 'sha256', options: pss },
  PS384: { type: 'rsa', hash: 'sha384', options: pss },
  PS512: { type: 'rsa', hash: 'sha512', options: pss },
  ES256: { type: 'ec', hash: 'sha256', numberBytes: P256_NUMBER_BYTES },
  ES384: { type: 'ec', hash: 'sha384', numberBytes: 48 },
  ES512: { type: 'ec', hash: 'sha512', numberBytes: 66 },
  EdDSA: { type: 'ed25519', hash: undefined },
}
