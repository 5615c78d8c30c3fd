import { randomUUID } from 'node:crypto'
import { limits } from '../config/limits.ts'
import { signJwt } from './jwt/sign-jwt.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/**
 * Tokens that identify a group to a cloud provider: OIDC tokens of some minutes, with the provider as audience. This server does not accept
 * them: unlike access tokens and ID tokens they have no `typ`, and their subject is not an identity.
 */

export interface AccountTokens {
  /** Issues a token. `group`: uid of the group with the account association. */
  issue(group: string, audience: string): Promise<string>
}

const SECOND_MS = 1000

/** `issuer`: the address of the token service, at which the provider finds the keys. */
export function accountTokens({
  keys,
  issuer,
  clock,
}: {
  readonly keys: SigningKeys
  readonly issuer: string
  readonly clock: () => number
}): AccountTokens {
  return {
    async issue(group, audience) {
      const key = await keys.current()
      const issuedAt = Math.floor(clock() / SECOND_MS)
      return signJwt(key, undefined, {
        iss: issuer,
        sub: `account-association:${group}`,
        aud: audience,
        iat: issuedAt,
        exp: issuedAt + limits.accountTokenLifetimeMs / SECOND_MS,
        jti: randomUUID(),
      })
    },
  }
}
