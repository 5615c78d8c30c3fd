import { timingSafeEqual } from 'node:crypto'
import { limits } from '../core/limits.ts'
import { pending } from '../storage/pending.ts'
import type { Store } from '../storage/store.ts'
import type { Grant } from './grant.ts'
import { provesKey } from './proof-key.ts'

/**
 * Authorization codes (RFC 6749 section 4.1): each is bound to the client, the redirect and the proof key of the request that it
 * answers, and good for one attempt. Whoever shows it without the rest has stolen it, so a failed attempt uses it up as well. A
 * code is remembered for longer than it can be redeemed: when it is shown again, what the first attempt made ends (section 4.1.2).
 */

const REMEMBERED_MS = 60 * 60 * 1000

interface Issued {
  readonly grant: Grant
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

export type Redeemed =
  | { readonly kind: 'redeemed'; readonly grant: Grant }
  /** `identity`: whose code it was; undefined when there is no such code. */
  | { readonly kind: 'refused'; readonly why: string; readonly identity: string | undefined }
  /** Shown before; `session` is the one that it made, '' when that is not known yet or there was none. */
  | { readonly kind: 'replayed'; readonly session: string; readonly identity: string }

export interface AuthorizationCodes {
  issue(grant: Grant, redirect: string, challenge: string): Promise<string>
  redeem(code: string, redemption: Redemption): Promise<Redeemed>
  /** Remembers what a redemption made. False when the code was shown again meanwhile: it must end. */
  made(code: string, session: string): Promise<boolean>
}

export function authorizationCodes(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>): AuthorizationCodes {
  const codes = pending<Issued>(store, 'authorization_code', REMEMBERED_MS)
  return {
    issue: (grant, redirect, challenge) =>
      codes.keep({
        grant,
        redirect,
        challenge,
        expiresMs: store.clock() + limits.authorizationCodeMs,
        state: 'unused',
        session: '',
      }),

    async redeem(code, redemption) {
      let found: Issued | undefined
      await codes.replace(code, (issued) => {
        found = issued
        return { ...issued, state: issued.state === 'unused' ? 'used' : 'replayed' }
      })
      // Assigned in a function, which the compiler does not follow.
      const issued = found as Issued | undefined
      if (issued === undefined) return { kind: 'refused', why: 'the code is not known', identity: undefined }
      const { identity } = issued.grant.who
      const refused = (why: string): Redeemed => ({ kind: 'refused', why, identity })
      if (issued.state !== 'unused') return { kind: 'replayed', session: issued.session, identity }
      if (issued.expiresMs <= store.clock()) return refused('the code has expired')
      if (!isEqual(redemption.client, issued.grant.client))
        return refused('the code was given to another client')
      if (!isEqual(redemption.redirect, issued.redirect)) return refused('redirect_uri is another one')
      if (!provesKey(redemption.verifier, issued.challenge))
        return refused('code_verifier does not belong to the code_challenge')
      return { kind: 'redeemed', grant: issued.grant }
    },

    async made(code, session) {
      let replayed = true
      await codes.replace(code, (issued) => {
        replayed = issued.state === 'replayed'
        return { ...issued, session }
      })
      return !replayed
    },
  }
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
