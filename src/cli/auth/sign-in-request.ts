import { messageOf, Refused } from '../client/session.ts'

/** What a person's sign-in asks the token service for, and what it brings. */

/** Under which the token service knows this program. */
export const CLIENT_ID = 'berth-cli'

export interface SignInRequest {
  readonly issuer: string
  /** What tokens are to be for; the first one is asked for at once. */
  readonly audiences: readonly string[]
  /** Where to sign in, when that is not for the person to choose: uid or organization, or the name of an operator's provider. */
  readonly identityProvider: string
  readonly connection: string
  readonly tell: (line: string) => void
}

export interface SignedInTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
}

/** The tokens of an answer of the token endpoint (RFC 6749 section 5). Throws a Refused. */
export function tokensOf({ status, body }: { status: number; body: unknown }): SignedInTokens {
  const answer = body as { readonly access_token?: string; readonly refresh_token?: string }
  if (status !== 200 || answer.access_token === undefined)
    throw new Refused(`the sign-in failed: ${messageOf(body)}`)
  return { accessToken: answer.access_token, refreshToken: answer.refresh_token }
}
