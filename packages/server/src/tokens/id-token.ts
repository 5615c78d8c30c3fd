import { randomUUID } from 'node:crypto'
import { limits } from '../config/limits.ts'
import { signJwt } from './jwt/sign-jwt.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/**
 * ID tokens (OpenID Connect Core 1.0 section 2): they tell a client who signed in. One that is for the token service as well can
 * be exchanged there, like the token of any other issuer; such a token names its session, with which it ends.
 */
export interface IdTokenRequest {
  /** uid of the identity. */
  readonly identity: string
  /** The client, and the token service where the token is to be exchanged. */
  readonly audiences: readonly string[]
  /** id of the session; undefined when it is to open nothing. */
  readonly session: string | undefined
  /** '' when it is not known, or not proven. */
  readonly email: string
  readonly name: string
  /** What the client sent to recognize the answer by; '' for nothing. */
  readonly nonce: string
  readonly signedInMs: number
}

const SECOND_MS = 1000
/** Access tokens have another `typ`. */
export const ID_TOKEN_TYPE = 'JWT'

/** `issuer`: the address of the token service. */
export async function issueIdToken(
  {
    keys,
    issuer,
    clock,
  }: { readonly keys: SigningKeys; readonly issuer: string; readonly clock: () => number },
  { identity, audiences, session, email, name, nonce, signedInMs }: IdTokenRequest,
): Promise<string> {
  const key = await keys.current()
  const issuedAt = Math.floor(clock() / SECOND_MS)
  return signJwt(key, ID_TOKEN_TYPE, {
    iss: issuer,
    sub: identity,
    aud: audiences.length === 1 ? (audiences[0] as string) : [...audiences],
    ...(audiences.length === 1 ? {} : { azp: audiences[0] }),
    iat: issuedAt,
    exp: issuedAt + limits.idTokenLifetimeMs / SECOND_MS,
    auth_time: Math.floor(signedInMs / SECOND_MS),
    jti: randomUUID(),
    name,
    ...(email === '' ? {} : { email, email_verified: true }),
    ...(nonce === '' ? {} : { nonce }),
    ...(session === undefined ? {} : { berth: { sid: session } }),
  })
}
