import { createPublicKey, type KeyObject } from 'node:crypto'

/** The signature algorithms of subject tokens (R6): asymmetric only. */
export const subjectTokenAlgs = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const
export type SubjectTokenAlg = (typeof subjectTokenAlgs)[number]

export function isSubjectTokenAlg(alg: unknown): alg is SubjectTokenAlg {
  return subjectTokenAlgs.some((known) => known === alg)
}

/** Result of looking up a verification key. Reasons are fixed texts, for the log and the caller. */
export type KeyLookup =
  | { readonly kind: 'found'; readonly key: KeyObject }
  /** The keys of the issuer are known, and none of them fits. `hint`: why, for callers who may read the identity. */
  | { readonly kind: 'unknown'; readonly hint?: string | undefined }
  /** The keys are not available now; a retry may help. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** The keys cannot be fetched: the issuer is invalid or not allowed. */
  | { readonly kind: 'invalid'; readonly reason: string }

/** The source of an issuer's keys. A token is never a source of keys (R7). */
export interface KeySource {
  /** Finds the only key that fits. `kid` undefined: the token names none. Does not reject. */
  find(alg: SubjectTokenAlg, kid: string | undefined): Promise<KeyLookup>
}

/** A public key and the algorithms it may be used with. */
export interface VerificationKey {
  readonly kid: string | undefined
  readonly algs: readonly SubjectTokenAlg[]
  readonly key: KeyObject
}

const KEYS_MAX = 100
const RSA_BITS_MIN = 2048
/** The cost of verifying grows with the size; issuers use no larger keys. */
const RSA_BITS_MAX = 8192
/** RFC 7518 sections 6.2.2 and 6.3.2. */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth'] as const

const algsOfCurve: Readonly<Record<string, SubjectTokenAlg>> = {
  'EC P-256': 'ES256',
  'EC P-384': 'ES384',
  'EC P-521': 'ES512',
  'OKP Ed25519': 'EdDSA',
}
const rsaAlgs = subjectTokenAlgs.filter((alg) => alg.startsWith('RS') || alg.startsWith('PS'))

type Jwk = Readonly<Record<string, unknown>>

/** Returns the unchecked keys of a JWK Set (RFC 7517 section 5), or an error. */
export function readJwks(value: unknown): readonly Jwk[] | { readonly error: string } {
  if (!isObject(value)) return { error: 'is not a JSON object' }
  const { keys } = value
  if (!Array.isArray(keys)) return { error: 'has no list named keys' }
  if (keys.length > KEYS_MAX) return { error: `has more than ${KEYS_MAX} keys` }
  if (!keys.every(isObject)) return { error: 'has a key that is not a JSON object' }
  return keys
}

/** Whether a JWK contains a private or symmetric key. */
export function secretKind(jwk: Jwk): 'private' | 'symmetric' | undefined {
  const { kty } = jwk
  if (kty === 'oct' || Object.hasOwn(jwk, 'k')) return 'symmetric'
  return privateMembers.some((member) => Object.hasOwn(jwk, member)) ? 'private' : undefined
}

/**
 * Imports the public verification key of a JWK, or returns why it is not usable: RSA from 2048 to 8192 bits, EC on P-256, P-384 or P-521, OKP
 * on Ed25519; not for encryption. An `alg` in the JWK limits the algorithms of the key.
 */
export function importVerificationKey(jwk: Jwk): VerificationKey | { readonly error: string } {
  const secret = secretKind(jwk)
  if (secret !== undefined) return { error: `is a ${secret} key` }
  const { kty, crv, use, kid, alg, key_ops: operations } = jwk
  if (use !== undefined && use !== 'sig') return { error: 'is not meant for signatures (use)' }
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return { error: 'is not meant for verifying (key_ops)' }
  }
  if (kid !== undefined && typeof kid !== 'string') return { error: 'has a kid that is not a string' }
  const possible = kty === 'RSA' ? rsaAlgs : [algsOfCurve[`${kty} ${crv}`]].filter((it) => it !== undefined)
  if (possible.length === 0) return { error: 'has a type or curve that is not supported (kty, crv)' }
  const algs = alg === undefined ? possible : possible.filter((it) => it === alg)
  if (algs.length === 0)
    return { error: 'has an algorithm that is not supported or does not fit its type (alg)' }
  const key = importPublic(jwk)
  if (key === undefined) return { error: 'is not a valid public key' }
  const { modulusLength, publicExponent } = key.asymmetricKeyDetails ?? {}
  if (kty === 'RSA') {
    if (modulusLength === undefined || modulusLength < RSA_BITS_MIN)
      return { error: `has less than ${RSA_BITS_MIN} bits` }
    if (modulusLength > RSA_BITS_MAX) return { error: `has more than ${RSA_BITS_MAX} bits` }
    // With exponent 1 every message is its own signature.
    if (publicExponent === undefined || publicExponent < 3n) return { error: 'has a public exponent below 3' }
  }
  return { kid, algs, key }
}

/** The usable keys of a set; others are ignored, because an issuer may publish keys for other purposes. */
export function usableKeys(jwks: readonly Jwk[]): readonly VerificationKey[] {
  return jwks.map(importVerificationKey).filter((key): key is VerificationKey => !('error' in key))
}

/**
 * Picks the key for a token's header: of those for the algorithm (R6) the one with `kid`, or the only one if the token names none. If two fit,
 * none is picked.
 */
export function pickKey(
  keys: readonly VerificationKey[],
  alg: SubjectTokenAlg,
  kid: string | undefined,
): KeyObject | undefined {
  const fitting = keys.filter((key) => key.algs.includes(alg) && (kid === undefined || key.kid === kid))
  return fitting.length === 1 ? fitting[0]?.key : undefined
}

/** Imports only the public members, so that no other member of the JWK has an effect. */
function importPublic({ kty, crv, n, e, x, y }: Jwk): KeyObject | undefined {
  const members = kty === 'RSA' ? { kty, n, e } : kty === 'EC' ? { kty, crv, x, y } : { kty, crv, x }
  try {
    return createPublicKey({ key: members as Record<string, string>, format: 'jwk' })
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Jwk {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
