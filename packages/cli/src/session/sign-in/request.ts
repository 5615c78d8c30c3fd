import { CommandFailed, errorMessage } from '../access-token.ts'

/** What a person's sign-in asks the token service for, and what it brings. */

/** Under which the token service knows this program. */
export const CLIENT_ID = 'berth-cli'

/** The error of a token service that knows no such audience (RFC 8707 section 2). */
export const INVALID_TARGET = 'invalid_target'

export interface SignInRequest {
  readonly issuer: string
  /** What tokens are to be for; the first one is asked for at once. */
  readonly audiences: readonly string[]
  /** What further ones may be for, if the server knows it: it is only a guess. */
  readonly optionalAudience: string | undefined
  /** Where to sign in, when that is not for the person to choose: uid or organization, or the name of an operator's provider. */
  readonly identityProvider: string
  readonly connection: string
  readonly print: (line: string) => void
}

export interface SignedInTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** A token for another audience, for a sign-in that has no refresh token to get it by. */
  readonly exchangeFor?: (audience: string) => Promise<string>
}

/** What the session is to be good for. */
export function allAudiences({ audiences, optionalAudience: alsoFor }: SignInRequest): readonly string[] {
  return alsoFor === undefined ? audiences : [...audiences, alsoFor]
}

/** The tokens of an answer of the token endpoint (RFC 6749 section 5). Throws a Refused. */
export function parseTokens({ status, body }: { status: number; body: unknown }): SignedInTokens {
  const answer = body as { readonly access_token?: string; readonly refresh_token?: string }
  if (status !== 200 || answer.access_token === undefined)
    throw new CommandFailed(`the sign-in failed: ${errorMessage(body)}`)
  return { accessToken: answer.access_token, refreshToken: answer.refresh_token }
}
