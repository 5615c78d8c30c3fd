import { timingSafeEqual } from 'node:crypto'
import { limits } from '../../config/limits.ts'
import { pendingStore } from '../../storage/pending-store.ts'
import type { Store } from '../../storage/store.ts'
import type { AuthorizationGrant } from './authorization-grants.ts'
import { verifyCodeChallenge } from './pkce.ts'

/**
 * Authorization codes (RFC 6749 section 4.1): each is bound to the client, the redirect and the proof key of the request that it
 * answers, and good for one attempt. Whoever shows it without the rest has stolen it, so a failed attempt uses it up as well. A
 * code is remembered for longer than it can be redeemed: when it is shown again, what the first attempt made ends (section 4.1.2).
 */

const REMEMBERED_MS = 60 * 60 * 1000

interface IssuedCode {
  readonly grant: AuthorizationGrant
  readonly redirect: string
  readonly challenge: string
  readonly expiresMs: number
  readonly state: 'unused' | 'used' | 'replayed'
  /** id of the session that its redemption began; '' until then. */
  readonly session: string
}

/** What a client shows with a code. */
export interface Redemption {
  readonly client: string
  readonly redirect: string
  readonly verifier: string
}

export type RedemptionResult =
  | { readonly kind: 'redeemed'; readonly grant: AuthorizationGrant }
  /** `identity`: whose code it was; undefined when there is no such code. */
  | { readonly kind: 'refused'; readonly reason: string; readonly identity: string | undefined }
  /** Shown before; `session` is the one that it made, '' when that is not known yet or there was none. */
  | { readonly kind: 'replayed'; readonly session: string; readonly identity: string }

export interface AuthorizationCodes {
  issue(grant: AuthorizationGrant, redirect: string, challenge: string): Promise<string>
  redeem(code: string, redemption: Redemption): Promise<RedemptionResult>
  /** Remembers what a redemption made. False when the code was shown again meanwhile: it must end. */
  attachSession(code: string, session: string): Promise<boolean>
}

export function authorizationCodes(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>): AuthorizationCodes {
  const codes = pendingStore<IssuedCode>(store, 'authorization_code', REMEMBERED_MS)
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
      // Assigned in a function, which the compiler does not follow.
      const issued = found as IssuedCode | undefined
      if (issued === undefined)
        return { kind: 'refused', reason: 'the code is not known', identity: undefined }
      const { identity } = issued.grant.who
      const refused = (why: string): RedemptionResult => ({ kind: 'refused', reason: why, identity })
      if (issued.state !== 'unused') return { kind: 'replayed', session: issued.session, identity }
      if (issued.expiresMs <= store.clock()) return refused('the code has expired')
      if (!isSameText(redemption.client, issued.grant.client))
        return refused('the code was given to another client')
      if (!isSameText(redemption.redirect, issued.redirect)) return refused('redirect_uri is another one')
      if (!verifyCodeChallenge(redemption.verifier, issued.challenge))
        return refused('code_verifier does not belong to the code_challenge')
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

function isSameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
