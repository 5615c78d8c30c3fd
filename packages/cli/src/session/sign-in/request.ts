import { CommandFailed, errorMessage } from '../access-token.ts'

/** Request and result of a user's sign-in. */

/** Client id of the command line at the token service. */
export const CLIENT_ID = 'berth-cli'

/** Error code for an unknown audience (RFC 8707 section 2). */
export const INVALID_TARGET = 'invalid_target'

export interface SignInRequest {
  readonly issuer: string
  /** Requested audiences; the first one is requested immediately. */
  readonly audiences: readonly string[]
  /** A further audience, requested only if the server knows it. */
  readonly optionalAudience: string | undefined
  /** Identity provider (uid or organization) or connection (provider of the installation) to sign in with; '' lets the user choose. */
  readonly identityProvider: string
  readonly connection: string
  readonly print: (line: string) => void
}

export interface SignedInTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** Returns a token for another audience, for a sign-in without a refresh token. */
  readonly exchangeFor?: (audience: string) => Promise<string>
}

/** Returns all audiences of the session. */
export function allAudiences({ audiences, optionalAudience }: SignInRequest): readonly string[] {
  return optionalAudience === undefined ? audiences : [...audiences, optionalAudience]
}

/** Parses a response of the token endpoint (RFC 6749 section 5). Throws a CommandFailed. */
export function parseTokens({ status, body }: { status: number; body: unknown }): SignedInTokens {
  const response = body as { readonly access_token?: string; readonly refresh_token?: string }
  if (status !== 200 || response.access_token === undefined)
    throw new CommandFailed(`the sign-in failed: ${errorMessage(body)}`)
  return { accessToken: response.access_token, refreshToken: response.refresh_token }
}
