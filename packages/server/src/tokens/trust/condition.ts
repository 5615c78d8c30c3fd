/**
 * A condition for assuming an identity with a token. The exchange fails at the first condition that does not hold; the explain method returns
 * all. Both run the same code, which passes each condition to a callback.
 */
export interface Condition {
  /** `issuer`, `claims.ref`: stable, for programs. */
  readonly name: string
  /** Undefined: unknown, because an earlier condition does not hold. */
  readonly holds: boolean | undefined
  /** The cause of a failure, which decides the error of the exchange. */
  readonly fault: Fault
  /** Why it does not hold: a fixed text that repeats nothing of the token, the identity or a response (R3). */
  readonly reason: string
  /** Details for the explain method, computed on demand. */
  readonly detail: () => ConditionDetail
}

/**
 * `token`: the token is not genuine or not valid now; the error says so. `identity`: the token is not for this identity; the error is the
 * same as for an identity that does not exist. `elsewhere`: an external service does not respond; a retry may help.
 */
export type Fault = 'token' | 'identity' | 'elsewhere'

export interface ConditionDetail {
  readonly expected: string
  /** Value in the token; '' for none. */
  readonly actual: string
  /** How to fix it if it does not hold; '' for none. */
  readonly hint?: string
}

/** Receives each condition; returns whether it holds, or throws to stop the evaluation. */
export type CheckCondition = (condition: Condition) => boolean
