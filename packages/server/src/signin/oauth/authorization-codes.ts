import { limits } from '../../config/limits.ts'
import { pendingStore } from '../../storage/pending-store.ts'
import type { Store } from '../../storage/store.ts'
import { isEqualConstantTime } from '../sessions/browser.ts'
import type { AuthorizationGrant } from './authorization-grants.ts'
import { verifyCodeChallenge } from './pkce.ts'

/**
 * Authorization codes (RFC 6749 section 4.1): each is bound to the client, the redirect URI and the code challenge of its request, and
 * valid for one attempt. A failed attempt uses it up too, because a caller without the rest has stolen it. A code is stored for longer than
 * it can be redeemed: a replay ends the session that the first attempt started (section 4.1.2).
 */

const STORED_MS = 60 * 60 * 1000

interface IssuedCode {
  readonly grant: AuthorizationGrant
  readonly redirect: string
  readonly challenge: string
  readonly expiresMs: number
  readonly state: 'unused' | 'used' | 'replayed'
  /** id of the session that its redemption started; '' until then. */
  readonly session: string
}

/** What a client presents with a code. */
export interface Redemption {
  readonly client: string
  readonly redirect: string
  readonly verifier: string
}

export type RedemptionResult =
  | { readonly kind: 'redeemed'; readonly grant: AuthorizationGrant }
  /** `identity`: whose code it was; undefined for an unknown code. */
  | { readonly kind: 'refused'; readonly reason: string; readonly identity: string | undefined }
  /** Presented before. `session` is the one that it started; '' if there is none yet. */
  | { readonly kind: 'replayed'; readonly session: string; readonly identity: string }

export interface AuthorizationCodes {
  issue(grant: AuthorizationGrant, redirect: string, challenge: string): Promise<string>
  redeem(code: string, redemption: Redemption): Promise<RedemptionResult>
  /** Stores the session that a redemption started. False if the code was replayed meanwhile: the session must end. */
  attachSession(code: string, session: string): Promise<boolean>
}

export function authorizationCodes(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>): AuthorizationCodes {
  const codes = pendingStore<IssuedCode>(store, 'authorization_code', STORED_MS)
  return {
    issue: (grant, redirect, challenge) =>
      codes.add({
        grant,
        redirect,
        challenge,
        expiresMs: store.clock() + limits.authorizationCodeMs,
        state: 'unused',
        session: '',
      }),

    async redeem(code, redemption) {
      let found: IssuedCode | undefined
      await codes.update(code, (issued) => {
        found = issued
        return { ...issued, state: issued.state === 'unused' ? 'used' : 'replayed' }
      })
      // The compiler does not see the assignment in the callback.
      const issued = found as IssuedCode | undefined
      if (issued === undefined) return { kind: 'refused', reason: 'unknown code', identity: undefined }
      const { identity } = issued.grant.who
      const refused = (reason: string): RedemptionResult => ({ kind: 'refused', reason, identity })
      if (issued.state !== 'unused') return { kind: 'replayed', session: issued.session, identity }
      if (issued.expiresMs <= store.clock()) return refused('the code has expired')
      if (!isEqualConstantTime(redemption.client, issued.grant.client))
        return refused('the code was issued to another client')
      if (!isEqualConstantTime(redemption.redirect, issued.redirect))
        return refused('redirect_uri does not match the request')
      if (!verifyCodeChallenge(redemption.verifier, issued.challenge))
        return refused('code_verifier does not match the code_challenge')
      return { kind: 'redeemed', grant: issued.grant }
    },

    async attachSession(code, session) {
      let replayed = true
      await codes.update(code, (issued) => {
        replayed = issued.state === 'replayed'
        return { ...issued, session }
      })
      return !replayed
    },
  }
}
