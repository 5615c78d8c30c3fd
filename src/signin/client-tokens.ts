import { limits } from '../core/limits.ts'
import { inTransaction } from '../storage/db.ts'
import { beginSession, type SessionPlace, type SignedIn } from '../sts/sessions.ts'
import type { SignInContext } from './context.ts'

export interface ClientTokensRequest {
  readonly who: SignedIn
  readonly client: string
  readonly audiences: readonly string[]
  readonly scopes: readonly string[]
  readonly refreshToken: boolean
  readonly place: SessionPlace
}

export interface ClientTokens {
  readonly accessToken: string
  readonly expiresAtMs: number
  /** '' when there is none. */
  readonly refreshToken: string
  /** id of the session. */
  readonly session: string
}

export async function clientTokens(
  { store, tokens }: Pick<SignInContext, 'store' | 'tokens'>,
  { who, client, audiences, scopes, place }: ClientTokensRequest,
): Promise<ClientTokens> {
  const { id } = await inTransaction(store.db, (tx) =>
    beginSession(store, tx, {
      ...who,
      ...place,
      kind: 'client',
      client,
      audiences,
      lifetimeMs: limits.accessTokenLifetimeMs,
    }),
  )
  const { token, expiresAtMs } = await tokens.issue({
    identity: who.identity,
    audiences,
    session: id,
    ...(scopes.length === 0 ? {} : { scopes }),
  })
  return { accessToken: token, expiresAtMs, refreshToken: '', session: id }
}
