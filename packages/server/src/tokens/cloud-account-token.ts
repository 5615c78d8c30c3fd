import { randomUUID } from 'node:crypto'
import { limits } from '../config/limits.ts'
import { signJwt } from './jwt/sign-jwt.ts'
import type { SigningKeys } from './keys/signing-keys.ts'

/**
 * Tokens by which a cloud provider knows for which group we come: OIDC tokens of minutes, with the provider as audience. They open
 * nothing here: unlike access tokens and ID tokens they have no `typ`, and their subject is no identity.
 */

export interface AccountTokens {
  /** `group`: uid of the group whose account association it is about. */
  issue(group: string, audience: string): Promise<string>
}

const SECOND_MS = 1000

/** `issuer`: the address of the token service, under which the provider finds the keys. */
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
