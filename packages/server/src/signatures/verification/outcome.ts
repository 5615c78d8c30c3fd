/** What one verifier found about one signature. */

export interface Verified {
  /** '' for a public key. */
  readonly identity: string
  /** '' for none. */
  readonly issuer: string
  /** Undefined: unknown. */
  readonly signedMs: number | undefined
  /** Time from which the outcome may differ. Undefined: it does not change. */
  readonly untilMs?: number
}

export interface NotVerified {
  readonly problem: string
  readonly untilMs?: number
}

export type Outcome = Verified | NotVerified

export function isVerified(outcome: Outcome): outcome is Verified {
  return !('problem' in outcome)
}
