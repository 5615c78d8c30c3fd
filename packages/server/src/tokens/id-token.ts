import { randomUUID } from 'node:crypto'
import { limits } from '../config/limits.ts'
import { signJwt } from './jwt/sign-jwt.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/**
 * ID tokens (OpenID Connect Core 1.0 section 2), which identify the signed-in user to a client. A token with the token service as a further
 * audience can be exchanged there; such a token names its session, with which it ends.
 */
export interface IdTokenRequest {
  /** uid of the identity. */
  readonly identity: string
  /** The client, and the token service if the token can be exchanged. */
  readonly audiences: readonly string[]
  /** id of the session; undefined if the token cannot be exchanged. */
  readonly session: string | undefined
  /** '' if it is unknown or not verified. */
  readonly email: string
  readonly name: string
  /** `nonce` of the client's request; '' for none. */
  readonly nonce: string
  readonly signedInMs: number
}

const SECOND_MS = 1000
/** The `typ` of ID tokens; that of access tokens differs. */
export const ID_TOKEN_TYPE = 'JWT'

/** Issues an ID token. `issuer`: the address of the token service. */
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
